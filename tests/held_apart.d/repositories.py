"""Folders of public repositories at exact commits, if no package registry carries them."""

import os
import shutil
import subprocess
from pathlib import Path

from registries import Unreachable


class Repositories:
    """Copies a folder of a repository to the cache, from a local clone or from its host."""

    def __init__(self, cache, clones=None):
        self.cache = cache
        self.clones = clones

    def folder(self, name, commit, path):
        """Returns the folder `path` of `owner/name` at a commit."""
        kept = self.cache.folder / "git" / f"{name.replace('/', '+')}-{commit[:16]}"
        if not kept.is_dir():
            fresh = kept.with_name(f".{kept.name}")
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            try:
                self._unpack(name, commit, path, fresh)
                fresh.rename(kept)
            except (OSError, subprocess.SubprocessError) as error:
                raise Unreachable(f"cannot get {name} at {commit[:16]}: {told(error)}") from error
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
        return kept / path

    def _unpack(self, name, commit, path, into):
        clone = self._clone(name) or fetched(name, commit, into)
        # Not `git archive`, which omits files that a repository excludes from its packages, such as tests.
        folder = git("-C", str(clone), "rev-parse", "--absolute-git-dir").decode().strip()
        index = {**os.environ, "GIT_INDEX_FILE": str(into / "index")}
        git("--git-dir", folder, "--work-tree", str(into), "checkout", "--quiet", commit, "--", path, env=index)
        (into / "index").unlink()
        shutil.rmtree(into / "clone", ignore_errors=True)

    def _clone(self, name):
        if not self.clones:
            return None
        short = name.split("/")[1]
        places = [Path(self.clones, *parts) for parts in ((name.replace("/", "+"), "repo"), (name,), (short,), (f"{short}.git",))]
        return next((place for place in places if place.is_dir()), None)


def fetched(name, commit, into):
    clone = into / "clone"
    git("init", "--quiet", "--bare", str(clone))
    git("-C", str(clone), "fetch", "--quiet", "--depth=1", f"https://github.com/{name}.git", commit)
    return clone


def git(*arguments, **how):
    done = subprocess.run(["git", *arguments], capture_output=True, stdin=subprocess.DEVNULL, timeout=600, **how)
    done.check_returncode()
    return done.stdout


def told(error):
    text = (getattr(error, "stderr", None) or b"").decode("utf8", "replace").strip() or str(error)
    return text.splitlines()[-1][:200]
