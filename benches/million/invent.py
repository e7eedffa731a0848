"""Generates descriptions of an archive: directories of 1,000 pages, and a flat one with a tenth of all pages."""

import json
import random
from datetime import datetime, timedelta

PARAGRAPHS = 2000
SUBJECTS = ["History", "History:Ships", "Chemistry", "Chemistry:Salts", "Music", "Travel:North", "Law", "Weather"]


def path(number):
    """Path of a page."""
    if number % 10 == 9:
        return f"/archive/all/item-{number}.html"
    return f"/archive/{number // 1000}/page-{number}.html"


def descriptions(site, count):
    """Yields JSON lines of 2 to 5 KB each, in the format of `site-robot import`."""
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(5000)]
    paragraphs = [" ".join(chance.choices(words, k=70)) + "." for _ in range(PARAGRAPHS)]
    authors = [f"{a.title()} {b.title()}" for a, b in zip(words[:900], words[900:1800])]
    for number in range(count):
        title = " ".join(chance.choices(words, k=4)).capitalize() + f" {number}"
        text = [title, f"Page {number}"] + chance.choices(paragraphs, k=chance.randint(3, 9))
        yield json.dumps({
            "url": site + path(number),
            "title": title,
            "description": paragraphs[number % PARAGRAPHS][:150],
            "author": chance.choice(authors),
            "classification": chance.choice(SUBJECTS),
            "language": "en",
            "content-type": "text/html",
            "content-length": str(sum(map(len, text)) + 900),
            "last-modified": date(chance),
            "md5": f"{number:032x}",
            "depth": str(1 + number % 7),
            "full-text": "\n".join(text),
        })


def date(chance):
    moment = datetime(1998, 1, 1) + timedelta(minutes=chance.randrange(12_000_000))
    return moment.strftime("%a, %d %b %Y %H:%M:00 GMT")
