"""Runs robot-detection, gets visitors refused, and feeds its lists to nft, nginx and fail2ban."""

import argparse
import http.client
import os
import pathlib
import subprocess
import sys
import tempfile
import time

CONFIG = """
web_robots_db = ""
[database]
url = "sqlite://bans.db"
[server]
listen = "127.0.0.1:18099"
upstream = "http://127.0.0.1:1"
trusted_proxies = ["127.0.0.1"]
[[rule]]
name = "closed"
path = "/closed/*"
action = "refuse"
visitors = "all"
people = true
[[ban]]
refusals = 3
for_seconds = 60
"""

JAIL = """
[DEFAULT]
banaction = recorded
[robot-detection-bans]
enabled = true
filter = robot-detection-bans
backend = polling
logpath = {log}
maxretry = 1
findtime = 10m
bantime = 5s
"""

# fail2ban's actions are recorded; no firewall is changed.
ACTION = """
[Definition]
actionban = echo "ban <ip>" >> {record}
actionunban = echo "unban <ip>" >> {record}
"""

FORGED = "WARN banned 198.51.100.66 for 60 s: rule"


def eventually(what, ask, log=None):
    for _ in range(300):
        found = ask()
        if found:
            return found
        time.sleep(0.1)
    sys.exit(f"timed out waiting until: {what}\n{log.read_text() if log and log.exists() else ''}")


def ask(address, user_agent="ExampleCrawler/1.0", path="/closed/a"):
    connection = http.client.HTTPConnection("127.0.0.1", 18099, timeout=10)
    headers = {"User-Agent": user_agent, "X-Forwarded-For": address, "Referer": FORGED}
    connection.request("GET", path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def checked(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def serve(binary, directory):
    (directory / "robot-detection.toml").write_text(CONFIG)
    log = open(directory / "server.log", "w")
    command = [binary, "serve"]
    server = subprocess.Popen(command, cwd=directory, stdout=log, stderr=log)

    def answers():
        try:
            return ask("192.0.2.1", path="/") > 0
        except OSError:
            return False

    eventually("the server responds", answers)
    return server


def firewall(binary, directory):
    listed = lambda form: checked([binary, "bans", "--format", form], cwd=directory)
    for count in (0, 1):
        if count:
            for address in ("203.0.113.5", "2001:db8::1"):
                for _ in range(3):
                    assert ask(address) == 403
            eventually("both are banned", lambda: listed("plain").count("\n") == 2)
        checked(["nft", "-c", "-f", "-"], input=listed("nftables"))
        (directory / "bans.conf").write_text(listed("nginx"))
        (directory / "nginx.conf").write_text(
            f"pid {directory}/nginx.pid; error_log stderr; events {{}}\n"
            f"http {{ access_log off; server {{ listen 127.0.0.1:18098; include {directory}/bans.conf; }} }}\n"
        )
        checked(["nginx", "-t", "-c", str(directory / "nginx.conf")])
    print("nft and nginx accept an empty list and one of both versions of IP")


def kernel(binary, directory):
    """Loads the table twice in a separate network namespace, and follows changes."""
    namespace = ["unshare", "--net"]
    first = checked([binary, "bans", "--format", "nftables"], cwd=directory)
    twice = "nft -f list && nft -f list && nft list table inet robot_detection"
    (directory / "list").write_text(first)
    shown = subprocess.run(
        [*namespace, "bash", "-c", twice], cwd=directory, capture_output=True, text=True
    )
    if shown.returncode:
        print(f"the kernel's nftables were not tried: {shown.stderr.strip()}")
        return
    assert "203.0.113.5 timeout" in shown.stdout, shown.stdout
    assert "2001:db8::/64 timeout" in shown.stdout, shown.stdout
    follow = subprocess.Popen(
        [binary, "bans", "--format", "nftables", "--follow"],
        cwd=directory,
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = [follow.stdout.readline() for _ in range(6)]
    follow.kill()
    commands = " && ".join(f"nft '{line.strip()}'" for line in lines)
    done = subprocess.run(
        [*namespace, "bash", "-c", f"nft -f list && {commands}"],
        cwd=directory,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (lines, done.stderr)
    print("the kernel's nftables load the list repeatedly, and followed changes")


def fail2ban(directory):
    examples = pathlib.Path("examples/deploy/fail2ban").resolve()
    config = directory / "fail2ban"
    checked(["cp", "-r", "/etc/fail2ban", str(config)])
    for jail in (config / "jail.d").glob("*"):
        jail.unlink()
    checked(["cp", str(examples / "filter.d/robot-detection-bans.conf"), str(config / "filter.d")])
    record = directory / "recorded"
    record.write_text("")
    (config / "action.d/recorded.conf").write_text(ACTION.format(record=record))
    (config / "jail.local").write_text(JAIL.format(log=directory / "server.log"))
    socket, pid = directory / "f2b.sock", directory / "f2b.pid"
    command = ["fail2ban-server", "-c", str(config), "-s", str(socket), "-p", str(pid), "-f"]
    command += ["--logtarget", str(directory / "f2b.log")]
    (config / "fail2ban.local").write_text("[Definition]\ndbfile = None\n")
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # Only lines written while fail2ban runs count.
        time.sleep(3)
        for path in ("/closed/a", f"/closed/%0A{FORGED}".replace(" ", "%20"), "/closed/b"):
            assert ask("203.0.113.77", f"x {FORGED}", path) == 403
        log = directory / "f2b.log"
        eventually("a client is banned", lambda: "ban 203.0.113.77" in record.read_text(), log)
        eventually("the ban ends", lambda: "unban 203.0.113.77" in record.read_text(), log)
    finally:
        server.terminate()
        server.wait()
    told = set(record.read_text().split("\n")) - {""}
    # Earlier lines may be read too, because they are bans in this file.
    assert not any("198.51.100.66" in line for line in told), told
    print("fail2ban bans and unbans the logged addresses, and none from visitors' text")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="target/release/robot-detection")
    binary = str(pathlib.Path(parser.parse_args().binary).resolve())
    if os.geteuid():
        sys.exit("nft needs root")
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        server = serve(binary, directory)
        try:
            firewall(binary, directory)
            kernel(binary, directory)
            fail2ban(directory)
        finally:
            server.terminate()
            server.wait()


main()
