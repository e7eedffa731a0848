"""Machines in network namespaces, and the programs on them; each is stopped when left."""

import csv
import ctypes
import http.client
import json
import os
import pwd
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
UPSTREAM = ROOT / "tests/endurance.d/upstream.py"
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


class Missing(Exception):
    """A requirement of the test is missing, or does not start."""


class Network:
    """A switch that connects machines."""

    def __init__(self):
        self.prefix = f"rd{os.getpid()}"
        self.names = []

    def __enter__(self):
        self.switch = self.namespace("switch")
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        return self

    def __exit__(self, *_):
        for name in self.names:
            ip("netns", "del", name)

    def namespace(self, name):
        name = f"{self.prefix}-{name}"
        ip("netns", "add", name)
        self.names.append(name)
        ip("-n", name, "link", "set", "lo", "up")
        return name

    def machine(self, name, *addresses):
        return Machine(self, name, addresses)


class Machine:
    """A namespace with addresses on the switch."""

    def __init__(self, network, name, addresses):
        self.network, self.name, self.address = network, name, addresses[0]
        self.space = network.namespace(name)
        ip("link", "add", "eth0", "netns", self.space, "type", "veth", "peer", name, "netns", network.switch)
        for address in addresses:
            ip("-n", self.space, "address", "add", f"{address}/24", "dev", "eth0")
        ip("-n", self.space, "link", "set", "eth0", "up")
        ip("-n", network.switch, "link", "set", name, "up")
        self.plug()

    def plug(self):
        ip("-n", self.network.switch, "link", "set", self.name, "master", "bridge")

    def cut(self):
        """Disconnects the machine from the switch: packets are lost without notice."""
        ip("-n", self.network.switch, "link", "set", self.name, "nomaster")

    def route(self, network):
        ip("-n", self.space, "route", "add", network, "dev", "eth0")

    @contextmanager
    def inside(self):
        """Runs this thread, and the processes it starts, on this machine."""
        with open("/proc/thread-self/ns/net") as before:
            enter(f"/run/netns/{self.space}")
            try:
                yield self
            finally:
                enter_file(before)

    def start(self, command, **options):
        with self.inside():
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)

    def run(self, command, **options):
        with self.inside():
            return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)

    def get(self, port, path, user_agent="check"):
        """Sends a request to this machine from itself; returns status and body."""
        with self.inside():
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            try:
                client.request("GET", path, headers={"User-Agent": user_agent, "Host": "site.example"})
                answer = client.getresponse()
                return answer.status, answer.read()
            finally:
                client.close()


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def enter(path):
    with open(path) as file:
        enter_file(file)


def enter_file(file):
    if LIBC.setns(file.fileno(), CLONE_NEWNET):
        raise Missing(f"setns: {os.strerror(ctypes.get_errno())}")


class Database:
    """A PostgreSQL server, run by the commands of the guide."""

    def __init__(self, machine, folder):
        self.machine, self.folder, self.data = machine, folder, folder / "data"
        folder.mkdir()
        self.user = pwd.getpwnam("postgres")
        os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda bin: float(bin.parent.name))
        self.environment = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "PGDATA": str(self.data),
            "PGHOST": str(folder),
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def commands(self, text):
        """Runs commands of the guide."""
        # Two servers on one machine cannot share the directory of their sockets.
        text = text.replace("pg_ctl start", f'pg_ctl start --options "-k {self.folder}"')
        with self.machine.inside(), (self.folder / "out").open("ab") as out:
            done = subprocess.run(
                ["bash", "-euc", text], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=out, stderr=out, user="postgres", group="postgres", extra_groups=[self.user.pw_gid],
            )
        if done.returncode:
            raise Missing(f"{text}{(self.folder / 'out').read_text()}")

    def append(self, name, text):
        with (self.data / name).open("a") as file:
            file.write(text)

    def ask(self, sql):
        """Returns the result of a statement, one row per line."""
        done = subprocess.run(
            ["psql", "-XAtq", "robots", "-c", sql], env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, user="postgres", group="postgres", extra_groups=[self.user.pw_gid],
        )
        assert not done.returncode, f"{sql}: {done.stderr}"
        return done.stdout.strip()

    def kill(self):
        """Kills the server and its children, like a power failure."""
        file = self.data / "postmaster.pid"
        if not file.exists():
            return
        first = int(file.read_text().splitlines()[0])
        try:
            children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        except FileNotFoundError:
            return
        for process in [first, *map(int, children)]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while Path(f"/proc/{first}").exists():
            time.sleep(0.05)
        file.unlink(missing_ok=True)


class Site:
    """The server behind an instance."""

    def __init__(self, machine):
        self.process = machine.start(["python3", "-B", UPSTREAM, "3000"], stdout=subprocess.PIPE)
        if not self.process.stdout.readline():
            raise Missing("the site does not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Instance:
    """A `serve` on a machine; it is killed when left."""

    def __init__(self, machine, folder, settings):
        self.machine, self.folder, self.process = machine, folder, None
        folder.mkdir()
        (folder / "robot-detection.toml").write_text(settings)
        self.log = folder / "log"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("ROBOT_DETECTION_")}
        # No machine of the test reaches the Internet.
        self.environment["ROBOT_DETECTION_WEB_ROBOTS_DB"] = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.kill()

    def start(self, binary, **environment):
        self.binary = binary
        with self.log.open("ab") as log:
            self.process = self.machine.start(
                [binary, "serve"], cwd=self.folder, env=self.environment | environment, stdout=log, stderr=log
            )

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, f"{self.machine.name} does not stop cleanly"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def is_ready(self):
        try:
            return self.machine.get(9180, "/readyz")[0] == 200
        except OSError:
            return False

    def database(self):
        """Returns the reported state of the database."""
        return json.loads(self.machine.get(9180, "/readyz")[1])["database"]

    def command(self, *arguments):
        return self.machine.run([self.binary, *arguments], cwd=self.folder, env=self.environment, timeout=60)

    def fleet(self):
        told = self.command("instances", "--json")
        return json.loads(told.stdout)["instances"] if told.returncode == 0 else []


class Balancer:
    """HAProxy with the file of the guide."""

    def __init__(self, machine, folder, configuration):
        folder.mkdir()
        self.socket = folder / "socket"
        file = folder / "haproxy.cfg"
        file.write_text(f"global\n    stats socket {self.socket}\n\n{configuration}")
        with (folder / "log").open("wb") as log:
            self.process = machine.start(["haproxy", "-db", "-f", file], stdout=log, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def up(self, backend):
        """Returns the names of the servers that HAProxy considers alive."""
        with socket.socket(socket.AF_UNIX) as asked:
            try:
                asked.connect(str(self.socket))
            except OSError:
                return []
            asked.sendall(b"show stat\n")
            text = b"".join(iter(lambda: asked.recv(1 << 16), b"")).decode()
        rows = csv.DictReader(text.removeprefix("# ").splitlines())
        return [
            row["svname"]
            for row in rows
            if row["pxname"] == backend and row["svname"] not in ("FRONTEND", "BACKEND") and row["status"] == "UP"
        ]
