"""The page's part about records, and the bars that this project sets itself there."""

import statistics
from dataclasses import dataclass

from record_section import MILLION, THOUSAND
from tables import circumstances, number, table, verdict

OURS = "backupfs"

TITLES = {
    "export": "`export --json`", "export_backup": "`export --json` of a backup", "live": "`live/export.json` after a change",
    "import_empty": "import into nothing: check and one transaction", "import_full": "import over a million, which are saved first",
    "validate": "`restore --dry-run`", "preview": "`cp` into `restore/preview/`",
    "small_export": "`export --json`", "small_import": "`restore` over as many, which are saved first",
    "small_backup": "`backup`, the first",
}
MILLION_STEPS = ["export", "export_backup", "live", "import_empty", "import_full"]
CHECK_STEPS = ["validate", "preview"]

MEMORY_LIMITS_BYTES = {
    "export": 100e6, "export_backup": 100e6, "live": 100e6, "import_empty": 150e6, "import_full": 150e6, "validate": 150e6,
    "preview": 150e6,
}
CHECK_BYTES_PER_SECOND = 200e6
# What the documents of the apps ask for, in seconds; we want to be that many times better.
SMALL_LIMITS_SECONDS = {"small_export": 1, "small_import": 2, "small_backup": 5}
SMALL_AT_LEAST = 20


@dataclass
class Bar:
    """How many times as fast as somebody we have to be."""

    step: str
    other: str
    at_least: float


BARS = [Bar("export", "sqlite3", 1), Bar("export", "python", 3), Bar("import_empty", "python", 2)]


class Results:
    def __init__(self, run):
        self.run = run
        self.contenders = list(run["versions"])

    def values(self, step, contender, key) -> list:
        """Empty when the step failed in any round, or was not done."""
        found = [
            result for result in self.run["results"] if (result["step"], result["contender"]) == (step, contender)]
        return [] if any(key not in result for result in found) else [result[key] for result in found]

    def has_failed(self, step, contender) -> bool:
        return any(
            "failure" in result for result in self.run["results"]
            if (result["step"], result["contender"]) == (step, contender))

    def median(self, step, contender, key="seconds"):
        values = self.values(step, contender, key)
        return statistics.median(values) if values else None

    def cell(self, step, contender, key="seconds", factor: float = 1) -> str:
        """The median, and the least and the most."""
        if self.has_failed(step, contender):
            return "failed"
        values = [value * factor for value in self.values(step, contender, key)]
        if not values:
            return ""
        return f"{number(statistics.median(values))} ({number(min(values))} to {number(max(values))})"


def bar_row(results, bar) -> list:
    ours, theirs = (results.median(bar.step, name) for name in (OURS, bar.other))
    ratio = theirs / ours if ours and theirs else None
    fails = results.has_failed(bar.step, OURS) or results.has_failed(bar.step, bar.other)
    return [
        TITLES[bar.step], bar.other, "-" if ratio is None else number(ratio), f"{bar.at_least:g}",
        verdict(ratio >= bar.at_least) if ratio else verdict(False) if fails else "not measured"]


def rate_row(results, step) -> list:
    times = results.values(step, OURS, "seconds")
    rates = [size / seconds for size, seconds in zip(results.values(step, OURS, "bytes"), times)]
    if not rates:
        return [TITLES[step], "failed", "", f"{CHECK_BYTES_PER_SECOND / 1e6:.0f}", verdict(False)]
    rate = statistics.median(rates)
    by_processor = statistics.median(
        size / seconds for size, seconds in zip(
            results.values(step, OURS, "bytes"), results.values(step, OURS, "cpu_seconds")))
    return [
        TITLES[step], f"{number(rate / 1e6)} ({number(min(rates) / 1e6)} to {number(max(rates) / 1e6)})",
        number(by_processor / 1e6), f"{CHECK_BYTES_PER_SECOND / 1e6:.0f}", verdict(rate >= CHECK_BYTES_PER_SECOND)]


def small_row(results, step) -> list:
    limit = SMALL_LIMITS_SECONDS[step]
    seconds = results.median(step, OURS)
    times = None if seconds is None else limit / seconds
    return [
        TITLES[step], results.cell(step, OURS), f"{limit}", "-" if times is None else number(times), f"{SMALL_AT_LEAST}",
        verdict(times is not None and times >= SMALL_AT_LEAST)]


def memory_row(results, step) -> list:
    peaks = [results.values(step, name, "peak_bytes") for name in results.contenders]
    ours = peaks[results.contenders.index(OURS)]
    limit = MEMORY_LIMITS_BYTES[step]
    return [
        TITLES[step], *(f"{max(values) / 1e6:.0f}" if values else "" for values in peaks), f"{limit / 1e6:.0f}",
        verdict(bool(ours) and max(ours) < limit)]


def render(run) -> list:
    results = Results(run)
    million, thousand = (run["data"][str(count)] for count in (MILLION, THOUSAND))
    names = results.contenders
    return [
        "# Records", "",
        f"The built-in app's database with {million['count']:,} expenses ({million['database_bytes'] / 1e6:,.0f} MB; notes in a "
        f"dozen scripts) and the app's own export of it ({million['export_bytes'] / 1e6:,.0f} MB), beside `sqlite3 -json` and "
        "a plain script in Python with its json and sqlite3 modules (`peer_export.py` and `peer_import.py`). "
        "*Times as fast* is their median wall time by ours. What was exported is compared with the export that Python's json wrote, "
        "byte by byte, and what was imported with the database, row by row, after they were measured.", "",
        "**What is not equal.** Our export is durable when the command ends (fsync), and so is our import; both of Python's are left "
        "to the system, but for its transaction (a log and synchronous = FULL for both). Our import checks dates, amounts, "
        "currencies and names that occur twice as well as types, and refuses what is not JSON to the letter. `sqlite3 -json` writes "
        "the expenses only, as an array in single lines, and its numbers have not always the digits that read back as the same "
        "number.", "",
        *circumstances(run), "## Bars of records", "",
        *table(["", "than", "times as fast", "at least", ""], [bar_row(results, bar) for bar in BARS]),
        "Megabytes per second that are checked on one core (`taskset`; with `cp` through a mount, our program has that core and who copies "
        "another):", "",
        *table(["", "by the clock", "by the processor's time", "at least", ""], [rate_row(results, step) for step in CHECK_STEPS]),
        f"{thousand['count']:,} expenses, a whole command from its start to its end, beside what the apps' documents ask for:", "",
        *table(
            ["", "seconds", "asked for", "times better", "at least", ""],
            [small_row(results, step) for step in SMALL_LIMITS_SECONDS]),
        "## A million expenses", "", "Wall seconds:", "",
        *table(["", *names], [
            [TITLES[step], *(results.cell(step, name) for name in names)] for step in MILLION_STEPS + CHECK_STEPS]),
        "Seconds of processors:", "",
        *table(["", *names], [
            [TITLES[step], *(results.cell(step, name, "cpu_seconds") for name in names)]
            for step in MILLION_STEPS + CHECK_STEPS]),
        "Peak memory in megabytes (through a mount, the serving program's):", "",
        *table(["", *names, "below", ""], [memory_row(results, step) for step in MILLION_STEPS + CHECK_STEPS])]


def failures(run) -> list:
    return [
        f"{result['contender']}, {TITLES[result['step']]}: "
        + (" ".join(result["failure"].splitlines()[1:2]) or result["failure"])
        for result in run["results"] if "failure" in result]
