/* SPDX-License-Identifier: MIT */

/* Whether what a Trial left is there as it was: who has written to it since, and which folder it is. */
#include "queue/grader.h"

#include <errno.h>
#include <string.h>

#include "plan/place.h"
#include "queue/folder_identity.h"

/* Whoever may write to a folder above writes to it as well as who may write to a part of it. */
static bool meets(const char *path, const char *folder)
{
	return folder && (path_within(path, folder) || path_within(folder, path));
}

static const char *touched(const struct judged *judged, const struct text_list *writable)
{
	for (size_t i = 0; i < writable->count; i++)
		if (meets(writable->items[i], judged->repository))
			return "its repository";
	for (size_t i = 0; i < writable->count; i++)
		if (meets(writable->items[i], judged->git))
			return "its git folder, which worktrees share,";
	return NULL;
}

bool judged_wrote(const struct blob *facts, const void *context)
{
	const struct ledger_row row = {.facts = *facts};
	struct text_list writable;
	bool wrote;

	view_writable(&row, &writable);
	wrote = touched(context, &writable) != NULL;
	text_list_done(&writable);
	return wrote;
}

int judged_check_since(const struct judged *judged, struct ledger_row *const *rows, size_t count,
		       struct fault *ret_fault)
{
	for (size_t i = 0; i < count; i++) {
		struct text_list writable;
		const char *what;

		view_writable(rows[i], &writable);
		what = touched(judged, &writable);
		text_list_done(&writable);
		if (!what)
			continue;
		fault_set(ret_fault, ERROR_refused,
			  "of: what Trial %llu left may no longer be there as it was: Trial %llu "
			  "could write to %s since%s",
			  (unsigned long long)judged->id, (unsigned long long)rows[i]->id, what,
			  rows[i]->state == STATE_ended ? "" : ", and still can");
		return fault_hint(ret_fault,
				  "judge a result before the next Trial runs on its repository, or "
				  "give each Trial one of its own");
	}
	return 0;
}

/* Whatever it leads to: a Grader has the folder at the very path that the Trial had. */
static int link_there(const struct judged *judged, struct fault *fault)
{
	_cleanup_free_ char *shown = display(judged->repository);

	fault_set(fault, ERROR_refused,
		  "of: the path of the repository of Trial %llu leads through a symbolic link now, "
		  "and did not: %s",
		  (unsigned long long)judged->id, shown);
	return fault_hint(fault, "move the folder that it had back to that path");
}

static int other_folder(const struct judged *judged, struct fault *fault)
{
	_cleanup_free_ char *shown = display(judged->repository);

	fault_set(
		fault, ERROR_refused,
		"of: at the path of the repository of Trial %llu is another folder than it had: %s",
		(unsigned long long)judged->id, shown);
	return fault_hint(fault, "move the folder that it had back to that path");
}

int judged_check_folder(const struct judged *judged, struct fault *ret_fault)
{
	char now[FOLDER_IDENTITY_BYTES];
	int r = folder_identity_at(judged->repository, now);

	if (r == -ELOOP)
		return link_there(judged, ret_fault);
	/* What is not there is told elsewhere, each in its way. */
	if (!judged->folder || r < 0 || folder_identity_same(judged->folder, now))
		return 0;
	return other_folder(judged, ret_fault);
}

int judged_check_bound(const struct judged *judged, int fd, struct fault *ret_fault)
{
	char now[FOLDER_IDENTITY_BYTES];
	int r;

	if (!judged->folder)
		return 0;
	r = folder_identity(fd, now);
	if (r < 0 || folder_identity_same(judged->folder, now))
		return r;
	return other_folder(judged, ret_fault);
}
