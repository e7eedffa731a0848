"""Generator of requests: paths × spellings × methods × headers × User-Agents, the same for the same seed."""

import itertools
import random
import re
from dataclasses import dataclass

import wire
from upstream import FORGED

AGENTS = {
    "googlebot": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "gptbot": "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "firefox": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "chrome": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
              "Chrome/141.0.0.0 Safari/537.36",
    "unlisted": "AcmeCorpSpider/1.0",
    "tool": "curl/8.5.0",
    "empty": "",
    "nameless": None,
}

# Paths with at least two segments, which every spelling needs.
PATHS = [
    "/members-only-stuff/a", "/refused/x", "/paid/1", "/gone/1.php", "/pages/1", "/closed/1", "/tagged/1",
    "/news/1", "/forms/1", "/cart/1", "/docs/1", "/docs/secret/1", "/open/1.php", "/assets/a.css",
]
# Paths that are requested unchanged.
PLAIN_PATHS = [
    "/", "/robots.txt", "/robot-heaven/", "/robot-heaven/none", "/robot-detection/admin", "/robot-detection/admin/",
    "/robot-detection/admin/assets/none", "/robot-detection/admin/api/none", "/check/nginx", "/check/page",
    "/check/health", "/robot-detection-check", "/index.php?a=b", "/favicon.ico", "/docs",
    "/members-only-stuff", "/refused", "/a%20b?x=%2F&y", "/.well-known/http-message-signatures-directory",
    "/wp-login.php", "/%E2%82%AC",
]

# Each is a target for `/P/X`: {p} the first segment, {x} the others, {b} the prefix of a detour;
# {p1}, {pe}, {pa}, {pd}: first letter, last letter, all letters percent-encoded, first one encoded twice.
SPELLINGS = r"""
{b}/{p}/{x}             {b}/{p1}/{x}            {b}/{pe}/{x}            {b}/{pa}/{x}
{b}/{pl}/{x}            {b}/{pd}/{x}            {b}//{p}/{x}            {b}///{p}/{x}
{b}/./{p}/{x}           {b}/.//{p}/{x}          {b}/%2e/{p}/{x}         {b}/a/../{p}/{x}
{b}/a/%2e%2e/{p}/{x}    {b}/a/.%2e/{p}/{x}      {b}/a/%2E./{p}/{x}      {b}/a/..%2f{p}/{x}
{b}/a%2f..%2f{p}/{x}    {b}/a/b/../../{p}/{x}   {b}/../{p}/{x}          {b}/../../{p}/{x}
{b}/%2e%2e/{p}/{x}      {b}/%2E%2e%2F{p}/{x}    {b}/..%2f{p}/{x}        {b}/..;/{p}/{x}
{b}/a/..;/{p}/{x}       {b}/a/..;y=1/{p}/{x}    {b}/;/{p}/{x}           {b}/;y/{p}/{x}
{b}/{p};y/{x}           {b}/{p};/{x}            {b}/{p}/;y/{x}          {b}/{p}/{x};y
{b}/\{p}/{x}            {b}/{p}\{x}             {b}/%5c{p}/{x}          {b}/a\..\{p}/{x}
{b}/a/..\{p}/{x}        {b}/a%5c..%5c{p}/{x}    {b}/{p}./{x}            {b}/{p}../{x}
{b}/{p}%2e/{x}          {b}/{p}%20/{x}          {b}/{p}%00/{x}          {b}/{p}/%00{x}
{b}/%00/../{p}/{x}      {b}/{p}%0a/{x}          {b}/{p}%0d%0a/{x}       {b}/{p}/{x}%09
{b}/{p}/{x}#y           {b}/#/../{p}/{x}        {b}/?/../{p}/{x}        {b}/{p}/{x}?y=z
{b}/{p}/{x}?/../..      {b}/{p}/{x}%3fy         {b}/a%23/../{p}/{x}     {b}/a%3f/../{p}/{x}
{b}/%252f{p}/{x}        {b}/a/%252e%252e/{p}/{x} {b}/%c0%af{p}/{x}      {b}/a/%c0%ae%c0%ae/{p}/{x}
{b}/%e0%80%af{p}/{x}    {b}/%u002f{p}/{x}       {b}/%zz/../{p}/{x}      {b}/{p}/{x}%
{b}/{pu}/{x}            {b}/{pt}/{x}            {b}/{p}//{x}            {b}/{p}/./{x}
{b}/{p}/../{p}/{x}      {b}/{p}%2f{x}           {b}/{p}%2F{x}           {b}/{p}/{x}/..
{b}/{p}/{x}/../../      {b}/a/..//{p}/{x}       {b}/a//../{p}/{x}       {b}/a//../../{p}/{x}
{b}/a/.../{p}/{x}       {b}/%ef%bc%8e%ef%bc%8e/{p}/{x} {b}/~/../{p}/{x} {b}/{p}/{x}/
http://{h}{b}/{p}/{x}   HTTP://{h}{b}//{p}/{x}  http://{h}:80{b}/a/../{p}/{x} http://other.example{b}/{p}/{x}
http://shop.example.org{b}/{p}/{x} http://example.org{b}/{p}/{x}
https://{h}{b}/{p}/{x}  http://u@{h}{b}/{p}/{x} http:{b}/{p}/{x}        //{h}{b}/{p}/{x}
{p}/{x}                 *                       ?/{p}/{x}               {b}/{p}/{x}{long}
{b}{dots}/{p}/{x}       {b}/{p}{nul}/{x}        {b}/{p}/{x}{tab}y       {b}/{p}/{x}{high}
{b}/{p}/{x}{blank}y     {b}/%2e%2e{nul}/{p}/{x} {b}/{p}/{x}{quote}y     {b}/{p}/{x}|^`{brace}
""".split()

# Detours through the pages that this program serves itself, back to the root.
DETOURS = [
    "/robot-detection/admin/../..", "/robot-detection/admin/%2e%2e/%2e%2e", "/robot-detection/admin/..%2f..",
    "/robot-detection/admin/x/../../..", "/robot-detection/admin/assets/../../..", "/robot-detection/admin/api/../../..",
    "/robot-detection/admin//../..", "/robot-detection/admin/..;/..", "/robot-heaven/..", "/robot-heaven/%2e%2e",
    "/robots.txt/..", "/check/nginx/../..", "/.well-known/http-message-signatures-directory/../..",
]

# Names that an application may mistake for ours or a proxy's.
FORGED_NAMES = [
    "X-Robot-Detection", "X-Robot-Detection-Verdict", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host",
    "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Server", "X-Forwarded-Uri", "X-Forwarded-Method",
    "X-Original-URL", "X-Original-URI", "X-Original-Method", "X-Original-Host", "X-Original-For", "X-Real-IP",
    "Forwarded",
]
# Headers of the query and of its response, which must not reach the site either.
INTERNAL_NAMES = [
    "X-Robot-Detection-Request", "X-Robot-Detection-Client", "X-Robot-Detection-Scheme", "X-Robot-Detection-Token",
    "X-Robot-Detection-Page", "X-Robot-Detection-Answer", "X-Robot-Detection-Decision", "X-Robot-Detection-Cause",
    "X-Robot-Detection-Probe", "X-Robot-Detection-Own", "X-Robot-Detection-Tag", "X-Robot-Detection-Given-1",
]
# Headers that the own proxy refuses: a front proxy removes them before it forwards a request without a query.
IDENTITY_NAMES = ["x-robot-detection", "x-robot-detection-verdict", "x-robot-detection-probe"]
METHODS = ["GET"] * 8 + ["HEAD", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "get", "Get", "TRACE",
                         "MKCOL", "REPORT", "FOO", "GETX", "QUERY"]


@dataclass
class Case:
    """One request as bytes, with a name for reports."""

    name: str
    raw: bytes
    method: str
    target: str
    headers: list
    host: str = "example.org"
    agent: str = None
    is_odd: bool = False  # Its head is not plain HTTP/1.1, so only proxies can be tested, not `explain`.

    def is_plain(self):
        return self.name.startswith("plain")

    def is_malformed(self):
        """Whether the message or its target violates HTTP, which some front proxies repair before the query."""
        names = [name for name, _ in self.headers]
        return (self.name.startswith("malformed") or not re.match(r"(https?://[^/@]+)?/[^#]*$", self.target, re.IGNORECASE)
                or ("Transfer-Encoding" in names and b" HTTP/1.0\r\n" in self.raw)
                or ("Host" not in names and b" HTTP/1.1\r\n" in self.raw))

    def is_no_uri(self):
        """Whether the target has characters that RFC 3986 does not allow."""
        return re.search(r"[^!-~]|[\"<>\\^`{|}]", self.target) is not None

    def has_odd_name(self):
        return any(re.search("[^A-Za-z0-9-]", name) for name, _ in self.headers)

    def without_odd_names(self, raw):
        return without_lines(raw, [name for name, _ in self.headers if re.search("[^A-Za-z0-9-]", name)])

    def nominates_headers(self):
        return any(name == "Connection" and value.startswith("close, ") for name, value in self.headers)

    def without_nominations(self, raw):
        return re.sub(rb"\r\nConnection: close, [^\r]*", b"\r\nConnection: close", raw)

    def without_nominated(self, raw):
        nominated = {name.strip().lower() for key, value in self.headers if key == "Connection" for name in str(value).split(",")[1:]}
        return without_lines(raw, [name for name, _ in self.headers if name.lower() in nominated - {"host"}])

    def has_identity(self):
        return self.has_odd_name() or any(name.lower() in IDENTITY_NAMES for name, _ in self.headers)

    def has_empty_identity(self):
        return any(name.lower() in IDENTITY_NAMES and not value.strip() for name, value in self.headers)

    def without_identity(self, raw):
        return self.without_odd_names(without_lines(raw, [name for name, _ in self.headers if name.lower() in IDENTITY_NAMES]))

    def is_cleaned(self):
        return re.search(r"/(\.|%2e){0,2}(/|\?|$)", self.target.split("://")[-1][1:], re.IGNORECASE) is not None

    def cleaned(self, raw, is_apache=False):
        """The request as Go, or Apache with a host, reads it: without dot segments, in Go also without empty ones."""
        path, mark, query = self.target.partition("?")
        origin, path = re.match(r"(https?://[^/]*|)(.*)", path, re.IGNORECASE).groups()
        segments = []
        for segment in path.split("/")[1:]:
            dots = segment if is_apache else re.sub("%2e", ".", segment, flags=re.IGNORECASE)
            if dots == "..":
                segments = segments[:-1]
            elif dots != "." and (segment or is_apache):
                segments.append(segment)
        end = "/" if segments and path.endswith("/") and not is_apache else ""
        target = origin + "/" + "/".join(segments) + end + mark + query
        return raw.replace(f" {self.target} ".encode("latin-1"), f" {target} ".encode("latin-1"), 1)

    def kind(self):
        """Name without the number of a random case, and without its User-Agent."""
        return re.sub(r"^(random) .*|^(\w+) (firefox|gptbot|chrome|nameless|empty|tool|googlebot|unlisted)", r"\1\2", self.name)

    def shown(self):
        """Bytes of the request, shortened."""
        raw = self.raw.replace(b"Connection: close\r\n", b"")
        for agent in filter(None, AGENTS.values()):
            raw = raw.replace(agent.encode(), agent[:11].encode() + b"..." + agent[-10:].encode() if len(agent) > 30 else agent.encode())
        return repr(raw if len(raw) < 400 else raw[:250] + b" ... " + raw[-100:])


def without_lines(raw, names):
    for name in names:
        raw = re.sub(b"\r\n" + re.escape(name.encode()) + rb": [^\r]*", b"", raw)
    return raw


def spell(template, path, host="example.org", before=""):
    """Returns another spelling of a path."""
    p, _, x = path[1:].partition("/")
    escape = "%{:02x}".format
    target = template.format(
        b=before, p=p, x=x, h=host, p1=escape(ord(p[0])) + p[1:], pe=p[:-1] + escape(ord(p[-1])),
        pa="".join(escape(ord(c)) for c in p), pl=p[:1] + escape(ord(p[1])).upper() + p[2:],
        pd="%25" + escape(ord(p[0]))[1:] + p[1:], pu=p.upper(), pt=p.title(), long="x" * 4_000, dots="/a/.." * 300,
        nul="\0", tab="\t", high="\xff\xfe", blank=" ", quote='"<>', brace="{}",
    )
    return target


def make(name, method, target, headers=(), agent=None, host="example.org", version="HTTP/1.1", body=b"", is_odd=False):
    lines = [] if host is None else [("Host", host)]
    lines += [*wire.agent_line(agent), *headers]
    odd = is_odd or any(ord(c) <= 32 or ord(c) > 126 for c in target)
    return Case(name, wire.head(method, target, lines, version, body), method, target, lines, host, agent, odd)


def plain_cases():
    """Every User-Agent requests every path, without any trick."""
    hosts = ["example.org", "shop.example.org"]
    # nginx uses this path for the query, and counts no request for it; random cases request it too.
    paths = [path for path in PATHS + PLAIN_PATHS if path != "/robot-detection-check"]
    for (who, agent), path, host in itertools.product(AGENTS.items(), paths, hosts):
        yield make(f"plain {who} {host}", "GET", path, agent=agent, host=host)
    for (who, agent), method, path in itertools.product(
        AGENTS.items(), ["HEAD", "POST", "PUT", "OPTIONS"], ["/members-only-stuff/a", "/forms/1", "/refused/x"]
    ):
        body = b"x" * 10 if method in ("POST", "PUT") else b""
        headers = [("Content-Length", len(body))] if body else []
        yield make(f"plain {who}", method, path, headers, agent, body=body)


def detour_cases():
    """Every detour through our own pages, with every spelling of a refused path."""
    for detour, spelling in itertools.product(DETOURS, SPELLINGS):
        if "{b}" in spelling:
            yield make(f"detour {detour} {spelling}", "GET", spell(spelling, "/refused/x", before=detour),
                       agent=AGENTS["googlebot"])


def spelled_cases():
    """Every spelling of a refused path."""
    for spelling, who in itertools.product(SPELLINGS, ["gptbot", "firefox"]):
        yield make(f"spelled {who} {spelling}", "GET", spell(spelling, "/refused/x"), agent=AGENTS[who])


# Queries of a path for which a rule refuses `tags` without `page`.
QUERIES = [
    "", "?", "?tags", "?tags=1", "?x=1&tags=a%2Cb", "?%74ags[]=1", "?tags%5Bx%5D=1", "?TAGS=1", "?x;tags=1", "?tags=1;page=2",
    "?tags=1&page=2", "?page&tags", "?t%61gs=+", "?x=%FF%FE&tags", "?tags%3D1", "?tag=s", "?=tags", "?&&tags&", "?a=b?tags=1",
    "?tags=1#page=1", "?#tags", "?x=/../&tags", "?%2574ags", "?tags=%zz", "?" + "x=1&" * 300 + "tags=1",
]


def query_cases():
    """Every query, from a robot and a browser."""
    for query, who, path in itertools.product(QUERIES, ["gptbot", "firefox"], ["/queried/1", "/%71ueried//1", "/open/1"]):
        yield make(f"query {who} {query[:40]}", "GET", path + query, agent=AGENTS[who])


def site_cases():
    """Requests on the border between two sites."""
    paths = ["/docs", "/docs/", "/docs/secret/1", "/docsx/1", "/docs%2fsecret/1", "/docs/../open/1", "/open/../docs/secret/1",
             "/%64ocs/secret/1", "/docs//secret/1", "//docs/secret/1", "/docs/%2e%2e/open/1", "/docs;x/secret/1", "/DOCS/1",
             "/cart/1", "http://shop.example.org/cart/1", "http://example.org/docs/secret/1", "http://SHOP.example.org:80/cart/1"]
    hosts = ["example.org", "EXAMPLE.org", "example.org.", "example.org:80", "shop.example.org", "a.shop.example.org",
             "a.b.shop.example.org", "Shop.Example.Org.:8080", "xshop.example.org", "shop.example.org.evil.example"]
    for target, host, who in itertools.product(paths, hosts, ["gptbot", "firefox"]):
        yield make(f"site {who} {host} {target}", "GET", target, agent=AGENTS[who], host=host)


def forged_cases():
    """Every forged header in every spelling, from a browser and from a robot."""
    for name, (how, spelled), who in itertools.product(FORGED_NAMES, enumerate(odd_names("")), ["firefox", "gptbot"]):
        yield make(f"forged {who} {how}", "GET", "/open/1", [(odd_names(name)[how], FORGED)], AGENTS[who])
    for name in INTERNAL_NAMES:
        yield make("forged internal", "GET", "/open/1", [(name, FORGED)], AGENTS["firefox"])


def odd_names(name):
    """Spellings that a CGI or WSGI application may fold to the same name."""
    return [name, name.replace("-", "_"), name.replace("-", "."), name.lower().replace("-", "_", 1),
            name.replace("-", "_").swapcase(), name[::-1].replace("-", "_", 1)[::-1], name.replace("-", "+"),
            name.replace("-", "~", 1)]


def random_cases(seed):
    """Random combinations, without end."""
    rng = random.Random(seed)
    hosts = ["example.org"] * 6 + ["shop.example.org", "SHOP.example.org", "a.shop.example.org",
                                   "shop.example.org:8080", "shop.example.org.", "other.example", "192.0.2.1", "[::1]"]
    for number in itertools.count():
        host = rng.choice(hosts)
        path = rng.choice(PATHS) if rng.random() < 0.85 else rng.choice(PLAIN_PATHS)
        target = path
        if path in PATHS and rng.random() < 0.5:
            before = rng.choice(DETOURS) if rng.random() < 0.15 else ""
            target = spell(rng.choice(SPELLINGS), path, host, before)
        who = rng.choice(list(AGENTS))
        method = rng.choice(METHODS)
        headers, version, body, is_odd = [], "HTTP/1.1", b"", False
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
            more = rng.choice(HEADER_SETS)(rng)
            headers += more if isinstance(more, list) else [more]
        if method in ("POST", "PUT", "PATCH", "REPORT", "QUERY") or rng.random() < 0.05:
            body = b"y" * rng.choice([0, 1, 100, 5_000])
            if body and rng.random() < 0.3:
                headers.append(("Transfer-Encoding", "chunked"))
                body = f"{len(body):x}".encode() + b"\r\n" + body + b"\r\n0\r\n\r\n"
            else:
                headers.append(("Content-Length", len(body)))
        if rng.random() < 0.05:
            version, is_odd = "HTTP/1.0", True
            host = rng.choice([host, None])
        elif rng.random() < 0.01:
            host, is_odd = None, True
        agents = [AGENTS[who]]
        if rng.random() < 0.03:
            headers += wire.agent_line(AGENTS[rng.choice(["gptbot", "firefox", "empty"])])
        yield make(f"random {seed}/{number} {who}", method, target, headers, agents[0], host, version, body, is_odd)


HEADER_SETS = [
    lambda rng: ("Cookie", "session=" + "c" * rng.choice([1, 50, 1_500, 3_500])),
    lambda rng: [("Cookie", "a=1"), ("Cookie", "b=2")],
    lambda rng: ("Authorization", rng.choice(["Basic dXNlcjpwYXNz", "Bearer x", ""])),
    lambda rng: ("Accept", rng.choice(["text/markdown", "text/markdown, text/html;q=0.5", "text/html", "*/*", ""])),
    lambda rng: ("Accept-Language", rng.choice(["de", "en;q=0.5", "\xe4\xf6", ""])),
    lambda rng: (rng.choice(FORGED_NAMES), FORGED),
    lambda rng: (rng.choice(odd_names(rng.choice(FORGED_NAMES))), FORGED),
    lambda rng: (rng.choice(INTERNAL_NAMES), FORGED),
    lambda rng: [("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-For", FORGED)],
    lambda rng: (rng.choice(FORGED_NAMES), rng.choice(["", " ", ",", "localhost", "127.0.0.1", "https"])),
    lambda rng: [(f"X-Line-{number}", "v") for number in range(rng.choice([1, 20, 60, 85]))],
    lambda rng: [("X-Same", str(number)) for number in range(rng.choice([2, 30]))],
    lambda rng: ("X-Long", "l" * rng.choice([1_000, 3_900])),
    lambda rng: ("X-Empty", ""),
    lambda rng: ("X-Text", rng.choice(["a\tb", "\xff\xfe", "${env}", "%[src]", "{uri}", "'\"\\", "%REQ(:path)%"])),
    lambda rng: [("Upgrade", rng.choice(["h2c", "foo", "websocket"])), ("Connection", "upgrade, close")],
    lambda rng: ("Connection", rng.choice(["close, X-Robot-Detection", "close, User-Agent", "close, X-Forwarded-For",
                                           "close, Host, Cookie"])),
    lambda rng: ("Expect", "100-continue"),
    lambda rng: ("Referer", "http://example.org/refused/x"),
    lambda rng: ("Range", "bytes=0-1"),
    lambda rng: ("If-None-Match", '"x"'),
    lambda rng: ("Signature-Agent", '"https://robot.example"'),
    lambda rng: ("X-HTTP-Method-Override", rng.choice(["GET", "POST"])),
    lambda rng: ("X-Rewrite-URL", "/open/1"),
    lambda rng: ("TE", "trailers"),
    lambda rng: ("Via", "1.1 x"),
    lambda rng: ("Sec-Fetch-Mode", "navigate"),
    lambda rng: ("Early-Data", "1"),
    lambda rng: ("From", "googlebot(at)googlebot.com"),
]

# Requests other than plain HTTP/1.1: lines separated by `|`, {t} target, {h} and {a} Host and User-Agent lines.
MALFORMED = """
no version               = GET {t}
version 1.2              = GET {t} HTTP/1.2|{h}|{a}
version 2.0              = GET {t} HTTP/2.0|{h}|{a}
two blanks               = GET  {t}  HTTP/1.1|{h}|{a}
tabs                     = GET\t{t}\tHTTP/1.1|{h}|{a}
blank lines first        = ||GET {t} HTTP/1.1|{h}|{a}
folded header            = GET {t} HTTP/1.1|{h}|User-Agent: Mozilla/5.0| {agent}
blank before colon       = GET {t} HTTP/1.1|{h}|User-Agent : {agent}
blank before first       = GET {t} HTTP/1.1| {h}|{a}
two hosts                = GET {t} HTTP/1.1|{h}|Host: shop.example.org|{a}
bad host                 = GET {t} HTTP/1.1|Host: exa mple/org|{a}
host with path           = GET {t} HTTP/1.1|Host: example.org/open|{a}
host with query          = GET {t} HTTP/1.1|Host: example.org?x|{a}
host with user           = GET {t} HTTP/1.1|Host: shop.example.org@example.org|{a}
empty host               = GET {t} HTTP/1.1|Host:|{a}
NUL in a value           = GET {t} HTTP/1.1|{h}|{a}\0
CR in a value            = GET {t} HTTP/1.1|{h}|User-Agent: Mozilla/5.0\r{agent}
no name                  = GET {t} HTTP/1.1|{h}|: x|{a}
no colon                 = GET {t} HTTP/1.1|{h}|nonsense|{a}
odd characters in a name = GET {t} HTTP/1.1|{h}|X(Robot)Detection: x|{a}
two lengths              = POST {t} HTTP/1.1|{h}|Content-Length: 1|Content-Length: 2|{a}||xx
length and chunks        = POST {t} HTTP/1.1|{h}|Content-Length: 3|Transfer-Encoding: chunked|{a}||0||
odd chunks               = POST {t} HTTP/1.1|{h}|Transfer-Encoding: xchunked|{a}||0||
CONNECT                  = CONNECT example.org:443 HTTP/1.1|{h}|{a}
agent with underscore    = GET {t} HTTP/1.1|{h}|User_Agent: Firefox|{a}
trailer                  = POST {t} HTTP/1.1|{h}|Transfer-Encoding: chunked|Trailer: X-Robot-Detection|{a}||0|X-Robot-Detection: 203.0.113.66||
"""


def malformed_cases():
    lines = [line.split(" = ", 1) for line in MALFORMED.strip("\n").split("\n")]
    for (name, text), target, who in itertools.product(lines, ["/open/1", "/refused/x"], ["firefox", "gptbot"]):
        agent = AGENTS[who]
        text = text.format(t=target, h="Host: example.org", a=f"User-Agent: {agent}", agent=agent)
        head, _, body = text.lstrip("|").partition("||")
        blank = "\r\n\r\n" if name.startswith("blank lines") else ""
        raw = blank + head.replace("|", "\r\n") + "\r\nConnection: close\r\n\r\n" + body.replace("|", "\r\n")
        if name.startswith("no version"):
            raw = head + "\r\n\r\n"
        for ending, how in (("\r\n", ""), ("\n", " with bare line feeds")):
            yield Case(f"malformed {who}: {name.strip()}{how}", raw.replace("\r\n", ending).encode("latin-1"), "GET", target, [],
                       agent=agent, is_odd=True)


def all_cases(seed, number):
    """Returns the fixed cases, followed by random ones up to the number."""
    fixed = [*plain_cases(), *detour_cases(), *spelled_cases(), *query_cases(), *site_cases(), *forged_cases(), *malformed_cases()]
    return fixed + list(itertools.islice(random_cases(seed), max(number - len(fixed), 500)))
