/* SPDX-License-Identifier: MIT */
#include "channel.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/mem.h"

#define PRESENCE_REQUIRED true
#define PRESENCE_OPTIONAL false

#define THIS keeper_hello
#define FIELDS KEEPER_HELLO_FIELDS
#include "proto/field_table.h"

#define THIS keeper_plan
#define FIELDS KEEPER_PLAN_FIELDS
#include "proto/field_table.h"

#define THIS keeper_running
#define FIELDS KEEPER_RUNNING_FIELDS
#include "proto/field_table.h"

#define THIS keeper_ending
#define FIELDS KEEPER_ENDING_FIELDS
#include "proto/field_table.h"

#define THIS keeper_cancel
#define FIELDS KEEPER_CANCEL_FIELDS
#include "proto/field_table.h"

#define THIS keeper_enter
#define FIELDS KEEPER_ENTER_FIELDS
#include "proto/field_table.h"

#define THIS keeper_empty
#define FIELDS KEEPER_EMPTY_FIELDS
#include "proto/field_table.h"
#include "base/file.h"

#define CHANNEL_WORD_(name) #name,
static const char *const verb_words[CHANNEL_VERB_COUNT] = {CHANNEL_VERBS(CHANNEL_WORD_)};

#define SEALED (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

union ancillary {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int) * CHANNEL_DESCRIPTORS_MAX)];
};

static int pack_text(msgpack_packer *packer, const char *text)
{
	size_t size = strlen(text);

	if (msgpack_pack_str(packer, size) < 0 || msgpack_pack_str_body(packer, text, size) < 0)
		return -ENOMEM;
	return 0;
}

static int pack_packet(msgpack_sbuffer *buffer, enum channel_verb verb,
		       const struct message_type *type, const void *structure)
{
	msgpack_packer packer;
	int r;

	msgpack_packer_init(&packer, buffer, msgpack_sbuffer_write);
	if (msgpack_pack_map(&packer, 2) < 0 || pack_text(&packer, "verb") < 0 ||
	    pack_text(&packer, verb_words[verb]) < 0 || pack_text(&packer, "body") < 0)
		return -ENOMEM;
	if (type)
		r = message_encode(&packer, type, structure);
	else
		r = msgpack_pack_map(&packer, 0) < 0 ? -ENOMEM : 0;
	if (r == 0 && buffer->size > CHANNEL_PACKET_BYTES_MAX)
		r = -EMSGSIZE;
	return r;
}

static int send_packet(int fd, void *bytes, size_t size, const int *descriptors, size_t count,
		       bool dontwait)
{
	union ancillary ancillary = {0};
	struct iovec vector = {.iov_base = bytes, .iov_len = size};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
	ssize_t n;

	if (count > 0) {
		message.msg_control = &ancillary;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		ancillary.header.cmsg_level = SOL_SOCKET;
		ancillary.header.cmsg_type = SCM_RIGHTS;
		ancillary.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(&ancillary.header), descriptors, sizeof(int) * count);
	}
	do
		n = sendmsg(fd, &message, MSG_NOSIGNAL | (dontwait ? MSG_DONTWAIT : 0));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int channel_send(int fd, enum channel_verb verb, const struct message_type *type,
		 const void *structure, const int *descriptors, size_t count, bool dontwait)
{
	msgpack_sbuffer buffer;
	int r;

	if ((size_t)verb >= CHANNEL_VERB_COUNT || count > CHANNEL_DESCRIPTORS_MAX)
		return -EINVAL;
	msgpack_sbuffer_init(&buffer);
	r = pack_packet(&buffer, verb, type, structure);
	if (r == 0)
		r = send_packet(fd, buffer.data, buffer.size, descriptors, count, dontwait);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

static void take_descriptors(struct channel_packet *packet, struct msghdr *message)
{
	struct cmsghdr *header;
	size_t count;

	for (header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (count > CHANNEL_DESCRIPTORS_MAX - packet->count)
			continue; /* cannot be: the space received into holds no more */
		memcpy(packet->descriptors + packet->count, CMSG_DATA(header), count * sizeof(int));
		packet->count += count;
	}
}

static int decode_packet(struct channel_packet *packet)
{
	const msgpack_object *root = message_root(packet->message);
	const char *const *word = NULL;
	uint32_t i;
	size_t v;

	packet->body = NULL;
	for (i = 0; i < root->via.map.size; i++) {
		const msgpack_object_kv *entry = &root->via.map.ptr[i];
		const msgpack_object_str *key = &entry->key.via.str;
		const msgpack_object_str *text = &entry->val.via.str;

		if (entry->key.type != MSGPACK_OBJECT_STR || key->size != 4)
			continue;
		if (memcmp(key->ptr, "body", 4) == 0 && entry->val.type == MSGPACK_OBJECT_MAP)
			packet->body = &entry->val;
		if (memcmp(key->ptr, "verb", 4) != 0 || entry->val.type != MSGPACK_OBJECT_STR)
			continue;
		for (v = 0; v < CHANNEL_VERB_COUNT; v++)
			if (strlen(verb_words[v]) == text->size &&
			    memcmp(verb_words[v], text->ptr, text->size) == 0)
				word = &verb_words[v];
	}
	if (!word || !packet->body)
		return -EBADMSG;
	packet->verb = (enum channel_verb)(word - verb_words);
	return 1;
}

int channel_receive(int fd, bool dontwait, struct channel_packet *ret_packet)
{
	_cleanup_free_ char *bytes = malloc(CHANNEL_PACKET_BYTES_MAX);
	union ancillary ancillary;
	struct iovec vector = {.iov_base = bytes, .iov_len = CHANNEL_PACKET_BYTES_MAX};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &ancillary,
		.msg_controllen = sizeof(ancillary),
	};
	ssize_t n;
	int r;

	ret_packet->message = NULL;
	ret_packet->count = 0;
	if (!bytes)
		return -ENOMEM;
	do
		n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | (dontwait ? MSG_DONTWAIT : 0));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	if (n == 0)
		return 0;
	take_descriptors(ret_packet, &message);
	r = message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -EBADMSG : 0;
	if (r == 0)
		r = message_parse(&ret_packet->message, bytes, (size_t)n);
	if (r == 0)
		r = decode_packet(ret_packet);
	if (r < 0)
		channel_packet_done(ret_packet);
	return r;
}

void channel_packet_done(struct channel_packet *packet)
{
	size_t i;

	packet->message = message_free(packet->message);
	packet->body = NULL;
	for (i = 0; i < packet->count; i++)
		fd_close(packet->descriptors[i]);
	packet->count = 0;
}

int channel_memfd(const char *name, const void *bytes, size_t size, int *ret_fd)
{
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = file_write(fd, bytes, size);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, SEALED | F_SEAL_SEAL) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	*ret_fd = fd_steal(&fd);
	return 0;
}

int channel_plan_read(int fd, struct message **ret_message, struct keeper_plan *ret_plan,
		      struct decode_error *ret_error)
{
	struct message *message = NULL;
	struct stat st;
	void *bytes;
	int r;

	*ret_error = (struct decode_error){.field = "plan"};
	r = fcntl(fd, F_GET_SEALS);
	if (r < 0 || (r & SEALED) != SEALED || fstat(fd, &st) < 0 || st.st_size <= 0 ||
	    st.st_size > (off_t)CHANNEL_PLAN_BYTES_MAX) {
		strcpy(ret_error->reason, "not a sealed memory file of a plan's size");
		return -EBADMSG;
	}
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	r = message_parse(&message, bytes, (size_t)st.st_size);
	munmap(bytes, (size_t)st.st_size);
	if (r < 0) {
		strcpy(ret_error->reason, "not a message");
		return r;
	}
	r = message_decode(message, message_root(message), &keeper_plan_type, UNKNOWN_KEYS_REFUSED,
			   ret_plan, ret_error);
	if (r < 0) {
		message_free(message);
		return r;
	}
	*ret_message = message;
	return 0;
}
