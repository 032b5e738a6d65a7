#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reads the golden vectors with another implementation of msgpack than the daemon's.

Each NAME.frame of proto/vectors must be one frame whose map equals NAME.json. This is also the
smallest client-side reader there is: start here for a client in another language.
"""

import base64
import json
import pathlib
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
    if not frames:
        failed = 1
        print(f"not ok vectors: there are none in {folder}")
    print(f"{len(frames) - failed if frames else 0} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
