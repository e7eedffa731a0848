"""Compares the decisions of all interfaces for the same request with that of the own proxy."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from urllib.parse import unquote

from cases import AGENTS, Case
from upstream import FORGED, IDENTITY, resolved


@dataclass
class Outcome:
    """Result of one request: `pass`, `redirect`, `refusal`, `page` (ours), `failure` (5xx) or `nothing`."""

    kind: str
    detail: str = ""
    identity: tuple = ()
    # The request as received by the site, if it got there.
    seen: dict = None
    # Headers and text that a decision adds to the response.
    added: tuple = ()
    is_ours: bool = False

    def decision(self):
        # The return path of a login is a path as the front proxy writes it.
        return self.kind, re.sub(r"^(\.\./)*(\./)?login.*", "login", self.detail), self.identity

    def on_the_same_host(self, case, own):
        """The same outcome, with a redirect to the requested host made relative, as the own proxy does."""
        host = re.match(r"https?://([^/]+)/", case.target, re.IGNORECASE)
        host = (host[1] if host else case.host or "").lower()
        origin, _, path = self.detail.removeprefix("http://").partition("/")
        host = host.removesuffix(":80")
        # A request without a host is redirected to the name of the front proxy's first server.
        is_host = not host or origin in (host, host.replace(".:", ":").rstrip("."))
        is_same = self.kind == "redirect" and own.detail == "/" + path and is_host
        return replace(self, detail=own.detail) if is_same else self

    def site(self):
        return self.seen and self.seen["site"]

    def brief(self):
        """Kind and detail, without parts that differ between visitors."""
        return re.sub(r"redirect (\.\./)*(\./)?login.*", "redirect to the login", f"{self.kind} {self.detail}".strip())[:100]

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
        names = [(name.replace("-", "_").upper(), [value]) for name, value in reversed(answer.headers)]
        return Outcome("pass", identity=identity(dict(names)))
    result = outcome(answer)
    result.is_ours = True
    return result


def explained_outcome(told, own):
    """Parses a decision of `explain`, which contains no identity."""
    kind = {"refuse": "refusal", "serve": "page"}.get(told["decision"], told["decision"])
    detail = {"redirect": told["location"], "refusal": str(told["status"])}.get(kind, "")
    return Outcome(kind, detail, own.identity)


def identity(variables):
    return tuple("|".join(variables.get(name, ["-"])) for name in IDENTITY)


# Differences documented in docs/src/keep-your-proxy.md: name, interfaces, test of the case and of the outcomes
# of the own proxy and of the other interface.
DOCUMENTED = [
    ("page in place", r"^(?!.*nginx)|ingress",
     lambda case, own, other: own.kind == "page" and other.kind == "redirect" and resolved(case.target)[:1] == [b"pages"]),
    ("other statuses", r"ingress-nginx",
     lambda case, own, other: own.kind not in ("pass", "nothing") and other.detail in ("401", "403")),
    ("other statuses", r"envoy|apache include",
     lambda case, own, other: own.kind == "refusal" and own.detail >= "500" and other.detail == "403"),
    ("headers of a rule", r"^(traefik|envoy|.* include)$",
     lambda case, own, other: own.decision() == other.decision() and own.kind == "pass" and own.site() == (other.site() or own.site())),
    ("path of the question", r"^nginx",
     lambda case, own, other: own.kind == "pass" and other.kind == "refusal" and "robot-detection-check" in case.target),
    ("first User-Agent", r"^(caddy|traefik)",
     lambda case, own, other: sum(name == "User-Agent" for name, _ in case.headers) > 1 and case.agent != AGENTS["gptbot"]),
    ("first User-Agent", r"^apache",
     lambda case, own, other: [value for name, value in case.headers if name == "User-Agent"] == ["", ""]),
    ("limits", r"^(?!explain)",
     lambda case, own, other: own.detail in ("414", "431") and not (other.seen and other.seen["refused"] and is_refused(case))),
    ("limits", r"^envoy",
     lambda case, own, other: own.kind == "refusal" and other.detail == "500" and len(case.headers) > 80),
    ("malformed requests", r"^explain$",
     lambda case, own, other: own.kind == "refusal" and own.detail in ("400", "414", "431", "501")),
    ("sites", r"^(nginx|caddy|haproxy|envoy|traefik|.* include)$",
     lambda case, own, other: own.decision() == other.decision() and own.site() != (other.site() or own.site())
     and ("docs" in unquote(case.target).lower() or (case.host or "").count(".") > 3 or "://" in case.target)),
    ("sites", r" include$",
     lambda case, own, other: own.decision() == other.decision() and own.site() != (other.site() or own.site())),
    ("sites", r"^apache$",
     lambda case, own, other: own.decision() == other.decision() and case.host is None and "://" in case.target),
    ("OPTIONS *", r"^(apache|caddy|traefik)",
     lambda case, own, other: case.method == "OPTIONS" and not case.target.startswith("/") and other.kind == "page" and not other.seen),
]


# The same for a request that a front proxy reads differently: name, interfaces, test of the case, the reading.
# Then the own proxy's decision for that reading counts.
READ_OTHERWISE = [
    ("removed headers", r"^(nginx|apache|caddy|traefik)", Case.has_odd_name, Case.without_odd_names),
    ("removed headers", r"^(envoy|apache include)", Case.has_empty_identity, Case.without_identity),
    ("removed headers", r"^(?!explain)", Case.nominates_headers, Case.without_nominations),
    ("removed headers", r"^(apache|envoy|traefik)", Case.nominates_headers, Case.without_nominated),
    ("trusted proxy", r"^(?!endpoint|explain)", Case.has_identity, Case.without_identity),
    ("cleaned paths", r"^traefik", Case.is_cleaned, Case.cleaned),
    ("cleaned paths", r"^apache$", Case.is_cleaned, lambda case, raw: case.cleaned(raw, is_apache=True)),
]


class Differences:
    """Collects differences, grouped by similarity."""

    def __init__(self):
        self.groups = defaultdict(list)
        self.documented = defaultdict(int)

    def judge(self, door, case, own, other, refuses_itself=lambda: False, own_of=None):
        """Counts an undocumented difference; `own_of` sends other bytes to the own proxy."""
        fault = self.fault(door, case, own, other, refuses_itself)
        raw, rows = case.raw, []
        for row, doors, is_so, read in READ_OTHERWISE if fault and own_of else []:
            # Only requests that a trusted proxy would forward without a query are not refused.
            is_asked = row == "trusted proxy" and door != "apache" and not asks_own_page(case)
            if not re.search(doors, door) or not is_so(case) or is_asked:
                continue
            raw, rows = read(case, raw), [*rows, row]
            if not self.fault(door, case, own_of(raw), other, refuses_itself):
                self.documented[(" and ".join(sorted(set(rows))), door)] += 1
                return
        if fault:
            self.groups[fault].append(case)

    def fault(self, door, case, own, other, refuses_itself):
        """Returns the difference: 0 for a bypass, otherwise 1; the interface and both outcomes."""
        other = other.on_the_same_host(case, own)
        is_same = own.decision() == other.decision() and own.site() == (other.site() or own.site())
        if is_same and not (case.is_plain() and other.seen and own.added != other.added):
            return None
        for row, doors, is_so in DOCUMENTED:
            if re.search(doors, door) and is_so(case, own, other):
                self.documented[(row, door)] += 1
                return None
        if is_same:
            added = sorted(set(own.added) ^ set(other.added), key=str)
            return 1, door, "the same decision", f"other headers {added}"
        is_malformed = case.is_malformed() or own.detail == "400" and case.is_no_uri()
        if is_malformed and (other.kind in ("pass", "redirect", "refusal", "page", "nothing") or other.kind == "failure" and refuses_itself()):
            # A front proxy may repair a message; then the site gets the request of the query.
            return None if not (is_refused(case) and other.seen and other.seen["refused"]) else (0, door, own.brief(), other.brief())
        # The endpoint and `explain` may pass requests that a front proxy sends to our own pages without a query.
        is_own_page = own.kind == "page" or asks_own_page(case)
        if other.seen is None and door.startswith(("endpoint", "explain")) and is_own_page and not (other.kind == "pass" and is_refused(case)):
            return None
        if other.kind in ("refusal", "nothing") and not other.is_ours and refuses_itself():
            return None
        if own.kind != other.kind:
            return int(other.kind != "pass"), door, own.brief(), other.brief()
        return 1, door, str(own), str(other)

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
            print(f"  as documented: {row}, {door}: {times}")

    def bypasses(self):
        return sum(len(cases) for key, cases in self.groups.items() if not key[0])

    def __len__(self):
        return sum(len(cases) for cases in self.groups.values())


OWN_PAGES = re.compile(
    r"(https?:)?(//[^/]*)?/(robot-detection/admin|robot-heaven|robots\.txt|\.well-known/http-message-signatures-directory)(/|$|\?)", re.IGNORECASE
)


def asks_own_page(case):
    """Whether the target as sent begins with a page of this program."""
    return OWN_PAGES.match(case.target) is not None


def is_refused(case):
    """Whether a robot requests a path that an application reads as a refused one."""
    segments = resolved(case.target)
    return bool(case.agent) and "bot" in case.agent.lower() and segments[:1] == [b"refused"] and len(segments) > 1


def has_forged(seen):
    """Returns the identity headers that hold a value from the visitor, by the way of reading them."""
    return [f"{way} {name}" for way in ("cgi", "wsgi", "raw") for name, values in seen[way].items()
            if any(FORGED in value for value in values)]
