"""Reloads and starts with damaged configurations, and compares the responses with those of the intact one."""

import argparse
import http.client
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FILES = 200
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
ROBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
RULES = "".join(f"""
[[rule]]
name = "closed {number}"
path = "/closed/{number}/*"
visitors = "robots"
action = "refuse"
""" for number in range(12))
WHOLE = """web_robots_db = ""
reload_on_change = true
filter_pattern = ["/private/*", "/drafts/*"]
[server]
upstream = ["http://127.0.0.1:{main}", "http://127.0.0.1:{main}"]
[robots_txt]
serve = "settings"
disallow = ["/never/"]
enforce = "on"
""" + RULES + """
[[site]]
name = "shop"
hosts = ["shop.example"]
upstream = "http://127.0.0.1:{shop}"
filter_pattern = "/cart/*"
[[site.rule]]
path = "/checkout/*"
visitors = "robots"
action = "refuse"
"""
# Host, path, User-Agent, and the response under the intact configuration.
QUESTIONS = [
    ("main.example", "/", BROWSER, "200 main"), ("main.example", "/private/a", ROBOT, "302"),
    ("main.example", "/drafts/a", ROBOT, "302"), ("main.example", "/never/a", ROBOT, "403"),
    ("shop.example", "/", BROWSER, "200 shop"), ("shop.example", "/cart/a", ROBOT, "302"),
    ("shop.example", "/checkout/a", ROBOT, "403"),
    *[("main.example", f"/closed/{number}/a", ROBOT, "403") for number in range(12)],
]


def main():
    parser = argparse.ArgumentParser(prog="tests/peers/damaged_configuration", description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/robot-detection")
    binary = parser.parse_args().binary.resolve()
    if not binary.is_file():
        print(f"error: {binary} is missing: cargo build --release, or --binary", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as directory, site("main") as main, site("shop") as shop:
        whole = WHOLE.format(main=main.server_port, shop=shop.server_port)
        files = list(itertools.islice(damaged(whole), FILES))
        faults = reload_all(binary, Path(directory), whole, files) + start_all(binary, Path(directory), whole, files)
    print(f"{faults} faults")
    return 1 if faults else 0


def damaged(whole):
    """Returns texts that replace the intact configuration."""
    yield from ("", "\n", " \t", "# nothing\n", "\0\0\0", "{}", "- a: b\n", "<html></html>", "\ufeff", whole * 2)
    yield from (whole[:end] for end in range(10, len(whole), 10))
    for path in sorted(Path("/etc").rglob("*.conf")) + sorted(ROOT.glob("**/*.toml")):
        try:
            yield path.read_text()
        except (OSError, UnicodeDecodeError):
            continue


def reload_all(binary, directory, whole, files):
    """Reloads each text under load."""
    faults, asked, stopped = Counter(), Counter(), threading.Event()
    with Program(binary, directory, whole) as program:
        def ask_all():
            while not stopped.is_set():
                for question in QUESTIONS:
                    asked["all"] += 1
                    if (answer := program.ask(*question[:3])) != question[3]:
                        faults[f"{question[:2]} got {answer}"] += 1

        clients = [threading.Thread(target=ask_all) for _ in range(4)]
        [client.start() for client in clients]
        for text in files:
            before = program.reloads()
            program.file.write_text(text)
            program.process.send_signal(signal.SIGHUP)
            wait(f"the reload of {text[-60:]!r}: {program.all_log()[-600:]}", lambda: program.reloads() > before)
        program.file.write_text(whole)
        before = program.reloads()
        program.process.send_signal(signal.SIGHUP)
        wait("the last reload", lambda: program.reloads() > before)
        stopped.set()
        [client.join() for client in clients]
        if "INFO reloaded" not in program.log()[-1]:
            faults["the intact configuration is not reloaded"] += 1
        kept = sum("INFO reloaded" not in line for line in program.log())
    print(f"{len(files)} reloads, {kept} of them rejected; {asked['all']} requests: {dict(faults)}")
    return sum(faults.values())


def start_all(binary, directory, whole, files):
    """Starts with each."""
    outcomes, faults = Counter(), 0

    def start(numbered):
        number, text = numbered
        folder = directory / str(number)
        folder.mkdir()
        with Program(binary, folder, text) as program:
            if program.port is None:
                return "ends with an error", "error" in program.all_log()
            counts = re.search(r"sites: \d+, upstreams: \d+, rules and filter patterns: \d+", program.all_log())
            answers = {program.ask(host, path, agent) for host, path, agent, _ in QUESTIONS}
            is_right = answers <= {"200 main", "200 shop", "302", "403", "421", "404"}
            return "serves the remaining sites", bool(counts) and is_right

    with ThreadPoolExecutor(3) as pool:
        for text, (outcome, is_right) in zip(files, pool.map(start, enumerate(files))):
            outcomes[outcome] += 1
            if not is_right:
                faults += 1
                print(f"  start: {outcome}: {text[-60:]!r}")
    print(f"{len(files)} starts: {dict(outcomes)}; {faults} faults")
    return faults


class Program:
    """A running `serve`; `port` is `None` if it has exited."""

    def __init__(self, binary, folder, text):
        self.file = folder / "robot-detection.toml"
        self.file.write_text(text)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ROBOT_DETECTION_")}
        environment |= {"ROBOT_DETECTION_SERVER_LISTEN": "127.0.0.1:0", "ROBOT_DETECTION_OPERATION_LISTEN": "127.0.0.1:0"}
        self.log_file = folder / "log"
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen([binary, "serve"], cwd=folder, env=environment, stdout=log, stderr=log)
        wait("the start", lambda: self.process.poll() is not None or self._port())
        self.port = self._port() if self.process.poll() is None else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def all_log(self):
        return self.log_file.read_text(errors="replace")

    def _port(self):
        found = re.search(r" on http://127\.0\.0\.1:(\d+)/", self.all_log())
        return found and int(found[1])

    def log(self):
        return [line for line in self.all_log().splitlines() if "SIGHUP" in line]

    def reloads(self):
        return len(self.log())

    def ask(self, host, path, agent):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            client.request("GET", path, headers={"Host": host, "User-Agent": agent})
            answer = client.getresponse()
            body = answer.read().decode("utf-8", "replace")
            return f"200 {body[:80]}" if answer.status == 200 else str(answer.status)
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        finally:
            client.close()


def site(name):
    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Length", str(len(name)))
            self.end_headers()
            self.wfile.write(name.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def wait(what, is_so, seconds=60):
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            raise SystemExit(f"error: waited in vain: {what}")
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(main())
