"""Runs browsers and liars against this program, and reads the suspects from its access log."""

import argparse
import collections
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from liars import liars
from people import browsers, generated

CONFIG = """
web_robots_db = ""
verify.enabled = false
admin.enabled = false
[database]
url = "sqlite://{at}/robots.db"
[server]
listen = "127.0.0.1:{plain}"
[access_log]
path = "{at}/access.log"
format = "json"
[[listener]]
listen = "127.0.0.1:{tls}"
tls = true
[[certificate]]
certificate_file = "{at}/cert.pem"
key_file = "{at}/key.pem"
[suspects]
action = "report"
"""


class Program:
    """This program with its demonstration site."""

    def __init__(self, binary, at):
        self.at = at
        self.plain, self.tls = free_port(), free_port()
        certify(at)
        config = at / "robot-detection.toml"
        config.write_text(CONFIG.format(at=at, plain=self.plain, tls=self.tls))
        self.process = subprocess.Popen(
            [binary, "--config", config, "serve"], cwd=at,
            stdout=subprocess.DEVNULL, stderr=(at / "log").open("w"))
        wait("the program", lambda: connects(self.plain) and connects(self.tls))
        self.log = at / "access.log"
        self.read = 0

    def lines(self):
        """Returns the lines logged since the last call, once no more arrive."""
        size = -1
        while size != (size := self.log.stat().st_size if self.log.exists() else 0):
            time.sleep(1.5)
        with self.log.open("rb") as log:
            log.seek(self.read)
            lines = log.read()
            self.read = log.tell()
        return [json.loads(line) for line in lines.splitlines()]

    def stop(self):
        self.process.terminate()
        self.process.wait()


def certify(at):
    """Creates an authority and a certificate signed by it, which Firefox requires."""
    (at / "of.cnf").write_text("subjectAltName=DNS:site.example,IP:127.0.0.1\n")
    for command in (
        f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=Authority -keyout {at}/ca.key -out {at}/ca.pem",
        f"req -newkey rsa:2048 -nodes -subj /CN=site.example -keyout {at}/key.pem -out {at}/cert.csr",
        f"x509 -req -in {at}/cert.csr -CA {at}/ca.pem -CAkey {at}/ca.key -CAcreateserial -days 2"
        f" -extfile {at}/of.cnf -out {at}/cert.pem",
    ):
        subprocess.run(["openssl", *command.split()], check=True, capture_output=True)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def connects(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait(what, ready, seconds=60):
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            sys.exit(f"error: {what} does not start")
        time.sleep(0.1)


def table(title, rows):
    """Prints requests, suspects and reasons of each client; returns requests and suspects."""
    print(f"\n{title}")
    print(f"{'who':<34}{'requests':>9}{'robots':>8}{'suspect':>9}  reasons")
    all_people = all_suspects = 0
    for who, lines in rows:
        people = [line for line in lines if line["visitor"] == "person"]
        suspects = [line for line in people if line["suspect"]]
        reasons = collections.Counter(code for line in suspects for code in line["suspect"].split(","))
        told = ", ".join(f"{code} {number}" for code, number in reasons.most_common(8))
        print(f"{who:<34}{len(lines):>9}{len(lines) - len(people):>8}{len(suspects):>9}  {told}", flush=True)
        all_people += len(people)
        all_suspects += len(suspects)
    return all_people, all_suspects


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="target/release/robot-detection")
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--only", choices=["browsers", "generated", "liars"])
    parser.add_argument("--sets", type=int, default=10_000)
    options = parser.parse_args()
    is_missed = False
    with tempfile.TemporaryDirectory() as directory:
        program = Program(Path(options.binary).resolve(), Path(directory))
        try:
            people = []
            if options.only in (None, "browsers"):
                people += browsers(program, options.tools)
            if options.only in (None, "generated"):
                people += generated(program, options.tools, options.sets)
            if people:
                asked, suspects = table("People", people)
                share = suspects / max(asked, 1)
                print(f"{suspects} of {asked} requests of people suspect: {share:.3%} (goal: at most 0.1 %)")
                is_missed |= asked == 0 or share > 0.001
            if options.only in (None, "liars"):
                known, told = liars(program, options.tools)
                asked, found = table("Programs that claim to be browsers", known)
                share = found / max(asked, 1)
                print(f"{found} of {asked} found on their first request: {share:.1%} (goal: at least 99 %)")
                is_missed |= asked == 0 or share < 0.99
                table("Programs that carefully imitate a browser: they may pass", told)
        finally:
            program.stop()
    sys.exit(is_missed)


if __name__ == "__main__":
    main()
