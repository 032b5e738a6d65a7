/* SPDX-License-Identifier: MIT */
/*
 * What can be proved of a Trial without the ledger, for one that is damaged, gone, or older than its
 * Trials.
 *
 *   its keeper   holds the lock of its folder: it runs. Under which uuid it listens, the file
 *                `launch` says, or the keeper itself when it is asked
 *   `outcome`    the keeper's record: it has ended, and so
 *   `launch`     it was accepted and started, as this file has it
 *   `stdout`     something of it ran
 *
 * Of one that has neither keeper nor record any more, the truth is that nobody knows its end: it is
 * lost, or interrupted where the boot has changed. Such a Trial is never started again, also not if
 * it seems to have been queued only: it may have been canceled since. A folder with nothing but a
 * prompt proves nothing: its launch may have been refused in the end.
 */
#include "queue/witness.h"

#include <dirent.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>

#include "base/log.h"
#include "base/now.h"
#include "keeper/attach.h"
#include "keeper/record.h"
#include "launch/launch.h"
#include "queue/hold.h"
#include "queue/launch_file.h"
#include "queue/key_body.h"
#include "queue/view.h"

#define HELLO_MILLISECONDS 2000 /* for all of them: one that is stopped does not answer */

struct keeper_found {
	uint64_t id;
	char uuid[37];
};

struct witness {
	int trials_fd;
	int keepers_fd;
	char boot_id[SD_ID128_STRING_MAX];
	bool asked;
	struct keeper_found *keepers;
	size_t count;
};

/* Keepers. */

static int take_hello(int channel, const char *uuid, uint64_t *ret_id)
{
	struct channel_packet packet;
	struct keeper_hello hello;
	struct decode_error error;
	int r = channel_receive(channel, true, &packet);

	if (r <= 0)
		return r < 0 ? r : -EPIPE;
	r = -EBADMSG;
	if (packet.verb == CHANNEL_hello &&
	    message_decode(packet.message, packet.body, &keeper_hello_type, UNKNOWN_KEYS_IGNORED,
			   &hello, &error) == 0 &&
	    strcmp(hello.uuid, uuid) == 0) {
		*ret_id = hello.trial;
		r = 0;
	}
	channel_packet_done(&packet);
	return r;
}

static int ask_keeper(struct witness *witness, const char *uuid, uint64_t deadline)
{
	struct keeper_found *more;
	struct pollfd ready = {.events = POLLIN};
	uint64_t now = now_microseconds(), id = 0;
	int wait = deadline > now ? (int)((deadline - now) / 1000) : 0;
	int r;

	r = attach_connect(witness->keepers_fd, uuid, &ready.fd);
	if (r < 0)
		return 0; /* it is gone, and left its socket */
	if (poll(&ready, 1, wait < HELLO_MILLISECONDS ? wait : HELLO_MILLISECONDS) > 0)
		r = take_hello(ready.fd, uuid, &id);
	close(ready.fd);
	if (r < 0 || id == 0 || id > INT64_MAX)
		return 0;
	more = realloc(witness->keepers, (witness->count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	witness->keepers = more;
	more[witness->count].id = id;
	snprintf(more[witness->count++].uuid, sizeof(more->uuid), "%s", uuid);
	return 0;
}

/* An open folder to be read, from its beginning. */
static int read_folder(int folder_fd, DIR **ret_folder)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret_folder = fd < 0 ? NULL : fdopendir(fd);
	if (*ret_folder)
		return 0;
	fd_close(fd);
	return -errno;
}

/* Once: it is asked for a Trial whose keeper lives and whose uuid nothing else tells. */
static int ask_keepers(struct witness *witness)
{
	uint64_t deadline = now_microseconds() + HELLO_MILLISECONDS * 1000u;
	struct dirent *entry;
	DIR *folder;
	int r;

	if (witness->asked)
		return 0;
	r = read_folder(witness->keepers_fd, &folder);
	if (!folder)
		return r;
	witness->asked = true;
	while (r == 0 && (entry = readdir(folder)))
		if (strlen(entry->d_name) == 36)
			r = ask_keeper(witness, entry->d_name, deadline);
	closedir(folder);
	return r;
}

static const char *keeper_uuid(struct witness *witness, uint64_t id)
{
	for (size_t i = 0; i < witness->count; i++)
		if (witness->keepers[i].id == id)
			return witness->keepers[i].uuid;
	return NULL;
}

/* Rows. */

static int set_text(char **field, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static int set_blob(struct blob *field, struct blob value)
{
	uint8_t *copy = value.size ? malloc(value.size) : NULL;

	if (value.size && !copy)
		return -ENOMEM;
	if (value.size)
		memcpy(copy, value.data, value.size);
	free((void *)field->data);
	*field = (struct blob){.data = copy, .size = value.size};
	return 0;
}

static int row_from_row(struct ledger_row *row, const struct ledger_row *salvaged)
{
	int r;

	*row = *salvaged;
	row->key = row->unit = row->boot_id = row->canceled_by = row->plan_digest = NULL;
	row->spec = row->facts = row->record = (struct blob){0};
	(void)((r = set_text(&row->key, salvaged->key)) < 0 ||
	       (r = set_text(&row->unit, salvaged->unit)) < 0 ||
	       (r = set_text(&row->boot_id, salvaged->boot_id)) < 0 ||
	       (r = set_text(&row->canceled_by, salvaged->canceled_by)) < 0 ||
	       (r = set_text(&row->plan_digest, salvaged->plan_digest)) < 0 ||
	       (r = set_blob(&row->spec, salvaged->spec)) < 0 ||
	       (r = set_blob(&row->facts, salvaged->facts)) < 0);
	return r;
}

/* Its latest attempt, and what a row that is older than that does not have. */
static int row_from_file(struct ledger_row *row, const struct launch_file *file, bool salvaged)
{
	int r = 0;

	snprintf(row->uuid, sizeof(row->uuid), "%s", file->uuid);
	row->backend = file->backend;
	(void)((r = set_text(&row->unit, file->unit)) < 0 ||
	       (r = set_text(&row->boot_id, file->boot_id)) < 0 ||
	       (r = set_text(&row->plan_digest, file->plan_digest)) < 0 ||
	       (r = set_blob(&row->facts, file->facts)) < 0);
	if (r < 0 || salvaged)
		return r;
	row->submitted_at = file->submitted_at;
	row->priority = file->priority;
	r = set_text(&row->key, file->key);
	return r < 0 ? r : set_blob(&row->spec, file->spec);
}

static int row_set_facts(struct ledger_row *row, const char *note)
{
	const struct trial_facts facts = {
		.has.notes = true,
		.notes = {.count = 1, .items = &note},
	};
	msgpack_sbuffer buffer;
	int r = view_encode(&buffer, &trial_facts_type, &facts);

	if (r < 0)
		return r;
	r = set_blob(&row->facts,
		     (struct blob){.data = (const uint8_t *)buffer.data, .size = buffer.size});
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

static int row_end(struct ledger_row *row, const struct outcome_record *record)
{
	msgpack_sbuffer buffer;
	int r;

	row->state = STATE_ended;
	row->outcome = (int)record->outcome;
	row->ended_at = record->ended_at;
	if (record->has.started_at)
		row->started_at = record->started_at;
	/* The time is asked for; the earliest that is known is the nearest to the truth. */
	if (!row->submitted_at)
		row->submitted_at = row->started_at ? row->started_at : row->ended_at;
	r = view_encode(&buffer, &outcome_record_type, record);
	if (r < 0)
		return r;
	r = set_blob(&row->record,
		     (struct blob){.data = (const uint8_t *)buffer.data, .size = buffer.size});
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

/* What a Trial's folder shows. */
struct evidence {
	int folder_fd; /* -1: there is none */
	struct message *file_message;
	struct launch_file file;
	struct message *record_message;
	struct outcome_record record;
	bool has_output;
	const char *keeper; /* its keeper's uuid, when it lives; "" when that is not known */
};

static void evidence_done(struct evidence *evidence)
{
	message_free(evidence->file_message);
	message_free(evidence->record_message);
	fd_close(evidence->folder_fd);
}

/* Absent is what cannot be read, unless memory was lacking for it. */
static int evidence_find(struct witness *witness, uint64_t id, struct evidence *evidence)
{
	int r;

	*evidence = (struct evidence){.folder_fd = -1};
	r = launch_folder(witness->trials_fd, id, false, &evidence->folder_fd);
	if (r < 0) {
		evidence->folder_fd = -1;
		evidence->keeper = keeper_uuid(witness, id);
		return r == -ENOMEM ? r : 0;
	}
	r = launch_file_read(evidence->folder_fd, id, &evidence->file_message, &evidence->file);
	if (r < 0)
		evidence->file_message = NULL;
	if (r != -ENOMEM)
		r = record_read(evidence->folder_fd, &evidence->record_message, &evidence->record);
	if (r < 0)
		evidence->record_message = NULL;
	evidence->has_output = faccessat(evidence->folder_fd, "stdout", F_OK,
					 AT_SYMLINK_NOFOLLOW) == 0;
	if (r == -ENOMEM || launch_folder_held(evidence->folder_fd) != 1)
		return r == -ENOMEM ? r : 0;
	evidence->keeper = "";
	if (evidence->file_message)
		return 0;
	r = ask_keepers(witness);
	if (r == 0 && keeper_uuid(witness, id))
		evidence->keeper = keeper_uuid(witness, id);
	return r;
}

static int row_make(uint64_t id, const struct evidence *evidence, const struct ledger_row *salvaged,
		    struct ledger_row *row)
{
	int r = 0;

	row->id = id;
	row->outcome = row->backend = -1;
	sd_id128_to_uuid_string(SD_ID128_NULL, row->uuid);
	if (salvaged)
		r = row_from_row(row, salvaged);
	if (r == 0 && evidence->file_message)
		r = row_from_file(row, &evidence->file, salvaged != NULL);
	else if (r == 0 && !salvaged)
		r = row_set_facts(row, "the ledger was lost, and with it how this Trial was "
				       "launched: command, network and time of submission");
	if (evidence->keeper && *evidence->keeper)
		snprintf(row->uuid, sizeof(row->uuid), "%s", evidence->keeper);
	return r;
}

/* Neither keeper nor record. */
static int row_end_unknown(const struct witness *witness, const struct evidence *evidence,
			   struct ledger_row *row)
{
	bool ran = evidence->has_output || row->state == STATE_running ||
		   row->state == STATE_ending;
	bool rebooted = row->boot_id && strcmp(row->boot_id, witness->boot_id) != 0;
	struct outcome_record record = {
		.has = {.outcome = true, .ended_by = true, .ended_at = true, .message = true},
		.outcome = OUTCOME_lost,
		.ended_by = ENDER_outside,
		.ended_at = now_microseconds(),
		.message = "its keeper and its record are both gone, and the ledger was lost",
	};

	if (ran && rebooted) {
		record.outcome = OUTCOME_interrupted;
		record.message = "the machine was restarted under it, and the ledger was lost";
	} else if (!ran && evidence->file_message) {
		record.message = "the ledger was lost: this Trial was about to start, and nothing "
				 "shows that it ran";
	} else if (!ran) {
		record.message = "the ledger lost what was written last: this Trial was queued "
				 "before that, and it is not known what became of it";
	}
	return row_end(row, &record);
}

/* What its key stands for. */
static int body_of(const struct ledger_row *row, int folder_fd, struct blob *ret_body)
{
	struct message *message = NULL;
	struct trial_facts facts = {0};
	int r;

	_cleanup_close_ int prompt = -1;
	uint8_t digest[SHA256_DIGEST_SIZE] = {0};
	struct sha256_ctx sha;
	char buffer[65536];
	ssize_t n = 0;

	if (folder_fd >= 0)
		prompt = openat(folder_fd, "prompt", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (prompt >= 0) {
		sha256_init(&sha);
		while ((n = read(prompt, buffer, sizeof(buffer))) > 0)
			sha256_update(&sha, (size_t)n, (const uint8_t *)buffer);
		/* One that cannot be read leaves a body that nothing equals: the key is still taken. */
		if (n == 0)
			sha256_digest(&sha, SHA256_DIGEST_SIZE, digest);
	}
	/* Of an Arm's it is the launch as it was asked for. */
	view_decode(&row->facts, &message, &trial_facts_type, &facts);
	r = key_body(facts.asked.size ? &facts.asked : &row->spec, digest, ret_body);
	message_free(message);
	return r;
}

static int make_proof(const struct witness *witness, uint64_t id, const struct evidence *evidence,
		      const struct ledger_row *salvaged, struct ledger_proof *proof)
{
	struct ledger_row *row = calloc(1, sizeof(*row));
	int r;

	proof->row = row;
	if (!row)
		return -ENOMEM;
	r = row_make(id, evidence, salvaged, row);
	if (r < 0)
		return r;
	if (evidence->record_message) {
		r = row_end(row, &evidence->record);
	} else if (evidence->keeper) {
		if (row->state != STATE_ending)
			row->state = STATE_running;
		if (!row->submitted_at)
			row->submitted_at = now_microseconds();
		/* It lives, so it was started in this boot. */
		r = set_text(&row->boot_id, witness->boot_id);
	} else {
		r = row_end_unknown(witness, evidence, row);
	}
	if (r == 0 && row->key)
		r = body_of(row, evidence->folder_fd, &proof->body);
	return r;
}

static int witness_prove(void *context, uint64_t id, const struct ledger_row *salvaged,
			 struct ledger_proof *ret_proof)
{
	struct witness *witness = context;
	struct evidence evidence;
	int r = evidence_find(witness, id, &evidence);

	if (r == 0 && (salvaged || evidence.record_message || evidence.file_message ||
		       evidence.keeper || evidence.has_output))
		r = make_proof(witness, id, &evidence, salvaged, ret_proof);
	evidence_done(&evidence);
	return r;
}

/* Which there are. */

static uint64_t folder_id(const char *name)
{
	unsigned long long id;
	char *end;

	if (*name < '1' || *name > '9')
		return 0;
	errno = 0;
	id = strtoull(name, &end, 10);
	return errno == 0 && *end == '\0' && id < INT64_MAX ? id : 0;
}

static int each_keeper(struct witness *witness, int (*found)(void *seeker, uint64_t id),
		       void *seeker)
{
	int r = ask_keepers(witness);

	for (size_t i = 0; i < witness->count && r == 0; i++) {
		_cleanup_close_ int folder = -1;

		if (launch_folder(witness->trials_fd, witness->keepers[i].id, false, &folder) < 0)
			r = found(seeker, witness->keepers[i].id);
	}
	return r;
}

static int witness_each(void *context, bool all, int (*found)(void *seeker, uint64_t id),
			void *seeker)
{
	struct witness *witness = context;
	struct dirent *entry;
	DIR *folder;
	int r = read_folder(witness->trials_fd, &folder);

	if (!folder)
		return r;
	while (r == 0 && (entry = readdir(folder))) {
		uint64_t id = folder_id(entry->d_name);

		if (id)
			r = found(seeker, id);
	}
	closedir(folder);
	return r == 0 && all ? each_keeper(witness, found, seeker) : r;
}

int queue_open_ledger(Ledger **ret_ledger, const struct ledger_options *options, int trials_fd,
		      int keepers_fd, struct fault *ret_fault)
{
	struct witness witness = {.trials_fd = trials_fd, .keepers_fd = keepers_fd};
	const struct queue_hold doubt = {
		.kind = HOLD_pause,
		.reason = "the ledger was damaged: whether the queue was paused is not known",
		.at = now_microseconds(),
		.by = "trialsd",
	};
	_cleanup_free_ char *text = hold_to_text(&doubt);
	const struct ledger_witness testimony = {
		.each = witness_each,
		.prove = witness_prove,
		.in_doubt = {.name = HOLD_SETTING, .value = text},
		.context = &witness,
	};
	struct ledger_options all = *options;
	bool news = false;
	sd_id128_t boot;
	int r;

	r = text ? sd_id128_get_boot(&boot) : -ENOMEM;
	if (r < 0)
		return r;
	sd_id128_to_string(boot, witness.boot_id);
	all.witness = &testimony;
	/* To rebuild a large one takes a while. */
	sd_notify(0, "EXTEND_TIMEOUT_USEC=900000000");
	r = ledger_new(ret_ledger, &all, ret_fault);
	free(witness.keepers);
	if (r == 0 && ledger_note(*ret_ledger, &news) && news)
		log_write(LOG_LEVEL_ERROR, LOG_ID_LEDGER_REBUILT, 0, "%s",
			  ledger_note(*ret_ledger, NULL));
	return r;
}
