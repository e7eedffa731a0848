"""Presses the button on a copy with w3m in a terminal, and reads the page shown afterwards."""

import argparse
import http.server
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# A version in a form that no browser uses: w3m's own User-Agent is never suspect.
SUSPECT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.3"
PAGE, BUTTON = "/page.html", "I am human"
CONFIG = """
web_robots_db = ""
[database]
url = "sqlite://{folder}/way-out.db"
[server]
listen = "127.0.0.1:{port}"
hosts = "127.0.0.1"
upstream = "http://127.0.0.1:{upstream}"
[access_log]
path = "{folder}/access.log"
format = "json"
[heaven]
source = "database"
url = "http://127.0.0.1:{port}"
[site_robot]
starting_points = "http://127.0.0.1:{port}/"
robot = "server-delay=0"
[suspects]
action = "heaven"
"""


class Site(http.server.BaseHTTPRequestHandler):
    """A site whose page shows the number of its requests, which the copy does not."""

    asked = 0

    def do_GET(self):
        is_page = self.path == PAGE
        Site.asked += is_page
        told = f"original-{Site.asked}"
        text = f"<p>Its text has words enough to be kept by a robot.</p><p>{told if is_page else ''}</p>"
        body = f'<!doctype html><title>A page</title><body>{text}<p><a href="{PAGE}">The page</a></p></body>'.encode()
        self.send_response(200 if is_page or self.path == "/" else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Browser:
    """w3m at a terminal."""

    def __init__(self, folder, url):
        command = ["w3m", "-config", os.devnull, "-cookie", "-o", "accept_cookie=1", "-o", "confirm_qq=0",
                   "-o", f"user_agent={SUSPECT}", url]
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execvpe(command[0], command, {"HOME": str(folder), "TERM": "ansi", "PATH": os.environ["PATH"],
                                              "LINES": "40", "COLUMNS": "120", "LANG": "C"})
        self.shown = ""

    def type(self, keys):
        self.shown = ""
        os.write(self.terminal, keys.encode())

    def wait_for(self, text):
        """Reads the output until it contains the text."""
        end = time.monotonic() + 30
        while text not in re.sub(r"\x1b[\[(][0-9;?]*[A-Za-z0-9]", "", self.shown):
            left = end - time.monotonic()
            if left < 0 or not select.select([self.terminal], [], [], left)[0]:
                raise AssertionError(f"w3m does not show {text!r}: {self.shown!r}")
            self.shown += os.read(self.terminal, 65536).decode("latin-1")

    def stop(self):
        os.kill(self.process, signal.SIGTERM)
        os.waitpid(self.process, 0)


def check(options, folder):
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "way-out.toml"
    config.write_text(CONFIG.format(folder=folder, port=port, upstream=site.server_port))
    command = [options.binary.resolve(), "--config", config]
    url = f"http://127.0.0.1:{port}{PAGE}"
    server = subprocess.Popen([*command, "serve"], stdout=subprocess.DEVNULL, stderr=open(folder / "log", "w"))
    browser = None
    try:
        until(lambda: socket.create_connection(("127.0.0.1", port)).close() is None, "the server does not start")
        subprocess.run([*command, "site-robot", "run"], check=True, stdout=subprocess.DEVNULL)
        until(lambda: BUTTON in fetched(url), "there is no copy")
        browser = Browser(folder, url)
        browser.wait_for(BUTTON)
        before = Site.asked
        # Go to the first pressable item, which is the button; then reload the page.
        for number, keys in enumerate(("\t\r", "R"), before + 1):
            browser.type(keys)
            until(lambda: Site.asked == number, f"w3m does not ask for the page itself ({keys!r})")
            # Only changed parts are painted unless a full repaint is requested.
            browser.type("\f")
            browser.wait_for(f"original-{number}")
        if BUTTON in browser.shown:
            raise AssertionError("the page itself has the button")
    finally:
        if browser:
            browser.stop()
        server.terminate()
        server.wait()
    lines = [json.loads(line) for line in (folder / "access.log").read_text().splitlines()]
    causes = [line["cause"] for line in lines if line["http_user_agent"] == SUSPECT]
    print(f"w3m {version()} got a copy, pressed the button and read the page, twice; causes: {', '.join(causes[-4:])}")
    return causes.count("way-out") != 1


def fetched(url):
    """Returns a page as the suspect gets it."""
    request = urllib.request.Request(url, headers={"User-Agent": SUSPECT, "Accept": "text/html"})
    return urllib.request.urlopen(request, timeout=10).read().decode()


def until(ready, otherwise):
    for _ in range(300):
        try:
            if ready():
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(otherwise)


def version():
    told = subprocess.run(["w3m", "-version"], capture_output=True, text=True).stdout
    return told.split("version ")[-1].split(",")[0].split("/")[-1]


def main():
    parser = argparse.ArgumentParser(prog="tests/peers/way_out", description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/robot-detection")
    options = parser.parse_args()
    if not options.binary.is_file():
        print(f"error: {options.binary} is missing: cargo build --release, or --binary", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="way-out-") as folder:
        try:
            return check(options, Path(folder))
        except AssertionError as error:
            print(f"FAIL {error}\n" + (Path(folder) / "log").read_text()[-2000:])
            return 1


if __name__ == "__main__":
    sys.exit(main())
