"""Compares `explain`, the own proxy, the decision endpoint and real front proxies for the same requests."""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases as generator
import compare
import fronts
import modes
import setups
import wire
from program import DIALECTS, Program, question, unfold

SAMPLE = ["nginx", "apache", "haproxy"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="target/release/robot-detection")
    parser.add_argument("--only", action="append", choices=fronts.ALL, help="only this front proxy; may be repeated")
    parser.add_argument("--sample", action="store_true", help="only Debian's front proxies, and no failing endpoint")
    parser.add_argument("--seed", type=int, default=45)
    parser.add_argument("--cases", type=int, default=6_000, help="fixed and random requests to compare")
    chosen = {}
    for name, mode in [("compare", compare_all), ("includes", compare_includes), *modes.ALL.items(),
                       ("setups", setups.setups)]:
        parser.add_argument(f"--{name}", action="append_const", dest="modes", const=name, help=mode.__doc__)
        chosen[name] = mode
    arguments = parser.parse_args()
    arguments.binary = Path(arguments.binary).resolve()
    if not arguments.binary.exists():
        print(f"error: {arguments.binary} does not exist: cargo build --release", file=sys.stderr)
        return 2
    arguments.fronts = arguments.only or (SAMPLE if arguments.sample else fronts.ALL)
    missing = [name for name in arguments.fronts if not fronts.is_installed(name)]
    if missing:
        print(f"error: not installed: {', '.join(missing)}", file=sys.stderr)
        return 2
    if arguments.sample:
        arguments.cases = min(arguments.cases, 3_000)
        arguments.modes = arguments.modes or ["compare", "forged", "sizes", "cdn"]
    faults = 0
    for name in arguments.modes or chosen:
        start = time.monotonic()
        print(f"== {name}: {chosen[name].__doc__}")
        found = chosen[name](arguments, send_all)
        faults += found
        print(f"== {name}: {found} faults in {time.monotonic() - start:.0f} s")
    return 1 if faults else 0


def send_all(cases, send):
    with ThreadPoolExecutor(6) as pool:
        return list(pool.map(send, cases))


def compare_includes(arguments, _):
    """Sends the same requests through front proxies with their own configuration and the printed includes."""
    return compare_all(arguments, _, setup="include")


def compare_all(arguments, _, setup="standalone"):
    """Sends the same requests through every interface."""
    cases = generator.all_cases(arguments.seed, arguments.cases)
    print(f"{len(cases)} requests, seed {arguments.seed}")
    # A request gets the same decision whatever `fails` specifies for an unavailable endpoint.
    with Program(arguments.binary, fails="open" if setup == "include" else "closed") as program:
        found = compare.Differences()
        own, own_counters = send_counted(program, program.own, cases)
        for case, outcome in zip(cases, own):
            if outcome.seen and outcome.seen["refused"] and compare.is_refused(case):
                print(f"  note: the own proxy passes {case.kind()}: {case.shown()}")
        explained = program.explain(cases)
        for case, outcome in zip(cases, own):
            if id(case) in explained:
                found.judge("explain", case, outcome, compare.explained_outcome(explained[id(case)], outcome))
        print(f"explain: {len(explained)} requests")
        for dialect in DIALECTS if setup == "standalone" else []:
            askable = [(case, outcome) for case, outcome in zip(cases, own) if not case.is_odd
                       and (dialect not in ("envoy", "ingress-nginx") or "/" in case.target[:8])]
            answers = send_all(askable, lambda pair: unfold(wire.exchange(program.check, question(dialect, pair[0]))))
            for (case, outcome), answer in zip(askable, answers):
                found.judge(f"endpoint for {dialect}", case, outcome, compare.endpoint_outcome(answer),
                        own_of=lambda raw: compare.outcome(wire.exchange(program.own, raw)))
            print(f"endpoint for {dialect}: {len(askable)} requests")
        faults = sum(compare_front(name, program, cases, own, own_counters, found, setup) for name in arguments.fronts)
    found.print()
    print(f"{len(found)} differences; in {found.bypasses()} of them a request passes that the own proxy does not pass")
    return faults + len(found)


def compare_front(name, program, cases, own, own_counters, found, setup):
    start, faults = time.monotonic(), 0
    with fronts.Front(name, program, setup) as front, fronts.Front(name, program, "plain") as plain:
        others, counters = send_counted(program, front.port, cases)
        for case, outcome, other in zip(cases, own, others):
            found.judge(name + (" include" if setup == "include" else ""), case, outcome, other,
                        lambda: refuses_itself(plain, case), lambda raw: compare.outcome(wire.exchange(program.own, raw)))
        if counters != own_counters:
            faults += 1
            print(f"  {name} counts differently: {sorted(set(counters.items()) ^ set(own_counters.items()))}")
        if not front.is_alive():
            faults += 1
            print(f"  {name} ended with {front.process.returncode}: {front.log()}")
    print(f"{name}: {len(cases)} requests in {time.monotonic() - start:.0f} s")
    return faults


def send_counted(program, port, cases):
    """Returns the outcomes of all cases, and the increase of the counters by the plain ones."""
    before = program.counters()
    plain = send_all([case for case in cases if case.is_plain()], lambda case: wire.exchange(port, case.raw))
    # Each request is counted at the end of its response.
    time.sleep(0.5)
    after = program.counters()
    rest = send_all([case for case in cases if not case.is_plain()], lambda case: wire.exchange(port, case.raw))
    added = {key: value - before.get(key, 0) for key, value in after.items() if value != before.get(key, 0)}
    return [compare.outcome(answer) for answer in plain + rest], added


def refuses_itself(plain, case):
    """Whether this front proxy refuses the request without a query, as a plain proxy does."""
    return compare.outcome(wire.exchange(plain.port, case.raw)).kind in ("refusal", "nothing", "failure")


if __name__ == "__main__":
    sys.exit(main())
