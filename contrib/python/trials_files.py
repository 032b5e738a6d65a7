# SPDX-License-Identifier: MIT
"""Files that people write of Arms and Bars, as arm_prepare and bar_set take them.

An Arm's file is read as `trialctl arm prepare FILE` reads it and a Bar's as `trialctl bar set FILE`:
what may be said shorter is written out, relative paths begin at the file's folder and ~ is the home.
All else goes through as it is, for trialsd to judge. What is wrong is a ValueError that names the file
and the key."""

import json
import math
import os
import stat

from trials import path

FILE_BYTES_MAX = 1 << 20
STANDARD_BYTES_MAX = 256 << 10
ARM_KEYS = ("name", "harness", "model", "effort", "executable", "arguments", "command", "files", "roles",
            "git_exclude", "harnesses", "providers", "limits", "environment", "toolchains", "skills",
            "build")
BAR_KEYS = ("name", "standard", "standard_file", "votes", "breadth", "seats", "stand_ins")
SEAT_KEYS = ("name", "harness", "model", "provider", "effort", "family", "arm")
LIMIT_KEYS = ("wall_seconds", "memory", "swap", "tasks", "cpu", "tmp", "home", "output", "stall_seconds")


def _once(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands there twice")
    return result


def _no_number(word):
    raise ValueError("%s is no number of JSON" % word)


def _check(value):
    """What JSON can say, and trialsd cannot be told."""
    if isinstance(value, dict):
        for key, one in value.items():
            _check(key)
            _check(one)
    elif isinstance(value, list):
        for one in value:
            _check(one)
    elif isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("a text in it has half a character (\\u%04x)" % next(
                ord(letter) for letter in value if 0xd800 <= ord(letter) < 0xe000)) from None
    elif isinstance(value, float) and not math.isfinite(value) or \
            isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise ValueError("a number in it is too large")


def read_small_file(what, file, most):
    """At most so many bytes of it. A FIFO or a device is not waited for."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ValueError("%s: %s is no file" % (what, file))
        with os.fdopen(descriptor, "rb") as opened:
            return opened.read(most)
    except OSError as error:
        raise ValueError("%s: %s: %s" % (what, file, error.strerror)) from None


def read_object(file):
    """The JSON object in a file."""
    try:
        with open(file, "rb") as opened:
            data = opened.read(FILE_BYTES_MAX + 1)
        if len(data) > FILE_BYTES_MAX:
            raise ValueError("it is larger than %d bytes" % FILE_BYTES_MAX)
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
        _check(value)
    except json.JSONDecodeError as error:
        raise ValueError("%s: not JSON: %s" % (file, error)) from None
    except OSError as error:
        raise ValueError("%s: %s" % (file, error.strerror)) from None
    except (ValueError, RecursionError) as error:
        raise ValueError("%s: %s" % (file, error)) from None
    if not isinstance(value, dict):
        raise ValueError("%s: it is no JSON object" % file)
    return value


def check_keys(what, value, allowed):
    for key in value:
        if key not in allowed:
            raise ValueError('%s: "%s" is no key here; there are %s' % (what, key, ", ".join(allowed)))


def check_limits(what, value):
    """Of a launch or an Arm: which there are, and that they are numbers. How much is too much or too
    little, trialsd knows."""
    if not isinstance(value, dict):
        raise ValueError("%s: takes a map of limits" % what)
    check_keys(what, value, LIMIT_KEYS)
    for key, number in value.items():
        whole = isinstance(number, int) and not isinstance(number, bool)
        seconds = key.endswith("_seconds") and isinstance(number, float)
        if not (whole or seconds) or number < 0:
            raise ValueError("%s: %s: takes a %s, not %s" % (
                what, key, "number of seconds" if key.endswith("_seconds") else "whole number",
                json.dumps(number)))


def home():
    return os.environ.get("HOME") or os.path.expanduser("~")


def _skip_dot(text):
    while text.startswith("./"):
        text = text[2:].lstrip("/")
    return text


def host_path(text, folder):
    """The absolute path that this means in a file of that folder."""
    if "\0" in text:
        raise ValueError("a path has a NUL in it: %s" % text.replace("\0", "\\0"))
    if text.startswith("/"):
        return text
    if text == "~" or text.startswith("~/"):
        folder, text = home(), text[2:]
    rest = _skip_dot(text)
    return folder if rest in ("", ".") else folder.rstrip("/") + "/" + rest


def _path_of(what, key, value, folder):
    if not isinstance(value, str) or not value:
        raise ValueError("%s: %s: takes a path" % (what, key))
    return path(host_path(value, folder))


# --- Arms -----------------------------------------------------------------------------------------


def _mapped(what, source, value, folder):
    what = "%s: files: %s" % (what, source)
    entry = {"source": path(host_path(source, folder))}
    if isinstance(value, dict):
        check_keys(what, value, ("path", "mode"))
        mode = value.get("mode")
        if mode is not None:
            if not isinstance(mode, str) or not mode or mode.strip("01234567") or int(mode, 8) > 0o777:
                raise ValueError('%s: mode takes permission bits in octal, as "0755"' % what)
            entry["mode"] = int(mode, 8)
        value = value.get("path")
    if not source or not isinstance(value, str):
        raise ValueError('%s: takes a path inside, or {"path": ..., "mode": "0755"}' % what)
    entry["path"] = path(_skip_dot(value))
    return entry


def _files(what, arm, folder):
    mapped = arm.get("files", {})
    if not isinstance(mapped, dict):
        raise ValueError("%s: files: takes a map from paths of the host to paths inside" % what)
    files = [_mapped(what, source, value, folder) for source, value in mapped.items()]
    command = arm.get("command")
    # A program beside the file, and what begins with "./", is mapped without being told.
    for index, word in enumerate(command if isinstance(command, list) else []):
        if not isinstance(word, str) or word.startswith(("/", "~")):
            continue
        if not word.startswith("./") and (index > 0 or "/" not in word):
            continue
        if any(one["path"] == path(_skip_dot(word)) for one in files):
            continue
        if _skip_dot(word).startswith("../") or "/../" in word:
            raise ValueError('%s: command: %s lies outside of the file\'s folder; map it: "files": '
                             '{"HOST PATH": "PATH"}' % (what, word))
        files.append(_mapped(what, word, word, folder))
    return files


def _named(what, key, value, allowed):
    if not isinstance(value, list) or not all(isinstance(one, (str, dict)) for one in value):
        raise ValueError("%s: %s: takes a list of names, or of maps with a name" % (what, key))
    for one in value:
        if isinstance(one, dict):
            check_keys("%s: %s" % (what, key), one, allowed)
    return [{"name": one} if isinstance(one, str) else one for one in value]


def arm_spec(file, secret_files=()):
    """`spec` of arm_prepare."""
    arm = read_object(file)
    folder = os.path.dirname(os.path.abspath(file))
    check_keys(file, arm, ARM_KEYS)
    spec = {key: arm[key] for key in ("name", "harness", "model", "effort", "arguments", "command", "roles",
                                      "git_exclude", "limits", "toolchains") if key in arm}
    for key in ("executable", "skills", "build"):
        if key in arm:
            spec[key] = _path_of(file, key, arm[key], folder)
    files = _files(file, arm, folder)
    if files:
        spec["files"] = files
    if "harnesses" in arm:
        spec["harnesses"] = _named(file, "harnesses", arm["harnesses"], ("name", "model", "provider"))
    if "providers" in arm:
        spec["providers"] = _named(file, "providers", arm["providers"], ("name", "model"))
    environment = arm.get("environment", {})
    if isinstance(environment, list) and all(isinstance(name, str) for name in environment):
        environment = dict.fromkeys(environment)
    if not isinstance(environment, dict):
        raise ValueError("%s: environment: takes a map of variables (null: a launch may set it), or a "
                         "list of names" % file)
    values = {name: value for name, value in environment.items() if value is not None}
    variables = [name for name, value in environment.items() if value is None]
    if values:
        spec["environment"] = values
    if variables:
        spec["variables"] = variables
    if secret_files:
        spec["secret_files"] = [path(host_path(one, folder)) for one in secret_files]
    return spec


# --- Bars -----------------------------------------------------------------------------------------


def bar_spec(file):
    """`spec` of bar_set."""
    bar = read_object(file)
    folder = os.path.dirname(os.path.abspath(file))
    check_keys(file, bar, BAR_KEYS)
    if ("standard" in bar) == ("standard_file" in bar):
        raise ValueError("%s: takes one of standard and standard_file" % file)
    for key in ("seats", "stand_ins"):
        seats = bar.get(key, [])
        for seat in seats if isinstance(seats, list) else [None]:
            if not isinstance(seat, dict):
                raise ValueError("%s: %s: takes a list of maps" % (file, key))
            check_keys("%s: %s" % (file, key), seat, SEAT_KEYS)
    spec = {key: value for key, value in bar.items() if key != "standard_file"}
    if "standard_file" in bar:
        standard = bar["standard_file"]
        if not isinstance(standard, str) or not standard:
            raise ValueError("%s: standard_file: takes a path" % file)
        if "\0" in standard:
            raise ValueError("%s: standard_file: a path has no NUL in it" % file)
        standard = os.path.join(folder, standard)
        data = read_small_file("%s: standard_file" % file, standard, STANDARD_BYTES_MAX + 1)
        try:
            spec["standard"] = data.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError("%s: standard_file: %s is no UTF-8 text" % (file, standard)) from None
        if len(data) > STANDARD_BYTES_MAX:
            raise ValueError("%s: standard_file: %s is larger than %d bytes" % (
                file, standard, STANDARD_BYTES_MAX))
    return spec
