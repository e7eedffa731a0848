"""Code blocks of docs/src/instances.md, as an administrator copies them."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs/src/instances.md"
BLOCK = re.compile(r"<!-- (?P<note>[^\n]*) -->\n```\w+\n(?P<text>.*?)```\n", re.DOTALL)


class Guide:
    def __init__(self):
        self.blocks = [(found["note"], found["text"]) for found in BLOCK.finditer(PAGE.read_text())]

    def file(self, name):
        """Returns the block with the contents of a file."""
        return self._only([text for note, text in self.blocks if note == f"file: {name}"], name)

    def commands(self, word):
        """Returns the only block of commands that contains a word."""
        found = [text for note, text in self.blocks if note.startswith("not run: tests/peers/fleet") and word in text]
        return self._only(found, word)

    @staticmethod
    def _only(found, what):
        assert len(found) == 1, f"{PAGE} has {len(found)} blocks of {what}"
        return found[0]
