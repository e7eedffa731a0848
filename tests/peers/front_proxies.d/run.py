"""Sends the same requests through `explain`, the own proxy, the decision endpoint and real fronts, and compares."""

import argparse
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases as generator
import compare
import fronts
import wire
from program import DIALECTS, Program, question, unfold


def send_all(cases, send):
    with ThreadPoolExecutor(6) as pool:
        return list(pool.map(send, cases))


def compare_all(arguments, program):
    """The generator's requests through every door."""
    cases = generator.all_cases(arguments.seed, arguments.cases)
    print(f"{len(cases)} requests, seed {arguments.seed}")
    found = compare.Differences()
    own = send_all(cases, lambda case: compare.outcome(wire.exchange(program.own, case.raw)))
    for case, outcome in zip(cases, own):
        if outcome.seen and outcome.seen["refused"] and case.agent and "bot" in case.agent:
            print(f"  note: the own proxy passes {case.name} {case.target[:80]!r}")
    finish(found, "own proxy", cases, own)
    explained = program.explain(cases)
    for case, outcome in zip(cases, own):
        if id(case) in explained:
            found.judge("explain", case, outcome, compare.explained_outcome(explained[id(case)], outcome))
    print(f"explain: {len(explained)} requests")
    for dialect in DIALECTS if not arguments.only or "endpoint" in arguments.only else []:
        askable = [(case, outcome) for case, outcome in zip(cases, own) if not case.is_odd]
        answers = send_all(askable, lambda pair: unfold(wire.exchange(program.check, question(dialect, pair[0]))))
        for (case, outcome), answer in zip(askable, answers):
            found.judge(f"endpoint for {dialect}", case, outcome, compare.endpoint_outcome(answer))
        print(f"endpoint for {dialect}: {len(askable)} requests")
    for name in chosen(arguments):
        start = time.monotonic()
        front = fronts.Front(name, program)
        plain = fronts.Front(name, program, is_plain=True)
        try:
            others = send_all(cases, lambda case: compare.outcome(wire.exchange(front.port, case.raw)))
            for case, outcome, other in zip(cases, own, others):
                found.judge(name, case, outcome, other, lambda: refuses_itself(plain, case))
            if not front.is_alive():
                print(f"  {name} ENDED with {front.process.returncode}")
        finally:
            front.stop()
            plain.stop()
        print(f"{name}: {len(cases)} requests in {time.monotonic() - start:.0f} s")
    found.print()
    for (row, door), times in sorted(found.documented.items()):
        print(f"  documented: {row}, {door}: {times}")
    print(f"{len(found)} differences, {found.bypasses} of them pass where the own proxy refuses")
    return len(found)


def finish(found, door, cases, outcomes):
    pass


def refuses_itself(plain, case):
    """Whether this front refuses the request without asking, as a plain proxy does."""
    return compare.outcome(wire.exchange(plain.port, case.raw)).kind in ("refusal", "nothing")


def chosen(arguments):
    names = [name for name in arguments.only or fronts.ALL if name in fronts.ALL]
    missing = [name for name in names if not fronts.is_installed(name)]
    if missing:
        raise SystemExit(f"error: not installed: {', '.join(missing)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="target/release/robot-detection")
    parser.add_argument("--only", action="append", choices=[*fronts.ALL, "endpoint"], help="may be repeated")
    parser.add_argument("--seed", type=int, default=45)
    parser.add_argument("--cases", type=int, default=3_600)
    arguments = parser.parse_args()
    binary = Path(arguments.binary).resolve()
    if not binary.exists():
        print(f"error: {binary} does not exist: cargo build --release", file=sys.stderr)
        return 2
    program = Program(binary)
    try:
        program.start()
        faults = compare_all(arguments, program)
    finally:
        program.stop()
        shutil.rmtree(program.directory, ignore_errors=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
