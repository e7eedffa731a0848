"""Gives pages to heaven, trafilatura and readability, and prints what each found of them."""

import argparse
import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import trafilatura
from lxml import html as lxml_html
from markdown_it import MarkdownIt

from pages import pages

SAMPLE = 60
TOOLS = ["heaven", "trafilatura", "readability"]


def words(text):
    return Counter(re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+", text.lower()))


def squeezed(text):
    return " ".join(text.split())


class Seen:
    """What can be compared of HTML."""

    def __init__(self, text):
        tree = lxml_html.fromstring(f"<div>{text or '<p></p>'}</div>")
        self.words = words(" ".join(tree.itertext()))
        self.codes = [(code.text_content()).strip("\n") for code in tree.iter("pre")]
        self.lists = [[own_text(item) for item in found.findall("li")] for found in tree.iter("ul", "ol")]
        self.tables = []
        for table in tree.iter("table"):
            rows = [[squeezed(cell.text_content()) for cell in row.iter("td", "th")] for row in table.iter("tr")]
            self.tables.append(rows)


def own_text(item):
    """Returns the text of an item without the lists in it."""
    parts = [item.text or ""]
    for child in item:
        if child.tag not in ("ul", "ol"):
            parts.append(child.text_content())
        parts.append(child.tail or "")
    return squeezed(" ".join(parts))


def heaven(binary, file):
    run = [binary, "heaven", "preview", str(file)]
    told = subprocess.run(run, capture_output=True, text=True).stdout
    # The last line leads to the original.
    told = told.rstrip().rpartition("\n\n")[0]
    return MarkdownIt("commonmark").enable("table").render(told)


def told_by(tool, binary, file):
    if tool == "heaven":
        return heaven(binary, file)
    if tool == "readability":
        return Path(f"{file}.readability").read_text()
    text = file.read_text(errors="replace")
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


def of_manual(binary, name, files):
    """What two of three have is taken for the page's; what one alone has, for foreign."""
    told = {tool: [Seen(told_by(tool, binary, file)) for file in files] for tool in TOOLS}
    sources = [Seen(re.sub(r"<\?xml.*?\?>", "", file.read_text(errors="replace"))) for file in files]
    print(f"\n{name}: {len(files)} pages\n{'':12} found   alone   code  lists  tables")
    for tool in TOOLS:
        others = [told[other] for other in TOOLS if other != tool]
        agreed = found = alone = own = 0
        for seen, one, other in zip(told[tool], *others):
            common = one.words & other.words
            agreed, found = agreed + common.total(), found + (common & seen.words).total()
            alone += (seen.words - (one.words | other.words)).total()
            own += seen.words.total()
        shares = []
        for part in ("codes", "lists", "tables"):
            kept = sum(len(getattr(seen, part)) for seen in told[tool])
            if part == "codes":
                pairs = zip(told[tool], sources)
                kept = sum(sum(code in seen.codes for code in source.codes) for seen, source in pairs)
            shares.append(share(kept, sum(len(getattr(source, part)) for source in sources)))
        figures = [share(found, agreed), share(alone, own), *shares]
        print(f"{tool:12}" + " ".join(f"{figure:7.3f}" for figure in figures))


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
        # Apache's have one file for each language and one that lists them.
        found = [file for file in found if file.suffix in (".html", ".en") and file.stat().st_size > 1000]
        manuals[folder.name] = random.Random(23).sample(found, min(SAMPLE, len(found)))
    listed = args.work / "list"
    listed.write_text("\n".join(map(str, [file for file, _ in known] + sum(manuals.values(), []))))
    subprocess.run(["node", "readability.mjs", listed], cwd=args.work, check=True)
    of_known(binary, known)
    for name, files in manuals.items():
        if files:
            of_manual(binary, name, files)


if __name__ == "__main__":
    main()
