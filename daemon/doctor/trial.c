/* SPDX-License-Identifier: MIT */

/*
 * One launch, whole: plan, launcher, keeper, bwrap, trials-init, proxy, a command, the record. Nothing is
 * simpler than for a Trial; what differs is where its folder is, what its unit is called (no
 * daemon may take it for a Trial of its own), and that limits which are not in force do not
 * void it, since that they are not is what is to be told.
 */
#include "doctor/trial.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-id128.h>
#include <uv.h>

#include "base/space.h"
#include "init/control.h"
#include "launch/launch.h"
#include "queue/start.h"

#define WALL_SECONDS 15
#define END_MILLISECONDS 18000	/* then it is canceled */
#define FORCE_MILLISECONDS 3000 /* then its keeper is given up, and killed */
#define MEMORY_BYTES (256ull << 20)
#define TASKS 64
#define ROOM_BYTES (1u << 20)
#define CPU_PERCENT 100

struct run {
	struct trial *trial;
	uv_loop_t loop;
	uv_timer_t timer;
	uv_signal_t terminate;
	uv_signal_t interrupt;
	char folder[PATH_BYTES_MAX + 1];
	int trials_fd;
	int keepers_fd;
	struct plan_host host;
	struct plan *plan;
	struct text_list arguments;
	struct way_out way_out;
	Launcher *launcher;
	Launch *launch;
	bool over;  /* the launch has ended, and is about to be let go */
	int signal; /* that told us to end */
};

static void note_limits(struct trial *trial, const struct outcome_record *record)
{
	static const char *const names[] = {"wall_seconds", "memory", "swap", "tasks",
					    "cpu",	    "tmp",    "home", "output"};

	for (size_t i = 0; i < record->limits.count && trial->limit_count < LIMITS_COUNT; i++) {
		const struct limit_state *from = &record->limits.items[i];

		for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
			if (!from->name || strcmp(from->name, names[j]) != 0)
				continue;
			trial->limits[trial->limit_count] = *from;
			trial->limits[trial->limit_count++].name = names[j];
		}
	}
}

static void on_running(void *context, uint64_t started_at, uint64_t pid)
{
	(void)context;
	(void)started_at;
	(void)pid;
}

static void on_ending(void *context)
{
	(void)context;
}

static void run_close(struct run *run);

static void on_over(uv_timer_t *timer)
{
	struct run *run = timer->data;

	launch_finish(steal(&run->launch));
	run_close(run);
}

/* What was asked from inside, and what came of it here. */
static void note_way_out(struct run *run, const struct outcome_record *record)
{
	struct way_out_found *found = &run->trial->way_out;
	_cleanup_close_ int folder_fd = -1;

	*found = (struct way_out_found){
		.tried = true,
		.error = run->way_out.error,
		.answer = record->has.exit_code ? (int)record->exit_code : -1,
		.denied_came = run->way_out.denied.came > 0,
		.verdict = VERDICT_COUNT,
	};
	if (found->error < 0)
		return;
	if (found->answer >= CONTROL_ANSWER_NO_PROXY && found->answer <= CONTROL_ANSWER_NOT_REFUSED)
		run->trial->delivered = true;
	if (launch_folder(run->trials_fd, 1, false, &folder_fd) == 0)
		found->verdict = way_out_verdict(&run->way_out, folder_fd);
}

static void on_ended(void *context, const struct outcome_record *record)
{
	struct run *run = context;
	struct trial *trial = run->trial;

	if (!run->launch) /* given up */
		return;
	trial->delivered = record->outcome == OUTCOME_delivered;
	note_way_out(run, record);
	trial->has_boundary = record->has.boundary;
	trial->boundary = record->boundary;
	note_limits(trial, record);
	if (!trial->delivered) {
		const char *outcome = outcome_name((int)record->outcome);

		fault_void(&trial->fault, CAUSE_sandbox_unavailable, "%s",
			   record->message ? record->message
			   : outcome	   ? outcome
					   : "it failed");
		if (record->hint)
			fault_hint(&trial->fault, "%s", record->hint);
	}
	run->over = true;
	/* Not from within: the launch is still at work on its own end. */
	uv_timer_start(&run->timer, on_over, 0, 0);
}

/* Nothing of the sandbox has been tried: this user has used up something that comes back. */
static void on_not_started(void *context, int error)
{
	struct run *run = context;

	if (!run->launch)
		return;
	fault_void(&run->trial->fault, CAUSE_sandbox_unavailable, "a launch cannot be tried: %s",
		   strerror(error < 0 ? -error : error));
	run->over = true;
	uv_timer_start(&run->timer, on_over, 0, 0);
}

static const struct launch_watch watch = {
	.running = on_running,
	.ending = on_ending,
	.not_started = on_not_started,
	.ended = on_ended,
};

/* It does not even end: the keeper is stopped, or stuck. */
static void on_stuck(uv_timer_t *timer)
{
	struct run *run = timer->data;

	fault_void(&run->trial->fault, CAUSE_sandbox_unavailable,
		   "a Trial was launched, and neither ran nor could be ended");
	on_over(timer);
}

static void run_cancel(struct run *run)
{
	if (!run->launch || run->over)
		return;
	launch_cancel(run->launch, 0);
	uv_timer_start(&run->timer, on_stuck, FORCE_MILLISECONDS, 0);
}

static void on_timer(uv_timer_t *timer)
{
	run_cancel(timer->data);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct run *run = handle->data;

	run->signal = number;
	run_cancel(run);
}

static void on_launcher_closed(void *context)
{
	struct run *run = context;

	run->launcher = NULL;
}

static void run_close(struct run *run)
{
	uv_close((uv_handle_t *)&run->timer, NULL);
	uv_close((uv_handle_t *)&run->terminate, NULL);
	uv_close((uv_handle_t *)&run->interrupt, NULL);
	way_out_close(&run->way_out);
	if (run->launcher)
		launcher_close(run->launcher, on_launcher_closed, run);
}

#define ASKER "/trials-ask" /* what asks, inside */

/* The plan of a Trial that says no more than what to run, whom it may reach and how much it may use. */
static int run_plan(struct run *run, const struct trial_order *order)
{
	const struct way_out *way = &run->way_out;
	const bool asks = way->error == 0;
	const char *command[] = {ASKER, CONTROL_ASK_ARGUMENT, way->word, way->allowed.text,
				 way->denied.text};
	const char *nothing[] = {"true"};
	const char *hosts[] = {way->allowed.text};
	struct bind_spec asker = {.source = order->init, .destination = ASKER};
	const struct launch_request request = {
		.has = {.limits = true, .network = true},
		.command = {.count = asks ? ARRAY_SIZE(command) : 1,
			    .items = asks ? command : nothing},
		.binds = {.count = asks, .items = &asker},
		.network = NETWORK_allowlist,
		.hosts = {.count = asks, .items = hosts},
		.limits =
			{.has = {.wall_seconds = true, .memory = true, .tasks = true, .cpu = true},
			 .wall_seconds = WALL_SECONDS,
			 .memory = MEMORY_BYTES,
			 .tasks = TASKS,
			 .cpu = CPU_PERCENT},
	};
	struct stat st;
	const char *state = stat(order->state_folder, &st) == 0 ? order->state_folder : run->folder;
	const char *runtime = order->runtime_folder && stat(order->runtime_folder, &st) == 0
				      ? order->runtime_folder
				      : run->folder;
	int r = plan_host_init(&run->host, order->home, state, runtime, order->config_folder,
			       order->config, &run->trial->fault);

	if (r == 0)
		r = plan_make(&run->plan, &run->host, &request, &run->trial->fault);
	/* It is on this host, which no other Trial may reach unless trialsd.conf says so. */
	if (r == 0 && asks)
		r = text_list_add(&run->plan->internal, way->allowed.text);
	if (r == 0)
		r = plan_bwrap_arguments(run->plan, &run->host, &run->arguments);
	return r;
}

static int run_launcher(struct run *run, const struct trial_order *order)
{
	const struct launcher_options options = {
		.loop = &run->loop,
		.backend = order->config->backend,
		.keeper = order->keeper,
		.init = order->init,
		.bwrap_fd = order->bwrap_fd,
		.seccomp_fd = order->seccomp_fd,
		.trials_fd = run->trials_fd,
		.keepers_fd = run->keepers_fd,
	};
	const struct fault *unavailable;
	int r = launcher_new(&run->launcher, &options, &run->trial->fault);

	if (r)
		return r;
	run->trial->backend = launcher_backend(run->launcher);
	unavailable = launcher_unavailable(run->launcher);
	if (!unavailable)
		return 0;
	/* Programs were looked at before: what is left is the user manager. */
	run->trial->unscoped = true;
	fault_void(&run->trial->fault, CAUSE_sandbox_unavailable, "%s", unavailable->message);
	if (unavailable->hint)
		fault_hint(&run->trial->fault, "%s", unavailable->hint);
	return FAULT;
}

static int run_launch(struct run *run)
{
	char uuid[SD_ID128_UUID_STRING_MAX], unit[64];
	struct launch_order order = {.id = 1, .uuid = uuid, .unit = unit};
	sd_id128_t id;
	int r = sd_id128_randomize(&id);

	if (r < 0)
		return r;
	sd_id128_to_uuid_string(id, uuid);
	snprintf(unit, sizeof(unit), "trialsd-doctor-%s.scope", uuid);
	order.plan = start_keeper_plan(run->plan, &run->arguments, false);
	order.descriptors = run->plan->descriptors;
	return launch_new(&run->launch, run->launcher, &order, &watch, run);
}

/*
 * Where temporary files go, if the launch's few have room there, else one of the daemon's own: what
 * is to be tried is the sandbox, and a full /tmp is in no Trial's way.
 */
static const char *run_base(const struct trial_order *order)
{
	const char *temporary = getenv("TMPDIR");
	const char *const bases[] = {
		/* Ours first: a doctor that is killed leaves its folder behind. */
		order->runtime_folder,
		temporary && temporary[0] == '/' ? temporary : "/tmp",
		order->state_folder,
	};

	for (size_t i = 0; i < ARRAY_SIZE(bases); i++)
		if (bases[i] && access(bases[i], W_OK | X_OK) == 0 &&
		    space_free(-1, bases[i]) >= ROOM_BYTES)
			return bases[i];
	return bases[1];
}

static int run_folder(struct run *run, const struct trial_order *order)
{
	const char *base = run_base(order);

	snprintf(run->folder, sizeof(run->folder), "%s/trialsd-doctor.XXXXXX", base);
	if (!mkdtemp(run->folder)) {
		int r = -errno;

		run->folder[0] = '\0';
		return fault_set(&run->trial->fault, ERROR_unavailable,
				 "no folder can be made in %s: %s", base, strerror(-r));
	}
	run->trials_fd = open(run->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run->trials_fd < 0 || mkdirat(run->trials_fd, "k", 0700) < 0)
		return -errno;
	run->keepers_fd = openat(run->trials_fd, "k", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return run->keepers_fd < 0 ? -errno : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void run_done(struct run *run)
{
	way_out_done(&run->way_out);
	plan_free(run->plan);
	text_list_done(&run->arguments);
	plan_host_done(&run->host);
	fd_close(run->keepers_fd);
	fd_close(run->trials_fd);
	if (run->folder[0])
		nftw(run->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void run_begin(struct run *run)
{
	uv_loop_init(&run->loop);
	uv_timer_init(&run->loop, &run->timer);
	uv_signal_init(&run->loop, &run->terminate);
	uv_signal_init(&run->loop, &run->interrupt);
	run->timer.data = run->terminate.data = run->interrupt.data = run;
	uv_signal_start(&run->terminate, on_signal, SIGTERM);
	uv_signal_start(&run->interrupt, on_signal, SIGINT);
	uv_timer_start(&run->timer, on_timer, END_MILLISECONDS, 0);
	way_out_open(&run->way_out, &run->loop);
}

void trial_run(struct trial *ret_trial, const struct trial_order *order)
{
	struct run run = {.trial = ret_trial, .trials_fd = -1, .keepers_fd = -1};
	int r;

	*ret_trial = (struct trial){.tried = true, .fault = FAULT_INIT};
	run_begin(&run);
	r = run_folder(&run, order);
	if (r == 0)
		r = run_plan(&run, order);
	if (r == 0)
		r = run_launcher(&run, order);
	if (r == 0)
		r = run_launch(&run);
	if (r < 0)
		fault_void(&ret_trial->fault, CAUSE_sandbox_unavailable,
			   "a launch cannot be tried: %s", strerror(-r));
	if (r)
		run_close(&run);
	uv_run(&run.loop, UV_RUN_DEFAULT);
	uv_loop_close(&run.loop);
	run_done(&run);
	if (run.signal) {
		signal(run.signal, SIG_DFL);
		raise(run.signal);
	}
}

void trial_done(struct trial *trial)
{
	fault_done(&trial->fault);
}
