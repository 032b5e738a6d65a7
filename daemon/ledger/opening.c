/* SPDX-License-Identifier: MIT */
/*
 * From a state folder to a ledger that can be trusted, or a refusal. In this order, since each step
 * must not be spoilt by the one after it:
 *
 *   1 what a crash interrupted is finished: a rebuilt ledger takes its place
 *   2 damage is looked for that SQLite would hide: a write-ahead log that lost something, an empty
 *     file beside a log, a file that is gone although there are Trials
 *   3 SQLite opens it: damage, another program's or a newer schema is told; an older one is migrated
 *   4 a damaged one is rebuilt, and opened once more
 *   5 the witness is asked for Trials beyond its last one
 */
#include "opening.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "rebuild.h"
#include "wal.h"

/* 2. -EUCLEAN with damage filled. */
static int look(int folder_fd, const struct ledger_witness *witness, struct damage *damage)
{
	_cleanup_free_ char *marked = NULL;
	const char *what = NULL;
	struct stat st = {0};
	bool any = false;
	int r;

	if (fstatat(folder_fd, LEDGER_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return -errno;
		damage->missing = true;
	} else if (!S_ISREG(st.st_mode)) {
		return 0; /* refused when it is opened */
	}
	damage->empty = st.st_size == 0;
	r = wal_check(folder_fd, LEDGER_FILE "-wal", LEDGER_FILE "-shm", st.st_size, &what);
	if (r > 0) {
		/* Of what was committed last at least something is gone. */
		damage->outdated = true;
		damage->missing = false;
	}
	if (r == 0 && st.st_size == 0) {
		r = rebuild_any(witness, &any);
		what = damage->missing ? "it is gone" : "it is empty, and there are Trials";
		r = r == 0 && any ? 1 : r;
	}
	if (r == 0) {
		r = files_damaged(folder_fd, &marked);
		what = marked;
		r = r == 0 && marked ? 1 : r;
	}
	if (r > 0)
		snprintf(damage->what, sizeof(damage->what), "%s", what);
	return r > 0 ? -EUCLEAN : r;
}

/* 2 and 3. */
static int try_open(struct opening *opening, const char *state_folder,
		    const struct ledger_witness *witness, struct damage *damage,
		    struct fault *ret_fault)
{
	int r = look(opening->folder_fd, witness, damage);

	if (r == 0)
		r = store_open(&opening->store, state_folder, damage->what, ret_fault);
	return r;
}

/* 5. */
static int add_newer(struct opening *opening, const char *state_folder,
		     const struct ledger_witness *witness, struct fault *ret_fault)
{
	char what[DAMAGE_BYTES] = "";
	uint64_t added = 0;
	int r;

	r = rebuild_newer(opening->folder_fd, store_database(opening->store),
			  store_last_id(opening->store), witness, &added, &opening->last_id);
	if (r < 0 || !added)
		return r;
	opening->news = true;
	/* What it has counted when it was opened is no longer so. */
	opening->store = store_free(opening->store);
	return store_open(&opening->store, state_folder, what, ret_fault);
}

static int fill_opening(struct opening *opening, const char *state_folder,
			const struct ledger_witness *witness, struct fault *ret_fault)
{
	_cleanup_free_ char *path = NULL;
	struct damage damage = {0}, again = {0};
	int r;

	if (asprintf(&path, "%s/" LEDGER_FILE, state_folder) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = files_recover(opening->folder_fd, &opening->news);
	if (r == 0)
		r = try_open(opening, state_folder, witness, &damage, ret_fault);
	if (r == -EUCLEAN) {
		r = rebuild_ledger(opening->folder_fd, path, &damage, witness, ret_fault);
		opening->news = true;
		if (r == 0)
			r = try_open(opening, state_folder, witness, &again, ret_fault);
	}
	if (r == -EUCLEAN)
		return fault_set(
			       ret_fault, ERROR_unavailable,
			       "%s: the ledger was damaged (%s) and rebuilt, and is damaged again: %s",
			       path, damage.what, again.what),
		       fault_hint(ret_fault, "see to the disk, then start trialsd again");
	if (r != 0)
		return r;
	opening->last_id = store_last_id(opening->store);
	if (witness)
		r = add_newer(opening, state_folder, witness, ret_fault);
	if (r == 0)
		r = files_note_newest(opening->folder_fd, &opening->note, NULL);
	return r;
}

int opening_open(struct opening *ret_opening, const char *state_folder,
		 const struct ledger_witness *witness, struct fault *ret_fault)
{
	struct opening opening = {.folder_fd = -1};
	int r;

	opening.folder_fd = open(state_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (opening.folder_fd < 0)
		return fault_errno(ret_fault, errno, state_folder);
	r = fill_opening(&opening, state_folder, witness, ret_fault);
	if (r != 0) {
		store_free(opening.store);
		free(opening.note);
		fd_close(opening.folder_fd);
		return r;
	}
	*ret_opening = opening;
	return 0;
}
