"""Upstreams that die, reloads, and the end, all under load."""

import time

from client import Load


def upstream_restarts(program, upstream, is_short):
    rounds = 2 if is_short else 5
    failed = answered = cut = 0
    for _ in range(rounds):
        with Load(program.port) as load:
            load.wait_for(200)
            killed = time.monotonic()
            upstream.kill()
            load.wait_for(50)
            upstream.start()
            back = time.monotonic()
            load.wait_for(200)
        before = load.outcomes(begun_before=killed - 1)
        while_away = load.outcomes(killed - 1, back)
        after = load.outcomes(begun_after=back)
        assert set(before) <= {"200"}, f"before it was killed: {before}"
        # An answer that had begun can only be cut; each client sees that once at most.
        now_cut = while_away.pop("IncompleteRead", 0) + while_away.pop("RemoteDisconnected", 0)
        assert now_cut <= len(load.threads), f"{now_cut} answers were cut when it went away"
        assert set(while_away) <= {"200", "502", "504"}, f"while it was away: {while_away}"
        assert set(after) == {"200"}, f"once it was back: {after}"
        cut += now_cut
        failed += sum(while_away.values()) - while_away["200"]
        answered += sum(load.outcomes().values())
    return f"{rounds} times: {answered} requests; while it was away {failed} got 502 or 504, {cut} whose answer had begun were cut"


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
    return f"{outcomes['200']} requests while {reloaded - refused} good and {refused} bad settings came"


def stop_kept(program, _, is_short):
    return stop(program, Load(program.port, clients=32))


def stop_fresh(program, _, is_short):
    return stop(program, Load(program.port, clients=32, is_kept=False))


def stop_slow(program, _, is_short):
    return stop(program, Load(program.port, clients=32, path="/slow/700"), count=40)


def stop(program, load, count=300):
    """No request that was sent before the signal is lost."""
    with load:
        load.wait_for(count)
        stopped = time.monotonic()
        program.signal("SIGTERM")
        code = program.process.wait(timeout=60)
    before = load.outcomes(begun_before=stopped)
    assert set(before) == {"200"}, f"sent before the signal: {before}"
    assert code == 0, f"exit code {code}"
    in_flight = sum(
        1 for begun, ended, _ in load.results if begun and begun < stopped < ended
    )
    return f"{sum(before.values())} requests, {in_flight} of them in flight: all answered"


CHECKS = [upstream_restarts, reloads, stop_kept, stop_fresh, stop_slow]
