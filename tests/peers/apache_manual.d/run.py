"""Serves the manual, describes it, requests random URLs as Googlebot, and checks their redirects."""

import argparse
import html
import random
import re
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
ASKED = 300


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def await_port(port):
    for _ in range(1000):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.01)
    raise SystemExit(f"nothing listens on port {port}")


def nginx(work, port):
    conf = work / "nginx.conf"
    paths = " ".join(f"{name}_temp_path {work}/{name};" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    conf.write_text(
        f"daemon off; master_process off; pid {work}/nginx.pid; error_log {work}/nginx.log; events {{}}\n"
        f"http {{ access_log off; types {{ text/html html; text/css css; }} {paths}\n"
        f"server {{ listen 127.0.0.1:{port}; root {work}/usr/share/doc/apache2-doc; }} }}\n"
    )
    return subprocess.Popen(["nginx", "-e", f"{work}/nginx.log", "-c", str(conf)])


def get(url):
    """Returns status, target and text of a response to Googlebot."""
    request = urllib.request.Request(url, headers={"User-Agent": GOOGLEBOT})
    try:
        with urllib.request.build_opener(Stay).open(request) as answer:
            return answer.status, "", answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Location", ""), ""


def title(text):
    found = re.search(r"<title>(.*?)</title>", text, re.S | re.I)
    return " ".join(html.unescape(found.group(1)).split()) if found else ""


def source(file):
    raw = file.read_bytes()
    charset = re.search(rb"charset=[\"']?([\w-]+)", raw[:2000])
    return raw.decode(charset.group(1).decode() if charset else "utf-8", errors="replace")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--binary", type=Path)
    args = parser.parse_args()
    binary = args.binary or args.root / "target/debug/robot-detection"
    upstream, front = free_port(), free_port()
    manual = args.work / "usr/share/doc/apache2-doc/manual"
    config = args.work / "robot-detection.toml"
    config.write_text(
        f"server.listen = '127.0.0.1:{front}'\nserver.upstream = 'http://127.0.0.1:{upstream}'\n"
        f"database.url = 'sqlite://{args.work}/robots.sqlite'\nfilter_pattern = '/manual/*'\n"
        f"heaven.source = 'database'\nheaven.url = 'http://127.0.0.1:{front}'\nverify.enabled = false\n"
        f"site_robot.starting_points = 'http://127.0.0.1:{front}/manual/'\nsite_robot.depth = -1\n"
        "site_robot.robot = ['server-delay=0']\nadmin.enabled = false\n"
    )
    started = [nginx(args.work, upstream)]
    try:
        await_port(upstream)
        run = [binary, "site-robot", "run", "--config", str(config), "--delay", "0"]
        print(subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip())
        log = open(args.work / "serve.log", "w")
        started.append(subprocess.Popen([binary, "serve", "--config", str(config)], stdout=log, stderr=log))
        await_port(front)
        for _ in range(600):
            if "robot heaven has" in (args.work / "serve.log").read_text():
                break
            time.sleep(0.1)
        judge(manual, f"http://127.0.0.1:{front}", args.work / "robots.sqlite")
    finally:
        for process in started:
            process.terminate()
            process.wait()


def judge(manual, site, database):
    live = sorted(path for path in manual.rglob("*.html") if path.is_file())
    chosen = random.Random(23).sample(live, ASKED)
    own = other = 0
    wrong, unlinked = [], []
    with sqlite3.connect(database) as connection:
        known = {url for (url,) in connection.execute("SELECT url FROM site_robot_urls")}
    for file in chosen:
        path = "/manual/" + str(file.relative_to(manual))
        status, place, _ = get(site + path)
        target = site + place if place.startswith("/") else place
        text = get(target)[2] if status in (301, 302, 303, 307, 308) else ""
        original = re.search(r'<dt>Original</dt><dd><a href="([^"]*)"', text)
        original = html.unescape(original.group(1)) if original else ""
        # A link to the English file must be described under its English URL. (One English file
        # claims to be Portuguese.)
        said = re.search(r'<html[^>]* lang="([^"]*)"', source(file))
        language = said.group(1) if said else file.resolve().relative_to(manual).parts[0]
        is_same = title(source(file)).split(" - ")[0] in title(text)
        if not is_same or f"/manual/{language}/" not in f"{original}/":
            (wrong if site + path in known else unlinked).append((path, status, place, original))
        elif original == site + path:
            own += 1
        else:
            other += 1
    print(f"{ASKED} of {len(live)} URLs: {own} lead to their own page, {other} to that of an alias, {len(wrong)} elsewhere")
    print(f"{len(unlinked)} are URLs that no page links to")
    for row in unlinked[:20]:
        print("  not linked:", *row)
    for row in wrong[:20]:
        print("  wrong:", *row)
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
