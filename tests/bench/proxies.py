# SPDX-License-Identifier: MIT
"""A Trial's proxy beside a direct connection, squid and tinyproxy, on loopback: bytes per second of one
download, processor time of it, and what a new tunnel takes. Those that are not installed are left out."""

import contextlib
import os
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import time

CHUNK = 1 << 18


def serve(listener):
    """One connection after the other asks with eight bytes for so many, and again."""
    data = bytes(CHUNK)
    while True:
        peer, _ = listener.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with peer, contextlib.suppress(OSError):
            while len(wanted := peer.recv(8, socket.MSG_WAITALL)) == 8:
                left = struct.unpack(">Q", wanted)[0]
                while left > 0:
                    left -= peer.send(data[:left] if left < CHUNK else data)


class Server:
    def __enter__(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = listener.getsockname()[1]
        self.pid = os.fork()
        if self.pid == 0:
            try:
                serve(listener)
            finally:
                os._exit(1)
        listener.close()
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def squid(port, folder):
    path = shutil.which("squid", path=os.environ["PATH"] + ":/usr/sbin")
    share = os.path.join(os.path.dirname(os.path.dirname(path)), "share/squid") if path else ""
    if not path or not os.path.isdir(share):
        return None
    config = os.path.join(folder, "squid.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write("http_port 127.0.0.1:%d\nhttp_access allow all\ncache deny all\naccess_log none\n"
                   "cache_log /dev/null\npid_filename none\nshutdown_lifetime 0 seconds\npinger_enable off\n"
                   "mime_table /dev/null\nicon_directory %s/icons\nerror_directory %s\n"
                   "coredump_dir %s\nmax_filedescriptors 4096\n" % (port, share, folder, folder))
    return [path, "-N", "-f", config]


def tinyproxy(port, folder):
    path = shutil.which("tinyproxy")
    config = os.path.join(folder, "tinyproxy.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write("Port %d\nListen 127.0.0.1\nAllow 127.0.0.1\nMaxClients 1000\nLogLevel Critical\n"
                   "LogFile \"%s/tinyproxy.log\"\nTimeout 600\n" % (port, folder))
    return [path, "-d", "-c", config] if path else None


class Way:
    """A way to the server: a proxy that runs, or none."""

    def __init__(self, name, port=None, command=None, **options):
        self.name, self.port = name, port
        self.process = None
        if command:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
            deadline = time.monotonic() + 20
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    if self.process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError("%s does not listen" % name) from None
                    time.sleep(0.05)

    def open(self, target):
        sock = socket.create_connection(("127.0.0.1", self.port or target))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.port:
            sock.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (target, target))
            head = b""
            while b"\r\n\r\n" not in head:
                got = sock.recv(4096)
                if not got:
                    raise RuntimeError("%s: closed after %r" % (self.name, head))
                head += got
            if b" 200 " not in head:
                raise RuntimeError("%s: %r" % (self.name, head))
        return sock

    def seconds(self):
        if not self.process:
            return 0
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


def download(way, target, size, buffer):
    with way.open(target) as sock:
        spent, began = way.seconds(), time.perf_counter()
        sock.sendall(struct.pack(">Q", size))
        left = size
        while left > 0:
            got = sock.recv_into(buffer)
            if got == 0:
                raise RuntimeError("%s: %d bytes are missing" % (way.name, left))
            left -= got
        return size / (time.perf_counter() - began), (way.seconds() - spent) / (size / 1e9)


def new_tunnel(way, target):
    began = time.perf_counter()
    with way.open(target) as sock:
        sock.sendall(struct.pack(">Q", 1))
        sock.recv(1)
        return (time.perf_counter() - began) * 1e6


def private(pid):
    with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("Private_Clean", "Private_Dirty")))


def measure(ways, target, size, rounds, tunnels):
    buffer = bytearray(CHUNK)
    speeds = {way.name: [] for way in ways}
    times = {way.name: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            speeds[way.name].append(download(way, target, size, buffer))
    for _ in range(tunnels):
        for way in ways:
            times[way.name].append(new_tunnel(way, target))
    direct = statistics.median(speed for speed, _ in speeds["direct"])
    base = statistics.median(times["direct"])
    for way in ways:
        found = [speed for speed, _ in speeds[way.name]]
        middle, late = statistics.median(found), statistics.median(times[way.name])
        print("  %-10s %.2f GB/s (%s)  %.2fx direct  %.2f s of processor time per GB   new tunnel %4.0f us (%+.0f)" % (
            way.name, middle / 1e9, ", ".join("%.2f" % (speed / 1e9) for speed in found), middle / direct,
            statistics.median(cpu for _, cpu in speeds[way.name]), late, late - base))


def run(build, folder, scale):
    with Server() as server:
        port, ways = free_port(), [Way("direct")]
        harness = os.path.join(build, "tests/sandbox/proxy_harness")
        try:
            ours = Way("trialsd", port, [harness, "--port", str(port), "--internal", "127.0.0.1:%d" % server.port,
                                         "--quiet"], stdin=subprocess.PIPE)
            ways.append(ours)
            for name, make in (("squid", squid), ("tinyproxy", tinyproxy)):
                port = free_port()
                command = make(port, folder)
                if command:
                    ways.append(Way(name, port, command))
                else:
                    print("  %s is not installed" % name)
            before = private(ours.process.pid)
            measure(ways, server.port, max(1 << 20, int((2 << 30) * scale)), 3, max(10, int(500 * scale)))
            held = private(ours.process.pid)
            socks = [ours.open(server.port) for _ in range(500)]
            print("  trialsd: %d KiB private before, %d after, %d more with 500 idle tunnels" % (
                before, held, private(ours.process.pid) - held))
            for sock in socks:
                sock.close()
        finally:
            for way in ways:
                way.stop()
