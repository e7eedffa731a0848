"""Attacks a site that serves copies to suspects, and reports the effect on its upstream and on people."""

import argparse
import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = 60
# Concurrency and response time of the upstream: people wait in its queue.
SLOTS, TAKES = 8, 0.05
# Seconds between two requests of people.
PAUSE = 0.05
LIAR = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"
PERSON = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n"
    "Upgrade-Insecure-Requests: 1\r\n"
)
CONFIG = """
web_robots_db = ""
[database]
url = "sqlite://{folder}/siege.db"
[server]
listen = "127.0.0.1:{port}"
hosts = "127.0.0.1"
upstream = "http://127.0.0.1:{upstream}"
[heaven]
source = "database"
url = "http://127.0.0.1:{port}"
[site_robot]
starting_points = "http://127.0.0.1:{port}/"
robot = "server-delay=0"
[suspects]
action = "heaven"
"""


class Upstream:
    """A site with little capacity that counts its requests."""

    def __init__(self):
        self.slots = asyncio.Semaphore(SLOTS)
        self.seen = Counter()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=4096)
        return self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                self.seen["liars" if LIAR in head else "others"] += 1
                async with self.slots:
                    await asyncio.sleep(TAKES)
                writer.write(page(head.split(" ")[1]))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()


def page(path):
    links = "".join(f'<a href="/page/{number}.html">Page {number}</a> ' for number in range(PAGES))
    known = path == "/" or path.startswith("/page/")
    body = f"<!doctype html><title>Page {path}</title><h1>Page {path}</h1><p>The text of {path} has enough words to be kept.</p>{links}"
    status = "200 OK" if known else "404 Not Found"
    return (f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()


async def ask(port, path, headers, address=None, times=1):
    """Sends some requests over one connection; returns status and body of the last response."""
    local = (address, 0) if address else None
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=local)
    try:
        for _ in range(times):
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next((int(line.split(":")[1]) for line in head.lower().split("\r\n") if line.startswith("content-length:")), 0)
            body = await reader.readexactly(length)
        return int(head.split(" ")[1]), body
    finally:
        writer.close()


async def people(port, until):
    """Sends requests as people do, until an event; returns the duration of each response."""
    took = []

    async def one(number):
        before = time.monotonic()
        status, body = await ask(port, f"/page/{number % PAGES}.html", PERSON)
        took.append(time.monotonic() - before)
        assert status == 200 and b"I am human" not in body, f"a person got {status}"

    tasks, number = [], 0
    while not until.is_set():
        tasks.append(asyncio.create_task(one(number)))
        number += 1
        await asyncio.sleep(PAUSE)
    await asyncio.gather(*tasks)
    return sorted(took)


async def siege(port, requests):
    """Sends two requests from each of many addresses; returns how many responses were copies."""
    copies, left = 0, iter(range(requests // 2))
    headers = f"User-Agent: {LIAR}\r\nAccept: */*\r\n"

    async def some():
        nonlocal copies
        for number in left:
            address = f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255 or 1}"
            status, body = await ask(port, f"/page/{number % PAGES}.html", headers, address, 2)
            copies += 2 * (status == 200 and b"I am human" in body)

    await asyncio.gather(*(some() for _ in range(32)))
    return copies


def p99(took):
    return took[len(took) * 99 // 100]


async def check(options, folder):
    upstream = Upstream()
    port = free_port()
    config = folder / "siege.toml"
    config.write_text(CONFIG.format(folder=folder, port=port, upstream=await upstream.start()))
    command = [options.binary.resolve(), "--config", config]
    server = subprocess.Popen([*command, "serve"], stdout=subprocess.DEVNULL, stderr=open(folder / "log", "w"))
    try:
        await reachable(port)
        walked = await asyncio.create_subprocess_exec(*command, "site-robot", "run", stdout=subprocess.DEVNULL)
        assert await walked.wait() == 0, "the site robot has not visited the site"
        headers = f"User-Agent: {LIAR}\r\nAccept: */*\r\n"
        for _ in range(100):
            if b"I am human" in (await ask(port, f"/page/{PAGES - 1}.html", headers))[1]:
                break
            await asyncio.sleep(0.3)
        over = asyncio.Event()
        idle = asyncio.create_task(people(port, over))
        await asyncio.sleep(options.idle)
        over.set()
        idle = await idle
        upstream.seen.clear()
        over = asyncio.Event()
        visitors, began = asyncio.create_task(people(port, over)), time.monotonic()
        copies = await siege(port, options.requests)
        lasted = time.monotonic() - began
        over.set()
        besieged = await visitors
    finally:
        server.terminate()
        server.wait()
    return report(options, upstream, copies, lasted, idle, besieged)


def report(options, upstream, copies, lasted, idle, besieged):
    reached = upstream.seen["liars"]
    print(f"siege: {options.requests:,} requests from {options.requests // 2:,} addresses in {lasted:.0f} s")
    print(f"answered by copies: {copies:,}; reached the upstream: {reached:,} ({100 * reached / options.requests:.2f} %)")
    ratio = p99(besieged) / p99(idle)
    print(f"people: p99 {1e3 * p99(idle):.0f} ms of {len(idle)} idle, {1e3 * p99(besieged):.0f} ms of {len(besieged)} besieged ({ratio:.2f}x)")
    return 0 if reached * 20 <= options.requests and ratio <= 2 else 1


async def reachable(port):
    for _ in range(300):
        try:
            await ask(port, "/", PERSON)
            return
        except OSError:
            await asyncio.sleep(0.1)
    raise AssertionError("the server does not start")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(prog="tests/peers/siege", description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/robot-detection")
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--idle", type=float, default=20, help="seconds before the siege")
    options = parser.parse_args()
    if not options.binary.is_file():
        print(f"error: {options.binary} is missing: cargo build --release, or --binary", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="siege-") as folder:
        try:
            return asyncio.run(check(options, Path(folder)))
        except AssertionError as error:
            print(f"FAIL {error}\n" + (Path(folder) / "log").read_text()[-2000:])
            return 1


if __name__ == "__main__":
    sys.exit(main())
