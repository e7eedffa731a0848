"""Many idle or slow clients, while others must be served."""

import re
import resource
import subprocess
import time

from client import connection, fetch
from program import Missing

# Longest wait of other clients in the presence of slow ones. (slowhttptest
# sends probes too, but for the large page, which shows the upstream's load.)
PATIENCE_SECONDS = 5.0
# Memory limit of a slow client for the response that it does not read.
ROOM_KIB = 192


def idle_connections(program, _, is_short):
    count = 500 if is_short else 2000
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files < 2 * count + 200:
        raise Missing(f"{2 * count + 200} open files are needed, {files} are allowed: raise ulimit -n")
    before = program.memory_kib()
    clients = [connection(program.port) for _ in range(count)]
    for client in clients:
        assert fetch(program.port, using=client)[0] == 200
    sockets = [client.sock for client in clients]
    slowest = max(served(program) for _ in range(50))
    for client, sock in zip(clients, sockets):
        assert fetch(program.port, using=client)[:2] == (200, b"ok"), "an idle connection was lost"
        assert client.sock is sock, "an idle connection was closed"
    grown = program.peak_kib() - before
    for client in clients:
        client.close()
    return f"{count} kept, {grown / count:.1f} KiB each; others within {slowest * 1000:.0f} ms"


def slow_heads(program, _, is_short):
    return slow(program, is_short, "-H", "/small")


def slow_bodies(program, _, is_short):
    return slow(program, is_short, "-B", "/small")


def slow_readers(program, _, is_short):
    # They request more than the buffers in between can hold.
    return slow(program, is_short, "-X", "/bytes/2097152", "-w", "512", "-y", "1024", "-z", "32", most=500)


def slow(program, is_short, mode, path, *more, most=1000):
    count, seconds = (200, 5) if is_short else (most, 20)
    before = program.memory_kib()
    url = f"http://127.0.0.1:{program.port}{path}"
    attack = subprocess.Popen(
        ["slowhttptest", mode, "-u", url, "-c", str(count), "-r", str(max(count // 10, 50)), "-i", "1",
         "-l", str(seconds), "-p", "5", *more],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    asked, slowest = 0, 0.0
    while attack.poll() is None:
        slowest = max(slowest, served(program))
        asked += 1
        time.sleep(0.05)
    report = re.sub(r"\x1b\[[0-9;]*m", "", attack.stdout.read())
    attack.stdout.close()
    connected = max((int(n) for n in re.findall(r"connected:\s*(\d+)", report)), default=0)
    assert connected > count // 2, f"the attack did not happen: {report[-500:]}"
    assert slowest < PATIENCE_SECONDS, f"another client waited {slowest:.1f} s"
    grown = program.peak_kib() - before
    assert grown < ROOM_KIB * connected, f"{connected} clients hold {grown / connected:.0f} KiB each"
    return (f"{connected} concurrent, {grown / 1024:.1f} MiB; "
            f"{asked} others within {slowest * 1000:.0f} ms")


def served(program):
    status, body, seconds = fetch(program.port)
    assert (status, body) == (200, b"ok"), f"another client got {status}"
    return seconds


def http2_load(program, _, is_short):
    requests = 2_000 if is_short else 20_000
    before = program.memory_kib()
    report = subprocess.run(
        ["h2load", "-n", str(requests), "-c", "16", "-m", "32",
         f"http://127.0.0.1:{program.port}/small"],
        capture_output=True, text=True, check=False,
    ).stdout
    done = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored", report)
    assert done, f"h2load failed: {report[-500:]}"
    assert done.groups() == (str(requests), "0", "0"), done[0]
    assert f"{requests} 2xx" in report, report
    grown = program.peak_kib() - before
    return f"{requests} requests, 32 streams on 16 connections; {grown / 1024:.1f} MiB"


CHECKS = [idle_connections, slow_heads, slow_bodies, slow_readers, http2_load]
