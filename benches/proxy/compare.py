"""Compares the processor time of servers per request; see `run`."""

import argparse
import json
import re
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from pathlib import Path

from invent import browser_headers, chromiums, robot_headers, robots
from servers import FILE, MEMBERS, PAGE, Running, everyone, upstream

SERVER_CORE, LOAD_CORE = 0, 1
CONNECTIONS = 32
# Clients, whether connections are kept, TLS, and concurrent streams of a connection (0 for HTTP/1.1).
Case = namedtuple("Case", "who kept tls streams", defaults=(True, False, 0))
CASES = {
    "robots redirected": Case("robots"),
    "robots redirected, a connection each": Case("robots", kept=False),
    "people proxied": Case("few"),
    "30,000 browsers proxied": Case("many"),
    "80 % people, 20 % robots": Case("mix"),
    "files of 1 MiB proxied": Case("files"),
    "TLS: people proxied": Case("secure", tls=True),
    "TLS: people, a handshake each": Case("secure", kept=False, tls=True),
    "HTTP/2 over TLS: a person proxied": Case("secure", tls=True, streams=1),
    "HTTP/2 over TLS: eight at once": Case("secure", tls=True, streams=8),
}


# Chromium's headers over plain HTTP, in order; over TLS there are more, and other encodings.
UPGRADE = "Upgrade-Insecure-Requests: 1"
ACCEPT = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
ENCODINGS, TLS_ENCODINGS = "Accept-Encoding: gzip, deflate", "Accept-Encoding: gzip, deflate, br, zstd"
LANGUAGES = "Accept-Language: en-US,en;q=0.9"
# Requests counted with valgrind, after as many warm-up requests.
COUNTED = 4000


def asked(who, count):
    """Returns the requests of a case: path and header lines in a browser's order."""
    def plain(path, user_agents):
        return [(path, [UPGRADE, f"User-Agent: {user_agent}", ACCEPT, ENCODINGS, LANGUAGES]) for user_agent in user_agents]

    robot, few = plain(MEMBERS, robot_headers(robots(count))), plain(PAGE, browser_headers(20))
    return {
        "robots": robot,
        "few": few,
        "secure": [(PAGE, [*hints, UPGRADE, f"User-Agent: {user_agent}", ACCEPT, *fetch, TLS_ENCODINGS, LANGUAGES])
                   for user_agent, hints, fetch in chromiums(20)],
        "files": plain(FILE, browser_headers(20)),
        "many": plain(PAGE, browser_headers(30_000)),
        # One robot after four people.
        "mix": [
            robot[number // 5 % len(robot)] if number % 5 == 4 else few[number % 20]
            for number in range(5 * len(robot))
        ],
    }[who]


def head(path, lines, kept):
    """A request of HTTP/1.1."""
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: site.example", f"Connection: {connection(kept)}", *lines, "", ""])


def script(directory, case, count):
    """Writes the script for wrk; all requests are built before the first is sent."""
    path = directory / "requests.lua"
    lines = ",\n".join(json.dumps(head(*one, case.kept)) for one in asked(case.who, count))
    path.write_text(f"""
local made, at = {{
{lines}
}}, 0
function request()
    at = at % #made + 1
    return made[at]
end
function done(summary, latency)
    local wrong = summary.errors
    io.write(string.format("FIGURES %d %d %d\\n", summary.requests,
        latency:percentile(99), wrong.connect + wrong.read + wrong.write + wrong.status + wrong.timeout))
end
""")
    return path


def connection(kept):
    return "keep-alive" if kept else "close"


def one_by_one(server, requests, case):
    """Sends requests one after the other, so that each run gives the server the same work."""
    if case.streams:
        h2load(server, requests, case, ["-c1", "-n", str(COUNTED)])
        return
    sent = None
    for number in range(COUNTED):
        if sent is None or not case.kept:
            sent = connected(server, case.tls)
        sent.sendall(head(*requests[number % len(requests)], case.kept).encode())
        answer, _, body = receive(sent, b"").partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", answer)
        left = int(length[1]) - len(body) if length else 0
        while left > 0:
            left -= len(sent.recv(65536)) or left


def connected(server, tls):
    sent = socket.create_connection(("127.0.0.1", server.tls_port if tls else server.port))
    if not tls:
        return sent
    # A separate context has no session to resume.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(sent)


def h2load(server, requests, case, how):
    """Sends HTTP/2 requests of one browser, with the same headers in each."""
    path, lines = requests[0]
    headers = [f"-H{line}" for line in lines]
    command = ["taskset", "-c", str(LOAD_CORE), "h2load", "-t1", f"-m{case.streams}", *how, *headers,
               server.url(path, tls=True)]
    subprocess.run(command, capture_output=True, check=True)


def receive(sent, came):
    while b"\r\n\r\n" not in came:
        more = sent.recv(65536)
        if not more:
            raise SystemExit("a server closed a connection during a response")
        came += more
    return came


def load(server, directory, case, options, count):
    """Sends requests for some seconds; returns the number of responses and the p99 in µs."""
    if case.streams:
        return http2_load(server, directory, case, options, count)
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{options.seconds}s",
               "--timeout", "30s", "-s", str(directory / "requests.lua"), server.url("/", case.tls)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    requests, p99, wrong = map(int, re.search(r"FIGURES (\d+) (\d+) (\d+)", output).groups())
    if wrong or not requests:
        raise SystemExit(f"{server.name}: {wrong} of {requests} requests failed\n{output}")
    return requests, p99


def http2_load(server, directory, case, options, count):
    """Does the same over HTTP/2, with concurrent requests."""
    log = directory / "h2load.log"
    log.unlink(missing_ok=True)
    h2load(server, asked(case.who, count), case,
           [f"-c{CONNECTIONS // case.streams}", f"-D{options.seconds}", f"--log-file={log}"])
    # Start, status and duration of each request.
    answers = [line.split() for line in log.read_text().splitlines()]
    wrong = sum(status != "200" for _, status, _ in answers)
    if wrong or not answers:
        raise SystemExit(f"{server.name}: {wrong} of {len(answers)} requests failed")
    return len(answers), sorted(int(spent) for _, _, spent in answers)[len(answers) * 99 // 100]


def wanted(options):
    """Returns the selected cases."""
    parts = options.case or [""]
    return [(name, case) for name, case in CASES.items() if any(part in name for part in parts)]


def measure(servers, directory, count, options):
    """Runs all cases in rounds, with the servers in turns; returns medians by case and server."""
    found = {}
    for title, case in wanted(options):
        script(directory, case, count)
        samples = {server.name: [] for server in servers if server.can(case)}
        taking = [server for server in servers if server.name in samples]
        for server in taking:
            load(server, directory, case, options, count)  # Warms up.
        for turn in range(options.rounds):
            for server in taking[turn % len(taking):] + taking[:turn % len(taking)]:
                before = server.processor_seconds()
                requests, p99 = load(server, directory, case, options, count)
                spent = server.processor_seconds() - before
                samples[server.name].append((spent * 1e6 / requests, p99))
        found[title] = {name: figures(of_server) for name, of_server in samples.items()}
        print(f"{count} patterns, {title}: done", file=sys.stderr)
    return found


def figures(samples):
    spent = [one for one, _ in samples]
    return {
        "processor_us": statistics.median(spent),
        "least_us": min(spent),
        "most_us": max(spent),
        "p99_us": statistics.median(p99 for _, p99 in samples),
    }


def line(title, cells):
    print(f"{title:38}" + "".join(f"{cell or '-':>26}" for cell in cells))


def table(count, found):
    """Prints microseconds per request, and ratios to ours."""
    print(f"\n{count:,} patterns: processor µs a request (times ours)")
    names = list(next(iter(found.values())))
    line("", names)
    for title, row in found.items():
        own = row["ours"]["processor_us"]
        cells = [row.get(name) for name in names]
        line(title, (one and f"{one['processor_us']:.1f} ({one['processor_us'] / own:.2f}x)" for one in cells))
        line("  least and most", (one and f"{one['least_us']:.1f}-{one['most_us']:.1f}" for one in cells))
        line("  p99", (one and f"{one['p99_us'] / 1000:.2f} ms" for one in cells))


def instructions_table(count, found):
    """Prints instructions per request, and ratios to ours."""
    print(f"\n{count:,} patterns: instructions a request (times ours)")
    names = list(next(iter(found.values())))
    line("", names)
    for title, row in found.items():
        cells = [row.get(name) for name in names]
        line(title, (one and f"{one:,} ({one / row['ours']:.2f}x)" for one in cells))


def instructions(directory, site, count, options):
    """Returns the instructions per request of the serving thread, excluding the kernel's. Periodic work, such as
    storing counts, runs in other threads: valgrind slows the server about fifty times, so this work would be
    overestimated about fifty times."""
    start, servers = Running.__init__, []

    def under_valgrind(self, name, command, port, core, where, *further):
        tool = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={where}/{name.replace(' ', '-')}.cg"]
        start(self, name, [*tool, *command], port, core, where, *further)

    Running.__init__ = under_valgrind
    try:
        everyone(servers, directory, SERVER_CORE, site.port, count, options)
        return counts(servers, directory, count, options)
    finally:
        Running.__init__ = start
        for server in servers:
            server.end()


def counts(servers, directory, count, options):
    found = {}
    people = asked("few", count)
    # The thread with the most work for people is the serving one; storing data about robots is another thread's work.
    threads = {server.name: max(counted(server, directory, people, Case("few")).items(), key=lambda it: it[1])[0]
               for server in servers}
    for title, case in wanted(options):
        requests = asked(case.who, count)
        found[title] = {}
        for server in servers:
            if server.can(case):
                by_thread = counted(server, directory, requests, case)
                found[title][server.name] = round(by_thread[threads[server.name]] / COUNTED)
        print(f"{count} patterns, {title}: counted", file=sys.stderr)
    return found


def counted(server, directory, requests, case):
    """Returns the instructions of each thread for the counted requests, after as many warm-up requests."""
    one_by_one(server, requests, case)
    control("--zero", server)
    one_by_one(server, requests, case)
    control("--dump", server)
    found = {}
    for dump in directory.glob(f"{server.name.replace(' ', '-')}.cg.*"):
        number = re.search(r"^(?:totals|summary): (\d+)", dump.read_text(), re.MULTILINE)
        found[dump.name.rpartition("-")[2]] = int(number[1]) if number else 0
        dump.unlink()
    return found


def control(what, server):
    subprocess.run(["callgrind_control", what, str(server.process.pid)], check=True, capture_output=True)
    time.sleep(0.5)


def main():
    parser = argparse.ArgumentParser(prog="benches/proxy/run", description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: Path(path).resolve())
    parser.add_argument("--patterns", default="300,1000,3000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--case", action="append", help="only cases whose name contains this")
    parser.add_argument("--server", action="append", help="only servers whose name contains this, and ours")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = {}
    for count in map(int, options.patterns.split(",")):
        with tempfile.TemporaryDirectory(prefix="proxy-bench-") as directory:
            directory = Path(directory)
            site, servers = upstream(directory, LOAD_CORE), []
            try:
                if options.instructions:
                    results[count] = instructions(directory, site, count, options)
                    continue
                everyone(servers, directory, SERVER_CORE, site.port, count, options)
                results[count] = measure(servers, directory, count, options)
                for server in servers:
                    results[count].setdefault("memory_kib", {})[server.name] = server.memory_kib()
            finally:
                for server in [*servers, site]:
                    server.end()
    report(results, options)


def report(results, options):
    if options.json:
        print(json.dumps(results, indent=1))
        return
    for count, found in results.items():
        if options.instructions:
            instructions_table(count, found)
            continue
        memory = found.pop("memory_kib")
        table(count, found)
        print("memory: " + ", ".join(f"{name} {kib / 1024:.1f} MiB" for name, kib in memory.items()))


if __name__ == "__main__":
    main()
