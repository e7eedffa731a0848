"""Crawls the demonstration site with Scrapy, and reads the trapped clients from access log and evidence."""

import argparse
import http.server
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Number of pages within which a robot that follows every link must meet a trap.
PAGES = 50
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PROVEN, HOME = "ExampleBot/1.0", "192.0.2.7"
CONFIG = """
web_robots_db = ""
traps.active = true
[database]
url = "sqlite://{folder}/traps.db"
[server]
listen = "127.0.0.1:{port}"
trusted_proxies = ["127.0.0.1"]
[access_log]
path = "{folder}/access.log"
format = "json"
[verify]
allow_private_addresses = true
[suspects]
action = "report"
"""
SPIDER = """
import sys
import scrapy
import scrapy.crawler

class Spider(scrapy.Spider):
    name = "spider"
    start_urls = [sys.argv[1]]

    def parse(self, response):
        if hasattr(response, "css"):
            yield from response.follow_all(response.css("a"), self.parse)

settings = {"ROBOTSTXT_OBEY": sys.argv[2] == "True", "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False,
            "CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0, "CLOSESPIDER_PAGECOUNT": 200,
            "DEFAULT_REQUEST_HEADERS": {"X-Forwarded-For": sys.argv[3]}}
if len(sys.argv) > 4:
    settings["USER_AGENT"] = sys.argv[4]
process = scrapy.crawler.CrawlerProcess(settings)
process.crawl(Spider)
process.start()
"""


class Program:
    """This program with its demonstration site, and a robot with published addresses."""

    def __init__(self, binary, folder):
        self.folder, self.port = folder, free_port()
        self.config = folder / "robot-detection.toml"
        self.config.write_text(CONFIG.format(folder=folder, port=self.port))
        self.command = [binary.resolve(), "--config", self.config]
        self.run("registry", "add", "examplebot", "--useragent", PROVEN, "--ranges-url", serve_ranges())
        self.process = subprocess.Popen([*self.command, "serve"], cwd=folder, stdout=subprocess.DEVNULL,
                                        stderr=(folder / "log").open("w"))
        self.url = f"http://127.0.0.1:{self.port}"
        until(lambda: ask(self.url + "/") or True, "the server does not start")
        self.traps = json.loads(self.run("traps", "--json"))[0]["paths"]
        self.token = self.run("admin", "token", "traps").split()[-1]

    def run(self, *arguments):
        return subprocess.run([*self.command, *arguments], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def lines(self, address):
        """Returns the lines logged for an address, once no more arrive."""
        log, size = self.folder / "access.log", -1
        while size != (size := log.stat().st_size if log.exists() else 0):
            time.sleep(1.5)
        lines = [json.loads(line) for line in log.read_text().splitlines()] if size else []
        return [line for line in lines if line["remote_addr"] == address]

    def evidence(self):
        """Returns the stored evidence, which is written every five seconds."""
        time.sleep(6)
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"{self.url}/robot-detection/admin/api/v1/evidence?limit=500"
        return json.loads(ask(url, headers))["evidence"]

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Ranges(http.server.BaseHTTPRequestHandler):
    """Address list of the verified robot."""

    def do_GET(self):
        body = json.dumps({"prefixes": [{"ipv4Prefix": HOME + "/32"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve_ranges():
    server = http.server.HTTPServer(("127.0.0.1", 0), Ranges)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/ranges.json"


def ask(url, headers={}):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10).read().decode()


def until(ready, otherwise):
    for _ in range(300):
        try:
            if ready():
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(otherwise)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def crawl(program, obeys, address, *agent):
    """Crawls the site with Scrapy; returns the page number of the first trap, and the number of pages."""
    done = subprocess.run([sys.executable, "-c", SPIDER, program.url + "/", str(obeys), address, *agent],
                          capture_output=True, text=True, timeout=300)
    paths = [line["request_uri"] for line in program.lines(address) if line["request_uri"] != "/robots.txt"]
    assert len(paths) > 3, f"Scrapy has seen {paths}: {done.stderr[-1000:]}"
    traps = [number for number, path in enumerate(paths, 1) if path in program.traps]
    return (traps or [None])[0], len(paths)


def check(options, folder):
    program = Program(options.binary, folder)
    failed = []
    try:
        for number, (obeys, agent) in enumerate([(True, ()), (True, (BROWSER,)), (False, ()), (False, (BROWSER,))], 1):
            first, pages = crawl(program, obeys, f"198.51.100.{100 + number}", *agent)
            said = "a browser" if agent else "Scrapy"
            print(f"Scrapy as {said}, ROBOTSTXT_OBEY={obeys}: {pages} pages, in a trap at page {first}", flush=True)
            if (first is not None) if obeys else (first is None or first > PAGES):
                failed.append(f"Scrapy as {said}, ROBOTSTXT_OBEY={obeys}: trap at page {first} of {pages}")
        # The address list is fetched when the robot first arrives; then the robot sends another request.
        robot = {"User-Agent": PROVEN, "X-Forwarded-For": HOME}
        def is_proven():
            ask(program.url + "/about.html", robot)
            return program.lines(HOME)[-1]["verdict"] == "verified"
        until(is_proven, "the robot is not verified")
        for trap in program.traps:
            ask(program.url + trap, robot)
        hits = [line for line in program.lines(HOME) if line["request_uri"] in program.traps]
        kept = [one for one in program.evidence() if one["path"] in program.traps]
        listed = [line for line in hits if line["suspect"]]
        told = {one["robot"] or "a person": one["event"] for one in kept}
        print(f"a verified robot in {len(hits)} traps: suspect in {len(listed)}; evidence of all hits: {told}")
        if len(hits) != len(program.traps) or listed or {line["verdict"] for line in hits} != {"verified"}:
            failed.append(f"the proven robot: {hits}")
    finally:
        program.stop()
    for text in failed:
        print("FAIL " + text)
    return bool(failed)


def main():
    parser = argparse.ArgumentParser(prog="tests/peers/traps", description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/robot-detection")
    options = parser.parse_args()
    if not options.binary.is_file():
        print(f"error: {options.binary} is missing: cargo build --release, or --binary", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="traps-") as folder:
        return check(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
