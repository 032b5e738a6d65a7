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

int key_launch(const struct blob *spec, struct message **ret_message,
	       struct launch_request *ret_launch)
{
	struct launch_request *launch = ret_launch;
	struct decode_error error;
	int r = 0;

	*launch = (struct launch_request){0};
	*ret_message = NULL;
	if (spec->size && message_parse(ret_message, spec->data, spec->size) == 0)
		message_decode(*ret_message, message_root(*ret_message), &launch_request_type,
			       UNKNOWN_KEYS_IGNORED, launch, &error);
	/* Of a Grader that is the judged Trial's, and may be pruned by now. */
	if (launch_judges(launch)) {
		launch->repository = NULL;
		launch->has.repository = false;
		r = 1;
	}
	if (launch->has.prompt_descriptor) {
		launch->has.prompt_descriptor = false;
		r = 1;
	}
	if (launch->has.network && launch->network == NETWORK_allowlist) {
		launch->has.network = false;
		r = 1;
	}
	return r;
}

int key_body(const struct blob *spec, const uint8_t prompt[SHA256_DIGEST_SIZE],
	     struct blob *ret_body)
{
	struct message *message = NULL;
	struct launch_request launch;
	msgpack_sbuffer shorter;
	int r = key_launch(spec, &message, &launch);

	if (r == 0) {
		r = join(spec->data, spec->size, prompt, ret_body);
	} else {
		r = view_encode(&shorter, &launch_request_type, &launch);
		if (r == 0) {
			r = join(shorter.data, shorter.size, prompt, ret_body);
			msgpack_sbuffer_destroy(&shorter);
		}
	}
	message_free(message);
	return r;
}
