/* SPDX-License-Identifier: MIT */
#include "queue/login_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct remembered {
	char *harness; /* NULL: free */
	struct login_known known;
};

struct login_memory {
	struct remembered items[LOGINS_REMEMBERED_MAX];
	size_t next; /* that makes way when all are taken */
};

void login_known_done(struct login_known *known)
{
	free(known->reason);
	*known = (struct login_known){0};
}

static void drop(struct remembered *item)
{
	free(item->harness);
	item->harness = NULL;
	login_known_done(&item->known);
}

static struct remembered *find(struct login_memory *memory, const char *harness)
{
	for (size_t i = 0; memory && i < LOGINS_REMEMBERED_MAX; i++) {
		struct remembered *item = &memory->items[i];

		if (item->harness && strcmp(item->harness, harness) == 0)
			return item;
	}
	return NULL;
}

void login_remember(struct login_memory **memory, const char *harness, struct login_known *known)
{
	struct remembered *item = find(*memory, harness);

	if (!*memory)
		*memory = calloc(1, sizeof(**memory));
	if (*memory && !item) {
		item = &(*memory)->items[(*memory)->next];
		(*memory)->next = ((*memory)->next + 1) % LOGINS_REMEMBERED_MAX;
	}
	if (item)
		drop(item);
	if (item && known->valid && (item->harness = strdup(harness))) {
		item->known = *known;
		*known = (struct login_known){0};
	}
	login_known_done(known);
}

void login_recall(struct login_memory *memory, const char *harness, struct login_known *ret_known)
{
	struct remembered *item = find(memory, harness);

	if (!item)
		return;
	*ret_known = item->known;
	item->known = (struct login_known){0};
	drop(item);
}

void login_forget(struct login_memory *memory, const char *harness)
{
	struct remembered *item = find(memory, harness);

	if (item)
		drop(item);
}

struct login_memory *login_memory_free(struct login_memory *memory)
{
	for (size_t i = 0; memory && i < LOGINS_REMEMBERED_MAX; i++)
		drop(&memory->items[i]);
	free(memory);
	return NULL;
}
