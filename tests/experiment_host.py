# SPDX-License-Identifier: MIT
"""A person who runs Experiments: fakes of Harnesses, three Arms, four tasks, a Bar. What the tests of
contrib/thirdshift share."""

import json
import os
import re
import subprocess
import sys

import host
from host import write
from support import PATIENCE, equal, true

THIRDSHIFT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../contrib/thirdshift/thirdshift")

HARNESS = """[Harness]
Product={name}
Executable={name}
Family={family}
Installed=~/bin/{name}
Release=file

[Login {login}

[Session]
Arguments={{model}} {{effort}} {{extra}}
Model=--model %m
Effort=--effort %e
Prompt=stdin
Answer=type=answer text

[Network]
Hosts={name}.example
"""
NO_LOGIN = "none]"
KEY = "env]\nCredential=providers.epsilon\nVariable=EPSILON_KEY"
FAMILIES = {"codex": "red", "beta": "blue", "gamma": "green", "delta": "yellow", "epsilon": "blue"}

# A Trial notes that it ran, and does the task whose name the prompt is. A Grader votes by its own name
# and by what it finds. Where there is a file `hold` a Trial waits for one called `go`.
PROGRAM = r"""#!/bin/sh
name=$(basename "$0")
prompt=$(cat)
if [ -n "$TRIALS_BAR" ]; then
	grep -q 'It must' "$TRIALS_BAR" || exit 9
	sleep 0.1
	case $(cat task),$name in
	one,* | three,beta | four,codex | four,delta) cat <<-END ;;
		{"type": "answer", "text": "I looked.\n{\"vote\": \"pass\", \"reason\": \"$name likes it\"}"}
	END
	four,gamma) echo '{"type": "answer", "text": "I cannot say."}' ;;
	*) cat <<-END ;;
		{"type": "answer", "text": "{\"vote\": \"fail\"}"}
	END
	esac
	exit 0
fi
echo "$name" >>runs
[ ! -e hold ] || until [ -e go ]; do sleep 0.05; done
sleep 0.1
echo "$prompt" >task
[ "$name" != codex ] ||
	echo '{"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 10}}'
[ "$prompt" != two ] || exit 3
"""

BAR = {"name": "works", "standard_file": "standard.txt", "votes": 2, "breadth": 2,
       "seats": [{"harness": "codex"}, {"harness": "beta"}, {"harness": "gamma"}],
       "stand_ins": [{"harness": "delta"}]}


class Host(host.Host):
    """A person with fakes of Harnesses, three Arms and four tasks."""

    def __init__(self, config="[Daemon]\nMaxRunning=4\n", **options):
        super().__init__({name: HARNESS.format(name=name, family=family,
                                               login=KEY if name == "epsilon" else NO_LOGIN)
                          for name, family in FAMILIES.items()}, config=config, **options)
        for name in FAMILIES:
            write(os.path.join(self.home, "bin", name), PROGRAM, 0o755)
        write(self.at("first.json"), json.dumps({"name": "first", "harness": "codex"}))
        write(self.at("second.json"), json.dumps({"name": "second", "harness": "epsilon"}))
        write(self.at("runner/own.json"), json.dumps(
            {"name": "own", "command": ["./run.sh"], "harnesses": ["gamma"]}))
        write(self.at("runner/run.sh"), "#!/bin/sh\nexec gamma\n", 0o755)
        write(self.at("bar.json"), json.dumps(BAR))
        write(self.at("standard.txt"), "It must work.\n")
        for task in ("one", "two", "three", "four"):
            self.git("init", "-q", self.at("tasks", task))
            write(self.at("tasks", task, "README"), task)
            if task == "four":
                write(self.at("tasks", task, "hold"), "")
            self.git("-C", self.at("tasks", task), "add", ".")
            self.git("-C", self.at("tasks", task), "commit", "-qm", "prepared")
        self.value = {"name": "whole", "arms": ["first.json", "second.json", "runner/own.json"],
                      "tasks": [{"name": task, "repository": "tasks/" + task, "prompt": task}
                                for task in ("one", "two", "three", "four")],
                      "repeats": 3, "bar": "bar.json", "attempts": 1, "retry_seconds": 0}

    def at(self, *names):
        return os.path.join(self.folder, "experiment", *names)

    @staticmethod
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=Test", "-c", "user.email=test@example.org", *arguments],
                       check=True, env=dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null"))

    def write(self, **changes):
        self.value.update(changes)
        write(self.at("e.json"), json.dumps(self.value))

    def command(self, *options, verb="run"):
        return [sys.executable, THIRDSHIFT, verb, "--socket", self.daemon.socket, *options, self.at("e.json")]

    def start(self, *options):
        """A scheduler, in a group of its own; what it says goes to a file."""
        with open(self.at("said"), "ab") as said:
            return subprocess.Popen(self.command("--patience", "60", *options), stdout=said, stderr=said,
                                    stdin=subprocess.DEVNULL, env=self.environment)

    def said(self):
        with open(self.at("said"), errors="replace") as file:
            return file.read()

    def run(self, *options, status=0, verb="run"):
        done = subprocess.run(self.command(*options, verb=verb), env=self.environment, timeout=PATIENCE * 4,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        equal(done.returncode, status, "exit status: " + done.stdout)
        true("Traceback" not in done.stdout, done.stdout)
        return done.stdout

    def all(self):
        """Every Trial that there is, whoever launched it."""
        trials, before = [], {}
        with self.daemon.client() as client:
            while True:
                page = client.call("list", limit=200, **before)
                trials += page["trials"]
                if "cursor" not in page:
                    return trials
                before = {"before": page["cursor"]}

    def release(self, *held, begun=False):
        """Lets those Trials go that wait, but for these. begun: only such as have, for a copy in which somebody
        worked before it was launched is launched by nobody."""
        top = self.at(self.value["name"] + ".run", "repositories")
        for arm in os.listdir(top) if os.path.isdir(top) else ():
            tasks = os.path.join(top, arm, "four")
            for copy in os.listdir(tasks) if os.path.isdir(tasks) else ():
                if (arm, copy) not in held and (not begun or os.path.exists(os.path.join(tasks, copy, "runs"))):
                    write(os.path.join(tasks, copy, "go"), "")

    def ran(self):
        """{(arm, task, "REPEAT.ATTEMPT"): how often its program ran}"""
        top, ran = self.at(self.value["name"] + ".run", "repositories"), {}
        for arm in os.listdir(top) if os.path.isdir(top) else ():
            for task in os.listdir(os.path.join(top, arm)):
                for copy in os.listdir(os.path.join(top, arm, task)):
                    runs = os.path.join(top, arm, task, copy, "runs")
                    if os.path.exists(runs):
                        with open(runs) as file:
                            ran[arm, task, copy] = len(file.readlines())
        return ran


def table_of(text):
    """From its head on, with the clock's word taken out."""
    lines = text[text.rindex("\nArm ") + 1:]
    return re.sub(r" +\d+\.\d(  +(?:-|\d+)  +(?:-|\d+))$", lambda found: "    MEDIAN" + found[1], lines, flags=re.M)


def small(host, **changes):
    """Two Trials of one task, without a Bar unless said."""
    value = {"arms": ["first.json"], "tasks": [{"name": "one", "repository": "tasks/one", "prompt": "one"}],
             "repeats": 2, "bar": None}
    value.update(changes)
    host.value.update(value)
    host.value = {key: one for key, one in host.value.items() if one is not None}
    host.write()
