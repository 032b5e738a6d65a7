/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The closed sets of words of the wire: a part of protocol.h, which includes it and states the rules.
 */

/* X(name, "what it does") */
#define PROTOCOL_VERBS(X)                                                                        \
	X(hello, "agree on the version; must be the first request")                              \
	X(launch, "accept a Trial: durable before the reply")                                    \
	X(rerun, "accept a Trial that is an earlier one once more: durable before the reply")    \
	X(list, "Trials, newest first, a page at a time")                                        \
	X(show, "one Trial, whole")                                                              \
	X(wait, "one Trial, once it has ended")                                                  \
	X(cancel, "end a Trial; idempotent")                                                     \
	X(logs, "a Trial's output from an offset, pushed as log, gap and log_end events")        \
	X(watch, "state changes of all Trials, pushed as state events")                          \
	X(doctor, "whether a Trial could be launched here, and what mends it")                   \
	X(prune, "remove Trials that have ended, with all that is kept of them")                 \
	X(pause, "start nothing more, until resumed, whatever restarts")                         \
	X(resume, "take a pause back")                                                           \
	X(drain, "pause, and say when nothing runs any more")                                    \
	X(harness, "what is known of the Harnesses, and where their programs are")               \
	X(logins, "how each Harness is signed in: where, whether, until when, who has it")       \
	X(login_restore, "put the last good login of a Harness back")                            \
	X(arm_prepare, "freeze an Arm: durable before the reply")                                \
	X(arm_list, "Arms that were frozen, a page at a time")                                   \
	X(arm_show, "one Arm, whole")                                                            \
	X(arm_verify, "what has changed since an Arm was frozen")                                \
	X(arm_diff, "what differs between two Arms")                                             \
	X(arm_remove, "remove an Arm that no Trial and no Bar names")                            \
	X(bar_set, "keep a Bar, with the families of its seats: durable before the reply")       \
	X(bar_list, "Bars that were set, a page at a time")                                      \
	X(bar_show, "one Bar, whole")                                                            \
	X(panel_check, "who votes on an Arm's results under a Bar, and whether that will do")    \
	X(status, "what this daemon is and does (frozen)")                                       \
	X(shutdown, "stop the daemon (frozen)")

/* X(name, "when it is pushed") */
#define PROTOCOL_EVENTS(X)                                                                       \
	X(state, "a Trial changed its state")                                                    \
	X(log, "a chunk of output")                                                              \
	X(gap, "bytes that were produced and not kept")                                          \
	X(log_end, "the output's end was reached and the Trial has ended, or it is not followed")  \
	X(caught_up, "a watch that began with after has sent what there was; from now on it is new") \
	X(queue, "the queue is held, or for another reason, or is held no more")

/* X(name, "what it says, and what the client should do") */
#define PROTOCOL_ERRORS(X)                                                                       \
	X(bad_request, "the message is not a request of this protocol; a mistake in the client") \
	X(unsupported_version, "no protocol version in common")                                  \
	X(unknown_verb, "this daemon has no such verb")                                          \
	X(invalid, "a field is wrong; the message names it and says what is allowed")            \
	X(not_found, "no such Trial")                                                            \
	X(conflict, "the key was used before with another body")                                 \
	X(refused, "understood and not allowed; nothing was recorded")                           \
	X(busy, "too much at once; try again later")                                             \
	X(unavailable, "the daemon cannot do this now (storage, sandbox); nothing was recorded") \
	X(internal, "a fault in the daemon; the journal has more")

/* X(name, "meaning") */
#define PROTOCOL_STATES(X)                                                                       \
	X(queued, "accepted, durable, waiting for its turn")                                     \
	X(held, "waits until something named is mended or resumed")                              \
	X(leasing, "its turn; taking the leases it needs")                                       \
	X(starting, "its keeper is being started; the sandbox is built")                         \
	X(running, "its main process has started")                                               \
	X(ending, "on its way out; not yet empty")                                               \
	X(ended, "over; the outcome is final")

/* X(name, counts against the Arm, "meaning") */
#define PROTOCOL_OUTCOMES(X)                                                                     \
	X(delivered, 1, "the main process exited 0")                                             \
	X(failed, 1, "it exited with another code, or by a signal")                              \
	X(timed_out, 1, "the wall limit ended it")                                               \
	X(stalled, 1, "the stall limit ended it")                                                \
	X(out_of_memory, 1, "the Trial's own memory limit ended its main process")               \
	X(canceled, 0, "a client ended it")                                                      \
	X(void, 0, "the session could not be had; see cause")                                    \
	X(interrupted, 0, "the host or the user session ended under it")                         \
	X(lost, 0, "its keeper and its report are both gone")

/* X(name, "meaning"): why a Trial is void */
#define PROTOCOL_CAUSES(X)                                                                       \
	X(session_unavailable, "no login, no key, no binary, or the command cannot be executed") \
	X(sandbox_unavailable, "the sandbox could not be built or proved")                       \
	X(arm_changed, "something has changed that the Arm froze, or that the Trial had which it reruns") \
	X(limits_unavailable, "a limit that was asked for is not in force")                      \
	X(panel_refused, "the Panel does not meet its Bar")                                      \
	X(no_verdict, "a Grader that said no verdict, or a broken one")                          \
	X(no_result, "what it was to judge is not there: that Trial has no result, or not that one any more")

/* X(name, "meaning"): who brought about the end */
#define PROTOCOL_ENDERS(X)                                                                       \
	X(agent, "the main process itself")                                                      \
	X(client, "a cancel")                                                                    \
	X(wall_limit, "the wall limit")                                                          \
	X(stall_limit, "the stall limit")                                                        \
	X(memory_limit, "the kernel, for the memory limit")                                      \
	X(daemon, "trialsd")                                                                     \
	X(keeper, "the Trial's keeper, since the sandbox failed")                                \
	X(outside, "something outside trialsd")

/* X(name, "meaning"): what holds the queue */
#define PROTOCOL_HOLDS(X)                                                                        \
	X(pause, "a client's pause; resume ends it")                                             \
	X(drain, "a client's drain; resume ends it")                                             \
	X(disk, "too little free space; ends by itself when there is enough")                    \
	X(sandbox, "no sandbox can be built here; doctor says why, and it ends once that is mended") \
	X(login, "of one Trial: its login is suspect; a new sign-in, or login restore, ends it")

/* X(name, "meaning"): what a Harness is signed in by */
#define PROTOCOL_LOGIN_KINDS(X)                                                                  \
	X(file, "a file; a Trial has a copy of it, bound in its place")                          \
	X(folder, "a file; a Trial has a folder of its own with a copy of it")                   \
	X(home, "a file in a home for Trials alone, which one Trial has at a time")              \
	X(env, "a key of the credentials file, in a variable")                                   \
	X(none, "nothing")

/* X(name, "meaning"): how a login is */
#define PROTOCOL_LOGIN_CONDITIONS(X)                                                             \
	X(good, "it is there and is a login")                                                    \
	X(suspect, "a Trial damaged it; those who want it wait until it is mended")              \
	X(damaged, "what is there is no login")                                                  \
	X(absent, "it is not there")                                                             \
	X(in_use, "a Trial has it, so that it was not looked at")                                \
	X(failed, "it could not be looked at")

#define PROTOCOL_ROLES(X)                                                                        \
	X(trial, "does the work; its repository is read-write")                                  \
	X(grader, "judges a result; its repository is read-only")

/* X(name, "meaning"): what a Grader says of a result */
#define PROTOCOL_VOTES(X)                                                                        \
	X(pass, "it is good enough")                                                             \
	X(fail, "it is not")

#define PROTOCOL_MODES(X)                                                                        \
	X(ro, "read-only")                                                                       \
	X(rw, "read-write")

/* X(name, "meaning"): what is at a place of the sandbox */
#define PROTOCOL_MOUNT_KINDS(X)                                                                  \
	X(bind, "what was there on the host, by the descriptor that was looked at")              \
	X(system, "a path of the system, as it is on the host, read-only")                       \
	X(tmpfs, "an empty one")                                                                 \
	X(folder, "an empty one, on the way to others")                                          \
	X(link, "a symbolic link")                                                               \
	X(file, "a file that was made for it")                                                   \
	X(mask, "an empty file in the place of what would tell too much")                        \
	X(proc, "processes, its own")                                                            \
	X(dev, "a few devices")                                                                  \
	X(sealed, "what is there can be changed no more")

#define PROTOCOL_NETWORKS(X)                                                                     \
	X(none, "its own empty network namespace")                                               \
	X(host, "the host's network; stamped in the outcome")                                    \
	X(allowlist, "its own, with a proxy on 127.0.0.1 that leads to the hosts allowed and no others")

/* X(name, "meaning"): what the proxy of network allowlist made of a connection */
#define PROTOCOL_VERDICTS(X)                                                             \
	X(allowed, "let through, as a tunnel or to an internal host")                    \
	X(not_allowed, "none of the hosts allowed; nothing was looked up")               \
	X(address_refused, "an allowed name that leads to no public address")            \
	X(sni_mismatch, "what came first was no TLS, or for another name than was asked for")\
	X(unresolved, "an allowed name that has no address, or none while one waited")            \
	X(unreachable, "no address of it answered, or none while one waited")                                      \
	X(bad_request, "no proxy request, or one that names no host")                    \
	X(plain_http, "HTTP without TLS, to a host that is not internal")                \
	X(too_many, "more at once than there can be")

#define PROTOCOL_BACKENDS(X)                                                                     \
	X(auto, "systemd where it can be had, else none")                                        \
	X(systemd, "a transient scope with limits on the user manager")                          \
	X(none, "no scope: pid namespace and clocks only")

#define PROTOCOL_STREAMS(X)                                                                      \
	X(stdout, "standard output")                                                             \
	X(stderr, "standard error")                                                              \
	X(network, "of network allowlist: each connection as it is decided and as it ends, a JSON object a line")

/* X(name, "meaning"): how a check of doctor ended */
#define PROTOCOL_CHECK_STATES(X)                                                                 \
	X(ok, "as it should be")                                                                 \
	X(warning, "Trials can be launched, and something is missing")                           \
	X(failed, "no Trial can be launched")                                                    \
	X(not_applicable, "it does not matter here, or cannot be tried after what failed")
