"""Takes the database away from a fleet under load, and reports losses."""

import argparse
import http.client
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/endurance.d"))

from client import Load  # noqa: E402
from fleet import Balancer, Instance, Missing, Postgres  # noqa: E402
from upstream import Upstream  # noqa: E402

GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
# Time limit of everything except the outage.
PATIENCE = 90


def main():
    parser = argparse.ArgumentParser(prog="tests/peers/database_outage", description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/robot-detection")
    parser.add_argument("--seconds", type=int, default=60, help="length of the outage")
    parser.add_argument("--connections", type=int, default=100, help="max_connections of PostgreSQL")
    parser.add_argument("--restarts", type=int, default=0, help="instances restarted, half of them during the outages")
    parser.add_argument("--outages", type=int, default=1, help="number of outages")
    parser.add_argument("--freeze", action="store_true", help="freeze the database instead of stopping it")
    options = parser.parse_args()
    if not options.binary.is_file():
        print(f"error: {options.binary} is missing: cargo build --release, or --binary", file=sys.stderr)
        return 2
    try:
        with ExitStack() as running:
            return check(running, options)
    except Missing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except AssertionError as error:
        print(f"FAIL {error}")
        return 1


def check(running, options):
    # A socket's path has at most 107 bytes, so a long TMPDIR cannot be used.
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="rd-", dir="/tmp")))
    folder.chmod(0o755)
    (folder / "pg").mkdir()
    database = running.enter_context(Postgres(folder / "pg", options.connections))
    upstream = running.enter_context(Upstream())

    def start(name):
        url = f"http://127.0.0.1:{upstream.port}"
        return running.enter_context(
            Instance(options.binary.resolve(), folder / name, database.url, url)
        )

    fleet = [start(f"first{number}") for number in range(3)]
    balancer = running.enter_context(Balancer(folder, fleet))
    wait("the balancer has three instances", lambda: states(balancer) == ["UP"] * 3)
    kept = running.enter_context(Load(balancer.port, clients=8))
    fresh = running.enter_context(Load(balancer.port, clients=4, is_kept=False))
    kept.wait_for(200)
    fresh.wait_for(100)

    for _ in range(options.outages - 1):
        database.stop()
        restart(balancer, fleet, options.restarts // 2 // options.outages)
        time.sleep(options.seconds)
        database.start()
        wait("all report that it is back", lambda: {one.readiness()[1] for one in fleet} == {"ok"})
    restart(balancer, fleet, options.restarts // 2)

    away = time.monotonic()
    database.signal_all("SIGSTOP") if options.freeze else database.stop()
    restart(balancer, fleet, options.restarts // 2 // options.outages)
    slowest, late = watch(balancer, fleet, away + options.seconds / 2), []
    for number in range(3 if options.connections > 50 else 0):
        late.append(start(f"late{number}"))
    for one in late:
        told = one.readiness()
        assert told[:2] == (200, "away"), f"an instance without a database: {told}"
        assert redirects(one.port), "an instance without a database passes robots"
        assert get(one.port, "/small", "Mozilla/5.0 Firefox/140.0") == 200
    slowest = max(slowest, watch(balancer, fleet + late, away + options.seconds))
    said = {one.readiness()[1] for one in fleet + late}
    assert said == {"away"}, f"instances report about the database: {said}"

    database.signal_all("SIGCONT") if options.freeze else database.start()
    back = time.monotonic()
    wait("all report that it is back", lambda: {one.readiness()[1] for one in fleet + late} == {"ok"})
    taken = time.monotonic() - back
    kept.wait_for(200)
    outcomes = kept.outcomes() + fresh.outcomes()
    left = [down for _, down in balancer.servers()]
    print(f"{sum(outcomes.values())} requests: {dict(outcomes)}")
    print(f"the balancer saw its instances leave {left} times; readiness took {slowest:.3f} s at most")
    print(f"{options.restarts} restarts; {len(late)} instances started without the database; all opened it within {taken:.1f} s")
    assert set(outcomes) == {"200"}, f"requests failed: {dict(outcomes)}"
    assert (left == [0, 0, 0] or options.restarts) and states(balancer) == ["UP"] * 3, f"instances left: {balancer.servers()}"
    print("ok")
    return 0


def watch(balancer, instances, until):
    """Queries all instances repeatedly; returns the longest duration of a positive readiness check."""
    slowest = 0
    while time.monotonic() < until:
        for one in instances:
            status, _, seconds = one.readiness()
            assert status == 200, f"an instance is not ready: {status}"
            slowest = max(slowest, seconds)
        assert redirects(balancer.port), "robots pass"
        check_heaven(balancer.port)
        time.sleep(0.5)
    return slowest


def restart(balancer, fleet, times):
    """Restarts one instance after the other, as in a rolling upgrade."""
    for number in range(times):
        fleet[number % len(fleet)].restart()
        wait("the balancer has three instances", lambda: states(balancer) == ["UP"] * 3)


def check_heaven(port):
    """A page of heaven is served, or the robot gets a Retry-After, within a second."""
    start = time.monotonic()
    status, headers = answer(port, "/robot-heaven/", GOOGLEBOT)
    assert status == 200 or (status == 503 and headers["Retry-After"]), f"heaven: {status}"
    assert time.monotonic() - start < 1, "heaven responds late"


def redirects(port):
    return get(port, "/private/a", GOOGLEBOT) == 302


def get(port, path, user_agent):
    return answer(port, path, user_agent)[0]


def answer(port, path, user_agent):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        client.request("GET", path, headers={"User-Agent": user_agent, "Host": "site.example"})
        answer = client.getresponse()
        return answer.status, answer.headers
    finally:
        client.close()


def states(balancer):
    # Until the socket exists, it has no file mode.
    try:
        return [state for state, _ in balancer.servers()]
    except OSError:
        return []


def wait(what, is_so):
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until, f"waited in vain: {what}"
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
