"""The page's part about copies to several places, and the bars that this project sets itself there."""

import statistics

import steps
from tables import circumstances, number, table, verdict

OURS = "backupfs"
TITLES = {"card": "photos and clips to two places", "small": "small files to two places", "digests": "MD5, SHA-1 and SHA-256"}
# What is compared, with whom, and how much of their time we may take.
BARS = [("card", "rsync", 0.75), ("card", "cp", 1.3), ("small", "rsync", 0.5), ("digests", "md5sum", 1.0)]
PEAK_BYTES = 100e6


def bar_row(run, step, other, at_most) -> list:
    ours, theirs = (steps.values(run, step, name, "seconds") for name in (OURS, other))
    if not ours or not theirs:
        return [TITLES[step], other, "-", f"{at_most:g}", "not measured" if other not in run["versions"] else verdict(False)]
    ratio = statistics.median(ours) / statistics.median(theirs)
    return [TITLES[step], other, number(ratio), f"{at_most:g}", verdict(ratio <= at_most)]


def memory_row(run) -> list:
    found = [value for step in ("card", "small") for value in steps.values(run, step, OURS, "peak_bytes")]
    peak = max(found) if found else None
    return [
        "megabytes of memory", "", "-" if peak is None else number(peak / 1e6), f"{PEAK_BYTES / 1e6:g}",
        verdict(peak is not None and peak <= PEAK_BYTES)]


def render(run) -> list:
    (card_count, card_bytes), (small_count, small_bytes) = run["card"], run["small"]
    return [
        "# Copies", "",
        f"{card_count:,} photos and clips ({card_bytes / 1e6:,.0f} MB), and {small_count:,} small files ({small_bytes / 1e6:,.0f} MB), "
        "of random bytes, from the disk to a folder in memory (tmpfs) and one on the same disk: `backupfs copy` beside `rsync -a` for each and "
        "`sha256sum -c` in each, and beside `cp -a` to the disk alone and `sha256sum -c` there. The list of checksums was made "
        "before. The digests are those of one file in memory: all three by `backupfs checksum -a md5 -a sha1 -a sha256`, beside `md5sum`. "
        "*Part of the time* is our median wall time by theirs.", "",
        "**What is not equal.** We read the source once, make each copy durable before it gets its name, and read it back from the disk; "
        "the others' copies are read back from memory, where the system has them still, and may not be on the disk when they end. "
        "Ours keeps a row for each copy, durable as well.", "",
        *circumstances(run), "## Bars of copies", "",
        *table(["", "by", "part", "at most", ""], [*(bar_row(run, *bar) for bar in BARS), memory_row(run)]),
        *steps.resource_tables(run, TITLES)]


def failures(run) -> list:
    return steps.failures(run, TITLES)
