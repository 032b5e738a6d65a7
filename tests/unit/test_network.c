/* SPDX-License-Identifier: MIT */
/* What a Trial may reach, from launch and configuration to its plan; and what is told of it. */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "plan/harness.h"
#include "keeper/network.h"
#include "keeper/record.h"
#include "plan_fixture.h"
#include "plan/session_plan.h"

static struct plan_fixture fixture;
static struct plan *plan;
static char folder[] = "/tmp/test_network.XXXXXX";

static void setup(void)
{
	fixture_init(&fixture);
	fixture.launch.has.network = true;
	fixture.launch.network = NETWORK_allowlist;
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
	char path[128];

	plan = plan_free(plan);
	fixture_done(&fixture);
	snprintf(path, sizeof(path), "%s/outcome", folder);
	unlink(path);
	rmdir(folder);
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
}

static void set_hosts(struct text_list *list, const char **items, size_t count)
{
	*list = (struct text_list){.count = count, .items = items};
}

static void refused_with(const char *part)
{
	ck_assert_int_eq(build(&fixture, &plan), FAULT);
	ck_assert_msg(strstr(fixture.fault.message, part) != NULL, "%s", fixture.fault.message);
	fault_done(&fixture.fault);
}

START_TEST(hosts_add_up)
{
	const char *launch[] = {"a.example", "b.example:80", "a.example"};
	const char *config[] = {"c.example", "b.example:80"};

	set_hosts(&fixture.launch.hosts, launch, 3);
	set_hosts(&fixture.config.hosts, config, 2);
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_uint_eq(plan->hosts.count, 3);
	ck_assert_str_eq(plan->hosts.items[0], "a.example");
	ck_assert_str_eq(plan->hosts.items[1], "b.example:80");
	ck_assert_str_eq(plan->hosts.items[2], "c.example");
	ck_assert(!plan->expects_network);
	ck_assert_str_eq(pair_list_get(&plan->environment, "https_proxy"), "http://127.0.0.1:3128");
	fixture.config.hosts = (struct text_list){0};
}
END_TEST

START_TEST(none_and_host_have_none)
{
	const char *config[] = {"c.example"};

	set_hosts(&fixture.config.hosts, config, 1);
	fixture.launch.network = NETWORK_none;
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_uint_eq(plan->hosts.count, 0);
	ck_assert_ptr_null(pair_list_get(&plan->environment, "HTTPS_PROXY"));
	plan = plan_free(plan);
	/* What was accepted before there was another default. */
	fixture.launch.has.network = false;
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_int_eq(plan->network, NETWORK_none);
	plan = plan_free(plan);
	fixture.launch.has.network = true;
	set_hosts(&fixture.launch.hosts, config, 1);
	refused_with("hosts: only network allowlist has hosts");
	fixture.launch.network = NETWORK_host;
	refused_with("hosts: only network allowlist has hosts");
	fixture.config.host_network = false;
	refused_with("network: host is ruled out");
	fixture.config.hosts = (struct text_list){0};
}
END_TEST

START_TEST(hosts_are_bounded)
{
	static char texts[HOSTS_MAX + 1][32];
	static const char *items[HOSTS_MAX + 1];
	const char *bad[] = {"good.example", "*.com"};

	for (size_t i = 0; i <= HOSTS_MAX; i++) {
		snprintf(texts[i], sizeof(texts[i]), "h%zu.example", i);
		items[i] = texts[i];
	}
	set_hosts(&fixture.launch.hosts, items, HOSTS_MAX);
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_uint_eq(plan->hosts.count, HOSTS_MAX);
	plan = plan_free(plan);
	set_hosts(&fixture.config.hosts, items + HOSTS_MAX, 1);
	refused_with("at most 512");
	set_hosts(&fixture.launch.hosts, bad, 2);
	refused_with("hosts: \"*.com\" is no host to allow: ");
	fixture.config.hosts = (struct text_list){0};
}
END_TEST

START_TEST(a_session_needs_its_own)
{
	const char *needs[] = {"model.example"}, *launch[] = {"model.example", "a.example"};
	struct session_plan session = SESSION_PLAN_INIT;

	set_hosts(&session.session.hosts, needs, 1);
	set_hosts(&fixture.launch.hosts, launch, 2);
	ck_assert_int_eq(build(&fixture, &plan), 0);
	ck_assert_int_eq(network_session(plan, &session, &fixture.fault), 0);
	ck_assert(plan->expects_network);
	ck_assert_uint_eq(plan->hosts.count, 2);
}
END_TEST

static void config_refused(const char *part)
{
	ck_assert_int_eq(plan_config_check(&fixture.config, &fixture.fault), FAULT);
	ck_assert_msg(strstr(fixture.fault.message, part) != NULL, "%s", fixture.fault.message);
	fault_done(&fixture.fault);
}

START_TEST(configuration_is_checked)
{
	static const struct {
		const char *text;
		const char *part;
	} internal[] = {
		{"h.example", "its port is wanted"},
		{"[::1]", "Internal=: \"[::1]\""},
		{"*.h.example:80", "one host is wanted"},
		{"h example:80", "Internal=: \"h example"},
	};
	const char *item;

	item = "[::1]:8080";
	set_hosts(&fixture.config.internal, &item, 1);
	ck_assert_int_eq(plan_config_check(&fixture.config, &fixture.fault), 0);
	for (size_t i = 0; i < sizeof(internal) / sizeof(internal[0]); i++) {
		item = internal[i].text;
		config_refused(internal[i].part);
	}
	fixture.config.internal = (struct text_list){0};
	item = "user@h";
	set_hosts(&fixture.config.hosts, &item, 1);
	config_refused("[Network] Hosts=: \"user@h\"");
	fixture.config.hosts = (struct text_list){0};
	fixture.config.network = NETWORK_host;
	fixture.config.host_network = false;
	config_refused("one rules the other out");
}
END_TEST

static void internal_of(struct trial_network *network, const char *host, const char *internal)
{
	struct keeper_plan keeper = {0};

	*network = (struct trial_network){0};
	set_hosts(&keeper.hosts, &host, 1);
	set_hosts(&keeper.internal, &internal, 1);
	ck_assert_msg(network_init(network, &keeper, NULL, &fixture.fault) == 0, "%s",
		      fixture.fault.message);
	ck_assert_uint_eq(network->rule_count, 1);
}

/* It says what may be internal of what is allowed, and allows nothing itself. */
START_TEST(internal_is_exact)
{
	static const struct {
		const char *host;
		const char *internal;
		bool is;
	} cases[] = {
		{"model.lan.example:8080", "model.lan.example:8080", true},
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"model.lan.example:8081", "model.lan.example:8080", false},
		{"*.lan.example:8080", "model.lan.example:8080", false},
		{"*.lan.example:8080", "lan.example:8080", false},
		{"other.lan.example:8080", "model.lan.example:8080", false},
	};
	struct trial_network network;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		internal_of(&network, cases[i].host, cases[i].internal);
		ck_assert_msg(network.rules[0].internal == cases[i].is, "%s, %s", cases[i].host,
			      cases[i].internal);
		network_done(&network);
	}
}
END_TEST

static json_t *line_of(const struct egress_event *event)
{
	char line[NETWORK_LINE_BYTES];
	size_t size = network_line(event, line);
	json_t *object;

	ck_assert_uint_lt(size, NETWORK_LINE_BYTES);
	ck_assert_int_eq(line[size - 1], '\n');
	ck_assert_ptr_eq(memchr(line, '\n', size), line + size - 1);
	for (size_t i = 0; i + 1 < size; i++)
		ck_assert(line[i] >= ' ' && line[i] <= '~');
	object = json_loadb(line, size, 0, NULL);
	ck_assert_msg(object != NULL, "%s", line);
	return object;
}

START_TEST(a_line_is_json)
{
	char name[HOST_BYTES_MAX + 1], detail[1000];
	struct sockaddr_storage addresses[16];
	struct egress_event event = {.opened = true,
				     .tunnel = INT64_MAX,
				     .at = INT64_MAX,
				     .host = "h.example",
				     .port = 443,
				     .verdict = VERDICT_allowed};
	json_t *object = line_of(&event);

	ck_assert_str_eq(json_string_value(json_object_get(object, "event")), "opened");
	ck_assert_str_eq(json_string_value(json_object_get(object, "verdict")), "allowed");
	ck_assert_ptr_null(json_object_get(object, "sent_bytes"));
	json_decref(object);
	/* All of it as long, and as odd, as can be. */
	memset(name, '\xff', sizeof(name) - 1);
	name[0] = '"';
	name[1] = '\n';
	name[sizeof(name) - 1] = '\0';
	memset(detail, '\\', sizeof(detail) - 1);
	detail[sizeof(detail) - 1] = '\0';
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		struct sockaddr_in6 six = {.sin6_family = AF_INET6};

		memset(&six.sin6_addr, 0xff, sizeof(six.sin6_addr));
		memcpy(&addresses[i], &six, sizeof(six));
	}
	event = (struct egress_event){.tunnel = INT64_MAX,
				      .at = INT64_MIN,
				      .host = name,
				      .port = 65535,
				      .verdict = VERDICT_address_refused,
				      .detail = detail,
				      .addresses = addresses,
				      .address_count = sizeof(addresses) / sizeof(addresses[0]),
				      .sent_bytes = UINT64_MAX >> 1,
				      .received_bytes = UINT64_MAX >> 1};
	object = line_of(&event);
	ck_assert_str_eq(json_string_value(json_object_get(object, "event")), "ended");
	ck_assert_uint_eq(json_array_size(json_object_get(object, "addresses")), 8);
	ck_assert_ptr_nonnull(json_object_get(object, "sent_bytes"));
	json_decref(object);
}
END_TEST

/* As many as there can be, each as long as it can be: the record takes them, and a frame too. */
static void fill_connections(struct outcome_record *record)
{
	static struct trial_connection connections[CONNECTIONS_MAX];
	static const char *addresses[CONNECTION_ADDRESSES_MAX];
	static char name[HOST_BYTES_MAX + 1];

	memset(name, 'x', sizeof(name) - 1);
	for (size_t i = 0; i < CONNECTION_ADDRESSES_MAX; i++)
		addresses[i] = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255";
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		connections[i] = (struct trial_connection){
			.has = {true, true, true, true, true, true, true, true},
			.host = name,
			.port = 65535,
			.verdict = VERDICT_address_refused,
			.count = UINT64_MAX / 4096,
			.first_at = UINT64_MAX / 4096,
			.sent_bytes = UINT64_MAX / 4096,
			.received_bytes = UINT64_MAX / 4096,
			.addresses = {.count = CONNECTION_ADDRESSES_MAX, .items = addresses},
		};
	*record = (struct outcome_record){
		.has = {.outcome = true, .ended_at = true, .connections = true},
		.outcome = OUTCOME_delivered,
		.ended_at = 1,
		.connections = {.count = CONNECTIONS_MAX, .items = connections},
	};
}

START_TEST(the_largest_record)
{
	struct record_file file = RECORD_FILE_INIT;
	struct outcome_record record, got;
	struct message *message = NULL;
	int folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fill_connections(&record);
	ck_assert_int_eq(record_write(&file, folder_fd, &record, false), 0);
	record_file_done(&file, folder_fd);
	ck_assert_int_eq(record_read_whole(folder_fd, &message, &got), 0);
	ck_assert_uint_eq(got.connections.count, CONNECTIONS_MAX);
	ck_assert_uint_eq(strlen(got.connections.items[999].host), HOST_BYTES_MAX);
	ck_assert_uint_eq(got.connections.items[999].addresses.count, CONNECTION_ADDRESSES_MAX);
	message_free(message);
	ck_assert_int_eq(record_read(folder_fd, &message, &got), 0);
	ck_assert(!got.has.connections && got.connections.count == 0);
	message_free(message);
	network_sum(&record);
	ck_assert(record.has.connections_more && !record.has.connections);
	ck_assert_uint_eq(record.connections_more.count, UINT64_MAX / 4096 * CONNECTIONS_MAX);
	close(folder_fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("network");
	TCase *tests = tcase_create("network");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, hosts_add_up);
	tcase_add_test(tests, none_and_host_have_none);
	tcase_add_test(tests, hosts_are_bounded);
	tcase_add_test(tests, a_session_needs_its_own);
	tcase_add_test(tests, configuration_is_checked);
	tcase_add_test(tests, internal_is_exact);
	tcase_add_test(tests, a_line_is_json);
	tcase_add_test(tests, the_largest_record);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
