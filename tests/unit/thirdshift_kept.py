#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The folder that contrib/thirdshift keeps an Experiment in: what it takes for its own, what it makes there,
and that nothing else is ever removed, renamed or written over."""

import contextlib
import json
import os
import shutil
import stat
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, name) for name in ("tests", "contrib/python", "contrib/thirdshift")]
import kept  # noqa: E402
from host import write  # noqa: E402
from kept import Own, Wrong, differs  # noqa: E402
from support import case, equal, run_cases, true  # noqa: E402


def raises(kind, function, *arguments):
    try:
        function(*arguments)
    except kind as error:
        return str(error)
    raise AssertionError("no %s" % kind.__name__)


@contextlib.contextmanager
def place():
    """at(): a path in a folder that is removed afterwards, with a repository in it."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="k."))

    def at(*names):
        return os.path.join(folder, *names)

    write(at("one/file"), "x")
    try:
        yield at
    finally:
        for parent, folders, _ in os.walk(folder):
            for name in folders:
                if not os.path.islink(os.path.join(parent, name)):
                    os.chmod(os.path.join(parent, name), 0o700)
        shutil.rmtree(folder)


def taken(path):
    own = Own(path)
    own.take()
    return own


def everything(folder):
    """{path: what is there}, with the lock's and the journal's text left out."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(parent, name)
            text = None
            if os.path.isfile(path) and not os.path.islink(path) and name not in ("lock", "journal"):
                with open(path, errors="replace") as file:
                    text = file.read()
            found[os.path.relpath(path, folder)] = text
    return found


# --- Whose it is ----------------------------------------------------------------------------------


@case
def a_folder_with_anything_in_it_is_refused_and_stays_as_it_is():
    with place() as at:
        write(at("f/src/.new-important/file"), "mine")
        before = everything(at("f"))
        true("is no folder of an Experiment" in raises(Wrong, taken, at("f")), "why")
        equal(everything(at("f")), before)
        for number, name in enumerate((".hidden", "tasks/greet/file", "plan.json", "journal", "ended/1.json")):
            write(at("g%d" % number, name), "mine")
            raises(Wrong, taken, at("g%d" % number))
            equal(sorted(os.listdir(at("g%d" % number))), [name.split("/")[0]], name)
        write(at("file"), "x")
        true("is no folder" in raises(Wrong, taken, at("file")), "a file")


@case
def a_lock_of_others_is_no_mark():
    with place() as at:
        write(at("a/lock"), "123\n")
        os.makedirs(at("b/lock"))
        os.mkdir(at("c"))
        os.symlink(at("gone"), at("c/lock"))
        os.mkdir(at("d"))
        os.mkfifo(at("d/lock"))
        write(at("e/lock"), "")
        write(at("e/else"), "")
        for name in "abcde":
            true("is no folder of an Experiment" in raises(Wrong, taken, at(name)), name)
        true(not os.path.lexists(at("gone")), "a link was followed")
        with open(at("a/lock")) as file:
            equal(file.read(), "123\n")


@case
def an_empty_folder_becomes_its_own_and_stays_so():
    with place() as at:
        os.mkdir(at("f"))
        first = taken(at("f"))
        raises(BlockingIOError, taken, at("f"))
        first.lock.close()
        equal(taken(at("f")).token, first.token)
        # One that was killed before its mark was written.
        write(at("g/lock"), "")
        true(taken(at("g")).token != first.token, "tokens")


@case
def where_nothing_was_frozen_only_what_was_made_goes():
    with place() as at:
        own = taken(at("new"))
        own.copy([(at("one"), "tasks/one")])
        own.write("tasks/one.prompt", b"do", told=True)
        own.leave()
        true(not os.path.lexists(at("new")), "it stays")
        os.mkdir(at("given"))
        taken(at("given")).leave()
        equal(os.listdir(at("given")), [])
        own = taken(at("mixed"))
        own.copy([(at("one"), "tasks/one")])
        write(own.at("tasks/mine"), "mine")
        write(own.at("notes"), "mine")
        own.leave()
        equal({name for name in everything(own.path) if name not in ("lock", "journal")}, {"tasks", "tasks/mine", "notes"})
        own = taken(at("frozen"))
        own.copy([(at("one"), "tasks/one")])
        own.write("plan.json", b"{}")
        own.leave()
        equal(sorted(os.listdir(own.path)), ["journal", "lock", "plan.json", "tasks"])


@case
def a_lock_that_was_left_is_not_held():
    with place() as at:
        def late(lock, how):
            # Who has it leaves between the opening and the locking.
            os.unlink(at("f/lock"))
            flock(lock, how)

        flock = kept.fcntl.flock
        taken(at("f")).lock.close()
        kept.fcntl.flock = late
        try:
            raises(BlockingIOError, taken, at("f"))
        finally:
            kept.fcntl.flock = flock


# --- What it makes and removes --------------------------------------------------------------------


@case
def half_a_copy_is_never_taken_for_whole():
    with place() as at:
        own = taken(at("f"))
        ours, others = ".new-%s-1" % own.token, ".new-%s-1" % ("0" * 16)
        for name in (ours, others, "tasks/" + ours, "repositories/a/one/.new-x", "repositories/a/one/1.1/" + ours):
            write(own.at(name, "closed/half"), "x")
            os.chmod(own.at(name, "closed"), 0o000)
        write(own.at(".new-%s-2" % own.token), "x")
        write(at("outside"), "x")
        os.symlink(at("outside"), own.at(".new-%s-3" % own.token))
        os.symlink(at("one"), own.at(ours, "link"))
        own.lock.close()
        own.take()
        left = sorted(name for name in everything(own.path) if os.path.basename(name).startswith(".new-"))
        equal(left, sorted([others, "tasks/" + ours, "repositories/a/one/.new-x", "repositories/a/one/1.1/" + ours]))
        true(os.path.exists(at("one/file")) and os.path.exists(at("outside")), "a link was followed")


@case
def a_copy_has_all_and_is_made_once():
    with place() as at:
        write(at("one/run"), "x", 0o755)
        write(at("one/-f"), "x")
        os.symlink("nowhere", at("one/link"))
        os.mkdir(at("one/closed"), 0o555)
        os.chmod(at("one"), 0o555)
        own = taken(at("f"))
        source, target = at("one"), own.at("copies/a/1.1")
        own.copy([(source, "copies/a/1.1")])
        equal(sorted(os.listdir(target)), sorted(os.listdir(source)))
        equal(os.readlink(target + "/link"), "nowhere")
        equal(stat.S_IMODE(os.stat(target).st_mode), 0o555)
        equal(stat.S_IMODE(os.stat(target + "/run").st_mode), 0o755)
        true(os.stat(target + "/file").st_ino != os.stat(source + "/file").st_ino, "it is the same file")
        write(target + "/file", "of the Trial")
        own.lock.close()
        own = taken(own.path)  # another process
        own.copy([(source, "copies/a/1.1")])
        with open(target + "/file") as file:
            equal(file.read(), "of the Trial")
        text = raises(Wrong, own.copy, [(source, "copies/a/3.1"), (at("gone"), "copies/a/2.1")])
        true(at("gone") in text and "/proc" not in text, text)
        equal(sorted(os.listdir(own.path)), ["copies", "journal", "lock"], "half a copy stays")
        equal(os.listdir(own.at("copies/a")), ["1.1"])


@case
def what_is_in_the_way_is_not_taken_for_a_copy():
    with place() as at:
        own = taken(at("f"))
        write(own.at("copies/1.1/mine"), "mine")
        os.symlink(at("one"), own.at("copies/2.1"))
        os.symlink(at("one"), own.at("linked"))
        write(own.at("tasks/one.prompt"), "mine")
        before = everything(own.path)
        for name in ("copies/1.1", "copies/2.1"):
            true("thirdshift did not make it" in raises(Wrong, own.copy, [(at("one"), name)]), name)
        true("is to be a folder" in raises(Wrong, own.copy, [(at("one"), "linked/1.1")]), "a link")
        true("thirdshift did not make it" in raises(Wrong, own.write, "tasks/one.prompt", b"do", True), "a file")
        equal(everything(own.path), before)
        equal(os.listdir(at("one")), ["file"])


@case
def what_was_made_is_removed_and_nothing_in_its_place():
    with place() as at:
        own = taken(at("f"))
        own.copy([(at("one"), "tasks/one"), (at("one"), "tasks/two"), (at("one"), "tasks/three")])
        own.write("tasks/one.prompt", b"do", told=True)
        own.write("tasks/two.prompt", b"do", told=True)
        # Others under the names that it had given; and moved away, so that its number is not given again.
        for name in ("tasks/two", "tasks/two.prompt", "tasks/three"):
            os.rename(own.at(name), at(name.replace("/", "-")))
        write(own.at("tasks/two/mine"), "mine")
        write(own.at("tasks/two.prompt"), "mine")
        os.symlink(at("tasks-three"), own.at("tasks/three"))
        own.lock.close()
        own = taken(own.path)
        own.discard()
        equal(sorted(os.listdir(own.at("tasks"))), ["three", "two", "two.prompt"])
        equal(os.listdir(own.at("tasks/two")), ["mine"])
        equal(os.listdir(at("tasks-three")), ["file"])
        true(os.path.islink(own.at("tasks/three")), "a link is gone")


# --- The journal ----------------------------------------------------------------------------------


@case
def what_was_launched_is_known_afterwards():
    with place() as at:
        own = taken(at("f"))
        trial = {"key": "a/b", "id": 7, "labels": {"arm": "a"}, "state": "held"}
        own.has_launched(trial)
        size = os.path.getsize(own.at("journal"))
        own.has_launched(dict(trial, state="running"))
        equal(os.path.getsize(own.at("journal")), size, "told twice")
        # What a killed one did not write to its end was not told, and what follows is whole.
        with open(own.at("journal"), "ab") as file:
            file.write(b'{"launched": "a/c", "id": 8')
        reader = Own(own.path)
        reader.read_journal()
        equal(reader.launched, {"a/b": {"id": 7, "labels": {"arm": "a"}}})
        own.lock.close()
        own = taken(own.path)
        own.has_launched(dict(trial, key="a/d"))
        own.lock.close()
        equal(list(taken(own.path).launched), ["a/b", "a/d"])
        nobody = Own(at("gone"))
        nobody.read_journal()
        equal(nobody.launched, {})


@case
def a_damaged_journal_is_told():
    with place() as at:
        taken(at("f")).lock.close()
        for text in ("x", "[]", "5", "{}", '{"copy": 5, "inode": 1}', '{"copy": "a"}', '{"copy": "a", "inode": "1"}',
                     '{"launched": "a", "id": 1}', '{"launched": "a", "id": 1, "labels": []}', "[" * 100000, '"\\ud800"',
                     '{"gone": ["a"]}', "\0"):
            write(at("f/journal"), text + "\n")
            true("journal: line 1 is damaged" in raises(Wrong, taken, at("f")), text[:40])
            true("journal: line 1 is damaged" in raises(Wrong, Own(at("f")).read_journal), text[:40])
        os.unlink(at("f/journal"))
        os.symlink("/dev/zero", at("f/journal"))
        true("journal" in raises(Wrong, taken, at("f")), "a device")
        true("no journal" in raises(Wrong, Own(at("f")).read_journal), "a device")


@case
def a_copy_that_somebody_worked_in_is_told_apart():
    with place() as at:
        os.makedirs(at("one/sub/deep"))
        os.symlink("file", at("one/link"))
        own = taken(at("f"))
        number = 0

        def after(change):
            nonlocal number
            number += 1
            name = "copies/%d" % number
            own.copy([(at("one"), name)])
            equal(differs(own.at(name), at("one")), False)
            change(own.at(name))
            return differs(own.at(name), at("one"))

        def relink(path):
            os.unlink(path + "/link")
            os.symlink("else", path + "/link")

        for change in (lambda path: write(path + "/new", "x"), lambda path: write(path + "/file", "y"),
                       lambda path: os.unlink(path + "/file"), lambda path: os.chmod(path + "/sub/deep", 0o500), relink,
                       lambda path: write(path + "/sub/deep/new", "x"), lambda path: os.rmdir(path + "/sub/deep"),
                       shutil.rmtree):
            equal(after(change), True)
        equal(after(lambda path: os.listdir(path)), False)


run_cases()
