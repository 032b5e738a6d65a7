# SPDX-License-Identifier: MIT
"""Arms of a Bar's seats: a file may name them as trialctl takes them, and what is frozen has whole ids.

What a seat was when the Experiment began it stays, whoever has prepared another Arm of that name since."""

import re

from kept import Wrong

DIGITS = re.compile("[0-9a-fA-F]{8,64}")
ID_LETTERS = 64
TOLD = 4  # ids of Arms that have one name
TOLD_LETTERS = 12


def places(bar):
    """[(list, number, seat)] of those that name an Arm."""
    return [(key, number, seat) for key in ("seats", "stand_ins")
            for number, seat in enumerate(bar.get(key) or []) if isinstance(seat.get("arm"), str)]


def with_arms(bar, whole):
    """A copy, with whole(list, number, seat) for the Arm of each seat that has one."""
    bar = {key: [dict(seat) for seat in value] if key in ("seats", "stand_ins") else value
           for key, value in bar.items()}
    for key, number, seat in places(bar):
        seat["arm"] = whole(key, number, seat)
    return bar


def begun_id(begun, seat):
    """What this seat was, where that is what it says now, or None. begun: the Bar as it was frozen."""
    for _, _, was in places(begun):
        named = was["arm"].startswith(seat["arm"].lower()) and DIGITS.fullmatch(seat["arm"])
        if was["name"] == seat.get("name") and (named or was.get("arm_name") == seat["arm"]):
            return was["arm"]
    return None


def as_begun(bar, begun):
    """A Bar of a file, in which each Arm that is what it was has its whole id."""
    if not bar or not begun or bar.get("name") != begun["name"]:
        return bar
    return with_arms(bar, lambda key, number, seat: begun_id(begun, seat) or seat["arm"])


class Finder:
    def __init__(self, own, every):
        """own(name): the id of an Arm of this Experiment, or None. every(): all Arms that trialsd has."""
        self.own, self.every, self.arms = own, every, None

    def whole(self, key, number, seat):
        """Digits that are of none, or of several, are left to trialsd, which refuses them. Wrong."""
        text = seat["arm"]
        found = self.own(text)
        if found or (len(text) == ID_LETTERS and DIGITS.fullmatch(text)):
            return found or text.lower()
        if self.arms is None:
            self.arms = list(self.every())
        if DIGITS.fullmatch(text):
            ids = [arm["id"] for arm in self.arms if arm["id"].startswith(text.lower())]
            return ids[0] if len(ids) == 1 else text.lower()
        return self._named("bar: %s[%d].arm" % (key, number), text)

    def _named(self, what, name):
        ids = [arm["id"] for arm in self.arms if arm["name"] == name]
        if not ids:
            raise Wrong('%s: no Arm is called "%s", and an id has 8 to %d hexadecimal digits: trialctl arm '
                        'list' % (what, name, ID_LETTERS))
        if len(ids) > 1:
            raise Wrong("%s: %d Arms are called %s: %s%s; give the id of one: trialctl arm list" % (
                what, len(ids), name, ", ".join(one[:TOLD_LETTERS] for one in ids[:TOLD]),
                ", …" if len(ids) > TOLD else ""))
        return ids[0]
