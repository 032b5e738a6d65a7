/* SPDX-License-Identifier: MIT */

/* The report, in its three forms. Texts are UTF-8 without control characters already. */
#include "doctor/check.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>

static int write_message(int fd, const struct doctor_reply *reply)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r;

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	r = message_encode(&packer, &doctor_reply_type, reply);
	if (r == 0)
		r = file_write(fd, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	return r;
}

void report_text(FILE *file, const char *separator, const char *key, const char *text)
{
	if (!text)
		return;
	fprintf(file, "%s\"%s\":\"", separator, key);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static void print_json_report(FILE *file, const struct doctor_reply *reply)
{
	fputc('{', file);
	report_text(file, "", "program", reply->program);
	fprintf(file, ",\"launchable\":%s", reply->launchable ? "true" : "false");
	report_text(file, ",", "message", reply->message);
	report_text(file, ",", "hint", reply->hint);
	fputs(",\"checks\":[", file);
	for (size_t i = 0; i < reply->checks.count; i++) {
		const struct doctor_check *check = &reply->checks.items[i];

		fputs(i ? ",{" : "{", file);
		report_text(file, "", "name", check->name);
		report_text(file, ",", "proves", check->proves);
		fprintf(file, ",\"state\":\"%s\"", check_state_name((int)check->state));
		report_text(file, ",", "message", check->message);
		report_text(file, ",", "hint", check->hint);
		fputc('}', file);
	}
	fputs("]}\n", file);
}

static void print_text_report(FILE *file, const struct doctor_reply *reply)
{
	static const char *const words[CHECK_COUNT] = {
		[CHECK_ok] = "ok",
		[CHECK_warning] = "warning",
		[CHECK_failed] = "FAILED",
		[CHECK_not_applicable] = "-",
	};

	for (size_t i = 0; i < reply->checks.count; i++) {
		const struct doctor_check *check = &reply->checks.items[i];

		fprintf(file, "%-8s %-26s %s\n", words[check->state], check->name,
			check->message ? check->message : check->proves);
		if (check->hint)
			fprintf(file, "%-8s %-26s to mend it: %s\n", "", "", check->hint);
	}
	if (reply->launchable)
		fputs("\nTrials can be launched.\n", file);
	else
		fprintf(file, "\nNo Trial can be launched: %s\n%s%s%s",
			reply->message ? reply->message : "", reply->hint ? "To mend it: " : "",
			reply->hint ? reply->hint : "", reply->hint ? "\n" : "");
}

int report_write(int fd, enum doctor_form form, const struct doctor_reply *reply)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *file;

	if (form == DOCTOR_MESSAGE)
		return write_message(fd, reply);
	file = open_memstream(&text, &size);
	if (!file)
		return -ENOMEM;
	if (form == DOCTOR_JSON)
		print_json_report(file, reply);
	else
		print_text_report(file, reply);
	if (fclose(file) != 0)
		return -ENOMEM;
	return file_write(fd, text, size);
}
