#!/bin/sh
# SPDX-License-Identifier: MIT
# A Custom runner: the quick model first, then the thorough one if that was not enough.
cat >/tmp/task
fake-east --model quick </tmp/task
./run-tests && git commit --quiet --all --message 'Mend it quickly' && exit 0
fake-east </tmp/task
