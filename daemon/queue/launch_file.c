/* SPDX-License-Identifier: MIT */
#include "queue/launch_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/launch.h"
#include "queue/view.h"

#define PRESENCE_REQUIRED true
#define PRESENCE_OPTIONAL false
#define THIS launch_file
#define FIELDS LAUNCH_FILE_FIELDS
#include "proto/field_table.h"

#define FILE_NAME "launch"
#define FILE_BYTES_MAX (4 << 20)

static int write_bytes(int folder_fd, const char *bytes, size_t size)
{
	_cleanup_close_ int fd = openat(folder_fd, FILE_NAME,
					O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
					0600);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, bytes, size);
	/* One that is cut short is as good as none, when it is read. */
	return n < 0 ? -errno : (size_t)n < size ? -ENOSPC : 0;
}

bool launch_file_fits(int trials_fd, uint64_t id)
{
	_cleanup_close_ int folder = -1;

	return launch_folder(trials_fd, id, false, &folder) < 0 ||
	       (faccessat(folder, "outcome", F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
		faccessat(folder, "stdout", F_OK, AT_SYMLINK_NOFOLLOW) < 0);
}

int launch_file_write(int trials_fd, const struct ledger_row *row, const char *plan_digest,
		      struct blob facts)
{
	const struct launch_file file = {
		.has = {.id = true,
			.submitted_at = true,
			.backend = true,
			.priority = true,
			.spec = true,
			.facts = facts.size > 0},
		.id = row->id,
		.uuid = row->uuid,
		.submitted_at = row->submitted_at,
		.boot_id = row->boot_id ? row->boot_id : "",
		.backend = row->backend < 0 ? BACKEND_none : (enum backend)row->backend,
		.unit = row->unit,
		.priority = row->priority,
		.key = row->key,
		.plan_digest = plan_digest,
		.spec = row->spec,
		.facts = facts,
	};
	_cleanup_close_ int folder = -1;
	msgpack_sbuffer buffer;
	int r;

	r = launch_folder(trials_fd, row->id, false, &folder);
	if (r < 0)
		return r;
	r = view_encode(&buffer, &launch_file_type, &file);
	if (r < 0)
		return r;
	r = write_bytes(folder, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

static int read_bytes(int folder_fd, char **ret_bytes, size_t *ret_size)
{
	_cleanup_close_ int fd = openat(folder_fd, FILE_NAME,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_free_ char *bytes = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ELOOP ? -ENOENT : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > FILE_BYTES_MAX)
		return -ENOENT;
	bytes = malloc((size_t)st.st_size);
	if (!bytes)
		return -ENOMEM;
	n = pread(fd, bytes, (size_t)st.st_size, 0);
	if (n < 0)
		return -errno;
	*ret_bytes = steal(&bytes);
	*ret_size = (size_t)n;
	return 0;
}

int launch_file_read(int folder_fd, uint64_t id, struct message **ret_message,
		     struct launch_file *ret_file)
{
	_cleanup_free_ char *bytes = NULL;
	struct message *message = NULL;
	struct decode_error error;
	size_t size = 0;
	int r = read_bytes(folder_fd, &bytes, &size);

	if (r < 0)
		return r;
	if (message_parse(&message, bytes, size) < 0)
		return -ENOENT;
	if (message_decode(message, message_root(message), &launch_file_type, UNKNOWN_KEYS_IGNORED,
			   ret_file, &error) < 0 ||
	    ret_file->id != id) {
		message_free(message);
		return -ENOENT;
	}
	*ret_message = message;
	return 0;
}
