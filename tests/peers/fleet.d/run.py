"""Follows the fleet guide, breaks its machines under load, and reports losses."""

import argparse
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from guide import Guide
from load import BROWSER, Load, ask
from machines import Balancer, Database, Instance, Machine, Missing, Network, ROOT, Site

BYTESPIDER = "Mozilla/5.0 (compatible; Bytespider; spider-feedback@bytedance.com)"
# Settings that are not on the page, but needed for rows of each kind.
MORE = """
[[rule]]
name   = "test"
path   = "/refused/*"
robots = ["bytespider"]
action = "refuse"

[[ban]]
refusals    = 2
per_seconds = 60
for_seconds = 3600
"""
BAN_MS = 3_600_000
# Time limits for a fleet to recover, and for a missing leader.
PATIENCE, LEADERLESS = 90, 15
# Seconds of counts that a killed process may lose (docs/src/operation.md), and one for latency.
UNWRITTEN = 5 + 1
AHEAD_S = 7_200


class Broken(Exception):
    """A broken promise of the page."""


class Fleet:
    """The machines of the guide."""

    def __init__(self, running, options):
        self.options, self.rows, self.broken = options, [], []
        # A socket's path has at most 107 bytes, so a long TMPDIR cannot be used.
        self.folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="rd-", dir="/tmp")))
        self.folder.chmod(0o755)
        self.guide = guide = Guide()
        network = running.enter_context(Network())
        self.balancer_machine = network.machine("balancer", "192.0.2.10")
        machines = [network.machine(name, f"192.0.2.2{last}") for last, name in enumerate(("one", "two", "three"), 1)]
        stores = [network.machine(name, f"192.0.2.3{last}") for last, name in enumerate(("db1", "db2"), 1)]
        # Visitors use other addresses, which may be banned.
        self.visitors = network.machine("visitors", "198.51.100.1", *[f"198.51.100.{n}" for n in range(10, 200)])
        self.visitors.route("192.0.2.0/24")
        self.balancer_machine.route("198.51.100.0/24")

        self.primary, self.standby = (running.enter_context(Database(it, self.folder / it.name)) for it in stores)
        self.primary.commands(guide.commands("initdb"))
        self.primary.append("postgresql.conf", guide.file("postgresql.conf"))
        self.primary.append("pg_hba.conf", guide.file("pg_hba.conf"))
        self.primary.commands(guide.commands("CREATE ROLE"))
        self.follow(self.standby, self.primary)

        self.balancer = running.enter_context(
            Balancer(self.balancer_machine, self.folder / "balancer", guide.file("haproxy.cfg"))
        )
        wait("HAProxy finds the primary", lambda: self.balancer.up("database") == ["db1"])
        self.instances = []
        for machine in machines:
            running.enter_context(Site(machine))
            settings = guide.file("robot-detection.toml") + MORE
            instance = running.enter_context(Instance(machine, self.folder / machine.name, settings))
            instance.start(options.old_binary or options.binary)
            self.instances.append(instance)
        self.wait_until_whole()

    def follow(self, standby, primary):
        """Creates a standby of a server, and makes the primary wait for it."""
        copied = self.guide.commands("pg_basebackup").replace("192.0.2.31", primary.machine.address)
        standby.commands(copied)
        primary.commands(self.guide.commands("synchronous_standby_names"))
        wait("the standby has every row", lambda: primary.ask("SELECT sync_state FROM pg_stat_replication") == "sync")

    def wait_until_whole(self):
        names = ["one", "two", "three"]
        wait("all serve and are up in the balancer", lambda: self.balancer.up("instances") == names)
        wait("all have the database", lambda: {one.database() for one in self.instances} == {"ok"})

    def leader(self, but=None):
        """Returns the leader of alerts, as reported by any instance except one."""
        processes = {one.process.pid: one for one in self.instances}
        asked = next(one for one in self.instances if one is not but)
        led = [processes.get(it["process"]) for it in asked.fleet() if "alerts" in it["leads"]]
        return led[0] if led else None

    def counted(self):
        """Returns the number of requests counted in the database."""
        return int(self.primary.ask("SELECT COALESCE(SUM(requests), 0) FROM traffic_counts WHERE span = 1"))

    @contextmanager
    def event(self, name, may_lose_seconds=0):
        """Runs a load during an event; yields an object that records when the fleet has recovered."""
        before = self.settled()
        normal = {}
        with Load(self.visitors, self.balancer_machine.address) as load:
            load.wait_for(self.options.seconds)
            normal["began"] = time.monotonic()
            yield normal
            normal.setdefault("ended", time.monotonic())
            load.wait_for(self.options.seconds)
        sent, wrong = len(load.results), load.wrong()
        asked = sent + normal.get("more", 0)
        until = time.monotonic() + 30
        while (counted := self.counted() - before) < asked - len(wrong) and time.monotonic() < until:
            time.sleep(0.5)
        lost = max(0, asked - len(wrong) - counted)
        taken = normal["ended"] - normal["began"]
        row = (name, sent, len(wrong), load.percentile_99() * 1000, load.slowest() * 1000, lost, taken)
        print("| {} | {:,} | {} | {:.0f} | {:.0f} | {} | {:.1f} |".format(*row), flush=True)
        if wrong:
            self.broken.append(f"{name}: requests were lost: {sorted(set(wrong))}")
        # Counts that one of three instances had not yet written.
        most = may_lose_seconds * sent / (normal["ended"] - normal["began"] + 2 * self.options.seconds) / 3 * 1.5
        if lost > most:
            self.broken.append(f"{name}: {lost} requests are not counted, {most:.0f} may be")

    def settled(self):
        """Returns the number of counted requests once it no longer grows."""
        seen = [self.counted()]
        while len(seen) < 12 or len(set(seen[-12:])) > 1:
            time.sleep(0.5)
            seen.append(self.counted())
        return seen[-1]

    def promise(self, is_so, what):
        if not is_so:
            self.broken.append(what)


def main():
    parser = argparse.ArgumentParser(prog="tests/peers/fleet", description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/robot-detection")
    parser.add_argument("--old-binary", type=Path, help="the fleet starts with this one, and is upgraded")
    parser.add_argument("--seconds", type=int, default=10, help="load before and after each event")
    options = parser.parse_args()
    for binary in filter(None, (options.binary, options.old_binary)):
        if not binary.is_file():
            print(f"error: {binary} is missing: cargo build --release, or --binary", file=sys.stderr)
            return 2
    options.binary = options.binary.resolve()
    options.old_binary = options.old_binary and options.old_binary.resolve()
    try:
        with ExitStack() as running:
            fleet = Fleet(running, options)
            print("| event | requests | lost | p99 ms | slowest ms | not counted | s until normal |")
            print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
            for happens in (nothing, upgrade, failover, leader_killed, cut_off, clock_ahead):
                happens(fleet)
    except Missing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except AssertionError as error:
        print(f"FAIL {error}")
        return 1
    for broken in fleet.broken:
        print(f"FAIL {broken}")
    if not fleet.broken:
        print("ok")
    return 1 if fleet.broken else 0


def nothing(fleet):
    with fleet.event("nothing"):
        pass


def upgrade(fleet):
    """Restarts one instance after the other with the new program; the first one migrates the tables."""

    def tables():
        return fleet.primary.ask("SELECT MAX(version) FROM robot_detection_migrations")

    before = tables()
    with fleet.event("rolling upgrade" if fleet.options.old_binary else "rolling restart"):
        for instance in fleet.instances:
            instance.stop()
            instance.start(fleet.options.binary)
            fleet.wait_until_whole()
    if fleet.options.old_binary:
        print(f"  tables went from {before} to {tables()} while both programs served")


def failover(fleet):
    """Kills the primary during writes, promotes the standby, and checks the promises."""
    lost_server, marks = fleet.primary, Marks(fleet)
    with fleet.event("primary killed, standby promoted") as event, marks:
        marks.wait_for(3)
        evidence = fleet.primary.ask("SELECT MAX(evidence_id) FROM evidence") or 0
        fleet.primary.kill()
        wait("HAProxy notices that the primary is gone", lambda: fleet.balancer.up("database") == [])
        fleet.primary, fleet.standby = fleet.standby, fleet.primary
        fleet.primary.commands(fleet.guide.commands("pg_ctl promote"))
        fleet.wait_until_whole()
        event["ended"] = time.monotonic()
        marks.wait_for(3)
        marks.end()
        event["more"] = marks.answered
    marks.check(int(evidence))
    fleet.standby.commands('rm -r "$PGDATA"')
    fleet.follow(lost_server, fleet.primary)


def leader_killed(fleet):
    wait("somebody leads", fleet.leader)
    leader = fleet.leader()
    with fleet.event("leader killed", may_lose_seconds=UNWRITTEN) as event:
        leader.kill()
        wait("another instance leads", lambda: fleet.leader(leader) not in (None, leader))
        event["ended"] = time.monotonic()
        leader.start(fleet.options.binary)
        fleet.wait_until_whole()
    taken = event["ended"] - event["began"]
    fleet.promise(taken <= LEADERLESS, f"there was no leader for {taken:.0f} s")


def cut_off(fleet):
    """Disconnects the leader: it serves the requests it gets, another instance leads, and it returns later."""
    wait("somebody leads", fleet.leader)
    cut = fleet.leader()
    with fleet.event("leader cut off") as event:
        cut.machine.cut()
        wait("HAProxy removes it", lambda: cut.machine.name not in fleet.balancer.up("instances"))
        wait("another instance leads", lambda: fleet.leader(cut) not in (None, cut))
        taken = time.monotonic() - event["began"]
        wait("it notices", lambda: cut.database() == "away")
        page, robot = cut.machine.get(8080, "/small", BROWSER), cut.machine.get(8080, "/private/a", BYTESPIDER)
        event["more"] = 2
        event["began"] = time.monotonic()
        cut.machine.plug()
        fleet.wait_until_whole()
    print(f"  another instance led after {taken:.1f} s", flush=True)
    fleet.promise(taken <= LEADERLESS, f"there was no leader for {taken:.0f} s")
    fleet.promise(page == (200, b"ok"), f"disconnected, it responds to people with {page}")
    fleet.promise(robot[0] == 302, f"disconnected, it responds to robots with {robot[0]}")


def clock_ahead(fleet):
    """Restarts an instance with a clock two hours ahead; the times that it writes must be right."""
    wrong, library = fleet.instances[2], max(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    with fleet.event("clock two hours ahead") as event:
        wrong.stop()
        wrong.start(
            fleet.options.binary, LD_PRELOAD=str(library), FAKETIME=f"+{AHEAD_S}s", FAKETIME_DONT_FAKE_MONOTONIC="1"
        )
        fleet.wait_until_whole()
        wait("the fleet reports it", lambda: any(it.get("clock_ahead_seconds", 0) > AHEAD_S - 60 for it in fleet.instances[0].fleet()))
        event["ended"] = time.monotonic()
        asked = [ask(fleet.visitors, fleet.balancer_machine.address, "198.51.100.199", BYTESPIDER, "/refused/b") for _ in range(9)]
        event["more"] = sum(status is not None for status in asked)
        wait("its visitor is banned", lambda: fleet.primary.ask("SELECT 1 FROM bans WHERE network = '198.51.100.199'") == "1")
    late = fleet.primary.ask("SELECT COUNT(*) FROM traffic_counts WHERE span = 1 AND began > EXTRACT(EPOCH FROM now()) / 60 + 1")
    fleet.promise(late == "0", f"{late} sums are in the future")
    longest = fleet.primary.ask("SELECT MAX(until_ms) - EXTRACT(EPOCH FROM now()) * 1000 FROM bans")
    fleet.promise(float(longest) <= BAN_MS, f"a ban lasts {float(longest) / 1000:.0f} s")
    banned = fleet.primary.ask("SELECT COUNT(*) FROM bans")
    time.sleep(12)
    left = fleet.primary.ask("SELECT COUNT(*) FROM bans")
    fleet.promise(banned == left, f"of {banned} bans {left} remain: a wrong clock ended the others")


class Marks:
    """Rows of each kind that are written one by one, each confirmed or not."""

    def __init__(self, fleet):
        self.fleet, self.stopped = fleet, threading.Event()
        self.answered, self.redirected, self.rules = 0, [], []
        self.threads = [threading.Thread(target=self._visit), threading.Thread(target=self._add_rules)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def wait_for(self, count):
        """Waits until a number of further live rules exist."""
        count += len(self.rules)
        wait("live rules are added", lambda: len(self.rules) >= count)

    def _visit(self):
        """Sends requests for redirects, stored as evidence, and for refusals, stored as bans, each from another address."""
        number = 0
        while not self.stopped.wait(0.1):
            target, address = self.fleet.balancer_machine.address, f"198.51.100.{10 + number // 6 % 180}"
            mark = f"/private/mark-{number}"
            if ask(self.fleet.visitors, target, "198.51.100.1", BYTESPIDER, mark) == 302:
                self.redirected.append(mark)
                self.answered += 1
            self.answered += ask(self.fleet.visitors, target, address, BYTESPIDER, "/refused/a") is not None
            number += 1

    def _add_rules(self):
        number = 0
        while not self.stopped.is_set():
            path = f"/never/{number}"
            adds = ("rules", "add", "refuse", "--robot", "bytespider", "--path", path, "--ends", "never")
            if self.fleet.instances[0].command(*adds).returncode == 0:
                self.rules.append(path)
            number += 1

    def check(self, evidence):
        """Checks that everything that was confirmed exists."""
        fleet, ask_for = self.fleet, self.fleet.primary.ask
        there = set(ask_for("SELECT path FROM evidence WHERE path LIKE '/private/mark-%'").split())
        lost = [mark for mark in self.redirected if mark not in there]
        logs = "".join(one.log.read_text() for one in fleet.instances)
        banned = {word.split()[0] for word in logs.split("banned ")[1:] if word.startswith("198.51.100.")}
        kept = set(ask_for("SELECT network FROM bans").split())
        definitions = ask_for("SELECT definition FROM live_rules")
        rules = [rule for rule in self.rules if f'"{rule}"' not in definitions]
        audit = int(ask_for("SELECT COUNT(*) FROM audit_log"))
        newest = int(ask_for("SELECT MAX(evidence_id) FROM evidence"))
        print(
            f"  of {len(self.redirected)} requests kept as evidence {len(lost)} are lost, of {len(banned)} bans "
            f"{len(banned - kept)}, of {len(self.rules)} live rules {len(rules)}, of as many entries of the audit log "
            f"{max(0, len(self.rules) - audit)}"
        )
        fleet.promise(not lost, f"evidence is lost: {lost[:5]}")
        fleet.promise(banned and banned <= kept, f"bans are lost: {banned - kept}")
        fleet.promise(not rules, f"live rules are lost: {rules}")
        fleet.promise(audit >= len(self.rules), f"the audit log has {audit} of {len(self.rules)} entries")
        fleet.promise(newest >= evidence, "evidence from before is lost")


def wait(what, is_so):
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until, f"waited in vain: {what}"
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
