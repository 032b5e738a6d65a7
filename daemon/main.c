/* SPDX-License-Identifier: MIT */

/*
 * trialsd: wiring, signals, start and stop. Nothing is decided here.
 *
 * Start order, and why: folders, then the exclusive locks in both, before the ledger or the socket
 * is touched (two daemons must never share either); then the ledger, the launcher, the queue with
 * what an earlier life left, and the socket last, so that whoever can connect gets true answers.
 * Stop is the reverse.
 */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>

#include "base/descriptor_limit.h"
#include "base/fault_point.h"
#include "base/folder.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/reload.h"
#include "doctor/guard.h"
#include "doctor/doctor.h"
#include "doctor/harness_file.h"
#include "base/no_sandbox.h"
#include "options.h"
#include "plan/arm_store.h"
#include "plan/bar_store.h"
#include "plan/plan.h"
#include "queue/witness.h"
#include "serve/harness_folders.h"
#include "serve/listen.h"
#include "serve/server.h"
#include "serve/start_notes.h"

struct daemon {
	uv_loop_t loop;
	struct options options;
	struct config config;
	struct plan_host host;
	char *config_folder;
	char *trials_folder;
	char *keepers_folder;
	char *keeper;
	char *init;
	struct harness_folders harness_folders;
	int state_fd;
	int state_lock;
	int runtime_lock;
	int trials_fd;
	int keepers_fd;
	struct listening socket;
	int seccomp_fd, grader_seccomp_fd;
	struct plan_bwrap bwrap;
	struct arm_store arms;
	struct bar_store bars;
	Ledger *ledger;
	Launcher *launcher;
	Guard *guard;
	Queue *queue;
	Server *server;
	uv_signal_t terminate;
	uv_signal_t interrupt;
	uv_signal_t hangup;
	uv_timer_t watchdog;
	bool stopping;
	bool signaled;
	int status; /* to exit with */
};

/* Stopping, step by step. */

static void on_ledger_closed(void *context)
{
	struct daemon *daemon = context;

	daemon->ledger = NULL;
	uv_close((uv_handle_t *)&daemon->terminate, NULL);
	uv_close((uv_handle_t *)&daemon->interrupt, NULL);
	uv_close((uv_handle_t *)&daemon->hangup, NULL);
	uv_close((uv_handle_t *)&daemon->watchdog, NULL);
}

static void on_launcher_closed(void *context)
{
	struct daemon *daemon = context;

	daemon->launcher = NULL;
	daemon->queue = queue_free(daemon->queue);
	ledger_close(daemon->ledger, on_ledger_closed, daemon);
}

static void on_server_closed(void *context)
{
	struct daemon *daemon = context;

	daemon->server = NULL;
	daemon->guard = guard_free(daemon->guard);
	launcher_close(daemon->launcher, on_launcher_closed, daemon);
}

static void on_queue_stopped(void *context)
{
	struct daemon *daemon = context;

	server_close(daemon->server, on_server_closed, daemon);
}

static void daemon_stop(struct daemon *daemon, bool leave)
{
	if (!daemon->stopping)
		sd_notify(0, "STOPPING=1\nSTATUS=Stopping.");
	daemon->stopping = true;
	if (daemon->guard)
		guard_stop(daemon->guard);
	if (daemon->server)
		queue_stop(daemon->queue, leave, on_queue_stopped, daemon);
}

static void on_signal(uv_signal_t *signal, int number)
{
	struct daemon *daemon = signal->data;

	(void)number;
	if (daemon->signaled) {
		/* Told twice: what is not in the ledger yet is in the Trials' folders. */
		log_warning("stopping at once; the next start takes up what is unfinished");
		_exit(EX_TEMPFAIL);
	}
	daemon->signaled = true;
	daemon_stop(daemon, true);
}

/* systemd wants to know when a reload began, by the clock it compares with its own signal's time. */
static void notify_reloading(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=Reading the configuration.",
		   (unsigned long long)now.tv_sec * 1000000u +
			   (unsigned long long)now.tv_nsec / 1000u);
}

/* Also what a terminal sends that is closed: it must not end what runs. */
static void on_hangup(uv_signal_t *signal, int number)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct daemon *daemon = signal->data;
	bool later = false;
	int r;

	(void)number;
	if (daemon->stopping || !daemon->server)
		return;
	notify_reloading();
	harness_folders_read(&daemon->harness_folders, &daemon->host);
	r = config_reload(&daemon->config, daemon->options.config_file, daemon->config_folder,
			  daemon->options.backend, &later, &fault);
	if (r < 0)
		fault_errno(&fault, r, "trialsd.conf");
	if (r)
		file_fault(&daemon->host, LOG_ID_CONFIG_REFUSED,
			   "%s%s%s; what was read before stays in force", fault.message,
			   fault.hint ? "; to mend it: " : "", fault.hint ? fault.hint : "");
	else
		log_notice("the configuration was read again, for Trials that start from now on%s",
			   later ? "; Backend= and Bwrap= wait for the next start" : "");
	/* What waits was made for what was configured before. */
	launcher_drop_spare(daemon->launcher);
	guard_look(daemon->guard);
	sd_notifyf(0, "READY=1\nSTATUS=Serving %s%s", daemon->socket.path,
		   r ? "; the configuration is at fault and was not read again" : "");
	queue_kick(daemon->queue);
}

static void on_shutdown_asked(void *context, bool leave)
{
	daemon_stop(context, leave);
}

static void on_watchdog(uv_timer_t *timer)
{
	(void)timer;
	sd_notify(0, "WATCHDOG=1");
}

/* Folders and locks. */

static int runtime_default(struct daemon *daemon, struct fault *ret_fault)
{
	const char *set = getenv("RUNTIME_DIRECTORY");
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	char usual[64];
	struct stat st;

	if (daemon->options.runtime_folder)
		return 0;
	if (set && *set == '/') {
		daemon->options.runtime_folder = strdup(set);
		return daemon->options.runtime_folder ? 0 : -ENOMEM;
	}
	/* Missing in sudo, su and cron; the folder is where it always is. */
	snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned int)getuid());
	if (!xdg || *xdg != '/')
		xdg = usual;
	if (stat(xdg, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != getuid())
		return doctor_no_runtime(ret_fault);
	if (asprintf(&daemon->options.runtime_folder, "%s/trialsd", xdg) < 0) {
		daemon->options.runtime_folder = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* The names that do not depend on the runtime folder, which may not be there. */
static int folders_name(struct daemon *daemon, const char *home)
{
	int r = folder_default(&daemon->options.state_folder, "STATE_DIRECTORY", "XDG_STATE_HOME",
			       home, ".local/state");

	return r ? r
		 : folder_default(&daemon->config_folder, NULL, "XDG_CONFIG_HOME", home, ".config");
}

/* Nothing is lost with what cannot be removed. */
static void arms_collect(const struct daemon *daemon)
{
	struct arm_store_collected collected;
	int r = arm_store_collect(&daemon->arms, &collected);

	if (collected.files > 0)
		log_write(
			LOG_LEVEL_INFO, NULL, 0,
			"removed %zu files (%llu bytes) of Arms that were not prepared to the end",
			collected.files, (unsigned long long)collected.bytes);
	if (r < 0)
		log_write(LOG_LEVEL_WARNING, NULL, 0,
			  "files of Arms that were not prepared to the end are left in %s/arms: %s",
			  daemon->options.state_folder,
			  r == -EBADMSG ? "one of the Arms is damaged, and may be what names them"
					: strerror(-r));
}

static int folders_open(struct daemon *daemon, const char *home, struct fault *ret_fault)
{
	_cleanup_close_ int runtime_fd = -1;
	int r;

	r = folders_name(daemon, home);
	if (r == 0)
		r = runtime_default(daemon, ret_fault);
	if (r == 0)
		r = folder_private(&daemon->options.state_folder, &daemon->state_fd, ret_fault);
	if (r == 0)
		r = folder_private(&daemon->options.runtime_folder, &runtime_fd, ret_fault);
	if (r == 0)
		r = lock_take(daemon->state_fd, daemon->options.state_folder, &daemon->state_lock,
			      ret_fault);
	if (r == 0)
		r = lock_take(runtime_fd, daemon->options.runtime_folder, &daemon->runtime_lock,
			      ret_fault);
	if (r == 0)
		r = folder_below(daemon->state_fd, daemon->options.state_folder, "trials",
				 &daemon->trials_folder, &daemon->trials_fd, ret_fault);
	if (r == 0)
		r = folder_below(runtime_fd, daemon->options.runtime_folder, "k",
				 &daemon->keepers_folder, &daemon->keepers_fd, ret_fault);
	if (r == 0)
		r = arm_store_open(&daemon->arms, daemon->state_fd, daemon->options.state_folder,
				   ret_fault);
	if (r == 0)
		r = bar_store_open(&daemon->bars, daemon->state_fd, daemon->options.state_folder,
				   ret_fault);
	if (r == 0)
		arms_collect(daemon);
	return r;
}

static int config_load(const struct daemon *daemon, struct config *config, const char *file,
		       struct fault *ret_fault)
{
	int r = config_init(config);

	config->check = plan_config_check;
	if (r == 0)
		r = config_find(config, file, daemon->config_folder, ret_fault);
	if (r == 0 && daemon->options.backend >= 0)
		config->backend = (enum backend)daemon->options.backend;
	return r;
}

/* Pins what a launcher is given; what cannot be had is told in *unavailable. */
static struct launcher_options launcher_offer(struct daemon *daemon, struct fault *unavailable)
{
	struct launcher_options options = {
		.loop = &daemon->loop,
		.backend = daemon->config.backend,
		.keeper = daemon->keeper,
		.init = daemon->init,
		.trials_fd = daemon->trials_fd,
		.keepers_fd = daemon->keepers_fd,
		.unavailable = unavailable,
		.unproved = true,
	};
	int r = no_sandbox_wanted()
			? 0
			: plan_bwrap_pin(&daemon->bwrap, daemon->config.bwrap, unavailable);

	if (r == 0)
		r = plan_seccomp(false, &daemon->seccomp_fd, unavailable);
	if (r == 0)
		r = plan_seccomp(true, &daemon->grader_seccomp_fd, unavailable);
	if (r < 0)
		fault_errno(unavailable, r, "sandbox");
	options.bwrap_fd = daemon->bwrap.fd;
	options.seccomp_fd = daemon->seccomp_fd;
	options.grader_seccomp_fd = daemon->grader_seccomp_fd;
	return options;
}

/* What this machine lacks is the launcher's to tell with each launch; the daemon serves anyway. */
static int launcher_open(struct daemon *daemon, struct fault *ret_fault)
{
	_cleanup_fault_ struct fault unavailable = FAULT_INIT;
	const struct launcher_options options = launcher_offer(daemon, &unavailable);

	return launcher_new(&daemon->launcher, &options, ret_fault);
}

/* The doctor found that a Trial can be launched, with what is there now and may not be ours yet. */
static int on_mended(void *context, struct fault *ret_fault)
{
	_cleanup_fault_ struct fault unavailable = FAULT_INIT;
	struct daemon *daemon = context;
	struct launcher_options options;

	if (!launcher_lacks(daemon->launcher) && !plan_bwrap_replaced(&daemon->bwrap))
		return 0;
	plan_bwrap_done(&daemon->bwrap);
	daemon->seccomp_fd = fd_close(daemon->seccomp_fd);
	daemon->grader_seccomp_fd = fd_close(daemon->grader_seccomp_fd);
	options = launcher_offer(daemon, &unavailable);
	return launcher_mend(daemon->launcher, &options, ret_fault);
}

static void on_launches_changed(void *context, const struct fault *unavailable)
{
	struct daemon *daemon = context;

	if (unavailable)
		log_write(LOG_LEVEL_WARNING, LOG_ID_NO_BACKEND, 0, "launches are refused: %s%s%s",
			  unavailable->message, unavailable->hint ? "; to mend it: " : "",
			  unavailable->hint ? unavailable->hint : "");
	else
		log_info(no_sandbox_wanted() ? "Trials can be launched, without a sandbox"
					     : "the sandbox was tried: Trials can be launched");
	queue_kick(daemon->queue);
}

static int guard_open(struct daemon *daemon)
{
	const struct guard_options options = {
		.loop = &daemon->loop,
		.launcher = daemon->launcher,
		.queue = daemon->queue,
		.config = &daemon->config,
		.config_file = daemon->options.config_file,
		.state_folder = daemon->options.state_folder,
		.runtime_folder = daemon->options.runtime_folder,
		.backend = daemon->options.backend,
		.mended = on_mended,
		.changed = on_launches_changed,
		.context = daemon,
	};

	return guard_new(&daemon->guard, &options);
}

/* Nothing can be accepted or recorded any more. What runs is left to its keepers. */
static void on_ledger_damaged(void *context)
{
	_cleanup_fault_ struct fault fault = FAULT_INIT;
	struct daemon *daemon = context;

	ledger_fault(daemon->ledger, -EUCLEAN, &fault);
	log_write(LOG_LEVEL_ERROR, LOG_ID_LEDGER_DAMAGED, 0, "%s; stopping. %s", fault.message,
		  fault.hint);
	daemon->status = EX_IOERR;
	daemon_stop(daemon, true);
}

static int daemon_open(struct daemon *daemon, struct fault *ret_fault)
{
	const char *home = getenv("HOME");
	struct ledger_options ledger;
	struct queue_options queue;
	int r;

	if (!home || *home != '/')
		return fault_set(ret_fault, ERROR_invalid, "HOME is not set to an absolute path");
	r = folders_open(daemon, home, ret_fault);
	if (r == 0)
		r = config_load(daemon, &daemon->config, daemon->options.config_file, ret_fault);
	if (r == 0)
		r = launcher_helpers(&daemon->keeper, &daemon->init);
	if (r == 0)
		r = plan_host_init(&daemon->host, home, daemon->options.state_folder,
				   daemon->options.runtime_folder, daemon->config_folder,
				   &daemon->config, ret_fault);
	if (r == 0)
		r = harness_folders_open(&daemon->harness_folders, daemon->keeper, &daemon->host);
	ledger = (struct ledger_options){
		.loop = &daemon->loop,
		.state_folder = daemon->options.state_folder,
		.damaged = on_ledger_damaged,
		.context = daemon,
	};
	if (r == 0)
		r = queue_open_ledger(&daemon->ledger, &ledger, daemon->trials_fd,
				      daemon->keepers_fd, ret_fault);
	if (r)
		return r;
	r = launcher_open(daemon, ret_fault);
	if (r)
		return r;
	queue = (struct queue_options){
		.loop = &daemon->loop,
		.ledger = daemon->ledger,
		.launcher = daemon->launcher,
		.host = &daemon->host,
		.arms = &daemon->arms,
		.bars = &daemon->bars,
		.trials_fd = daemon->trials_fd,
		.trials_folder = daemon->trials_folder,
	};
	r = queue_new(&daemon->queue, &queue);
	if (r == 0)
		r = queue_load(daemon->queue);
	return r == -EUCLEAN || r == -EBADMSG ? ledger_fault(daemon->ledger, r, ret_fault) : r;
}

static int daemon_serve(struct daemon *daemon, struct fault *ret_fault)
{
	struct server_options server = {
		.loop = &daemon->loop,
		.ledger = daemon->ledger,
		.queue = daemon->queue,
		.launcher = daemon->launcher,
		.host = &daemon->host,
		.arms = &daemon->arms,
		.bars = &daemon->bars,
		.shutdown = on_shutdown_asked,
		.context = daemon,
	};
	int r = listening_take(&daemon->socket, daemon->options.runtime_folder, ret_fault);

	if (r)
		return r;
	r = guard_open(daemon);
	if (r)
		return r;
	server.doctor = guard_doctor(daemon->guard);
	server.socket_path = daemon->socket.path;
	return server_new(&daemon->server, &server, daemon->socket.fd);
}

static void signals_watch(struct daemon *daemon)
{
	signal(SIGPIPE, SIG_IGN);
	uv_signal_init(&daemon->loop, &daemon->terminate);
	uv_signal_init(&daemon->loop, &daemon->interrupt);
	uv_signal_init(&daemon->loop, &daemon->hangup);
	uv_timer_init(&daemon->loop, &daemon->watchdog);
	daemon->terminate.data = daemon->interrupt.data = daemon->hangup.data = daemon;
	uv_signal_start(&daemon->terminate, on_signal, SIGTERM);
	uv_signal_start(&daemon->interrupt, on_signal, SIGINT);
	uv_signal_start(&daemon->hangup, on_hangup, SIGHUP);
}

static void ready(struct daemon *daemon)
{
	uint64_t period;

	if (sd_watchdog_enabled(0, &period) > 0)
		uv_timer_start(&daemon->watchdog, on_watchdog, 0, period / 2000);
	start_notes_tell(&daemon->config, launcher_backend_reason(daemon->launcher));
	log_info("serving %s", daemon->socket.path);
	sd_notifyf(0, "READY=1\nSTATUS=Serving %s", daemon->socket.path);
}

static void daemon_done(struct daemon *daemon)
{
	plan_bwrap_done(&daemon->bwrap);
	arm_store_close(&daemon->arms);
	bar_store_close(&daemon->bars);
	fd_close(daemon->seccomp_fd);
	fd_close(daemon->grader_seccomp_fd);
	harness_set_free(daemon->host.harnesses);
	plan_host_done(&daemon->host);
	config_done(&daemon->config);
	fd_close(daemon->trials_fd);
	fd_close(daemon->keepers_fd);
	fd_close(daemon->state_fd);
	fd_close(daemon->runtime_lock);
	fd_close(daemon->state_lock);
	options_done(&daemon->options);
	free(daemon->config_folder);
	listening_done(&daemon->socket);
	free(daemon->trials_folder);
	free(daemon->keepers_folder);
	free(daemon->keeper);
	free(daemon->init);
	harness_folders_done(&daemon->harness_folders);
}

/* --doctor: nothing is made, locked or served. */
static int doctor_mode(struct daemon *daemon)
{
	_cleanup_fault_ struct fault config = FAULT_INIT, runtime = FAULT_INIT, disk = FAULT_INIT;
	_cleanup_(config_done) struct config on_disk = {0};
	const char *home = getenv("HOME");
	struct doctor_options options = {.config = &daemon->config, .home = home};
	int r;

	if (!home || *home != '/') {
		log_error("HOME is not set to an absolute path");
		return EX_CONFIG;
	}
	r = folders_name(daemon, home);
	if (r == 0)
		r = runtime_default(daemon, &runtime);
	if (r == FAULT)
		options.runtime_lacking = &runtime;
	if (r >= 0 && daemon->options.in_force) {
		options.config_on_disk = &on_disk;
		r = config_load(daemon, &on_disk, daemon->options.config_file, &disk);
		options.config_at_fault = r == FAULT ? &disk : NULL;
	}
	if (r >= 0)
		r = config_load(daemon, &daemon->config,
				daemon->options.in_force ? daemon->options.in_force
							 : daemon->options.config_file,
				&config);
	if (r == FAULT)
		options.config_lacking = &config;
	if (r >= 0)
		r = launcher_helpers(&daemon->keeper, &daemon->init);
	if (r == 0) {
		options.state_folder = daemon->options.state_folder;
		options.runtime_folder = daemon->options.runtime_folder;
		options.config_folder = daemon->config_folder;
		options.config_file = daemon->options.config_file;
		options.keeper = daemon->keeper;
		options.init = daemon->init;
		r = doctor_run(&options, STDOUT_FILENO, daemon->options.doctor_form);
	}
	if (r < 0)
		log_error("doctor: %s", strerror(-r));
	return r < 0 ? EX_OSERR : r ? EX_UNAVAILABLE : 0;
}

int main(int argc, char **argv)
{
	static struct daemon daemon = {
		.options.backend = -1,
		.state_fd = -1,
		.state_lock = -1,
		.runtime_lock = -1,
		.trials_fd = -1,
		.keepers_fd = -1,
		.socket = {.fd = -1},
		.seccomp_fd = -1,
		.grader_seccomp_fd = -1,
		.bwrap = {.fd = -1},
		.arms = ARM_STORE_INIT,
		.bars = BAR_STORE_INIT,
	};
	struct fault fault = FAULT_INIT;
	int status, r;

	log_open("trialsd", LOG_LEVEL_INFO);
	umask(0077);
	if (options_read(&daemon.options, argc, argv, &status))
		return status;
	if (daemon.options.harness_file)
		return harness_file_check(daemon.options.harness_file,
					  daemon.options.doctor_form == DOCTOR_JSON);
	if (daemon.options.doctor) {
		status = doctor_mode(&daemon);
		daemon_done(&daemon);
		return status;
	}
	/* Clients and keepers take some each, and the kernel refuses to pass descriptors to a
	 * process whose soft limit is below what its user has under way. */
	descriptor_limit_raise();
	/* Keys go through our memory. 0 would not keep a dump from a program that takes dumps. */
	setrlimit(RLIMIT_CORE, &(const struct rlimit){.rlim_cur = 1, .rlim_max = 1});
	/* Fixed, or glibc would raise it: large buffers go back to the system when they are freed. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_TRIM_THRESHOLD, 256 * 1024);
	/*
	 * Small blocks that are freed are joined with what lies beside them at once. Kept apart, as they are
	 * else, they cut up the memory of launches that are looked at side by side: a waiting Trial took
	 * 800 bytes in place of 330.
	 */
	mallopt(M_MXFAST, 0);
	uv_loop_init(&daemon.loop);
	signals_watch(&daemon);
	FAULT_POINTS_ARM();
	r = daemon_open(&daemon, &fault);
	if (r == 0)
		r = daemon_serve(&daemon, &fault);
	if (r) {
		/* Nothing is running that would need an orderly end; the locks fall with us. */
		if (r < 0)
			fault_errno(&fault, r, "trialsd");
		log_error("%s%s%s", fault.message, fault.hint ? "; to mend it: " : "",
			  fault.hint ? fault.hint : "");
		status = fault.code == ERROR_invalid ? EX_CONFIG : EX_UNAVAILABLE;
		fault_done(&fault);
		return status;
	}
	ready(&daemon);
	uv_run(&daemon.loop, UV_RUN_DEFAULT);
	listening_remove(&daemon.socket);
	uv_loop_close(&daemon.loop);
	daemon_done(&daemon);
	return daemon.status;
}
