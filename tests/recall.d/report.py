"""Prints figures as tables."""

from figures import SIDES, percent, summary


def tables(figures):
    robots = [("robots", "lines", "found", "%", "by name %", "tuned %", "held out %")]
    for name, row in figures["robots"].items():
        robots.append(
            (
                name,
                number(row["both"]["lines"]),
                number(row["both"]["found"]),
                share(row["both"]),
                share(row["both"], "named"),
                share(row["tuned"]),
                share(row["held out"]),
            )
        )
    families = [("robots by family", "families", "any %", "every %", "tuned, any %", "every %", "held out, any %", "every %")]
    for name, row in figures["families"].items():
        shares = [share(row[side], part, "families") for side in SIDES for part in ("any", "every")]
        families.append((name, number(row["both"]["families"]), *shares))
    return "\n\n".join(
        [
            columns(robots),
            columns(families),
            columns(alarms("browsers", "false alarms", figures["browsers"])),
            columns(alarms("counted in neither", "found", figures["counted in neither"])),
        ]
    )


def alarms(title, found, rows):
    table = [(title, "lines", found, "%", "tuned", "held out")]
    for name, row in rows.items():
        both = row["both"]
        halves = [number(row[side]["found"]) for side in ("tuned", "held out")]
        table.append((name, number(both["lines"]), number(both["found"]), share(both, digits=4), *halves))
    return table


def side_by_side(by_detector):
    """Compares detectors: one column each."""
    summaries = {name: summary(figures) for name, figures in by_detector.items()}
    rows = [("percent", *summaries)]
    for key in next(iter(summaries.values())):
        digits = 4 if key.startswith("false") else 2
        rows.append((key, *(f"{figures[key]:.{digits}f}" for figures in summaries.values())))
    return columns(rows)


def examples(wrong, most):
    """Prints a limited number of missed robots and false alarms of each list."""
    lines, shown = [], {}
    for what, corpus, answer, agent in wrong:
        key = f"{what}: {corpus}"
        shown[key] = shown.get(key, 0) + 1
        if shown[key] == 1:
            lines.append(f"\n{key}")
        if shown[key] <= most:
            lines.append(f"  {answer}  {shown_text(agent)[:180]}")
    return "\n".join(lines)


def shown_text(text):
    """Returns a text with control characters made harmless for terminals."""
    return "".join(c if c.isprintable() else "?" for c in text)


def columns(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    aligned = []
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        aligned.append("  ".join(cells).rstrip())
    aligned.insert(1, "-" * max(len(line) for line in aligned))
    return "\n".join(aligned)


def number(value):
    return f"{value:,}"


def share(figures, part="found", whole="lines", digits=2):
    return f"{percent(figures, part, whole):.{digits}f}" if figures[whole] else "-"
