"""Generates robots and browsers: names of three parts, and various versions."""

from itertools import product

FIRST = """Acme Blue Crystal Data Echo Fern Global Harbor Index Jade Kite Link Meta Nova Open
Page Quick River Site Trend Ultra Vivid Web Yonder Zen""".split()
SECOND = """Search Scan Crawl Fetch Reach Watch Trace Graph Feed News Image Rank Archive Probe
Lens Wave Spark Mind Path Check""".split()
THIRD = """bot Bot -bot Agent Robot bot-Image bot-News bot-Mobile Fetcher Monitor Validator
Preview Indexer -AI Scanner Reader Harvester Loader Mapper Watcher""".split()

SYSTEMS = [
    "Windows NT 10.0; Win64; x64",
    "Macintosh; Intel Mac OS X 10_15_7",
    "X11; Linux x86_64",
    "Linux; Android 10; K",
    "iPhone; CPU iPhone OS 18_5 like Mac OS X",
]


def robots(count):
    """Returns robots' names; a few are as varied as many, and all differ by more than case."""
    names, seen = [], set()
    every = ["".join(parts) for parts in product(FIRST, SECOND, THIRD)]
    for number in range(len(every)):
        # A step that visits all of them once.
        name = every[number * 3331 % len(every)]
        if name.lower() not in seen:
            seen.add(name.lower())
            names.append(name)
    return names[:count]


def robot_headers(names):
    """Returns User-Agents of robots with these names."""
    return [f"Mozilla/5.0 (compatible; {name}/2.1; +http://robots.example/about)" for name in names]


def browser_headers(count):
    """Returns User-Agents of different browsers."""
    return [
        f"Mozilla/5.0 ({SYSTEMS[number % 5]}) AppleWebKit/537.36 (KHTML, like Gecko) "
        f"Chrome/{100 + number % 45}.0.{number}.{number % 211} Safari/537.36"
        for number in range(count)
    ]


def chromiums(count):
    """Returns headers of different Chromiums over TLS: User-Agents, matching client hints, and requested paths."""
    platforms = ["Windows", "macOS", "Linux", "Android"]
    made = []
    for number in range(count):
        at, version = number % 4, 140 + number % 5
        mobile, word = (" Mobile", "?1") if platforms[at] == "Android" else ("", "?0")
        user_agent = (f"Mozilla/5.0 ({SYSTEMS[at]}) AppleWebKit/537.36 (KHTML, like Gecko) "
                      f"Chrome/{version}.0.0.0{mobile} Safari/537.36")
        made.append((user_agent, [
            f'sec-ch-ua: "Chromium";v="{version}", "Not=A?Brand";v="24", "Google Chrome";v="{version}"',
            f"sec-ch-ua-mobile: {word}",
            f'sec-ch-ua-platform: "{platforms[at]}"',
        ], ["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-User: ?1", "Sec-Fetch-Dest: document"]))
    return made
