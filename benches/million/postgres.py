"""A separate PostgreSQL server on a free port of loopback, or `sqlite3` for a file."""

import os
import shutil
import subprocess
from pathlib import Path


class Postgres:
    def __init__(self, directory, port):
        self.programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.place = directory / "postgres"
        self.place.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.place, "postgres")
        self.port = port
        self.own("initdb", "--pgdata", self.place / "data", "--auth", "trust", "--username", "postgres")
        options = f"-h 127.0.0.1 -p {port} -k {self.place} -c max_wal_size=4GB"
        self.own("pg_ctl", "--pgdata", self.place / "data", "--wait", "--log", self.place / "log", "--options", options, "start")
        self.url = f"postgres://postgres@127.0.0.1:{port}/postgres"

    def own(self, program, *arguments):
        switch = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"] if os.geteuid() == 0 else []
        environment = {**os.environ, "HOME": str(self.place)}
        subprocess.run([*switch, self.programs / program, *arguments], check=True, stdout=subprocess.DEVNULL,
                       cwd=self.place, env=environment)

    def execute(self, *statements):
        command = [self.programs / "psql", "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1"]
        commands = [part for statement in statements for part in ("--command", statement)]
        subprocess.run([*command, *commands, self.url], check=True)

    def size(self):
        base = self.place / "data" / "base"
        return sum(file.stat().st_size for file in base.rglob("*") if file.is_file())

    def stop(self):
        self.own("pg_ctl", "--pgdata", self.place / "data", "--mode", "fast", "--wait", "stop")
