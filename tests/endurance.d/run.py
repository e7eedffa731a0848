"""Runs the checks against one server after another, and prints a table."""

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

import bodies
import crowds
import restarts
from program import Missing, Program
from upstream import Upstream

ROOT = Path(__file__).resolve().parent.parent.parent

CHECKS = [*bodies.CHECKS, *crowds.CHECKS, *restarts.CHECKS]


def main():
    options = arguments().parse_args()
    if options.list:
        print("\n".join(check.__name__ for check in CHECKS))
        return 0
    wanted = [check for check in CHECKS if not options.checks or check.__name__ in options.checks]
    if not wanted:
        print("error: no such check; --list names them", file=sys.stderr)
        return 2
    binary = options.binary or ROOT / "target/release/robot-detection"
    if not binary.is_file():
        print(f"error: {binary} is missing: cargo build --release, or --binary", file=sys.stderr)
        return 2
    try:
        passed = [run(check, binary.resolve(), options) for check in wanted]
    except Missing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0 if all(passed) else 1


def arguments():
    parser = argparse.ArgumentParser(prog="tests/endurance", description=__doc__)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="name of a check; all by default")
    parser.add_argument("--binary", type=Path, help="the program; target/release/robot-detection by default")
    parser.add_argument("--short", action="store_true", help="smaller and shorter, within a minute")
    parser.add_argument("--list", action="store_true", help="print the names of the checks")
    parser.add_argument("--settings", type=Path, help="settings to add: a TOML file without [server]")
    return parser


def run(check, binary, options):
    """Runs each check with a separate upstream and server."""
    more = options.settings.read_text() if options.settings else ""
    with tempfile.TemporaryDirectory() as folder, Upstream() as upstream:
        with Program(binary, Path(folder), upstream, more) as program:
            start = time.monotonic()
            try:
                figure = check(program, upstream, options.short)
                passed = True
            except AssertionError as error:
                figure, passed = str(error) or traceback.format_exc(), False
            seconds = time.monotonic() - start
    print(f"{'ok  ' if passed else 'FAIL'} {check.__name__:28} {seconds:6.1f} s  {figure}", flush=True)
    return passed


if __name__ == "__main__":
    sys.exit(main())
