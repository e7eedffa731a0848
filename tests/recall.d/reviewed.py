"""User-Agents that a review found to be classified wrongly by a list.

Each is stored as the first half of its hash, with the reason; no User-Agent is stored here. They count as neither
robots' nor people's, and their number is printed. Only User-Agents on which we and a list differ were reviewed, which
favours us: tests/held_apart --unreviewed counts them all.
"""

import hashlib
from pathlib import Path

FILE = Path(__file__).with_name("reviewed.txt")


def reasons():
    """Returns the reason by the hash of a User-Agent."""
    lines = (line.split(maxsplit=1) for line in FILE.read_text("utf8").splitlines())
    return {words[0]: words[1] for words in lines if words and words[0] != "#"}


def key(user_agent):
    return hashlib.sha256(user_agent.encode("utf8", "replace")).hexdigest()[:16]


def among(user_agents, start=""):
    """Returns the reasons of reviewed User-Agents, limited to reasons with a prefix."""
    known = {short: reason for short, reason in reasons().items() if reason.startswith(start)}
    keys = ((agent, key(agent)) for agent in user_agents)
    return {agent: known[short] for agent, short in keys if short in known}


def counts(user_agents):
    """Returns the number of User-Agents of each reason."""
    found = {}
    for reason in among(user_agents).values():
        found[reason] = found.get(reason, 0) + 1
    return dict(sorted(found.items()))
