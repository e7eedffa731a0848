"""Differences that somebody has looked at, with who is right: reviewed.tsv."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

FILE = Path(__file__).resolve().with_name("reviewed.tsv")
# Who is right; `both` are two words for one thing, and no disagreement.
RIGHT = ("ours", "both", "theirs")


@dataclass(frozen=True)
class Row:
    """One reviewed difference, or several for one reason."""

    what: str  # name, operator or purpose
    robots: tuple  # ids of ours; of a name that we lack the list's own keys
    theirs: str  # what the list says, `*` for any text
    right: str
    reason: str

    def fits(self, what, robot, theirs):
        return (
            self.what == what
            and any(fnmatchcase(robot, one) for one in self.robots)
            and fnmatchcase(theirs.lower(), self.theirs.lower())
        )


def read(file=FILE):
    """Returns the rows; a line that is none is an error, not passed over."""
    rows = []
    for number, line in enumerate(file.read_text("utf8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) != 5 or parts[0] not in ("name", "operator", "purpose") or parts[3] not in RIGHT:
            raise ValueError(f"{file.name}, line {number}: it is not: what, robots, theirs, right, reason, with tabs between")
        rows.append(Row(parts[0], tuple(parts[1].split(", ")), *parts[2:]))
    return rows


def find(rows, what, robot, theirs):
    """Returns the row of a difference, or None where nobody has looked at it."""
    return next((row for row in rows if row.fits(what, robot, theirs)), None)
