"""The page's part about mounts."""

import statistics

from mount_bars import BARS, MEMORY_LIMIT_BYTES, OURS, MountResults, speed
from mount_steps import LIMIT_SECONDS, RANDOM_SECONDS, SLOW_SECONDS
from tables import circumstances, number, table, verdict

SECONDS_TITLES = {
    "mount-cold": "mount until the first `ls`, cold", "mount": "mount until the first `ls`",
    "find-cold": "`find`, cold", "find-first": "`find`, first", "find-second": "`find`, second",
    "ls-cold": "`ls -lR`, cold", "ls-first": "`ls -lR`, first", "ls-second": "`ls -lR`, second",
    "stat-first": "`find -printf` (`stat` of each), first", "stat-second": "`find -printf`, second",
    "tar": "`tar`, first",
}
RATE_TITLES = {
    "film-cold": "large file, cold", "film-first": "large file, first", "film-second": "large file, second",
    "photos-cold": "all photos, cold", "photos-first": "all photos, first",
    "archive-cold": "archive of the photos, cold", "archive-first": "archive of the photos, first",
    "archive-second": "archive of the photos, second", "zip": "`zip -0` of the photos, first",
}
RANDOM_TITLES = {"random-1": "1 at a time", "random-4": "4 at a time"}
ALL_TITLES = {"all-documents": "all of it in one mount, documents", "all-photos": "all of it in one mount, photos"}
TITLES = {
    **SECONDS_TITLES, **RATE_TITLES, **{step: f"random reads, {title}" for step, title in RANDOM_TITLES.items()}, **ALL_TITLES,
    "prepare": "preparing",
}


def spread(results, step, contender, value, limit_mark: str) -> str:
    """The median, and the least and the most if there are several."""
    if results.has_failed(step, contender):
        return "failed"
    values = [value(result) for result in results.of(step, contender)]
    if not values:
        return ""
    mark = limit_mark if results.was_stopped(step, contender) else ""
    text = mark + number(statistics.median(values))
    return text if len(values) == 1 else f"{text} ({number(min(values))} to {number(max(values))})"


def value_table(results, titles, value, limit_mark: str) -> list:
    rows = [
        [title, *(spread(results, step, name, value, limit_mark) for name in results.contenders)]
        for step, title in titles.items()]
    return table(["", *results.contenders], rows)


def memory_cell(results, step, contender) -> str:
    found = [result for result in results.of(step, contender) if "peak_bytes" in result]
    if not found:
        return ""
    resident = max(result["resident_bytes"] for result in found)
    peak = max(result["peak_bytes"] for result in found)
    return f"{resident / 1e6:.0f} ({peak / 1e6:.0f})"


def memory_table(results) -> list:
    names = [name for name in results.contenders if name != "disk"]
    steps = [step for step in TITLES if any(memory_cell(results, step, name) for name in names)]
    return table(["", *names], [[TITLES[step], *(memory_cell(results, step, name) for name in names)] for step in steps])


def bar_row(results, bar) -> list:
    found = results.ratio(bar)
    if not found:
        fails = results.has_failed(bar.step, OURS) or any(
            results.has_failed(bar.other_step or bar.step, other) for other in bar.others)
        return [
            bar.title, " or ".join(bar.others), "-", f"{bar.at_least:g}", verdict(False) if fails else "not measured"]
    ratio, other = found
    # Who was stopped would have taken longer.
    mark = "more than " if results.was_stopped(bar.other_step or bar.step, other) else ""
    return [
        bar.title, "" if other == OURS else other, mark + number(ratio), f"{bar.at_least:g}", verdict(ratio >= bar.at_least)]


def bars_table(results) -> list:
    lines = table(["", "than", "times as fast", "at least", ""], [bar_row(results, bar) for bar in BARS])
    peak = results.peak_bytes()
    cell = "-" if peak is None else f"{peak / 1e6:.0f}"
    passes = peak is not None and peak < MEMORY_LIMIT_BYTES
    return lines + table(
        ["", "megabytes", "below", ""],
        [["the most our process ever took", cell, f"{MEMORY_LIMIT_BYTES / 1e6:.0f}", verdict(passes)]])


def render(run) -> list:
    results = MountResults(run)
    amounts = " and ".join(
        f"{run['data'][letter]['files']:,} {title} ({run['data'][letter]['bytes'] / 1e6:,.0f} MB)"
        for letter, title in (("b", "small files in folders of 100"), ("a", "photos and a large file")) if letter in run["data"])
    return [
        "# Mounts", "",
        f"What was backed up, looked at through mounts: {amounts}. restic and borg mount their backups of the same data. bindfs "
        "passes through to the folder, fuse-zip and ratarmount serve a `zip -0` of it, and disk is the folder itself, without a "
        "mount: its first is like its second.", "",
        "*First* is in a mount made for it, while the disk's cache has what is behind it; *cold* likewise, but with that cache "
        f"empty; *second* is the same again in the same mount. Who needed more than {SLOW_SECONDS} s at first is not asked again, "
        f"and who needs {LIMIT_SECONDS} s is stopped (>, <). *Times as fast* is our median speed by theirs.", "",
        "**What is not equal.** restic's mount decrypts. borg's is of one archive, which it reads whole when it mounts. "
        "Ratarmount's index was made before. The archive is `archive.zip` of a backup for us (with the records), and an ordinary "
        "file for bindfs and the disk; others have none, and `zip -0` through their mounts is compared with it.", "",
        *circumstances(run), "## Bars", "", *bars_table(results),
        "## Small files", "", "Seconds:", "", *value_table(results, SECONDS_TITLES, lambda result: result["seconds"], "> "),
        "## Photos and a large file", "", "Megabytes per second:", "",
        *value_table(results, RATE_TITLES, lambda result: speed(result) / 1e6, "< "),
        f"Random reads of 4 KiB per second, in the large file, for {RANDOM_SECONDS} s:", "",
        *value_table(results, RANDOM_TITLES, speed, "< "),
        "## Memory of the process that serves", "", "Megabytes, after the step (and at most until then):", "",
        *memory_table(results)]


def failures(run) -> list:
    return [
        f"{result['contender']}, {TITLES[result['step']]}: "
        + (" ".join(result["failure"].splitlines()[1:2]) or result["failure"])
        for result in run["results"] if "failure" in result]
