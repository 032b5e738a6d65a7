# SPDX-License-Identifier: MIT
"""Runs an Experiment through trialsd's socket until all of it is over.

It keeps nothing in memory that it could not find again. Each launch has a key that says what it is of,
so that to launch twice is to launch once; what became of it trialsd tells, by watch and by list. Where
the connection was lost all is listed anew, and so it is when a scheduler starts that follows one which
was killed: there is one way of going on."""

import os
import re
import textwrap
import time

import trials
from experiment import key_of, labels_of, spoiled
from results import AGAIN, COUNTED, TOKENS, Results, TokenCount, is_from_outside, number_of, plain, pruned, \
    record_of
from terminal import say, warn

BATCH = 8  # launched, then what happened meanwhile is looked at
EVENTS = 256  # of all Trials of trialsd, looked at between two launches
UNSEEN = ("no_result", "sandbox_unavailable")  # why a Grader could not look at the result
QUIET_SECONDS = 60  # then it is looked at what is waited for
REASON_LETTERS = 300  # of a Grader's, on the terminal


def load(client, patience, folder, plan, more=False):
    """All that is known of its Trials. client: None where trialsd is not to be asked."""
    results = Results(plan, more)
    for record in folder.ended():
        place = results.place(record)
        if place:
            place[0].take(record, *place[1:])
    if not client:
        return results
    folder.read_journal()
    labels, listed = {"experiment": plan["name"], "run": plan["run"]}, set()
    for trial in client.pages("list", "trials", patience, labels=labels):
        listed.add(trial.get("key"))
        place = results.place(trial)
        if place:
            place[0].take(trial, *place[1:])
    results.settle(folder.launched, listed)
    return results


# --- Running --------------------------------------------------------------------------------------


class Scheduler:
    def __init__(self, client, file, folder, plan, attempts, patience, more=False):
        """more: somebody asked for so many attempts."""
        self.client, self.folder, self.plan = client, folder, plan
        self.attempts, self.patience, self.delay = attempts, patience, file.retry_seconds
        self.labels = {"experiment": plan["name"], "run": plan["run"]}
        self.results = Results(plan, more)
        self.away = None  # since when trialsd is
        self.told = set()  # notes, each once
        self.hold = None  # what was told of it last

    def run(self, canceled=False):
        """canceled: what somebody did not want until now is launched again."""
        for record in self.folder.ended():
            self._take(record, kept=True)
        self._tell_beginning()
        while True:
            try:
                with self.client.watch() as changes:
                    listed = self._list()
                    self._hear(changes, 0.001)
                    self._settle(listed)
                    self._tell_hold(self.client.patiently("status", self.patience))
                    self.away = None
                    if canceled:
                        canceled = self._want_again()
                    return self._follow(changes)
            except (trials.Gone, trials.NoAnswer, trials.Broken) as error:
                self._wait_for(error)

    def _list(self):
        """The keys of all that trialsd has."""
        listed = set()
        for trial in self.client.pages("list", "trials", self.patience, labels=self.labels):
            listed.add(trial.get("key"))
            self._take(trial)
        return listed

    def _settle(self, listed):
        for cell, trial in self.results.settle(self.folder.launched, listed):
            self._tell_pruned(cell, trial)

    def _tell_pruned(self, cell, trial):
        text = "%s: void, pruned: %s" % (cell, trial["message"])
        if not cell.more:
            text += "; --attempts N launches it once more, on a fresh copy"
        say(text)

    def _want_again(self):
        for cell in self.results.cells.values():
            for known in (cell.attempts, *cell.votes.values()):
                if known and known[max(known)].get("outcome") == "canceled":
                    known[max(known)]["wanted_again"] = True
        return False

    def _tell_beginning(self):
        plan, ended = self.plan, self.results.ended(self.attempts)
        say("Experiment %s (run %s): %s, %s, %s: %s%s; %s" % (
            plan["name"], plan["run"], number_of(len(plan["arms"]), "Arm"),
            number_of(len(plan["tasks"]), "task"), number_of(plan["repeats"], "repeat"),
            number_of(len(self.results.cells), "Trial"),
            "; Bar %s" % plan["bar"]["name"] if plan["bar"] else "", self.folder.path))
        if plan["accepted"]:
            say("It goes on: of its Trials %d have ended. Tasks are as they were when it began: %s" % (
                ended, self.folder.at("tasks")))

    def _wait_for(self, error):
        if self.away is None:
            warn("%s; it is tried again for %d seconds" % (error, self.patience))
            self.away = time.monotonic()
        if time.monotonic() - self.away > self.patience:
            raise error
        time.sleep(0.1)

    def _refused_for_now(self, error):
        if error.code in trials.PASSING:
            warn("trialsd takes nothing now: %s" % error)

    def _follow(self, changes):
        cells = list(self.results.cells.values())
        while True:
            now, due, later = time.time(), [], []
            cells = [cell for cell in cells if not cell.is_over(self.attempts)]
            if not cells:
                return self.results
            for cell in cells:
                for wanted in cell.wanted(self.attempts, self.delay):
                    (due if wanted[3] <= now else later).append((cell, *wanted))
            if due:
                self._launch(due[:BATCH])
            # What has come is looked at at once, else until something comes or is due.
            wait = 0.001 if due else min([QUIET_SECONDS] + [wanted[4] - now for wanted in later])
            self._hear(changes, max(wait, 0.001))
            if wait >= QUIET_SECONDS:
                self._list()

    def _hear(self, changes, wait):
        """What has come, waited for so long."""
        for _ in range(EVENTS):
            event = changes.next(wait)
            if not event:
                break
            if event["event"] == "state":
                self._take(event["body"]["trial"])
            if event["event"] == "queue":
                self._tell_hold(event["body"])
            wait = 0.001

    @staticmethod
    def _copy(cell, attempt):
        """Its name in the folder."""
        return "repositories/%s/%s/%d.%d" % (cell.arm, cell.task, cell.repeat, attempt)

    def _repository(self, cell, attempt):
        return self.folder.at(self._copy(cell, attempt))

    def _has_run(self, cell, attempt):
        """trialsd accepted it when nobody lived to write that down, and it was pruned since."""
        if not self.folder.is_touched(self._copy(cell, attempt), cell.task):
            return False
        trial = pruned(None, {})
        cell.take(trial, attempt)
        self._tell_pruned(cell, trial)
        return True

    def _launch(self, wanted):
        wanted = [one for one in wanted if one[2] or not self._has_run(*one[:2])]
        self.folder.copy((self.folder.at("tasks", cell.task), self._copy(cell, attempt))
                         for cell, attempt, seat, _, _ in wanted if seat is None)
        for cell, attempt, seat, vote, _ in wanted:
            if seat in cell.refused or (seat and cell.spoiled()):
                continue
            place = (cell.arm, cell.task, cell.repeat, attempt, seat, vote)
            body = self._trial(cell, attempt) if seat is None else self._grader(cell, seat)
            body.update(key=key_of(self.plan, *place), labels=labels_of(self.plan, *place))
            try:
                trial = self.client.patiently("launch", self.patience, self._refused_for_now, **body)
            except trials.Refused as error:
                if seat is None or error.code in trials.PASSING:
                    raise
                self._no_grader(cell, seat, error)
                continue
            self.folder.accepted(self.plan)
            for note in trial.get("notes", []):
                self._once("%s: %s" % (cell, note), re.sub(r"[0-9]+", "", note))  # of each Trial the same
            self._take(trial)

    def _once(self, text, note):
        if note not in self.told:
            self.told.add(note)
            warn(text)

    def _no_grader(self, cell, seat, error):
        """In this run. Where the result is gone that is so for every seat."""
        if self._is_spoiled(cell):
            return
        text, seats = str(error), [seat]
        repository = self._repository(cell, max(cell.attempts))
        if error.code == "not_found":
            text = "trialsd has no Trial %d any more, so that it cannot be judged" % cell.trial()["id"]
        if not os.path.isdir(repository):
            text = "its result is gone, and cannot be judged: %s" % repository
        if text != str(error):
            cell.gone = True
            seats = cell.open_seats(self.attempts)
        cell.refused.update(dict.fromkeys(seats, text))
        say("%s: no Grader%s: %s" % (cell, " for seat " + seat if seats == [seat] else "", text))

    def _is_spoiled(self, cell):
        """Once a Grader could not be begun: whether the Trial itself made that so, which is kept."""
        text = spoiled(self._repository(cell, max(cell.attempts)))
        if text and not cell.spoiled():
            trial = cell.counted()
            trial["spoiled"] = text
            self.folder.keep_ended(trial)
            say("%s: its Trial left a result that nobody can look at, which is a fail: %s" % (cell, text))
        return bool(text)

    def _trial(self, cell, attempt):
        arm = next(arm for arm in self.plan["arms"] if arm["name"] == cell.arm)
        body = {"arm": arm["id"], "priority": self.plan["priority"],
                "repository": trials.path(self._repository(cell, attempt)),
                "prompt_file": trials.path(self.folder.at("tasks", cell.task + ".prompt"))}
        if self.plan["limits"]:
            body["limits"] = self.plan["limits"]
        if self.plan["bar"]:
            body["bar"] = self.plan["bar"]["name"]
        return body

    def _grader(self, cell, seat):
        body = {"role": "grader", "of": cell.trial()["id"], "bar": self.plan["bar"]["name"], "seat": seat,
                # What has a result is judged before more is begun.
                "priority": min(self.plan["priority"] + 1, 1000)}
        if self.plan["outputs"]:
            body["outputs"] = True
        if self.plan["grader_limits"]:
            body["limits"] = self.plan["grader_limits"]
        return body

    # --- What became of them ---

    def _take(self, trial, kept=False):
        place = self.results.place(trial)
        if not place:
            return
        cell, attempt, seat, vote = place
        if not kept:
            self.folder.has_launched(trial)
        if "outcome" not in trial or kept:
            cell.take(trial, attempt, seat, vote)
            if trial.get("hold") == "login":  # of this one alone
                reason = trial.get("held_reason", "for its login")
                self._once("%s waits: %s" % (cell, reason), reason)
            return
        known = cell.attempts if seat is None else cell.votes.get(seat, {})
        if known.get(attempt if seat is None else vote, {}).get("outcome"):
            return
        if seat is None and trial["outcome"] in COUNTED:
            trial = dict(trial, tokens=self._tokens(trial))
        trial = record_of(trial)
        self.folder.keep_ended(trial)
        cell.take(trial, attempt, seat, vote)
        self._tell(cell, trial, attempt, seat, vote)
        if seat is not None and cell.counted() and trial.get("cause") in UNSEEN:
            self._is_spoiled(cell)

    def _tokens(self, trial):
        name = (trial.get("harness") or {}).get("name")
        if name not in TOKENS:
            return None
        count = TokenCount(name)
        try:
            for part in self.client.output(trial["id"]):
                count.feed(part) if isinstance(part, bytes) else count.gap()
        except trials.Refused:
            return None
        return count.end()

    def _tell_hold(self, queue):
        """Once, and once when it is over: else nothing would be said for as long as it lasts."""
        text = None
        if queue.get("hold"):
            text = "trialsd starts nothing now: " + queue["hold"]
            text += ": " + queue["held_reason"] if queue.get("held_reason") else ""
            text += " (%s)" % queue["held_by"] if queue.get("held_by") else ""
            if queue["hold"] in ("pause", "drain"):
                text += "; trialctl resume ends it"
        if text != self.hold:
            say(text or "trialsd starts Trials again.")
        self.hold = text

    def _tell(self, cell, trial, attempt, seat, vote):
        launch = attempt if seat is None else vote
        which = "%s %d%s" % ("Trial" if seat is None else "Grader", trial["id"],
                             ", launch %d" % launch if launch > 1 else "")
        if seat is None:
            say("[%d/%d] %s: %s (%s)" % (self.results.ended(self.attempts), len(self.results.cells), cell,
                                         ending_of(trial), which))
        else:
            say("%s: %s %s (%s)" % (cell, seat, vote_of(trial), which), "        ")
        if trial["outcome"] in AGAIN and trial.get("hint") and trial["hint"] not in self.told:
            self.told.add(trial["hint"])
            say("hint: " + trial["hint"], "        ")


def ending_of(trial):
    text = trial["outcome"]
    if trial.get("cause"):
        text += ", " + trial["cause"]
    if trial.get("exit_code"):
        text += ", exit code %d" % trial["exit_code"]
    if trial["outcome"] in AGAIN or is_from_outside(trial):
        return text + ": " + trial.get("message", "")
    return text + (" in %.1f s" % trial["wall_seconds"] if "wall_seconds" in trial else "")


def vote_of(grader):
    verdict = grader.get("verdict")
    if not verdict:
        return "has no vote: " + ending_of(grader)
    reason = textwrap.shorten(plain(verdict.get("reason", "")), REASON_LETTERS, placeholder=" …")
    return "votes " + verdict["vote"] + (": " + reason if reason else "")
