"""Passes pages to heaven, trafilatura and readability, and prints what each extracted."""

import argparse
import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import trafilatura
from lxml import etree
from lxml import html as lxml_html
from markdown_it import MarkdownIt

from pages import pages

SAMPLE = 60
# If both others extract no more than this share of a page's words, the page is only a list of links.
GIVEN_UP = 0.25
# A line on this share of a manual's pages is specific to none of them.
OFTEN = 8
BLOCKS = {"p", "li", "td", "th", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "div"}
TOOLS = ["heaven", "trafilatura", "readability"]


def words(text):
    return Counter(re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+", text.lower()))


def squeezed(text):
    return " ".join(text.split())


class Seen:
    """The comparable parts of HTML."""

    def __init__(self, text):
        tree = lxml_html.fromstring(f"<div>{text or '<p></p>'}</div>")
        self.words = words(" ".join(tree.itertext()))
        for end in tree.iterfind(".//pre//br"):
            end.tail = "\n" + (end.tail or "")
        blocks = [block for block in tree.iter(*BLOCKS) if not any(one.tag in BLOCKS for one in block.iterdescendants())]
        self.lines = {squeezed(block.text_content()) for block in blocks}
        self.codes = [(code.text_content()).strip("\n") for code in tree.iter("pre")]
        self.lists = [[own_text(item) for item in found.findall("li")] for found in tree.iter("ul", "ol")]
        self.tables = []
        for table in tree.iter("table"):
            rows = [[squeezed(cell.text_content()) for cell in row.iter("td", "th")] for row in table.iter("tr")]
            self.tables.append(rows)


def own_text(item):
    """Returns the text of an item without its nested lists."""
    parts = [item.text or ""]
    for child in item:
        if isinstance(child.tag, str) and child.tag not in ("ul", "ol"):
            parts.append(child.text_content())
        parts.append(child.tail or "")
    return squeezed(" ".join(parts))


def heaven(binary, file):
    run = [binary, "heaven", "preview", "--type", "text/html; charset=utf-8", str(file)]
    told = subprocess.run(run, capture_output=True, text=True).stdout
    # The last line links to the original.
    told = told.rstrip().rpartition("\n\n")[0]
    return MarkdownIt("commonmark").enable("table").render(told)


def told_by(tool, binary, file):
    if tool == "heaven":
        return heaven(binary, file)
    if tool == "readability":
        return Path(f"{file}.readability").read_text()
    text = file.read_text()
    return trafilatura.extract(text, output_format="html", include_formatting=True, include_links=True) or ""


def share(part, whole):
    return part / whole if whole else 1.0


def of_known(binary, files):
    print(f"\n{len(files)} pages of known truth\n{'':12} found  foreign   code  lists  tables")
    for tool in TOOLS:
        true, got, both, counts = 0, 0, 0, Counter()
        for file, maker in files:
            seen = Seen(told_by(tool, binary, file))
            wanted = words(" ".join(maker.words))
            true, got, both = true + wanted.total(), got + seen.words.total(), both + (wanted & seen.words).total()
            lists = [[squeezed(text) for text in found] for found in maker.lists]
            tables = [[[squeezed(cell) for cell in row] for row in table] for table in maker.tables]
            for name, truth, found in (
                ("code", maker.codes, seen.codes),
                ("lists", lists, seen.lists),
                ("tables", tables, seen.tables),
            ):
                counts[name, "all"] += len(truth)
                counts[name, "found"] += sum(one in found for one in truth)
        shares = [share(counts[name, "found"], counts[name, "all"]) for name in ("code", "lists", "tables")]
        figures = [share(both, true), share(got - both, got), *shares]
        print(f"{tool:12}" + " ".join(f"{figure:7.3f}" for figure in figures))


def rows_of(table):
    """Returns the non-empty cells, row by row, without white space."""
    rows = [["".join(cell.split()) for cell in row] for row in table]
    return [[cell for cell in row if cell] for row in rows if any(row)]


def items_of(items):
    """Returns the non-empty items, without white space."""
    return [text for text in ("".join(item.split()) for item in items) if text]


def is_navigation(element):
    """Checks whether a table or list is navigation rather than content."""
    around = [element, *element.iterancestors()]
    names = " ".join(f"{one.get('class', '')} {one.get('id', '')}" for one in around)
    linked = sum(len(link.text_content()) for link in element.iter("a"))
    return bool(re.search(r"\bnav|nav\b|navbar|menu", names)) or linked * 2 >= len(element.text_content())


class Source(Seen):
    """The comparable parts of a page itself, with its title and its data tables."""

    def __init__(self, text):
        super().__init__(text)
        tree = lxml_html.fromstring(text)
        for unseen in list(tree.iter("script", "style", etree.Comment)):
            unseen.drop_tree()
        self.words = words(tree.text_content())
        self.title = words(" ".join(title.text_content() for title in tree.iter("title")))
        self.data, self.own_lists = [], []
        for table in tree.iter("table"):
            rows = rows_of(self.rows(table))
            # Rows of one cell are layout.
            is_data = max(map(len, rows), default=0) > 1 and next(table.iterdescendants("table"), None) is None
            if is_data and not is_navigation(table):
                self.data.append(rows)
        for found in tree.iter("ul", "ol"):
            items = items_of([own_text(item) for item in found.findall("li")])
            if items and not is_navigation(found):
                self.own_lists.append(items)

    @staticmethod
    def rows(table):
        return [[cell.text_content() for cell in row.iter("td", "th")] for row in table.iter("tr")]


def of_manual(binary, name, files):
    """Text found by two of three counts as the page's; text found by only one is foreign, unless it is the title."""
    told = {tool: [Seen(told_by(tool, binary, file)) for file in files] for tool in TOOLS}
    sources = [Source(file.read_text()) for file in files]
    given_up = sum(is_given_up(told, source, at) for at, source in enumerate(sources))
    print(f"\n{name}: {len(files)} pages, {given_up} of them lists of links that neither of the others reads")
    print(f"{'':12} found   alone   code  lists  tables repeated")
    for tool in TOOLS:
        others = [told[other] for other in TOOLS if other != tool]
        agreed = found = alone = own = 0
        for at, (seen, one, other) in enumerate(zip(told[tool], *others)):
            if is_given_up(told, sources[at], at):
                continue
            common = one.words & other.words
            agreed, found = agreed + common.total(), found + (common & seen.words).total()
            alone += (seen.words - (one.words | other.words) - sources[at].title).total()
            own += seen.words.total()
        pairs = list(zip(told[tool], sources))
        codes = sum(sum(code in seen.codes for code in source.codes) for seen, source in pairs)
        lists = tables = 0
        for seen, source in pairs:
            own_lists = [items_of(items) for items in seen.lists]
            lists += sum(items in own_lists for items in source.own_lists)
            kept = [rows_of(table) for table in seen.tables]
            tables += sum(rows in kept for rows in source.data)
        shares = [
            share(codes, sum(len(source.codes) for source in sources)),
            share(lists, sum(len(source.own_lists) for source in sources)),
            share(tables, sum(len(source.data) for source in sources)),
        ]
        figures = [share(found, agreed), share(alone, own), *shares, repeated(told[tool])]
        print(f"{tool:12}" + " ".join(f"{figure:7.3f}" for figure in figures))


def repeated(seen):
    """Returns the share of pages' lines that occur on many pages."""
    often = Counter(line for page in seen for line in page.lines)
    wide = max(3, len(seen) // OFTEN)
    sizes = [(len(line) * count, count >= wide) for line, count in often.items()]
    return share(sum(size for size, is_wide in sizes if is_wide), sum(size for size, _ in sizes))


def is_given_up(told, source, at):
    kept = told["trafilatura"][at].words | told["readability"][at].words
    return kept.total() < GIVEN_UP * source.words.total()


def decoded(file, to):
    """Writes a page as UTF-8, because not all three detect its encoding."""
    raw = file.read_bytes()
    named = re.search(rb"(?:charset|encoding)=[\"']?([\w-]+)", raw[:2000])
    text = raw.decode(named.group(1).decode() if named else "utf-8", errors="replace")
    to.write_text(re.sub(r"<\?xml.*?\?>|<meta[^>]*charset=[^>]*>", "", text, flags=re.I))
    return to


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--binary", type=Path)
    args = parser.parse_args()
    binary = args.binary or args.root / "target/debug/robot-detection"
    known = []
    (args.work / "known").mkdir()
    for name, text, maker in pages():
        file = args.work / "known" / f"{name}.html"
        file.write_text(text)
        known.append((file, maker))
    manuals = {}
    for folder in sorted(args.work.glob("manuals/*")):
        found = [file for file in sorted(folder.rglob("*.html*")) if file.is_file() and not file.is_symlink()]
        # Apache's manual has one file for each language and one that lists them.
        # Heaven has only the beginning of a longer page: its text is cut at 200,000 characters.
        found = [file for file in found if file.suffix in (".html", ".en") and 1000 < file.stat().st_size < 500_000]
        sample = random.Random(23).sample(found, min(SAMPLE, len(found)))
        pages_of = args.work / "samples" / folder.name
        pages_of.mkdir(parents=True)
        manuals[folder.name] = [decoded(file, pages_of / f"{at}.html") for at, file in enumerate(sample)]
    listed = args.work / "list"
    listed.write_text("\n".join(map(str, [file for file, _ in known] + sum(manuals.values(), []))))
    subprocess.run(["node", "readability.mjs", listed], cwd=args.work, check=True)
    of_known(binary, known)
    for name, files in manuals.items():
        if files:
            of_manual(binary, name, files)


if __name__ == "__main__":
    main()
