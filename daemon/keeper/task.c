/* SPDX-License-Identifier: MIT */
#include "task.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fault_point.h"
#include "base/file.h"
#include "base/mem.h"
#include "carry.h"
#include "confine.h"

static int write_result(const struct carry *carry)
{
	struct login_result result;
	msgpack_sbuffer buffer;
	int r;

	carry_fill(carry, &result);
	msgpack_sbuffer_init(&buffer);
	r = login_result_pack(&buffer, &result);
	if (r == 0)
		r = file_write(TASK_FD_RESULT, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	close(TASK_FD_RESULT);
	return r;
}

/* What others have at hand is waited for, within reason. */
static void patiently(struct carry *carry, enum carry_look (*look)(struct carry *carry))
{
	const struct timespec moment = {.tv_nsec = 5 * 1000 * 1000};

	for (int i = 0; i < 1000; i++) {
		if (look(carry) == CARRY_LOOK_DONE)
			return;
		nanosleep(&moment, NULL);
	}
	carry->state = LOGIN_failed;
	snprintf(carry->reason, sizeof(carry->reason), "it is in use all the time");
}

static int run_order(struct carry *carry)
{
	const char *order = carry->login.order;

	if (!order)
		return -EBADMSG;
	if (strcmp(order, "prepare") == 0)
		patiently(carry, carry_prepare);
	else if (strcmp(order, "check") == 0)
		patiently(carry, carry_check);
	else if (strcmp(order, "restore") == 0)
		patiently(carry, carry_restore);
	else if (strcmp(order, "finish") == 0)
		carry_finish(carry);
	else
		return -EBADMSG;
	return 0;
}

int task_carry(void)
{
	int descriptors[LOGIN_FDS];
	struct carry carry;
	int r;

	for (int i = 0; i < LOGIN_FDS; i++)
		descriptors[i] = TASK_FD_LOGIN + i;
	/* It reads a device. */
	json_object_seed(0);
	FAULT_POINTS_ARM();
	r = carry_open(&carry, descriptors);
	if (r == 0)
		r = confine(TASK_FD_LOGIN + LOGIN_FD_PRODUCTION, TASK_FD_LOGIN + LOGIN_FD_LOCKS);
	if (r == 0)
		r = run_order(&carry);
	if (r == 0)
		r = write_result(&carry);
	carry_done(&carry);
	return r;
}
