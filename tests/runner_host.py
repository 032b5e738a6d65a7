# SPDX-License-Identifier: MIT
"""A host with Harnesses that tell how they were called, one of each kind of login, and Custom runners that
drive them: what the tests of runners share."""

import os
import subprocess

import host
from host import write

# A Harness's program that tells how it was called, and does as it is told.
PROGRAM = r"""#!/usr/bin/env python3
import json, os, signal, sys, time

arguments = sys.argv[1:]
if "--sleep" in arguments:
    signal.signal(signal.SIGTERM, lambda *_: (print("TERM", flush=True), os._exit(43)))
    print(os.getpid(), flush=True)
    time.sleep(600)
if "--kill" in arguments:
    os.kill(os.getpid(), signal.SIGKILL)
if "--exit" in arguments:
    sys.exit(int(arguments[arguments.index("--exit") + 1]))
json.dump({"name": "%s", "arguments": arguments, "environment": dict(os.environ),
           "input": sys.stdin.read()}, sys.stdout)
print("to stderr", file=sys.stderr)
"""

HARNESS = """[Harness]
Product=The {Name}
Executable={name}
Family=none
Installed=~/.local/bin/{name}
Release=file
Environment={NAME}_QUIET='it is quiet'

{login}

[Home]
ReadOnly=~/.claude/CLAUDE.md
{home}

[Session]
Arguments=run {{web}} {{extra}}
Prompt=stdin

[Web]
{web}

[Network]
Hosts={name}.example
{more}
"""

FILE = """[Login file]
File=~/.{name}/auth.json
Saves=in-place
SignIn={name} login"""

FOLDER = """[Login folder]
File=~/.{name}/auth.json
Target=~/.{name}/login
Saves=rename
SignIn={name} login"""

HOME = """[Login home]
Home=~/.trials/{name}
File=~/.trials/{name}/auth.json
Target=~/.{name}
Saves=rename
Keep=auth.json
SignIn={name} login"""

KEY = """[Login env]
Credential=providers.{name}
Variable={NAME}_KEY
ModelVariable={NAME}_MODEL
EndpointVariable={NAME}_URL"""


def harness(name, login, web="Arguments=--no-web 'of any kind'\nWrapperArguments=--no-web=any", home="", more=""):
    words = {"name": name, "Name": name.title(), "NAME": name.upper()}
    return HARNESS.replace("{{web}} ", "{{web}} " if "Arguments" in web else "").format(login=login.format(**words), web=web, home=home, more=more, **words)


RUNNER = """#!/bin/sh
set -u
"""


class Host(host.Host):
    def __init__(self, **options):
        super().__init__({
            "first": harness("first", FILE),
            "second": harness("second", FOLDER),
            "third": harness("third", HOME),
            "keyed": harness("keyed", KEY, web="Seed=~/.keyed/config [tools]\nSeed=~/.keyed/config web = false",
                             home="Copy=~/.keyed/config"),
            "open": harness("open", KEY, more="""
[Providers]
Variable=OPEN_CONFIG
Text={"provider":{%p}}
Each="%o":{"apiKey":"{env:%v}"}
Names=moonshot=moonshotai"""),
        }, **options)
        for name in ("first", "second", "third", "keyed", "open"):
            write(os.path.join(self.home, ".local/bin", name), PROGRAM % name, 0o755)
        for name in ("first", "second"):
            write(os.path.join(self.home, "." + name, "auth.json"), '{"token": "of %s"}\n' % name, 0o600)
        write(os.path.join(self.home, ".trials/third/auth.json"), '{"token": "of third"}\n', 0o600)
        os.chmod(os.path.join(self.home, ".trials/third"), 0o700)
        write(os.path.join(self.home, ".claude/CLAUDE.md"), "be good\n")
        self.keys(openai="sk-openai-1234", anthropic="sk-ant-5678", moonshot="sk-moon-9", keyed="sk-keyed-7",
                  open="sk-open-6", xai="sk-undeclared")
        subprocess.run(["git", "init", "-q", self.repository], check=True)
        self.count = 0

    def keys(self, **keys):
        write(os.path.join(self.home, ".thirdshift/credentials.toml"),
              "[providers]\n" + "".join('%s = "%s"\n' % pair for pair in keys.items()), 0o600)

    def found(self, text):
        """Files of the state folder that hold a text."""
        state = self.daemon.state
        return subprocess.run(["grep", "-rlaF", text, state], stdout=subprocess.PIPE,
                              check=False).stdout.decode().split()

    def file(self, name, text, mode=0o644):
        path = os.path.join(self.folder, "runner", name)
        write(path, text, mode)
        return path

    def prepare(self, client, script, **spec):
        """An Arm whose runner is this script of sh."""
        self.count += 1
        files = spec.pop("files", [])
        files.append({"source": self.file("run-%d.sh" % self.count, RUNNER + script, 0o755), "path": "run.sh"})
        return client.call("arm_prepare", spec={
            "name": "mixed", "command": ["run.sh"], "files": files,
            "harnesses": [{"name": name} if isinstance(name, str) else name for name in spec.pop("harnesses", [])],
            "providers": [{"name": name} for name in spec.pop("providers", [])], **spec})

    def ended(self, client, arm, **fields):
        fields.setdefault("repository", self.repository)
        return client.call("wait", id=client.call("launch", arm=arm["id"], **fields)["id"])

    def run(self, client, script, **spec):
        """What it printed, and the Trial."""
        launch = spec.pop("launch", {})
        outcome = spec.pop("outcome", "delivered")
        trial = self.ended(client, self.prepare(client, script, **spec), **launch)
        output = client.output(trial["id"])[0].decode()
        if trial["outcome"] != outcome:
            raise AssertionError("%s: %s\n%s\n%s" % (trial["outcome"], trial.get("message"), output,
                                                     client.output(trial["id"], "stderr")[0].decode()))
        return output, trial
