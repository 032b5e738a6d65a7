# SPDX-License-Identifier: MIT
"""Runs an Experiment through trialsd's socket until all of it is over.

It keeps nothing in memory that it could not find again. Each launch has a key that says what it is of,
so that to launch twice is to launch once; what became of it trialsd tells, by watch and by list. Where
the connection was lost all is listed anew, and so it is when a scheduler starts that follows one which
was killed: there is one way of going on."""

import sys
import time

import trials
from experiment import Changed, check_same, copy_trees, key_of, labels_of
from results import AGAIN, COUNTED, TOKENS, Results, TokenCount, is_lost_vote, plain, record_of

PROGRAM = "thirdshift"
BATCH = 8  # launched, then what happened meanwhile is looked at
EVENTS = 256  # of all Trials of trialsd, looked at between two launches
PANEL_ARMS = 32  # of one panel_check
PREPARE_SECONDS = 3600  # programs and folders are read as a whole


class PanelRefused(Exception):
    """The lines that say why."""


def say(text, indent=""):
    print(indent + plain(text), flush=True)


def warn(text):
    print("thirdshift: " + plain(text), file=sys.stderr, flush=True)


# --- Beginning ------------------------------------------------------------------------------------


def panel_of(client, patience, bar, arms):
    """{arm: who votes on its results, seat by seat}, or PanelRefused."""
    checked = []
    for at in range(0, len(arms), PANEL_ARMS):
        ids = [arm["id"] for arm in arms[at:at + PANEL_ARMS]]
        checked += client.patiently("panel_check", patience, bar=bar["name"], arms=ids)["arms"]
    refused = [panel for panel in checked if not panel["ok"]]
    if refused:
        raise PanelRefused(["%s: %s" % (panel["name"], panel.get("reason", "refused")) +
                            ("; " + panel["hint"] if panel.get("hint") else "") for panel in refused])
    return {arm["name"]: [voter_of(seat) for seat in panel["seats"]] for arm, panel in zip(arms, checked)}


def voter_of(seat):
    withheld = seat["withheld"]
    return {"seat": seat["seat"], "withheld": withheld, "because": seat.get("because", []),
            "voter": seat.get("stand_in") if withheld else seat["seat"],
            "families": seat.get("stand_in_families" if withheld else "families", [])}


def begin(client, patience, file, folder, bar):
    arms = []
    for spec in file.arms:
        view = client.patiently("arm_prepare", patience, timeout=PREPARE_SECONDS, spec=spec)
        for text in view.get("warnings", []) + ["missing: " + one for one in view.get("missing", [])]:
            warn("Arm %s: %s" % (spec["name"], text))
        arms.append({"name": spec["name"], "id": view["id"], "families": view.get("families", [])})
    voters = panel_of(client, patience, bar, arms) if bar else {}
    if bar:
        bar = {key: value for key, value in bar.items() if key not in ("standard", "existed", "warnings")}
    state = client.patiently("status", patience)["state_folder"]
    return folder.begin(file, arms, bar, voters, trials.text(state))


def plan_of(client, patience, file, folder):
    """What was frozen when it began, which may be now."""
    bar = None
    if file.bar:
        # Also to go on: trialsd knows whether it is still the Bar that was used.
        bar = client.patiently("bar_set", patience, spec=file.bar)
        for text in bar.get("warnings", []):
            warn(text)
    plan = folder.plan()
    if not plan:
        return begin(client, patience, file, folder, bar)
    check_same(file, plan)
    state = trials.text(client.patiently("status", patience)["state_folder"])
    if state != plan["state_folder"]:
        raise Changed("this Experiment is run by the trialsd of %s, and this is that of %s" % (
            plan["state_folder"], state), "name the other one's socket with --socket or TRIALSD_SOCKET")
    if bar and bar["id"] != plan["bar"]["id"]:
        raise Changed("the Bar %s is not the one that this Experiment began with" % bar["name"],
                      "put it back, or give the Experiment and the Bar other names")
    return plan


def load(client, patience, folder, plan):
    """All that is known of its Trials. client: None where trialsd is not to be asked."""
    results = Results(plan)
    for record in folder.ended():
        place = results.place(record)
        if place:
            place[0].take(record, *place[1:])
    labels = {"experiment": plan["name"], "run": plan["run"]}
    for trial in client.pages("list", "trials", patience, labels=labels) if client else ():
        place = results.place(trial)
        if place:
            place[0].take(trial, *place[1:])
    return results


# --- Running --------------------------------------------------------------------------------------


class Scheduler:
    def __init__(self, client, file, folder, plan, attempts, patience):
        self.client, self.folder, self.plan = client, folder, plan
        self.attempts, self.patience, self.delay = attempts, patience, file.retry_seconds
        self.labels = {"experiment": plan["name"], "run": plan["run"]}
        self.results = Results(plan)
        self.away = None  # since when trialsd is
        self.told = set()  # notes, each once

    def run(self):
        for record in self.folder.ended():
            self._take(record, kept=True)
        ended = self.results.ended(self.attempts)
        judged = "" if not self.plan["bar"] else "; Bar %s" % self.plan["bar"]["name"]
        say("Experiment %s (run %s): %d Arms, %d tasks, %d repeats: %d Trials%s; %s" % (
            self.plan["name"], self.plan["run"], len(self.plan["arms"]), len(self.plan["tasks"]),
            self.plan["repeats"], len(self.results.cells), judged, self.folder.path))
        if ended:
            say("It goes on: of its Trials %d have ended." % ended)
        while True:
            try:
                with self.client.watch() as changes:
                    for trial in self.client.pages("list", "trials", self.patience, labels=self.labels):
                        self._take(trial)
                    self.away = None
                    return self._follow(changes)
            except (trials.Gone, trials.NoAnswer, trials.Broken) as error:
                self._wait_for(error)

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
            wait = 0.001 if due else min([60] + [wanted[4] - now for wanted in later])
            for _ in range(EVENTS):
                event = changes.next(max(wait, 0.001))
                if not event:
                    break
                if event["event"] == "state":
                    self._take(event["body"]["trial"])
                wait = 0.001

    def _repository(self, cell, attempt):
        return self.folder.at("repositories", cell.arm, cell.task, "%d.%d" % (cell.repeat, attempt))

    def _launch(self, wanted):
        copy_trees((self.folder.at("tasks", cell.task), self._repository(cell, attempt))
                   for cell, attempt, seat, _, _ in wanted if seat is None)
        for cell, attempt, seat, vote, _ in wanted:
            place = (cell.arm, cell.task, cell.repeat, attempt, seat, vote)
            body = self._trial(cell, attempt) if seat is None else self._grader(cell, seat)
            body.update(key=key_of(self.plan, *place), labels=labels_of(self.plan, *place))
            try:
                trial = self.client.patiently("launch", self.patience, self._refused_for_now, **body)
            except trials.Refused as error:
                if seat is None or error.code in trials.PASSING:
                    raise
                cell.refused[seat] = str(error)
                say("%s: no Grader for seat %s: %s" % (cell, seat, error))
                continue
            for note in trial.get("notes", []):
                if note not in self.told:
                    warn("%s: %s" % (cell, note))
                    self.told.add(note)
            self._take(trial)

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
        if "outcome" not in trial or kept:
            cell.take(trial, attempt, seat, vote)
            return
        known = cell.attempts if seat is None else cell.votes.get(seat, {})
        if known.get(attempt if seat is None else vote, {}).get("outcome"):
            return
        if seat is None and trial["outcome"] in COUNTED:
            trial = dict(trial, tokens=self._tokens(trial))
        trial = record_of(trial)
        self.folder.keep_ended(trial)
        cell.take(trial, attempt, seat, vote)
        self._tell(cell, trial, seat)

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

    def _tell(self, cell, trial, seat):
        what = trial["outcome"]
        if trial.get("cause"):
            what += " (%s)" % trial["cause"]
        if trial["outcome"] in AGAIN:
            what += ": %s" % trial.get("message", "")
        elif "wall_seconds" in trial:
            what += " in %.1f s" % trial["wall_seconds"]
        if seat is None:
            say("[%d/%d] %s: %s" % (self.results.ended(self.attempts), len(self.results.cells), cell, what))
            return
        verdict = trial.get("verdict")
        if verdict:
            what = "votes " + verdict["vote"] + (": " + verdict["reason"] if verdict.get("reason") else "")
        else:
            what = "has no vote: " + what
        say("%s: %s %s" % (cell, seat, what[:300]), "        ")
