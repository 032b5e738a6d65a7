# SPDX-License-Identifier: MIT
"""What an Experiment is: the file that a person wrote, and the folder that it is kept in.

Once an Experiment has begun nothing of it may change, or its Trials could not be compared. So what
the file asks for is frozen in FOLDER/plan.json before the first launch: the ids of its Arms, who judges
which of them, a copy of each task's repository and prompt. A later run goes on with that, and refuses a
file that asks for something else.

    FOLDER/plan.json             written once, whole
    FOLDER/tasks/TASK            the repository as it was when the Experiment began; TASK.prompt
    FOLDER/repositories/…        one for each launch of a Trial: ARM/TASK/REPEAT.ATTEMPT
    FOLDER/ended/ID.json         what came of each launch, for when trialsd has pruned it
    FOLDER/lock                  held while a scheduler runs

Everything is made beside its place, synced and renamed, so that what has its name is whole, whenever
a scheduler was killed. What it was about to launch, trialsd knows by its key."""

import base64
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import subprocess
import tempfile
import time

import trials_files
from trials_files import check_keys, host_path, read_object

FORM = 1
KEYS = ("name", "arms", "tasks", "repeats", "bar", "attempts", "retry_seconds", "outputs", "limits",
        "grader_limits", "priority", "folder")
TASK_KEYS = ("name", "repository", "prompt", "prompt_file")
ARM_KEYS = ("file", "secret_files")
KEY_BYTES_MAX = 128
PROMPT_BYTES_MAX = 20 << 20
UMASK = os.umask(0o077)
os.umask(UMASK)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


class Wrong(Exception):
    """The file, or what is kept, is not as it must be; the text is for a person."""


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


def digest(value):
    return hashlib.sha256(to_json(value).encode("utf-8", "surrogateescape")).hexdigest()


def remove_tree(folder):
    subprocess.run(["chmod", "-R", "u+rwx", "--", folder], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(folder):
    """What a killed scheduler left of a copy that has no name yet. Only called with the lock held."""
    for parent, folders, files in os.walk(folder):
        for name in [name for name in folders if name.startswith(".new-")]:
            folders.remove(name)
            remove_tree(os.path.join(parent, name))
        for name in files:
            if name.startswith(".new-"):
                os.unlink(os.path.join(parent, name))
        # Repositories themselves are not looked into.
        if os.path.dirname(os.path.dirname(parent)) == os.path.join(folder, "repositories") or \
                parent == os.path.join(folder, "tasks"):
            folders.clear()


def copy_trees(pairs):
    """Copies each source to its target, if that is not there yet."""
    made = []
    for source, target in pairs:
        if os.path.isdir(target):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        new = tempfile.mkdtemp(prefix=".new-", dir=os.path.dirname(target))
        done = subprocess.run(["cp", "-a", "--reflink=auto", "-T", "--", source, new], check=False,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise Wrong("%s cannot be copied: %s" % (source, done.stderr.decode(errors="replace").strip()))
        made.append((new, target))
    if made:
        subprocess.run(["sync", "-f", made[0][0]], check=False, stderr=subprocess.DEVNULL)
    for new, target in made:
        os.rename(new, target)
        sync(os.path.dirname(target))


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
        self.limits, self.grader_limits = value.get("limits"), value.get("grader_limits")
        for key, limits in (("limits", self.limits), ("grader_limits", self.grader_limits)):
            if limits is not None and not isinstance(limits, dict):
                raise Wrong("%s: takes a map of limits" % key)
        self.arms = [self._arm(arm) for arm in a_list("arms", value.get("arms"))]
        distinct("arms", [arm["name"] for arm in self.arms])
        self.tasks = [self._task(task) for task in a_list("tasks", value.get("tasks"))]
        distinct("tasks", [task["name"] for task in self.tasks])
        self.bar = trials_files.bar_spec(self._at("bar", value["bar"])) if "bar" in value else None
        self.folder = os.path.realpath(self._at("folder", value.get("folder", self.name + ".run")))

    def _at(self, what, text):
        if not isinstance(text, str) or not text:
            raise Wrong("%s: takes a path" % what)
        return host_path(text, self.base)

    def _arm(self, arm):
        if isinstance(arm, str):
            arm = {"file": arm}
        if not isinstance(arm, dict):
            raise Wrong("arms: takes paths of Arms' files")
        check_keys("arms", arm, ARM_KEYS)
        secret = arm.get("secret_files", [])
        if not isinstance(secret, list) or not all(isinstance(one, str) for one in secret):
            raise Wrong("arms: secret_files: takes a list of paths")
        spec = trials_files.arm_spec(self._at("arms", arm.get("file")),
                                     [host_path(one, self.base) for one in secret])
        a_name("arms: %s: name" % arm["file"], spec.get("name"))
        return spec

    def _task(self, task):
        if not isinstance(task, dict):
            raise Wrong("tasks: takes a list of maps")
        check_keys("tasks", task, TASK_KEYS)
        name = a_name("tasks: name", task.get("name"))
        what = "tasks: %s: " % name
        if ("prompt" in task) == ("prompt_file" in task):
            raise Wrong(what + "takes one of prompt and prompt_file")
        if "prompt" in task:
            if not isinstance(task["prompt"], str):
                raise Wrong(what + "prompt: takes text")
            prompt = task["prompt"].encode("utf-8")
        else:
            file = self._at(what + "prompt_file", task["prompt_file"])
            try:
                with open(file, "rb") as opened:
                    prompt = opened.read(PROMPT_BYTES_MAX + 1)
            except OSError as error:
                raise Wrong("%sprompt_file: %s: %s" % (what, file, error.strerror)) from None
        if len(prompt) > PROMPT_BYTES_MAX:
            raise Wrong(what + "the prompt is larger than %d bytes" % PROMPT_BYTES_MAX)
        return {"name": name, "prompt": prompt,
                "repository": self._at(what + "repository", task.get("repository"))}

    def asked(self):
        """What an Experiment is compared by: {what it is: what was asked}, short."""
        asked = {"repeats": self.repeats, "priority": self.priority, "outputs": self.outputs,
                 "limits": self.limits, "grader_limits": self.grader_limits,
                 "arms": [arm["name"] for arm in self.arms], "tasks": [task["name"] for task in self.tasks],
                 "bar": self.bar and self.bar.get("name")}
        for arm in self.arms:
            asked["the Arm " + arm["name"]] = digest(arm)
        for task in self.tasks:
            asked["the prompt of " + task["name"]] = hashlib.sha256(task["prompt"]).hexdigest()
            asked["the repository of " + task["name"]] = task["repository"]
        if self.bar:
            asked["the Bar " + str(self.bar.get("name"))] = digest(self.bar)
        return asked


# --- What is kept ---------------------------------------------------------------------------------


def check_repository(what, path):
    """A copy must hold all that git needs, and nothing but that path must lead to it."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise Wrong("%s: %s: %s" % (what, path, error.strerror)) from None
    if not stat.S_ISDIR(mode):
        raise Wrong("%s: %s is no folder" % (what, path))
    git = os.path.join(path, ".git")
    if os.path.isfile(git) or os.path.lexists(os.path.join(git, "objects/info/alternates")):
        raise Wrong("%s: %s keeps its objects elsewhere, so that a copy of it would be no repository: git "
                    "clone --no-hardlinks --dissociate %s ANOTHER" % (what, path, path))


class Folder:
    def __init__(self, path):
        self.path = path
        self.lock = None

    def at(self, *names):
        return os.path.join(self.path, *names)

    def take(self):
        """Held until this process ends. BlockingIOError: another scheduler has it."""
        os.makedirs(self.path, exist_ok=True)
        self.lock = open(self.at("lock"), "ab")
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in ("tasks", "repositories", "ended"):
            os.makedirs(self.at(name), exist_ok=True)
        remove_leftovers(self.path)

    def plan(self):
        """None: it has not begun."""
        try:
            with open(self.at("plan.json"), "rb") as file:
                plan = json.loads(file.read())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise Wrong("%s: %s. Nothing can go on without it: move the folder away, and the Experiment "
                        "begins anew" % (self.at("plan.json"), error)) from None
        if not isinstance(plan, dict) or plan.get("form") != FORM:
            raise Wrong("%s is not of a form that this thirdshift knows" % self.at("plan.json"))
        return plan

    def begin(self, file, arms, bar, voters, state_folder):
        """Freezes it. Nothing has been launched before this returns."""
        for task in file.tasks:
            check_repository("tasks: " + task["name"], task["repository"])
        # Of an earlier beginning that did not come to its plan: the repositories may have changed since.
        remove_tree(self.at("tasks"))
        os.makedirs(self.at("tasks"))
        copy_trees((task["repository"], self.at("tasks", task["name"])) for task in file.tasks)
        for task in file.tasks:
            write_file(self.at("tasks", task["name"] + ".prompt"), task["prompt"])
        plan = {"form": FORM, "name": file.name, "run": secrets.token_hex(4), "begun_at": int(time.time()),
                "asked": file.asked(), "arms": arms, "tasks": [task["name"] for task in file.tasks],
                "repeats": file.repeats, "bar": bar, "voters": voters, "outputs": file.outputs,
                "limits": file.limits, "grader_limits": file.grader_limits, "priority": file.priority,
                "state_folder": state_folder}
        check_key(plan)
        write_file(self.at("plan.json"), to_json(plan).encode("utf-8", "surrogateescape"))
        return plan

    def keep_ended(self, record):
        write_file(self.at("ended", "%d.json" % record["id"]), to_json(record).encode())

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
                    records.append(json.loads(file.read()))
            except (OSError, ValueError) as error:
                raise Wrong("%s: %s. If trialsd still has Trial %s, remove the file" % (
                    self.at("ended", name), error, name[:-5])) from None
        return records


def check_same(file, plan):
    asked, begun = json.loads(to_json(file.asked())), plan["asked"]
    changed = []
    for what in list(begun) + [what for what in asked if what not in begun]:
        if asked.get(what) != begun.get(what):
            words = [what]
            if what in ("repeats", "priority", "outputs", "arms", "tasks", "bar", "limits", "grader_limits"):
                words += ["was %s, is %s" % (json.dumps(begun.get(what)), json.dumps(asked.get(what)))]
            changed.append(" ".join(words))
    if changed:
        raise Changed("%s asks for something else than when this Experiment began: %s" % (
            file.path, "; ".join(changed)), "put it back, or give the Experiment another name")


# --- Keys and labels ------------------------------------------------------------------------------


def key_of(plan, arm, task, repeat, attempt, seat=None, vote=None):
    """What trialsd knows a launch by. The run is another one when an Experiment begins anew."""
    key = "thirdshift/%s/%s/%s/%s/%d/%d" % (plan["name"], plan["run"], arm, task, repeat, attempt)
    return key if seat is None else "%s/%s/%d" % (key, seat, vote)


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

