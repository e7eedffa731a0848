"""Generates a site: pages of some 5 KB, each with twelve links, all reachable from the first."""

import random

WORDS = 5000
LINKS = 10
PARAGRAPHS = 8


def path(number):
    """Path of a page."""
    return f"/{number // 1000}/p{number}.html"


def site(directory, count):
    """Writes the pages of a site."""
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(WORDS)]
    for number in range(count):
        below = directory / str(number // 1000)
        if number % 1000 == 0:
            below.mkdir(parents=True)
        # The first two links form a tree of all pages; the others are random.
        links = [2 * number + 1, 2 * number + 2] + [chance.randrange(count) for _ in range(LINKS)]
        items = "".join(f'<li><a href="{path(link)}">page {link}</a></li>' for link in links if link < count)
        text = "".join(f"<p>{' '.join(chance.choices(words, k=90))}.</p>\n" for _ in range(PARAGRAPHS))
        (below / f"p{number}.html").write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page {number}</title>'
            f'<meta name="description" content="About {number}"></head><body><nav><ul>{items}</ul></nav>'
            f"<main><h1>Page {number}</h1>{text}</main></body></html>\n"
        )
