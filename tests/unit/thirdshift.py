#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The parts of contrib/thirdshift that need no trialsd: the experiment file, the folder, what is to be
launched next, decisions, tokens, and what is told at the end."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, name) for name in ("tests", "contrib/python", "contrib/thirdshift")]
import results  # noqa: E402
import scheduler  # noqa: E402
import trials_files  # noqa: E402
from experiment import (Changed, File, Folder, Wrong, check_same, judging_changes, key_of,  # noqa: E402
                        labels_of, notes_on_repository)
from host import write  # noqa: E402
from results import Cell, Results, TokenCount, summary, table  # noqa: E402
from support import case, equal, run_cases, true  # noqa: E402


def git(*arguments):
    subprocess.run(["git", *arguments], check=True, env=dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null"))


def raises(kind, function, *arguments):
    try:
        function(*arguments)
    except kind as error:
        return str(error.args[0])
    raise AssertionError("no %s" % kind.__name__)


class Place:
    """A folder with an experiment file, an Arm and a repository."""

    def __init__(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="e."))
        self.value = {"name": "e", "arms": ["arm.json"], "repeats": 2,
                      "tasks": [{"name": "one", "repository": "one", "prompt": "do é"}]}
        write(self.at("arm.json"), '{"name": "fast", "harness": "ninth"}')
        write(self.at("bar.json"), '{"name": "b", "standard": "s", "seats": [{"harness": "ninth"}]}')
        write(self.at("one/file"), "x")

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def file(self, **changes):
        value = dict(self.value, **changes)
        write(self.at("e.json"), json.dumps({key: one for key, one in value.items() if one is not None}))
        return File(self.at("e.json"))

    def begin(self, folder, file):
        arms = [{"name": arm["name"], "id": "1" * 64, "families": ["none"]} for arm in file.arms]
        return folder.begin(file, arms, None, {}, "/state")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


# --- The file and the folder ----------------------------------------------------------------------


@case
def a_file_is_read():
    with Place() as place:
        write(place.at("task.txt"), b"\xffbytes")
        file = place.file(bar="bar.json", folder="kept", outputs=True, tasks=[
            {"name": "one", "repository": "./one", "prompt_file": "task.txt"},
            {"name": "two", "repository": place.at("one"), "prompt": "do é"}])
        equal(file.arms, [{"name": "fast", "harness": "ninth"}])
        equal([task["prompt"] for task in file.tasks], [b"\xffbytes", "do é".encode()])
        equal([task["repository"] for task in file.tasks], [place.at("one")] * 2)
        equal((file.folder, file.bar["name"], file.repeats, file.attempts), (place.at("kept"), "b", 2, 3))
        equal(place.file().folder, place.at("e.run"))


@case
def what_is_wrong_in_a_file_is_named():
    task = {"name": "one", "repository": "one", "prompt": "do"}
    with Place() as place:
        write(place.at("other.json"), '{"name": "a b", "harness": "ninth"}')
        for changes, words in (
                ({"nam": 1}, '"nam" is no key here'), ({"name": None}, "name: takes"), ({"name": "a/b"}, "name: takes"),
                ({"name": "x" * 41}, "name: takes"), ({"repeats": 0}, "repeats: takes"),
                ({"repeats": True}, "repeats: takes"), ({"attempts": 101}, "attempts: takes"),
                ({"retry_seconds": "x"}, "retry_seconds: takes"), ({"outputs": 1}, "outputs: takes"),
                ({"limits": 1}, "limits: takes"), ({"arms": []}, "arms: takes"), ({"arms": [1]}, "arms: takes"),
                ({"arms": ["gone.json"]}, "gone.json"), ({"arms": ["other.json"]}, "takes a name"),
                ({"arms": ["arm.json", "arm.json"]}, "fast stands there twice"),
                ({"arms": [{"file": "arm.json", "secret": []}]}, '"secret" is no key here'),
                ({"tasks": [task, task]}, "one stands there twice"), ({"tasks": [1]}, "tasks: takes"),
                ({"tasks": [dict(task, name="é")]}, 'the name of number 1, "é": takes'),
                ({"tasks": [dict(task, prompt_file="x")]}, "one of prompt and prompt_file"),
                ({"tasks": [dict(task, prompt=1)]}, "prompt: takes"),
                ({"tasks": [dict(task, repository="")]}, "repository: takes"),
                ({"tasks": [{"name": "one", "repository": "one", "prompt_file": "gone"}]}, "gone"),
                ({"arms": ["fast"]}, "A file is meant here"), ({"bar": "b"}, "trialctl bar set"),
                ({"limits": {"wall": 60}}, '"wall" is no key here'),
                ({"grader_limits": {"memory": "4G"}}, "grader_limits: memory: takes a whole number"),
                ({"bar": "gone.json"}, "gone.json"), ({"bar": 1}, "bar: takes"), ({"folder": 1}, "folder: takes")):
            text = raises(Wrong, lambda changes=changes: place.file(**changes))
            true(words in text, "%s: %s" % (words, text))
        write(place.at("e.json"), '{"name": "e",}')
        true("e.json: not JSON: " in raises(Wrong, File, place.at("e.json")), "what it is not")


@case
def an_experiment_begins_once_and_is_the_same_afterwards():
    with Place() as place:
        folder = Folder(place.at("e.run"))
        folder.take()
        equal(folder.plan(), None)
        plan = place.begin(folder, place.file())
        equal(Folder(folder.path).plan(), plan)
        check_same(place.file(attempts=9, retry_seconds=0), plan, folder.path)
        # The repository is as it was.
        write(place.at("one/file"), "changed")
        with open(folder.at("tasks/one/file")) as kept:
            equal(kept.read(), "x")
        task = place.value["tasks"][0]
        for changes, words in (({"repeats": 3}, "repeats was 2, is 3"), ({"priority": 1}, "priority was 0, is 1"),
                               ({"tasks": [dict(task, prompt="other")]}, "the prompt of one"),
                               ({"tasks": [dict(task, name="two")]}, "tasks was"),
                               ({"limits": {"wall_seconds": 1}}, 'limits was nothing, is {"wall_seconds": 1}')):
            text = raises(Changed, check_same, place.file(**changes), plan, folder.path)
            true(words in text, "%s: %s" % (words, text))
        write(place.at("arm.json"), '{"name": "fast", "harness": "ninth", "model": "m"}')
        equal(raises(Changed, check_same, place.file(), plan, folder.path).split(": ", 1)[1],
              'the Arm fast: model was nothing, is "m"')
        equal(judging_changes(place.file(), plan), [])
        equal(judging_changes(place.file(outputs=True), plan), ["outputs was false, is true"])
        true("the Bar was nothing, is" in judging_changes(place.file(bar="bar.json"), plan)[0], "the Bar")


@case
def values_of_variables_are_not_told():
    with Place() as place:
        folder = Folder(place.at("e.run"))
        folder.take()
        write(place.at("arm.json"), '{"name": "fast", "harness": "ninth", "environment": {"KEY": "secret-1"}}')
        plan = place.begin(folder, place.file())
        write(place.at("arm.json"), '{"name": "fast", "harness": "ninth", "environment": {"KEY": "secret-2"}}')
        text = raises(Changed, check_same, place.file(), plan, folder.path)
        true("the Arm fast: environment" in text and "secret" not in text, text)


@case
def a_folder_is_of_one_name():
    with Place() as place:
        folder = Folder(place.at("kept"))
        folder.take()
        plan = place.begin(folder, place.file(folder="kept"))
        text = raises(Changed, check_same, place.file(name="f", folder="kept"), plan, folder.path)
        true("is of the Experiment e, and" in text and text.endswith("called f"), text)


@case
def where_nothing_was_frozen_nothing_stays():
    with Place() as place:
        folder = Folder(place.at("e.run"))
        folder.take()
        folder.copy([(place.at("one"), "tasks/one")])
        folder.leave()
        true(not os.path.exists(folder.path), "it stays")
        folder = Folder(place.at("e.run"))
        folder.take()
        write(folder.at("repositories/fast/one/1.1/file"), "a result")
        folder.leave()
        true(os.path.exists(folder.at("repositories/fast/one/1.1/file")), "a result is gone")
        folder.lock.close()
        folder.take()
        place.begin(folder, place.file())
        folder.leave()
        true(os.path.exists(folder.at("plan.json")), "the plan is gone")


@case
def a_folder_with_files_of_others_is_left_as_it_is():
    with Place() as place:
        write(place.at("mine/tasks/one/file"), "x")
        true('give "folder" another place' in raises(Wrong, Folder(place.at("mine")).take), "what mends it")
        equal(os.listdir(place.at("mine")), ["tasks"])
        os.mkdir(place.at("empty"))
        Folder(place.at("empty")).take()


@case
def limits_are_those_of_the_protocol():
    with open(os.path.join(TOP, "proto/protocol.h")) as file:
        fields = file.read().split("#define LIMITS_FIELDS(X)")[1].split("\n\n")[0]
    equal(list(trials_files.LIMIT_KEYS), re.findall(r"X\((\w+),", fields))
    for value in ({}, {"wall_seconds": 1.5, "memory": 1 << 40}):
        trials_files.check_limits("limits", value)
    for value in ([], {"wall": 1}, {"memory": "4G"}, {"memory": 1.5}, {"tasks": True}, {"cpu": -1}, {"tmp": None}):
        raises(ValueError, trials_files.check_limits, "limits", value)


@case
def another_experiment_of_the_name_has_other_keys():
    with Place() as place:
        keys = set()
        for path in ("a", "b"):
            folder = Folder(place.at(path))
            folder.take()
            keys.add(key_of(place.begin(folder, place.file()), "fast", "one", 1, 1))
        equal(len(keys), 2, "keys")


@case
def a_plan_that_is_damaged_is_not_gone_on_with():
    with Place() as place:
        folder = Folder(place.at("e.run"))
        folder.take()
        place.begin(folder, place.file())
        for data in (b"", b"{", b"[]", b'{"form": 1}', b"\xff"):
            write(folder.at("plan.json"), data)
            true("plan.json" in raises(Wrong, folder.plan), "which file")
        write(folder.at("ended/7.json"), b"{")
        true("ended/7.json" in raises(Wrong, folder.ended), "which file")


@case
def a_repository_that_is_elsewhere_is_refused():
    with Place() as place:
        folder = Folder(place.at("e.run"))
        folder.take()
        write(place.at("one/.git"), "gitdir: elsewhere")
        true("--dissociate" in raises(Wrong, place.begin, folder, place.file()), "what mends it")
        os.unlink(place.at("one/.git"))
        write(place.at("one/.git/objects/info/alternates"), "elsewhere")
        true("--dissociate" in raises(Wrong, place.begin, folder, place.file()), "what mends it")
        shutil.rmtree(place.at("one"))
        true("one" in raises(Wrong, place.begin, folder, place.file()), "which")
        git("init", "-q", "--bare", place.at("one"))
        true("a bare repository" in raises(Wrong, place.begin, folder, place.file()), "what it is")
        equal(folder.plan(), None)


@case
def a_repository_is_not_copied_into_itself():
    with Place() as place:
        task = [{"name": "one", "repository": ".", "prompt": "do"}]
        folder = Folder(place.at("e.run"))
        folder.take()
        true('give "folder" a place outside' in raises(Wrong, place.begin, folder, place.file(tasks=task)), "what mends it")
        # Beside it, under a name that begins alike, is outside.
        folder = Folder(place.at("one.run"))
        folder.take()
        place.begin(folder, place.file())


@case
def a_link_is_copied_as_what_it_leads_to():
    with Place() as place:
        os.symlink("one", place.at("link"))
        folder = Folder(place.at("e.run"))
        folder.take()
        folder.copy([(place.at("link"), "copies/1.1")])
        equal((os.path.islink(folder.at("copies/1.1")), os.listdir(folder.at("copies/1.1"))), (False, ["file"]))
        os.chmod(place.at("one"), 0o300 if os.geteuid() else 0o700)
        write(place.at("one/unread"), "x", 0)
        if os.geteuid():
            raises(Wrong, folder.copy, [(place.at("link"), "copies/2.1")])
            equal(os.listdir(folder.at("copies")), ["1.1"], "half a copy stays")
            equal(sorted(os.listdir(folder.path)), ["copies", "journal", "lock"], "half a copy stays")
        os.chmod(place.at("one"), 0o700)


@case
def what_may_surprise_about_a_copy_is_told():
    with Place() as place:
        equal(notes_on_repository(place.at("one")), [])
        git("init", "-q", place.folder)
        true("copied without it" in notes_on_repository(place.at("one"))[0], "inside of another")
        git("init", "-q", place.at("one"))
        true("changes that are not committed (1 of its files)" in notes_on_repository(place.at("one"))[0], "untracked")
        git("-C", place.at("one"), "add", ".")
        git("-C", place.at("one"), "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "x")
        equal(notes_on_repository(place.at("one")), [])
        os.symlink("one", place.at("link"))
        equal(notes_on_repository(place.at("link")), [])


@case
def names_that_make_too_long_a_key_are_refused_at_once():
    with Place() as place:
        write(place.at("arm.json"), json.dumps({"name": "a" * 40, "harness": "ninth"}))
        folder = Folder(place.at("e.run"))
        folder.take()
        task = dict(place.value["tasks"][0], name="t" * 40)
        true("too long" in raises(Wrong, place.begin, folder, place.file(name="n" * 40, tasks=[task])), "")
        equal(folder.plan(), None)


# --- What comes next ------------------------------------------------------------------------------

BAR = {"name": "b", "id": "abcdefgh12345678", "votes": 2, "seats": [{"name": "s1", "families": ["fs1"]}, {"name": "s2"}]}


def plan_with(seats=("s1", "s2", "s3"), repeats=1):
    voters = [{"seat": seat, "voter": seat, "withheld": False, "because": [], "families": ["f" + seat]}
              for seat in seats]
    return {"name": "e", "run": "12345678", "begun_at": 1, "repeats": repeats, "tasks": ["one"],
            "arms": [{"name": "fast", "id": "1", "families": ["openai"]}], "bar": BAR if seats else None,
            "voters": {"fast": voters} if seats else {}}


def ended(outcome, **more):
    return dict({"id": 1, "outcome": outcome, "ended_at": 5000000}, **more)


def vote(word):
    return ended("delivered", verdict={"vote": word})


def cell_of(*attempts, seats=(), votes=None):
    plan = plan_with(seats)
    cell = Cell(plan, "fast", "one", 1)
    for number, trial in enumerate(attempts, 1):
        cell.take(trial, number)
    for seat, graders in (votes or {}).items():
        for number, grader in enumerate(graders, 1):
            cell.take(grader, len(attempts), seat, number)
    return cell


@case
def a_void_trial_is_launched_again_up_to_the_limit():
    running, void = {"id": 1, "state": "running"}, ended("void")
    equal(cell_of().wanted(3, 10), [(1, None, None, 0)])
    equal(cell_of(running).wanted(3, 10), [])
    for outcome in ("void", "interrupted", "lost"):
        equal(cell_of(ended(outcome)).wanted(3, 10), [(2, None, None, 15)], outcome)
    equal(cell_of(void, void, void).wanted(3, 10), [])
    equal(cell_of(void, void, void).wanted(4, 10), [(4, None, None, 15)])
    equal(cell_of(void, running).wanted(3, 10), [])
    for outcome in results.COUNTED + ("canceled", "a_word_of_later"):
        equal(cell_of(ended(outcome)).wanted(3, 10), [], outcome)
    for attempts, over in (((), False), ((running,), False), ((void,), False), ((void, void, void), True),
                           ((ended("failed"),), True), ((ended("canceled"),), True), ((void, running), False)):
        equal(cell_of(*attempts).is_over(3), over, attempts)


@case
def each_seat_votes_and_is_asked_again_up_to_the_limit():
    done, running, lost = ended("delivered"), {"id": 2, "state": "queued"}, ended("void", cause="no_verdict")
    seats = ("s1", "s2")
    equal(cell_of(done, seats=seats).wanted(2, 0), [(1, "s1", 1, 0), (1, "s2", 1, 0)])
    equal(cell_of(ended("void"), done, seats=("s1",)).wanted(2, 0), [(2, "s1", 1, 0)])
    for outcome in ("void", "canceled", "lost"):
        true(all(one[1] is None for one in cell_of(ended(outcome), seats=seats).wanted(2, 0)), outcome)
    equal(cell_of(done, seats=seats, votes={"s1": [running], "s2": [lost]}).wanted(2, 1), [(1, "s2", 2, 6)])
    equal(cell_of(done, seats=seats, votes={"s1": [ended("failed")], "s2": [lost, lost]}).wanted(2, 0),
          [(1, "s1", 2, 5)])
    equal(cell_of(done, seats=("s1",), votes={"s1": [ended("canceled")]}).wanted(2, 0), [])
    for votes, over in (({}, False), ({"s1": [vote("pass")]}, False),
                        ({"s1": [vote("pass")], "s2": [vote("fail")]}, True),
                        ({"s1": [vote("pass")], "s2": [lost]}, False),
                        ({"s1": [vote("pass")], "s2": [lost, lost]}, True),
                        ({"s1": [vote("pass")], "s2": [lost, running]}, False)):
        equal(cell_of(done, seats=seats, votes=votes).is_over(2), over, votes)
    cell = cell_of(done, seats=seats, votes={"s1": [vote("pass")]})
    cell.refused["s2"] = "no"
    equal((cell.wanted(2, 0), cell.is_over(2)), ([], True))


@case
def what_was_canceled_is_launched_again_where_it_is_wanted():
    again = ended("canceled", wanted_again=True)
    equal(cell_of(again).wanted(1, 0), [(2, None, None, 5)], "whatever the limit is")
    equal(cell_of(again).is_over(1), False)
    equal(cell_of(again, ended("canceled")).wanted(9, 0), [], "canceled once more")
    cell = cell_of(ended("delivered"), seats=("s1",), votes={"s1": [again]})
    equal((cell.wanted(1, 0), cell.decision(1)), ([(1, "s1", 2, 5)], "open"))


@case
def what_has_ended_stays_as_it_ended():
    cell = cell_of(ended("failed"))
    equal(cell.take({"id": 1, "state": "running"}, 1), False)
    equal(cell.take(ended("delivered"), 1), False)
    equal(cell.trial()["outcome"], "failed")


@case
def so_many_agreeing_votes_decide():
    lost = ended("void")
    for words, decision in ((("pass", "pass", "pass"), "pass"), (("pass", "fail", "pass"), "pass"),
                            (("fail", "fail", "pass"), "fail"), (("pass", "fail", None), "undecided"),
                            (("pass", None, None), "undecided"), ((None, None, None), "undecided"),
                            (("fail", "fail", None), "fail")):
        votes = {"s%d" % number: [vote(word) if word else lost] for number, word in enumerate(words, 1)}
        equal(cell_of(ended("failed"), seats=("s1", "s2", "s3"), votes=votes).decision(1), decision, words)
    equal(cell_of(ended("void"), seats=("s1",)).decision(1), None)
    equal(cell_of(ended("delivered")).decision(1), None)
    for grader in (None, {"id": 2, "state": "running"}, lost):
        waits = cell_of(ended("delivered"), seats=("s1", "s2"), votes={
            "s1": [vote("pass")], "s2": [grader] if grader else []})
        equal(waits.decision(2), "open", grader)
    both = cell_of(ended("delivered"), seats=("s1", "s2"), votes={"s1": [vote("pass")], "s2": [vote("fail")]})
    both.plan = dict(both.plan, bar=dict(BAR, votes=1))
    equal(both.decision(1), "undecided")


@case
def votes_that_agree_are_of_so_many_families():
    for families, words, decision in (
            (("red", "red", "blue"), ("pass", "pass", "fail"), "undecided"),
            (("red", "red", "blue"), ("pass", "pass", None), "undecided"),
            (("red", "red", "blue"), ("fail", "fail", "pass"), "undecided"),
            (("red", "red", "blue"), ("pass", "fail", "pass"), "pass"),
            (("red", "red", "blue"), ("pass", "pass", "pass"), "pass"),
            (("red", "blue", "blue"), ("fail", "fail", None), "fail")):
        cell = cell_of(ended("delivered"), seats=("s1", "s2", "s3"), votes={
            "s%d" % number: [vote(word) if word else ended("void")] for number, word in enumerate(words, 1)})
        for voter, family in zip(cell.plan["voters"]["fast"], families):
            voter["families"] = [family]
        cell.plan = dict(cell.plan, bar=dict(BAR, votes=2, breadth=2))
        equal(cell.decision(1), decision, (families, words))
        cell.plan = dict(cell.plan, bar=dict(BAR, votes=2, breadth=1))
        equal(cell.decision(1), "undecided" if words == ("pass", "fail", None) else max(
            ("pass", "fail"), key=words.count), words)


@case
def what_trialsd_has_no_more_is_launched_again_only_where_it_is_wanted():
    plan = plan_with(seats=("s1",))

    def launched(*place):
        return {key_of(plan, *place): {"id": 7, "labels": labels_of(plan, *place)}}

    for more, wanted in ((False, []), (True, [(2, None, None, 10)])):
        told = Results(plan, more)
        cell = next(iter(told.cells.values()))
        equal(told.settle(launched("fast", "one", 1, 1), set(launched("fast", "one", 1, 1))), [], "it is listed")
        equal(told.settle(launched("slow", "one", 1, 1), set()), [], "of another")
        settled = told.settle(launched("fast", "one", 1, 1), set())
        equal([(one[0], one[1]["outcome"], one[1]["cause"]) for one in settled], [(cell, "void", "pruned")])
        equal(told.settle(launched("fast", "one", 1, 1), set()), [], "told once")
        equal((cell.wanted(3, 10), cell.is_over(3)), (wanted, not more))
        equal(cell.is_over(1), True)
    told = Results(plan)
    cell = next(iter(told.cells.values()))
    cell.take(ended("failed"), 1)
    equal(told.settle(launched("fast", "one", 1, 1), set()), [], "its outcome was seen")
    equal(len(told.settle(launched("fast", "one", 1, 1, "s1", 1), set())), 1, "a vote")
    equal((cell.wanted(3, 10), cell.decision(3)), ([], "undecided"))
    cell.more = True
    equal(cell.wanted(3, 10), [(1, "s1", 2, 10)])


@case
def a_result_that_its_trial_spoiled_is_a_fail_and_no_seat_is_asked():
    spoiled = ended("delivered", spoiled="it is closed")
    cell = cell_of(spoiled, seats=("s1", "s2"))
    equal((cell.wanted(3, 0), cell.is_over(3), cell.decision(3)), ([], True, "fail"))
    equal(cell_of(spoiled, seats=("s1",), votes={"s1": [{"id": 2, "state": "running"}]}).is_over(3), False)
    both = cell_of(spoiled, seats=("s1", "s2"), votes={"s1": [vote("pass")], "s2": [vote("pass")]})
    equal(both.decision(3), "pass", "they had seen it")
    told = Results(plan_with(("s1", "s2")))
    next(iter(told.cells.values())).take(spoiled, 1)
    value = summary(told, 1)
    true(results.is_complete(value), "it is not complete")
    equal((value["arms"][0]["panel"]["fail"], value["arms"][0]["votes"]["void"], value["arms"][0]["spoiled"]), (1, 0, 1))


@case
def only_trials_of_this_experiment_are_its_own():
    plan = plan_with()
    told = Results(plan)

    def trial(*place, **changes):
        return dict({"key": key_of(plan, *place), "labels": labels_of(plan, *place)}, **changes)

    equal(told.place(trial("fast", "one", 1, 2))[1:], (2, None, None))
    equal(told.place(trial("fast", "one", 1, 2, "s1", 3))[1:], (2, "s1", 3))
    for other in ({}, trial("slow", "one", 1, 1), trial("fast", "two", 1, 1), trial("fast", "one", 2, 1),
                  trial("fast", "one", 1, 1, key="else"),
                  trial("fast", "one", 1, 1, labels={"arm": "fast", "task": "one", "repeat": "x"})):
        equal(told.place(other), None, other)
    # Labels with the key of another: nothing that people write by hand is taken for a launch.
    equal(told.place(trial("fast", "one", 1, 1, labels=labels_of(plan, "fast", "one", 1, 2))), None)


# --- Tokens ---------------------------------------------------------------------------------------

STREAMS = {
    "codex": ((120, 30), [
        {"type": "thread.started"}, {"type": "turn.completed", "usage": {
            "input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 20}},
        {"type": "item.completed", "item": {"text": '{"type": "turn.completed"}'}},
        {"type": "turn.completed", "usage": {"input_tokens": 20, "output_tokens": 10}}]),
    "claude": ((1115, 7), [
        {"type": "assistant", "message": {"usage": {"input_tokens": 9999, "output_tokens": 9999}}},
        {"type": "result", "usage": {"input_tokens": 15, "cache_creation_input_tokens": 100,
                                     "cache_read_input_tokens": 1000, "output_tokens": 7}}]),
    "opencode": ((36, 9), [
        {"type": "step_finish", "part": {"tokens": {"input": 10, "output": 3, "reasoning": 1,
                                                    "cache": {"read": 20, "write": 1}}}},
        {"type": "text", "part": {"tokens": {"input": 5}}},
        {"type": "step_finish", "part": {"tokens": {"input": 5, "output": 5, "reasoning": 0}}}]),
}


@case
def tokens_are_counted_in_whatever_pieces_they_come():
    for name, ((wanted_in, wanted_out), events) in STREAMS.items():
        text = "".join(json.dumps(event) + "\n" for event in events).encode()
        for size in (1, 7, 1000, len(text)):
            for cut in (0, 1):  # without the last line's end, too
                counted = TokenCount(name)
                data = text[:len(text) - cut]
                for at in range(0, len(data), size):
                    counted.feed(data[at:at + size])
                equal(counted.end(), {"input": wanted_in, "output": wanted_out}, name)


@case
def tokens_of_what_real_harnesses_wrote():
    """Three turns of 10 each way: tests/harnesses/vendor.py answered them."""
    for name in results.TOKENS:
        with open(os.path.join(TOP, "tests/data/stream", name + ".jsonl"), "rb") as file:
            counted = TokenCount(name)
            counted.feed(file.read())
        equal(counted.end(), {"input": 30, "output": 30}, name)


@case
def what_is_no_event_is_let_go():
    event = b'{"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}}\n'
    for junk in (b"\xff\xfe\n", b"{\n", b"[1]\n", b"null\n", b'{"type": "turn.completed"}x\n', b"{" * 100000 + b"\n",
                 b'{"a":' * 50000 + b"\n", b"x" * (3 << 20) + event[:-1] + b"\n", b"{" + b" " * (2 << 20) + b"}\n"):
        counted = TokenCount("codex")
        for at in range(0, len(junk), 65536):
            counted.feed(junk[at:at + 65536])
            true(len(counted.line) <= results.LINE_BYTES_MAX + 65536, "it grows")
        equal(counted.tokens, None, junk[:30])
        counted.feed(event)
        equal(counted.end(), {"input": 1, "output": 2}, junk[:30])
    for value in (-1, True, 1.5, "9", None, 1 << 60, [], {}):
        counted = TokenCount("codex")
        counted.feed(json.dumps({"type": "turn.completed", "usage": {"input_tokens": value}}).encode())
        equal(counted.end(), {"input": 0, "output": 0}, value)
    counted = TokenCount("codex")
    counted.feed(event[:20])
    counted.gap()
    counted.feed(event[20:] + event)
    equal(counted.end(), {"input": 1, "output": 2}, "behind a gap")
    equal(TokenCount("claude").end(), None)


# --- What is told ---------------------------------------------------------------------------------


@case
def it_is_told_as_a_table_and_for_programs():
    plan = plan_with(repeats=4)
    plan["voters"]["fast"][1].update(withheld=True, voter="spare", because=["openai"], families=["xai"])
    told = Results(plan)
    cells = list(told.cells.values())
    cells[0].take(ended("delivered", wall_seconds=1.0, tokens={"input": 5, "output": 2}), 1)
    cells[1].take(ended("void", cause="session_unavailable"), 1)
    cells[1].take(ended("timed_out", wall_seconds=4.0, tokens={"input": 1, "output": 1}), 2)
    for number in (1, 2):
        cells[2].take(ended("void", cause="arm_changed"), number)
    for seat, word in (("s1", "pass"), ("spare", "pass"), ("s3", "fail")):
        cells[0].take(vote(word), 1, seat, 1)
        cells[1].take(ended("void", cause="no_verdict") if seat == "s3" else vote("fail"), 2, seat, 1)
    value = summary(told, 2)
    equal(value["over"], False)
    true(not results.is_complete(value), "it is complete")
    arm = value["arms"][0]
    equal((arm["delivered"], arm["timed_out"], arm["void"], arm["unfinished"]), (1, 1, 1, 1))
    equal(arm["void_causes"], {"arm_changed": 1})
    equal(arm["void_launches"], {"arm_changed": 2, "session_unavailable": 1})
    equal((arm["panel"], arm["votes"]), ({"pass": 1, "fail": 0, "undecided": 0, "open": 1},
                                         {"pass": 2, "fail": 3, "void": 0, "open": 1}))
    value = summary(told, 1)
    arm = value["arms"][0]
    equal((arm["panel"], arm["votes"]), ({"pass": 1, "fail": 1, "undecided": 0, "open": 0},
                                         {"pass": 2, "fail": 3, "void": 1, "open": 0}))
    equal((arm["median_seconds"], arm["tokens"]), (2.5, {"input": 6, "output": 3, "trials": 2}))
    equal(list(table(value)), [
        "Arm   families  Trials  delivered  failed  void  pass  fail  undecided         votes  median s  tokens in  out",
        "fast  openai         4          1       1     1     1     1          0  2+ 3- 1 void       2.5          6    3",
        "fast: of those that failed: timed_out 1",
        "fast: void, which counts for nobody: arm_changed 1",
        "fast: launches that were void, in all: arm_changed 2, session_unavailable 1",
        "fast: unfinished: 1",
        "fast: votes that are void: no_verdict 1",
        "fast: the vote of seat s2 is withheld (openai); spare (xai) votes in its place",
        "Bar b: 2 votes that agree decide; s1 (fs1), s2 (no family)"])
    rows = list(results.csv_rows(value))
    equal([len(row) for row in rows], [len(results.COLUMNS)] * 5, "columns")
    first = dict(zip(*rows[:2]))
    equal((first["outcome"], first["decision"], first["pass"], first["input_tokens"], first["votes"]),
          ("delivered", "pass", 2, 5, "s1(fs1)=pass spare(xai)=pass s3(fs3)=fail"))
    equal((first["experiment"], first["run"]), ("e", "12345678"))
    equal(value["trials"][0]["votes"][1]["in_place_of"], "s2")


@case
def what_is_void_is_told_with_what_launches_it_again():
    told = Results(plan_with())
    told.cells["fast", "one", 1].take(ended("void"), 1)
    words = "What is void is launched again, once that is mended, by: run --attempts 2"
    equal(list(table(summary(told, 1)))[-1], words)
    true(words not in list(table(summary(told, 2))), "it is not over")


@case
def what_is_not_over_is_told_as_open():
    told = Results(plan_with(repeats=4))
    cells = list(told.cells.values())
    running = {"id": 9, "state": "held"}
    cells[0].take(ended("delivered"), 1)
    for seat, grader in (("s1", vote("pass")), ("s2", running)):
        cells[0].take(grader, 1, seat, 1)
    cells[1].take(ended("void", cause="lost_disk"), 1)
    cells[2].take(ended("canceled"), 1)
    value = summary(told, 2)
    arm = value["arms"][0]
    equal((arm["void"], arm["canceled"], arm["unfinished"]), (0, 1, 2), "a void one is launched again")
    equal((arm["panel"]["open"], arm["panel"]["undecided"], arm["votes"]),
          (1, 0, {"pass": 1, "fail": 0, "void": 0, "open": 2}))
    equal(value["trials"][0]["decision"], "open")
    lines = list(table(value))
    true("1+ 0- 2 open" in lines[1], lines[1])
    for line in ("fast: unfinished: 2", "fast: votes that are still to come: 2, on 1 result",
                 "fast: canceled: 1 (run --canceled launches them again)"):
        true(line in lines, lines)
    first = dict(zip(*list(results.csv_rows(value))[:2]))
    equal((first["decision"], first["votes"]), ("open", "s1(fs1)=pass s2(fs2)=open s3(fs3)=open"))


@case
def votes_by_another_bar_are_others():
    plan = plan_with()
    other = dict(plan, bar=dict(BAR, id="87654321hgfedcba"))
    grader = {"key": key_of(plan, "fast", "one", 1, 1, "s1", 1), "labels": labels_of(plan, "fast", "one", 1, 1, "s1", 1)}
    true(Results(plan).place(grader), "its own")
    equal(Results(other).place(grader), None)
    equal(Results(dict(plan, bar=None, voters={})).place(grader), None)


@case
def an_ending_is_told_whole():
    message = "no login: " + "x" * 400 + " sign in: trialctl login"
    equal(scheduler.ending_of(ended("void", cause="session_unavailable", message=message)),
          "void, session_unavailable: " + message)
    equal(scheduler.ending_of(ended("failed", exit_code=3, wall_seconds=0.25)), "failed, exit code 3 in 0.2 s")
    equal(scheduler.ending_of(ended("delivered", exit_code=0)), "delivered")
    equal(scheduler.vote_of(vote("pass")), "votes pass")
    text = scheduler.vote_of(ended("delivered", verdict={"vote": "fail", "reason": "word \n" * 100}))
    true(text.startswith("votes fail: word word") and text.endswith("word …") and len(text) < 320, text)
    equal(scheduler.vote_of(ended("void", cause="no_verdict", message="m")), "has no vote: void, no_verdict: m")


@case
def nothing_of_others_reaches_a_terminal_as_it_is():
    equal(results.plain("a\x1b[31m\nb\u202e\x9bc\t d"), "a [31m b c d")


@case
def the_program_tells_what_is_wrong_with_its_words():
    program = os.path.join(TOP, "contrib/thirdshift/thirdshift")
    with Place() as place:
        place.file()
        for words, status, text in (([], 64, "required"), (["fly", "x"], 64, "invalid choice"),
                                    (["run", place.at("gone.json")], 64, "gone.json"),
                                    (["run", place.at("e.json"), "--attempts", "0"], 64, "--attempts"),
                                    (["run", place.at("e.json"), "--socket", place.at("none"), "--patience", "0"], 69,
                                     "no trialsd listens"),
                                    (["report", place.at("e.json")], 64, "has not begun"), (["--help"], 0, "exit statuses")):
            done = subprocess.run([sys.executable, program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False, timeout=60)
            equal(done.returncode, status, "%s: %s" % (words, done.stdout))
            true(text in done.stdout and "Traceback" not in done.stdout, done.stdout)


run_cases()
