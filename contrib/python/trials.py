# SPDX-License-Identifier: MIT
"""A client of trialsd in Python, with python3-msgpack and nothing else. proto/PROTOCOL has the verbs.

    import trials

    with trials.Client() as client:
        trial = client.call("launch", command=["make", "test"], repository="/home/me/project")
        print(client.call("wait", timeout=None, id=trial["id"])["outcome"])

        for part in client.output(trial["id"]):
            print(part)  # bytes, or (from, to) of what was not kept; follow=True goes on until its end

        with client.watch() as changes:
            for event in changes:
                print(event["event"], event["body"])

What goes wrong is an Error with code, message and hint, as trialctl would say it:

    Refused   trialsd answered with an error: `code` is one of PROTOCOL's
    Gone      nobody listens, or the connection was lost ("gone"): whether the request was heard is
              not known
    NoAnswer  the time was up ("no_answer"): neither is it then
    Broken    what came is not trialsd's protocol ("protocol")

A Client connects when it is first used, and again after each of the last three. `patiently` does so by
itself, with what may be asked twice. A Client is for one thread.

wait answers when the Trial has ended: a timeout that is shorter is a NoAnswer, and the Trial goes on.

All times are seconds. Of the limits in a Trial, `asked` is a float, also where it counts bytes. File names that are not UTF-8 travel as bytes: path() makes what is to be sent
of any.
"""

import errno
import os
import socket
import struct
import time

import msgpack

VERSION = 1
FRAME_BYTES_MAX = 1 << 20
DEPTH_MAX = 8
LIST_MAX = 65536
MAP_MAX = 4096
PAGE = 200
SOCKET_PATH_BYTES_MAX = 107
TIMEOUT = 30

# Asked twice they do what they do once. So does a launch that has a key.
REPEATABLE = {"list", "show", "wait", "cancel", "doctor", "pause", "resume", "harness", "logins",
              "arm_prepare", "arm_list", "arm_show", "arm_verify", "arm_diff", "bar_set", "bar_list",
              "bar_show", "panel_check", "status"}
# They answer when something else has happened.
LASTING = {"wait": "the Trial has ended", "drain": "nothing runs any more",
           "shutdown": "what runs has ended, with cancel"}
# What trialsd refuses now and may grant later.
PASSING = {"busy", "unavailable"}


class Error(Exception):
    """code is for programs; message and hint are for people, and hint may be None."""

    def __init__(self, code, message, hint=None):
        super().__init__("%s (%s)" % (message, hint) if hint else message)
        self.code, self.message, self.hint = code, message, hint


class Refused(Error):
    pass


class Gone(Error):
    pass


class NoAnswer(Error):
    pass


class Broken(Error):
    pass


# --- Values and frames ----------------------------------------------------------------------------


def path(value):
    """A path as it travels: text where it is UTF-8, else bytes."""
    data = os.fsencode(value)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def text(value):
    """A path that came, as Python has file names."""
    return os.fsdecode(value) if isinstance(value, bytes) else value


def frame(message):
    """The bytes of one message. ValueError when it is none, or too large."""
    try:
        body = msgpack.packb(message, use_bin_type=True)
    except (TypeError, OverflowError, UnicodeEncodeError, msgpack.PackException) as error:
        raise ValueError("it cannot be sent: %s" % error) from error
    if len(body) > FRAME_BYTES_MAX:
        raise ValueError("it has %d bytes, and a frame takes %d" % (len(body), FRAME_BYTES_MAX))
    return struct.pack(">I", len(body)) + body


def request(number, verb, arguments):
    return frame({"request": number, "verb": verb, "arguments": arguments})


def _map(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a map has a key twice")
    if not all(isinstance(key, str) for key in result):
        raise ValueError("a map has a key that is no text")
    return result


def _check(value, depth):
    if isinstance(value, (dict, list)):
        if depth == DEPTH_MAX:
            raise ValueError("it is nested too deeply")
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, depth + 1)
    elif not isinstance(value, (str, bytes, int, float)):
        raise ValueError("it holds what the protocol has not")


def parse(body):
    """The map that a frame's body is. ValueError when it is not well formed."""
    try:
        message = msgpack.unpackb(body, raw=False, object_pairs_hook=_map, max_array_len=LIST_MAX,
                                  max_map_len=MAP_MAX, max_ext_len=0)
    except msgpack.UnpackException as error:
        raise ValueError(str(error) or "it ends too early") from error
    if not isinstance(message, dict):
        raise ValueError("it is no map")
    _check(message, 0)
    return message


def size_of(header):
    (size,) = struct.unpack(">I", header)
    if not 0 < size <= FRAME_BYTES_MAX:
        raise ValueError("the length of a frame is %d" % size)
    return size


# --- The socket -----------------------------------------------------------------------------------


def socket_path(given=None):
    """Where trialsd listens: as given, else TRIALSD_SOCKET, else in XDG_RUNTIME_DIR."""
    found = given or os.environ.get("TRIALSD_SOCKET")
    if not found:
        runtime = os.environ.get("XDG_RUNTIME_DIR") or "/run/user/%d" % os.geteuid()
        if not os.environ.get("XDG_RUNTIME_DIR"):
            try:
                ours = os.stat(runtime).st_uid == os.geteuid()
            except OSError:
                ours = False
            if not ours:
                raise Gone("gone", "XDG_RUNTIME_DIR is not set, so the place of trialsd's socket is "
                           "not known", "name it in TRIALSD_SOCKET")
        found = runtime + "/trialsd/socket"
    length = len(os.fsencode(found))
    if length > SOCKET_PATH_BYTES_MAX:
        raise Gone("gone", "the socket path is %d bytes, more than the %d that a socket address "
                   "holds: %s" % (length, SOCKET_PATH_BYTES_MAX, found), "name a shorter one in "
                   "TRIALSD_SOCKET, and start trialsd with the same --runtime")
    return found


def _is(value, number):
    """Not as Python has it, where True is 1 and so is 1.0."""
    return type(value) is int and value == number


def _deadline(timeout):
    return None if timeout is None else time.monotonic() + timeout


class Connection:
    """One connection, agreed with hello. It is closed by whatever goes wrong with it."""

    def __init__(self, where, program, deadline):
        self.where = where
        self.number = 0
        self.buffer = bytearray()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._connect(deadline)
            reply = self.reply(self.send("hello", {"version": VERSION, "program": program}, deadline),
                               deadline)
            if not _is(reply.get("version"), VERSION):
                raise Broken("protocol", "trialsd speaks version %r of the protocol, and this side %d"
                             % (reply.get("version"), VERSION), "update the older of the two")
            self.server = reply.get("program")
        except BaseException:
            self.close()
            raise

    def close(self):
        self.socket.close()

    def _connect(self, deadline):
        # Not to sleep in the kernel where trialsd is stopped; a full backlog has nothing to poll for.
        self.socket.settimeout(0)
        while True:
            try:
                self.socket.connect(self.where)
                break
            except BlockingIOError:
                if deadline is not None and time.monotonic() > deadline:
                    raise NoAnswer("no_answer", "trialsd at %s does not accept connections" %
                                   self.where, "is it stopped or overloaded?") from None
                time.sleep(0.02)
            except OSError as error:
                if os.path.isfile(self.where):
                    raise Broken("protocol", "%s is no socket" % self.where, "the one of trialsd is meant; "
                                 "without a path it is looked for where trialsd makes it") from None
                if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED):
                    raise Gone("gone", "no trialsd listens on %s" % self.where, "start one: systemctl "
                               "--user start trialsd, or `trialsd &`") from None
                raise Gone("gone", "cannot connect to %s: %s" % (self.where, error.strerror)) from None
        # Prompts go there: it must not be somebody else's.
        peer = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        uid = struct.unpack("3i", peer)[1]
        if uid != os.geteuid():
            raise Gone("gone", "%s is user %d's, and this is user %d" % (self.where, uid, os.geteuid()),
                       "trialsd serves the user who runs it: use your own")

    def _wait(self, deadline):
        """The time that is left, for one system call."""
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        self.socket.settimeout(left)

    def send(self, verb, arguments, deadline):
        """The request's number."""
        self.number += 1
        data = memoryview(request(self.number, verb, arguments))
        try:
            while data:
                self._wait(deadline)
                data = data[self.socket.send(data):]
        except TimeoutError:
            self.close()  # part of a frame may be on its way
            raise NoAnswer("no_answer", "trialsd takes nothing more",
                           "is it stopped or overloaded?") from None
        except (BrokenPipeError, ConnectionResetError):
            pass  # what it said last may still be there to be read
        except OSError as error:
            self._lost(error)
        return self.number

    def _lost(self, error=None):
        self.close()
        raise Gone("gone", "the connection to trialsd was lost" +
                   (": %s" % error.strerror if error else ""), "did it end? its log has more") from None

    def receive(self, deadline):
        """The next message. TimeoutError: there is none yet, and what came of it is kept."""
        while True:
            try:
                if len(self.buffer) >= 4:
                    size = size_of(self.buffer[:4])
                    if len(self.buffer) >= 4 + size:
                        body = bytes(self.buffer[4:4 + size])
                        del self.buffer[:4 + size]
                        return parse(body)
            except ValueError as error:
                self.close()
                raise Broken("protocol", "what came is not trialsd's protocol: %s" % error) from None
            try:
                self._wait(deadline)
                data = self.socket.recv(65536)
            except TimeoutError:
                raise
            except OSError as error:
                self._lost(error)
            if not data:
                self._lost()
            self.buffer += data

    def reply(self, number, deadline):
        """Of this request; what comes for another, and events, are let go."""
        try:
            while True:
                message = self.receive(deadline)
                if any(_is(message.get("reply"), one) for one in (number, 0)) and "event" not in message:
                    break
        except TimeoutError:
            self.close()
            raise NoAnswer("no_answer", "trialsd does not answer", "is it stopped or overloaded?") from None
        error = message.get("error")
        if isinstance(error, dict):
            if message["reply"] == 0:
                self.close()
            told = [error.get("code", "internal"), error.get("message", ""), error.get("hint", "")]
            if not all(isinstance(text, str) for text in told):
                self._broken("an error is not told in text")
            raise Refused(told[0], told[1], told[2] or None)
        if not isinstance(message.get("ok"), dict):
            self._broken("a reply has neither ok nor error")
        return message["ok"]

    def _broken(self, text):
        self.close()
        raise Broken("protocol", text)

    def event(self, request, deadline):
        """The next one of this request. TimeoutError as of receive."""
        while True:
            message = self.receive(deadline)
            if "event" in message and _is(message.get("request"), request):
                break
        body = message.get("body")
        if not isinstance(message["event"], str) or not isinstance(body, dict):
            self._broken("an event has no name, or no body")
        if message["event"] == "log" and not isinstance(body.get("data"), (str, bytes)) or \
                message["event"] == "gap" and not all(type(body.get(key)) is int for key in ("from", "to")):
            self._broken("an event of output has none")
        return message


class Subscription:
    """The events of one watch or logs, on a connection of its own. `reply` is what came first."""

    def __init__(self, connection, verb, arguments, deadline):
        self.connection = connection
        self.request = connection.send(verb, arguments, deadline)
        self.reply = connection.reply(self.request, deadline)

    def next(self, timeout=None):
        """The next event, or None when the time was up."""
        try:
            return self.connection.event(self.request, _deadline(timeout))
        except TimeoutError:
            return None

    def __iter__(self):
        while True:
            yield self.next()

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Client:
    def __init__(self, where=None, program="trials.py", timeout=TIMEOUT):
        """where: the socket; default: as socket_path() finds it."""
        self.where = socket_path(where)
        self.program, self.timeout = program, timeout
        self.connection = None

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, verb, timeout=TIMEOUT, **arguments):
        """The reply. timeout: of the whole call; None: as long as it takes."""
        deadline = _deadline(timeout)
        if not self.connection:
            self.connection = Connection(self.where, self.program, _deadline(self.timeout))
        try:
            return self.connection.reply(self.connection.send(verb, arguments, deadline), deadline)
        except Refused:
            if self.connection.socket.fileno() < 0:
                self.connection = None
            raise
        except ValueError:
            raise  # nothing was sent
        except NoAnswer:
            self.close()
            if verb not in LASTING:
                raise
            raise NoAnswer("no_answer", "the time was up: %s is answered when %s" % (verb, LASTING[verb]),
                           "timeout=None waits as long as that takes") from None
        except BaseException:
            self.close()
            raise

    def patiently(self, verb, seconds, told=None, timeout=TIMEOUT, **arguments):
        """As call, again and again for so many seconds while trialsd is away, busy or unavailable.

        Only what may be asked twice: a launch must have a key. told(error) is called before each
        further try; what it raises ends the trying."""
        if verb not in REPEATABLE and not (verb == "launch" and "key" in arguments):
            raise ValueError("%s cannot be repeated" % verb)
        deadline, pause = _deadline(seconds), 0.05
        while True:
            try:
                return self.call(verb, timeout=timeout, **arguments)
            except Error as error:
                passing = isinstance(error, (Gone, NoAnswer)) or error.code in PASSING
                if not passing or time.monotonic() > deadline:
                    raise
                if told:
                    told(error)
            time.sleep(pause)
            pause = min(pause * 1.5, 1)

    def pages(self, verb, key, seconds=TIMEOUT, **arguments):
        """What is in `key` of all pages of list (trials), arm_list (arms) or bar_list (bars)."""
        cursor = "before" if verb == "list" else "after"
        while True:
            page = self.patiently(verb, seconds, limit=PAGE, **arguments)
            yield from page.get(key, [])
            if "cursor" not in page:
                return
            arguments[cursor] = page["cursor"]

    def subscribe(self, verb, **arguments):
        deadline = _deadline(self.timeout)
        connection = Connection(self.where, self.program, deadline)
        try:
            return Subscription(connection, verb, arguments, deadline)
        except BaseException:
            connection.close()
            raise

    def watch(self, **arguments):
        """State changes, as they come. With after=N none is missed: PROTOCOL, chapter 6."""
        return self.subscribe("watch", **arguments)

    def output(self, id, stream="stdout", **arguments):
        """What is kept of a Trial's output, chunk by chunk; (from, to) where something is missing."""
        with self.subscribe("logs", id=id, stream=stream, **arguments) as events:
            while True:
                event = events.next(self.timeout if not arguments.get("follow") else None)
                if event is None:
                    raise NoAnswer("no_answer", "trialsd does not go on with its output")
                body = event["body"]
                if event["event"] == "log":
                    data = body["data"]
                    yield data.encode("utf-8") if isinstance(data, str) else data
                elif event["event"] == "gap":
                    yield body["from"], body["to"]
                elif event["event"] == "log_end":
                    return
