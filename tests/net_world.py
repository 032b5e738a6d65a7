# SPDX-License-Identifier: MIT
"""A network of a test's own: a network namespace whose loopback has public addresses, a resolver that
knows the test's names alone, a certificate authority that everything there trusts, and servers with
certificates of it. No byte of it leaves the namespace.

A script calls enter() first: it runs once more as the same user of a user namespace of its own, with
its own mounts and network, where it may mount and listen on low ports until World.drop_powers()."""

import contextlib
import ctypes
import fcntl
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

from support import CASES, Skip

V4, V4_OTHER = "93.184.216.34", "93.184.216.35"
V6 = "2606:2800:220:1::34"
INSIDE = "TRIALS_NETWORK_WORLD"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
RTM_NEWADDR, NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE = 20, 1, 4, 0x400
IFA_ADDRESS, IFA_LOCAL, IFA_F_NODAD = 1, 2, 2
MS_BIND = 4096
CAPABILITY_VERSION = 0x20080522
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
libc = ctypes.CDLL(None, use_errno=True)


def enter():
    """Whether the script is in a world of its own now; else its cases are skipped, which is told."""
    if os.environ.get(INSIDE):
        return True
    command = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "--net", "--"]
    # Where a security module has its say, the namespace can be made and nothing done in it.
    probe = subprocess.run(command + [sys.executable, "-c", "import socket; socket.create_server(('127.0.0.1', 1))"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if probe.returncode == 0 or b"Cannot assign requested address" in probe.stderr:
        os.environ[INSIDE] = "1"
        os.execvp(command[0], [*command, sys.executable, *sys.argv])
    for function in CASES:
        print("skip %s: namespace: none with a network can be made by this user" % function.__name__)
    return False


def bind(source, target):
    """Over the file that target is, at the end of all links."""
    if libc.mount(os.fsencode(source), os.fsencode(os.path.realpath(target)), None, MS_BIND, None):
        raise Skip("namespace: %s: %s" % (target, os.strerror(ctypes.get_errno())))


def add_address(address):
    """To the loopback interface, and at once: an IPv6 address is otherwise tried out first."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    body = struct.pack("=BBBBI", family, len(packed) * 8, IFA_F_NODAD, 0, socket.if_nametoindex("lo"))
    for kind in (IFA_LOCAL, IFA_ADDRESS):
        body += struct.pack("=HH", 4 + len(packed), kind) + packed
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(body), RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1, 0) + body)
        error = -struct.unpack_from("=i", netlink.recv(4096), 16)[0]
        if error:
            raise OSError(error, os.strerror(error))


class Resolver:
    """On port 53: A and AAAA records of what names has. A name of None is not answered at all, one
    that can be called is asked anew each time."""

    def __init__(self, names):
        self.names = names
        self.asked = []
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 53))
        self.tcp = socket.create_server(("127.0.0.1", 53))

    def start(self):
        threading.Thread(target=self.serve_udp, daemon=True).start()
        threading.Thread(target=self.serve_tcp, daemon=True).start()

    def answer(self, query, stream):
        at, labels = 12, []
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind = struct.unpack(">H", query[at + 1:at + 3])[0]
        name = ".".join(labels).lower()
        self.asked.append(name)
        addresses = self.names.get(name, [])
        if callable(addresses):
            addresses = addresses()
        if addresses is None:
            return None
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        wanted = [a for a in addresses if family and (":" in a) == (family == socket.AF_INET6)]
        code = 0 if name in self.names else 3
        flags = 0x8180 | code
        records = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(packed)) + packed
                           for packed in (socket.inet_pton(family, a) for a in wanted))
        # So many of them are only told over TCP.
        if len(records) > 400 and not stream:
            flags, wanted, records = flags | 0x0200, [], b""
        return query[:2] + struct.pack(">HHHHH", flags, 1, len(wanted), 0, 0) + query[12:at + 5] + records

    def serve_udp(self):
        while True:
            query, peer = self.udp.recvfrom(4096)
            answer = self.answer(query, False)
            if answer:
                self.udp.sendto(answer, peer)

    def serve_tcp(self):
        while True:
            peer, _ = self.tcp.accept()
            with peer, contextlib.suppress(OSError, struct.error):
                while True:
                    size = struct.unpack(">H", peer.recv(2, socket.MSG_WAITALL))[0]
                    answer = self.answer(peer.recv(size, socket.MSG_WAITALL), True)
                    peer.sendall(struct.pack(">H", len(answer)) + answer)


def certificates(folder, names):
    """A test CA and one certificate for all names; (CA, certificate with key)."""
    ca, key, leaf = (os.path.join(folder, name) for name in ("ca.pem", "ca.key", "leaf.pem"))

    def openssl(*arguments):
        try:
            subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except FileNotFoundError as error:
            raise Skip("openssl is not installed") from error

    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *new, "-keyout", key, "-out", ca, "-days", "2", "-subj", "/CN=test CA",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    request, extensions = os.path.join(folder, "request"), os.path.join(folder, "extensions")
    openssl("req", *new, "-keyout", leaf + ".key", "-out", request, "-subj", "/CN=test")
    with open(extensions, "w") as file:
        file.write("basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\nsubjectAltName=%s\n" %
                   ",".join("DNS:" + name for name in names))
    openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", key, "-out", leaf, "-days", "2",
            "-set_serial", "2", "-extfile", extensions)
    with open(leaf, "a") as file, open(leaf + ".key") as text:
        file.write(text.read())
    return ca, leaf


class World:
    """Made once, after enter(). names is the Resolver's; listeners has a listening socket for each
    (address, port) of `listen`. Skip says what cannot be had."""

    def __init__(self, names, listen=(), addresses=(V4, V4_OTHER, V6)):
        self.scratch = tempfile.TemporaryDirectory(prefix="w.")
        self.folder = os.path.realpath(self.scratch.name)
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
            for address in addresses:
                add_address(address)
        except OSError as error:
            raise Skip("namespace: loopback of its own: %s" % error) from error
        for name, text in (("resolv.conf", "nameserver 127.0.0.1\n"),
                           ("nsswitch.conf", "hosts: files dns\n"), ("hosts", "127.0.0.1 localhost\n::1 localhost\n")):
            bind(self.write(name, text), "/etc/" + name)
        self.listeners = {}
        for address, port in listen:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            self.listeners[address, port] = socket.create_server((address, port), family=family, backlog=1024)
        self.resolver = Resolver(names)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def trust(self, names):
        """A CA for these names, which is trusted here beside all others; (CA, server's TLS context)."""
        ca, leaf = certificates(self.folder, names)
        if os.path.exists(BUNDLE):
            with open(BUNDLE) as old, open(ca) as own:
                bind(self.write("bundle", old.read() + own.read()), BUNDLE)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(leaf)
        context.set_alpn_protocols(["http/1.1"])
        return ca, context

    def drop_powers(self):
        """For a test that starts trialsd: bwrap wants no capability in whoever starts it, and trialsd
        cannot look at a client that has some. Before any thread is started, since each has its own."""
        libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
        if libc.capset(struct.pack("II", CAPABILITY_VERSION, 0), bytes(24)):
            raise OSError(ctypes.get_errno(), "capset")

    def start(self):
        self.resolver.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.scratch.cleanup()
