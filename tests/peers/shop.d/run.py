"""Crawls a model shop with Scrapy, activates the rules that the console proposes, and crawls it again."""

import argparse
import functools
import http.client
import http.server
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PRODUCTS, PER_PAGE = 1_000, 10
# Numbers of values, as in shops: many brands, few fits.
FACETS = {"brand": 40, "color": 24, "size": 12, "material": 8, "fit": 4}
SORTS = ["price", "name", "new"]
PERSON = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PROVEN, HOME = "ExampleBot/1.0", "192.0.2.7"
CONFIG = """
web_robots_db = ""
[database]
url = "sqlite://{folder}/shop.db"
[server]
listen = "127.0.0.1:{port}"
upstream = "http://127.0.0.1:{upstream}"
trusted_proxies = ["127.0.0.1"]
[verify]
allow_private_addresses = true
"""
SPIDER = """
import random
import sys
import scrapy
import scrapy.crawler

requested = open(sys.argv[3], "w")

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        yield self.request(sys.argv[1])

    def request(self, url):
        client = f"198.51.{random.randrange(100)}.{random.randrange(250)}"
        return scrapy.Request(url, self.parse, headers={"X-Forwarded-For": client}, meta={"handle_httpstatus_all": True})

    def parse(self, response):
        print(response.url, file=requested)
        if response.status == 200:
            for link in response.css("a::attr(href)").getall():
                yield self.request(response.urljoin(link))

settings = {"ROBOTSTXT_OBEY": False, "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "DOWNLOAD_DELAY": 0,
            "CONCURRENT_REQUESTS": 32, "CONCURRENT_REQUESTS_PER_DOMAIN": 32, "RETRY_ENABLED": False,
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue", "DEPTH_PRIORITY": 1,
            "CLOSESPIDER_PAGECOUNT": int(sys.argv[2])}
process = scrapy.crawler.CrawlerProcess(settings)
process.crawl(Spider)
process.start()
"""


class Shop(http.server.BaseHTTPRequestHandler):
    """A shop whose facets, sort orders and pages are parameters of one page."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    seen = []

    def do_GET(self):
        Shop.seen.append(self.path)
        page, _, query = self.path.partition("?")
        chosen = dict(urllib.parse.parse_qsl(query))
        links = []
        if page == "/shop":
            found = [number for number in range(PRODUCTS) if all(self.value(number, name) == chosen.get(name, self.value(number, name)) for name in FACETS)]
            at, last = int(chosen.get("page", 0)), len(found) // PER_PAGE
            links += [f"/product/{number}" for number in found[at * PER_PAGE:(at + 1) * PER_PAGE]]
            choices = {name: [f"{name}{number}" for number in range(values)] for name, values in FACETS.items()}
            for name, values in [*choices.items(), ("sort", SORTS), ("page", range(max(at - 2, 0), min(at + 3, last + 1)))]:
                links += [self.link(chosen, name, value) for value in values if chosen.get(name) != str(value)]
        body = "".join(f'<a href="{link}">x</a>\n'.replace("&", "&amp;") for link in links) or "a product"
        body = f"<!doctype html><title>shop</title>{body}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    @functools.cache
    def value(product, facet):
        """Returns the value that a product has in a facet."""
        return f"{facet}{random.Random(f'{product} {facet}').randrange(FACETS[facet])}"

    @staticmethod
    def link(chosen, name, value):
        items = list({**chosen, name: value}.items())
        random.shuffle(items)
        return "/shop?" + urllib.parse.urlencode(items)

    def log_message(self, *_):
        pass


class Program:
    """This program in front of the shop, and a robot with published addresses."""

    def __init__(self, binary, folder, upstream):
        self.folder, self.port = folder, free_port()
        self.config = folder / "robot-detection.toml"
        self.config.write_text(CONFIG.format(folder=folder, port=self.port, upstream=upstream))
        self.command = [binary.resolve(), "--config", self.config]
        self.run("registry", "add", "examplebot", "--useragent", PROVEN, "--ranges-url", serve_ranges())
        self.token = self.run("admin", "token", "shop").split()[-1]
        self.process = None

    def run(self, *arguments):
        return subprocess.run([*self.command, *arguments], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def start(self):
        log = (self.folder / "log").open("a")
        self.process = subprocess.Popen([*self.command, "serve"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=log)
        until(lambda: status(self.connection(), "/product/1", PERSON, HOME) == 200, "the server does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def admin(self, method, path, body=None):
        connection = self.connection()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request(method, f"/robot-detection/admin/api/v1/{path}", body and json.dumps(body), headers)
        return json.load(connection.getresponse())

    def crawl(self, requests):
        """Crawls the shop; returns the URLs with a query that were requested, and those that the shop got."""
        spider, requested = self.folder / "spider.py", self.folder / "requested"
        spider.write_text(SPIDER)
        Shop.seen.clear()
        url = f"http://127.0.0.1:{self.port}/shop"
        subprocess.run([sys.executable, spider, url, str(requests), requested], check=True)
        urls = requested.read_text().split()
        return len(urls), set(map(spelling, urls)) - {""}, set(map(spelling, Shop.seen)) - {""}


def spelling(url):
    """Returns the query of a URL with sorted parameters, as Scrapy compares URLs."""
    return "&".join(sorted(urllib.parse.urlsplit(url).query.split("&")))


def status(connection, path, agent, client):
    try:
        connection.request("GET", path, headers={"User-Agent": agent, "X-Forwarded-For": client})
        response = connection.getresponse()
        response.read()
        return response.status
    except OSError:
        return 0


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def serve(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def serve_ranges():
    class Ranges(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"prefixes": [{"ipv4Prefix": f"{HOME}/32"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return f"http://127.0.0.1:{serve(Ranges)}/ranges.json"


def until(done, error):
    for _ in range(200):
        if done():
            return
        time.sleep(0.1)
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)


def touched(program, requests):
    """Sends requests of people with any parameters, and of a verified robot for pages of the sitemap."""
    connection, wrong = program.connection(), 0
    pages = [f"/product/{number}" for number in range(PRODUCTS)] + ["/shop"]
    for number in range(requests):
        if number % 2:
            path, agent, client = pages[number // 2 % len(pages)], PROVEN, HOME
        else:
            chosen = {name: f"{name}{random.randrange(FACETS[name])}" for name in random.sample(list(FACETS), 3)}
            path, agent = Shop.link(chosen, "page", number % 100), PERSON
            client = f"203.0.{number // 40 % 113}.{number // 40 % 250}"
        wrong += status(connection, path, agent, client) != 200
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/robot-detection")
    parser.add_argument("--requests", type=int, default=50_000)
    arguments = parser.parse_args()
    random.seed(7)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(arguments.binary, Path(folder), serve(Shop))
        program.start()
        crawled, requested, got = program.crawl(arguments.requests // 10)
        print(f"without rules: {crawled} requests, {len(requested)} spellings, {len(got)} reach the shop")
        # A stopping server stores what it has counted.
        program.stop()
        program.start()
        rows = program.admin("GET", "traffic/paths?path=/shop&time=24h")["parameters"]
        rules = [row["rule"] for row in rows if row["rule"]][:3]
        for rule in rules:
            added = program.admin("POST", "rules", rule)
            print(f"rule: {added['summary']}")
        time.sleep(2)
        crawled, requested, got = program.crawl(arguments.requests)
        kept = 1 - len(got) / max(len(requested), 1)
        print(f"with {len(rules)} rules: {crawled} requests, {len(requested)} spellings, {len(got)} reach the shop: {kept:.1%} kept away")
        wrong = touched(program, arguments.requests)
        verified = program.admin("GET", "traffic?time=24h&by=verdict")
        print(f"{wrong} of {arguments.requests} requests of people and of a verified robot affected")
        names = [row["verdict"] for row in verified["verdicts"] if row["robot"] == "examplebot"]
        print(f"verdicts of the robot: {names}")
        program.stop()
    sys.exit(0 if len(rules) == 3 and kept >= 0.95 and wrong == 0 and "verified" in names else 1)


main()
