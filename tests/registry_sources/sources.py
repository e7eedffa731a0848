"""The public lists: their locations, versions, and ways of fetching them.

Lists in a package registry are fetched as packages; the others as a file of their repository, at one commit: from a
clone in --from, else with git. No list is ever committed.
"""

from dataclasses import dataclass
from pathlib import Path

from registries import Unreachable, run

PYPI = {"crawler-user-agents": "1.67.0", "device-detector": "6.5.1", "counter-robots": "2025.11"}
PYYAML = "6.0.3"


@dataclass(frozen=True)
class Repository:
    """A GitHub repository at one commit."""

    owner: str
    name: str
    commit: str

    def __str__(self):
        return f"{self.owner}/{self.name}"


ARCJET = Repository("arcjet", "well-known-bots", "0637e27abef588368a29bb041b6e1e9af2e81f90")
AI_ROBOTS_TXT = Repository("ai-robots-txt", "ai.robots.txt", "738c80df2169027ce0e07c9976fd3f2f57dd8f7b")
AWSTATS = Repository("eldy", "AWStats", "17973f1763b73eabb0af0c2f96f16974f1d0421f")
OPAWG = Repository("opawg", "user-agents-v2", "8008a31b7d348cd5722656c9d3e2d0c1cd6af212")
BROWSERDETECT = Repository("oalders", "http-browserdetect", "5452caa110c3830696311ef34d1c0a7593281cc3")


class Shelf:
    """Provides files of the lists, fetched on first use."""

    def __init__(self, cache, clones=None):
        self.cache = cache
        self.clones = clones

    def package(self, name):
        return self.cache.pypi(name, PYPI[name])

    def yaml(self):
        self.cache.python("PyYAML", PYYAML)
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return lambda text: yaml.load(text, Loader=loader)

    def file(self, repository, path):
        """Returns the text of a file in a repository."""
        kept = self.cache.folder / "git" / f"{repository.owner}+{repository.name}-{repository.commit[:12]}" / path
        if not kept.exists():
            text = self._from_clone(repository, path)
            text = self._from_github(repository, path) if text is None else text
            kept.parent.mkdir(parents=True, exist_ok=True)
            fresh = kept.with_suffix(".new")
            fresh.write_text(text, "utf8")
            fresh.rename(kept)
        return kept.read_text("utf8", errors="replace")

    def _from_clone(self, repository, path):
        if not self.clones:
            return None
        for name in (repository.name, f"{repository.name}.git", str(repository)):
            clone = Path(self.clones) / name
            if clone.is_dir():
                try:
                    return run(["git", "-C", str(clone), "show", f"{repository.commit}:{path}"])
                except OSError as error:
                    raise Unreachable(
                        f"{clone} has no {path} of commit {repository.commit}: {error}\n"
                        f"fetch that commit of {repository} there, or name the commit that it has in sources.py"
                    ) from error
        return None

    def _from_github(self, repository, path):
        """Fetches one commit without its history, then reads the file."""
        clone = self.cache.folder / "git" / f"{repository.owner}+{repository.name}.git"

        git = ["git", "-C", str(clone)]
        try:
            if not clone.exists():
                run(["git", "init", "--quiet", "--bare", str(clone)])
            try:
                run([*git, "cat-file", "-e", f"{repository.commit}^{{commit}}"])
            except OSError:
                run([*git, "fetch", "--quiet", "--depth=1", f"https://github.com/{repository}.git", repository.commit])
            return run([*git, "show", f"{repository.commit}:{path}"])
        except OSError as error:
            raise Unreachable(
                f"cannot get {repository} at {repository.commit[:12]}: {error}\n"
                f"connect to github.com, or clone it elsewhere and name the folder above it with --from: DIR/{repository.name}"
            ) from error
