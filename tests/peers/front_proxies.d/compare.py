"""Compares the decision that each door gave for the same request with that of the own proxy."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass

from upstream import FORGED, IDENTITY, resolved


@dataclass
class Outcome:
    """Result of one request: `pass`, `redirect`, `refusal`, `page` (ours), `failure` (5xx) or `nothing`."""

    kind: str
    detail: str = ""
    identity: tuple = ()
    seen: dict = None
    is_ours: bool = False

    def __str__(self):
        return " ".join(filter(None, [self.kind, self.detail, *self.identity]))


def outcome(answer):
    site = answer.header("x-site")
    if site is not None:
        seen = json.loads(site)
        return Outcome("pass", identity=identity(seen["cgi"]), seen=seen)
    if answer.status == 0:
        return Outcome("nothing")
    if 300 <= answer.status < 400:
        return Outcome("redirect", str(answer.header("location")))
    if answer.status >= 500 and answer.status not in (501, 505):
        return Outcome("failure", str(answer.status))
    if answer.status >= 400:
        return Outcome("refusal", str(answer.status), is_ours="no-store" in (answer.header("cache-control") or ""))
    return Outcome("page")


def endpoint_outcome(answer):
    if answer.status == 200:
        names = [(name.replace("-", "_").upper(), [value]) for name, value in answer.headers]
        return Outcome("pass", identity=identity(dict(names)))
    result = outcome(answer)
    result.is_ours = True
    return result


def identity(variables):
    return tuple("|".join(variables.get(name, ["-"])) for name in IDENTITY)


def explained_outcome(told, own):
    """Reads a decision of `explain`, such as `pass`, `redirect 302 /x` or `refuse 451`; it names no identity."""
    word, _, rest = told["decision"].partition(" ")
    kind = {"refuse": "refusal", "serve": "page"}.get(word, word)
    return Outcome(kind, rest.split(" ")[-1], own.identity)


# Differences that the book describes (docs/src/keep-your-proxy.md): name, door, test, sentence of the book.
DOCUMENTED = [
    ("in place", lambda door: "nginx" not in door, lambda case, own, other: own.kind == "page" and other.kind == "redirect",
     "`serve` in place works with nginx; with the others the robot is redirected to the page."),
]


class Differences:
    """Collects differences, and groups those that look alike."""

    def __init__(self):
        self.groups = defaultdict(list)
        self.documented = defaultdict(int)
        self.bypasses = 0

    def add(self, door, case, own, other, is_bypass=False):
        self.groups[(not is_bypass, door, brief(own), brief(other))].append(case)
        self.bypasses += is_bypass

    def judge(self, door, case, own, other, refuses_itself=lambda: False):
        """Returns whether the outcomes are the same, after what is no difference."""
        if (own.kind, own.detail, own.identity) == (other.kind, other.detail, other.identity):
            return True
        is_own_page = own.kind == "page" or asks_own_page(case)
        if other.kind == "pass" and own.kind != "pass" and (not is_own_page or is_refused(case)):
            self.add(door, case, own, other, is_bypass=True)
            return False
        # A front asks for our own pages without a question, by its own reading of the path.
        if is_own_page and (other.seen is None or asks_own_page(case)):
            return True
        for name, is_for, is_so, _ in DOCUMENTED:
            if is_for(door) and is_so(case, own, other):
                self.documented[(name, door)] += 1
                return True
        if other.kind in ("refusal", "nothing") and not other.is_ours and refuses_itself():
            return True
        self.add(door, case, own, other)
        return False

    def print(self, limit=60, examples=1):
        groups = sorted(self.groups.items(), key=lambda group: (group[0][:2], -len(group[1])))
        for (is_difference, door, own, other), cases in groups[:limit]:
            what = "differs" if is_difference else "PASSES WHERE THE OWN PROXY DOES NOT"
            print(f"  {door} {what}, {len(cases)} times: own proxy: {own}; {door}: {other}")
            names = sorted({case.kind() for case in cases})
            print(f"    in: {', '.join(names[:20])}")
            for case in cases[:: max(1, len(cases) // examples)][:examples]:
                print(f"    {case.name}: {case.shown()}")
        if len(groups) > limit:
            print(f"  and {len(groups) - limit} more groups")

    def __len__(self):
        return sum(len(cases) for cases in self.groups.values())


def has_forged(seen):
    """Names of the identity that hold a value which the visitor sent, by the way to read them."""
    return [f"{way} {name}" for way in ("cgi", "wsgi", "raw") for name, values in seen[way].items()
            if any(FORGED in value for value in values)]


OWN_PAGES = re.compile(r"(https?:)?(//[^/]*)?/(robot-detection/admin|robot-heaven|robots\.txt|health|metrics|ready)(/|$|\?)", re.I)


def asks_own_page(case):
    """Whether the target as it was sent begins with a page of this program's own."""
    return OWN_PAGES.match(case.target) is not None


def brief(result):
    """Outcome without what differs from case to case."""
    return re.sub(r"redirect (\.\./)*login.*", r"redirect login", str(result))[:100]


def is_refused(case):
    """Whether a robot asks for what an application reads as a refused path."""
    segments = resolved(case.target.encode("latin-1", "replace").decode("latin-1"))
    return bool(case.agent) and "bot" in case.agent.lower() and segments[:1] == [b"refused"] and len(segments) > 1
