"""Sends requests to the applications of examples/behind_nginx through nginx, as people and robots."""

import argparse
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

EXAMPLE = Path("examples/behind_nginx").resolve()
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
PASSWORD = "a passing phrase"
APPLICATIONS = {
    "PHP": lambda port: ["php", "-S", f"127.0.0.1:{port}", "index.php"],
    "Python": lambda port: [sys.executable, "app.py", str(port)],
}


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def start(stack, command, port, **how):
    process = subprocess.Popen([str(part) for part in command], stdout=how.pop("log"), stderr=subprocess.STDOUT, **how)
    stack.callback(lambda: (process.terminate(), process.wait()))
    for _ in range(600):
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{command[0]} does not serve")


def ask(port, path, agent, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    sent = {"User-Agent": agent, "Host": "www.example.com"} | headers
    if body is not None:
        sent["Content-Type"] = "application/x-www-form-urlencoded"
    connection.request(method, path, body=body, headers=sent)
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, answer.headers, text


def checks(port):
    """Yields each check, and whether it passed."""
    status, _, text = ask(port, "/", FIREFOX)
    yield "a person is welcomed as a visitor", status == 200 and "Welcome, visitor." in text
    status, _, text = ask(port, "/", GOOGLEBOT)
    yield "a robot is identified by name and verdict", status == 200 and "Welcome, googlebot (" in text
    forged = {"X-Robot-Detection": "bingbot", "X-Robot-Detection-Verdict": "verified"}
    _, _, text = ask(port, "/", FIREFOX, **forged)
    yield "forged identity headers are ignored", "Welcome, visitor." in text
    status, headers, _ = ask(port, "/members-only-stuff/", GOOGLEBOT)
    heaven = headers["Location"]
    yield "a robot is redirected from the members' area to heaven", status == 302 and heaven == "/robot-heaven/"
    status, _, _ = ask(port, heaven, GOOGLEBOT)
    yield "heaven answers", status == 200
    status, _, text = ask(port, "/members-only-stuff/", FIREFOX)
    yield "a person gets the login", status == 200 and "<form" in text
    status, _, _ = ask(port, "/login", FIREFOX, "POST", urlencode({"password": "guessed"}))
    yield "a wrong password is refused", status == 403
    status, headers, _ = ask(port, "/login", FIREFOX, "POST", urlencode({"password": PASSWORD}))
    cookie = (headers["Set-Cookie"] or "").split(";")[0]
    yield "the password logs in", status == 303 and cookie
    _, _, text = ask(port, "/members-only-stuff/", FIREFOX, Cookie=cookie)
    yield "a member reads the page", "The minutes of the last meeting." in text


def run(name, command, binary, directory):
    """Returns the number of faults of one application."""
    site, own, front = free_port(), free_port(), free_port()
    # The example unchanged, except for the ports and the socket of this machine.
    text = (EXAMPLE / "robot-detection.toml").read_text()
    for old, new in [
        ("127.0.0.1:3000", f"127.0.0.1:{site}"),
        ("127.0.0.1:8080", f"127.0.0.1:{own}"),
        ("/run/robot-detection/check.sock", f"{directory}/check.sock"),
    ]:
        assert old in text, old
        text = text.replace(old, new)
    config = directory / "robot-detection.toml"
    config.write_text(text)
    log = open(directory / "log", "ab")
    environment = {**os.environ, "ROBOT_DETECTION_WEB_ROBOTS_DB": "", "MEMBERS_PASSWORD": PASSWORD}
    with ExitStack() as stack:
        start(stack, command(site), site, log=log, cwd=EXAMPLE, env=environment)
        start(stack, [binary, "--config", config, "serve"], own, log=log, cwd=directory, env=environment)
        printed = [binary, "--config", config, "proxy-config", "nginx", "--standalone", "--listen", f"127.0.0.1:{front}"]
        conf = subprocess.run(printed, check=True, stdout=subprocess.PIPE, cwd=directory, env=environment).stdout
        (directory / "robot-detection.conf").write_bytes(conf)
        places = "".join(
            f"{kind}_temp_path {directory}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (directory / "nginx.conf").write_text(
            f"daemon off; pid {directory}/pid; error_log {directory}/log;\nevents {{ }}\n"
            f"http {{ access_log off;\n{places}include {directory}/robot-detection.conf; }}\n"
        )
        nginx = ["nginx", "-c", directory / "nginx.conf", "-p", directory]
        # nginx's own user could not open the socket.
        nginx += ["-g", "user root;"] if os.getuid() == 0 else []
        start(stack, nginx, front, log=log, cwd=directory)
        wrong = 0
        for what, is_so in checks(front):
            print(f"{'ok   ' if is_so else 'WRONG'} {name}: {what}")
            wrong += not is_so
    if wrong:
        print((directory / "log").read_text(errors="replace")[-3000:], file=sys.stderr)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="target/release/robot-detection")
    binary = Path(parser.parse_args().binary).resolve()
    if not binary.exists():
        print(f"error: {binary} is missing: cargo build --release", file=sys.stderr)
        return 2
    wrong = 0
    for name, command in APPLICATIONS.items():
        with tempfile.TemporaryDirectory() as directory:
            wrong += run(name, command, binary, Path(directory))
    return 1 if wrong else 0


sys.exit(main())
