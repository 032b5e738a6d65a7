/* SPDX-License-Identifier: MIT */
#include "record.h"

/* A record's connections: told one by one, summed, or left out. Pure. */

void record_leave_out_connections(struct outcome_record *record)
{
	record->has.connections = record->has.connections_more = false;
	record->connections = (struct trial_connection_list){0};
	record->connections_more = (struct connection_sum){0};
}

void connection_sum_add(struct connection_sum *sum, const struct trial_connection_list *connections)
{
	for (size_t i = 0; i < connections->count; i++) {
		sum->count += connections->items[i].count;
		sum->sent_bytes += connections->items[i].sent_bytes;
		sum->received_bytes += connections->items[i].received_bytes;
	}
	sum->has.count = sum->has.sent_bytes = sum->has.received_bytes = true;
}
