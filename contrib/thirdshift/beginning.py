# SPDX-License-Identifier: MIT
"""Before the first launch, and before those of a later run: everything that can be known then is looked
at, so that nobody pays for Trials that cannot be compared or judged."""

import json

import trials
from experiment import Changed, check_same, judging_changes, notes_on_repository, to_json
from results import number_of
from seats import Finder, as_begun, with_arms
from terminal import say, warn

PANEL_ARMS = 32  # of one panel_check
PREPARE_SECONDS = 3600  # programs and folders are read as a whole
OF_THE_MOMENT = ("standard", "existed", "used", "used_at", "warnings")  # of a Bar, and not kept


class NotBegun(Exception):
    """What stands in the way of the first Trial, line by line."""


def panel_of(client, patience, bar, arms):
    """{arm: who votes on its results, seat by seat}, or NotBegun."""
    checked, warnings = [], []
    for at in range(0, len(arms), PANEL_ARMS):
        ids = [arm["id"] for arm in arms[at:at + PANEL_ARMS]]
        reply = client.patiently("panel_check", patience, timeout=PREPARE_SECONDS, bar=bar["name"], arms=ids)
        checked += reply["arms"]
        warnings += reply.get("warnings", [])
    for text in dict.fromkeys(warnings):
        if text not in bar.get("warnings", []):  # told when it was set
            warn(text)
    refused = [panel for panel in checked if not panel["ok"]]
    if refused:
        raise NotBegun(["the Panel is refused, and nothing was launched"] + [
            "%s: %s" % (panel["name"], panel.get("reason", "refused")) +
            ("; " + panel["hint"] if panel.get("hint") else "") for panel in refused])
    return {arm["name"]: [voter_of(seat) for seat in panel["seats"]] for arm, panel in zip(arms, checked)}


def voter_of(seat):
    withheld = seat["withheld"]
    return {"seat": seat["seat"], "withheld": withheld, "because": seat.get("because", []),
            "voter": seat.get("stand_in") if withheld else seat["seat"],
            "families": seat.get("stand_in_families" if withheld else "families", [])}


def obstacles(view, role, what, limits):
    """Why no launch of this Arm would do, as far as that can be told before there is one."""
    arm = view.get("arm", {})
    mends = "the same command" if role == "trial" else "prepare it anew, and give the seat its new id"
    for missing in view.get("missing", []):
        yield "Arm %s: missing: %s; once it is there: %s" % (view["name"], missing, mends)
    if role not in arm.get("roles", [role]):
        yield 'Arm %s: it does not serve as a %s: "roles" of its file says what it serves as' % (
            view["name"], role)
    for key, most in arm.get("limits", {}).items():
        if key in (limits or {}) and limits[key] > most:
            yield "%s: %s: %s is more than the Arm %s has, %s" % (
                what, key, limits[key], view["name"], number_of(most))


def prepare_arms(client, patience, file):
    arms, faults = [], []
    for spec in file.arms:
        view = client.patiently("arm_prepare", patience, timeout=PREPARE_SECONDS, spec=spec)
        faults += obstacles(view, "trial", "limits", file.limits)
        for text in view.get("warnings", []):
            warn("Arm %s: %s" % (view["name"], text))
        arms.append({"name": spec["name"], "id": view["id"], "families": view.get("families", [])})
    if faults:
        raise NotBegun(faults + ["nothing was launched"])
    for arm in arms:
        # Logins and keys: they come and go, and belong to no Arm.
        now = client.patiently("arm_verify", patience, timeout=PREPARE_SECONDS, id=arm["id"])
        for text in now.get("missing", []):
            warn("Arm %s: missing: %s; until that is mended its Trials are void" % (arm["name"], text))
    return arms


def panel_and_bar(client, patience, file, bar, arms):
    """Who votes, and what is kept of the Bar."""
    if not bar:
        return {}, None
    voters = panel_of(client, patience, bar, arms)
    votes = {one["voter"] for panel in voters.values() for one in panel}
    for seat in bar.get("seats", []) + bar.get("stand_ins", []):
        if seat.get("arm") and seat["name"] in votes:
            view = client.patiently("arm_show", patience, id=seat["arm"])
            faults = list(obstacles(view, "grader", "grader_limits", file.grader_limits))
            if faults:
                raise NotBegun(faults + ["nothing was launched"])
    return voters, {key: bar[key] for key in bar if key not in OF_THE_MOMENT}


def begin(client, patience, file, folder, bar, state):
    arms = prepare_arms(client, patience, file)
    voters, bar = panel_and_bar(client, patience, file, bar, arms)
    plan = folder.begin(file, arms, bar, voters, state)
    for task in file.tasks:
        for text in notes_on_repository(task["repository"]):
            warn("tasks: %s: %s" % (task["name"], text))
    return plan


def judge_anew(client, patience, file, folder, plan, bar):
    """The same results by another Bar, or with other settings of Graders."""
    voters, bar = panel_and_bar(client, patience, file, bar, plan["arms"])
    before = plan["bar"]
    plan = dict(plan, judging=json.loads(to_json(file.judging())), bar=bar, voters=voters,
                outputs=file.outputs, grader_limits=file.grader_limits)
    folder.keep(plan)
    if bar and before and bar["id"] == before["id"]:
        say("Votes that were cast stay; those to come are as FILE says now. For all to be cast anew, give "
            "the Bar another name.")
    elif bar:
        say("All results are judged by the Bar %s now." % bar["name"])
    return plan


def has_begun(client, patience, folder, plan):
    """Whether trialsd has accepted anything of it. What it did while nobody listened, it tells."""
    labels = {"experiment": plan["name"], "run": plan["run"]}
    return plan["accepted"] or folder.has_worked(plan) or bool(folder.ended()) or any(
        client.pages("list", "trials", patience, labels=labels))


def bar_of(client, patience, file, plan):
    """The Bar of the file, with whole ids of Arms. plan: of an Experiment that has begun, or None."""
    def own(name):
        if plan:
            return next((arm["id"] for arm in plan["arms"] if arm["name"] == name), None)
        spec = next((arm for arm in file.arms if arm["name"] == name), None)
        return spec and client.patiently("arm_prepare", patience, timeout=PREPARE_SECONDS, spec=spec)["id"]

    finder = Finder(own, lambda: client.pages("arm_list", "arms", patience))
    return with_arms(as_begun(file.bar, plan and plan["bar"]), finder.whole)


def plan_of(client, patience, file, folder, regrade):
    """What was frozen when it began, which may be now."""
    state = trials.text(client.patiently("status", patience)["state_folder"])
    plan = folder.plan()
    if plan and state != plan["state_folder"]:
        raise Changed("this Experiment is run by the trialsd of %s, and this is that of %s" % (
            plan["state_folder"], state), "name the other one's socket with --socket or TRIALSD_SOCKET")
    begun = bool(plan) and has_begun(client, patience, folder, plan)
    bar = None
    if file.bar:
        file.bar = bar_of(client, patience, file, plan if begun else None)
        # Also to go on: trialsd knows whether it is still the Bar that was used.
        bar = client.patiently("bar_set", patience, spec=file.bar)
        for text in bar.get("warnings", []):
            warn(text)
    if not begun:
        return begin(client, patience, file, folder, bar, state)
    folder.accepted(plan)
    check_same(file, plan, folder.path)
    changed = judging_changes(file, plan)
    if changed and regrade:
        return judge_anew(client, patience, file, folder, plan, bar)
    if changed:
        raise Changed("%s would have results judged in another way than when this Experiment began: %s" % (
            file.path, "; ".join(changed)), "put it back, or have them judged so: --regrade")
    if bar and bar["id"] != plan["bar"]["id"]:
        raise Changed("the Bar %s is not the one that this Experiment began with" % bar["name"],
                      "put it back, or give the Bar another name: --regrade")
    return plan
