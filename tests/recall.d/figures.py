"""Counts a detector's results: recall by list, by robot and by half, and false alarms."""

import re

import halves
import reviewed

SIDES = ("both", "tuned", "held out")

# User-Agents in lists of robots that stand for many people: neither robots nor one browser.
FRONTS = ("Amazon CloudFront", "Chrome Privacy Preserving Prefetch Proxy")


class Groups:
    """The User-Agents of all corpora, sorted into robots' and people's."""

    def __init__(self, corpora):
        self.corpora = corpora
        by_kind = {kind: [c for c in corpora if c.kind == kind] for kind in ("robots", "browsers", "tools")}
        self.robot_lists, self.browser_lists, self.tool_lists = by_kind.values()
        robots, browsers, tools = (union(lists) for lists in by_kind.values())
        self.reviewed = dict.fromkeys(reviewed.among(browsers, "not people's"))
        disputed = {agent: None for agent in robots if agent in browsers or agent in FRONTS}
        self.disputed = disputed | self.reviewed
        self.robots = without(robots, self.disputed)
        self.browsers = without(browsers, robots | self.reviewed)
        self.tools = without(tools, robots)
        self.all = list(union(corpora))
        self.traffic = union(c for c in self.browser_lists if c.is_traffic)
        self.mozilla = {agent: None for agent in self.browsers if agent.startswith("Mozilla/5.0 (")}
        self._names = {}
        for corpus in self.robot_lists:
            for agent, names in corpus.families.items():
                if names:
                    self._names.setdefault(agent, names[0])

    def half(self, agent):
        """Returns the half to which a User-Agent's robot belongs; people's are split likewise."""
        return halves.half(self.name(agent))

    def name(self, agent):
        """Returns the name of the robot as given in a list, else the User-Agent's first product."""
        return self._names.get(agent) or halves.product(agent)


def union(lists):
    return {agent: None for one in lists for agent in one}


def without(agents, others):
    return {agent: None for agent in agents if agent not in others}


def numbers_aside(agents):
    """Keeps one of all User-Agents that differ only in numbers: versions, dates, serial numbers."""
    kept = {}
    for agent in agents:
        kept.setdefault(re.sub(r"[0-9][0-9._]*", "0", agent), agent)
    return kept.values()


def count(groups, answers):
    """Returns all figures of one detector's results."""
    return {
        "robots": {
            **{c.name: found(groups, answers, without(c, groups.disputed)) for c in groups.robot_lists},
            "all robots": found(groups, answers, groups.robots),
            "all robots, numbers aside": found(groups, answers, numbers_aside(groups.robots)),
        },
        "families": families(groups, answers),
        "browsers": {
            **{c.name: found(groups, answers, c if c.is_traffic else without(c, groups.disputed)) for c in groups.browser_lists},
            "Mozilla/5.0 ( browsers": found(groups, answers, groups.mozilla),
            "all browsers": found(groups, answers, groups.browsers),
            "measured current traffic": found(groups, answers, groups.traffic),
        },
        "counted in neither": {
            "disputed: lists of both, fronts": found(groups, answers, without(groups.disputed, groups.reviewed)),
            "reviewed: listed as people's, but not people's": found(groups, answers, groups.reviewed),
            **{c.name: found(groups, answers, without(c, groups.robots)) for c in groups.tool_lists},
        },
    }


def found(groups, answers, agents):
    """Counts lines, those found, and those found by name: in total and for each half."""
    figures = {side: {"lines": 0, "found": 0, "named": 0} for side in SIDES}
    for agent in agents:
        answer = answers[agent]
        for side in ("both", groups.half(agent)):
            figures[side]["lines"] += 1
            figures[side]["found"] += answer is not None
            figures[side]["named"] += answer not in (None, "unlisted")
    return figures


def families(groups, answers):
    """Counts robots with any, and robots with every User-Agent found."""
    by_list = {}
    for corpus in groups.robot_lists:
        robots = {}
        for agent, names in corpus.families.items():
            if agent not in groups.disputed:
                for name in names:
                    robots.setdefault(name, []).append(answers[agent] is not None)
        if robots:
            by_list[corpus.name] = robots
    products = {}
    for agent in groups.robots:
        products.setdefault(halves.letters(groups.name(agent)), []).append(answers[agent] is not None)
    named = {(corpus, name): hits for corpus, robots in by_list.items() for name, hits in robots.items()}
    return {
        **{corpus: shares(robots.items()) for corpus, robots in by_list.items()},
        "all families": shares((name, hits) for (_, name), hits in named.items()),
        "all robots, by their first name": shares(products.items()),
    }


def shares(robots):
    figures = {side: {"families": 0, "any": 0, "every": 0} for side in SIDES}
    for name, hits in robots:
        for side in ("both", halves.half(name)):
            figures[side]["families"] += 1
            figures[side]["any"] += any(hits)
            figures[side]["every"] += all(hits)
    return figures


def wrong(groups, answers, half):
    """Yields missed robots and false alarms of one half, or of both: kind, list, answer, User-Agent."""
    told = set(groups.disputed)
    lists = [("missed", c) for c in groups.robot_lists] + [("false alarm", c) for c in groups.browser_lists]
    for what, corpus in lists:
        for agent in corpus:
            is_wrong = (answers[agent] is None) == (what == "missed")
            if is_wrong and agent not in told and half in ("both", groups.half(agent)):
                told.add(agent)
                yield what, corpus.name, answers[agent] or "-", agent


def summary(figures):
    """Returns the figures with floors or ceilings, in percent."""
    robots, browsers = figures["robots"]["all robots"], figures["browsers"]
    every = figures["families"]["all families"]
    return {
        "recall": percent(robots["both"], "found", "lines"),
        "recall, tuned": percent(robots["tuned"], "found", "lines"),
        "recall, held out": percent(robots["held out"], "found", "lines"),
        "recall, numbers aside": percent(figures["robots"]["all robots, numbers aside"]["both"], "found", "lines"),
        "recall by name": percent(robots["both"], "named", "lines"),
        "families, any found": percent(every["both"], "any", "families"),
        "families, every found": percent(every["both"], "every", "families"),
        "families, any found, held out": percent(every["held out"], "any", "families"),
        "families, every found, held out": percent(every["held out"], "every", "families"),
        "false alarms, Mozilla/5.0 (": percent(browsers["Mozilla/5.0 ( browsers"]["both"], "found", "lines"),
        "false alarms, all browsers": percent(browsers["all browsers"]["both"], "found", "lines"),
        "false alarms, current traffic": percent(browsers["measured current traffic"]["both"], "found", "lines"),
    }


def percent(figures, part, whole):
    return 100 * figures[part] / figures[whole] if figures[whole] else 0.0
