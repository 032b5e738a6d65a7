#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reads the golden vectors with another implementation of msgpack than the daemon's.

Each NAME.frame of proto/vectors must be one frame whose map equals NAME.json. This is also the
smallest client-side reader there is: start here for a client in another language. send_frame sends
one, with a descriptor beside it if there is one: a prompt, of a launch that says prompt_descriptor.
"""

import base64
import json
import os
import pathlib
import socket
import struct
import sys

import msgpack

FRAME_BYTES_MAX = 1024 * 1024


def read_frame(data):
    """The map of the one frame that data is."""
    (size,) = struct.unpack(">I", data[:4])
    if not 0 < size <= FRAME_BYTES_MAX:
        raise ValueError(f"the length is {size}")
    if size != len(data) - 4:
        raise ValueError(f"the length is {size} and there are {len(data) - 4} bytes")
    message = msgpack.unpackb(data[4:], raw=False, strict_map_key=True)
    if not isinstance(message, dict):
        raise ValueError("it holds no map")
    return message


def send_frame(connection, frame, descriptor=None):
    """The descriptor goes with the first bytes, whatever the socket takes of them at once."""
    if descriptor is not None:
        frame = frame[socket.send_fds(connection, [frame], [descriptor]):]
    if frame:
        connection.sendall(frame)


def from_json(value):
    """JSON's view of a message as msgpack's: {"base64": …} stands for bytes."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {"base64"}:
            return base64.b64decode(value["base64"], validate=True)
        return {key: from_json(item) for key, item in value.items()}
    return value


def same(left, right):
    """Equal in type too: 1, 1.0 and True are three things on the wire. Keys keep their order."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    return left == right


def check(frame):
    """What is wrong with this vector, or None."""
    try:
        message = read_frame(frame.read_bytes())
        expected = from_json(json.loads(frame.with_suffix(".json").read_text(encoding="utf-8")))
    except (OSError, ValueError, struct.error) as error:
        return str(error)
    return None if same(message, expected) else f"{message!r} is not {expected!r}"


def check_descriptor(frame):
    """What comes out at the other end, beside the frame: this very file, to be read from its start."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs, os.fdopen(os.memfd_create("prompt"), "wb+") as prompt:
        prompt.write(b"Mend the test.")
        prompt.flush()
        send_frame(ours, frame.read_bytes(), prompt.fileno())
        data, received, flags, _ = socket.recv_fds(theirs, 65536, 1)
        try:
            if not read_frame(data)["arguments"].get("prompt_descriptor"):
                return "the launch does not say that a descriptor comes with it"
            if len(received) != 1 or flags & socket.MSG_CTRUNC:
                return f"{len(received)} descriptors came"
            if os.pread(received[0], 100, 0) != b"Mend the test.":
                return "it is another file"
        finally:
            for descriptor in received:
                os.close(descriptor)
    return None


def main():
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1])
    else:
        folder = pathlib.Path(__file__).resolve().parents[2] / "proto" / "vectors"
    frames = sorted(folder.glob("*.frame"))
    failed = 0
    for frame in frames:
        fault = check(frame)
        if fault:
            failed += 1
            print(f"not ok {frame.stem}: {fault}")
        else:
            print(f"ok {frame.stem}")
    for frame in frames:
        if frame.stem == "request-launch-descriptor":
            fault = check_descriptor(frame)
            print(f"not ok descriptor: {fault}" if fault else "ok descriptor")
            failed += bool(fault)
    if not frames:
        failed = 1
        print(f"not ok vectors: there are none in {folder}")
    print(f"{len(frames) - failed if frames else 0} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
