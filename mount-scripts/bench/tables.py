"""What the tables of the page are made of."""


def table(header, rows) -> list:
    return [line(header), line("---" for _ in header), *map(line, rows), ""]


def line(cells) -> str:
    return "| " + " | ".join(cells) + " |"


def verdict(passes: bool) -> str:
    return "pass" if passes else "**FAIL**"


def number(value: float) -> str:
    """Three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def circumstances(run) -> list:
    """When, where and with what a section was measured."""
    return [
        "| | |", "| --- | --- |", f"| date | {run['date']} |",
        *(f"| machine | {text} |" for text in run["machine"]),
        f"| load when it began | {run['load']:.1f} |",
        *(f"| {name} | {version} |" for name, version in run["versions"].items()),
        f"| scale, rounds | {run['scale']:g}, {run['rounds']} |", ""]
