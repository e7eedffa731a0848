"""The corpora: User-Agents collected by third parties, as robots or as people's.

A line is one User-Agent: trimmed, not empty, distinct within its corpus.
"""

import ast
import base64
import gzip
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

NPM = {"crawler-user-agents": "1.60.0", "user-agents": "2.1.198", "top-user-agents": "2.1.138"}
PYPI = {"fake-useragent": "2.2.0", "device-detector": "6.5.1"}
PYYAML = "6.0.3"
MANIFEST = "benches/rivals/Cargo.toml"

# Clients of device-detector that are automatic visitors by our definition, not people's browsers.
TOOLS = {"library", "feed reader"}


@dataclass
class Corpus:
    """Distinct User-Agents of one origin, with the robot's name if given."""

    name: str
    kind: str  # robots, browsers or tools
    families: dict = field(default_factory=dict)  # User-Agent to names of its robots
    is_traffic: bool = False  # measured current traffic

    def add(self, user_agent, family=None):
        if not isinstance(user_agent, str):
            return
        line = " ".join(re.split(r"[\r\n\0]+", user_agent)).strip()
        if line:
            families = self.families.setdefault(line, [])
            if family and family not in families:
                families.append(family)

    def __len__(self):
        return len(self.families)

    def __iter__(self):
        return iter(self.families)


def load(cache):
    """Returns all corpora, parsed from the packages only if they or this file have changed."""
    pins = json.dumps([NPM, PYPI, PYYAML]) + (cache.root / MANIFEST).read_text() + Path(__file__).read_text()
    kept = cache.folder / f"corpora-{hashlib.sha256(pins.encode()).hexdigest()[:16]}.json"
    if kept.exists():
        return [Corpus(**corpus) for corpus in json.loads(kept.read_text("utf8"))]
    corpora = [corpus for corpus in read(cache) if len(corpus)]
    for old in cache.folder.glob("corpora-*.json"):
        old.unlink()
    fresh = kept.with_suffix(".new")
    fresh.write_text(json.dumps([vars(corpus) for corpus in corpora]), "utf8")
    fresh.rename(kept)
    return corpora


def read(cache):
    npm = {name: cache.npm(name, version) for name, version in NPM.items()}
    pypi = {name: cache.pypi(name, version) for name, version in PYPI.items()}
    crates = cache.crates(MANIFEST)
    return [
        crawler_user_agents(npm["crawler-user-agents"]),
        *device_detector(cache, pypi["device-detector"]),
        *isbot_crate(crates["isbot"] / "fixtures"),
        *iscrawl_crate(crates["iscrawl"] / "tests/fixtures"),
        *woothee_crate(crates["woothee"] / "tests"),
        user_agents(npm["user-agents"]),
        top_user_agents(npm["top-user-agents"]),
        fake_useragent(pypi["fake-useragent"]),
    ]


def crawler_user_agents(folder):
    corpus = Corpus("crawler-user-agents", "robots")
    for entry in json.loads(text(folder / "crawler-user-agents.json")):
        for instance in entry["instances"]:
            corpus.add(instance, entry["pattern"])
    return corpus


def device_detector(cache, folder):
    cache.python("PyYAML", PYYAML)
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    robots, browsers = Corpus("Matomo, robots", "robots"), Corpus("Matomo, browsers and apps", "browsers")
    tools = Corpus("Matomo, libraries and feed readers", "tools")
    for file in sorted((folder / "device_detector/tests/fixtures/upstream").glob("*.yml")):
        for entry in yaml.load(text(file), Loader=loader):
            robot, client = entry.get("bot"), entry.get("client")
            kind = client.get("type") if isinstance(client, dict) else None
            if robot or file.name == "bots.yml":
                robots.add(entry.get("user_agent"), (robot or {}).get("name"))
            else:
                (tools if kind in TOOLS else browsers).add(entry.get("user_agent"))
    return robots, browsers, tools


def isbot_crate(folder):
    def corpus(name, kind, file):
        lines = json.loads(text(folder / file)) if file.endswith(".json") else text(folder / file).split("\n")
        return listed(name, kind, lines)

    return [
        corpus("isbot crate, robots", "robots", "bots.txt"),
        corpus("isbot crate, myip robots", "robots", "myip-ms-live-bots.json"),
        corpus("isbot crate, ua-parser robots", "robots", "ua-parser-bots.json"),
        corpus("isbot crate, browsers", "browsers", "browsers.txt"),
        corpus("isbot crate, npm isbot browsers", "browsers", "omrilotan-browsers.json"),
        corpus("isbot crate, ua-parser browsers", "browsers", "ua-parser-browsers.json"),
    ]


def iscrawl_crate(folder):
    return [
        listed("iscrawl crate, loadkpi robots", "robots", text(folder / "loadkpi_crawlers.txt").split("\n")),
        listed("iscrawl crate, robots", "robots", text(folder / "crawler_user_agents.txt").split("\n")),
        listed("iscrawl crate, pgts robots", "robots", text(folder / "crawler_user_agents_pgts.txt").split("\n")),
        listed("iscrawl crate, browsers", "browsers", text(folder / "browser_user_agents.txt").split("\n")),
    ]


def woothee_crate(folder):
    robots, browsers = Corpus("woothee crate, robots", "robots"), Corpus("woothee crate, browsers", "browsers")
    tools = Corpus("woothee crate, libraries and tools", "tools")
    call = re.compile(r'parser\.parse\(\s*(?:r(#*)"(.*?)"\1|("(?:[^"\\]|\\.)*"))', re.DOTALL)
    expected = re.compile(r'result\.category,\s*"(\w+)"')
    for file in sorted(folder.glob("*.rs")):
        if file.name == "blank.rs":
            continue
        source = text(file)
        calls = list(call.finditer(source))
        ends = [other.start() for other in calls[1:]] + [len(source)]
        for found, end in zip(calls, ends):
            user_agent = found[2] if found[3] is None else ast.literal_eval(found[3])
            category = expected.search(source, found.end(), end)
            category = category[1] if category else "misc"
            {"crawler": robots, "misc": tools, "UNKNOWN": tools}.get(category, browsers).add(user_agent)
    return robots, browsers, tools


def user_agents(folder):
    packed = text(folder / "dist/user-agents.json")
    try:
        entries = json.loads(packed)
    except ValueError:
        entries = packed
    if isinstance(entries, str):
        entries = json.loads(gzip.decompress(base64.b64decode(entries)))
    return listed("user-agents", "browsers", (entry["userAgent"] for entry in entries), is_traffic=True)


def top_user_agents(folder):
    files = sorted((folder / "src").glob("*.json"))
    lines = (line for file in files for line in json.loads(text(file)))
    return listed("top-user-agents", "browsers", lines, is_traffic=True)


def fake_useragent(folder):
    lines = text(folder / "fake_useragent/data/browsers.jsonl").splitlines()
    return listed("fake-useragent", "browsers", (json.loads(line)["useragent"] for line in lines), is_traffic=True)


def listed(name, kind, lines, is_traffic=False):
    corpus = Corpus(name, kind, is_traffic=is_traffic)
    for line in lines:
        corpus.add(line)
    return corpus


def text(file):
    return file.read_text("utf8", errors="replace")
