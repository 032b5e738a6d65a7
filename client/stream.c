/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "stream.h"

void stream_writer_init(struct stream_writer *writer, struct context *context, const char *stream,
			FILE *file)
{
	*writer = (struct stream_writer){
		.context = context,
		.stream = stream,
		.file = file,
		.escape = !context->json && isatty(fileno(file)),
	};
}

json_t *stream_arguments(uint64_t id, const char *stream, bool follow)
{
	return need_memory(json_pack("{s:I, s:s, s:b}", "id", (json_int_t)id, "stream", stream,
				     "follow", follow));
}

static int write_json(const struct stream_writer *writer, const struct trials_message *event)
{
	json_t *object = need_memory(json_from_message(event));
	json_t *line = need_memory(json_pack("{s:s, s:s}", "event", trials_message_event(event),
					     "stream", writer->stream));

	json_object_update(line, object);
	context_print(writer->context, line);
	json_decref(line);
	json_decref(object);
	return ferror(stdout) ? -EIO : 0;
}

static int write_chunk(struct stream_writer *writer, const struct trials_message *event)
{
	const void *bytes;
	size_t size;
	int r;

	if (trials_get_bytes(event, "data", &bytes, &size) < 0 || size == 0)
		return 0;
	writer->inside_line = ((const char *)bytes)[size - 1] != '\n';
	if (writer->escape)
		r = neutralise_stream(&writer->neutraliser, bytes, size, writer->file);
	else
		r = fwrite(bytes, 1, size, writer->file) == size ? 0 : -EIO;
	return r < 0 || fflush(writer->file) != 0 ? -EIO : 0;
}

static void say_gap(const struct trials_message *event)
{
	int64_t from = 0, to = 0;

	trials_get_integer(event, "from", &from);
	trials_get_integer(event, "to", &to);
	fprintf(stderr, "[%lld bytes not kept]\n", (long long)(to - from));
}

int stream_writer_event(struct stream_writer *writer, const struct trials_message *event)
{
	const char *name = trials_message_event(event);
	bool end = strcmp(name, "log_end") == 0;
	int r = 0;

	if (writer->context->json)
		r = write_json(writer, event);
	else if (strcmp(name, "log") == 0)
		r = write_chunk(writer, event);
	else if (strcmp(name, "gap") == 0)
		say_gap(event);
	else if (end && writer->escape)
		r = neutralise_end(&writer->neutraliser, writer->file);
	if (r < 0)
		return r;
	return end;
}
