"""Report on each list: figures, missing robots, and differences."""

from dataclasses import dataclass

import compare
import families
import reviewed
from report import shown_text as printable


@dataclass(frozen=True)
class Difference:
    """One difference between a list and the program."""

    what: str
    family: families.Family
    answer: object  # ours; None for a name that we lack
    theirs: str
    row: object  # which side is right, if reviewed

    @property
    def is_new(self):
        return self.row is None


def between(told, answers, rows):
    """Yields all differences of families: missing names, and different operators and purposes."""
    for family in told:
        answer = compare.named(family, answers)
        if answer is None:
            row = reviewed.find(rows, "name", family.key, family.name)
            yield Difference("name", family, None, family.name, row)
            continue
        if compare.operator_agrees(family, answer) is False:
            theirs = compare.their_operator(family)
            yield Difference("operator", family, answer, theirs, reviewed.find(rows, "operator", answer.id, theirs))
        if compare.purpose_agrees(family, answer) is False:
            theirs = ", ".join(family.words)
            yield Difference("purpose", family, answer, theirs, reviewed.find(rows, "purpose", answer.id, theirs))


def figures(told, answers, found):
    """Counts one list: families, named, found, and the named ones that agree."""
    named = {family.key: compare.named(family, answers) for family in told}
    known = [(family, named[family.key]) for family in told if named[family.key]]
    counted = {
        "families": len(told),
        "named": len(known),
        "every User-Agent named": sum(all(answers[agent].is_named for agent in family.agents) for family in told),
        "found": sum(any(answers[agent].is_found for agent in family.agents) for family in told),
    }
    for what, agrees in (("operator", compare.operator_agrees), ("purpose", compare.purpose_agrees)):
        said = [agrees(family, answer) for family, answer in known]
        other = [difference for difference in found if difference.what == what]
        alike = sum(difference.row is not None and difference.row.right == "both" for difference in other)
        counted[f"{what} compared"] = sum(one is not None for one in said)
        counted[f"{what} agrees"] = sum(one is True for one in said) + alike
        counted[f"{what} reviewed"] = sum(not difference.is_new for difference in other) - alike
    return counted


def total(by_list):
    return {key: sum(counted[key] for counted in by_list.values()) for key in next(iter(by_list.values()))}


def rows_of(by_list):
    """Returns a table of the figures."""
    yield ("list", "families", "found %", "named %", "every %", "operators", "agree %", "purposes", "agree %")
    for name, counted in by_list.items():
        yield (
            name,
            f"{counted['families']:,}",
            share(counted, "found", "families"),
            share(counted, "named", "families"),
            share(counted, "every User-Agent named", "families"),
            f"{counted['operator compared']:,}",
            share(counted, "operator agrees", "operator compared"),
            f"{counted['purpose compared']:,}",
            share(counted, "purpose agrees", "purpose compared"),
        )


def share(counted, part, whole):
    return f"{percent(counted, part, whole):.1f}" if counted[whole] else "-"


def percent(counted, part, whole):
    return 100 * counted[part] / counted[whole] if counted[whole] else 100.0


def lines(found, with_reviewed):
    """Yields the report on differences for readers: both sides, the right one, and an example."""
    for what, title in (
        ("name", "robots that we do not name"),
        ("operator", "operators that differ"),
        ("purpose", "purposes that differ"),
    ):
        some = [one for one in found if one.what == what and (one.is_new or with_reviewed)]
        if some:
            yield f"\n{title}: {len(some)}"
        for one in sorted(some, key=lambda one: (one.family.list, one.family.name.lower())):
            yield from shown(one)


def shown(one):
    family = one.family
    theirs = " / ".join(filter(None, (compare.their_operator(family), ", ".join(family.words), " ".join(family.urls))))
    yield printable(f"  {family.list}: {family.name}")
    yield printable(f"    theirs: {theirs or '-'}")
    if one.answer:
        ours = (one.answer.id, one.answer.operator or "-", one.answer.purpose, one.answer.url)
        yield printable(f"    ours:   {' / '.join(filter(None, ours))}")
    if one.row:
        yield printable(f"    right:  {one.row.right}: {one.row.reason}")
    if family.agents:
        note = "made from its expression: " if family.is_sampled else ""
        yield printable(f"    {note}{min(family.agents, key=len)[:200]}")


def as_json(one):
    return {
        "what": one.what,
        "list": one.family.list,
        "family": one.family.name,
        "theirs": one.theirs,
        "words": one.family.words,
        "urls": one.family.urls,
        "ours": vars(one.answer) if one.answer else None,
        "user_agent": min(one.family.agents, key=len, default=""),
        "right": one.row.right if one.row else None,
        "reason": one.row.reason if one.row else None,
    }
