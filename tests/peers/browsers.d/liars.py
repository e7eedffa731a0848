"""Programs that claim to be browsers."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHROME = ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
          "Chrome/156.0.0.0 Safari/537.36")
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:153.0) Gecko/20100101 Firefox/153.0"

PYTHON = {
    "requests": "import requests; requests.get(url, headers={'User-Agent': ua}, verify=False)",
    "httpx": "import httpx; httpx.get(url, headers={'User-Agent': ua}, verify=False)",
    "httpx, HTTP/2": "import httpx; httpx.Client(http2=True, verify=False).get(url, headers={'User-Agent': ua})",
    "urllib": "import urllib.request as u, ssl; u.urlopen(u.Request(url, headers={'User-Agent': ua}),"
              " context=ssl._create_unverified_context() if url.startswith('https') else None)",
    "aiohttp": "import aiohttp, asyncio\nasync def go():\n async with aiohttp.ClientSession() as s:\n"
               "  await s.get(url, headers={'User-Agent': ua}, ssl=False)\nasyncio.run(go())",
    "scrapy": "import scrapy.crawler as c, scrapy\nclass S(scrapy.Spider):\n name = 's'\n start_urls = [url]\n"
              " def parse(self, r): pass\n"
              "p = c.CrawlerProcess({'USER_AGENT': ua, 'LOG_ENABLED': False, 'TELNETCONSOLE_ENABLED': False})\n"
              "p.crawl(S); p.start()",
}

TUNED = {
    "curl-cffi": "from curl_cffi import requests as r; r.get(url, impersonate='chrome', verify=False)",
    "curl-cffi, firefox": "from curl_cffi import requests as r; r.get(url, impersonate='firefox', verify=False)",
}

NODE = {
    "node's fetch": "fetch(url, { headers: { 'User-Agent': ua } }).then(r => r.text())",
    "axios": "require('axios').get(url, { headers: { 'User-Agent': ua } })",
    "node's http": "require(url.split(':')[0]).get(url, { headers: { 'User-Agent': ua } })",
}

PHP = ("$c = curl_init($argv[1]); curl_setopt_array($c, [CURLOPT_USERAGENT => $argv[2],"
       " CURLOPT_SSL_VERIFYPEER => 0, CURLOPT_SSL_VERIFYHOST => 0, CURLOPT_RETURNTRANSFER => 1]); curl_exec($c);")

PERL = ("use LWP::UserAgent; my $u = LWP::UserAgent->new(agent => $ARGV[1],"
        " ssl_opts => { verify_hostname => 0, SSL_verify_mode => 0 }); $u->get($ARGV[0]);")

GO = """package main
import ("crypto/tls"; "net/http"; "os")
func main() {
	transport := http.DefaultTransport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	request, _ := http.NewRequest("GET", os.Args[1], nil)
	request.Header.Set("User-Agent", os.Args[2])
	http.DefaultClient.Do(request)
}
"""

REQWEST_MANIFEST = """[package]
name = "liar"
edition = "2024"
[dependencies]
reqwest = { version = "0.12", default-features = false, features = ["blocking", "rustls-tls", "http2"] }
[workspace]
"""

REQWEST = """fn main() {
    let mut given = std::env::args().skip(1);
    let (url, agent) = (given.next().unwrap(), given.next().unwrap());
    let client = reqwest::blocking::Client::builder().danger_accept_invalid_certs(true).user_agent(agent);
    let _ = client.build().unwrap().get(url).send();
}
"""


def liars(program, tools):
    """Runs each tool as each browser; returns the results of naive and of careful imitations."""
    known, told = commands(tools)
    plain = f"http://127.0.0.1:{program.plain}/"
    tls = f"https://127.0.0.1:{program.tls}/"
    rows = []
    for tool, command in known:
        for browser, agent in (("Chrome", CHROME), ("Firefox", FIREFOX)):
            for way, url in (("plain", plain), ("TLS", tls)):
                rows.append((f"{tool} as {browser}, {way}", first(program, tools, command(url, agent))))
    tuned = [(tool, first(program, tools, command(tls, CHROME))) for tool, command in told]
    return rows, tuned


def first(program, tools, command):
    environment = os.environ | {"NODE_TLS_REJECT_UNAUTHORIZED": "0", "NODE_NO_WARNINGS": "1",
                                "NODE_PATH": str(tools / "node_modules"), "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return program.lines()[:1]
    lines = [line for line in program.lines() if line["request_uri"] != "/robots.txt"]
    if not lines:
        print(f"error: no request from {command[0]}: {done.stderr.decode()[-300:]}", file=sys.stderr)
    return lines[:1]


def commands(tools):
    python = str(tools / "venv/bin/python")
    node = [["node", "-e", f"const [url, ua] = process.argv.slice(1); {code}"] for code in NODE.values()]
    scripts = [[python, "-c", f"import sys; url, ua = sys.argv[1:]\n{code}"] for code in PYTHON.values()]
    plain = [
        ("curl", lambda url, ua: ["curl", "-sk", "-A", ua, url]),
        ("curl --http1.1 --compressed", lambda url, ua: ["curl", "-sk", "--http1.1", "--compressed", "-A", ua, url]),
        ("wget", lambda url, ua: ["wget", "-qO-", "--no-check-certificate", "-U", ua, url]),
        ("PHP's curl", lambda url, ua: ["php", "-r", PHP, url, ua]),
        ("libwww-perl", lambda url, ua: ["perl", "-e", PERL, url, ua]),
        ("Go's net/http", with_arguments([built_go(tools)])),
        ("reqwest", with_arguments([built_reqwest(tools)])),
    ]
    plain += [(name, with_arguments(command)) for name, command in zip(PYTHON, scripts)]
    plain += [(name, with_arguments(command)) for name, command in zip(NODE, node)]
    tuned = [(name, with_arguments([python, "-c", f"import sys; url, ua = sys.argv[1:]\n{code}"]))
             for name, code in TUNED.items()]
    headless = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--ignore-certificate-errors",
                "--dump-dom"]
    tuned.append(("chromium --headless, renamed", lambda url, ua: [*headless, f"--user-agent={ua}", url]))
    return plain, tuned


def with_arguments(command):
    return lambda url, agent: [*command, url, agent]


def built_go(tools):
    program = tools / "liar-go"
    if not program.exists():
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory) / "main.go"
            source.write_text(GO)
            subprocess.run(["go", "build", "-o", program, source], check=True)
    return str(program)


def built_reqwest(tools):
    at = tools / "reqwest"
    program = at / "target/debug/liar"
    if not program.exists():
        (at / "src").mkdir(parents=True, exist_ok=True)
        (at / "Cargo.toml").write_text(REQWEST_MANIFEST)
        (at / "src/main.rs").write_text(REQWEST)
        environment = os.environ | {"CARGO_TARGET_DIR": str(at / "target")}
        subprocess.run(["cargo", "build", "--quiet"], cwd=at, check=True, env=environment)
    return str(program)
