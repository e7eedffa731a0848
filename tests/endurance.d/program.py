"""The program under test: started, watched, signalled."""

import os
import re
import signal
import subprocess
import threading

SETTINGS = """
web_robots_db = ""
[database]
url = "sqlite::memory:"
[server]
listen = "127.0.0.1:0"
upstream = "{upstream}"
[admin]
enabled = false
"""


class Missing(Exception):
    """A requirement of the checks is missing."""


class Program:
    """A running `serve`; it is killed when left."""

    def __init__(self, binary, folder, upstream, more=""):
        self.config = folder / "endurance.toml"
        self.settings = more + SETTINGS.format(upstream=f"http://127.0.0.1:{upstream.port}")
        self.config.write_text(self.settings)
        self.log = folder / "log"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ROBOT_DETECTION_")}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [binary, "--config", self.config, "serve"],
                cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log, text=True,
            )
        self.port = self._port()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def _port(self):
        for line in self.process.stdout:
            if found := re.search(r" on http://[^/]*:(\d+)/", line):
                # Later output must not block the program.
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return int(found[1])
        raise Missing(f"the program does not start: {self.log.read_text()}")

    def signal(self, name):
        os.kill(self.process.pid, getattr(signal, name))

    def reload(self, settings):
        """Writes other settings to the file, and reloads."""
        self.config.write_text(settings)
        self.signal("SIGHUP")

    def memory_kib(self):
        """Returns the current memory, and resets the peak."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as refs:
            refs.write("5")
        return self.peak_kib()

    def peak_kib(self):
        """Returns the peak memory."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmHWM:\s*(\d+)", status.read())[1])

    def count(self, text):
        """Returns how many lines of the log contain the text."""
        return sum(text in line for line in self.log.read_text().splitlines())
