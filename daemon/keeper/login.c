/* SPDX-License-Identifier: MIT */
#include "login.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mem.h"
#include "channel.h"

#define PRESENCE_REQUIRED true
#define PRESENCE_OPTIONAL false

#define THIS keeper_login
#define FIELDS KEEPER_LOGIN_FIELDS
#include "proto/field_table.h"

#define THIS login_result
#define FIELDS LOGIN_RESULT_FIELDS
#include "proto/field_table.h"

#define LOGIN_WORD_(name) #name,
static const char *const state_words[LOGIN_STATE_COUNT] = {LOGIN_STATES(LOGIN_WORD_)};
static const char *const unit_words[GATE_UNITS] = {"s", "ms", "rfc3339"};

const char *login_state_name(enum login_state state)
{
	return (size_t)state < LOGIN_STATE_COUNT ? state_words[state] : NULL;
}

static int pack(msgpack_sbuffer *buffer, const struct message_type *type, const void *structure)
{
	msgpack_packer packer;
	int r;

	msgpack_packer_init(&packer, buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, type, structure);
	return r == 0 && buffer->size > LOGIN_BYTES_MAX ? -EMSGSIZE : r;
}

int login_about_memfd(const struct keeper_login *login, int *ret_fd)
{
	msgpack_sbuffer buffer;
	int r;

	msgpack_sbuffer_init(&buffer);
	r = pack(&buffer, &keeper_login_type, login);
	if (r == 0)
		r = channel_memfd("trials-login", buffer.data, buffer.size, ret_fd);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

static bool name_allowed(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool paths_allowed(const struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (!*list->items[i] || strlen(list->items[i]) > GATE_PATH_BYTES_MAX)
			return false;
	return list->count <= 128;
}

static int unit_of(const struct keeper_login *login)
{
	for (int unit = 0; login->unit && unit < GATE_UNITS; unit++)
		if (strcmp(login->unit, unit_words[unit]) == 0)
			return unit;
	return -1;
}

static bool about_allowed(const struct keeper_login *login)
{
	return login->version == LOGIN_VERSION && name_allowed(login->file) &&
	       name_allowed(login->copy) && name_allowed(login->harness) &&
	       paths_allowed(&login->require) && paths_allowed(&login->identity) &&
	       paths_allowed(&login->refreshes) && paths_allowed(&login->optional) &&
	       (!login->expiry || unit_of(login) >= 0);
}

int login_about_read(int fd, struct message **ret_message, struct keeper_login *ret_login)
{
	const int sealed = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
	_cleanup_free_ char *bytes = NULL;
	struct message *message = NULL;
	struct decode_error error;
	struct stat st;
	int r = fcntl(fd, F_GET_SEALS);

	if (r < 0 || (r & sealed) != sealed || fstat(fd, &st) < 0 || st.st_size <= 0 ||
	    st.st_size > (off_t)LOGIN_BYTES_MAX)
		return -EBADMSG;
	bytes = malloc((size_t)st.st_size);
	if (!bytes)
		return -ENOMEM;
	if (pread(fd, bytes, (size_t)st.st_size, 0) != st.st_size)
		return -EBADMSG;
	r = message_parse(&message, bytes, (size_t)st.st_size);
	if (r == 0)
		r = message_decode(message, message_root(message), &keeper_login_type,
				   UNKNOWN_KEYS_REFUSED, ret_login, &error);
	if (r == 0 && !about_allowed(ret_login))
		r = -EBADMSG;
	if (r < 0) {
		message_free(message);
		return r;
	}
	*ret_message = message;
	return 0;
}

struct gate_rules login_rules(const struct keeper_login *login)
{
	int unit = unit_of(login);

	return (struct gate_rules){
		.require = login->require,
		.identity = login->identity,
		.refreshes = login->refreshes,
		.optional = login->optional,
		.expiry = login->expiry,
		.unit = unit < 0 ? GATE_UNIT_s : (enum gate_unit)unit,
		.refresh_ahead = login->refresh_ahead,
	};
}

int login_result_pack(msgpack_sbuffer *buffer, const struct login_result *result)
{
	return pack(buffer, &login_result_type, result);
}

int login_result_parse(const void *bytes, size_t size, struct message **ret_message,
		       struct login_result *ret_result)
{
	struct message *message = NULL;
	struct decode_error error;
	int r = size > LOGIN_BYTES_MAX ? -EBADMSG : message_parse(&message, bytes, size);

	if (r < 0)
		return r;
	r = message_decode(message, message_root(message), &login_result_type, UNKNOWN_KEYS_IGNORED,
			   ret_result, &error);
	if (r == 0) {
		int state = 0;

		while (state < LOGIN_STATE_COUNT &&
		       strcmp(state_words[state], ret_result->state) != 0)
			state++;
		r = state < LOGIN_STATE_COUNT ? 0 : -EBADMSG;
	}
	if (r < 0) {
		message_free(message);
		return r;
	}
	*ret_message = message;
	return 0;
}

/* Names and locks */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-' || c == '_';
}

int login_key(int folder_fd, const char *name, char ret_key[LOGIN_KEY_BYTES])
{
	/* The suffixes of what is called after it have to fit into a file's name. */
	const size_t most = NAME_MAX - 16;
	struct stat st;
	size_t size;

	if (fstat(folder_fd, &st) < 0)
		return -errno;
	size = (size_t)snprintf(ret_key, LOGIN_KEY_BYTES, "%x:%x-%" PRIu64 "-", major(st.st_dev),
				minor(st.st_dev), (uint64_t)st.st_ino);
	for (; *name; name++) {
		if (size + 3 > most)
			return -ENAMETOOLONG;
		if (is_plain(*name))
			ret_key[size++] = *name;
		else
			size += (size_t)snprintf(ret_key + size, LOGIN_KEY_BYTES - size, "%%%02X",
						 (unsigned char)*name);
	}
	ret_key[size] = '\0';
	return 0;
}

int login_lock_open(int locks_fd, const char *key, enum login_lock lock, int *ret_fd)
{
	char name[LOGIN_KEY_BYTES + 8];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%s.%s", key, lock == LOGIN_LOCK_carry ? "carry" : "use");
	fd = openat(locks_fd, name, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOLCK;
	}
	*ret_fd = fd;
	return 0;
}

/* Where it is */

static int refuse(struct fault *fault, const char *path, const char *why)
{
	return fault_void(fault, CAUSE_session_unavailable, "the login %s %s", path, why);
}

/* The path that a descriptor is open on now. */
static int path_of(int fd, char ret[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return 0;
}

/* Opens the folder of a path, and gives its last name. */
static int open_folder(const char *path, struct login_place *place)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = NULL;

	if (!slash || strlen(slash + 1) > LOGIN_NAME_BYTES_MAX || !name_allowed(slash + 1))
		return -ENAMETOOLONG;
	folder = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!folder)
		return -ENOMEM;
	snprintf(place->name, sizeof(place->name), "%s", slash + 1);
	place->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return place->folder_fd < 0 ? -errno : 0;
}

/* Of a link: the folder and name that it leads to; what it leads to is what they name. */
static int follow(struct login_place *place, struct stat *st)
{
	_cleanup_close_ int fd = openat(place->folder_fd, place->name, O_PATH | O_CLOEXEC);
	char target[PATH_MAX];
	struct stat named;
	int r;

	if (fd < 0)
		return -errno;
	r = path_of(fd, target);
	if (r < 0)
		return r;
	place->folder_fd = fd_close(place->folder_fd);
	r = open_folder(target, place);
	if (r < 0)
		return r;
	if (fstat(fd, st) < 0 ||
	    fstatat(place->folder_fd, place->name, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return named.st_ino == st->st_ino && named.st_dev == st->st_dev ? 0 : -EAGAIN;
}

static int find(const char *path, struct login_place *place, struct fault *ret_fault)
{
	struct stat st = {0}, folder;
	int r = open_folder(path, place);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && fstatat(place->folder_fd, place->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		r = -errno;
	}
	place->there = true;
	if (r == 0 && S_ISLNK(st.st_mode))
		r = follow(place, &st);
	if (r == -ENOENT)
		return refuse(ret_fault, path, "is a link that leads nowhere");
	if (r < 0)
		return refuse(ret_fault, path, strerror(-r));
	if (!S_ISREG(st.st_mode))
		return refuse(ret_fault, path, "is not a regular file");
	if (st.st_nlink != 1)
		return refuse(ret_fault, path, "has a second name (hard link)");
	if (fstat(place->folder_fd, &folder) < 0)
		return -errno;
	if (st.st_uid != getuid() || folder.st_uid != getuid())
		return refuse(ret_fault, path, "belongs to another user");
	return 0;
}

int login_place_find(const char *path, struct login_place *ret, struct fault *ret_fault)
{
	int r;

	*ret = (struct login_place){.folder_fd = -1};
	r = find(path, ret, ret_fault);
	if (r != 0)
		ret->folder_fd = fd_close(ret->folder_fd);
	return r;
}
