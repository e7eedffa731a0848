"""Failing upstreams, reloads, and shutdown, all under load."""

import time
from collections import Counter
from contextlib import ExitStack

from client import Load
from upstream import HALVES


def upstream_restarts(program, upstream, is_short):
    """Small responses are complete or replaced by 502 or 504; none is truncated."""
    rounds = 2 if is_short else 5
    failed = answered = 0
    for _ in range(rounds):
        while_away, count = restart(upstream, [Load(program.port)])
        assert set(while_away) <= {"200", "502", "504"}, f"during the outage: {while_away}"
        failed += sum(while_away.values()) - while_away["200"]
        answered += count
    assert failed > 0, "no request fell into the outage"
    return f"{rounds} times: {answered} requests; during the outage {failed} got 502 or 504, none was truncated"


def upstream_restarts_midway(program, upstream, is_short):
    """Responses that have begun cannot be replaced: they are visibly truncated."""
    rounds = 2 if is_short else 5
    failed = answered = cut = 0
    for _ in range(rounds):
        loads = [
            Load(program.port, clients=8, path=f"/{kind}/50", length=HALVES)
            for kind in ("halves", "chunkedhalves")
        ]
        while_away, count = restart(upstream, loads, least=32)
        now_cut = while_away.pop("IncompleteRead", 0)
        assert set(while_away) <= {"200", "502", "504"}, f"during the outage: {while_away}"
        # A client has one response at a time.
        assert now_cut <= 16, f"{now_cut} responses to 16 clients were truncated at the kill"
        cut += now_cut
        failed += sum(while_away.values()) - while_away["200"]
        answered += count
    assert cut > 0, "no response had begun"
    return f"{rounds} times: {answered} requests; {cut} begun responses were truncated, {failed} got 502 or 504"


def restart(upstream, loads, least=200):
    """Kills the upstream under load and restarts it.

    Before and after, every response is complete with status 200. Returns the other outcomes, and the number of all
    requests.
    """
    with ExitStack() as running:
        for load in loads:
            running.enter_context(load)
        for load in loads:
            load.wait_for(least)
        killed = time.monotonic()
        upstream.kill()
        for load in loads:
            load.wait_for(50)
        upstream.start()
        back = time.monotonic()
        for load in loads:
            load.wait_for(least)
    before = sum((load.outcomes(ended_before=killed) for load in loads), Counter())
    after = sum((load.outcomes(begun_after=back) for load in loads), Counter())
    every = sum((load.outcomes() for load in loads), Counter())
    assert set(before) == {"200"}, f"before the kill: {before}"
    assert set(after) == {"200"}, f"after the restart: {after}"
    return every - before - after, every.total()


def reloads(program, _, is_short):
    rounds = 5 if is_short else 20
    good = program.settings
    other = 'filter_pattern = "/other/*"\n' + good
    bad = good.replace("listen", "lisssten")
    with Load(program.port) as kept, Load(program.port, clients=8, is_kept=False) as fresh:
        for _ in range(rounds):
            for settings in (other, bad, good):
                program.reload(settings)
                kept.wait_for(20)
                fresh.wait_for(10)
    outcomes = kept.outcomes() + fresh.outcomes()
    assert set(outcomes) == {"200"}, f"{outcomes}"
    reloaded, refused = program.count("reloaded"), program.count("not reloaded")
    assert reloaded - refused > 0 and refused > 0, f"{reloaded - refused} reloaded, {refused} refused"
    return f"{outcomes['200']} requests while {reloaded - refused} valid and {refused} invalid settings were reloaded"


def stop_kept(program, _, is_short):
    return stop(program, Load(program.port, clients=32))


def stop_fresh(program, _, is_short):
    return stop(program, Load(program.port, clients=32, is_kept=False))


def stop_slow(program, _, is_short):
    return stop(program, Load(program.port, clients=32, path="/slow/700"), count=40)


def stop(program, load, count=300):
    """No request sent before the signal is lost."""
    with load:
        load.wait_for(count)
        stopped = time.monotonic()
        program.signal("SIGTERM")
        code = program.process.wait(timeout=60)
    before = load.outcomes(sent_before=stopped)
    assert set(before) == {"200"}, f"sent before the signal: {before}"
    assert code == 0, f"exit code {code}"
    in_flight = sum(
        1 for _, sent, ended, _ in load.results if sent and sent < stopped < ended
    )
    return f"{sum(before.values())} requests, {in_flight} of them in flight: all answered"


CHECKS = [upstream_restarts, upstream_restarts_midway, reloads, stop_kept, stop_fresh, stop_slow]
