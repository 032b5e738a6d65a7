# SPDX-License-Identifier: MIT
"""A folder that is thirdshift's own: what it makes in there, and what it may remove again.

The folder was not there, or was empty, when it got its mark: FOLDER/lock, made first, with a token that no
other folder has. Nothing is removed or replaced because of where it stands. What is being made is called
.new-TOKEN-… and lies at the top until it is whole; what has such a name is the leftover of one that was
killed. FOLDER/journal tells, with the inode number, what has got its name afterwards; only what is told
there and still is the same may be removed again. All of it is reached from the folder's descriptor, and
no symbolic link is followed.

The journal has a line of JSON for each thing, in the order in which it was done:

    {"copy": NAME, "inode": N}      a copy of a repository; "file" and "folder" are told in the same way
    {"gone": NAME}                  it was removed
    {"launched": KEY, "id": N, "labels": {…}}    trialsd has accepted it"""

import contextlib
import errno
import fcntl
import json
import os
import re
import secrets
import stat
import subprocess

MARK = "thirdshift keeps an Experiment here, and removes from it what it made itself. "
MARK_FORM = re.compile(re.escape(MARK) + r"([0-9a-f]{16})\n")
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
JOURNAL_BYTES_MAX = 1 << 30
THINGS = ("copy", "file", "folder")


class Wrong(Exception):
    """The file, or what is kept, is not as it must be; the text is for a person."""


# --- By descriptors -------------------------------------------------------------------------------


def inode(name, parent):
    """None: there is nothing."""
    try:
        return os.lstat(name, dir_fd=parent).st_ino
    except FileNotFoundError:
        return None


def open_folder(name, parent):
    """Also one that its agent closed."""
    try:
        return os.open(name, DIRECTORY, dir_fd=parent)
    except PermissionError:
        found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            if stat.S_ISDIR(os.fstat(found).st_mode):
                os.chmod("/proc/self/fd/%d" % found, 0o700)
        finally:
            os.close(found)
        return os.open(name, DIRECTORY, dir_fd=parent)


def rename(name, parent, new, other):
    """Also a folder that is not to be written to, which a rename does where it changes what it lies in."""
    mode = os.lstat(name, dir_fd=parent).st_mode
    if not stat.S_ISDIR(mode) or mode & stat.S_IWUSR:
        os.rename(name, new, src_dir_fd=parent, dst_dir_fd=other)
        return
    folder = open_folder(name, parent)
    try:
        os.fchmod(folder, 0o700)
        os.rename(name, new, src_dir_fd=parent, dst_dir_fd=other)
        os.fchmod(folder, stat.S_IMODE(mode))
    finally:
        os.close(folder)


def remove(name, parent):
    """Whatever it is, as far as that can be done."""
    try:
        if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            os.unlink(name, dir_fd=parent)
            return
        folder = open_folder(name, parent)
        try:
            os.fchmod(folder, 0o700)
            for entry in os.listdir(folder):
                remove(entry, folder)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=parent)
    except (OSError, RecursionError):
        pass


def differs(left, right):
    """Whether one tree is no longer the copy of the other that it was, by what a copy keeps."""
    def told(path):
        found = os.lstat(path)
        link = os.readlink(path) if stat.S_ISLNK(found.st_mode) else None
        # A folder's size says how many it once had.
        return found.st_mode, link, None if stat.S_ISDIR(found.st_mode) else found.st_size, found.st_mtime_ns

    waiting = [(left, right)]
    try:
        while waiting:
            one, other = waiting.pop()
            if told(one) != told(other):
                return True
            if not stat.S_ISDIR(os.lstat(one).st_mode):
                continue
            names = sorted(os.listdir(one))
            if names != sorted(os.listdir(other)):
                return True
            waiting += [(os.path.join(one, name), os.path.join(other, name)) for name in names]
    except OSError:
        return True
    return False


# --- The journal ----------------------------------------------------------------------------------


def parse_journal(path, data):
    """[line]. What a killed one did not write to its end was not told."""
    lines = []
    for number, text in enumerate(data[:data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            line = json.loads(text)
            thing = next(word for word in (*THINGS, "gone", "launched") if isinstance(line.get(word), str))
            if thing != "gone" and type(line["id" if thing == "launched" else "inode"]) is not int:
                raise ValueError
            if thing == "launched" and not isinstance(line["labels"], dict):
                raise ValueError
        except (ValueError, KeyError, AttributeError, StopIteration, RecursionError):
            raise Wrong("%s: line %d is damaged. Nothing can go on without it: move the folder away, and the "
                        "Experiment begins anew" % (path, number)) from None
        lines.append(line)
    return lines


# --- The folder -----------------------------------------------------------------------------------


class Own:
    def __init__(self, path):
        self.path = path
        self.lock = None
        self.descriptor = self.journal = None
        self.token = None
        self.made = {}  # name: (what it is, inode)
        self.launched = {}  # key: {"id", "labels"}

    def at(self, *names):
        return os.path.join(self.path, *names)

    def take(self):
        """Held until this process ends. BlockingIOError: another scheduler has it."""
        new = self._make()
        self.descriptor = os.open(self.path, DIRECTORY)
        names = os.listdir(self.descriptor)
        if names and "lock" not in names:
            self._not_ours()
        try:
            # Not to wait where it is a FIFO.
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            lock = os.open("lock", flags, 0o600, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno in (errno.EISDIR, errno.ELOOP, errno.ENXIO):
                self._not_ours()
            raise
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            os.close(lock)
            self._not_ours()
        self.lock = os.fdopen(lock, "r+b", buffering=0)
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if inode("lock", self.descriptor) != os.fstat(lock).st_ino:
            raise BlockingIOError  # another one has just left, and took its file with it
        self._read_mark(new)
        self._open_journal()
        if new:
            self._tell([{"folder": "", "inode": os.fstat(self.descriptor).st_ino}])
        for name in os.listdir(self.descriptor):
            if name.startswith(self._new("")):
                remove(name, self.descriptor)

    def _make(self):
        """Whether it was not there."""
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            os.mkdir(self.path)
        except FileExistsError:
            if not os.path.isdir(self.path):
                raise Wrong("folder: %s is no folder" % self.path) from None
            return False
        return True

    def _not_ours(self):
        raise Wrong('%s has files in it, and is no folder of an Experiment: give "folder" another '
                    "place" % self.path)

    def _read_mark(self, new):
        found = os.fstat(self.lock.fileno())
        mark = self.lock.read(len(MARK) + 64)
        if not mark and (new or os.listdir(self.descriptor) == ["lock"]):
            self.token = secrets.token_hex(8)
            self.lock.write((MARK + self.token + "\n").encode())
            os.fsync(self.lock.fileno())
            os.fsync(self.descriptor)
            return
        words = MARK_FORM.fullmatch(mark.decode(errors="replace"))
        if not words or found.st_uid != os.geteuid():
            self._not_ours()
        self.token = words[1]

    # --- What it has done ---

    def _open_journal(self):
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            self.journal = os.open("journal", flags, 0o600, dir_fd=self.descriptor)
        except OSError as error:
            raise Wrong("%s: %s" % (self.at("journal"), error.strerror)) from None
        data = self._journal_data(self.journal)
        self._note(parse_journal(self.at("journal"), data))
        os.ftruncate(self.journal, data.rfind(b"\n") + 1)

    def _journal_data(self, descriptor):
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or os.fstat(descriptor).st_size > JOURNAL_BYTES_MAX:
            raise Wrong("%s is no journal of thirdshift" % self.at("journal"))
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(0)
            return file.read()

    def read_journal(self):
        """For one who does not hold it."""
        try:
            descriptor = os.open(self.at("journal"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            self._note(parse_journal(self.at("journal"), self._journal_data(descriptor)))
        finally:
            os.close(descriptor)

    def _note(self, lines):
        for line in lines:
            if "launched" in line:
                self.launched[line["launched"]] = {"id": line["id"], "labels": line["labels"]}
            elif "gone" in line:
                self.made.pop(line["gone"], None)
            else:
                thing = next(word for word in THINGS if word in line)
                self.made[line[thing]] = (thing, line["inode"])

    def _tell(self, lines):
        data = "".join(json.dumps(line) + "\n" for line in lines).encode()
        while data:
            data = data[os.write(self.journal, data):]
        os.fsync(self.journal)
        self._note(lines)

    def has_launched(self, trial):
        """trialsd has it, which is told once."""
        if trial["key"] not in self.launched:
            self._tell([{"launched": trial["key"], "id": trial["id"], "labels": trial["labels"]}])

    # --- What it makes ---

    def _new(self, rest=None):
        return ".new-%s-%s" % (self.token, secrets.token_hex(4) if rest is None else rest)

    @contextlib.contextmanager
    def _folder(self, name, make=False):
        """The descriptor of a folder in this one."""
        descriptor, done = os.dup(self.descriptor), ""
        try:
            for part in name.split("/") if name else ():
                done = os.path.join(done, part)
                if make and inode(part, descriptor) is None:
                    os.mkdir(part, dir_fd=descriptor)
                    os.fsync(descriptor)
                    self._tell([{"folder": done, "inode": inode(part, descriptor)}])
                try:
                    inner = os.open(part, DIRECTORY, dir_fd=descriptor)
                except OSError as error:
                    raise Wrong("%s: %s. It is to be a folder, as thirdshift made it" % (
                        self.at(done), error.strerror)) from None
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def write(self, name, data, told=False):
        """A file that is there whole or not at all. told: it may be removed again."""
        new = self._new()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(new, flags, 0o600, dir_fd=self.descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            with self._folder(os.path.dirname(name), make=True) as parent:
                if told:
                    self._check_free(name, parent)
                    self._tell([{"file": name, "inode": inode(new, self.descriptor)}])
                rename(new, self.descriptor, os.path.basename(name), parent)
                os.fsync(parent)
        except BaseException:
            remove(new, self.descriptor)
            raise

    def _check_free(self, name, parent):
        if inode(os.path.basename(name), parent) is not None:
            raise Wrong("%s is in the way, and thirdshift did not make it: move it away" % self.at(name))

    def copy(self, pairs):
        """[(source, name)]: what has its name already, and is ours, stays as it is."""
        made = []
        try:
            for source, name in pairs:
                with self._folder(os.path.dirname(name), make=True) as parent:
                    found = inode(os.path.basename(name), parent)
                    if found is not None and self.made.get(name) == ("copy", found):
                        continue
                    self._check_free(name, parent)
                new = self._new()
                os.mkdir(new, 0o700, dir_fd=self.descriptor)
                made.append((new, name))
                self._fill(source, new)
            if made:
                subprocess.run(["sync", "-f", self.path], check=False, stderr=subprocess.DEVNULL)
                self._tell([{"copy": name, "inode": inode(new, self.descriptor)} for new, name in made])
            while made:
                new, name = made[0]
                with self._folder(os.path.dirname(name)) as parent:
                    rename(new, self.descriptor, os.path.basename(name), parent)
                    made.pop(0)
                    os.fsync(parent)
        finally:
            for new, _ in made:
                remove(new, self.descriptor)

    def _fill(self, source, new):
        here = "/proc/self/fd/%d" % self.descriptor
        words = ["cp", "-a", "--reflink=auto", "-T", "--", os.path.realpath(source), here + "/" + new]
        done = subprocess.run(words, check=False, pass_fds=[self.descriptor], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        if done.returncode != 0:
            text = done.stderr.decode(errors="replace").strip().replace(here, self.path)
            raise Wrong("%s cannot be copied: %s" % (source, text))

    # --- What it removes ---

    def discard(self):
        """All that was made for an Experiment of which nothing was launched. Another thing that has its
        place stays."""
        for name, (thing, number) in reversed(list(self.made.items())):
            if not name:
                continue
            with contextlib.suppress(OSError, Wrong), self._folder(os.path.dirname(name)) as parent:
                base = os.path.basename(name)
                if inode(base, parent) != number:
                    continue
                if thing == "folder":
                    os.rmdir(base, dir_fd=parent)
                else:
                    # By a name of ours: half of it is a leftover then.
                    new = self._new()
                    rename(base, parent, new, self.descriptor)
                    remove(new, self.descriptor)
                self._tell([{"gone": name}])

    def leave(self):
        """Where nothing was frozen nothing stays. What somebody else put there does."""
        if self.token is None or inode("plan.json", self.descriptor) is not None:
            return
        self.discard()
        with contextlib.suppress(OSError):
            if set(os.listdir(self.descriptor)) != {"lock", "journal"}:
                return
            for name in ("journal", "lock"):
                os.unlink(name, dir_fd=self.descriptor)
            parent, found = os.path.dirname(self.path), self.made.get("")
            if found and os.lstat(self.path).st_ino == found[1] and parent != self.path:
                os.rmdir(self.path)
