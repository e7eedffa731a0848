"""Compares Apache, which queries this program or surrounds it, with the program's own proxy."""

import argparse
import getpass
import grp
import http.server
import itertools
import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MODULES = Path("/usr/lib/apache2/modules")
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
GPTBOT = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
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
fails = "{fails}"
[robots_txt]
serve = "settings"
disallow = "/closed/*"
enforce = "on"
[verify]
enabled = {verify}
dns_servers = ["127.0.0.1:{dns}"]
[[rule]]
name = "waits"
path = "/waits/*"
robots = "googlebot"
verdicts = ["spoofed", "unverifiable"]
action = "refuse"
wait_milliseconds = 5000
[[rule]]
name = "pay"
path = "/paid/*"
robots = "gptbot"
action = "refuse"
status = 402
[[rule]]
name = "gone"
path = "/gone/*"
action = "refuse"
status = 410
[[rule]]
name = "law"
path = "/refused/*"
action = "refuse"
status = 451
[[rule]]
name = "posts"
path = "/forms/*"
methods = ["POST", "PUT"]
action = "refuse"
[[rule]]
name = "monitor"
path = "/"
request_headers = ["X-Monitor: yes"]
visitors = "robots"
action = "refuse"
status = 429
[[rule]]
name = "terms"
path = "/news/*"
visitors = "robots"
action = "pass"
headers = {{ "Content-Usage" = "train-ai=n" }}
[[x_robots_tag]]
path = "/tagged/*"
value = "noindex"
"""

BASE = """
ServerRoot {directory}
PidFile {directory}/apache.pid
ErrorLog {directory}/error.log
ServerName localhost
LoadModule mpm_event_module {modules}/mod_mpm_event.so
{loaded}
{user}
"""


class Site:
    """Site that prints the request it received."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes: the second would wait 40 ms for an acknowledgement.
            disable_nagle_algorithm = True

            def answer(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                ours = {k.lower(): v for k, v in self.headers.items() if "robot" in k.lower()}
                told = {"method": self.command, "target": self.path, "body": len(body), "ours": ours}
                text = json.dumps(told).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 256

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def silent_dns():
    """A name server that never responds."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    return server


def ask(port, method, target, headers, body=b"", host="example.org"):
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers if value is not None]
    if method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(body)}")
    with socket.create_connection(("127.0.0.1", port), timeout=30) as stream:
        stream.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        data = b""
        while part := stream.recv(65536):
            data += part
    head, _, text = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    got = {}
    for line in rest:
        name, _, value = line.partition(":")
        got.setdefault(name.lower(), value.strip())
    return int(first.split(" ")[1]), got, text


def by(agent):
    return [("User-Agent", agent)]


def cases():
    agents = [GOOGLEBOT, GPTBOT, FIREFOX, UNLISTED, None]
    targets = [
        "/", "/members-only-stuff/a?b=c", "/members-only-stuff", "/%6dembers-only-stuff/a", "//members-only-stuff/a",
        "/a/../members-only-stuff/a", "/x/../../../refused/x", "/robot-heaven/../refused/x", "/..%2frefused/x", "/a%2f..%2f..%2frefused/x", "/refused%2fx", "/REFUSED/x",
        "/refused/x;a=b", "/refused/", "/refused", "/refused/%2e%2e/refused/x", "/assets/app.js", "/refused/./x", "/%72%65fused/x?y", "//refused//x", "/refused/x%3fy", "/paid/1", "/gone/1",
        "/closed/1", "/tagged/1", "/news/1", "/a%20b?x=%2F&y", "/a%3fb", "/a?b?c", "/?", "/a//b", "/a%2fb",
        "/robots.txt", "/robot-heaven/", "/robot-heaven/none", "/robot-heaven/?a=b",
    ]
    for agent, target in itertools.product(agents, targets):
        yield "GET", target, by(agent), b""
    for agent, method, target in itertools.product(
        agents, ["HEAD", "POST", "PUT", "DELETE"], ["/members-only-stuff/a", "/forms/1", "/", "/refused/x", "/news/1"]
    ):
        yield method, target, by(agent), b"x" * 10 if method in ("POST", "PUT") else b""
    for agent in agents:
        for more in (
            ("X-Monitor", "yes"), ("X-Monitor", "no"), ("Cookie", "a=b; robot-detection-person=x; c=d"),
            ("Authorization", "Basic eDp5"), ("Referer", "http://example.org/${a}%{b}|c\\1$1%1"),
            ("Accept-Language", "de|en"),
        ):
            yield "GET", "/", by(agent) + [more], b""


def seen(answer, port):
    """Returns what visitor and site see, without headers by which proxies identify themselves."""
    status, headers, body = answer
    shown = {"status": status}
    location = headers.get("location", "")
    # Apache turns a path into an absolute URL.
    shown["location"] = location.removeprefix(f"http://example.org:{port}")
    if status < 300:
        for name in ("x-robots-tag", "content-usage"):
            shown[name] = headers.get(name)
    if status == 429:
        shown["retry-after"] = "retry-after" in headers
    try:
        told = json.loads(body)
        shown["site"] = {name: told[name] for name in ("method", "target", "body", "ours")}
    except (ValueError, KeyError, TypeError):
        pass
    return shown


class Program:
    def __init__(self, binary, directory, fails="closed", verify=False):
        self.binary, self.directory = str(binary), directory
        self.site, self.dns, self.own = Site(), silent_dns(), free_port()
        self.config = directory / "robot-detection.toml"
        self.config.write_text(
            CONFIG.format(
                directory=directory, own=self.own, site=self.site.port, fails=fails, dns=self.dns.getsockname()[1],
                verify="true" if verify else "false",
            )
        )
        self.start()

    def start(self):
        log = open(self.directory / "program.log", "ab")
        self.process = subprocess.Popen(
            [self.binary, "--config", self.config, "serve"], stdout=log, stderr=log, cwd=self.directory
        )
        wait_for(self.own)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()

    def print_file(self, *more):
        command = [self.binary, "--config", self.config, "proxy-config", "apache", *more]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.directory).stdout


class Apache:
    def __init__(self, program, virtual_hosts):
        self.directory, self.port = Path(tempfile.mkdtemp(dir=program.directory)), free_port()
        os.chmod(self.directory, 0o755)
        names = "authz_core rewrite headers setenvif remoteip proxy proxy_http proxy_wstunnel"
        loaded = "\n".join(
            f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in names.split()
        )
        user = getpass.getuser()
        group = grp.getgrgid(os.getgid()).gr_name
        identity = "User www-data\nGroup www-data" if os.getuid() == 0 else ""
        base = BASE.format(directory=self.directory, modules=MODULES, loaded=loaded, user=identity)
        hosts = virtual_hosts(self.port)
        # The user of a packaged program; here, the user that runs the test.
        hosts = hosts.replace(" robot-detection:robot-detection", f" {user}:{group}" if os.getuid() == 0 else "")
        self.config = self.directory / "apache.conf"
        self.config.write_text(base + hosts)
        self.control("start")
        wait_for(self.port)
        # The worker first reads its configuration.
        eventually(lambda: status(self.port) != 503, 10)

    def control(self, word):
        command = ["apache2", "-f", self.config, "-k", word]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            raise SystemExit(f"error: apache2 -k {word}: {result.stderr}")

    def pid(self):
        return int((self.directory / "apache.pid").read_text())

    def parent(self):
        """The program that Apache has started for the map."""
        return next(pid for pid in children(self.pid()) if "apache-map" in command_line(pid))

    def worker(self):
        return next(iter(children(self.parent())))

    def stop(self):
        pid = self.pid()
        self.control("stop")
        eventually(lambda: not Path(f"/proc/{pid}").exists(), 10)


def children(parent):
    text = Path(f"/proc/{parent}/task").iterdir()
    lists = [(thread / "children").read_text().split() for thread in text]
    return [int(pid) for pids in lists for pid in pids]


def command_line(pid):
    return Path(f"/proc/{pid}/cmdline").read_text()


def memory_kib(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def eventually(is_so, seconds):
    start = time.monotonic()
    while not is_so():
        if time.monotonic() - start > seconds:
            return None
        time.sleep(0.02)
    return time.monotonic() - start


def wait_for(port):
    def answers():
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            return False

    if eventually(answers, 60) is None:
        raise SystemExit(f"error: nothing listens at {port}")


def arrangement(program):
    """The printed file, and the site's own virtual host on loopback."""

    def hosts(port):
        # The printed `<VirtualHost *:PORT>` stays; Debian's ports are not used here.
        return program.print_file("--standalone", "--listen", str(port))

    return hosts


def mapped(program, more=""):
    def hosts(port):
        include = program.print_file()
        return (
            f"Listen 127.0.0.1:{port}\n<VirtualHost 127.0.0.1:{port}>\n{include}\nAllowEncodedSlashes NoDecode\nMergeSlashes Off\n{more}"
            f'ProxyPass "/" "http://127.0.0.1:{program.site.port}/" nocanon\n</VirtualHost>\n'
        )

    return hosts


class Report:
    def __init__(self):
        self.failures = 0

    def check(self, name, is_right, detail=""):
        self.failures += not is_right
        print(f"{'ok  ' if is_right else 'FAIL'} {name}{': ' if detail else ''}{detail}", flush=True)


def compare(report, name, program, port):
    same, differences, front, away = 0, [], 0, 0
    for method, target, headers, body in cases():
        host = f"example.org:{port}"
        own = seen(ask(program.own, method, target, headers, body, host), port)
        asked = seen(ask(port, method, target, headers, body, host), port)
        if asked["status"] == 503:
            # On a busy machine the map may give up a query after 250 ms.
            away += 1
            eventually(lambda: status(port) != 503, 5)
            asked = seen(ask(port, method, target, headers, body, host), port)
        if own == asked:
            same += 1
        elif 400 <= asked["status"] < 500 and own["status"] == 200 and ".." in target:
            front += 1
        elif asked["status"] in (400, 404) and ".." in target:
            front += 1
        else:
            differences.append(f"{method} {target} {headers}\n    own    {own}\n    apache {asked}")
    for difference in differences[:10]:
        print("  ", difference)
    detail = f"{same} equal, {front} refused by Apache itself, {len(differences)} differ, {away} repeated"
    report.check(f"{name}: decisions", not differences and same + front >= 300, detail)


def status(port, agent=FIREFOX, target="/", headers=()):
    return ask(port, "GET", target, by(agent) + list(headers))[0]


def timed(port, agent=FIREFOX, target="/", headers=()):
    start = time.monotonic()
    return status(port, agent, target, headers), (time.monotonic() - start) * 1000


def forged(report, port):
    names = ["X-Robot-Detection", "x_robot_detection", "X.Robot-Detection", "X-Robot_Detection-Verdict",
             "X_Robot_Detection_Verdict", "X-Robot-Detection-Verdict"]
    reached = []
    for name in names:
        code, _, text = ask(port, "GET", "/", [*by(FIREFOX), (name, "googlebot")])
        if code == 200 and json.loads(text)["ours"]:
            reached.append(f"{name}: {text[:200]}")
    report.check("map: forged headers do not reach the site", not reached, "; ".join(reached))
    code = ask(port, "GET", "/robot-detection/admin/../../refused/x", by(GPTBOT))[0]
    report.check("map: a detour through our own pages is refused", code in (400, 404, 451), str(code))
    hidden = ask(port, "GET", "/", [("User-Agent", f"Fire\t{FIREFOX}")])[0]
    report.check("map: a tab in a header is refused", hidden == 400, str(hidden))
    long = ask(port, "GET", "/?" + "a" * 8000, [*by(FIREFOX), ("Referer", "r" * 8000), ("Accept", "a" * 4000)])[0]
    report.check("map: a key of more than 16 KiB is refused", long == 400, str(long))


def failing(report, program, apache, fails):
    port, away = apache.port, 503 if fails == "closed" else 200
    name = f"map, {fails}"
    os.kill(apache.worker(), signal.SIGKILL)
    status(port)
    took = eventually(lambda: status(port, GPTBOT, "/refused/x") == 451, 5)
    report.check(f"{name}: worker killed, back within 1 s", took is not None and took <= 1, f"{took:.2f} s")

    os.kill(apache.worker(), signal.SIGSTOP)
    first = timed(port)
    report.check(f"{name}: worker hangs", first[0] == away and first[1] <= 300, f"{first[0]} in {first[1]:.0f} ms")
    took = eventually(lambda: status(port, GPTBOT, "/refused/x") == 451, 5)
    report.check(f"{name}: worker hung, back within 1 s", took is not None and took <= 1.3, f"{took:.2f} s")

    program.process.send_signal(signal.SIGSTOP)
    start = time.monotonic()
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: timed(port), range(10)))
    total = (time.monotonic() - start) * 1000
    is_right = total <= 300 and all(code == away for code, _ in answers)
    report.check(f"{name}: endpoint frozen, ten concurrent", is_right, f"{total:.0f} ms in all, {answers[0][0]}")
    later = timed(port)
    report.check(f"{name}: endpoint still frozen", later[0] == away and later[1] <= 50, f"{later[1]:.0f} ms")
    program.process.send_signal(signal.SIGCONT)
    took = eventually(lambda: status(port, GPTBOT, "/refused/x") == 451, 5)
    report.check(f"{name}: endpoint continues, back within 2 s", took is not None and took <= 2, f"{took:.2f} s")

    program.stop()
    first, later = timed(port), timed(port)
    is_right = first[0] == later[0] == away and first[1] <= 300 and later[1] <= 50
    report.check(f"{name}: endpoint stopped", is_right, f"{first[0]}, {first[1]:.0f} ms, then {later[1]:.0f} ms")
    program.start()
    took = eventually(lambda: status(port, GPTBOT, "/refused/x") == 451, 5)
    report.check(f"{name}: endpoint started, back within 2 s", took is not None and took <= 2, f"{took:.2f} s")

    os.kill(apache.parent(), signal.SIGKILL)
    codes = {status(port, GPTBOT, "/refused/x") for _ in range(20)}
    report.check(f"{name}: parent killed", codes == {away}, str(codes))
    apache.control("graceful")
    took = eventually(lambda: status(port, GPTBOT, "/refused/x") == 451, 10)
    report.check(f"{name}: back after a graceful restart", took is not None, f"{took:.2f} s")
    parent, worker = apache.parent(), apache.worker()
    os.kill(parent, signal.SIGTERM)
    gone = eventually(lambda: not Path(f"/proc/{worker}").exists(), 5)
    report.check(f"{name}: SIGTERM ends the parent and the worker", gone is not None)
    apache.control("graceful")
    eventually(lambda: status(port, GPTBOT, "/refused/x") == 451, 10)


def growth(report, apache, requests):
    def run(number):
        def keep(_):
            with socket.create_connection(("127.0.0.1", apache.port), timeout=30) as stream:
                reader = stream.makefile("rb")
                for turn in range(100):
                    stream.sendall(
                        f"GET /a{turn} HTTP/1.1\r\nHost: example.org\r\nUser-Agent: {GPTBOT}\r\n\r\n".encode()
                    )
                    length, line = 0, reader.readline()
                    while (line := reader.readline()) not in (b"\r\n", b""):
                        if line.lower().startswith(b"content-length:"):
                            length = int(line.split(b":")[1])
                    reader.read(length)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(keep, range(number // 100)))

    run(2_000)
    pids = [apache.parent(), apache.worker()]
    before = [memory_kib(pid) for pid in pids]
    start = time.monotonic()
    run(requests)
    rate = requests / (time.monotonic() - start)
    now = [apache.parent(), apache.worker()]
    grown = [memory_kib(pid) - was for pid, was in zip(now, before)]
    is_right = now[0] == pids[0] and all(kib <= 256 for kib in grown)
    report.check(f"map: {requests} requests without growth", is_right, f"KiB {before} + {grown}, {rate:.0f} a second")


def slow_dns(report, binary, directory):
    program = Program(binary, directory, verify=True)
    behind_cdn = "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\n"
    apache = Apache(program, mapped(program, behind_cdn))

    def visit(port, number):
        # Names of loopback addresses are not looked up.
        return timed(port, GOOGLEBOT, "/waits/x", [("X-Forwarded-For", f"8.8.8.{number}")])

    try:
        start = time.monotonic()
        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(lambda number: visit(apache.port, number), range(10)))
        total = (time.monotonic() - start) * 1000
        is_right = total <= 300 and {code for code, _ in answers} == {200}
        report.check("map: DNS never responds, ten concurrent", is_right, f"{total:.0f} ms in all, {answers[0][0]}")
        waited = visit(program.own, 99)
        report.check("own proxy: waits for the same verdict", waited[1] > 1_000, f"{waited[1]:.0f} ms")
    finally:
        apache.stop()
        program.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="target/release/robot-detection", type=Path)
    parser.add_argument("--requests", default=20_000, type=int)
    arguments = parser.parse_args()
    binary = arguments.binary.resolve()
    if not binary.exists():
        sys.exit(f"error: {binary} is missing: cargo build --release --features acme")
    report = Report()
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)

        def place(name):
            directory = Path(top) / name
            directory.mkdir()
            return directory

        for fails in ("closed", "open"):
            program = Program(binary, place(fails), fails)
            apache = Apache(program, mapped(program))
            try:
                if fails == "closed":
                    compare(report, "map", program, apache.port)
                    forged(report, apache.port)
                    growth(report, apache, arguments.requests)
                    behind = Apache(program, arrangement(program))
                    compare(report, "arrangement", program, behind.port)
                    behind.stop()
                failing(report, program, apache, fails)
            finally:
                apache.stop()
                program.stop()
        slow_dns(report, binary, place("dns"))
    sys.exit(1 if report.failures else 0)


main()
