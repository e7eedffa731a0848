"""Compares pages per second, processor time per page, and memory; see `run`."""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from invent import path, site

HERE = Path(__file__).resolve().parent


class Served:
    """The site, served by nginx on a free port of loopback."""

    def __init__(self, root, directory):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = directory / "access.log"
        conf = directory / "nginx.conf"
        conf.write_text(f"""
            daemon off; master_process off; pid {directory}/nginx.pid; error_log {directory}/error.log;
            events {{ worker_connections 512; }}
            http {{
                log_format moments '$msec $status';
                access_log {self.log} moments buffer=64k;
                types {{ text/html html; }}
                client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
                fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
                server {{ listen 127.0.0.1:{self.port}; root {root}; }}
            }}""")
        self.process = subprocess.Popen(["nginx", "-e", f"{directory}/error.log", "-c", str(conf)])
        self.wait()

    def wait(self):
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.01)
        raise SystemExit("nginx does not respond; see its error.log")

    def url(self, below):
        return f"http://127.0.0.1:{self.port}{below}"

    def moments(self):
        """Returns the times of all 200 responses, after flushing the log."""
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(0.3)
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return sorted(float(moment) for moment, status in lines if status == "200")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def timed(command, directory):
    """Runs a program; returns elapsed seconds, processor seconds, and peak kilobytes."""
    with open(directory / "output.txt", "wb") as output:
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=directory, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        passed = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 8):
        raise SystemExit(f"{command[0]} failed\n{(directory / 'output.txt').read_text()[-2000:]}")
    return passed, used.ru_utime + used.ru_stime, used.ru_maxrss


def ours(program, served, directory):
    return [str(program), "site-robot", "run", served.url(path(0)), "--delay", "0", "--depth=-1",
            "--database", f"sqlite://{directory}/robot.sqlite", "--publish", str(directory / "heaven")]


def wget(served, directory):
    return ["wget", "--quiet", "--mirror", "--directory-prefix", str(directory / "mirror"), served.url(path(0))]


def scrapy(python, served, directory):
    return [str(python), "-m", "scrapy", "runspider", str(HERE / "spider.py"), "-s", "ROBOTSTXT_OBEY=True",
            "-s", "DOWNLOAD_DELAY=0", "-s", "LOG_LEVEL=ERROR", "-s", "TELNETCONSOLE_ENABLED=False",
            "-a", f"start={served.url(path(0))}", "-a", f"store={directory}/pages", "-o", f"{directory}/items.jsonl"]


def files(directory, pattern):
    return sum(1 for _ in directory.rglob(pattern))


def made(name, directory):
    """Returns the number of pages that a program has fetched."""
    if name == "ours":
        return sum(1 for _ in open(directory / "heaven" / "rd.jsonl", encoding="utf-8"))
    if name == "scrapy":
        # The starting point is visited twice if a page links to it.
        return len({json.loads(line)["url"] for line in open(directory / "items.jsonl", encoding="utf-8")})
    return files(directory / "mirror", "p*.html")


def scrapy_python(wanted, directory):
    """Returns the given Python with Scrapy, or installs a new one."""
    if wanted:
        return wanted
    python = directory / "venv" / "bin" / "python"
    print("installing Scrapy from PyPI ...", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", directory / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "scrapy"], check=True)
    return python


def compare(options, served, directory):
    python = scrapy_python(options.python, directory)
    figures = {"ours": [], "wget --mirror": [], "scrapy": []}
    for turn in range(options.rounds):
        for name in figures:
            # Nothing is removed in between: a file system is slow after many deletions.
            place = directory / f"{turn}-{name.split()[0]}"
            place.mkdir()
            command = {
                "ours": lambda at: ours(options.program, served, at),
                "wget --mirror": lambda at: wget(served, at),
                "scrapy": lambda at: scrapy(python, served, at),
            }[name](place)
            passed, used, memory = timed(command, place)
            pages = made(name, place)
            if pages != options.pages:
                raise SystemExit(f"{name} fetched {pages} of {options.pages} pages")
            figures[name].append((pages / passed, used * 1000 / pages, memory / 1024))
            print(f"round {turn + 1}: {name}: {pages / passed:.0f} pages/s", file=sys.stderr)
    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in figures.items()}
    rate = medians["ours"][0]
    rows = {
        name: {"pages_per_second": round(row[0], 1), "cpu_ms_per_page": round(row[1], 3), "peak_mib": round(row[2], 1),
               "ours_is_times_as_fast": round(rate / row[0], 2)}
        for name, row in medians.items()
    }
    if options.json:
        print(json.dumps({"pages": options.pages, "rounds": options.rounds, "programs": rows}, indent=1))
        return
    print(f"{options.pages:,} pages, medians of {options.rounds} rounds\n")
    print("| program | pages/s | processor, ms a page | peak, MiB | ours is faster |")
    print("|---|---:|---:|---:|---:|")
    for name, row in rows.items():
        times = "" if name == "ours" else f"{row['ours_is_times_as_fast']} ×"
        print(f"| {name} | {row['pages_per_second']:,.0f} | {row['cpu_ms_per_page']:.2f} | {row['peak_mib']:.0f} | {times} |")


def large(options, served, directory):
    """Runs ours once; compares the rate of the second half with that of the first."""
    passed, used, memory = timed(ours(options.program, served, directory), directory)
    moments = served.moments()
    half = len(moments) // 2
    first, second = (half / max(moments[at + half - 1] - moments[at], 0.001) for at in (0, len(moments) - half))
    result = {"pages": made("ours", directory), "pages_per_second": round(options.pages / passed, 1),
              "first_half": round(first, 1), "second_half": round(second, 1), "second_of_first": round(second / first, 3),
              "cpu_ms_per_page": round(used * 1000 / options.pages, 3), "peak_mib": round(memory / 1024, 1)}
    if options.json:
        print(json.dumps(result, indent=1))
        return
    print(f"{result['pages']:,} pages in {passed:.0f} s, heaven written: {result['pages_per_second']:,.0f} pages/s, "
          f"{result['cpu_ms_per_page']:.2f} ms of the processor a page, {result['peak_mib']:.0f} MiB at most")
    print(f"first half {first:,.0f} pages/s, second half {second:,.0f}: {100 * second / first:.0f} %")


def arguments():
    parser = argparse.ArgumentParser(prog="benches/site_robot/run")
    parser.add_argument("--program", type=Path, help="program to measure instead of the one that cargo builds")
    parser.add_argument("--python", type=Path, help="Python with Scrapy")
    parser.add_argument("--pages", type=int, help="pages of the site (5,000; with --large 100,000)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="measure only ours: the rate of each half")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.pages = options.pages or (100_000 if options.large else 5_000)
    options.program = options.program.absolute()
    options.python = options.python and options.python.absolute()
    return options


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as made_for_us:
        directory = Path(made_for_us)
        site(directory / "site", options.pages)
        served = Served(directory / "site", directory)
        try:
            (large if options.large else compare)(options, served, directory)
        finally:
            served.stop()


main()
