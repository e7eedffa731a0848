"""Starts a server and tests it with a generated client and Schemathesis: `run.py BINARY`."""

import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
API = "/robot-detection/admin/api/v1"


class Site(http.server.BaseHTTPRequestHandler):
    """A site with one page."""

    def do_GET(self):
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"page")

    def log_message(self, *_):
        pass


def start(binary, work):
    """Starts site and program; returns the program, its address and the console's."""
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    config = f"""
web_robots_db = ""
verify.enabled = false
server.upstream = "http://127.0.0.1:{site.server_port}"
server.listen = "127.0.0.1:0"
operation.listen = "127.0.0.1:0"
admin.listen = "127.0.0.1:0"
"""
    (work / "robot-detection.toml").write_text(config)
    program = subprocess.Popen([binary, "serve"], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    console = None
    for line in program.stdout:
        found = re.match(r"admin page: (http://[0-9.:]+)/", line)
        console = found.group(1) if found else console
        found = re.search(r" on (http://[0-9.:]+)/", line)
        if found:
            threading.Thread(target=program.stdout.read, daemon=True).start()
            return program, found.group(1), console
    sys.exit("error: the program did not start")


def get(url, **headers):
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request) as answer:
        return answer.read()


def run(work, *command):
    """Runs a tool of the virtual environment; returns whether it succeeded."""
    name, *arguments = command
    print("$", name, *arguments, flush=True)
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": f"{work}:{HERE}"}
    return subprocess.run([Path(sys.executable).parent / name, *arguments], cwd=work, env=environment).returncode == 0


def judged(work, site, console, token):
    """Yields what failed."""
    document = json.loads(get(f"{console}{API}/openapi.json", Authorization=f"Bearer {token}"))
    (work / "openapi.json").write_text(json.dumps(document))
    for user_agent in (GOOGLEBOT, FIREFOX, GOOGLEBOT):
        get(f"{site}/", **{"User-Agent": user_agent})

    client = ["--path", "openapi.json", "--meta", "none", "--output-path", "robot_detection_client"]
    client += ["--fail-on-warning", "--config", str(HERE / "generator.yaml")]
    if not run(work, "openapi-python-client", "generate", *client):
        yield "generating the client failed"
        return
    if not run(work, "mypy", "robot_detection_client"):
        yield "the client has wrong types"
    program = str(HERE / "program.py")
    if not run(work, "mypy", "--strict", "--follow-imports=silent", program):
        yield "the program has wrong types"
    if not run(work, "python", program, f"{console}{API}", token):
        yield "the program failed"

    options = ["--url", f"{console}{API}", "--header", f"Authorization: Bearer {token}", "--max-examples", "20"]
    options += ["--seed", "1", "--no-color", "--continue-on-failure"]
    if not run(work, "schemathesis", "--config-file", str(HERE / "schemathesis.toml"), "run", "openapi.json", *options):
        yield "Schemathesis found faults"


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        program, site, console = start(binary, work)
        try:
            command = [binary, "admin", "token", "peer", "--scope", "write"]
            token = subprocess.run(command, cwd=work, check=True, capture_output=True, text=True).stdout.strip()
            failures = list(judged(work, site, console, token))
            if program.poll() is not None:
                failures.append("the server exited")
        finally:
            program.terminate()
            program.wait()
    for failure in failures:
        print("WRONG:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
