# SPDX-License-Identifier: MIT
"""What is said while an Experiment runs."""

import sys

from results import plain


def say(text, indent=""):
    print(indent + plain(text), flush=True)


def warn(text):
    print("thirdshift: " + plain(text), file=sys.stderr, flush=True)
