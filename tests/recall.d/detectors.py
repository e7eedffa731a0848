"""Runs detectors on User-Agents: ours, and others.

A result is None for no robot or a User-Agent shared by many people, else the robot's id or, for others, `robot`.
"""

import hashlib
import json
import os
import subprocess
import tempfile
from pathlib import Path

from corpora import NPM

ISBOT = "5.2.3"
CRAWLERDETECT = "0.4.2"
RIVALS = "benches/rivals/Cargo.toml"


def ours(binary, user_agents):
    """Runs the program with its bundled registry."""
    # The caller's configuration file and settings are ignored.
    settings = {key: value for key, value in os.environ.items() if not key.startswith("ROBOT_DETECTION_")}
    with tempfile.TemporaryDirectory() as elsewhere:
        command = [str(Path(binary).resolve()), "identify", "--bundled"]
        lines = filtered(command, user_agents, cwd=elsewhere, env=settings)
    return {agent: None if answer in ("-", "shared") else answer for agent, answer in zip(user_agents, lines, strict=True)}


def built(root):
    """Returns the newest existing program, or a debug build."""
    target = target_folder(root)
    programs = [target / profile / "robot-detection" for profile in ("debug", "release")]
    there = [program for program in programs if program.exists()]
    if there:
        return max(there, key=lambda program: program.stat().st_mtime)
    subprocess.run(["cargo", "build", "--locked", "--features", "acme"], cwd=root, check=True)
    return programs[0]


def target_folder(root):
    return root / os.environ.get("CARGO_TARGET_DIR", "target")


def peers(cache, user_agents):
    """Returns the results of each other detector by name; cached, because they take minutes."""
    asked = json.dumps(user_agents) + Path(__file__).read_text() + (cache.root / RIVALS).read_text()
    kept = cache.folder / f"peers-{hashlib.sha256(asked.encode('utf8', 'replace')).hexdigest()[:16]}.json"
    if not kept.exists():
        found = {
            name: [place for place, agent in enumerate(user_agents) if answers[agent]]
            for name, answers in ask_peers(cache, user_agents).items()
        }
        kept.write_text(json.dumps(found), "utf8")
    found = {name: set(places) for name, places in json.loads(kept.read_text("utf8")).items()}
    return {
        name: {agent: "robot" if place in places else None for place, agent in enumerate(user_agents)}
        for name, places in found.items()
    }


def ask_peers(cache, user_agents):
    answers = {"npm isbot": isbot(cache, user_agents), "PyPI crawlerdetect": crawlerdetect(cache, user_agents)}
    answers.update(crates(cache, user_agents))
    return answers


def isbot(cache, user_agents):
    module = cache.npm("isbot", ISBOT) / "index.mjs"
    script = f"""
        import {{ isbot }} from {json.dumps(module.as_uri())};
        import {{ readFileSync }} from 'node:fs';
        const lines = readFileSync(0, 'utf8').split('\\n').slice(0, -1);
        process.stdout.write(lines.map(line => isbot(line) ? '1\\n' : '-\\n').join(''));
    """
    return yes_or_no(user_agents, filtered([cache.node(), "--input-type=module", "--eval", script], user_agents))


def crawlerdetect(cache, user_agents):
    cache.python("crawlerdetect", CRAWLERDETECT)
    from crawlerdetect import CrawlerDetect

    detector = CrawlerDetect()
    return {agent: "robot" if detector.isCrawler(agent) else None for agent in user_agents}


def crates(cache, user_agents):
    """Runs the crates with our program in the bench, all in one pass."""
    target = target_folder(cache.root) / "rivals"
    command = ["cargo", "build", "--release", "--manifest-path", str(cache.root / RIVALS), "--target-dir", str(target)]
    subprocess.run(command, check=True)
    listing = cache.npm("crawler-user-agents", NPM["crawler-user-agents"]) / "crawler-user-agents.json"
    head, *lines = filtered([str(target / "release/rivals"), "classify", str(listing)], user_agents)
    return {
        name: yes_or_no(user_agents, [line[column] for line in lines]) for column, name in enumerate(head.split("\t"))
    }


def filtered(command, user_agents, **how):
    """Sends one User-Agent per line, returns the lines of the output."""
    text = "".join(f"{agent}\n" for agent in user_agents)
    done = subprocess.run(command, input=text.encode("utf8", "replace"), stdout=subprocess.PIPE, check=True, **how)
    return done.stdout.decode("utf8").splitlines()


def yes_or_no(user_agents, lines):
    return {agent: None if line == "-" else "robot" for agent, line in zip(user_agents, lines, strict=True)}
