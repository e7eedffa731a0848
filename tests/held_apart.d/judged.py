"""Sorts the held-out sources into groups, and counts results."""

import re

import reviewed

TOTAL = "all sources"


class Groups:
    """User-Agents by group and source, each once per group and source."""

    def __init__(self, held, known, is_reviewed=True):
        """Accepts corpora by source, and the User-Agents that tests/recall reads."""
        by_kind = {kind: by_source(held, kind) for kind in ("robots", "browsers", "podcasts")}
        robots, people, podcasts = (union(one) for one in by_kind.values())
        told = {**robots, **people, **podcasts}
        disputed = robots.keys() & people.keys()
        self.known = known
        self.disputed = len(disputed)
        self.reviewed = reviewed.counts(told) if is_reviewed else {}
        out = disputed | (reviewed.among(told).keys() if is_reviewed else set())
        self.robots, self.people, self.podcasts = (without(one, out) for one in by_kind.values())
        self.all = list(told)


def by_source(held, kind):
    return {name: {agent: corpus.families[agent] for corpus in corpora if corpus.kind == kind for agent in corpus} for name, corpora in held.items()}


def union(one):
    return {agent: names for agents in one.values() for agent, names in agents.items()}


def without(one, out):
    kept = {name: {agent: names for agent, names in agents.items() if agent not in out} for name, agents in one.items()}
    return {name: agents for name, agents in kept.items() if agents}


def count(groups, answers):
    """Returns the figures of each group, by source and in total."""
    mozilla = {name: {agent: () for agent in agents if agent.startswith("Mozilla/5.0 (")} for name, agents in groups.people.items()}
    by_group = {
        "robots": groups.robots,
        "podcast software": groups.podcasts,
        "Mozilla/5.0 ( browsers": mozilla,
        "all people's": groups.people,
    }
    return {title: table(one, groups.known, answers) for title, one in by_group.items()}


def table(one, known, answers):
    rows = {name: row(agents, known, answers) for name, agents in one.items()}
    return {**rows, TOTAL: row(union(one), known, answers)}


def row(agents, known, answers):
    """Counts all lines, and those that tests/recall does not read."""
    figures = dict.fromkeys(("lines", "found", "named", "agreeing", "unread", "found unread"), 0)
    for agent, names in agents.items():
        answer, is_unread = answers[agent], agent not in known
        is_found, is_named = answer is not None, answer not in (None, "unlisted")
        figures["lines"] += 1
        figures["found"] += is_found
        figures["named"] += is_named
        figures["agreeing"] += is_named and any(agrees(answer, name) for name in names)
        figures["unread"] += is_unread
        figures["found unread"] += is_unread and is_found
    return figures


def agrees(robot, name):
    """Checks whether one name contains the other, ignoring case, punctuation and generic words."""
    ours, theirs = plain(robot), plain(name)
    return bool(ours and theirs) and (ours in theirs or theirs in ours)


def plain(name):
    letters = re.sub("[^a-z0-9]", "", name.lower())
    return re.sub("(bot|crawler|spider|robot)$", "", letters) or letters


def wrong(groups, answers):
    """Yields missed robots and false alarms: kind, source, answer, hash, names, User-Agent."""
    told = set()
    for what, one in (("missed", groups.robots), ("missed podcast", groups.podcasts), ("false alarm", groups.people)):
        for name, agents in one.items():
            for agent, names in agents.items():
                answer = answers[agent]
                if (answer is None) == what.startswith("missed") and agent not in told:
                    told.add(agent)
                    yield what, name, answer or "-", reviewed.key(agent), ",".join(names), agent
