"""Compares other proxies that ask this program with its own proxy."""

import argparse
import base64
import hashlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
GPTBOT = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/141.0.0.0 Safari/537.36"
)
UNLISTED = "AcmeCorpSpider/1.0"

CONFIG = """
web_robots_db = ""
filter_pattern = "/members-only-stuff/*"
redirect_url = "/robot-heaven/"
[database]
url = "sqlite://{directory}/robots.db"
[server]
listen = "127.0.0.1:{own}"
upstream = "http://127.0.0.1:{site}"
trusted_proxies = ["127.0.0.1"]
[check]
listen = "unix:{directory}/check.sock"
[robots_txt]
serve = "settings"
disallow = "/closed/*"
enforce = "on"
[verify]
enabled = false
[[rule]]
name = "pay"
path = "/paid/*"
robots = "gptbot"
action = "refuse"
status = 402
text = "Pay first: https://example.org/licence"
[[rule]]
name = "gone"
path = "/gone/*"
action = "refuse"
status = 410
[[rule]]
name = "in place"
path = "/pages/*"
action = "serve"
[[rule]]
name = "posts"
path = "/forms/*"
methods = ["POST", "PUT"]
action = "refuse"
[[rule]]
name = "training"
path = "/news/*"
robots = "gptbot"
action = "refuse"
status = 402
headers = {{ "WWW-Authenticate" = "License", "Content-Usage" = "train-ai=n", "Link" = ["</l.xml>; rel=license", "</t>; rel=terms"] }}
[[rule]]
name = "terms"
path = "/news/*"
visitors = "robots"
action = "pass"
headers = {{ "Content-Usage" = "train-ai=n", "Link" = ["</l.xml>; rel=license", "</t>; rel=terms"] }}
[[x_robots_tag]]
path = "/tagged/*"
value = "noindex"
[[site]]
name = "shop"
hosts = ["shop.example.org", "*.shop.example.org"]
upstream = "http://127.0.0.1:{shop}"
filter_pattern = "/cart/*"
redirect_url = "/robot-heaven/"
"""

# What stands in the answers of the proxies themselves, and in ours.
FORGED = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "shop.example.org",
    "X-Original-URI": "/",
    "X-Original-Method": "GET",
    "X-Original-Host": "shop.example.org",
    "X-Robot-Detection": "googlebot",
    "X-Robot-Detection-Verdict": "verified",
    "X-Robot-Detection-Request": "203.0.113.9 https GET shop.example.org /",
    "X-Robot-Detection-Client": "203.0.113.9",
    "X-Robot-Detection-Scheme": "https",
    "X-Robot-Detection-Answer": "200",
    "X-Robot-Detection-Decision": "pass",
    "X-Robot-Detection-Page": "/secret",
    "Forwarded": "for=203.0.113.9",
}


class Site:
    """Site that tells what it was sent."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            stream, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()

    def serve(self, stream):
        reader = stream.makefile("rb")
        try:
            while (request := read_head(reader)) is not None:
                line, headers = request
                if headers.get("upgrade", "").lower() == "websocket":
                    key = headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
                    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
                    stream.sendall(
                        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        + f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
                    )
                    stream.sendall(reader.read(5))
                    return
                body = read_body(reader, headers)
                method, target, _ = line.split(" ", 2)
                told = {
                    "method": method,
                    "target": target,
                    "host": headers.get("host"),
                    "body": len(body),
                    "ours": {
                        name: value
                        for name, value in headers.items()
                        if name.startswith(("x-robot-detection", "x-original"))
                    },
                    "address": headers.get("x-forwarded-for"),
                    "port": self.port,
                }
                text = b"" if method == "HEAD" else json.dumps(told).encode()
                length = len(json.dumps(told).encode())
                stream.sendall(
                    f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
                    "Content-Usage: train-ai=y\r\nLink: </a.css>; rel=preload\r\n\r\n".encode()
                    + text
                )
        except OSError:
            pass
        finally:
            stream.close()


def read_head(reader):
    line = reader.readline()
    if not line:
        return None
    headers = {}
    while (header := reader.readline()) not in (b"\r\n", b""):
        name, _, value = header.decode("latin-1").partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return line.decode("latin-1").strip(), headers


def read_body(reader, headers):
    if "chunked" in headers.get("transfer-encoding", ""):
        body = b""
        while (size := int(reader.readline().split(b";")[0], 16)) > 0:
            body += reader.read(size)
            reader.readline()
        reader.readline()
        return body
    return reader.read(int(headers.get("content-length", 0)))


def ask(port, method, target, host, headers, body=b""):
    """Asks over HTTP/1.1; returns status, headers and body."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
    if body or method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(body)}")
    with socket.create_connection(("127.0.0.1", port), timeout=30) as stream:
        stream.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        reader = stream.makefile("rb")
        head = read_head(reader)
        if head is None:
            return 0, {}, b""
        line, got = head
        status = int(line.split(" ")[1])
        text = b"" if method == "HEAD" else (
            read_body(reader, got) if "content-length" in got or "transfer-encoding" in got else reader.read()
        )
        return status, got, text


def cases():
    """Requests that differ in who asks, for what, and how."""
    agents = [GOOGLEBOT, GPTBOT, FIREFOX, CHROME, UNLISTED, None]
    targets = [
        "/",
        "/members-only-stuff/a?b=c",
        "/members-only-stuff",
        "/%6dembers-only-stuff/a",
        "//members-only-stuff/a",
        "/a/../members-only-stuff/a",
        "/paid/1",
        "/gone/1",
        "/pages/1",
        "/closed/1",
        "/tagged/1",
        "/news/1",
        "/cart/1",
        "/a%20b?x=%2F&y",
    ]
    for agent, target, host in itertools.product(agents, targets, ["example.org", "shop.example.org"]):
        yield "GET", target, host, agent, b""
    for agent, method, target in itertools.product(
        agents, ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"], ["/members-only-stuff/a", "/forms/1", "/"]
    ):
        yield method, target, "example.org", agent, b"x" * 10 if method in ("POST", "PUT") else b""
    for agent, host in itertools.product(
        agents, ["SHOP.example.org", "a.shop.example.org", "shop.example.org:8080", "shop.example.org."]
    ):
        yield "GET", "/cart/1", host, agent, b""
    for agent, target in itertools.product(agents, ["/robots.txt", "/robot-heaven/", "/robot-heaven/none"]):
        yield "GET", target, "example.org", agent, b""
    yield "POST", "/upload", "example.org", FIREFOX, b"x" * (1 << 20)
    yield "POST", "/upload", "example.org", GPTBOT, b"x" * (1 << 20)


def seen(answer):
    """What a visitor and the site see, without what each proxy says of itself."""
    status, headers, body = answer
    shown = {"status": status}
    for name in ("location", "x-robots-tag", "retry-after", "www-authenticate", "content-usage"):
        if name in headers:
            shown[name] = headers[name]
    # Lines of a list are the same in any order: Caddy puts ours first.
    shown["links"] = sorted(headers.get("link", "").split(", "))
    shown["varies"] = "user-agent" in headers.get("vary", "").lower()
    try:
        told = json.loads(body)
        shown["site"] = {name: told[name] for name in ("method", "target", "body", "ours", "port")}
    except (ValueError, KeyError, TypeError):
        shown["text"] = body.decode("utf-8", "replace").strip()
    if status in (301, 302, 303, 307, 308):
        shown.pop("text", None)
    return shown


class Program:
    """This program, with its sites."""

    def __init__(self, binary, directory):
        self.binary, self.directory = binary, directory
        self.site, self.shop = Site(), Site()
        self.own = free_port()
        self.config = directory / "robot-detection.toml"
        self.config.write_text(
            CONFIG.format(directory=directory, own=self.own, site=self.site.port, shop=self.shop.port)
        )
        self.process = None
        self.start()

    def start(self):
        log = open(self.directory / "program.log", "ab")
        self.process = subprocess.Popen(
            [self.binary, "--config", self.config, "serve"],
            stdout=log, stderr=log, cwd=self.directory,
        )
        wait_for(self.own, self.process, (self.directory / "program.log").read_text)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()

    def print_file(self, name, listen, fails="closed"):
        return subprocess.run(
            [self.binary, "--config", self.config, "proxy-config", name, "--standalone", "--listen", str(listen)],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self.directory,
            env={**os.environ, "ROBOT_DETECTION_CHECK_FAILS": fails},
        ).stdout

    def counters(self):
        """Requests by everything but the status, which the endpoint does not see."""
        _, _, text = ask(self.own, "GET", "/metrics", "localhost", {})
        counted = {}
        for line in text.decode().splitlines():
            if not line.startswith("robot_detection_requests_total{"):
                continue
            labels, value = line.rsplit(" ", 1)
            labels = ",".join(
                label
                for label in sorted(labels.split("{", 1)[1].rstrip("}").split(","))
                if not label.startswith("status")
            )
            counted[labels] = counted.get(labels, 0) + float(value)
        return counted


class Front:
    """Another proxy, with the file that this program prints for it."""

    def __init__(self, name, program, listen=None, fails="closed"):
        self.name, self.program = name, program
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(dir=program.directory))
        text = program.print_file(name, (listen or "{}").format(self.port), fails)
        command = getattr(self, name)(text)
        log = open(self.directory / "log", "ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.directory, env=self.environment())
        wait_for(self.port, self.process, self.log)

    def environment(self):
        return {**os.environ, "HOME": str(self.directory), "XDG_DATA_HOME": str(self.directory)}

    def nginx(self, text):
        directory = self.directory
        main = (
            f"daemon off; pid {directory}/pid; error_log {directory}/error.log; worker_processes 1;\n"
            "events { worker_connections 1024; }\n"
            f"http {{ access_log off; client_max_body_size 10m; client_body_temp_path {directory}/body;\n"
            f"proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u;\n"
            f"scgi_temp_path {directory}/s; include {directory}/robot-detection.conf; }}\n"
        )
        (directory / "robot-detection.conf").write_text(text)
        (directory / "nginx.conf").write_text(main)
        command = ["nginx", "-c", directory / "nginx.conf", "-p", directory]
        if os.getuid() == 0:
            command += ["-g", "user root;"]
        return command

    def caddy(self, text):
        (self.directory / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https off\n}\n" + text)
        return ["caddy", "run", "--config", self.directory / "Caddyfile", "--adapter", "caddyfile"]

    def haproxy(self, text):
        lua = self.directory / "robot-detection.lua"
        lua.write_text(self.program.print_file("haproxy-lua", self.port))
        text = text.replace("/etc/haproxy/robot-detection.lua", str(lua))
        (self.directory / "haproxy.cfg").write_text(text)
        return ["haproxy", "-db", "-f", self.directory / "haproxy.cfg"]

    def log(self):
        names = [self.directory / "log", self.directory / "error.log"]
        return "\n".join(name.read_text(errors="replace")[-3000:] for name in names if name.exists())

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Report:
    def __init__(self):
        self.failures = 0

    def check(self, what, is_right, detail=""):
        if not is_right:
            self.failures += 1
            if self.failures <= 25:
                print(f"  DIFFERS {what}: {detail}")
        return is_right


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def wait_for(port, process, log, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"error: {process.args[0]} ended with {process.returncode}: {log()}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"error: {process.args[0]} does not listen")


def added(before, after):
    return {key: value - before.get(key, 0) for key, value in after.items() if value != before.get(key, 0)}


def compare(front, program, report):
    """Sends the same requests to both, and compares answers and counters."""
    requests = list(cases())
    results = {}
    for who, port in (("own", program.own), (front.name, front.port)):
        before = program.counters()
        answers = [
            seen(ask(port, method, target, host, {"User-Agent": agent}, body))
            for method, target, host, agent, body in requests
        ]
        # Each request is counted once its answer has ended.
        time.sleep(0.3)
        results[who] = answers, added(before, program.counters())
    (own, own_counters), (other, other_counters) = results["own"], results[front.name]
    for request, ours, theirs in zip(requests, own, other):
        what = f"{request[0]} {request[1]} {request[2]} {request[3]}"
        if is_served_in_place(request, ours) and front.name != "nginx":
            report.check(what, theirs["status"] == 302, f"{theirs} in place of a page")
            continue
        report.check(what, ours == theirs, f"\n    own   {ours}\n    {front.name} {theirs}")
    report.check(
        "counters",
        own_counters == other_counters,
        f"\n    own   {own_counters}\n    {front.name} {other_counters}",
    )
    print(f"  {len(requests)} requests")


def is_served_in_place(request, ours):
    return request[1].startswith("/pages/") and "site" not in ours


def forge(front, report):
    """Headers of a visitor change nothing, and reach no site."""
    for agent, target in itertools.product([GPTBOT, FIREFOX], ["/members-only-stuff/a", "/", "/paid/1"]):
        headers = {"User-Agent": agent}
        plain = seen(ask(front.port, "GET", target, "example.org", headers))
        forged = ask(front.port, "GET", target, "example.org", {**headers, **FORGED})
        report.check(f"forged {target} {agent}", plain == seen(forged), f"\n    {plain}\n    {forged}")
        if b"address" in forged[2]:
            address = json.loads(forged[2])["address"]
            report.check("forged address", address == "127.0.0.1", address)


def old(front, program, report):
    """HTTP/1.0 without Host: for the site of all other hosts."""
    for port in (program.own, front.port):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as stream:
            stream.sendall(f"GET /paid/1 HTTP/1.0\r\nUser-Agent: {GPTBOT}\r\n\r\n".encode())
            line, _ = read_head(stream.makefile("rb"))
            report.check(f"HTTP/1.0 at {port}", " 402 " in line, line)


def upgrade(front, report):
    headers = {
        "User-Agent": FIREFOX, "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    lines = ["GET /socket HTTP/1.1", "Host: example.org", "Connection: Upgrade"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.create_connection(("127.0.0.1", front.port), timeout=10) as stream:
        stream.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        reader = stream.makefile("rb")
        line, _ = read_head(reader)
        if report.check("websocket", "101" in line, line):
            stream.sendall(b"hello")
            report.check("websocket echo", reader.read(5) == b"hello")


def http2(name, program, report):
    listen = {"nginx": "{} http2", "haproxy": ":{} proto h2"}.get(name)
    if listen is None:
        return
    front = Front(name, program, listen)
    try:
        for agent, target, status in [
            (GPTBOT, "/members-only-stuff/a", "302"), (FIREFOX, "/members-only-stuff/a", "200"),
            (GPTBOT, "/paid/1", "402"), (FIREFOX, "/", "200"),
        ]:
            told = subprocess.run(
                ["curl", "-s", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", "--http2-prior-knowledge",
                 "-A", agent, "-H", "Host: example.org", f"http://127.0.0.1:{front.port}{target}"],
                stdout=subprocess.PIPE, text=True,
            ).stdout
            report.check(f"HTTP/2 {target} {agent}", told == f"2 {status}", told)
    finally:
        front.stop()


def fail(name, program, report):
    """The endpoint slow, then killed, then back: as the file says."""
    fronts = {way: Front(name, program, fails=way) for way in ("open", "closed")}

    def statuses(way):
        return [
            ask(fronts[way].port, "GET", "/", "example.org", {"User-Agent": FIREFOX})[0] for _ in range(3)
        ]

    try:
        for how in ("slow", "killed"):
            if how == "slow":
                program.process.send_signal(signal.SIGSTOP)
            else:
                program.stop()
            opened, closed = statuses("open"), statuses("closed")
            report.check(f"{how}, fails open", opened == [200] * 3, opened)
            report.check(f"{how}, fails closed", all(status >= 500 for status in closed), closed)
            if how == "slow":
                program.process.send_signal(signal.SIGCONT)
            else:
                program.start()
        for way in fronts:
            report.check(f"back, fails {way}", statuses(way) == [200] * 3, statuses(way))
    finally:
        for front in fronts.values():
            front.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="target/release/robot-detection")
    parser.add_argument("--only", choices=["nginx", "caddy", "haproxy"])
    arguments = parser.parse_args()
    binary = Path(arguments.binary).resolve()
    if not binary.exists():
        print(f"error: there is no {binary}: cargo build --release", file=sys.stderr)
        return 2
    report = Report()
    with tempfile.TemporaryDirectory() as directory:
        program = Program(binary, Path(directory))
        try:
            for name in [arguments.only] if arguments.only else ["nginx", "caddy", "haproxy"]:
                print(name)
                front = Front(name, program)
                failures = report.failures
                try:
                    compare(front, program, report)
                    forge(front, report)
                    upgrade(front, report)
                    old(front, program, report)
                finally:
                    front.stop()
                if report.failures > failures:
                    print(front.log())
                http2(name, program, report)
                fail(name, program, report)
                print("  as our own proxy" if report.failures == failures else "  NOT as our own proxy")
        finally:
            program.stop()
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
