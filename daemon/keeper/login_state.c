/* SPDX-License-Identifier: MIT */
#include "login_state.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define NAME_BYTES (LOGIN_KEY_BYTES + 16)

static const char *const suffixes[] = {
	[LOGIN_KEPT_good] = "good",	  [LOGIN_KEPT_previous] = "previous",
	[LOGIN_KEPT_carried] = "carried", [LOGIN_KEPT_damaged] = "damaged",
	[LOGIN_KEPT_suspect] = "suspect", [LOGIN_KEPT_refreshed] = "refreshed",
};

static const char *name_of(const char *key, enum login_kept kept, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%s.%s", key, suffixes[kept]);
	return name;
}

int login_kept_write(int state_fd, const char *key, enum login_kept kept, const void *data,
		     size_t size)
{
	_cleanup_login_content_ struct login_content content = {0};
	bool durable = kept == LOGIN_KEPT_good || kept == LOGIN_KEPT_suspect;
	char name[NAME_BYTES];

	if (login_kept_read(state_fd, key, kept, &content) == 0 && content.size == size &&
	    memcmp(content.data, data, size) == 0)
		return 0;
	return login_file_replace(state_fd, name_of(key, kept, name), data, size, NULL, durable);
}

int login_kept_read(int state_fd, const char *key, enum login_kept kept, struct login_content *ret)
{
	char name[NAME_BYTES], reason[GATE_REASON_BYTES];

	return login_file_read(state_fd, name_of(key, kept, name), ret, reason);
}

bool login_kept_there(int state_fd, const char *key, enum login_kept kept)
{
	char name[NAME_BYTES];

	return faccessat(state_fd, name_of(key, kept, name), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int login_kept_remove(int state_fd, const char *key, enum login_kept kept)
{
	char name[NAME_BYTES];

	return unlinkat(state_fd, name_of(key, kept, name), 0) < 0 && errno != ENOENT ? -errno : 0;
}

static void digest(const void *data, size_t size, uint8_t ret[SHA256_DIGEST_SIZE])
{
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, size, data);
	sha256_digest(&context, SHA256_DIGEST_SIZE, ret);
	explicit_bzero(&context, sizeof(context));
}

int login_carried_write(int state_fd, const char *key, const void *data, size_t size)
{
	uint8_t bytes[SHA256_DIGEST_SIZE];

	digest(data, size, bytes);
	return login_kept_write(state_fd, key, LOGIN_KEPT_carried, bytes, sizeof(bytes));
}

bool login_carried_is(int state_fd, const char *key, const void *data, size_t size)
{
	_cleanup_login_content_ struct login_content content = {0};
	uint8_t bytes[SHA256_DIGEST_SIZE];

	if (login_kept_read(state_fd, key, LOGIN_KEPT_carried, &content) < 0 ||
	    content.size != sizeof(bytes))
		return false;
	digest(data, size, bytes);
	return memcmp(bytes, content.data, sizeof(bytes)) == 0;
}

static int result_write(int state_fd, const char *key, enum login_kept kept,
			const struct login_result *result)
{
	msgpack_sbuffer buffer;
	int r;

	msgpack_sbuffer_init(&buffer);
	r = login_result_pack(&buffer, result);
	if (r == 0)
		r = login_kept_write(state_fd, key, kept, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

static int result_read(int state_fd, const char *key, enum login_kept kept,
		       struct message **ret_message, struct login_result *ret_result)
{
	_cleanup_login_content_ struct login_content content = {0};
	int r = login_kept_read(state_fd, key, kept, &content);

	return r < 0 ? r : login_result_parse(content.data, content.size, ret_message, ret_result);
}

int login_suspect_write(int state_fd, const char *key, const struct login_result *result)
{
	return result_write(state_fd, key, LOGIN_KEPT_suspect, result);
}

int login_suspect_read(int state_fd, const char *key, struct message **ret_message,
		       struct login_result *ret_result)
{
	return result_read(state_fd, key, LOGIN_KEPT_suspect, ret_message, ret_result);
}

int login_refreshed_write(int state_fd, const char *key, const struct login_result *result)
{
	return result_write(state_fd, key, LOGIN_KEPT_refreshed, result);
}

int login_refreshed_read(int state_fd, const char *key, struct message **ret_message,
			 struct login_result *ret_result)
{
	return result_read(state_fd, key, LOGIN_KEPT_refreshed, ret_message, ret_result);
}
