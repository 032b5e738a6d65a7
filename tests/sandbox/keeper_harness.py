# SPDX-License-Identifier: MIT
"""A trialsd for one keeper, for the tests beside this file.

It makes the channel, spawns the keeper on its gate, sends plan and descriptors, hears, and takes
the end.
"""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

try:
    import msgpack
except ImportError:
    print("skip keeper: python has no msgpack (package python3-msgpack)")
    sys.exit(0)

BUILD = os.environ["BUILD"]
KEEPER = f"{BUILD}/trial-keeper"
INIT = f"{BUILD}/trials-init"
BWRAP = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
FAKE_BWRAP = f"{BUILD}/tests/sandbox/fake_bwrap"
FAKE_INIT = f"{BUILD}/tests/sandbox/fake_init"
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
FORCE_SECONDS = 2  # the keeper's own: from the order to SIGKILL
# How many times as long as on an idle machine things may take: others may be at work here.
SLACK = float(os.environ.get("TRIALS_TEST_SLACK",
                             max(2, 2 * os.getloadavg()[0] / (os.cpu_count() or 1))))

SANDBOX = [
    "--unshare-user", "--unshare-all", "--as-pid-1", "--cap-drop", "ALL", "--clearenv",
    "--seccomp", "13", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
    "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc",
    "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/work", "--chdir", "/",
]


class Failed(Exception):
    pass


def check(condition, why):
    if not condition:
        raise Failed(why)


def equal(got, wanted, what):
    check(got == wanted, f"{what} is {got!r}, not {wanted!r}")


def memfd(name, data):
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def allow_everything():
    return struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)  # BPF_RET, SECCOMP_RET_ALLOW


def state_of(pid):
    """A process's state letter and start time, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], fields[19]


def is_alive(pid, started):
    state = state_of(pid)
    return state is not None and state[0] not in "ZX" and state[1] == started


def cpu_ticks(pid):
    """Processor time of a process, user and system, in ticks (of 10 ms)."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def marked(marker):
    """Processes that have the marker among their arguments: {pid: start time}."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/cmdline", "rb") as arguments:
                if marker.encode() in arguments.read().split(b"\0"):
                    state = state_of(name)
                    if state and state[0] not in "ZX":
                        found[int(name)] = state[1]
    return found


def until(condition, seconds, what):
    deadline = time.monotonic() + seconds * SLACK
    while not condition():
        check(time.monotonic() < deadline, f"{what} took over {seconds} s")
        time.sleep(0.002)


def streams(folder, stream):
    """A stream's files as [(offset, bytes)]."""
    files = []
    for name in os.listdir(folder):
        if name == stream or name.startswith(stream + "."):
            offset = int(name[len(stream) + 1:] or 0)
            with open(f"{folder}/{name}", "rb") as data:
                files.append((offset, data.read()))
    return sorted(files)


class Trial:
    """One keeper and its channel."""

    def __init__(self, command, bwrap=BWRAP, stdin=None, lease=None, sandbox=None, start=True,
                 within=(), binds=(), logins=(), init=INIT, **plan):
        self.folder = tempfile.mkdtemp(prefix="trial-")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel = ours
        self.channel.settimeout(30)
        moved = fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, 50)
        command_line = [*within, KEEPER]  # within: a program that executes the rest as itself
        self.pid = os.posix_spawnp(command_line[0], command_line, os.environ,
                                   file_actions=[(os.POSIX_SPAWN_DUP2, moved, 3)])
        self.pidfd = os.pidfd_open(self.pid)
        self.status = None
        os.close(moved)
        theirs.close()
        self.record = None
        self.plan = {
            "version": 1, "trial": 7, "uuid": "0" * 8 + "-0000-4000-8000-" + "0" * 12,
            "backend": "none", "sandbox": SANDBOX if sandbox is None else sandbox,
            "descriptors": 0, "command": command, "cwd": "/work", "network": "none",
            "environment": {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, "grace_seconds": 10.0,
            "output": 64 * 1024 * 1024, **plan}
        self.bwrap, self.stdin, self.lease, self.init = bwrap, stdin, lease, init
        self.binds, self.logins = list(binds), list(logins)  # descriptors; six of each login
        if start:
            self.start()

    def start(self):
        """Opens the gate."""
        fds = [os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY), os.open(self.bwrap, os.O_PATH),
               os.open(self.init, os.O_PATH), memfd("filter", allow_everything()),
               os.open("/dev/null", os.O_RDONLY) if self.stdin is None else self.stdin,
               os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)]
        fds += self.binds
        self.plan["descriptors"] += len(self.binds)
        if self.lease is not None:
            fds.append(self.lease)
            self.plan.update(descriptors=1 + len(self.binds), leases=1)
        for descriptors in self.logins:
            fds += descriptors
            self.plan["logins"] = len(self.logins)
        fds.insert(0, memfd("plan", msgpack.packb(self.plan)))
        socket.send_fds(self.channel, [msgpack.packb({"verb": "start", "body": {}})], fds)
        for fd in fds:
            os.close(fd)

    def say(self, verb, **body):
        self.channel.send(msgpack.packb({"verb": verb, "body": body}))

    def hear(self):
        """The next message's verb and body; None at the end."""
        try:
            data = self.channel.recv(65536)
        except ConnectionResetError:  # it left with something of ours unread
            data = b""
        if not data:
            return None
        packet = msgpack.unpackb(data)
        return packet["verb"], packet["body"]

    def expect(self, verb):
        heard = self.hear()
        check(heard is not None and heard[0] == verb, f"heard {heard}, not {verb}")
        return heard[1]

    def ended(self):
        """Waits for the end, takes it, and gives the record, which must be in the folder too."""
        while True:
            heard = self.hear()
            check(heard is not None, "the keeper left without an end")
            if heard[0] == "ended":
                break
        self.record = heard[1]
        # Its connections are in the file alone.
        equal({name: value for name, value in self.recorded().items()
               if not name.startswith("connections")}, self.record, "the record's file")
        self.say("taken")
        equal(self.wait(), 0, "the keeper's exit status")
        return self.record

    def recorded(self):
        with open(f"{self.folder}/outcome", "rb") as record:
            return msgpack.unpackb(record.read())

    def wait(self):
        if self.status is None:
            check(select.select([self.pidfd], [], [], 30 * SLACK)[0], "the keeper does not leave")
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def read(self, stream):
        return b"".join(data for _, data in streams(self.folder, stream))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
        if self.status is None:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            self.wait()
        os.close(self.pidfd)
        shutil.rmtree(self.folder)


CGROUPS = "/sys/fs/cgroup"


def manager_cgroup():
    """Where the user manager's own units live, or None."""
    show = subprocess.run(["systemctl", "--user", "show", "-P", "ControlGroup"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return show.stdout.decode().strip() or None


MANAGER = manager_cgroup()


class ScopedTrial(Trial):
    """Its keeper is in a delegated scope before its gate opens, as trialsd sees to it."""

    def __init__(self, command, gate=None, **plan):
        """gate: called with this before the gate opens."""
        self.unit = f"trial-{uuid.uuid4()}.scope"
        super().__init__(command, start=False, backend="systemd", within=[
            "systemd-run", "--user", "--scope", "--quiet", "--collect", f"--unit={self.unit}",
            "--property=Delegate=yes", "--property=OOMPolicy=continue", "--"], **plan)
        self.cgroup = None
        until(self.find, 10, "the scope")
        self.plan["cgroup"] = self.cgroup
        if gate:
            gate(self)
        self.start()

    def find(self):
        with open(f"/proc/{self.pid}/cgroup") as cgroup, open(f"/proc/{self.pid}/comm") as comm:
            path = cgroup.read().strip().rpartition("0::")[2]
            if not path.endswith("/" + self.unit) or comm.read().strip() != "trial-keeper":
                return False
        self.cgroup = path
        return True

    def processes(self, group):
        with open(f"{CGROUPS}{self.cgroup}/{group}/cgroup.procs") as processes:
            return [int(pid) for pid in processes]


def sh(text):
    return ["/bin/sh", "-c", text]


def py(text, *arguments):
    return ["/usr/bin/python3", "-c", text, *arguments]


def outcome(command, outcome_word, **wanted):
    plan = wanted.pop("plan", {})
    with Trial(command, **plan) as trial:
        record = trial.ended()
        equal(record["outcome"], outcome_word, f"outcome of {record}")
        for key, value in wanted.items():
            equal(record.get(key), value, key)
        return record, trial.read("stdout"), trial.read("stderr")


def running(trial):
    body = trial.expect("running")
    check(body["pid"] > 1, "no pid of init")
    return body["pid"]


def run_tests(prefix, tests):
    """Runs the functions named test_* whose name holds one of the arguments, if there are any."""
    if not BWRAP:
        print(f"skip {prefix}: bwrap is not installed")
        return 0
    wanted = sys.argv[1:]
    failed = 0
    for name, test in list(tests.items()):
        if not name.startswith("test_") or (wanted and not any(w in name for w in wanted)):
            continue
        label = f"{prefix}-" + name[len("test_"):].replace("_", "-")
        try:
            reason = test()
            print(f"skip {label}: {reason}" if reason else f"ok {label}", flush=True)
        except Exception as error:  # whatever it is, the others are run
            failed += 1
            print(f"not ok {label}: {error}", flush=True)
            if not isinstance(error, Failed):
                traceback.print_exc()
    return 1 if failed else 0
