/* SPDX-License-Identifier: MIT */
#include "queue/key_difference.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"
#include "plan/field_text.h"
#include "proto/codec.h"
#include "queue/key_body.h"
#include "queue/view.h"

#define TOLD_MOST 3
#define VALUE_BYTES 96 /* of a value, from a little before where it differs */

struct differences {
	FILE *stream;
	size_t count;
};

static void structures_differ(struct differences *differences, const char *prefix,
			      const struct message_type *type, const void *a, const void *b);

/* One more. True: it is to be told. */
static bool next(struct differences *differences)
{
	if (++differences->count > TOLD_MOST)
		return false;
	if (differences->count > 1)
		fputs("; ", differences->stream);
	return true;
}

/* NULL: absent. What has no memory left is told as "(null)", as in any message. */
static void values_differ(struct differences *differences, const char *what, const char *was,
			  const char *is)
{
	size_t same = was && is ? value_same(was, is) : 0;

	if ((!was && !is) || (was && is && strcmp(was, is) == 0) || !next(differences))
		return;
	_cleanup_free_ char *was_part = was ? value_part(was, same, VALUE_BYTES) : NULL;
	_cleanup_free_ char *is_part = is ? value_part(is, same, VALUE_BYTES) : NULL;
	_cleanup_free_ char *key = display(what), *was_shown = value_shown(was_part),
			    *is_shown = value_shown(is_part);

	fprintf(differences->stream, "%s was %s, and is %s", key, was_shown, is_shown);
}

static void variable_differs(struct differences *differences, const char *what, const char *was,
			     const char *is)
{
	_cleanup_free_ char *key = display(what);

	if (was && is ? strcmp(was, is) == 0 : was == is)
		return;
	if (next(differences))
		fprintf(differences->stream, "%s %s", key,
			!was  ? "was not set, and is"
			: !is ? "was set, and is not"
			      : "has another value");
}

static void pair_differs(struct differences *differences, const struct field *field,
			 const char *name, const char *was, const char *is)
{
	_cleanup_free_ char *what = text_format("%s.%s", field->name, name);

	if (what)
		(field->type == FIELD_PAIRS ? variable_differs : values_differ)(differences, what,
										was, is);
}

/* Their order counts in what a key stands for, and means nothing else. */
static void pairs_differ(struct differences *differences, const struct field *field,
			 const struct pair_list *was, const struct pair_list *is)
{
	size_t before = differences->count;
	bool ordered = true;

	for (size_t i = 0; i < was->count; i++) {
		const struct pair *pair = &was->items[i];

		pair_differs(differences, field, pair->name, pair->value,
			     pair_list_get(is, pair->name));
		ordered = ordered && i < is->count && strcmp(pair->name, is->items[i].name) == 0;
	}
	for (size_t i = 0; i < is->count; i++)
		if (!pair_list_get(was, is->items[i].name))
			pair_differs(differences, field, is->items[i].name, NULL,
				     is->items[i].value);
	if (!ordered && differences->count == before && next(differences))
		fprintf(differences->stream, "%s is in another order", field->name);
}

static void binds_differ(struct differences *differences, const struct field *field,
			 const struct bind_list *was, const struct bind_list *is)
{
	for (size_t i = 0; i < was->count || i < is->count; i++) {
		_cleanup_free_ char *what = text_format("%s[%zu]", field->name, i);

		if (!what)
			continue;
		if (i < was->count && i < is->count)
			structures_differ(differences, what, &bind_spec_type, &was->items[i],
					  &is->items[i]);
		else
			values_differ(differences, what,
				      i < was->count ? was->items[i].source : NULL,
				      i < is->count ? is->items[i].source : NULL);
	}
}

static void field_differs(struct differences *differences, const char *path,
			  const struct field *field, const void *a, const void *b)
{
	const void *was = (const char *)a + field->offset, *is = (const char *)b + field->offset;
	_cleanup_free_ char *was_text = NULL, *is_text = NULL;

	switch (field->type) {
	case FIELD_LIMITS:
		structures_differ(differences, path, &limits_spec_type, was, is);
		break;
	case FIELD_PAIRS:
	case FIELD_STRING_PAIRS:
		pairs_differ(differences, field, was, is);
		break;
	case FIELD_BINDS:
		binds_differ(differences, field, was, is);
		break;
	case FIELD_BLOB: /* a prompt, which is stored elsewhere */
		break;
	default:
		if (field_text(field, a, &was_text) == 0 && field_text(field, b, &is_text) == 0)
			values_differ(differences, path, was_text, is_text);
		break;
	}
}

static void structures_differ(struct differences *differences, const char *prefix,
			      const struct message_type *type, const void *a, const void *b)
{
	for (size_t i = 0; i < type->count; i++) {
		const struct field *field = &type->fields[i];
		_cleanup_free_ char *path = text_format("%s%s%s", prefix, *prefix ? "." : "",
							field->name);

		if (path)
			field_differs(differences, path, field, a, b);
	}
}

char *key_difference(const struct launch_request *was, const struct launch_request *is)
{
	struct differences differences = {0};
	char *text = NULL;
	size_t size = 0;

	differences.stream = open_memstream(&text, &size);
	if (!differences.stream)
		return NULL;
	structures_differ(&differences, "", &launch_request_type, was, is);
	if (differences.count > TOLD_MOST)
		fprintf(differences.stream, "; and %zu more", differences.count - TOLD_MOST);
	if (differences.count == 0)
		fputs("its prompt is another", differences.stream);
	if (ferror(differences.stream) | (fclose(differences.stream) != 0)) {
		free(text);
		return NULL;
	}
	return text;
}

int key_conflict(const char *key, const struct ledger_row *row, const struct blob *asked,
		 struct fault *ret_fault)
{
	struct message *was_message, *is_message, *facts_message = NULL;
	unsigned long long id = (unsigned long long)row->id;
	struct trial_facts facts = {0};
	struct launch_request was, is;
	_cleanup_free_ char *text = NULL;

	/* Of an Arm's it is the launch as it was asked for. */
	view_decode(&row->facts, &facts_message, &trial_facts_type, &facts);
	key_launch(facts.asked.size ? &facts.asked : &row->spec, &was_message, &was);
	key_launch(asked, &is_message, &is);
	/* The shipped default counts as not said: here it is told. */
	if (!was.has.network)
		was.has.network = true, was.network = NETWORK_allowlist;
	if (!is.has.network)
		is.has.network = true, is.network = NETWORK_allowlist;
	text = key_difference(&was, &is);
	fault_set(ret_fault, ERROR_conflict,
		  "key: \"%s\" belongs to Trial %llu, which was launched differently: %s", key, id,
		  text ?: "in what, there is no memory to tell");
	message_free(is_message);
	message_free(was_message);
	message_free(facts_message);
	return fault_hint(ret_fault, "use another key, or trialctl show %llu", id);
}
