/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "queue/view.h"
#include "stage.h"

/*
 * A row of the ledger as clients see it, whatever its stored messages have become. The input stands
 * for all three of them, the launch, the record and what trialsd knows: unknown keys are passed
 * over, so one map can be each of them. The view can always be sent, and is then understood.
 */

static void check_sent(const struct view *view)
{
	struct decode_error error;
	struct message *message;
	struct trial_view again;
	msgpack_sbuffer buffer;

	must(view_encode(&buffer, &trial_view_type, &view->trial) == 0);
	/* More than a frame holds is refused when it is framed, not here. */
	if (buffer.size <= FRAME_BYTES_MAX) {
		must(message_parse(&message, buffer.data, buffer.size) == 0);
		must(message_decode(message, message_root(message), &trial_view_type,
				    UNKNOWN_KEYS_REFUSED, &again, &error) == 0);
		must(again.id == 7 && again.state == STATE_ended);
		message_free(message);
	}
	msgpack_sbuffer_destroy(&buffer);
}

int fuzz_view(const uint8_t *data, size_t size)
{
	const struct blob blob = {.data = data, .size = size};
	const struct ledger_row row = {
		.id = 7,
		.uuid = "0b8ca9a5-0f5d-4a8a-9a64-2f4b0ee5f1a7",
		.state = STATE_ended,
		.outcome = OUTCOME_failed,
		.backend = BACKEND_none,
		.spec = blob,
		.facts = blob,
		.record = blob,
	};
	struct text_list writable;
	struct view view;

	must(view_make(&view, &row, "/trials", true) == 0);
	check_sent(&view);
	view_done(&view);
	view_writable(&row, &writable);
	for (size_t i = 0; i < writable.count; i++) {
		must(writable.items[i]);
		free((char *)writable.items[i]);
	}
	free(writable.items);
	return 0;
}
