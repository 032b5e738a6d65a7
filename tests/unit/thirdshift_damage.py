#!/usr/bin/python3
# SPDX-License-Identifier: MIT
# timeout: 300
"""Whatever people write, and whatever becomes of what contrib/thirdshift keeps: one plain line that says what
is wrong and where, and the exit status that is documented for it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, name) for name in ("tests", "contrib/python", "contrib/thirdshift")]
from experiment import File, Folder, check_repository, key_of, labels_of  # noqa: E402
from host import write  # noqa: E402
from kept import Wrong  # noqa: E402
from support import case, equal, run_cases, true  # noqa: E402

PROGRAM = os.path.join(TOP, "contrib/thirdshift/thirdshift")
BAR = {"name": "b", "id": "1" * 64, "votes": 1, "breadth": 1, "seats": [{"name": "s1", "families": ["red"]}]}
VOTER = {"seat": "s1", "voter": "s1", "withheld": False, "because": [], "families": ["red"]}
BIG = 10 ** 30


class Place:
    def __init__(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="d."))
        self.task = {"name": "one", "repository": "one", "prompt": "do"}
        self.arm = {"name": "fast", "harness": "ninth"}
        self.bar = {"name": "b", "standard": "s", "seats": [{"harness": "ninth"}]}
        write(self.at("one/file"), "x")

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, arm=None, bar=None, task=None, raw=None, **changes):
        write(self.at("arm.json"), json.dumps(dict(self.arm, **(arm or {}))))
        write(self.at("bar.json"), json.dumps(dict(self.bar, **(bar or {}))))
        value = {"name": "e", "arms": ["arm.json"], "tasks": [dict(self.task, **(task or {}))], "bar": "bar.json"}
        write(self.at("e.json"), json.dumps(dict(value, **changes)) if raw is None else raw)

    def begin(self):
        self.write()
        folder = Folder(self.at("e.run"))
        folder.take()
        plan = folder.begin(File(self.at("e.json")), [{"name": "fast", "id": "2" * 64, "families": ["blue"]}], BAR,
                            {"fast": [VOTER]}, "/state")
        trial = ("fast", "one", 1, 1)
        folder.keep_ended({"id": 1, "key": key_of(plan, *trial), "labels": labels_of(plan, *trial), "outcome": "failed"})
        trial += ("s1", 1)
        folder.keep_ended({"id": 2, "key": key_of(plan, *trial), "labels": labels_of(plan, *trial), "outcome": "delivered",
                           "verdict": {"vote": "pass", "reason": "a\u009b\u202eb\U000e0001"}})
        return folder

    def run(self, status, *words, verb="run"):
        """What it says: nothing but lines of its own."""
        done = subprocess.run([sys.executable, PROGRAM, verb, "--socket", self.at("none"), "--patience", "0",
                               self.at("e.json"), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        equal(done.returncode, status, "exit status: " + done.stdout + done.stderr)
        true(all(line.startswith("thirdshift: ") for line in done.stderr.splitlines()), done.stderr)
        return done.stdout + done.stderr

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


@case
def what_people_write_is_told_in_a_line():
    with Place() as place:
        os.mkfifo(place.at("fifo"))
        for changes, words in (
                ({"task": {"repository": "\0"}}, "a path has a NUL"), ({"task": {"repository": "\ud800"}}, "half a character"),
                ({"task": {"prompt": "\ud800"}}, "e.json: a text in it has half a character (\\ud800)"),
                ({"limits": {"memory": BIG}}, "a number in it is too large"), ({"name": BIG}, "a number in it is too large"),
                ({"folder": "\0"}, "a path has a NUL"), ({"arms": ["\0"]}, "a path has a NUL"),
                ({"arm": {"limits": {"memory": BIG}}}, "arm.json: a number in it is too large"),
                ({"arm": {"model": "\ud800"}}, "arm.json: a text"), ({"arm": {"environment": [["a"]]}}, "environment: takes a map"),
                ({"arm": {"\udfff": 1}}, "arm.json: a text"), ({"arm": {"files": {"\0": "x"}}}, "a path has a NUL"),
                ({"raw": '{"retry_seconds": NaN}'}, "NaN is no number"), ({"raw": '{"repeats": -Infinity}'}, "no number"),
                ({"raw": '{"retry_seconds": 1e999}'}, "a number in it is too large"), ({"raw": "[" * 200000}, "e.json: "),
                ({"raw": b"\xff"}, "e.json: ")):
            place.write(**changes)
            text = place.run(64)
            true(words in text and text.count("\n") == 1, "%s: %s" % (words, text))
        for changes, words in (({"seats": 5}, "seats: takes a list of maps"), ({"seats": None}, "seats: takes a list of maps"),
                               ({"stand_ins": 5}, "stand_ins: takes"), ({"votes": BIG}, "bar.json: a number in it is too large"),
                               ({"name": "\ud800"}, "bar.json: a text"), ({"seats": [[]]}, "seats: takes a list of maps")):
            place.write(bar=changes)
            true(words in place.run(64), words)
        for name, words in (("\0", "a path has no NUL"), ("fifo", "fifo is no file"), ("/dev/zero", "/dev/zero is no file"),
                            ("one", "one is no file")):
            place.write()
            bar = {key: one for key, one in place.bar.items() if key != "standard"}
            write(place.at("bar.json"), json.dumps(dict(bar, standard_file=name)))
            true(words in place.run(64), words)
        task = {"name": "one", "repository": "one", "prompt_file": "fifo"}
        place.write(tasks=[task])
        true("fifo is no file" in place.run(64), "a FIFO for a prompt")


@case
def names_of_tasks_and_of_their_prompts_are_apart():
    with Place() as place:
        place.write(tasks=[dict(place.task, name="a"), dict(place.task, name="a.prompt")])
        true("a and a.prompt cannot both be there" in place.run(64), "which")
        place.write(tasks=[dict(place.task, name="b"), dict(place.task, name="a.prompt")])
        place.run(69)  # no trialsd


@case
def a_damaged_plan_is_told_in_a_line():
    with Place() as place:
        folder = place.begin()
        folder.lock.close()
        with open(folder.at("plan.json")) as file:
            plan = json.load(file)
        said = place.run(0, verb="report")
        true("1+ 0-" in said, said)

        def check(data):
            write(folder.at("plan.json"), data if isinstance(data, (str, bytes)) else json.dumps(data))
            for verb in ("report",):
                text = place.run(64, verb=verb)
                true("plan.json" in text and text.count("\n") == 1, "%r: %s" % (data, text))

        for data in (b"", b"{}", b"\xff", b"[" * 100000, '{"form": %d}' % plan["form"], json.dumps(plan)[:200]):
            check(data)
        for key, values in (("name", (1, None)), ("run", ([],)), ("begun_at", ("x",)), ("arms", ({}, [1], [{"name": "fast"}])),
                            ("tasks", ("one", [1])), ("repeats", ("1", True, None)), ("voters", ([], {}, {"fast": [1]},
                             {"fast": [dict(VOTER, families="red")]})), ("bar", (1, {}, dict(BAR, votes="1"), dict(BAR, seats=[1]))),
                            ("accepted", (1,)), ("asked", (None,)), ("judging", ([],)), ("state_folder", (None,))):
            for value in values:
                check(dict(plan, **{key: value}))
            check({one: plan[one] for one in plan if one != key})
        write(folder.at("plan.json"), json.dumps(plan))
        equal(place.run(0, verb="report"), said)


@case
def a_damaged_record_is_told_in_a_line():
    with Place() as place:
        folder = place.begin()
        folder.lock.close()
        with open(folder.at("ended/2.json")) as file:
            record = json.load(file)
        for data in ("", "{}", "[]", "5", "[" * 100000, json.dumps(record)[:50]):
            write(folder.at("ended/2.json"), data)
            text = place.run(64, verb="report")
            true("ended/2.json: " in text and text.count("\n") == 1, text)
        for key, value in (("labels", []), ("labels", None), ("id", "2"), ("id", 9), ("outcome", 1), ("verdict", "x"), ("tokens", 5),
                           ("verdict", {"vote": "maybe"}), ("verdict", {"vote": "pass", "reason": 1}), ("tokens", {"input": "1"}),
                           ("ended_at", "x"), ("wall_seconds", None), ("families", "red"), ("cause", ["x"]), ("key", None)):
            write(folder.at("ended/2.json"), json.dumps(dict(record, **{key: value})))
            true("ended/2.json: it is damaged" in place.run(64, verb="report"), key)
        # Labels of nobody's are of no launch here.
        for labels in ({}, {"arm": ["fast"]}, dict(record["labels"], repeat=None), dict(record["labels"], attempt=[1])):
            write(folder.at("ended/2.json"), json.dumps(dict(record, labels=labels)))
            true("1 open" in place.run(2, verb="report"), labels)
        os.unlink(folder.at("ended/2.json"))
        os.mkdir(folder.at("ended/2.json"))
        true("ended/2.json: " in place.run(64, verb="report"), "a folder")
        os.rmdir(folder.at("ended/2.json"))
        os.symlink("/dev/zero", folder.at("ended/2.json"))
        true("ended/2.json: " in place.run(64, verb="report"), "no end")
        os.unlink(folder.at("ended/2.json"))
        write(folder.at("journal"), "x\n")
        true("journal: line 1 is damaged" in place.run(64), "the journal")


@case
def what_goes_to_a_terminal_has_no_letters_that_steer_it():
    with Place() as place:
        folder = place.begin()
        folder.lock.close()
        text = place.run(0, "--json", "/dev/stdout", verb="report")
        true('"reason": "a\\u009b\\u202eb\\udb40\\udc01"' in text, text)
        place.run(0, "--json", place.at("out.json"), verb="report")
        with open(place.at("out.json")) as file:
            equal(json.load(file)["trials"][0]["votes"][0]["reason"], "a\u009b\u202eb\U000e0001")


@case
def a_copy_that_would_be_no_repository_is_refused():
    with Place() as place:
        def git(*arguments):
            subprocess.run(["git", *arguments], check=True, env=dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null"))

        def check(name):
            try:
                check_repository("tasks: one", place.at(name), place.at("e.run"))
            except Wrong as error:
                return "--dissociate" in str(error)
            return False

        def fresh(name):
            shutil.rmtree(place.at(name), ignore_errors=True)
            git("init", "-q", place.at(name))
            return place.at(name, ".git")

        fresh("whole")
        equal(check("whole"), False)
        for name in ("objects", "refs", "config", "HEAD"):
            for absolute in (True, False):
                found = fresh("two")
                shutil.rmtree(os.path.join(found, name), ignore_errors=True)
                if os.path.lexists(os.path.join(found, name)):
                    os.unlink(os.path.join(found, name))
                os.symlink(place.at("whole/.git", name) if absolute else "../../whole/.git/" + name, os.path.join(found, name))
                equal(check("two"), True, name)
        write(os.path.join(fresh("two"), "commondir"), place.at("whole/.git"))
        equal(check("two"), True, "commondir")
        os.rename(fresh("two"), place.at("git"))
        os.symlink(place.at("git"), place.at("two/.git"))
        equal(check("two"), True, ".git")
        # Links that stay inside, and hooks of others, do no harm to a copy.
        found = fresh("two")
        os.unlink(os.path.join(found, "HEAD"))
        write(os.path.join(found, "refs/heads/master"), "")
        os.symlink("refs/heads/master", os.path.join(found, "HEAD"))
        shutil.rmtree(os.path.join(found, "hooks"), ignore_errors=True)
        os.symlink("/usr/share", os.path.join(found, "hooks"))
        equal(check("two"), False)


run_cases()
