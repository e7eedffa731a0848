"""The program under test with its sites, and the queries that each front proxy sends to the decision endpoint."""

import json
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import wire
from upstream import Site

TOKEN = "0123456789abcdef0123"
DIALECTS = ["nginx", "caddy", "traefik", "haproxy", "envoy", "apache", "ingress-nginx"]

class Program:
    """The program, started with its own configuration."""

    def __init__(self, binary, verify="enabled = false", fails=None, trusted=""):
        self.binary = binary
        self.directory = Path(tempfile.mkdtemp(prefix="front-proxies-"))
        self.sites = [Site("main"), Site("shop"), Site("docs")]
        self.own, self.check, self.operation = free_port(), free_port(), free_port()
        self.config = self.directory / "robot-detection.toml"
        site, shop, docs = (site.port for site in self.sites)
        template = (Path(__file__).parent / "robot-detection.toml").read_text()
        self.config.write_text(template.format(
            directory=self.directory, own=self.own, check=self.check, operation=self.operation, token=TOKEN, site=site, shop=shop, docs=docs,
            verify=verify, fails=f'fails = "{fails}"' if fails and self.knows("check.fails") else "", trusted=trusted,
        ))
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        with open(self.directory / "program.log", "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "--config", self.config, "serve"], stdout=log, stderr=log, cwd=self.directory
            )
        wait_for(self.own, self.process, (self.directory / "program.log").read_text)
        return self

    def knows(self, setting):
        shown = subprocess.run([self.binary, "init", "--stdout"], capture_output=True, text=True, cwd=self.directory).stdout
        return setting.upper().replace(".", "_") in shown

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()

    def run(self, *arguments, **more):
        command = [self.binary, "--config", self.config, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.directory, **more).stdout

    def explain(self, cases):
        """Returns the results of `explain` by the `id` of their case, except cases that cannot be expressed."""
        askable = [case for case in cases if not case.is_odd and "\\" not in case.target and '"' not in case.target]
        # A log line contains neither headers nor an empty User-Agent.
        plain = [case for case in askable if case.agent and len(case.headers) == 2]
        lines = [json.dumps({
            "request_uri": case.target, "request_method": case.method, "host": case.host, "status": 200,
            "http_user_agent": case.agent, "remote_addr": wire.VISITOR, "time_iso8601": "2026-11-29T12:00:00+00:00",
        }) for case in plain]
        log = self.directory / "explained.log"
        log.write_text("\n".join(lines) + "\n")
        told = [json.loads(line) for line in self.run("explain", "--from-log", log, "--json").splitlines()]
        return {id(plain[one["line"] - 1]): one for one in told if "decision" in one}

    def counters(self):
        """Requests by all labels except the status, which only a proxy that forwards the request sees."""
        counted = {}
        for line in wire.ask(self.operation, "/metrics", source="127.0.0.1").body.decode().splitlines():
            if line.startswith("robot_detection_requests_total{"):
                labels, value = line.rsplit(" ", 1)
                labels = sorted(labels.split("{", 1)[1].rstrip("}").split(","))
                key = ",".join(label for label in labels if not label.startswith("status"))
                counted[key] = counted.get(key, 0) + float(value)
        return counted


# Connection and body headers, which no query has.
LEFT_OUT = ("connection", "content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer", "host")


def question(dialect, case):
    """Writes the query that a front proxy of this kind sends about a case."""
    set_by_front = {
        "nginx": ["x-robot-detection-request"], "caddy": ["x-robot-detection-request"],
        "haproxy": ["x-robot-detection-request"], "apache": ["x-robot-detection-request"], "envoy": ["x-robot-detection-client", "x-robot-detection-scheme"],
        "traefik": [f"x-forwarded-{part}" for part in ("for", "proto", "method", "host", "uri")],
        "ingress-nginx": ["x-original-url", "x-original-method", "x-real-ip", "x-forwarded-for"],
    }[dialect] + ["x-robot-detection-token", "x-robot-detection-client", "x-robot-detection-scheme",
                  "x-robot-detection-request", "x-robot-detection-page"]
    kept = [(n, v) for n, v in case.headers if wire.to_bytes(n).decode("latin-1").lower() not in LEFT_OUT
            and wire.to_bytes(n).decode("latin-1").lower() not in set_by_front]
    host, target = case.host or "-", case.target
    absolute = re.match(r"https?://(?:[^/@]*@)?([^/]*)(/.*)", target, re.IGNORECASE)
    if dialect in ("envoy", "ingress-nginx") and absolute:
        host, target = absolute.groups()
    description = {
        "envoy": [("X-Robot-Detection-Client", wire.VISITOR), ("X-Robot-Detection-Scheme", "http")],
        "traefik": [("X-Forwarded-For", wire.VISITOR), ("X-Forwarded-Proto", "http"), ("X-Forwarded-Method", case.method),
                    ("X-Forwarded-Host", host), ("X-Forwarded-Uri", target)],
        "ingress-nginx": [("X-Original-URL", f"http://{host}{target}"), ("X-Original-Method", case.method),
                          ("X-Real-IP", wire.VISITOR)],
    }.get(dialect, [("X-Robot-Detection-Request", f"{wire.VISITOR} http {case.method} - {target}")])
    headers = [("Host", host), *description, ("X-Robot-Detection-Token", TOKEN), *kept]
    if dialect == "envoy":
        return wire.head(case.method, "/check/envoy" + target, headers)
    return wire.head("GET", f"/check/{dialect}", headers)


def unfold(answer):
    """Parses the response to nginx or Apache, a line of fields, into the response for the visitor."""
    line = answer.header("x-robot-detection-answer")
    if line is None:
        return answer
    status, *fields = line.split("\t")
    fields = dict(field.partition("=")[::2] for field in fields)
    if "page" in fields:
        return wire.Answer(204)
    return wire.Answer(int(status), [*fields.items(), *answer.headers])


def free_port():
    """Returns a port below the ephemeral ports, which clients could occupy meanwhile."""
    while True:
        port = random.randint(20_000, 32_000)
        try:
            socket.create_server(("0.0.0.0", port)).close()
            return port
        except OSError:
            continue


def wait_for(port, process, log, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"error: {process.args[0]} ended with {process.returncode}: {log()[-3000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"error: {process.args[0]} does not listen: {log()[-3000:]}")
