# SPDX-License-Identifier: MIT
"""A home of its own with programs in it, and a daemon for it: what the tests of sessions share."""

import os
import shutil
import signal
import tempfile

from support import Daemon, until


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w" if isinstance(text, str) else "wb") as file:
        file.write(text)
    os.chmod(path, mode)


class Host:
    def __init__(self, harnesses=None, **options):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="h."))
        self.home = os.path.join(self.folder, "home")
        self.own = os.path.join(self.home, ".config/trialsd/harness.d")
        self.repository = os.path.join(self.folder, "repository")
        os.makedirs(self.own)
        os.makedirs(self.repository)
        for name, text in (harnesses or {}).items():
            self.harness(name, text)
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("XDG_")}
        self.environment["HOME"] = self.home
        # The system's interpreters, and nothing of the person who runs the test.
        self.environment["PATH"] = os.path.join(self.folder, "bin") + ":/usr/bin:/bin"
        try:
            self.daemon = Daemon(environment=self.environment, **options)
        except Exception:
            shutil.rmtree(self.folder)
            raise

    def harness(self, name, text):
        write(os.path.join(self.own, name + ".harness"), text)

    def reload(self):
        before = self.daemon.text().count("the configuration was read again")
        self.daemon.process.send_signal(signal.SIGHUP)
        until(lambda: self.daemon.text().count("the configuration was read again") > before, "reload")

    def launch(self, client, harness, **fields):
        fields.setdefault("repository", self.repository)
        fields.setdefault("prompt", b"do it")
        return client.call("launch", harness=harness, **fields)

    def __enter__(self):
        self.daemon.__enter__()
        return self

    def __exit__(self, *exception):
        try:
            self.daemon.__exit__(*exception)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
