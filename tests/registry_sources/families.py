"""The lists' statements about robots, each list parsed into families.

A family is one entry of a list. Its words are the list's own description of the robot's activity; purposes.py maps them
to our purposes.
"""

import json
import re
from dataclasses import dataclass, field

import samples
import sources

# Lists whose families must be named; the others are read for additional facts.
JUDGED = ("crawler-user-agents", "matomo", "arcjet", "ai-robots-txt")
# As in robot-evidence, in the same order.
LISTS = (*JUDGED, "awstats", "counter", "opawg", "browserdetect")

# Categories of Arcjet that specify the robot's owner, not its activity.
OWNERS = {"google", "microsoft", "meta", "amazon", "apple", "yahoo", "slack", "vercel"}
LINK = re.compile(r"\[([^\]]*)\]\((https?://[^)\s]+)\)")
URL = re.compile(r"https?://[^\s)\"'<>]+")


@dataclass
class Family:
    """One robot of one list."""

    list: str
    key: str  # the list's own key, stable over years
    name: str
    words: list = field(default_factory=list)
    operators: list = field(default_factory=list)
    urls: list = field(default_factory=list)
    agents: list = field(default_factory=list)
    is_sampled: bool = False  # the list has no User-Agent; ours are generated from its expression


def read(shelf, name):
    """Returns the families of one list."""
    return merged(READERS[name](shelf))


def merged(families):
    """Joins entries with the same key: a list may split one robot into several entries."""
    joined = {}
    for family in families:
        known = joined.setdefault(family.key, family)
        if known is not family:
            for part in ("words", "operators", "urls", "agents"):
                new = [value for value in getattr(family, part) if value not in getattr(known, part)]
                getattr(known, part).extend(new)
    return list(joined.values())


def crawler_user_agents(shelf):
    folder = shelf.package("crawler-user-agents")
    for entry in json.loads((folder / "crawleruseragents/crawler-user-agents.json").read_text("utf8")):
        pattern = entry["pattern"]
        urls = [entry["url"]] if entry.get("url") else []
        yield sampled(
            Family("crawler-user-agents", pattern, samples.name(pattern), entry.get("tags", []), [], urls),
            [pattern],
            entry["instances"],
        )


def matomo(shelf):
    folder = shelf.package("device-detector") / "device_detector"
    load = shelf.yaml()
    agents = {}
    for entry in load((folder / "tests/fixtures/upstream/bots.yml").read_text("utf8")):
        robot = entry.get("bot") or {}
        agents.setdefault(robot.get("name"), (robot, []))[1].append(entry["user_agent"])
    for entry in load((folder / "regexes/upstream/bots.yml").read_text("utf8")):
        name = entry["name"]
        if "\\g<" not in name and "$" not in name and name not in agents:
            agents[name] = (entry, [])
            agents[name] = (entry, samples.agents(entry["regex"]))
    for name, (robot, given) in agents.items():
        if name:
            producer = robot.get("producer") or {}
            urls = [url for url in (robot.get("url"), producer.get("url")) if url]
            operators = [producer["name"]] if producer.get("name") else []
            words = [robot["category"]] if robot.get("category") else []
            yield Family("matomo", name, name, words, operators, urls, given)


def arcjet(shelf):
    for entry in json.loads(shelf.file(sources.ARCJET, "well-known-bots.json")):
        owners = [word for word in entry["categories"] if word in OWNERS]
        words = [word for word in entry["categories"] if word not in OWNERS]
        urls = [entry["url"]] if entry.get("url") else []
        patterns = entry["pattern"]["accepted"]
        family = Family("arcjet", entry["id"], samples.name(patterns[0]), words, owners, urls)
        yield sampled(family, patterns, entry.get("instances", {}).get("accepted", []))


def ai_robots_txt(shelf):
    for name, entry in json.loads(shelf.file(sources.AI_ROBOTS_TXT, "robots.json")).items():
        operator = LINK.sub(r"\1", entry["operator"])
        operators = [] if operator.lower().startswith(("unclear", "unknown")) else [operator]
        urls = [url.rstrip(".,") for url in URL.findall(entry["operator"] + " " + entry["description"])]
        words = [entry["function"]]
        yield Family("ai-robots-txt", name, name, words, operators, urls, samples.forms(name), True)


def awstats(shelf):
    text = shelf.file(sources.AWSTATS, "wwwroot/cgi-bin/lib/robots.pm")
    generic = set(re.findall(r"^'(.+?)',?$", text.split("@RobotsSearchIDOrder_listgen")[-1].split(");")[0], re.MULTILINE))
    hashed = text.split("%RobotsHashIDLib")[-1].split(");\n")[0]
    for pattern, told in re.findall(r"^'(.+?)','(.*?)'[,;]?\s*$", hashed, re.MULTILINE):
        if pattern not in generic:
            urls = URL.findall(told)
            pattern = pattern.replace("[\\x20]", " ").replace("\\x20", " ")
            yield Family("awstats", pattern, samples.name(pattern), [], [], urls, samples.agents(pattern), True)


def counter(shelf):
    for line in (shelf.package("counter-robots") / "counter_robots/data/robot.txt").read_text("utf8").splitlines():
        if len(samples.name(line)) > 3:
            yield Family("counter", line, samples.name(line), [], [], [], samples.agents(line), True)


def opawg(shelf):
    for file in ("bots", "apps", "libraries"):
        for entry in json.loads(shelf.file(sources.OPAWG, f"src/{file}.json"))["entries"]:
            family = Family("opawg", entry["name"], entry["name"], [f"podcast {file}"], [], entry.get("urls", []))
            yield sampled(family, [entry["pattern"]], entry.get("examples", []))


def browserdetect(shelf):
    for file in ("t/useragents.json", "t/more-useragents.json"):
        told = json.loads(shelf.file(sources.BROWSERDETECT, file))
        entries = told.items() if isinstance(told, dict) else ((entry.get("user_agent"), entry) for entry in told)
        for agent, entry in entries:
            name = entry.get("robot_string") or entry.get("robot_name") or entry.get("robot")
            if agent and isinstance(name, str) and name not in ("Malware / hack attempt", "robot", "Unknown Bot"):
                yield Family("browserdetect", name, name, [], [], [], [agent])


def sampled(family, patterns, agents):
    """Gives a family the list's User-Agents, or some that match its expressions."""
    family.agents = [agent for agent in agents if agent.strip()]
    if not family.agents:
        family.agents = [agent for pattern in patterns for agent in samples.agents(pattern)]
        family.is_sampled = True
    return family


READERS = {
    "crawler-user-agents": crawler_user_agents,
    "matomo": matomo,
    "arcjet": arcjet,
    "ai-robots-txt": ai_robots_txt,
    "awstats": awstats,
    "counter": counter,
    "opawg": opawg,
    "browserdetect": browserdetect,
}
