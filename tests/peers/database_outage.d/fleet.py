"""PostgreSQL, instances on it, and HAProxy in front; each is stopped when left."""

import csv
import http.client
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

SETTINGS = """
web_robots_db = ""
filter_pattern = "/private/*"
redirect_url = "/robot-heaven/"
[database]
url = "{database}"
[server]
listen = "127.0.0.1:{port}"
upstream = "{upstream}"
drain_delay_seconds = 3
[admin]
listen = "127.0.0.1:{admin}"
[operation]
listen = "127.0.0.1:0"
"""

BALANCER = """
global
    stats socket {folder}/haproxy.sock
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend site
    bind 127.0.0.1:{port}
    default_backend fleet
backend fleet
    option httpchk GET /readyz
    default-server inter 1s fall 2 rise 1
    retries 3
    option redispatch 1
    retry-on conn-failure empty-response
    http-request disable-l7-retry unless METH_GET
"""


class Missing(Exception):
    """A requirement of the test is missing, or does not start."""


class Postgres:
    """A server on a socket in a separate folder."""

    def __init__(self, folder, connections):
        self.folder, self.data, self.connections = folder, folder / "data", connections
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda bin: float(bin.parent.name))
        self.programs = found[-1]
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if (self.data / "postmaster.pid").exists():
            self.signal_all("SIGCONT")
            self.stop()

    @property
    def url(self):
        return f"postgres:///postgres?host={self.folder}&user=postgres"

    def start(self):
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off -c max_connections={self.connections}"
        self.run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "-o", options, "start")

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")

    def signal_all(self, name):
        """Signals the server and its children, which freezes or continues them."""
        first = int((self.data / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for process in [first, *map(int, children)]:
            os.kill(process, getattr(signal, name))

    def run(self, program, *arguments):
        command = [self.programs / program, *arguments]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        with (self.folder / "out").open("ab") as out:
            done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        if done.returncode:
            raise Missing(f"{program}: {(self.folder / 'out').read_text()}")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Instance:
    """A running `serve`, which can be restarted at the same ports; it is killed when left."""

    def __init__(self, binary, folder, database, upstream):
        folder.mkdir()
        settings = SETTINGS.format(database=database, upstream=upstream, port=free_port(), admin=free_port())
        (folder / "robot-detection.toml").write_text(settings)
        self.binary, self.folder, self.log = binary, folder, folder / "log"
        self.start()

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ROBOT_DETECTION_")}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve"], cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.admin = self._port(r"admin page: http://[^/]*:(\d+)/")
        self.port = self._port(r" on http://[^/]*:(\d+)/")
        # Later output must not block the program.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def restart(self):
        self.process.terminate()
        code = self.process.wait(60)
        assert code == 0, f"an instance exited with {code}: {self.log.read_text()[-2000:]}"
        self.start()

    def _port(self, pattern):
        for line in self.process.stdout:
            if found := re.search(pattern, line):
                return int(found[1])
        raise AssertionError(f"an instance does not start: {self.log.read_text()}")

    def readiness(self):
        """Returns the status, the reported state of the database, and the duration in seconds."""
        start = time.monotonic()
        client = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=20)
        try:
            client.request("GET", "/readyz")
            answer = client.getresponse()
            return answer.status, json.loads(answer.read())["database"], time.monotonic() - start
        finally:
            client.close()


class Balancer:
    """HAProxy in front of some instances, whose readiness it checks every two seconds."""

    def __init__(self, folder, instances):
        self.socket, self.port = folder / "haproxy.sock", free_port()
        servers = [
            f"    server i{number} 127.0.0.1:{one.port} check port {one.admin}\n"
            for number, one in enumerate(instances)
        ]
        (folder / "haproxy.cfg").write_text(
            BALANCER.format(folder=folder, port=self.port) + "".join(servers)
        )
        with (folder / "haproxy.log").open("wb") as log:
            self.process = subprocess.Popen(["haproxy", "-f", folder / "haproxy.cfg", "-db"], stdout=log, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def servers(self):
        """Returns the state of each instance, and how often it went down."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(str(self.socket))
            asked.sendall(b"show stat\n")
            text = b"".join(iter(lambda: asked.recv(1 << 16), b"")).decode()
        rows = csv.DictReader(text.removeprefix("# ").splitlines())
        return [
            (row["status"], int(row["chkdown"]))
            for row in rows
            if row["pxname"] == "fleet" and row["svname"] != "BACKEND"
        ]
