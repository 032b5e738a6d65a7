#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A Harness for tests: finds its login where the real one does, and saves it as the real one does.

What it does is in the variable FAKE, a list of [WORD, ARGUMENT...] in JSON; each prints one line:
    read            the login as it is now
    save TEXT       a refreshed login, saved in its own way
    put HOW TEXT    the same, "in place" or by "rename", whichever way its own is
    damage HOW      something else in the login's place
    refresh         its own refresh: with a token server that is a file of the repository, if its
                    access token ends in less than five minutes
    see WORD        once the login has this word
    await NAME      once there is such a file in the repository
    touch NAME      makes one
    text PATH       what a file of the home holds
    deface PATH     tries to write to one, then puts another in its place
    told            its arguments, environment, folder and standard input
    list PATH       what is in a folder of the home
    clutter TARGET  fills the login's folder
    leave PATH      makes a file in the home
    links           how many names the login has, and its mode
    hold NAME A B   holds a lock beside the login: makes A, then waits for B
    alone NAME      holds a lock of the repository for a while, or fails
    exit CODE, kill
"""

import base64
import contextlib
import fcntl
import json
import os
import signal
import sys
import time

HOME = os.environ.get("HOME", "/")
PATIENCE = 240  # the test's own ends before
LOGINS = {
    "codex": ".codex/auth.json",
    "claude": ".claude/.credentials.json",
    "opencode": ".local/share/opencode/auth.json",
    "grok": ".grok/auth.json",
    "kimi": ".kimi-code/credentials/kimi-code.json",
    "muse": ".config/muse/auth.json",
    "agy": ".gemini/antigravity-cli/antigravity-oauth-token",
}


def name_of(program):
    for part in reversed(program.split("/")):
        for name in LOGINS:
            if part.startswith(name):
                return name
    raise SystemExit("no Harness: " + program)


NAME = os.environ.get("FAKE_NAME") or name_of(sys.argv[0])
PATH = os.path.join(HOME, LOGINS[NAME])


def read():
    with open(PATH) as file:
        return file.read()


def in_place(path, text):
    with open(path, "w") as file:
        file.write(text)


def rename(path, text):
    with open(path + ".tmp", "w") as file:
        file.write(text)
    os.chmod(path + ".tmp", 0o600)
    try:
        os.rename(path + ".tmp", path)
    except OSError:
        os.unlink(path + ".tmp")
        raise


def save(text):
    if NAME in ("opencode", "muse", "agy"):
        in_place(PATH, text)
    elif NAME == "claude":
        try:
            rename(PATH, text)
        except OSError:
            in_place(PATH, text)
    else:
        rename(os.path.realpath(PATH), text)  # a link is followed


@contextlib.contextmanager
def locked():
    """As each locks while it refreshes."""
    folder = os.path.dirname(os.path.realpath(PATH))
    if NAME == "kimi":
        lock = os.path.join(HOME, ".kimi-code/oauth")
        os.makedirs(lock, exist_ok=True)
        os.mkdir(lock + "/lock")
        yield
        os.rmdir(lock + "/lock")
        return
    names = {"codex": "auth.json.lock", "grok": "auth.json.lock", "muse": ".auth.json.lock"}
    if NAME not in names:
        yield
        return
    with open(os.path.join(folder, names[NAME]), "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def damage(how):
    path = os.path.realpath(PATH)
    with contextlib.suppress(OSError):
        if how in ("symlink", "fifo", "hardlink", "folder", "deleted"):
            os.unlink(path)
    if how == "symlink":
        os.symlink("/etc/passwd", path)
    elif how == "fifo":
        os.mkfifo(path)
    elif how == "folder":
        os.mkdir(path)
    elif how == "hardlink":
        in_place(path + ".other", "{}")
        os.link(path + ".other", path)
    elif how == "large":
        with open(path, "r+b") as file:
            file.truncate(50 << 20)
    elif how != "deleted":
        raise SystemExit("no such damage: " + how)


def deface(path):
    try:
        in_place(path, "defaced")
        return "written to"
    except OSError:
        rename(path, "defaced")
        return "replaced"


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def refresh():
    """Codex's. The server knows one refresh token; another one is an old one, used again."""
    with locked():
        login = json.loads(read())
        if claims(login["tokens"]["access_token"])["exp"] - time.time() > 300:
            return "good"
        with open("tokens", "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            server = json.load(file)
            if server["current"] != login["tokens"]["refresh_token"]:
                server["reused"].append(login["tokens"]["refresh_token"])
                answer = None
            else:
                answer = server["next"].pop(0)
                server["current"] = answer["tokens"]["refresh_token"]
            file.seek(0)
            file.truncate()
            json.dump(server, file)
        if not answer:
            raise SystemExit("the refresh token was used already")
        save(json.dumps(answer))
        return "refreshed"


def clutter(folder, target):
    """Beside the login: what is hard to remove, and a link that must not be followed."""
    os.symlink(target, folder + "/link")
    for number in range(500):
        open("%s/%d" % (folder, number), "w").close()
    for name in (folder + "/closed", folder + "/" + "x" * 255, folder + "/new\nline"):
        os.makedirs(name + "/below")
        os.symlink(target, name + "/link")
        open(name + "/below/file", "w").close()
        os.chmod(name + "/below", 0)
        os.chmod(name, 0)


def wait(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("never: " + what)
        time.sleep(0.005)


def do(word, *arguments):
    if word == "read":
        return read()
    if word == "save":
        with locked():
            save(arguments[0])
    elif word == "put":
        {"in place": in_place, "rename": rename}[arguments[0]](PATH, arguments[1])
    elif word == "text":
        with open(os.path.join(HOME, arguments[0])) as file:
            return file.read()
    elif word == "deface":
        return deface(os.path.join(HOME, arguments[0]))
    elif word == "told":
        return [sys.argv, dict(os.environ), os.getcwd(), sys.stdin.read()]
    elif word == "damage":
        damage(arguments[0])
    elif word == "refresh":
        return refresh()
    elif word == "see":
        wait(lambda: arguments[0] in read(), arguments[0])
    elif word == "await":
        wait(lambda: os.path.exists(arguments[0]), arguments[0])
    elif word == "touch":
        open(arguments[0], "w").close()
    elif word == "list":
        return sorted(os.listdir(os.path.join(HOME, arguments[0])))
    elif word == "links":
        return [os.stat(PATH).st_nlink, oct(os.stat(PATH).st_mode & 0o777)]
    elif word == "hold":
        with open(os.path.join(os.path.dirname(os.path.realpath(PATH)), arguments[0]), "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            do("touch", arguments[1])
            do("await", arguments[2])
    elif word == "leave":
        os.makedirs(os.path.dirname(os.path.join(HOME, arguments[0])), exist_ok=True)
        open(os.path.join(HOME, arguments[0]), "w").close()
    elif word == "clutter":
        clutter(os.path.dirname(os.path.realpath(PATH)), *arguments)
    elif word == "alone":
        with open(arguments[0]) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(arguments[1] if len(arguments) > 1 else 0.2)
    elif word == "exit":
        raise SystemExit(arguments[0])
    elif word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return None


def main():
    if "--version" in sys.argv:
        print("1.0.0")
        return
    for step in json.loads(os.environ.get("FAKE", "[]")):
        print(json.dumps([step[0], do(*step)]))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
