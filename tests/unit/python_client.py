#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""contrib/python/trials.py against the golden vectors, and against a peer that says anything: what is
no message of the protocol ends the connection, in time, and is never taken for one."""

import json
import os
import pathlib
import socket
import struct
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOP / "tests"), str(TOP / "contrib/python"), str(TOP / "tests/unit")]
import msgpack  # noqa: E402
import trials  # noqa: E402
from support import case, equal, run_cases, true  # noqa: E402
from vectors import from_json, same  # noqa: E402

VECTORS = sorted((TOP / "proto/vectors").glob("*.frame"))


def raises(kind, function, *arguments, **fields):
    try:
        function(*arguments, **fields)
    except kind as error:
        return error
    raise AssertionError("no %s" % kind.__name__)


def packed(*parts):
    body = b"".join(part if isinstance(part, bytes) else msgpack.packb(part) for part in parts)
    return struct.pack(">I", len(body)) + body


class Peer:
    """Something that listens where trialsd would. It answers each frame with the next of its answers:
    bytes as they are, a map with the number of the request put in, None: nothing, ever."""

    def __init__(self, *answers, hello=True):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "socket")
        self.answers = list(answers)
        self.hello = hello
        self.heard = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            with connection:
                self._attend(connection)

    def _attend(self, connection):
        buffer = connection.makefile("rb")
        while True:
            header = buffer.read(4)
            if len(header) < 4:
                return
            message = msgpack.unpackb(buffer.read(struct.unpack(">I", header)[0]))
            if message["verb"] == "hello" and self.hello:
                connection.sendall(packed({"reply": message["request"],
                                           "ok": {"version": 1, "program": "peer"}}))
                continue
            self.heard.append(message)
            answer = self.answers.pop(0) if self.answers else b"close"
            if answer == b"close":
                return
            if isinstance(answer, dict):
                answer = packed(dict({"reply": message["request"]}, **answer))
            if answer is not None:
                connection.sendall(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)
        self.folder.cleanup()


@case
def every_vector_is_read_and_written_alike():
    true(len(VECTORS) > 50, "only %d vectors" % len(VECTORS))
    for vector in VECTORS:
        data = vector.read_bytes()
        wanted = from_json(json.loads(vector.with_suffix(".json").read_text(encoding="utf-8")))
        equal(trials.size_of(data[:4]), len(data) - 4, vector.stem)
        got = trials.parse(data[4:])
        true(same(got, wanted), "%s: %r is not %r" % (vector.stem, got, wanted))
        equal(trials.frame(got), data, "the frame of " + vector.stem)
        if "verb" in wanted:
            equal(trials.request(wanted["request"], wanted["verb"], wanted["arguments"]), data,
                  "the request of " + vector.stem)


@case
def every_vector_cut_short_or_with_more_is_refused():
    for vector in VECTORS:
        body = vector.read_bytes()[4:]
        raises(ValueError, trials.parse, body + b"\xc0")
        for length in {0, 1, len(body) // 2, len(body) - 1}:
            raises(ValueError, trials.parse, body[:length])


@case
def what_is_not_well_formed_is_refused():
    def nested(depth):
        value = {}
        for _ in range(depth - 1):
            value = {"a": value}
        return msgpack.packb(value)

    trials.parse(nested(8))
    for body in (nested(9), b"\x91" * 2000 + b"\x90", msgpack.packb([1]), b"\x82\xa1a\x01\xa1a\x02",
                 b"\x81\x01\x02", b"\x81\xc4\x01a\x02", b"\x81\xa1a\xc0", b"\x81\xa1a\xa1\xff",
                 b"\x81\xa1a\xd6\xff\0\0\0\0", b"\x81\xa1a\xd4\x05\0", b"\x81\xa1a\xdd\xff\xff\xff\xff",
                 b"\x81\xa1a\xdb\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc1",
                 msgpack.packb({"a": [0] * (trials.LIST_MAX + 1)})):
        raises(ValueError, trials.parse, body)
    for size in (0, trials.FRAME_BYTES_MAX + 1, 0xffffffff):
        raises(ValueError, trials.size_of, struct.pack(">I", size))
    trials.frame({"a": b"x" * (trials.FRAME_BYTES_MAX - 16)})
    for message in ({"a": b"x" * trials.FRAME_BYTES_MAX}, {"a": object()}, {"a": 1 << 70}, {"a": "\udcff"}):
        raises(ValueError, trials.frame, message)


@case
def paths_are_text_or_bytes():
    equal(trials.path("/a/é"), "/a/é")
    equal(trials.path(os.fsdecode(b"/a/\xff")), b"/a/\xff")


@case
def an_error_has_code_message_and_hint():
    with Peer({"error": {"code": "invalid", "message": "no", "hint": "do"}},
              {"error": {"code": "odd_new_code", "message": "no"}}, {"ok": {"a": 1}}) as peer, \
            trials.Client(peer.path) as client:
        error = raises(trials.Refused, client.call, "list")
        equal((error.code, error.message, error.hint), ("invalid", "no", "do"))
        equal(raises(trials.Refused, client.call, "list").hint, None)
        equal(client.call("list"), {"a": 1}, "the same connection")
        equal([one["request"] for one in peer.heard], [2, 3, 4], "numbers")


@case
def replies_of_others_and_events_are_let_go():
    noise = packed({"reply": 77, "ok": {}}) + packed({"event": "state", "request": 5, "body": {}})
    with Peer(noise + packed({"reply": 2, "ok": {"a": 1}, "odd": 1})) as peer, \
            trials.Client(peer.path) as client:
        equal(client.call("list"), {"a": 1})


@case
def bytes_that_are_no_frame_end_the_connection():
    for answer in (b"\0\0\0\0", b"\xff\xff\xff\xff", packed(b"\x90"), packed({"reply": 2, "ok": None}),
                   packed({"reply": 2}), packed({"reply": 2, "ok": [1]})):
        with Peer(answer, {"ok": {}}) as peer, trials.Client(peer.path) as client:
            equal(raises(trials.Broken, client.call, "list").code, "protocol")
            equal(client.call("list"), {}, "on another connection")


@case
def what_python_takes_for_the_same_is_not():
    for answer in (packed({"reply": 2.0, "ok": {}}), packed({"reply": True, "ok": {}}), packed({"reply": [2], "ok": {}})):
        with Peer(answer) as peer, trials.Client(peer.path) as client:
            raises(trials.NoAnswer, client.call, "list", timeout=0.2)
    for error in ({"code": ["busy"], "message": "no"}, {"code": "busy", "message": b"no"},
                  {"code": "busy", "message": "no", "hint": 5}):
        with Peer({"error": error}, {"ok": {}}) as peer, trials.Client(peer.path) as client:
            equal(raises(trials.Broken, client.call, "list").code, "protocol")
            equal(client.call("list"), {}, "on another connection")
    for version in (True, 1.0, "1"):
        with Peer({"ok": {"version": version, "program": "p"}}, hello=False) as peer:
            raises(trials.Broken, trials.Client(peer.path).call, "list")


@case
def events_that_are_none_end_the_connection():
    for event in ({"event": "log"}, {"event": "log", "body": []}, {"event": "log", "body": {"data": 5}}, {"event": 5, "body": {}},
                  {"event": "gap", "body": {"from": 1}}, {"event": "gap", "body": {"from": 1.0, "to": 2}}):
        with Peer(packed({"reply": 2, "ok": {}}) + packed(dict(event, request=2))) as peer:
            raises(trials.Broken, list, trials.Client(peer.path).output(1))
    with Peer(packed({"reply": 2, "ok": {}}) + packed({"event": "state", "request": 2})) as peer, \
            trials.Client(peer.path).watch() as changes:
        raises(trials.Broken, changes.next, 5)


@case
def the_last_word_of_a_daemon_that_closes_is_told():
    last = packed({"reply": 0, "error": {"code": "bad_request", "message": "what is that"}})
    with Peer(last, {"ok": {}}) as peer, trials.Client(peer.path) as client:
        equal(raises(trials.Refused, client.call, "list").code, "bad_request")
        equal(client.call("list"), {})


@case
def nobody_waits_longer_than_said():
    with Peer(None, None, b"\0\0\0\x08\x81", {"ok": {}}) as peer, trials.Client(peer.path) as client:
        for _ in range(3):
            begun = time.monotonic()
            error = raises(trials.NoAnswer, client.call, "list", timeout=0.2)
            true(0.1 < time.monotonic() - begun < 5, "it took %.1f s" % (time.monotonic() - begun))
            equal(error.code, "no_answer")
        equal(client.call("list"), {}, "a late reply is for nobody")


@case
def what_lasts_is_not_taken_for_a_daemon_that_is_stopped():
    with Peer(None, None, {"ok": {}}) as peer, trials.Client(peer.path) as client:
        error = raises(trials.NoAnswer, client.call, "wait", timeout=0.2, id=1)
        equal((error.code, error.hint), ("no_answer", "timeout=None waits as long as that takes"))
        true("the time was up: wait is answered when the Trial has ended" in error.message, error.message)
        true("stopped" in raises(trials.NoAnswer, client.call, "show", timeout=0.2, id=1).hint, "of the others")
        equal(client.call("list"), {}, "a late reply is for nobody")


@case
def a_hello_that_is_wrong_is_no_connection():
    for hello in ({"ok": {"version": 2, "program": "p"}}, {"ok": {}}, b"\0\0\0\0"):
        with Peer(hello, hello=False) as peer:
            raises(trials.Broken, trials.Client(peer.path).call, "list")
    with Peer({"error": {"code": "unsupported_version", "message": "no"}}, hello=False) as peer:
        raises(trials.Refused, trials.Client(peer.path).call, "list")
    with Peer(None, hello=False) as peer:
        raises(trials.NoAnswer, trials.Client(peer.path, timeout=0.2).call, "list")


@case
def what_may_be_asked_twice_is():
    told = []
    with Peer(b"close", {"error": {"code": "busy", "message": "later"}}, {"ok": {"id": 1}}) as peer, \
            trials.Client(peer.path) as client:
        equal(client.patiently("launch", 20, told.append, command=["true"], key="k"), {"id": 1})
        equal([error.code for error in told], ["gone", "busy"])
        equal([one["arguments"] for one in peer.heard], [{"command": ["true"], "key": "k"}] * 3)
        raises(ValueError, client.patiently, "launch", 20, command=["true"])
        raises(ValueError, client.patiently, "rerun", 20, id=1)
        equal(len(peer.heard), 3, "requests")


@case
def what_is_refused_is_not_asked_again():
    with Peer({"error": {"code": "invalid", "message": "no"}}) as peer, trials.Client(peer.path) as client:
        raises(trials.Refused, client.patiently, "list", 20)
        equal(len(peer.heard), 1, "requests")


@case
def it_is_given_up_in_time():
    with tempfile.TemporaryDirectory() as folder, trials.Client(folder + "/none") as client:
        begun = time.monotonic()
        error = raises(trials.Gone, client.patiently, "list", 0.3)
        true(0.2 < time.monotonic() - begun < 10, "it took %.1f s" % (time.monotonic() - begun))
        true("systemctl --user start trialsd" in error.hint, error.hint)


@case
def a_file_that_is_no_socket_is_not_waited_for():
    with tempfile.NamedTemporaryFile() as file, trials.Client(file.name) as client:
        told = []
        true("is no socket" in raises(trials.Broken, client.patiently, "list", 20, told.append).message, "why")
        equal(told, [])


@case
def the_socket_is_found_as_trialctl_finds_it():
    kept = {name: os.environ.pop(name, None) for name in ("TRIALSD_SOCKET", "XDG_RUNTIME_DIR")}
    try:
        os.environ["XDG_RUNTIME_DIR"] = "/run/here"
        equal(trials.socket_path(), "/run/here/trialsd/socket")
        os.environ["TRIALSD_SOCKET"] = ""
        equal(trials.socket_path(), "/run/here/trialsd/socket")
        os.environ["TRIALSD_SOCKET"] = "/a"
        equal(trials.socket_path(), "/a")
        equal(trials.socket_path("/b"), "/b")
        raises(trials.Gone, trials.socket_path, "/" + "b" * 200)
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@case
def a_list_is_read_page_by_page():
    with Peer({"ok": {"trials": [{"id": 3}, {"id": 2}], "cursor": 2}}, {"ok": {"trials": [], "cursor": 1}},
              {"ok": {"trials": [{"id": 0}]}}) as peer, trials.Client(peer.path) as client:
        equal([one["id"] for one in client.pages("list", "trials", state="ended")], [3, 2, 0])
        equal([one["arguments"].get("before") for one in peer.heard], [None, 2, 1])


@case
def events_are_kept_in_order_and_waited_for_in_time():
    events = b"".join(packed({"event": "state", "request": 2, "body": {"number": n}}) for n in range(3))
    other = packed({"event": "state", "request": 9, "body": {}})
    with Peer(packed({"reply": 2, "ok": {"number": 7}}) + other + events) as peer:
        with trials.Client(peer.path).watch() as changes:
            equal(changes.reply, {"number": 7})
            equal([changes.next(5)["body"]["number"] for _ in range(3)], [0, 1, 2])
            equal(changes.next(0.1), None)


run_cases()
