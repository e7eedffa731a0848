"""Generated pages with known content."""

import html
import random

WORDS = {
    "en": "salt pepper kettle harbour lantern meadow copper violin thunder pilgrim cabin ladder mirror "
    "saddle turnip walnut barrel candle dagger engine feather garden hammer island jacket".split(),
    "ar": "ملح فلفل بحر جبل قمر شمس كتاب مدينة طريق بيت شجرة نهر".split(),
    "he": "מלח פלפל ים הר ירח שמש ספר עיר דרך בית עץ נהר".split(),
    "zh": list("盐海山月日书城路家树河火木金土水天地人风雨雪"),
    "de": "Salz Pfeffer Hafen Wiese Kupfer Geige Donner Pilger Hütte Leiter Spiegel Sattel Nüsse".split(),
}
AROUND = "navhome navabout subscribe cookies imprint privacy newsletter trending sponsored sitemap".split()
CODE = [
    ("rust", 'fn main() {\n    println!("<salt> & {}", 1 | 2);\n}'),
    ("python", "def salt(a):\n\tif a:\n\n\t\treturn `a`\n    # end"),
    ("", "  indented\n```\nfence\n```\n* star _x_"),
    ("html", "<ul>\n  <li>&amp;</li>\n</ul>"),
]


class Maker:
    """Generates a page together with its expected content."""

    def __init__(self, number, kind, language):
        self.random = random.Random(number)
        self.kind, self.language, self.number = kind, language, number
        self.words, self.codes, self.lists, self.tables = [], [], [], []

    def text(self, low, high, end=True):
        words = WORDS[self.language]
        count = self.random.randint(low, high)
        chosen = [self.random.choice(words) for _ in range(count)]
        joined = ("" if self.language == "zh" else " ").join(chosen)
        sign = "。" if self.language == "zh" else "."
        text = joined + f" {self.number}x{self.random.randint(100, 999)}" + (sign if end else "")
        self.words.append(text)
        return text

    def inline(self, low, high):
        text = self.text(low, high)
        first, _, rest = text.partition(" ")
        wrap = self.random.choice(["{}", "<b>{}</b>", "<em>{}</em>", "<a href='/x{}'>{}</a>".replace("{}", "q", 1), "<code>{}</code>"])
        return f"{wrap.format(html.escape(first))} {html.escape(rest)}"

    def heading(self, level):
        return f"<h{level}>{html.escape(self.text(2, 4, False))}</h{level}>"

    def paragraph(self):
        return f"<p>{self.inline(18, 50)}</p>"

    def list(self, depth=1):
        tag, items, texts = self.random.choice(["ul", "ol"]), [], []
        for _ in range(self.random.randint(2, 5)):
            text = self.text(2, 8, False)
            texts.append(text)
            inner = self.list(depth + 1) if depth < 3 and self.random.random() < 0.3 else ""
            items.append(f"<li>{html.escape(text)}{inner}</li>")
        self.lists.append(texts)
        return f"<{tag}>{''.join(items)}</{tag}>"

    def code(self):
        language, text = self.random.choice(CODE)
        self.codes.append(text)
        self.words.append(text)
        name = f" class='language-{language}'" if language else ""
        return f"<pre><code{name}>{html.escape(text)}\n</code></pre>"

    def table(self):
        width = self.random.randint(2, 4)
        rows = [[self.text(1, 3, False) for _ in range(width)] for _ in range(self.random.randint(2, 6))]
        self.tables.append(rows)
        cells = lambda row, tag: "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
        head, body = rows[0], rows[1:]
        return f"<table><tr>{cells(head, 'th')}</tr>" + "".join(f"<tr>{cells(row, 'td')}</tr>" for row in body) + "</table>"

    def definitions(self):
        parts = (f"<dt>{self.text(1, 2, False)}</dt><dd>{self.text(5, 12)}</dd>" for _ in range(3))
        return f"<dl>{''.join(parts)}</dl>"

    def post(self):
        return f"<div class='post'><blockquote><p>{self.text(5, 12)}</p></blockquote>{self.paragraph()}{self.paragraph()}</div>"

    def page(self):
        parts = {
            "lists": [self.list, self.definitions, self.paragraph],
            "code": [self.code, self.paragraph],
            "tables": [self.table, self.paragraph],
            "forum": [self.post],
            "empty": [],
        }.get(self.kind, [self.paragraph, self.paragraph, lambda: self.heading(2), self.list])
        body = [self.heading(1)]
        if parts:
            body += [self.paragraph()] + [self.random.choice(parts)() for _ in range(8)] + [make() for make in parts]
        title = self.words[0]
        around = " ".join(f"<a href='/{word}'>{word}</a>" for word in AROUND)
        main = self.random.choice(["main", "article", "div"])
        direction = " dir='rtl'" if self.language in ("ar", "he") else ""
        return (
            f"<!DOCTYPE html><html lang='{self.language}'{direction}><head><meta charset='utf-8'>"
            f"<title>{html.escape(title)}</title></head><body><header><nav>{around}</nav></header>"
            f"<{main}>{''.join(body)}</{main}><aside><ul><li>{around}</li></ul></aside>"
            f"<footer><p>{around}</p></footer><script>var salt = 'x';</script></body></html>"
        )


def pages():
    """Returns sixty pages: name, HTML, and the generator with the expected content."""
    kinds = [("lists", "en"), ("code", "en"), ("tables", "en"), ("news", "en"), ("news", "de"), ("forum", "en")]
    kinds += [("news", "ar"), ("lists", "he"), ("news", "zh"), ("tables", "zh"), ("code", "de"), ("empty", "en")]
    for number in range(60):
        kind, language = kinds[number % len(kinds)]
        maker = Maker(number, kind, language)
        yield f"{number:02}-{kind}-{language}", maker.page(), maker
