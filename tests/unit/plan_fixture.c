/* SPDX-License-Identifier: MIT */
#include "plan_fixture.h"

#include <check.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void make_folder(const char *path)
{
	char copy[PATH_BYTES_MAX + 1];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *slash = copy + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		ck_assert(mkdir(copy, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	ck_assert(mkdir(copy, 0755) == 0 || errno == EEXIST);
}

static void make_parent(const char *path)
{
	char copy[PATH_BYTES_MAX + 1];

	snprintf(copy, sizeof(copy), "%s", path);
	*strrchr(copy, '/') = '\0';
	make_folder(copy);
}

void make_file(const char *path, const char *text)
{
	FILE *file;

	make_parent(path);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert(fputs(text, file) >= 0);
	ck_assert_int_eq(fclose(file), 0);
}

void make_link(const char *path, const char *text)
{
	make_parent(path);
	ck_assert_int_eq(symlink(text, path), 0);
}

const char *at(struct plan_fixture *fixture, const char *format, ...)
{
	static char buffers[512][PATH_BYTES_MAX + 1];
	static unsigned int turn;
	char *buffer = buffers[turn++ % ARRAY_SIZE(buffers)];
	va_list arguments;
	int used = 0;

	if (format[0] != '/')
		used = snprintf(buffer, sizeof(buffers[0]), "%s/", fixture->root);
	va_start(arguments, format);
	vsnprintf(buffer + used, sizeof(buffers[0]) - (size_t)used, format, arguments);
	va_end(arguments);
	return buffer;
}

void fixture_init(struct plan_fixture *fixture)
{
	static const char *const folders[] = {"home", "state", "run", "repo"};

	*fixture = (struct plan_fixture){.fault = FAULT_INIT};
	strcpy(fixture->root, "/tmp/trials-plan.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(fixture->root));
	ck_assert_int_eq(chmod(fixture->root, 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		make_folder(at(fixture, "%s", folders[i]));
	fixture->config.grace_seconds = 10;
	fixture->config.host_network = true;
	fixture->config.idle_seconds = 1800;
	ck_assert_int_eq(plan_host_init(&fixture->host, at(fixture, "home"), at(fixture, "state"),
					at(fixture, "run"), at(fixture, "conf/trialsd"),
					&fixture->config, &fixture->fault),
			 0);
	fixture->command[0] = "true";
	fixture->launch.command.items = fixture->command;
	fixture->launch.command.count = 1;
	fixture->launch.binds.items = fixture->binds;
	fixture->launch.environment.items = fixture->variables;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void forget_binds(struct plan_fixture *fixture)
{
	for (size_t i = 0; i < fixture->launch.binds.count; i++) {
		free((char *)fixture->binds[i].source);
		free((char *)fixture->binds[i].destination);
	}
	fixture->launch.binds.count = 0;
}

void fixture_done(struct plan_fixture *fixture)
{
	forget_binds(fixture);
	fault_done(&fixture->fault);
	plan_host_done(&fixture->host);
	ck_assert_int_eq(nftw(fixture->root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void add_bind(struct plan_fixture *fixture, const char *source, const char *destination,
	      const char *mode)
{
	struct bind_spec *bind = &fixture->binds[fixture->launch.binds.count++];

	bind->source = strdup(source);
	bind->destination = destination ? strdup(destination) : NULL;
	bind->has.destination = destination != NULL;
	bind->has.mode = true;
	bind->mode = strcmp(mode, "rw") ? MODE_ro : MODE_rw;
	bind->has.optional = bind->optional = !strcmp(mode, "optional");
}

static void add_fact(struct system_facts *facts, enum plan_operation_type type,
		     const char *destination, const char *source, const char *data)
{
	struct plan_operation *operation = operation_add(&facts->operations,
							 &facts->operation_count, type, destination,
							 source);

	ck_assert_ptr_nonnull(operation);
	if (data)
		ck_assert_int_eq(plan_file_new(&operation->file, strdup(data), strlen(data)), 0);
}

void fixed_facts(struct system_facts *facts)
{
	*facts = (struct system_facts){0};
	add_fact(facts, PLAN_SYSTEM_BIND, "/usr", "/usr", NULL);
	add_fact(facts, PLAN_SYMLINK, "/bin", "usr/bin", NULL);
	add_fact(facts, PLAN_SYMLINK, "/lib64", "usr/lib64", NULL);
	add_fact(facts, PLAN_SYMLINK, "/etc/localtime", "/usr/share/zoneinfo/UTC", NULL);
	add_fact(facts, PLAN_SYSTEM_BIND, "/etc/ssl/certs", "/etc/ssl/certs", NULL);
	add_fact(facts, PLAN_FILE, "/etc/ld.so.cache", NULL, "cache\n");
	add_fact(facts, PLAN_MASK, "/proc/keys", NULL, NULL);
}

int build(struct plan_fixture *fixture, struct plan **ret_plan)
{
	struct system_facts facts;
	int r;

	fixed_facts(&facts);
	if (fixture->launch.has.network && fixture->launch.network == NETWORK_host) {
		facts.resolv_conf = strdup("nameserver 192.0.2.53\n");
		facts.hosts = strdup("192.0.2.1 printer\n");
	}
	fault_done(&fixture->fault);
	r = plan_build_grader(ret_plan, &fixture->host, &facts, &fixture->launch, fixture->grading,
			      &fixture->fault);
	system_facts_done(&facts);
	return r;
}

void expect_plan(struct plan_fixture *fixture)
{
	struct plan *plan = NULL;
	int r = build(fixture, &plan);

	ck_assert_msg(r == 0, "refused (%d): %s", r,
		      fixture->fault.message ? fixture->fault.message : "");
	plan_free(plan);
}

void expect_refusal(struct plan_fixture *fixture, enum error_code code, const char *part,
		    const char *other)
{
	struct plan *plan = NULL;
	int r = build(fixture, &plan);

	ck_assert_msg(r == FAULT, "not refused (%d)", r);
	ck_assert_msg(strstr(fixture->fault.message, part) && strstr(fixture->fault.message, other),
		      "\"%s\" and \"%s\" are not in: %s", part, other, fixture->fault.message);
	ck_assert_msg(fixture->fault.code == code, "code %s: %s",
		      error_name((int)fixture->fault.code), fixture->fault.message);
	ck_assert(utf8_valid(fixture->fault.message, strlen(fixture->fault.message)));
}

void expect_bind(struct plan_fixture *fixture, const char *source, const char *destination,
		 const char *mode)
{
	add_bind(fixture, source, destination, mode);
	expect_plan(fixture);
	forget_binds(fixture);
}

void expect_bind_refused(struct plan_fixture *fixture, const char *source, const char *destination,
			 const char *mode, const char *part, const char *other)
{
	add_bind(fixture, source, destination, mode);
	expect_refusal(fixture, ERROR_refused, part, other);
	forget_binds(fixture);
}
