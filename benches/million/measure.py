"""Measures time and memory of a heaven with many descriptions; see `run`."""

import argparse
import http.client
import http.server
import json
import os
import re
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

from invent import descriptions, path
from postgres import Postgres

ADMIN = "/robot-detection/admin"
ROUNDS = 20

# State that the site robot stores for pages visited once.
VISITED = """
INSERT INTO site_robot_urls (site, url, run_id, state, host, depth, position, relink, attempts, described, found_on,
    fetched_ms, status, outcome, etag, content_hash, settings, steady, next_ms)
SELECT site, url, 0, 3, '127.0.0.1:{port}', CAST(depth_key AS INTEGER), 0, 0, 1, 1, '', 1, 200, 'described', '"1"', md5,
    (SELECT settings FROM site_robot_runs LIMIT 1), 0, 1 FROM resource_descriptions WHERE run_id = 0"""


class Sqlite:
    def __init__(self, directory):
        self.file = directory / "million.db"
        self.url = f"sqlite://{self.file}"

    def execute(self, *statements):
        with sqlite3.connect(self.file) as database:
            for statement in statements:
                database.execute(statement)
        database.close()

    def size(self):
        return self.file.stat().st_size

    def stop(self):
        pass


class Program:
    """The program with a configuration of one site and heaven from the database."""

    def __init__(self, program, database, directory, port):
        self.program, self.directory = Path(program).resolve(), directory
        self.site = f"http://127.0.0.1:{port}"
        self.conf = directory / "million.toml"
        self.text = f"""
            web_robots_db = ""
            filter_pattern = "/archive/*"
            [database]
            url = "{database.url}"
            [server]
            listen = "127.0.0.1:0"
            upstream = "{self.site}"
            [heaven]
            source = "database"
            url = "{self.site}"
            [site_robot]
            starting_points = ["{self.site}/"]
            requests_per_run = 1000
            """
        self.conf.write_text(self.text)

    def publish_into(self, heaven):
        files = self.text.replace('source = "database"', f'directory = "{heaven}"')
        self.conf.write_text(f'{files}publish = "{heaven}"\n')

    def command(self, *arguments):
        return [str(self.program), "--config", str(self.conf), *map(str, arguments)]

    def timed(self, *arguments, lines=None):
        """Runs a command; returns its costs and standard output."""
        out = self.directory / "out.txt"
        with open(out, "wb") as output:
            began = time.monotonic()
            process = subprocess.Popen(self.command(*arguments), stdout=output, stdin=subprocess.PIPE if lines else None)
            for line in lines or ():
                process.stdin.write(line.encode() + b"\n")
            if lines:
                process.stdin.close()
            _, status, used = os.wait4(process.pid, 0)
            passed = time.monotonic() - began
        if os.waitstatus_to_exitcode(status) != 0:
            raise SystemExit(f"{arguments} failed\n{out.read_text()[-2000:]}")
        cpu = used.ru_utime + used.ru_stime
        return {"seconds": round(passed, 2), "cpu_s": round(cpu, 2), "peak_mib": used.ru_maxrss // 1024}


class Site(http.server.BaseHTTPRequestHandler):
    """The described site, with all pages unchanged."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b"<!doctype html><title>Archive</title><p>The archive begins here.</p>"
        if self.headers["If-None-Match"]:
            self.send_response(304)
            self.end_headers()
            return
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server:
    """Runs `serve`, and waits until its heaven has all pages."""

    def __init__(self, program, pages):
        self.log = program.directory / "serve.log"
        began = time.monotonic()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(program.command("serve"), stdout=log, stderr=subprocess.STDOUT)
        self.port = int(self.told(r"on http://127\.0\.0\.1:(\d+)/$"))
        self.serves = time.monotonic() - began
        self.told(rf"robot heaven has ({pages}) pages")
        self.is_whole = time.monotonic() - began

    def told(self, pattern):
        while not (found := re.search(pattern, self.log.read_text(), re.MULTILINE)):
            if self.process.poll() is not None:
                raise SystemExit(f"serve ended\n{self.log.read_text()}")
            time.sleep(0.01)
        return found[1]

    def memory(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        kib = {name: int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("VmRSS", "VmHWM")}
        ticks = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        cpu = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        return {"cpu_s": round(cpu, 2), "mib": kib["VmRSS"] // 1024, "peak_mib": kib["VmHWM"] // 1024}

    def ask(self, target, headers):
        """Returns the milliseconds until the whole response has arrived, and its bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        began = time.monotonic()
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        size = 0
        while piece := answer.read(1 << 20):
            size += len(piece)
        passed = (time.monotonic() - began) * 1000
        connection.close()
        if answer.status != 200:
            raise SystemExit(f"{target} returned status {answer.status}")
        return passed, size

    def measure(self, target, headers, rounds=ROUNDS):
        first, size = self.ask(target, headers)
        more = [self.ask(target, headers)[0] for _ in range(rounds)]
        row = {"first_ms": round(first, 1), "bytes": size}
        if more:
            row |= {"median_ms": round(statistics.median(more), 1), "longest_ms": round(max(more), 1)}
        return row

    def stop(self):
        self.process.terminate()
        self.process.wait()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def served(program, pages, token):
    """Measures the server's start, then each kind of page."""
    server = Server(program, pages)
    try:
        yield "start", {"serves_after_s": round(server.serves, 2), "heaven_after_s": round(server.is_whole, 2), **server.memory()}
        middle = -(-pages // 100) // 2 + 1
        heaven = ["", "by/title/", f"by/title/{middle}.html", f"by/date/{middle}.html", f"by/author/{middle}.html",
                  path(pages // 2).removeprefix("/"), path(pages // 2).removeprefix("/") + ".md", path(9).removeprefix("/"),
                  "sitemap.xml", "sitemap-1.xml", "feed.atom", "llms.txt", "llms-full.txt"]
        if pages < 50_000:
            heaven.remove("sitemap-1.xml")
        targets = {f"/robot-heaven/{below}": {} for below in heaven}
        own = {"Authorization": f"Bearer {token}"}
        targets |= {f"{ADMIN}/{below}": own for below in ("api/v1/status", "api/v1/site-robot", "api/v1/site-robot/descriptions",
                    f"api/v1/site-robot/descriptions?q={quote(path(pages // 2))}", "api/v1/site-robot/descriptions?q=M")}
        for target, headers in targets.items():
            yield target, server.measure(target, headers)
        for file in ("rd.jsonl", "rd.soif"):
            yield f"/robot-heaven/{file}", server.measure(f"/robot-heaven/{file}", {}, 0)
        yield "end", server.memory()
    finally:
        server.stop()


def files_of(directory):
    return sum(1 for _ in directory.rglob("*") if _.is_file())


def published(program, site):
    """Measures publication as files after withdrawing a page: the first one, and one with hardly any changes."""
    heaven = program.directory / "heaven"
    program.publish_into(heaven)
    first = program.timed("site-robot", "withdraw", site + path(0))
    first["files"] = files_of(heaven)
    yield "publish", first
    yield "publish again", program.timed("site-robot", "withdraw", site + path(1))


def measure(options, directory):
    port = free_port()
    served_site = http.server.ThreadingHTTPServer(("127.0.0.1", port), Site)
    threading.Thread(target=served_site.serve_forever, daemon=True).start()
    database = Postgres(directory, free_port()) if options.engine == "postgres" else Sqlite(directory)
    try:
        program = Program(options.program, database, directory, port)
        figures = {}

        def note(name, row):
            figures[name] = row
            print(f"{name}: {row}", file=sys.stderr, flush=True)

        # The run finds only the starting point.
        program.timed("site-robot", "run", "--delay", "0")
        lines = descriptions(program.site, options.descriptions)
        note("import", program.timed("site-robot", "import", "-", lines=lines) | {"database_mib": database.size() >> 20})
        database.execute(VISITED.format(port=port))
        database.execute("VACUUM ANALYZE" if options.engine == "postgres" else "ANALYZE")
        program.timed("admin", "token", "bench")
        token = (directory / "out.txt").read_text().split()[0]
        for name, row in served(program, options.descriptions + 1, token):
            note(name, row)
        note("status", program.timed("site-robot", "status"))
        for form in ("jsonl", "soif"):
            note(f"export {form}", program.timed("site-robot", "export", "--format", form, "--output", "/dev/null"))
        note("run", program.timed("site-robot", "run", "--delay", "0"))
        if not options.no_files:
            for name, row in published(program, program.site):
                note(name, row)
        return figures
    finally:
        database.stop()


def main():
    arguments = argparse.ArgumentParser(prog="benches/million/run")
    arguments.add_argument("--descriptions", type=int, default=1_000_000)
    arguments.add_argument("--engine", choices=["sqlite", "postgres"], default="sqlite")
    arguments.add_argument("--program", required=True)
    arguments.add_argument("--directory")
    arguments.add_argument("--no-files", action="store_true")
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="million-", dir=options.directory) as directory:
        # PostgreSQL, which runs as another user, needs access to the directory.
        os.chmod(directory, 0o755)
        figures = measure(options, Path(directory))
    if options.json:
        print(json.dumps({"descriptions": options.descriptions, "engine": options.engine, "figures": figures}, indent=1))


if __name__ == "__main__":
    main()
