"""Lists robots, adds and replaces rules, and reads traffic, with types: `program.py URL TOKEN`."""

import sys
from typing import TypeVar

from robot_detection_client import AuthenticatedClient
from robot_detection_client.api.default import get_robots, get_traffic, post_rules, put_rules_rule
from robot_detection_client.models import (
    AddedRule,
    PostRulesBody,
    PostRulesBodyAction,
    ProblemDetails,
    PutRulesRuleBody,
    PutRulesRuleBodyAction,
    Robot,
)
from robot_detection_client.types import UNSET, Unset

T = TypeVar("T")


def done(answer: T | ProblemDetails | None) -> T:
    """Returns the response unless it is an error."""
    if answer is None or isinstance(answer, ProblemDetails):
        sys.exit(f"error: {answer}")
    return answer


def robots(client: AuthenticatedClient) -> list[Robot]:
    """Returns all robots of a purpose, page by page."""
    found: list[Robot] = []
    cursor: str | Unset = UNSET
    while True:
        page = done(get_robots.sync(client=client, purpose="ai-training", limit=7, cursor=cursor))
        found += page.robots
        if page.next_ is None:
            assert len(found) == page.total, (len(found), page.total)
            return found
        cursor = page.next_


def put(client: AuthenticatedClient) -> AddedRule:
    """Activates the rule `shop`."""
    body = PutRulesRuleBody(action=PutRulesRuleBodyAction.SLOW, purpose="seo", requests=5, ends="never")
    return done(put_rules_rule.sync("shop", client=client, body=body))


def main() -> None:
    url, token = sys.argv[1:]
    client = AuthenticatedClient(base_url=url, token=token)
    found = robots(client)
    assert len({robot.id for robot in found}) == len(found) > 14, len(found)
    print(f"robots: {len(found)}, the first is {found[0].name} of {found[0].operator}")

    body = PostRulesBody(action=PostRulesBodyAction.REFUSE, robot=found[0].id, ends="7d")
    added = done(post_rules.sync(client=client, body=body))
    assert added.outcome == "added" and added.id is not None and added.ends is not None, added
    print(f"rule {added.id}: {added.summary}, until {added.ends:%Y-%m-%d}")

    first, second = put(client), put(client)
    assert (first.outcome, second.outcome) == ("added", "unchanged"), (first, second)
    assert first.id == second.id, (first, second)
    print(f"rule shop: {first.outcome}, then {second.outcome}")

    traffic = done(get_traffic.sync(client=client, by="robot"))
    hits = {kind: figure.hits for kind, figure in traffic.totals.additional_properties.items()}
    assert hits["all"] == 3 and hits["robots"] == 2 and hits["people"] == 1, hits
    assert isinstance(traffic.robots, list) and traffic.robots[0].hits == 2, traffic.robots
    print(f"traffic: {hits['all']} requests, {traffic.robots[0].hits} of {traffic.robots[0]['name']}")


if __name__ == "__main__":
    main()
