# SPDX-License-Identifier: MIT
"""What the tests in tests/daemon and tests/sandbox share: a real trialsd on temporary folders, a
small client, and the lines that tests/run reads (ok NAME, not ok NAME: why, skip NAME: reason)."""

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

import msgpack

BUILD = os.environ.get("BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
TRIALSD = os.path.join(BUILD, "trialsd")
TRIALCTL = os.path.join(BUILD, "trialctl")
# What a sanitizer adds to a program's memory is not the program's.
MEMORY_SCALE = 12 if "san" in os.path.basename(os.path.normpath(BUILD)) else 1
PATIENCE = float(os.environ.get("TRIALS_PATIENCE", "60"))


class Skip(Exception):
    """A prerequisite is missing; the text names it first (bwrap, user manager, namespace, ...)."""


class Refused(Exception):
    def __init__(self, error):
        super().__init__("%s: %s" % (error["code"], error["message"]))
        self.code = error["code"]
        self.message = error["message"]
        self.hint = error.get("hint")


class Closed(Exception):
    pass


class Client:
    """One connection. Replies may come in any order; events are kept until asked for."""

    def __init__(self, path, hello=True):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(path)
        self.number = 0
        self.buffer = b""
        self.replies = {}
        self.events = []
        if hello:
            self.call("hello", version=1, program="test")

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def send(self, verb, **arguments):
        return self.send_with([], verb, **arguments)

    def send_with(self, descriptors, verb, **arguments):
        """Sends these descriptors beside the frame."""
        self.number += 1
        body = msgpack.packb({"request": self.number, "verb": verb, "arguments": arguments})
        frame = struct.pack(">I", len(body)) + body
        if descriptors:
            frame = frame[socket.send_fds(self.sock, [frame], descriptors):]
        if frame:
            self.sock.sendall(frame)
        return self.number

    def frame(self):
        while True:
            if len(self.buffer) >= 4:
                size = struct.unpack(">I", self.buffer[:4])[0]
                if len(self.buffer) >= 4 + size:
                    body = self.buffer[4:4 + size]
                    self.buffer = self.buffer[4 + size:]
                    return msgpack.unpackb(body, raw=False, strict_map_key=False,
                                           unicode_errors="surrogateescape")
            data = self.sock.recv(1 << 20)
            if not data:
                raise Closed()
            self.buffer += data

    def take(self):
        frame = self.frame()
        if "event" in frame:
            self.events.append(frame)
        else:
            self.replies[frame["reply"]] = frame

    def reply(self, number):
        while number not in self.replies:
            self.take()
        frame = self.replies.pop(number)
        if "error" in frame:
            raise Refused(frame["error"])
        return frame["ok"]

    def call(self, verb, **arguments):
        return self.reply(self.send(verb, **arguments))

    def event(self):
        while not self.events:
            self.take()
        return self.events.pop(0)

    def launch(self, *command, **fields):
        return self.call("launch", command=list(command), **fields)

    def launch_with(self, descriptor, *command, **fields):
        """A launch whose prompt is this descriptor."""
        return self.reply(self.send_with([descriptor], "launch", command=list(command),
                                         prompt_descriptor=True, **fields))

    def run(self, *command, **fields):
        """Launches and waits; the ended Trial."""
        return self.call("wait", id=self.launch(*command, **fields)["id"])

    def wait_state(self, id, *states):
        """Waits, by watching, until the Trial is in one of these states (or has passed them)."""
        order = ["queued", "held", "leasing", "starting", "running", "ending", "ended"]
        least = min(order.index(state) for state in states)
        number = self.send("watch", id=id)
        self.reply(number)
        trial = self.call("show", id=id)
        while order.index(trial["state"]) < least:
            event = self.event()
            if event["event"] == "state" and event["body"]["trial"]["id"] == id:
                trial = event["body"]["trial"]
        return trial

    def output(self, id, stream="stdout", offset=0, follow=True):
        """The whole output: bytes and gaps [(from, to)]."""
        number = self.send("logs", id=id, stream=stream, offset=offset, follow=follow)
        self.reply(number)
        data, gaps = b"", []
        while True:
            event = self.event()
            if event.get("request") != number:
                continue
            body = event["body"]
            if event["event"] == "log":
                chunk = body["data"]
                if isinstance(chunk, str):
                    chunk = chunk.encode("utf-8", "surrogateescape")
                data += chunk
            elif event["event"] == "gap":
                gaps.append((body["from"], body["to"]))
            elif event["event"] == "log_end":
                return data, gaps


class Daemon:
    """A real trialsd on folders of its own. Ready when it says so."""

    def __init__(self, *options, backend="none", config=None, environment=None, folder=None,
                 start=True):
        self.folder = folder or tempfile.mkdtemp(prefix="t.")
        self.own_folder = folder is None
        self.state = os.path.join(self.folder, "state")
        self.runtime = os.path.join(self.folder, "run")
        self.socket = os.path.join(self.runtime, "socket")
        self.options = list(options)
        self.backend = backend
        self.config = config
        self.environment = environment
        self.process = None
        self.log = os.path.join(self.folder, "log")
        if start:
            self.start()

    def command(self):
        command = [TRIALSD, "--state", self.state, "--runtime", self.runtime,
                   "--backend", self.backend]
        # A test machine may be short of room that no test needs.
        config = self.config or ""
        if "MinFree" not in config:
            config += "\n[Daemon]\nMinFree=0\n"
        path = os.path.join(self.folder, "trialsd.conf")
        with open(path, "w") as file:
            file.write(config)
        return command + ["--config", path] + self.options

    def start(self):
        notify_path = os.path.join(self.folder, "notify")
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if os.path.exists(notify_path):
            os.unlink(notify_path)
        notify.bind(notify_path)
        notify.settimeout(0.05)
        environment = dict(os.environ if self.environment is None else self.environment)
        environment["NOTIFY_SOCKET"] = notify_path
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=environment)
        deadline = time.monotonic() + PATIENCE
        try:
            while True:
                try:
                    if b"READY=1" in notify.recv(4096):
                        return self
                except socket.timeout:
                    if self.process.poll() is not None:
                        raise RuntimeError("trialsd exited %d: %s" % (self.process.returncode,
                                                                      self.text()))
                    if time.monotonic() > deadline:
                        raise RuntimeError("trialsd is not ready: " + self.text())
        finally:
            notify.close()

    def text(self):
        if not os.path.exists(self.log):
            return ""  # never started
        with open(self.log, errors="replace") as file:
            return file.read()

    def client(self, **options):
        return Client(self.socket, **options)

    def ctl(self, *arguments, **options):
        options.setdefault("timeout", PATIENCE)
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([TRIALCTL, "--socket", self.socket, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise RuntimeError("trialsd did not stop: " + self.text())
        return self.process.returncode if self.process else None

    def trial_file(self, id, name):
        return os.path.join(self.state, "trials", str(id), name)

    def __enter__(self):
        return self

    def finish(self):
        """Ends what runs and the daemon: a keeper outlives a daemon that is merely stopped."""
        if not self.process:
            return
        if self.process.poll() is not None:
            try:
                self.start()
            except RuntimeError:
                return  # it was not to start: then it has started nothing
        try:
            with self.client(hello=False) as client:
                client.call("shutdown", cancel=True)
            self.process.wait(PATIENCE)
        except (OSError, Closed, subprocess.TimeoutExpired):
            self.stop()

    def __exit__(self, kind, value, trace):
        try:
            self.finish()
            if kind is not None and kind is not Skip:
                sys.stdout.write("".join("# " + line + "\n" for line in self.text().splitlines()))
        finally:
            if self.own_folder:
                shutil.rmtree(self.folder, ignore_errors=True)


CASES = []


def case(function):
    """Marks a test case; run_cases runs them in order."""
    CASES.append(function)
    return function


def run_cases():
    wanted = sys.argv[1:]
    failed = 0
    for function in CASES:
        name = function.__name__
        if wanted and name not in wanted:
            continue
        try:
            function()
            print("ok %s" % name)
        except Skip as skip:
            print("skip %s: %s" % (name, skip))
        except Exception as error:  # every failure is reported, none ends the run
            failed += 1
            text = str(error) or type(error).__name__
            print("not ok %s: %s" % (name, text.splitlines()[0]))
            for line in traceback.format_exc().splitlines():
                print("# " + line)
        sys.stdout.flush()
    sys.exit(1 if failed else 0)


def equal(got, wanted, what="value"):
    if got != wanted:
        raise AssertionError("%s is %r, not %r" % (what, got, wanted))


def true(condition, what):
    if not condition:
        raise AssertionError(what)


def refused(code, function, *arguments, **fields):
    """The call is refused with this code; gives the refusal."""
    try:
        function(*arguments, **fields)
    except Refused as error:
        equal(error.code, code, "code of '%s'" % error)
        return error
    raise AssertionError("not refused")


def until(condition, what):
    """For what has no event to wait for: looks again and again, for a bounded time."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("never: " + what)
        time.sleep(0.01)
