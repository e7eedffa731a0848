"""Compares the processor time that servers use a request; see `run`."""

import argparse
import json
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from invent import browser_headers, robot_headers, robots
from servers import FILE, MEMBERS, PAGE, Running, everyone, upstream

SERVER_CORE, LOAD_CORE = 0, 1
CONNECTIONS = 32
# Case: who asks, whether connections are kept.
CASES = {
    "robots redirected": ("robots", True),
    "robots redirected, a connection each": ("robots", False),
    "people proxied": ("few", True),
    "30,000 browsers proxied": ("many", True),
    "80 % people, 20 % robots": ("mix", True),
    "files of 1 MiB proxied": ("files", True),
}


# Path, whether the connection is kept, User-Agent: what Chromium sends over plain HTTP.
REQUEST = (
    "GET %s HTTP/1.1\r\nHost: site.example\r\nConnection: %s\r\nUpgrade-Insecure-Requests: 1\r\n"
    "User-Agent: %s\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"
    "Accept-Encoding: gzip, deflate\r\nAccept-Language: en-US,en;q=0.9\r\n\r\n"
)
# Requests that are counted with valgrind, after as many that are not.
COUNTED = 4000


def asked(who, count):
    """The requests of a case: path and User-Agent."""
    robot = [(MEMBERS, header) for header in robot_headers(robots(count))]
    few = [(PAGE, header) for header in browser_headers(20)]
    return {
        "robots": robot,
        "few": few,
        "files": [(FILE, header) for header in browser_headers(20)],
        "many": [(PAGE, header) for header in browser_headers(30_000)],
        # A robot after each four people.
        "mix": [
            robot[number // 5 % len(robot)] if number % 5 == 4 else few[number % 20]
            for number in range(5 * len(robot))
        ],
    }[who]


def script(directory, who, count):
    """Writes what wrk sends: requests, made before the first is sent."""
    path = directory / f"{who}.lua"
    lines = ",\n".join(f'{{"{path}","{header}"}}' for path, header in asked(who, count))
    path.write_text(f"""
local made, at = {{}}, 0
function init(args)
    for i, one in ipairs({{
{lines}
    }}) do
        made[i] = string.format({json.dumps(REQUEST)}, one[1], args[1], one[2])
    end
end
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


def one_by_one(server, requests, kept):
    """Sends requests one after the other: each run has the server do the same, whatever else runs."""
    sent = None
    for number in range(COUNTED):
        path, user_agent = requests[number % len(requests)]
        if sent is None or not kept:
            sent = socket.create_connection(("127.0.0.1", server.port))
        sent.sendall((REQUEST % (path, connection(kept), user_agent)).encode())
        head, _, body = receive(sent, b"").partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        left = int(length[1]) - len(body) if length else 0
        while left > 0:
            left -= len(sent.recv(65536)) or left


def receive(sent, came):
    while b"\r\n\r\n" not in came:
        more = sent.recv(65536)
        if not more:
            raise SystemExit("a server has closed a connection in the midst of an answer")
        came += more
    return came


def load(server, path, kept, seconds):
    """Requests for some seconds: how many were answered, p99 in µs."""
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "30s",
               "-s", str(path), server.url("/"), "--", connection(kept)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    requests, p99, wrong = map(int, re.search(r"FIGURES (\d+) (\d+) (\d+)", output).groups())
    if wrong or not requests:
        raise SystemExit(f"{server.name}: {wrong} of {requests} requests failed\n{output}")
    return requests, p99


def wanted(options):
    """The cases that are asked for."""
    parts = options.case or [""]
    return [(case, how) for case, how in CASES.items() if any(part in case for part in parts)]


def measure(servers, directory, count, options):
    """All cases in rounds, the servers in turns: medians by case and server."""
    found = {}
    for case, (who, kept) in wanted(options):
        path = script(directory, who, count)
        samples = {server.name: [] for server in servers}
        for server in servers:
            load(server, path, kept, 1)  # Warms up.
        for turn in range(options.rounds):
            for server in servers[turn % len(servers):] + servers[:turn % len(servers)]:
                before = server.processor_seconds()
                requests, p99 = load(server, path, kept, options.seconds)
                spent = server.processor_seconds() - before
                samples[server.name].append((spent * 1e6 / requests, p99))
        found[case] = {name: figures(of_server) for name, of_server in samples.items()}
        print(f"{count} patterns, {case}: done", file=sys.stderr)
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
    print(f"{title:38}" + "".join(f"{cell:>22}" for cell in cells))


def table(count, found):
    """Prints microseconds a request, and how many times ours they are."""
    print(f"\n{count:,} patterns: processor µs a request (times ours)")
    line("", next(iter(found.values())))
    for case, row in found.items():
        own = row["ours"]["processor_us"]
        line(case, (f"{one['processor_us']:.1f} ({one['processor_us'] / own:.2f}x)" for one in row.values()))
        line("  least and most", (f"{one['least_us']:.1f}-{one['most_us']:.1f}" for one in row.values()))
        line("  p99", (f"{one['p99_us'] / 1000:.2f} ms" for one in row.values()))


def instructions_table(count, found):
    """Prints instructions a request, and how many times ours they are."""
    print(f"\n{count:,} patterns: instructions a request (times ours)")
    line("", next(iter(found.values())))
    for case, row in found.items():
        line(case, (f"{one:,} ({one / row['ours']:.2f}x)" for one in row.values()))


def instructions(directory, site, count, options):
    """Instructions a request of the thread that serves; the kernel's are not among them.

    What is done by the clock, such as keeping what was counted, has threads of its own: under
    valgrind, where a second holds a fiftieth of the requests, it would seem fifty times as much.
    """
    start, servers = Running.__init__, []

    def under_valgrind(self, name, command, port, core, where):
        tool = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={where}/{name.replace(' ', '-')}.cg"]
        start(self, name, [*tool, *command], port, core, where)

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
    # Whose thread has done most for people serves; what is kept of robots is another's work.
    threads = {server.name: max(counted(server, directory, people, True).items(), key=lambda it: it[1])[0]
               for server in servers}
    for case, (who, kept) in wanted(options):
        requests = asked(who, count)
        found[case] = {}
        for server in servers:
            by_thread = counted(server, directory, requests, kept)
            found[case][server.name] = round(by_thread[threads[server.name]] / COUNTED)
        print(f"{count} patterns, {case}: counted", file=sys.stderr)
    return found


def counted(server, directory, requests, kept):
    """Instructions of each thread for as many requests as are counted, behind as many that are not."""
    one_by_one(server, requests, kept)
    control("--zero", server)
    one_by_one(server, requests, kept)
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
