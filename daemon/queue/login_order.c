/* SPDX-License-Identifier: MIT */
#include "queue/login_order.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "base/wipe.h"
#include "keeper/login_file.h"
#include "keeper/task.h"
#include "launch/task.h"
#include "plan/login_about.h"
#include "queue/view.h"

#define LOCKS_FOLDER ".thirdshift/trials/locks"
#define NOTE_SUFFIX ".carry"
#define NOTE_NAME_BYTES (40 + HARNESS_NAME_BYTES_MAX)

#define LOGIN_NOTE_FIELDS(X)                                                                       \
	X(about, BLOB, REQUIRED, LOGIN_BYTES_MAX, "a keeper_login")                                \
	X(folder, PATH, REQUIRED, PATH_BYTES_MAX, "the host's")                                    \
	X(key, STRING, REQUIRED, 255, "what proves that it is still the same folder")              \
	X(done, BLOB, OPTIONAL, LOGIN_BYTES_MAX, "a login_result: it was dealt with, and how")

#define LOGIN_NOTE_MESSAGES(M) M(login_note, LOGIN_NOTE_FIELDS)
LOGIN_NOTE_MESSAGES(MESSAGE_STRUCT_)
LOGIN_NOTE_MESSAGES(MESSAGE_TYPE_)

#define PRESENCE_REQUIRED true
#define PRESENCE_OPTIONAL false
#define THIS login_note
#define FIELDS LOGIN_NOTE_FIELDS
#include "proto/field_table.h"

/* --- Folders -------------------------------------------------------------------------------------- */

int login_folders_open(struct login_folders *folders, const struct plan_host *host,
		       struct fault *ret_fault)
{
	_cleanup_free_ char *state = NULL, *locks = NULL;
	int r = 0;

	if (asprintf(&state, "%s/logins", host->state_folder) < 0 ||
	    asprintf(&locks, "%s/" LOCKS_FOLDER, host->home) < 0)
		return -ENOMEM;
	if (folders->state < 0)
		r = folder_private(&state, &folders->state, ret_fault);
	if (r == 0 && folders->locks < 0)
		r = folder_private(&locks, &folders->locks, ret_fault);
	if (r == FAULT) {
		ret_fault->code = ERROR_unavailable;
		ret_fault->cause = CAUSE_session_unavailable;
	}
	return r;
}

void login_folders_done(struct login_folders *folders)
{
	folders->state = fd_close(folders->state);
	folders->locks = fd_close(folders->locks);
}

/* --- Orders --------------------------------------------------------------------------------------- */

const char *login_copy_name(const struct harness_login *login)
{
	const char *slash = strrchr(login->file, '/');

	return slash ? slash + 1 : login->file;
}

static struct keeper_login about_of(const struct harness *harness,
				    const struct session_login *found,
				    const struct login_trial *trial)
{
	const struct harness_login *login = found->login;
	struct keeper_login about = login_about(harness, login,
						login->kind == HARNESS_LOGIN_home
							? login_copy_name(login)
							: found->place.name);

	about.has.trial = trial->folder_fd >= 0;
	about.has.seconds = trial->seconds >= 0;
	about.has.lease = trial->lease > 0;
	about.trial = trial->id;
	about.seconds = trial->seconds;
	about.lease = trial->lease;
	return about;
}

/* One that is not given stays -1. */
static int take_copy(int fd, int *ret_fd)
{
	*ret_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return fd >= 0 && *ret_fd < 0 ? -errno : 0;
}

static int take_folders(struct login_order *order, const struct login_folders *folders, int host,
			int copy, int trial)
{
	int r = take_copy(host, &order->descriptors[LOGIN_FD_PRODUCTION]);

	if (r == 0)
		r = take_copy(copy, &order->descriptors[LOGIN_FD_COPY]);
	if (r == 0)
		r = take_copy(trial, &order->descriptors[LOGIN_FD_TRIAL]);
	if (r == 0)
		r = take_copy(folders->state, &order->descriptors[LOGIN_FD_STATE]);
	return r == 0 ? take_copy(folders->locks, &order->descriptors[LOGIN_FD_LOCKS]) : r;
}

static int make(struct login_order *order, const struct login_folders *folders,
		const struct keeper_login *about, int host, int copy, int trial)
{
	int r = view_encode(&order->about, &keeper_login_type, about);

	if (r == 0)
		r = login_about_memfd(about, &order->descriptors[LOGIN_FD_ABOUT]);
	if (r == 0)
		r = login_key(host, about->file, order->key);
	order->home = about->home;
	return r == 0 ? take_folders(order, folders, host, about->home ? host : copy, trial) : r;
}

int login_order_make(struct login_order *ret, const struct login_folders *folders,
		     const struct harness *harness, const struct session_login *found, int home_fd,
		     const struct login_trial *trial)
{
	const struct keeper_login about = about_of(harness, found, trial);
	int r;

	*ret = LOGIN_ORDER_INIT;
	r = make(ret, folders, &about, home_fd >= 0 ? home_fd : found->place.folder_fd,
		 trial->copy_fd, trial->folder_fd);
	if (r < 0)
		login_order_done(ret);
	return r;
}

void login_order_done(struct login_order *order)
{
	for (int i = 0; i < LOGIN_FDS; i++)
		fd_close(order->descriptors[i]);
	msgpack_sbuffer_destroy(&order->about);
	*order = LOGIN_ORDER_INIT;
}

/* --- Tasks ---------------------------------------------------------------------------------------- */

static int memfd_with_order(const struct login_order *order, const char *what, int *ret_fd)
{
	struct keeper_login about;
	struct decode_error error;
	struct message *message;
	int r = message_parse(&message, order->about.data, order->about.size);

	if (r < 0)
		return r;
	r = message_decode(message, message_root(message), &keeper_login_type, UNKNOWN_KEYS_REFUSED,
			   &about, &error);
	if (r == 0) {
		about.has.order = true;
		about.order = what;
		r = login_about_memfd(&about, ret_fd);
	}
	message_free(message);
	return r;
}

int login_order_run(const struct login_order *order, const char *keeper, const char *what,
		    struct message **ret_message, struct login_result *ret_result)
{
	_cleanup_close_ int about = -1, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct task_order task = {
		.keeper = keeper,
		.words = {"carry"},
		.descriptor_count = LOGIN_FDS,
		.most = LOGIN_BYTES_MAX,
		.milliseconds = TASK_MILLISECONDS,
	};
	_cleanup_free_ char *answer = NULL;
	size_t size = 0;
	int r = null < 0 ? -errno : memfd_with_order(order, what, &about);

	if (r < 0)
		return r;
	for (int i = 0; i < LOGIN_FDS; i++)
		task.descriptors[i] = order->descriptors[i] >= 0 ? order->descriptors[i] : null;
	task.descriptors[LOGIN_FD_ABOUT] = about;
	r = task_run(&task, &answer, &size);
	return r < 0 ? r : login_result_parse(answer, size, ret_message, ret_result);
}

/* --- Notes ---------------------------------------------------------------------------------------- */

static void note_name(uint64_t id, const char *part, char name[NOTE_NAME_BYTES])
{
	snprintf(name, NOTE_NAME_BYTES, "%" PRIu64 "%s%s" NOTE_SUFFIX, id, part ? "." : "",
		 part ? part : "");
}

static int note_write(int state_fd, const struct login_note *note, uint64_t id, const char *part)
{
	char name[NOTE_NAME_BYTES];
	msgpack_sbuffer buffer;
	int r = view_encode(&buffer, &login_note_type, note);

	if (r < 0)
		return r;
	note_name(id, part, name);
	r = login_file_replace(state_fd, name, buffer.data, buffer.size, NULL, false);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

int login_note_write(const struct login_order *order, const char *host_folder, uint64_t id,
		     const char *part)
{
	const struct login_note note = {
		.has = {.about = true, .folder = true, .key = true},
		.about = {.data = (const uint8_t *)order->about.data, .size = order->about.size},
		.folder = host_folder,
		.key = order->key,
	};

	return note_write(order->descriptors[LOGIN_FD_STATE], &note, id, part);
}

void login_note_remove(int state_fd, uint64_t id, const char *part)
{
	char name[NOTE_NAME_BYTES];

	note_name(id, part, name);
	unlinkat(state_fd, name, 0);
}

/* The host's folder as it is called now; -ESTALE when that is another one. */
static int note_open(const struct login_note *note, const struct keeper_login *about, int *ret_fd)
{
	char key[LOGIN_KEY_BYTES];
	int fd = open(note->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -ESTALE : -errno;
	r = login_key(fd, about->file, key);
	if (r == 0 && strcmp(key, note->key) != 0)
		r = -ESTALE;
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static int note_order(struct login_order *ret, const struct login_folders *folders,
		      const struct login_note *note, const char *part, int trial_fd)
{
	_cleanup_close_ int copy = -1, host = -1;
	char name[LOGIN_FOLDER_BYTES];
	struct message *message = NULL;
	struct keeper_login about;
	struct decode_error error;
	int r = message_parse(&message, note->about.data, note->about.size);

	login_copy_folder(part, name);
	copy = openat(trial_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r == 0)
		r = message_decode(message, message_root(message), &keeper_login_type,
				   UNKNOWN_KEYS_REFUSED, &about, &error);
	if (r == 0)
		r = note_open(note, &about, &host);
	/* Without a copy there is nothing that could be carried. */
	if (r == 0 && copy < 0 && !about.home)
		r = -ESTALE;
	if (r == 0)
		r = make(ret, folders, &about, host, copy, trial_fd);
	message_free(message);
	return r;
}

/* It points into the content and *ret_message. */
static int note_load(int state_fd, uint64_t id, const char *part, struct login_content *content,
		     struct message **ret_message, struct login_note *ret)
{
	char name[NOTE_NAME_BYTES], reason[GATE_REASON_BYTES];
	struct decode_error error;
	int r;

	note_name(id, part, name);
	r = login_file_read(state_fd, name, content, reason);
	if (r == 0)
		r = message_parse(ret_message, content->data, content->size);
	return r < 0 ? r
		     : message_decode(*ret_message, message_root(*ret_message), &login_note_type,
				      UNKNOWN_KEYS_IGNORED, ret, &error);
}

int login_note_done(int state_fd, uint64_t id, const char *part, const struct login_result *result)
{
	_cleanup_login_content_ struct login_content content = {0};
	struct message *message = NULL;
	struct login_note note;
	msgpack_sbuffer done;
	int r = note_load(state_fd, id, part, &content, &message, &note);

	msgpack_sbuffer_init(&done);
	if (r == 0)
		r = login_result_pack(&done, result);
	if (r == 0) {
		note.has.done = true;
		note.done = (struct blob){.data = (const uint8_t *)done.data, .size = done.size};
		r = note_write(state_fd, &note, id, part);
	}
	msgpack_sbuffer_destroy(&done);
	message_free(message);
	return r;
}

int login_note_read(struct login_order *ret, const struct login_folders *folders, uint64_t id,
		    const char *part, int trial_fd, struct message **ret_done,
		    struct login_result *ret_result)
{
	_cleanup_login_content_ struct login_content content = {0};
	struct message *message = NULL;
	struct login_note note;
	bool done = false;
	int r;

	*ret = LOGIN_ORDER_INIT;
	r = note_load(folders->state, id, part, &content, &message, &note);
	if (r == -ENOENT)
		return 0;
	if (r == 0 && note.has.done) {
		r = login_result_parse(note.done.data, note.done.size, ret_done, ret_result);
		done = r == 0;
	} else if (r == 0) {
		r = note_order(ret, folders, &note, part, trial_fd);
	}
	message_free(message);
	if (r == 0)
		return done ? 2 : 1;
	login_order_done(ret);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EAGAIN)
		return r;
	login_note_remove(folders->state, id, part);
	return 0;
}

void login_note_names_done(struct login_note_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i].part);
	free(names->items);
	*names = (struct login_note_names){0};
}

/* ID.carry or ID.HARNESS.carry; false: it is neither. */
static bool note_parse(const char *name, uint64_t *ret_id, const char **ret_part, size_t *ret_size)
{
	size_t size, suffix = strlen(NOTE_SUFFIX);
	char *end;

	*ret_id = strtoull(name, &end, 10);
	size = strlen(end);
	if (*ret_id == 0 || size < suffix || strcmp(end + size - suffix, NOTE_SUFFIX) != 0)
		return false;
	size -= suffix;
	*ret_part = size > 0 ? end + 1 : NULL;
	*ret_size = size > 0 ? size - 1 : 0;
	return size == 0 || (*end == '.' && size > 1 && size <= HARNESS_NAME_BYTES_MAX + 1);
}

static int note_add(struct login_note_names *names, const char *name)
{
	struct login_note_name note = {0}, *more;
	const char *part;
	size_t size;

	if (!note_parse(name, &note.id, &part, &size))
		return 0;
	more = realloc(names->items, (names->count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	names->items = more;
	note.part = part ? strndup(part, size) : NULL;
	if (part && !note.part)
		return -ENOMEM;
	names->items[names->count++] = note;
	return 0;
}

static int take_note(void *context, const char *name)
{
	return note_add(context, name);
}

int login_notes(int state_fd, struct login_note_names *ret)
{
	*ret = (struct login_note_names){0};
	return folder_each(state_fd, take_note, ret);
}

/* --- What is left of it --------------------------------------------------------------------------- */

void login_copy_folder(const char *part, char name[LOGIN_FOLDER_BYTES])
{
	snprintf(name, LOGIN_FOLDER_BYTES, LOGIN_COPY_FOLDER "%s%s", part ? "." : "",
		 part ? part : "");
}

struct leftovers {
	int folder_fd;
	const char *part;
	char seen[LOGIN_FOLDER_BYTES + 8];
};

static int remove_leftover(void *context, const char *name)
{
	const struct leftovers *leftovers = context;
	size_t size = strlen(leftovers->seen);

	if (strncmp(name, leftovers->seen, size) == 0 && (leftovers->part || name[size]))
		unlinkat(leftovers->folder_fd, name, 0);
	return 0;
}

int login_remove_copy(int trial_fd, const char *part)
{
	struct leftovers leftovers = {.folder_fd = trial_fd, .part = part};
	char name[LOGIN_FOLDER_BYTES];
	int r;

	login_copy_folder(part, name);
	r = wipe_remove(trial_fd, name, NULL);
	/* login-HARNESS.seen (keeper/carry_host.c), and what a kill left beside it */
	snprintf(leftovers.seen, sizeof(leftovers.seen), part ? "login-%s.seen" : "login-",
		 part ? part : "");
	folder_each(trial_fd, remove_leftover, &leftovers);
	return r;
}
