# SPDX-License-Identifier: MIT
"""What a Trial's way out costs, beside none and beside two proxies that do the same: squid and
tinyproxy. All four have the same server and the same client, which is in a Trial."""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time

from support import PATIENCE, Daemon

GIGABYTE = 1e9
ROUNDS = 3
IDLE = 500

SERVER = r'''
import os, socket, sys, threading
piece = bytes(1 << 20)
def serve(one):
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while order := one.recv(64):
        left = int(order)
        while left > 0:
            left -= one.send(piece[:left] if left < len(piece) else piece)
server = socket.create_server(("127.0.0.1", 0), backlog=1024)
print(server.getsockname()[1], flush=True)
threading.stack_size(1 << 18)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
'''

# What it finds it says, and then stays, so that its proxy can be looked at.
CLIENT = r'''
import json, os, resource, socket, sys, time
what, proxy, target, amount = sys.argv[1], *map(int, sys.argv[2:])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
def connect():
    one = socket.create_connection(("127.0.0.1", proxy or target))
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if proxy:
        one.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (target, target))
        head = b""
        while b"\r\n\r\n" not in head:
            data = one.recv(4096)
            if not data:
                sys.exit("refused: %r" % head)
            head += data
        if head.split()[1] != b"200":
            sys.exit("refused: %r" % head)
    return one
def transfer():
    one, buffer, left = connect(), bytearray(1 << 20), amount
    began, used = time.perf_counter(), os.times()
    one.sendall(b"%d" % amount)
    while left > 0:
        got = one.recv_into(buffer)
        if not got:
            sys.exit("%d bytes are missing" % left)
        left -= got
    spent, now = time.perf_counter() - began, os.times()
    return [spent, now.user + now.system - used.user - used.system]
def latency():
    values = []
    for _ in range(amount):
        began = time.perf_counter()
        with connect() as one:
            one.sendall(b"1")
            one.recv(1)
            values.append((time.perf_counter() - began) * 1000)
    return values
held = []
def idle():
    connect().close()
    time.sleep(2)
    print(json.dumps("begin"), flush=True)
    time.sleep(2)
    for _ in range(amount):
        held.append(connect())
        held[-1].sendall(b"1")
        held[-1].recv(1)
    return len(held)
time.sleep(0.3)
print(json.dumps(globals()[what]()), flush=True)
time.sleep(1000)
'''

SQUID = """http_port 127.0.0.1:%(port)d
acl all_of_them src all
http_access allow all_of_them
cache deny all
cache_mem 0 MB
access_log none
cache_store_log none
cache_log %(folder)s/squid.log
pid_filename none
netdb_filename none
pinger_enable off
visible_hostname bench
shutdown_lifetime 0 seconds
coredump_dir %(folder)s
max_filedescriptors 4096
"""
TINYPROXY = """Port %(port)d
Listen 127.0.0.1
Timeout 600
MaxClients 1000
LogLevel Critical
LogFile "%(folder)s/tinyproxy.log"
PidFile "%(folder)s/tinyproxy.pid"
Allow 127.0.0.1
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Peer:
    """squid or tinyproxy, in the foreground and on a port of its own."""

    def __init__(self, name, text, options, folder):
        self.port = free_port()
        path = os.path.join(folder, name + ".conf")
        with open(path, "w") as file:
            file.write(text % {"port": self.port, "folder": folder})
        program = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
        self.process = subprocess.Popen([program, *options, path], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise RuntimeError("%s does not start" % name) from error
                time.sleep(0.05)

    def stop(self):
        self.process.kill()
        self.process.wait()


def peers(folder):
    found = {}
    for name, text, options in (("squid", SQUID, ["-N", "-f"]), ("tinyproxy", TINYPROXY, ["-d", "-c"])):
        if shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"):
            found[name] = Peer(name, text, options, folder)
        else:
            print("  no %s: it is not installed (contrib/install-deps --bench)" % name)
    return found


def seconds_of(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_memory(pid):
    with open("/proc/%d/status" % pid) as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon:"))


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(child) for child in file.read().split()]


class Side:
    """One of the four: a Trial with the client, and what is between it and the server."""

    def __init__(self, bench, name, what, amount, peer=None, direct=False):
        self.bench, self.client, self.seen = bench, bench.client, b""
        proxy = 0 if direct else peer.port if peer else 3128
        own = not direct and not peer
        fields = {"hosts": ["127.0.0.1:%d" % bench.port]} if own else {"network": "host"}
        self.id = self.client.launch("/usr/bin/python3", "-c", CLIENT, what, str(proxy), str(bench.port), str(amount),
                                     limits={"wall_seconds": 900.0}, **fields)["id"]
        self.client.wait_state(self.id, "running")
        self.pid = peer.pid if peer else None
        if own:
            # A keeper without children is a spare.
            self.pid = [child for child in children(bench.daemon.process.pid) if children(child)][0]
        self.name = name
        self.used = seconds_of(self.pid) if self.pid else 0

    def said(self, lines=1):
        """The last of so many lines that it has said by then."""
        deadline = time.monotonic() + 600
        while self.seen.count(b"\n") < lines:
            self.seen, _ = self.client.output(self.id, follow=False)
            if time.monotonic() > deadline or self.client.call("show", id=self.id)["state"] == "ended":
                raise RuntimeError("%s: %r" % (self.name, self.client.output(self.id, "stderr", follow=False)))
            time.sleep(0.05)
        return json.loads(self.seen.splitlines()[lines - 1])

    def cost(self):
        return seconds_of(self.pid) - self.used if self.pid else 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.client.call("cancel", id=self.id)
        self.client.call("wait", id=self.id)


class Bench:
    def __init__(self, backend, folder):
        self.server = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.port = int(self.server.stdout.readline())
        self.daemon = Daemon(backend=backend, config="[Network]\nInternal=127.0.0.1:%d\n" % self.port)
        self.client = self.daemon.client()
        self.peers = peers(folder)

    def sides(self, what, amount):
        yield lambda: Side(self, "direct", what, amount, direct=True)
        yield lambda: Side(self, "trialsd", what, amount)
        for name, peer in self.peers.items():
            yield lambda n=name, p=peer: Side(self, n, what, amount, p)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.client.close()
        for peer in self.peers.values():
            peer.stop()
        self.daemon.__exit__(*exception)
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()


def downloads(bench, size):
    rates, own, whole = {}, {}, {}
    for _ in range(ROUNDS):
        for make in bench.sides("transfer", size):
            server = seconds_of(bench.server.pid)
            with make() as side:
                spent, used = side.said()
                rates.setdefault(side.name, []).append(size / spent / GIGABYTE)
                own.setdefault(side.name, []).append(side.cost() / size * GIGABYTE)
                whole.setdefault(side.name, []).append(
                    (side.cost() + used + seconds_of(bench.server.pid) - server) / size * GIGABYTE)
    for name, values in rates.items():
        share = statistics.median(one / direct for one, direct in zip(values, rates["direct"]))
        print("  %-10s %s GB/s, %.2fx direct; a GB costs %.2f s of processor, %.2f s with both ends" % (
            name, " ".join("%.2f" % one for one in values), share, statistics.median(own[name]),
            statistics.median(whole[name])))
    for name in bench.peers:
        print("  faster than %s in %d of %d rounds" % (
            name, sum(mine > its for mine, its in zip(rates["trialsd"], rates[name])), ROUNDS))


def new_tunnels(bench, count):
    values = {}
    for _ in range(ROUNDS):
        for make in bench.sides("latency", count // ROUNDS):
            with make() as side:
                values.setdefault(side.name, []).extend(side.said())
    direct = statistics.median(values["direct"])
    for name, times in values.items():
        middle, times = statistics.median(times), sorted(times)
        print("  a connection and its first byte: %-10s n=%-5d median %6.3f  p99 %6.3f ms   %+4.0f us" % (
            name, len(times), middle, times[len(times) * 99 // 100], (middle - direct) * 1000))


def idle_tunnels(bench):
    for make in bench.sides("idle", IDLE):
        with make() as side:
            if not side.pid:
                continue
            side.said(1)
            before = own_memory(side.pid)
            side.said(2)
            print("  %d idle: %-10s %5.0f KiB, and %5.0f KiB before them" % (
                IDLE, side.name, (own_memory(side.pid) - before) / 1024, before / 1024))


def measure(backend, folder, scale):
    with Bench(backend, folder) as bench:
        downloads(bench, max(1 << 20, int((2 << 30) * scale)))
        # So many of one Trial wait for no turn (PROXY_TURNS_AT_ONCE).
        new_tunnels(bench, max(20, int(750 * scale)))
        idle_tunnels(bench)
