# SPDX-License-Identifier: MIT
"""What an Experiment is: the file that a person wrote, and the folder that it is kept in.

Once an Experiment has begun nothing of it may change, or its Trials could not be compared. So what
the file asks for is frozen in FOLDER/plan.json before the first launch: the ids of its Arms, who judges
which of them, a copy of each task's repository and prompt. A later run goes on with that, and refuses a
file that asks for something else. It has begun when trialsd has accepted a launch: until then nothing
could have been compared, and the next run freezes it anew. How results are judged may be changed by
somebody who says so, for nothing that the Arms did depends on it.

    FOLDER/plan.json             always whole
    FOLDER/tasks/TASK            the repository as it was when the Experiment began; TASK.prompt
    FOLDER/repositories/…        one for each launch of a Trial: ARM/TASK/REPEAT.ATTEMPT
    FOLDER/ended/ID.json         what came of each launch, for when trialsd has pruned it
    FOLDER/journal               what was made here, and what trialsd accepted; kept.py has both
    FOLDER/lock                  held while a scheduler runs, and the mark of the folder

Everything is made beside its place, synced and renamed, so that what has its name is whole, whenever
a scheduler was killed. What it was about to launch, trialsd knows by its key."""

import base64
import hashlib
import json
import os
import re
import secrets
import stat
import subprocess
import tempfile
import time

import trials_files
from kept import DIRECTORY, Own, Wrong, differs
from seats import as_begun
from shape import NUMBER, fits
from trials_files import check_keys, host_path, read_object, read_small_file

FORM = 2
KEYS = ("name", "arms", "tasks", "repeats", "bar", "attempts", "retry_seconds", "outputs", "limits",
        "grader_limits", "priority", "folder")
TASK_KEYS = ("name", "repository", "prompt", "prompt_file")
ARM_KEYS = ("file", "secret_files")
KEY_BYTES_MAX = 128
PROMPT_BYTES_MAX = 20 << 20
UMASK = os.umask(0o077)
os.umask(UMASK)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
SHORT = 60  # letters of what was, and of what is, where both are told


VOTER = {"seat": str, "withheld": bool, "because": [str], "voter": (str, None), "families": [str]}
PLAN = {"name": str, "run": str, "begun_at": int, "accepted": bool, "asked": dict,
        "judging": {"the Bar?": (None, {"name": str, "seats": [dict], "stand_ins?": [dict]})},
        "arms": [{"name": str, "id": str, "families": [str]}], "tasks": [str], "repeats": int,
        "bar": (None, {"name": str, "id": str, "votes": int, "breadth?": int,
                       "seats": [{"name": str, "families?": [str]}]}),
        "voters": dict, "outputs": bool, "limits": (None, dict), "grader_limits": (None, dict),
        "priority": int, "state_folder": str}
RECORD = {"id": int, "key": str, "labels": dict, "outcome": str, "cause?": str, "message?": str, "hint?": str,
          "ended_at?": NUMBER, "wall_seconds?": NUMBER, "exit_code?": int, "exit_signal?": int,
          "families?": [str], "verdict?": {"vote": ("pass", "fail"), "reason?": str},
          "tokens?": (None, {"input": int, "output": int}), "spoiled?": str}
RECORD_BYTES_MAX = 1 << 20


class Changed(Exception):
    """It is another Experiment than the one that has begun, in words, and what mends it."""


# --- Files that are there whole or not at all -----------------------------------------------------


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path, data, mode=0o600):
    folder = os.path.dirname(path)
    descriptor, new = tempfile.mkstemp(prefix=".new-", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode & ~UMASK)
            os.fsync(descriptor)
        os.rename(new, path)
    except BaseException:
        os.unlink(new)
        raise
    sync(folder)


def to_json(value):
    """Text for a file. Bytes that are no UTF-8 stand as in all JSON of trialsd."""
    return json.dumps(value, ensure_ascii=False, indent=1,
                      default=lambda data: {"base64": base64.b64encode(data).decode()}) + "\n"


# --- The file -------------------------------------------------------------------------------------


def whole_number(what, value, least, most):
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Wrong("%s: takes a whole number from %d to %d" % (what, least, most))
    return value


def a_name(what, value):
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise Wrong("%s: takes a name of at most 40 letters, digits and . _ -, that begins with a "
                    "letter or digit" % what)
    return value


def a_list(what, value):
    if not isinstance(value, list) or not value:
        raise Wrong("%s: takes a list of at least one" % what)
    return value


def limits_of(what, value):
    if value is not None:
        trials_files.check_limits(what, value)
    return value


def distinct_tasks(names):
    distinct("tasks", names)
    for name in names:
        if name + ".prompt" in names:
            raise Wrong("tasks: %s and %s.prompt cannot both be there: prompts are kept under such names" % (
                name, name))


def distinct(what, names):
    for name in names:
        if names.count(name) > 1:
            raise Wrong("%s: %s stands there twice" % (what, name))


class File:
    """The experiment file, with what it names read."""

    def __init__(self, path):
        self.path = path
        try:
            self._read(read_object(path))
        except ValueError as error:
            raise Wrong(str(error)) from None

    def _read(self, value):
        self.base = os.path.dirname(os.path.abspath(self.path))
        check_keys(self.path, value, KEYS)
        self.name = a_name("name", value.get("name"))
        self.repeats = whole_number("repeats", value.get("repeats", 1), 1, 10000)
        self.attempts = whole_number("attempts", value.get("attempts", 3), 1, 100)
        self.retry_seconds = value.get("retry_seconds", 10)
        if isinstance(self.retry_seconds, bool) or not isinstance(self.retry_seconds, (int, float)) or \
                not 0 <= self.retry_seconds <= 86400:
            raise Wrong("retry_seconds: takes seconds, at most a day")
        self.priority = whole_number("priority", value.get("priority", 0), -1000, 1000)
        self.outputs = value.get("outputs", False)
        if not isinstance(self.outputs, bool):
            raise Wrong("outputs: takes true or false")
        self.limits = limits_of("limits", value.get("limits"))
        self.grader_limits = limits_of("grader_limits", value.get("grader_limits"))
        self.arms = [self._arm(arm) for arm in a_list("arms", value.get("arms"))]
        distinct("arms", [arm["name"] for arm in self.arms])
        self.tasks = [self._task(number, task)
                      for number, task in enumerate(a_list("tasks", value.get("tasks")), 1)]
        distinct_tasks([task["name"] for task in self.tasks])
        self.bar = trials_files.bar_spec(self._file("bar", value["bar"])) if "bar" in value else None
        self.folder = os.path.realpath(self._at("folder", value.get("folder", self.name + ".run")))

    def _at(self, what, text):
        if not isinstance(text, str) or not text:
            raise Wrong("%s: takes a path" % what)
        return host_path(text, self.base)

    def _file(self, what, text):
        """Of an Arm or a Bar, which are often called by their names elsewhere."""
        path = self._at(what, text)
        if "/" not in text and not os.path.lexists(path):
            verb = "bar set" if what == "bar" else "arm prepare"
            raise Wrong('%s: there is no file %s. A file is meant here, as trialctl %s takes one, and no '
                        'name: "%s.json"?' % (what, path, verb, text))
        return path

    def _arm(self, arm):
        if isinstance(arm, str):
            arm = {"file": arm}
        if not isinstance(arm, dict):
            raise Wrong("arms: takes paths of Arms' files")
        check_keys("arms", arm, ARM_KEYS)
        secret = arm.get("secret_files", [])
        if not isinstance(secret, list) or not all(isinstance(one, str) for one in secret):
            raise Wrong("arms: secret_files: takes a list of paths")
        spec = trials_files.arm_spec(self._file("arms", arm.get("file")),
                                     [host_path(one, self.base) for one in secret])
        a_name("arms: %s: name" % arm["file"], spec.get("name"))
        return spec

    def _task(self, number, task):
        if not isinstance(task, dict):
            raise Wrong("tasks: takes a list of maps")
        check_keys("tasks", task, TASK_KEYS)
        name = a_name("tasks: the name of number %d, %s" % (number, shortened(task.get("name"))),
                      task.get("name"))
        what = "tasks: %s: " % name
        if ("prompt" in task) == ("prompt_file" in task):
            raise Wrong(what + "takes one of prompt and prompt_file")
        if "prompt" in task:
            if not isinstance(task["prompt"], str):
                raise Wrong(what + "prompt: takes text")
            prompt = task["prompt"].encode("utf-8")
        else:
            file = self._at(what + "prompt_file", task["prompt_file"])
            prompt = read_small_file(what + "prompt_file", file, PROMPT_BYTES_MAX + 1)
        if len(prompt) > PROMPT_BYTES_MAX:
            raise Wrong(what + "the prompt is larger than %d bytes" % PROMPT_BYTES_MAX)
        return {"name": name, "prompt": prompt,
                "repository": self._at(what + "repository", task.get("repository"))}

    def asked(self):
        """What an Experiment is compared by: {what it is: what was asked}."""
        asked = {"repeats": self.repeats, "priority": self.priority, "limits": self.limits,
                 "arms": [arm["name"] for arm in self.arms], "tasks": [task["name"] for task in self.tasks]}
        for arm in self.arms:
            asked["the Arm " + arm["name"]] = arm
        for task in self.tasks:
            asked["the prompt of " + task["name"]] = hashlib.sha256(task["prompt"]).hexdigest()
            asked["the repository of " + task["name"]] = task["repository"]
        return asked

    def judging(self):
        """How its results are judged, in the same form."""
        return {"outputs": self.outputs, "grader_limits": self.grader_limits, "the Bar": self.bar}


# --- What is kept ---------------------------------------------------------------------------------


def is_elsewhere(git):
    """Whether what git needs of a repository lies outside of its .git in part."""
    if not os.path.isdir(git) or os.path.islink(git):
        return os.path.lexists(git)
    if any(os.path.lexists(os.path.join(git, name)) for name in ("objects/info/alternates", "commondir")):
        return True
    links = [os.path.join(git, name) for name in ("objects", "refs", "packed-refs", "config", "HEAD")]
    for folder in (os.path.join(git, name) for name in ("objects", "objects/pack", "refs", "refs/heads")):
        if os.path.isdir(folder):
            links += [os.path.join(folder, name) for name in os.listdir(folder)]
    return any(os.path.islink(link) and (
        os.readlink(link).startswith("/") or
        not os.path.realpath(link).startswith(os.path.realpath(git) + "/")) for link in links)


def check_repository(what, path, folder):
    """A copy must hold all that git needs, nothing but that path must lead to it, and it ends."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise Wrong("%s: %s: %s" % (what, path, error.strerror)) from None
    if not stat.S_ISDIR(mode):
        raise Wrong("%s: %s is no folder" % (what, path))
    if is_elsewhere(os.path.join(path, ".git")):
        raise Wrong("%s: %s keeps its objects elsewhere, so that a copy of it would be no repository: git "
                    "clone --no-hardlinks --dissociate %s ANOTHER" % (what, path, path))
    if all(os.path.exists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs")):
        raise Wrong("%s: %s is a bare repository: what an agent would find there is git's own files: git "
                    "clone --no-hardlinks %s ANOTHER" % (what, path, path))
    if (folder + "/").startswith(os.path.realpath(path).rstrip("/") + "/"):
        raise Wrong('%s: the folder of this Experiment, %s, is inside of %s: give "folder" a place '
                    'outside' % (what, folder, path))


def check_apart(file):
    """What is kept must not be copied with what it is kept of, nor mixed with it."""
    def holds(outer, inner):
        return (inner + "/").startswith(outer.rstrip("/") + "/")

    for task in file.tasks:
        path = os.path.realpath(task["repository"])
        if holds(path, file.folder) or holds(file.folder, path):
            raise Wrong('tasks: %s: %s and the folder of this Experiment, %s, are not apart: give "folder" a '
                        'place outside of all repositories' % (task["name"], path, file.folder))


def spoiled(path):
    """What stands in the way of all who would look at this result, and its own Trial put there; or None."""
    try:
        folder = os.open(path, DIRECTORY)
    except PermissionError:
        return "it is closed to everybody"
    except OSError:
        return None  # taken away, which its Trial cannot do
    try:
        git = os.lstat(".git", dir_fd=folder)
        if not stat.S_ISDIR(git.st_mode):
            return "its .git is no folder any more"
        os.lstat(".git/objects/info/alternates", dir_fd=folder)
        return "its .git has been made to take objects from elsewhere"
    except PermissionError:
        return "it is closed to everybody"
    except OSError:
        return None
    finally:
        os.close(folder)


def git_says(path, *arguments):
    """None: it cannot be asked, or it is no repository."""
    try:
        done = subprocess.run(["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", path,
                               *arguments], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    except OSError:
        return None
    return done.stdout.decode("utf-8", "surrogateescape").strip() if done.returncode == 0 else None


def notes_on_repository(path):
    """What of its copies may surprise."""
    top = git_says(path, "rev-parse", "--show-toplevel")
    if top and os.path.realpath(top) != os.path.realpath(path):
        return ["%s lies in the git repository %s, and is copied without it: its copies are no git "
                "repositories" % (path, top)]
    changed = git_says(path, "status", "--porcelain") if top else None
    if changed:
        return ["%s has changes that are not committed (%d of its files): its copies have them, too" % (
            path, len(changed.splitlines()))]
    return []


class Folder(Own):
    def plan(self):
        """None: nothing is frozen."""
        try:
            with open(self.at("plan.json"), "rb") as file:
                plan = json.loads(file.read())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise Wrong("%s: %s. Nothing can go on without it: move the folder away, and the Experiment "
                        "begins anew" % (self.at("plan.json"), error)) from None
        if not isinstance(plan, dict) or plan.get("form") != FORM:
            raise Wrong("%s is not of a form that this thirdshift knows" % self.at("plan.json"))
        names = [arm["name"] for arm in plan["arms"]] if fits(plan, PLAN) else None
        if not names or plan["bar"] and not fits(plan["voters"], dict.fromkeys(names, [VOTER])):
            raise Wrong("%s is damaged. Nothing can go on without it: move the folder away, and the "
                        "Experiment begins anew" % self.at("plan.json"))
        return plan

    def begin(self, file, arms, bar, voters, state_folder):
        """Freezes it. Nothing has been launched before this returns."""
        for task in file.tasks:
            check_repository("tasks: " + task["name"], task["repository"], self.path)
        # Of an earlier beginning of which nothing was launched: the repositories may have changed since.
        self.discard()
        self.copy((task["repository"], "tasks/" + task["name"]) for task in file.tasks)
        for task in file.tasks:
            self.write("tasks/%s.prompt" % task["name"], task["prompt"], told=True)
        plan = {"form": FORM, "name": file.name, "run": secrets.token_hex(4), "begun_at": int(time.time()),
                "accepted": False, "asked": file.asked(), "judging": file.judging(), "arms": arms,
                "tasks": [task["name"] for task in file.tasks], "repeats": file.repeats, "bar": bar,
                "voters": voters, "outputs": file.outputs, "limits": file.limits,
                "grader_limits": file.grader_limits, "priority": file.priority,
                "state_folder": state_folder}
        self.keep(plan)
        return plan

    def keep(self, plan):
        check_key(plan)
        self.write("plan.json", to_json(plan).encode("utf-8", "surrogateescape"))

    def accepted(self, plan):
        """trialsd has a Trial of it: from now on it is as it is."""
        if not plan["accepted"]:
            plan["accepted"] = True
            self.keep(plan)

    def is_touched(self, name, task):
        """A copy is there, and somebody has worked in it."""
        return name in self.made and os.path.lexists(self.at(name)) and differs(
            self.at(name), self.at("tasks", task))

    def has_worked(self, plan):
        """What only a Trial can have left: it was accepted, and nobody came to hear of it."""
        start = key_of(plan, "", "", 0, 0).partition("//")[0] + "/"
        return any(key.startswith(start) for key in self.launched) or any(
            self.is_touched(name, name.split("/")[2]) for name, (thing, _) in self.made.items()
            if thing == "copy" and name.startswith("repositories/"))

    def keep_ended(self, record):
        self.write("ended/%d.json" % record["id"], to_json(record).encode())

    def ended(self):
        """All that was kept, oldest first."""
        try:
            names = os.listdir(self.at("ended"))
        except FileNotFoundError:
            return []
        records = []
        for name in sorted((name for name in names if re.fullmatch(r"[0-9]+\.json", name)),
                           key=lambda name: int(name[:-5])):
            try:
                with open(self.at("ended", name), "rb") as file:
                    record = json.loads(file.read(RECORD_BYTES_MAX + 1))
                if not fits(record, RECORD) or record["id"] != int(name[:-5]):
                    raise ValueError("it is damaged")
                records.append(record)
            except (OSError, ValueError, RecursionError) as error:
                raise Wrong("%s: %s. If trialsd still has Trial %s, remove the file" % (
                    self.at("ended", name), error, name[:-5])) from None
        return records


# --- What has changed -----------------------------------------------------------------------------


def shortened(value):
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHORT else text[:SHORT] + "…"


def change(what, was, now):
    # Values of variables may be secrets, and a prompt is known by its digest only.
    if what == "environment" or what.startswith("the prompt of "):
        return what
    if isinstance(was, dict) and isinstance(now, dict):
        return "%s: %s" % (what, ", ".join(changes(was, now)))
    return "%s was %s, is %s" % (what, shortened(was), shortened(now))


def changes(begun, asked):
    """In words."""
    return [change(what, begun.get(what), asked.get(what))
            for what in list(begun) + [what for what in asked if what not in begun]
            if begun.get(what) != asked.get(what)]


def check_name(file, plan, folder):
    if file.name != plan["name"]:
        raise Changed("%s is of the Experiment %s, and %s asks for one that is called %s" % (
            folder, plan["name"], file.path, file.name),
            'put its name back, or give it another "folder", too')


def check_same(file, plan, folder):
    check_name(file, plan, folder)
    changed = changes(plan["asked"], json.loads(to_json(file.asked())))
    if changed:
        raise Changed("%s asks for something else than when this Experiment began: %s" % (
            file.path, "; ".join(changed)), "put it back (%s has what it was), or give the Experiment "
            'another name, and another "folder" where it names one' % folder)


def judging_changes(file, plan):
    was, now = plan["judging"], json.loads(to_json(file.judging()))
    was, now = (dict(one, **{"the Bar": as_begun(one.get("the Bar"), plan["bar"])}) for one in (was, now))
    return changes(was, now)


# --- Keys and labels ------------------------------------------------------------------------------


def key_of(plan, arm, task, repeat, attempt, seat=None, vote=None):
    """What trialsd knows a launch by. The run is another one when an Experiment begins anew; votes by
    another Bar are others."""
    key = "thirdshift/%s/%s/%s/%s/%d/%d" % (plan["name"], plan["run"], arm, task, repeat, attempt)
    return key if seat is None else "%s/%s/%d/%s" % (key, seat, vote, (plan["bar"] or {}).get("id", "")[:8])


def check_key(plan):
    """The longest must not be too long."""
    def longest(names):
        return max(names, key=lambda name: len(name.encode()), default="")

    seats = [voter["voter"] for voters in plan["voters"].values() for voter in voters if voter["voter"]]
    key = key_of(plan, longest([arm["name"] for arm in plan["arms"]]), longest(plan["tasks"]),
                 plan["repeats"], 100, longest(seats), 100)
    if len(key.encode()) > KEY_BYTES_MAX:
        raise Wrong("the names of the Experiment, its Arms, tasks and seats are too long together: a key "
                    "takes %d bytes, and %s has %d" % (KEY_BYTES_MAX, key, len(key.encode())))


def labels_of(plan, arm, task, repeat, attempt, seat=None, vote=None):
    labels = {"experiment": plan["name"], "run": plan["run"], "arm": arm, "task": task,
              "repeat": str(repeat), "attempt": str(attempt)}
    return labels if seat is None else dict(labels, seat=seat, vote=str(vote))

