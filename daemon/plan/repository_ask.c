/* SPDX-License-Identifier: MIT */
#include "repository_git.h"

#include "launch/task.h"

/*
 * The child that reads what a Trial may have written (keeper/git_look.h). It is waited for, as
 * resolving a path is: it opens some files and ends. One that does not within seconds is killed.
 */

#define ASK_MILLISECONDS 5000

int repository_ask(const char *keeper, int repository_fd, const char *repository,
		   struct message **ret_message, struct git_layout *ret_layout)
{
	const struct task_order order = {
		.keeper = keeper,
		.words = {"repository", repository},
		.descriptors = {repository_fd},
		.descriptor_count = 1,
		.most = GIT_LAYOUT_BYTES_MAX,
		.milliseconds = ASK_MILLISECONDS,
	};
	_cleanup_free_ char *answer = NULL;
	size_t size = 0;
	int r = task_run(&order, &answer, &size);

	return r < 0 ? r : git_layout_parse(answer, size, ret_message, ret_layout);
}
