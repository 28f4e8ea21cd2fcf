"""The page's part about backing up, restoring and checking."""

import statistics

from tables import circumstances, table, verdict

OURS = "backupfs"
MEMORY_LIMIT_BYTES = 200_000_000

STEP_TITLES = {
    "first": "first backup, cold", "unchanged": "unchanged backup", "unchanged-cold": "unchanged backup, cold",
    "changed": "1% changed", "added": "one added", "restore": "restore of everything, cold",
    "check": "check of every byte, cold",
}

# How many times as fast as the faster peer we have to be: (corpus, step) -> at least.
SPEED_BARS = {
    ("a", "first"): 1, ("b", "first"): 2, ("a", "unchanged"): 3, ("b", "unchanged"): 3, ("c", "changed"): 1,
    ("a", "restore"): 1, ("b", "restore"): 1, ("a", "check"): 1, ("b", "check"): 1, ("c", "check"): 1,
}
# What the second version may add, as a part of what the smaller peer adds.
GROWTH_BARS = {("c", "changed"): 0.15}


class Results:
    def __init__(self, run):
        self.run = run
        self.contenders = list(run["versions"])
        self.peers = [name for name in self.contenders if name != OURS]

    def values(self, corpus, step, contender, key) -> list:
        """Empty when the step failed in any round."""
        found = [
            result for result in self.run["results"]
            if (result["corpus"], result["step"], result["contender"]) == (corpus, step, contender)]
        return [] if any(key not in result for result in found) else [result[key] for result in found]

    def median(self, corpus, step, contender, key):
        values = self.values(corpus, step, contender, key)
        return statistics.median(values) if values else None

    def best_peer(self, corpus, step, key):
        medians = [self.median(corpus, step, peer, key) for peer in self.peers]
        return min((value for value in medians if value is not None), default=None)


def time_cell(results, corpus, step, contender) -> str:
    values = results.values(corpus, step, contender, "seconds")
    if not values:
        return "failed"
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def time_row(results, corpus, step) -> list:
    ours = results.median(corpus, step, OURS, "seconds")
    best = results.best_peer(corpus, step, "seconds")
    bar = SPEED_BARS.get((corpus, step))
    ratio = best / ours if ours and best else None
    return [
        STEP_TITLES[step], *(time_cell(results, corpus, step, name) for name in results.contenders),
        f"{ratio:.2f}" if ratio else "-", f"{bar}" if bar else "", "" if bar is None else verdict(bool(ratio) and ratio >= bar),
    ]


def growth_row(results, corpus, step) -> list:
    cells = []
    for name in results.contenders:
        value = results.median(corpus, step, name, "grown_bytes")
        cells.append("failed" if value is None else f"{value / 1e6:.3f}")
    ours = results.median(corpus, step, OURS, "grown_bytes")
    best = results.best_peer(corpus, step, "grown_bytes")
    # No repository grows by much there, and kilobytes say nothing.
    ratio = ours / best if ours is not None and best and best > 100_000 else None
    bar = GROWTH_BARS.get((corpus, step))
    return [
        STEP_TITLES[step], *cells, "-" if ratio is None else f"{ratio:.3f}", f"{bar}" if bar else "",
        "" if bar is None else verdict(ratio is not None and ratio <= bar),
    ]


def cache_row(results, corpus, last_backup) -> list:
    sizes = [results.median(corpus, last_backup, name, "cache_bytes") for name in results.contenders]
    return ["caches in the end, not counted", *("-" if size is None else f"{size / 1e6:.3f}" for size in sizes), "", "", ""]


def memory_row(results, corpus, step) -> list:
    peaks = [results.values(corpus, step, name, "peak_bytes") for name in results.contenders]
    ours = peaks[results.contenders.index(OURS)]
    return [
        STEP_TITLES[step], *(f"{max(values) / 1e6:.0f}" if values else "failed" for values in peaks),
        verdict(bool(ours) and max(ours) < MEMORY_LIMIT_BYTES),
    ]


def corpus_section(results, letter) -> list:
    corpus = results.run["corpora"][letter]
    lines = [
        f"## {corpus['title']}", "",
        f"{corpus['files']:,} files, {corpus['bytes'] / 1e6:,.0f} MB. *1% changed*: {corpus['changed']}. "
        f"*One added*: {corpus['added']}.", "", "Wall seconds:", ""]
    names = results.contenders
    lines += table(
        ["", *names, "times as fast", "at least", ""], [time_row(results, letter, step) for step in STEP_TITLES])
    lines += ["Megabytes by which the repository grew:", ""]
    backups = [step for step in STEP_TITLES if step not in ("restore", "check")]
    rows = [growth_row(results, letter, step) for step in backups] + [cache_row(results, letter, backups[-1])]
    lines += table(["", *names, "ratio", "at most", ""], rows)
    lines += ["Peak memory in megabytes:", ""]
    lines += table(["", *names, "below 200"], [memory_row(results, letter, step) for step in STEP_TITLES])
    return lines


def render(run) -> list:
    results = Results(run)
    lines = [
        "# Backups", "",
        "*First*, *unchanged* and so on are backups of the same folder, one after another in a new repository. "
        "*Times as fast* is the faster peer's median by ours: 2 means that we took half its time. *Ratio* is what our "
        "repository grew by, as a part of what the smaller peer's did. Restores go to a new file system where root "
        "can make one, and are compared with the original, byte by byte, after they were measured.", "",
        "**What is not equal.** backupfs computes CRC-32, MD5, SHA-1 and SHA-256 of every file, stores the records as JSON as "
        "well as in the database, lays out a ZIP archive, and does not encrypt here; restic always encrypts; borg was told not "
        "to. What a program keeps for itself and makes again when it is lost is not counted as stored: our `catalog.sqlite`, and "
        "what restic and borg keep in the home folder. Memory is that of the largest process.", "",
        *circumstances(run)]
    for letter in run["corpora"]:
        lines += corpus_section(results, letter)
    return lines


def failures(run) -> list:
    return [
        f"({result['corpus']}) {result['contender']}, {STEP_TITLES[result['step']]}: "
        + (" ".join(result["failure"].splitlines()[1:2]) or result["failure"])
        for result in run["results"] if "failure" in result]
