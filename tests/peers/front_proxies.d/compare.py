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
    # What the site was sent, if the request reached it.
    seen: dict = None
    # Headers and text that a decision adds to the response.
    added: tuple = ()
    is_ours: bool = False

    def decision(self):
        return self.kind, self.detail, self.identity

    def site(self):
        return self.seen and self.seen["site"]

    def brief(self):
        """Kind and detail, without what differs between visitors."""
        return re.sub(r"redirect (\.\./)*login.*", "redirect to the login", f"{self.kind} {self.detail}".strip())[:100]

    def __str__(self):
        site = f"to {self.site()}" if self.seen else ""
        return " ".join(filter(None, [self.brief(), site, *self.identity]))


def outcome(answer):
    site = answer.header("x-site")
    added = added_to(answer)
    if site is not None:
        seen = json.loads(site)
        return Outcome("pass", "", identity(seen["cgi"]), seen, added)
    if answer.status < 100:
        return Outcome("pass" if answer.body.startswith(b"site") else "nothing")
    if 300 <= answer.status < 400:
        return Outcome("redirect", str(answer.header("location")), added=added)
    if answer.status >= 500 and answer.status not in (501, 505):
        return Outcome("failure", str(answer.status))
    if answer.status >= 400:
        text = answer.body.decode("utf-8", "replace").strip()
        is_ours = "no-store" in (answer.header("cache-control") or "")
        return Outcome("refusal", str(answer.status), added=(*added, ("text", text)), is_ours=is_ours)
    return Outcome("page")


def added_to(answer):
    names = ("x-robots-tag", "retry-after", "www-authenticate", "content-usage")
    added = [(name, answer.header(name)) for name in names if answer.header(name)]
    # Lines of a list mean the same in any order.
    added.append(("link", ", ".join(sorted((answer.header("link") or "").split(", ")))))
    added.append(("varies", "user-agent" in (answer.header("vary") or "").lower()))
    return tuple(added)


def endpoint_outcome(answer):
    if answer.status == 200:
        names = [(name.replace("-", "_").upper(), [value]) for name, value in answer.headers]
        return Outcome("pass", identity=identity(dict(names)))
    result = outcome(answer)
    result.is_ours = True
    return result


def explained_outcome(told, own):
    """Reads a decision of `explain`, such as `pass`, `redirect 302 /x` or `refuse 451`; it names no identity."""
    word, _, rest = told["decision"].partition(" ")
    kind = {"refuse": "refusal", "serve": "page"}.get(word, word)
    return Outcome(kind, rest.split(" ")[-1], own.identity)


def identity(variables):
    return tuple("|".join(variables.get(name, ["-"])) for name in IDENTITY)


# Differences that the book describes (docs/src/keep-your-proxy.md): name, doors, test of the case and of the outcomes
# of the own proxy and of the other door, sentence of the book.
DOCUMENTED = [
    ("page in place", r"^(?!.*nginx)|ingress",
     lambda case, own, other: own.kind == "page" and other.kind == "redirect" and "/pages/" in case.target,
     "`serve` in place works with nginx; with the others the robot is redirected to the page."),
    ("headers of a rule", r"^(traefik|envoy|.* include)$",
     lambda case, own, other: own.decision() == other.decision() and own.kind == "pass",
     "Envoy and included files add them to the site's own; Traefik gives them on refusals and redirects alone."),
    ("path of the question", r"^nginx",
     lambda case, own, other: own.kind == "pass" and other.kind == "refusal" and "robot-detection-check" in case.target,
     "nginx keeps the path /robot-detection-check for the question: no visitor can ask for it."),
    ("dropped names", r"^(nginx|apache)",
     lambda case, own, other: own.detail == "400" and other.kind == "pass" and case.has_odd_name()
     and not (other.seen and has_forged(other.seen)),
     "nginx and Apache drop header names with other characters than letters, digits and hyphens."),
    ("limits", r"^(?!explain)",
     lambda case, own, other: own.detail in ("414", "431") and not (other.seen and other.seen["refused"] and is_refused(case)),
     "The front's limits of headers and targets apply, not those of robot-detection's listener."),
    ("malformed requests", r"^explain$",
     lambda case, own, other: own.kind == "refusal" and own.detail in ("400", "414", "431", "501"),
     "`explain` decides about requests that the listener refuses as malformed, too."),
]


class Differences:
    """Collects differences, and groups those that look alike."""

    def __init__(self):
        self.groups = defaultdict(list)
        self.documented = defaultdict(int)

    def judge(self, door, case, own, other, refuses_itself=lambda: False):
        """Returns whether the outcomes are the same, after what is no difference."""
        if own.decision() == other.decision() and own.site() == (other.site() or own.site()) and not (
                case.is_plain() and other.seen and own.added != other.added):
            return True
        for row, doors, is_so, _ in DOCUMENTED:
            if re.search(doors, door) and is_so(case, own, other):
                self.documented[(row, door)] += 1
                return True
        is_own_page = own.kind == "page" or asks_own_page(case)
        if other.kind == "pass" and own.kind != "pass" and (not is_own_page or is_refused(case)):
            # The front has repaired the message, and the site gets what was asked about.
            if case.is_malformed() and not (is_refused(case) and other.seen and other.seen["refused"]):
                return True
            self.groups[(0, door, own.brief(), other.brief())].append(case)
            return False
        # A front asks for our own pages without a question, by its own reading of the path.
        if is_own_page and (other.seen is None or asks_own_page(case)):
            return True
        if other.kind in ("refusal", "nothing") and (case.is_malformed() or not other.is_ours and refuses_itself()):
            return True
        same = own.decision() == other.decision() and own.site() == other.site()
        outcomes = ("the same decision", f"other headers {sorted(set(own.added) ^ set(other.added), key=str)}")
        if own.kind != other.kind:
            outcomes, same = (own.brief(), other.brief()), True
        self.groups[(1, door, *(outcomes if same else (str(own), str(other))))].append(case)
        return False

    def print(self, most=15):
        groups = sorted(self.groups.items(), key=lambda group: (group[0][:2], -len(group[1])))
        printed = defaultdict(int)
        for (is_difference, door, own, other), cases in groups:
            printed[door] += 1
            if printed[door] > most:
                continue
            what = "differs" if is_difference else "PASSES WHERE THE OWN PROXY DOES NOT"
            print(f"  {door} {what}, {len(cases)} times: own proxy: {own}; {door}: {other}")
            names = sorted({case.kind() for case in cases})
            print(f"    in: {', '.join(names[:20])}")
            print(f"    {cases[0].name}: {cases[0].shown()}")
        for door, number in printed.items():
            if number > most:
                print(f"  {door}: and {number - most} more groups")
        for (row, door), times in sorted(self.documented.items()):
            print(f"  as the book says: {row}, {door}: {times}")

    def bypasses(self):
        return sum(len(cases) for key, cases in self.groups.items() if not key[0])

    def __len__(self):
        return sum(len(cases) for cases in self.groups.values())


# Own pages of the configuration; `+` of a path means that what stands below belongs to them.
OWN_PAGES = re.compile(
    r"(https?:)?(//[^/]*)?/(robot-detection/admin|robot-heaven|robots\.txt|health|ready|metrics)(/|$|\?)", re.IGNORECASE
)


def asks_own_page(case):
    """Whether the target as it was sent begins with a page of this program's own."""
    return OWN_PAGES.match(case.target) is not None


def is_refused(case):
    """Whether a robot asks for what an application reads as a refused path."""
    segments = resolved(case.target)
    return bool(case.agent) and "bot" in case.agent.lower() and segments[:1] == [b"refused"] and len(segments) > 1


def has_forged(seen):
    """Names of the identity that hold a value which the visitor sent, by the way to read them."""
    return [f"{way} {name}" for way in ("cgi", "wsgi", "raw") for name, values in seen[way].items()
            if any(FORGED in value for value in values)]
