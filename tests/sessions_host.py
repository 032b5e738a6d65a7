# SPDX-License-Identifier: MIT
"""Hosts with fakes of the Harnesses that are shipped, their logins, and sessions of them."""

import base64
import datetime
import json
import os
import shutil
import time

from host import Host, write
from support import Daemon, equal, true, until

FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_harness.py")
NOW = int(time.time())
DAY = 24 * 3600


def token(**claims):
    """A JWT that nobody signed."""
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return "%s.%s.%s" % (part({"alg": "none"}), part(claims), "c2ln")


def codex(n, expiry, account):
    return {"auth_mode": "chatgpt", "OPENAI_API_KEY": None,
            "tokens": {"id_token": token(sub=account, n=n),
                       "access_token": token(sub=account, exp=expiry, n=n),
                       "refresh_token": "refresh-%d" % n, "account_id": account},
            "last_refresh": "2026-01-01T00:00:%02dZ" % max(n, 0)}


def claude(n, expiry, account):
    return {"claudeAiOauth": {"accessToken": "access-%d" % n, "refreshToken": "refresh-%d" % n,
                              "expiresAt": expiry * 1000, "scopes": ["user:inference"],
                              "subscriptionType": "max"}, "account": account}


def opencode(n, expiry, account):
    return {"anthropic": {"type": "oauth", "access": "access-%d" % n, "refresh": "refresh-%d" % n,
                          "expires": expiry * 1000, "accountId": account}}


def kimi(n, expiry, account):
    return {"access_token": token(sub=account, exp=expiry, n=n), "refresh_token": "refresh-%d" % n,
            "expires_at": expiry, "expires_in": 3600, "scope": "kimi-code", "token_type": "Bearer"}


def grok(n, expiry, account):
    ends = datetime.datetime.fromtimestamp(expiry, datetime.timezone.utc)
    return {"https://auth.x.ai": {"key": "key-%d" % n, "refresh_token": "refresh-%d" % n,
                                  "expires_at": ends.isoformat().replace("+00:00", "Z"),
                                  "user_id": account}}


def plain(n, expiry, account):
    return {"access_token": "access-%d" % n, "refresh_token": "refresh-%d" % n, "ends": expiry,
            "account": account}


class Harness:
    def __init__(self, kind, file, sign_in, make):
        self.kind, self.file, self.sign_in, self.make = kind, file, sign_in, make


HARNESSES = {
    "codex": Harness("folder", "~/.codex/auth.json", "codex login", codex),
    "kimi": Harness("folder", "~/.kimi-code/credentials/kimi-code.json", "kimi login", kimi),
    "claude": Harness("file", "~/.claude/.credentials.json", "claude auth login", claude),
    "opencode": Harness("file", "~/.local/share/opencode/auth.json", "opencode auth login", opencode),
    "muse": Harness("file", "~/.config/muse/auth.json", "muse login", plain),
    "agy": Harness("file", "~/.gemini/antigravity-cli/antigravity-oauth-token", "agy", plain),
    "grok": Harness("home", "~/.thirdshift/trials/grok/auth.json",
                    "GROK_HOME=~/.thirdshift/trials/grok grok login", grok),
}


def login(name, n, expiry=None, account="me", more=False):
    """The nth: it ends later than those before it."""
    content = HARNESSES[name].make(n, NOW + 30 * DAY + n if expiry is None else expiry, account)
    if more:
        content["agent"] = "was here"
    return json.dumps(content) + "\n"


def read(path):
    with open(path) as file:
        return file.read()


def replace(path, text):
    """As most programs save."""
    write(path + ".new", text, 0o600)
    os.rename(path + ".new", path)


def identity(path):
    st = os.lstat(path)
    return st.st_ino, st.st_mtime_ns, st.st_mode, read(path)


class SessionHost(Host):
    """All of them are installed, nobody is signed in."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        bin = os.path.join(self.home, ".local/bin")
        os.makedirs(bin)
        for name in ("claude", "opencode", "grok", "agy"):
            self.program(os.path.join(bin, name))
        release = os.path.join(self.home, ".local/codex")
        self.program(release + "/bin/codex")
        write(release + "/codex-package.json", '{"version": "0.169.0"}')
        os.symlink("../codex/bin/codex", bin + "/codex")
        muse = os.path.join(self.home, ".local/muse/")
        self.program(muse + "muse-bin-1.0")
        write(muse + "muse", '#!/bin/bash\nexec "$(dirname "$0")/muse-bin-1.0" "$@"\n', 0o755)
        os.symlink("../muse/muse", bin + "/muse")
        node = os.path.join(self.home, ".nvm/versions/node/v22.19.0")
        package = node + "/lib/node_modules/@moonshot-ai/kimi-code"
        self.program(package + "/dist/main.mjs")
        write(package + "/package.json", '{"version": "2.1.0"}')
        os.makedirs(node + "/bin")
        os.symlink("../lib/node_modules/@moonshot-ai/kimi-code/dist/main.mjs", node + "/bin/kimi")
        shutil.copy(os.path.realpath("/usr/bin/python3"), node + "/bin/node")

    @staticmethod
    def program(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(FAKE, path)
        os.chmod(path, 0o755)

    def path(self, name):
        return HARNESSES[name].file.replace("~", self.home)

    def sign_in(self, name, n=1, **more):
        """Writes a login as the program itself would; its path."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if HARNESSES[name].kind == "home":
            os.chmod(os.path.dirname(path), 0o700)
        replace(path, login(name, n, **more))
        return path

    def touch(self, name):
        open(os.path.join(self.repository, name), "w").close()

    def seen(self, name):
        until(lambda: os.path.exists(os.path.join(self.repository, name)), name)


class SecondDaemon(Daemon):
    """Another of the same person: a state of its own, the same home."""

    def __init__(self, host):
        super().__init__(environment=host.environment, config=host.daemon.config)


class Session:
    """A Trial with a Harness that takes these steps."""

    def __init__(self, host, client, name, *steps, **fields):
        self.host, self.client, self.name = host, client, name
        steps = self.steps = fields.pop("steps", steps)
        self.fields = fields
        environment = {"FAKE": json.dumps(steps), "FAKE_NAME": name}
        fields.setdefault("share_repository", True)
        fields.setdefault("limits", {"wall_seconds": 900})
        if name == "opencode":
            fields.setdefault("model", "anthropic/m")
        self.id = host.launch(client, name, environment=environment, **fields)["id"]

    def again(self):
        return Session(self.host, self.client, self.name, steps=self.steps, **self.fields)

    def end(self, outcome="delivered"):
        trial = self.client.call("wait", id=self.id)
        if trial["outcome"] != outcome:
            raise AssertionError("%s is %s: %s %s" % (
                self.name, trial["outcome"], trial.get("message"),
                "" if trial["outcome"] == "void" else self.client.output(self.id, "stderr")[0]))
        return trial

    def output(self):
        """What its steps told, by their words."""
        lines = self.client.output(self.id)[0].decode().splitlines()
        return dict(json.loads(line) for line in lines)

    def until_over(self):
        return self.client.call("wait", id=self.id)

    def until_waiting(self, word):
        """Until it waits for something with this word; the Trial as it is then."""
        shown = {}

        def waits():
            shown.update(self.client.call("show", id=self.id))
            return "waits_for" in shown and word in shown["waits_for"]

        until(waits, "Trial %d waits for: %s" % (self.id, word))
        return shown


def nothing_left(host, *ids):
    """No login of these Trials, nor a note of one, wherever trialsd keeps something of them."""
    for id in ids:
        folder = os.path.join(host.daemon.state, "trials", str(id))
        left = [name for name in os.listdir(folder) if name.startswith("login")]
        equal(left, [], "what is left of Trial %d" % id)
        true(not os.path.exists(os.path.join(host.daemon.state, "logins", "%d.carry" % id)), "a note")


def told(trial):
    return [(one["harness"], one["state"]) for one in trial.get("logins", [])]


def void_at_once(host, client, name, *words):
    begun = time.monotonic()
    session = Session(host, client, name, ["touch", "started"])
    trial = client.call("wait", id=session.id)
    took = time.monotonic() - begun
    equal((trial["outcome"], trial.get("cause")), ("void", "session_unavailable"),
          "outcome (%s)" % trial.get("message"))
    for word in words:
        true(word in trial["message"], "%r is not in: %s" % (word, trial["message"]))
    true(trial.get("hint", "").endswith("trialctl login " + name), "hint: %s" % trial.get("hint"))
    true("started_at" not in trial and not os.path.exists(host.repository + "/started"), "it started")
    true(took < 1 or os.getloadavg()[0] > os.cpu_count(), "it took %.3f s" % took)
    nothing_left(host, session.id)


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(child) for child in file.read().split()]
