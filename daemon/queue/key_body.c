/* SPDX-License-Identifier: MIT */
#include "queue/key_body.h"

#include <string.h>

#include "base/mem.h"
#include "plan/grading.h"
#include "queue/view.h"

static int join(const void *launch, size_t size, const uint8_t prompt[SHA256_DIGEST_SIZE],
		struct blob *ret_body)
{
	uint8_t *body = malloc(size + SHA256_DIGEST_SIZE);

	if (!body)
		return -ENOMEM;
	if (size)
		memcpy(body, launch, size);
	memcpy(body + size, prompt, SHA256_DIGEST_SIZE);
	*ret_body = (struct blob){.data = body, .size = size + SHA256_DIGEST_SIZE};
	return 0;
}

int key_body(const struct blob *spec, const uint8_t prompt[SHA256_DIGEST_SIZE],
	     struct blob *ret_body)
{
	struct launch_request launch = {0};
	struct message *message = NULL;
	struct decode_error error;
	msgpack_sbuffer shorter;
	int r;

	if (spec->size && message_parse(&message, spec->data, spec->size) == 0)
		message_decode(message, message_root(message), &launch_request_type,
			       UNKNOWN_KEYS_IGNORED, &launch, &error);
	/* Of a Grader that is the judged Trial's, and may be pruned by now. */
	if (launch_judges(&launch)) {
		launch.repository = NULL;
		launch.has.repository = false;
	}
	if (!launch_judges(&launch) && !launch.has.prompt_descriptor &&
	    (!launch.has.network || launch.network != NETWORK_allowlist)) {
		r = join(spec->data, spec->size, prompt, ret_body);
	} else {
		launch.has.prompt_descriptor = false;
		if (launch.network == NETWORK_allowlist)
			launch.has.network = false;
		r = view_encode(&shorter, &launch_request_type, &launch);
		if (r == 0) {
			r = join(shorter.data, shorter.size, prompt, ret_body);
			msgpack_sbuffer_destroy(&shorter);
		}
	}
	message_free(message);
	return r;
}
