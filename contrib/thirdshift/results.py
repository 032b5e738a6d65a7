# SPDX-License-Identifier: MIT
"""What is known of an Experiment's Trials and Graders, and what it comes to. Nothing here talks to
trialsd or to the disk.

A Cell is one Trial that is wanted: an Arm, a task and the number of the repeat. It is launched until
trialsd tells an outcome that speaks of the Arm, up to a limit; then each seat of the Panel judges the
result, and a Grader without a verdict is launched again in the same way."""

import json
import re
import statistics

from experiment import key_of

# What an Arm is answerable for; whatever the result is, it is there to be judged.
COUNTED = ("delivered", "failed", "timed_out", "stalled", "out_of_memory")
# What speaks of nobody: another launch may do better. A canceled one somebody did not want, until they
# ask for another.
AGAIN = ("void", "interrupted", "lost")
ATTEMPTS_MAX = 100
OUTSIDE = "ended_from_outside"  # likewise: trialsd tells it by who ended a failed one
PRUNED = "pruned"  # a cause of thirdshift's own: trialsd has it no more, and its end was not seen
KEPT = ("id", "uuid", "key", "role", "labels", "arm", "arm_name", "submitted_at", "started_at", "ended_at",
        "wall_seconds", "cpu_seconds", "memory_peak", "outcome", "cause", "ended_by", "message", "hint",
        "exit_code", "exit_signal", "commit", "families", "verdict", "of", "bar", "seat", "harness",
        "tokens", "spoiled")


def record_of(trial):
    """What is kept of a Trial that has ended."""
    return {key: trial[key] for key in KEPT if key in trial}


def is_from_outside(trial):
    """Somebody ended its sandbox: no doing of the Trial's own."""
    return trial.get("outcome") == "failed" and trial.get("ended_by") == "outside"


def cause_of(trial):
    return OUTSIDE if is_from_outside(trial) else trial.get("cause", trial.get("outcome"))


class Cell:
    def __init__(self, plan, arm, task, repeat):
        self.plan, self.arm, self.task, self.repeat = plan, arm, task, repeat
        self.attempts = {}  # number: Trial
        self.voters = [voter["voter"] for voter in plan["voters"].get(arm, []) if voter["voter"]]
        self.votes = {seat: {} for seat in self.voters}  # of the Trial that counts. number: Grader
        self.refused = {}  # seat: why trialsd takes no Grader for it
        self.gone = False  # its result, or all that trialsd had of it: nobody can judge it any more
        self.more = False  # somebody asked for so many attempts

    def __str__(self):
        return "%s, %s, %d" % (self.arm, self.task, self.repeat)

    def trial(self):
        """The last attempt, or None."""
        return self.attempts[max(self.attempts)] if self.attempts else None

    def counted(self):
        trial = self.trial()
        return trial if trial and trial.get("outcome") in COUNTED and not self.says_nothing(trial) else None

    def says_nothing(self, trial):
        """Of its Arm. What was judged by an earlier thirdshift, which knew of no end from outside, stays."""
        return trial.get("outcome") in AGAIN or (is_from_outside(trial) and not self.is_asked(trial))

    def is_asked(self, trial):
        """Whether a vote on this launch was asked for."""
        attempt = trial["labels"]["attempt"]
        return any(grader["labels"]["attempt"] == attempt for votes in self.votes.values()
                   for grader in votes.values())

    def take(self, trial, attempt, seat=None, vote=None):
        """Whether it is news."""
        known = self.attempts if seat is None else self.votes.setdefault(seat, {})
        number = attempt if seat is None else vote
        if known.get(number, {}).get("outcome"):
            return False
        known[number] = trial
        return True

    def grader(self, seat):
        votes = self.votes[seat]
        return votes[max(votes)] if votes else None

    def is_open(self, limit):
        """Its Trial runs, or will be launched, for the first time or again."""
        trial = self.trial()
        if not trial or "outcome" not in trial or trial.get("wanted_again"):
            return True
        return self.says_nothing(trial) and self.may_repeat(trial) and max(self.attempts) < limit

    def may_repeat(self, trial):
        """It may have done all that it was launched for: another one is somebody's decision."""
        return trial.get("cause") != PRUNED or self.more

    def spoiled(self):
        """What its Trial did, so that nobody can look at the result; or None."""
        return (self.counted() or {}).get("spoiled")

    def seat_is_open(self, seat, limit):
        """Its vote may still come."""
        grader = self.grader(seat)
        if grader and "outcome" not in grader:
            return True
        return seat not in self.refused and not self.spoiled() and (
            not grader or grader.get("wanted_again", False) or
            (is_lost_vote(grader) and self.may_repeat(grader) and max(self.votes[seat]) < limit))

    def open_seats(self, limit):
        return [seat for seat in self.voters if self.counted() and self.seat_is_open(seat, limit)]

    def wanted(self, limit, delay):
        """[(attempt, seat or None, number of the vote or None, the time from when on)], to be launched."""
        trial = self.trial()
        if not trial:
            return [(1, None, None, 0)]
        attempt = max(self.attempts)
        if self.is_open(limit):
            return [(attempt + 1, None, None, after(trial, delay))] if "outcome" in trial else []
        wanted = []
        for seat in self.open_seats(limit):
            grader = self.grader(seat)
            if not grader:
                wanted.append((attempt, seat, 1, 0))
            elif "outcome" in grader:
                wanted.append((attempt, seat, max(self.votes[seat]) + 1, after(grader, delay)))
        return wanted

    def is_over(self, limit):
        """Nothing runs, and nothing more will be launched."""
        return not self.is_open(limit) and not self.open_seats(limit)

    def may_still_vote(self, seat, canceled):
        """Somebody's decision would have its vote cast: --canceled, or further --attempts."""
        outcome = (self.grader(seat) or {}).get("outcome")
        return not self.gone and not self.spoiled() and (outcome == "canceled") == canceled

    def verdicts(self):
        """{seat: verdict}, of those that said one."""
        graders = {seat: self.grader(seat) for seat in self.voters}
        return {seat: grader["verdict"] for seat, grader in graders.items()
                if grader and grader.get("verdict")}

    def decision(self, limit):
        """pass, fail, undecided; open while votes may come; None where nothing was judged."""
        if not self.plan["bar"] or not self.counted():
            return None
        if self.open_seats(limit):
            return "open"
        decided = [vote for vote in ("pass", "fail") if self.decides(vote)]
        if not decided and self.spoiled():
            return "fail"
        return decided[0] if len(decided) == 1 else "undecided"

    def decides(self, vote):
        """Whether so many say so, and of so many families, as the Bar asks for."""
        bar, verdicts = self.plan["bar"], self.verdicts()
        seats = [seat for seat in verdicts if verdicts[seat]["vote"] == vote]
        families = {family for voter in self.plan["voters"][self.arm] if voter["voter"] in seats
                    for family in voter["families"]}
        return len(seats) >= bar["votes"] and len(families) >= bar.get("breadth", 0)


def pruned(number, more):
    which = "its Trial" if number is None else "Trial %d" % number
    return dict(more, id=number, outcome="void", cause=PRUNED,
                message="trialsd has no longer %s: it was pruned before it was seen how it ended" % which)


def is_lost_vote(grader):
    return "outcome" in grader and "verdict" not in grader and grader["outcome"] != "canceled"


def after(trial, delay):
    return trial.get("ended_at", 0) / 1e6 + delay


class Results:
    def __init__(self, plan, more=False):
        """more: somebody asked for so many attempts."""
        self.plan = plan
        # All Arms have their turn early, whatever ends the Experiment too soon.
        self.cells = {(arm["name"], task, repeat): Cell(plan, arm["name"], task, repeat)
                      for repeat in range(1, plan["repeats"] + 1) for task in plan["tasks"]
                      for arm in plan["arms"]}

        for cell in self.cells.values():
            cell.more = more

    def settle(self, launched, listed):
        """What was launched, and trialsd lists no more. [(cell, what is told of it)]

        listed: keys, of a list that was begun after the last of the launches."""
        settled = []
        for key, told in launched.items():
            place = self.place(dict(told, key=key))
            if not place or key in listed:
                continue
            cell, attempt, seat, vote = place
            known = cell.attempts if seat is None else cell.votes.get(seat, {})
            if not known.get(attempt if seat is None else vote, {}).get("outcome"):
                trial = pruned(told["id"], dict(told, key=key))
                cell.take(trial, attempt, seat, vote)
                settled.append((cell, trial))
        return settled

    def place(self, trial):
        """(cell, attempt, seat, vote) of a Trial of this Experiment, or None."""
        labels = trial.get("labels") or {}
        try:
            cell = self.cells[labels["arm"], labels["task"], int(labels["repeat"])]
            place = (int(labels["attempt"]), labels.get("seat"),
                     int(labels["vote"]) if "seat" in labels else None)
            key = key_of(self.plan, cell.arm, cell.task, cell.repeat, *place)
        except (KeyError, TypeError, ValueError):
            return None
        return (cell, *place) if trial.get("key") == key else None

    def ended(self, limit):
        """How many Trials have ended and are not launched again."""
        return sum(not cell.is_open(limit) for cell in self.cells.values())


# --- Tokens ---------------------------------------------------------------------------------------


def number_at(value, *keys):
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def codex_tokens(event):
    """Each turn tells its own; what came from the cache is part of the input."""
    if event.get("type") == "turn.completed":
        usage = event.get("usage")
        return number_at(usage, "input_tokens"), number_at(usage, "output_tokens"), True
    return None


def claude_tokens(event):
    """The last result tells all; what came from the cache, or went there, is told beside the input."""
    if event.get("type") == "result" and isinstance(event.get("usage"), dict):
        usage = event["usage"]
        cached = sum(number_at(usage, key) for key in ("cache_creation_input_tokens",
                                                       "cache_read_input_tokens"))
        return number_at(usage, "input_tokens") + cached, number_at(usage, "output_tokens"), False
    return None


def opencode_tokens(event):
    """Each step tells its own."""
    if event.get("type") == "step_finish" and isinstance(event.get("part"), dict):
        tokens = event["part"].get("tokens")
        cached = number_at(tokens, "cache", "read") + number_at(tokens, "cache", "write")
        return (number_at(tokens, "input") + cached,
                number_at(tokens, "output") + number_at(tokens, "reasoning"), True)
    return None


# Grok tells as Claude Code does; Kimi tells nothing.
TOKENS = {"codex": codex_tokens, "claude": claude_tokens, "grok": claude_tokens, "opencode": opencode_tokens}
LINE_BYTES_MAX = 1 << 20


class TokenCount:
    """Of a Harness's own stream, as it is fed. What is no event of its, or too long, is let go."""

    def __init__(self, harness):
        self.read = TOKENS[harness]
        self.line = b""
        self.too_long = False
        self.tokens = None

    def feed(self, data):
        *lines, rest = (self.line + data).split(b"\n")
        for line in lines:
            if not self.too_long:
                self._take(line)
            self.too_long = False
        self.too_long = self.too_long or len(rest) > LINE_BYTES_MAX
        self.line = b"" if self.too_long else rest

    def gap(self):
        self.line, self.too_long = b"", True

    def end(self):
        """{"input", "output"} or None."""
        if not self.too_long:
            self._take(self.line)
        return self.tokens

    def _take(self, line):
        if not line.startswith(b"{"):
            return
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        found = self.read(event)
        if not found:
            return
        before = self.tokens if self.tokens and found[2] else {"input": 0, "output": 0}
        self.tokens = {"input": before["input"] + found[0], "output": before["output"] + found[1]}


# --- What it comes to -----------------------------------------------------------------------------


def count(words):
    return {word: words.count(word) for word in sorted(set(words))}


def arm_summary(plan, arm, cells, limit):
    trials = [cell.counted() for cell in cells if cell.counted()]
    last = [cell.trial() for cell in cells if not cell.is_open(limit)]
    causes = [cause_of(trial) for cell in cells for trial in cell.attempts.values()
              if cell.says_nothing(trial)]
    stayed = [cause_of(cell.trial()) for cell in cells
              if not cell.is_open(limit) and cell.says_nothing(cell.trial())]
    seconds = [trial["wall_seconds"] for trial in trials if "wall_seconds" in trial]
    tokens = [trial["tokens"] for trial in trials if trial.get("tokens")]
    summary = {"name": arm["name"], "id": arm["id"], "families": arm["families"], "trials": len(cells)}
    summary.update({outcome: sum(trial["outcome"] == outcome for trial in trials) for outcome in COUNTED})
    summary.update(
        canceled=sum(trial["outcome"] == "canceled" for trial in last),
        void=len(stayed), void_causes=count(stayed), void_launches=count(causes),
        unfinished=len(cells) - len(last),
        median_seconds=round(statistics.median(seconds), 3) if seconds else None,
        tokens={"input": sum(one["input"] for one in tokens), "output": sum(one["output"] for one in tokens),
                "trials": len(tokens)} if tokens else None)
    if plan["bar"]:
        summary.update(panel_summary([cell for cell in cells if cell.counted()], limit),
                       spoiled=sum(bool(cell.spoiled()) for cell in cells),
                       panel_seats=plan["voters"][arm["name"]])
    return summary


def panel_summary(cells, limit):
    """How the Panel decided, the votes, and what the void ones are void for."""
    decisions = [cell.decision(limit) for cell in cells]
    words, causes, again = [], [], {True: 0, False: 0}
    for cell in cells:
        verdicts, still_open = cell.verdicts(), cell.open_seats(limit)
        for seat in cell.voters:
            if cell.spoiled() and seat not in verdicts:
                continue
            words.append(verdicts[seat]["vote"] if seat in verdicts else
                         "open" if seat in still_open else "void")
            if words[-1] == "void":
                grader = cell.grader(seat)
                causes.append(grader.get("cause", grader["outcome"]) if grader else "refused")
                for canceled in again:
                    again[canceled] += cell.may_still_vote(seat, canceled)
    return {"panel": {word: decisions.count(word) for word in ("pass", "fail", "undecided", "open")},
            "votes": {word: words.count(word) for word in ("pass", "fail", "void", "open")},
            "void_votes": count(causes),
            "void_votes_again": {"attempts": again[False], "canceled": again[True]}}


def vote_row(plan, cell, seat, limit):
    voter = next(one for one in plan["voters"][cell.arm] if one["voter"] == seat)
    grader = cell.grader(seat) or {}
    row = {"seat": seat, "families": voter["families"], "launches": len(cell.votes[seat])}
    if voter["seat"] != seat:
        row["in_place_of"] = voter["seat"]
    row.update({key: grader[key] for key in ("id", "outcome", "cause", "message") if key in grader})
    if seat in cell.refused:
        row["message"] = cell.refused[seat]
    if seat in cell.open_seats(limit):
        row["open"] = True
    row.update(grader.get("verdict") or {})
    return row


def trial_row(plan, cell, limit):
    trial = cell.trial() or {}
    families = next(arm["families"] for arm in plan["arms"] if arm["name"] == cell.arm)
    row = {"arm": cell.arm, "families": trial.get("families", families), "task": cell.task,
           "repeat": cell.repeat, "launches": len(cell.attempts)}
    row.update({key: trial[key] for key in ("id", "outcome", "cause", "message", "exit_code", "exit_signal",
                                            "wall_seconds", "tokens", "spoiled")
                if trial.get(key) is not None})
    if trial and is_from_outside(trial) and cell.says_nothing(trial):
        row["cause"] = OUTSIDE
    if "wall_seconds" in row:
        row["wall_seconds"] = round(row["wall_seconds"], 3)
    if plan["bar"] and cell.counted():
        row["decision"] = cell.decision(limit)
        row["votes"] = [vote_row(plan, cell, seat, limit) for seat in cell.voters]
    return row


def summary(results, limit):
    """All of it, as --json has it."""
    plan = results.plan
    cells = list(results.cells.values())
    return {
        "experiment": plan["name"], "run": plan["run"], "begun_at": plan["begun_at"],
        "attempts": limit, "over": all(cell.is_over(limit) for cell in cells),
        "bar": plan["bar"],
        "arms": [arm_summary(plan, arm, [cell for cell in cells if cell.arm == arm["name"]], limit)
                 for arm in plan["arms"]],
        "trials": [trial_row(plan, cell, limit) for cell in cells]}


def is_complete(told):
    """Every Trial counts, and every seat has voted."""
    return told["over"] and all(arm["void"] == arm["canceled"] == 0 and
                                arm.get("votes", {}).get("void", 0) == 0 for arm in told["arms"])


COLUMNS = ("arm", "families", "task", "repeat", "id", "launches", "outcome", "cause", "exit_code",
           "exit_signal", "wall_seconds", "input_tokens", "output_tokens", "decision", "pass", "fail",
           "without_vote", "votes", "experiment", "run")


def csv_rows(told):
    yield COLUMNS
    for row in told["trials"]:
        votes = row.get("votes", [])
        words = [vote.get("vote", "") for vote in votes]
        row = dict(row, families=" ".join(row["families"]), experiment=told["experiment"], run=told["run"])
        row.update({key + "_tokens": value for key, value in row.pop("tokens", {}).items()})
        if votes:
            row.update({"pass": words.count("pass"), "fail": words.count("fail"),
                        "without_vote": words.count("")})
        row["votes"] = " ".join("%s(%s)=%s" % (
            vote["seat"], "+".join(vote["families"]),
            vote.get("vote", "open" if vote.get("open") else "void")) for vote in votes)
        yield tuple(row.get(column, "") for column in COLUMNS)


def plain(text):
    """Text of others', for a terminal: one line of what can be shown."""
    return re.sub(r"\s+", " ", "".join(letter if letter.isprintable() else " " for letter in text)).strip()


def number_of(count, thing=None):
    """1 Arm, 2 Arms. A number alone is without .0"""
    count = int(count) if int(count) == count else count
    return str(count) if thing is None else "%d %s%s" % (count, thing, "" if count == 1 else "s")


def causes_text(causes):
    return ", ".join("%s %d" % one for one in causes.items())


def table(told):
    """The lines of the final table."""
    judged = told["bar"] is not None
    head = ["Arm", "families", "Trials", "delivered", "failed", "void"]
    head += ["pass", "fail", "undecided", "votes"] if judged else []
    rows = [head + ["median s", "tokens in", "out"]]
    for arm in told["arms"]:
        failed = sum(arm[outcome] for outcome in COUNTED[1:])
        row = [arm["name"], " ".join(arm["families"]) or "-", arm["trials"], arm["delivered"], failed,
               arm["void"]]
        if judged:
            row += [arm["panel"][word] for word in ("pass", "fail", "undecided")]
            row += ["%(pass)d+ %(fail)d-" % arm["votes"] + "".join(
                " %d %s" % (arm["votes"][word], word) for word in ("void", "open") if arm["votes"][word])]
        seconds, tokens = arm["median_seconds"], arm["tokens"]
        row += ["-" if seconds is None else "%.1f" % seconds]
        row += [tokens["input"], tokens["output"]] if tokens else ["-", "-"]
        rows.append([str(cell) for cell in row])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) if at < 2 else cell.rjust(width)
                        for at, (cell, width) in enumerate(zip(row, widths))).rstrip()
    for arm in told["arms"]:
        yield from notes(arm)
    if judged:
        bar = told["bar"]
        yield "Bar %s: %s%s; %s%s" % (
            bar["name"],
            "%d votes that agree decide" % bar["votes"] if bar["votes"] > 1 else "1 vote decides",
            ", of %d families" % bar["breadth"] if bar.get("breadth", 1) > 1 else "",
            ", ".join(map(seat_text, bar["seats"])),
            "; it has its families from an older form" if bar.get("legacy") else "")
    if told["over"] and told["attempts"] < ATTEMPTS_MAX and any(
            arm["void"] or arm.get("void_votes_again", {}).get("attempts") for arm in told["arms"]):
        yield "What is void is launched again, once that is mended, by: run --attempts %d" % min(
            2 * told["attempts"], ATTEMPTS_MAX)


def seat_text(seat):
    return "%s (%s)" % (seat["name"], " ".join(seat.get("families", [])) or "no family")


def notes(arm):
    """What the table has no room for."""
    others = {outcome: arm[outcome] for outcome in COUNTED[2:] if arm[outcome]}
    if others:
        yield "%s: of those that failed: %s" % (arm["name"], causes_text(others))
    if arm["void"]:
        yield "%s: void, which counts for nobody: %s" % (arm["name"], causes_text(arm["void_causes"]))
    if sum(arm["void_launches"].values()) > arm["void"]:
        yield "%s: launches that were void, in all: %s" % (arm["name"], causes_text(arm["void_launches"]))
    if arm["canceled"]:
        yield "%s: canceled: %d (run --canceled launches them again)" % (arm["name"], arm["canceled"])
    if arm["unfinished"]:
        yield "%s: unfinished: %d" % (arm["name"], arm["unfinished"])
    if arm["void_causes"].get(PRUNED):
        yield "%s: pruned before it was seen how they ended: %d (--attempts launches them again)" % (
            arm["name"], arm["void_causes"][PRUNED])
    if arm.get("spoiled"):
        yield "%s: results that their own Trial closed to everybody, each of them a fail: %d" % (
            arm["name"], arm["spoiled"])
    if arm.get("void_votes"):
        yield "%s: votes that are void: %s" % (arm["name"], causes_text(arm["void_votes"]))
    canceled = arm.get("void_votes_again", {}).get("canceled")
    if canceled:
        yield "%s: votes that were canceled: %d (run --canceled launches them again)" % (
            arm["name"], canceled)
    if arm.get("votes", {}).get("open"):
        yield "%s: votes that are still to come: %d, on %s" % (
            arm["name"], arm["votes"]["open"], number_of(arm["panel"]["open"], "result"))
    for seat in arm.get("panel_seats", []):
        if seat["withheld"]:
            yield "%s: the vote of seat %s is withheld (%s); %s" % (
                arm["name"], seat["seat"], " ".join(seat["because"]),
                "%s (%s) votes in its place" % (seat["voter"], " ".join(seat["families"]))
                if seat["voter"] else "nobody votes in its place")
