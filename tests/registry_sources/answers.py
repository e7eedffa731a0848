"""The program's results for User-Agents, with its bundled registry."""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import detectors


@dataclass(frozen=True)
class Answer:
    """A named robot, an unlisted one, or none."""

    id: str = ""
    name: str = ""
    operator: str = ""
    purpose: str = ""
    url: str = ""

    @property
    def is_found(self):
        return bool(self.id)

    @property
    def is_named(self):
        return self.id not in ("", "unlisted")


def ask(binary, agents):
    """Returns the result for each User-Agent."""
    agents = list(dict.fromkeys(agents))
    settings = {key: value for key, value in os.environ.items() if not key.startswith("ROBOT_DETECTION_")}
    command = [str(Path(binary).resolve()), "identify", "--bundled", "--json"]
    with tempfile.TemporaryDirectory() as elsewhere:
        lines = detectors.filtered(command, [one_line(agent) for agent in agents], cwd=elsewhere, env=settings)
    return {agent: answer(json.loads(line)) for agent, line in zip(agents, lines, strict=True)}


def one_line(agent):
    return " ".join(agent.split("\n")).replace("\r", " ")


def answer(told):
    return Answer(
        told.get("robot") or "",
        told.get("name") or "",
        told.get("operator") or "",
        told.get("purpose") or "",
        told.get("details_url") or "",
    )
