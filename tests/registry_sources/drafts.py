"""Draft records from the lists' statements about robots that we do not name.

A person must review each draft: is the name an everyday word, what is the robot for, who runs it? Facts that the lists
do not contain are marked with `?`.
"""

import re

import compare
import families
import purposes

AI = ("ai-training", "ai-search", "ai-user")


def records(missing):
    """Yields a record for each robot; families with the same name or User-Agent are merged."""
    taken = set()
    for group in groups(missing):
        record = draft(group)
        if record[0][1] not in taken:
            taken.add(record[0][1])
            yield "\n".join(f"robot-{field}: {value}" for field, value in record) + "\n"


def groups(missing):
    """Joins families that share a name or a User-Agent."""
    joined, by_mark = [], {}
    for family in missing:
        marks = [compare.letters(family.name)] + ([] if family.is_sampled else family.agents)
        known = next((by_mark[mark] for mark in marks if mark in by_mark), None)
        if known is None:
            known = []
            joined.append(known)
        known.append(family)
        by_mark.update(dict.fromkeys(marks, known))
    return joined


def draft(group):
    name = useragent(group)
    purpose = first_purpose(group)
    fields = [
        ("id", re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")),
        ("name", name),
        ("details-url", url(group)),
        ("useragent", name),
        ("useragent-kind", "token" if len(compare.letters(name)) > 5 else "product"),
    ]
    if purpose in AI or re.fullmatch(r"[A-Za-z_-]+", name):
        fields.append(("exclusion-useragent", name))
    fields.append(("operator", operator(group)))
    fields.append(("purpose", purpose))
    lists = [name for name in families.LISTS if any(family.list == name for family in group)]
    fields.append(("evidence", ", ".join(lists)))
    return fields


def useragent(group):
    """Returns the name that occurs in the User-Agents; else that of the first list."""
    agents = [agent.lower() for family in group for agent in family.agents]
    names = [family.name for family in group]
    return next((name for name in names if any(name.lower() in agent for agent in agents)), names[0])


def operator(group):
    names = [name for family in group for name in family.operators]
    return compare.plain(names[0]) if names else "? unlisted operator"


def url(group):
    urls = [url for family in group for url in family.urls if compare.of_url(url)]
    others = [url for family in group for url in family.urls]
    return (urls or others or ["?"])[0]


def first_purpose(group):
    for family in group:
        fitting = purposes.allowed(family.list, family.words)
        if len(fitting) == 1:
            return next(iter(fitting))
    said = ", ".join(word for family in group for word in family.words)
    return f"? {said}".strip()
