"""Compares backupfs with restic and BorgBackup, its mount with other mounts, its repositories on a server with restic's, and its
exports and imports with sqlite3 and Python, its reading of photos with ExifTool and vipsthumbnail, and its
copies of cards with rsync and cp, on the same data.

See Docs/explanation/internals.md, “Benchmarks”.

Environment: BENCH_DIR, SECTIONS (as “backups,mounts”), ROUNDS, SCALE, CORPORA (as “a,b”; mounts have a and b, the others none), PEERS
(whom to compare with, as “borg,bindfs”), PHOTOS, BACKUPFS_BINARY, BORG_BINARY, RATARMOUNT_BINARY (may be missing).
"""

import datetime
import json
import os
import signal
import sys
from pathlib import Path

import backup_section
import contenders
import copy_contenders
import copy_section
import corpora
import mount_contenders
import mount_section
import photo_contenders
import photo_section
import record_contenders
import record_section
import remote_contenders
import remote_section
import report
import responsiveness
from measure import Runner, machine, may_drop_caches

SECTIONS = list(report.SECTIONS)
KINDS = {
    "backups": contenders.ALL, "mounts": mount_contenders.ALL, "remote": remote_contenders.ALL,
    "records": record_contenders.ALL, "responsiveness": [contenders.BackupFS],
    "photos": photo_contenders.ALL, "copy": copy_contenders.ALL}
# Sections that have data of their own.
WITHOUT_CORPORA = {
    "remote": remote_section.measure, "records": record_section.measure, "responsiveness": responsiveness.measure,
    "photos": photo_section.measure, "copy": copy_section.measure}


def is_whole(run) -> bool:
    """What a smaller run finds is for whoever ran it only."""
    return run["scale"] == 1 and run["rounds"] >= 3 and not run.get("is_partial", False)


def results_file(folder: Path, section: str) -> Path:
    return folder / ("results.json" if section == "backups" else f"{section}.json")


def earlier(folder: Path, section: str):
    """What a whole run found of a section that is not measured now, if there was one: else None."""
    path = results_file(folder, section)
    run = json.loads(path.read_text()) if path.exists() else None
    return run if run and is_whole(run) else None


def main() -> int:
    folder = Path(os.environ["BENCH_DIR"])
    scale = float(os.environ.get("SCALE") or 1)
    rounds = int(os.environ.get("ROUNDS") or 3)
    sections = (os.environ.get("SECTIONS") or ",".join(SECTIONS)).split(",")
    chosen = (os.environ.get("CORPORA") or ",".join(corpora.ALL)).split(",")
    peers = {kind.name for kinds in KINDS.values() for kind in kinds if not kind.is_under_test}
    chosen_peers = set(os.environ["PEERS"].split(",")) if os.environ.get("PEERS") else peers
    is_known = set(sections) <= set(SECTIONS) and set(chosen) <= set(corpora.ALL) and chosen_peers <= peers
    if not is_known or rounds < 1 or scale <= 0:
        print(
            f"SECTIONS is a list of {', '.join(SECTIONS)}; CORPORA of {', '.join(corpora.ALL)}; PEERS of "
            f"{', '.join(sorted(peers))}. ROUNDS is at least 1, SCALE more than 0.", file=sys.stderr)
        return 2
    contenders.BackupFS.binary = Path(os.environ["BACKUPFS_BINARY"]).absolute()
    contenders.Borg.binary = os.environ.get("BORG_BINARY") or "borg"
    # What has to be taken away (mounts, processes) is taken away at the end of a `with` or `finally`, which an exception reaches.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))

    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"NOTE: the machine is busy (load {load:.1f}); the numbers will be worth little.", file=sys.stderr)
    if not may_drop_caches():
        print("NOTE: only root can drop caches; what says cold will be warm.", file=sys.stderr)

    def takes_part(kind) -> bool:
        return kind.is_under_test or kind.name in chosen_peers

    runner = Runner(folder / "commands.log")
    runs = {}
    for section in SECTIONS:
        if section not in sections:
            runs[section] = earlier(folder, section)
            continue
        circumstances = {
            "date": datetime.date.today().isoformat(), "scale": scale, "rounds": rounds, "load": os.getloadavg()[0],
            "is_partial": set(chosen) != set(corpora.ALL) or chosen_peers != peers,
            "drops_caches": may_drop_caches(), "machine": machine(folder),
        }
        kinds = list(filter(takes_part, KINDS[section]))
        if section in WITHOUT_CORPORA:
            found = WITHOUT_CORPORA[section](folder, scale, rounds, kinds, runner)
        else:
            measure = backup_section.measure if section == "backups" else mount_section.measure
            found = measure(folder, scale, rounds, chosen, kinds, runner)
        runs[section] = circumstances | found
        results_file(folder, section).write_text(json.dumps(runs[section], indent=1))

    print("\n" + report.render({section: runs[section] if section in sections else None for section in SECTIONS}, {}))
    page = Path(__file__).parents[2] / "Docs" / "benchmarks.md"
    kept = report.kept(page.read_text()) if page.exists() else {}
    # A section that is new is on the page once it was measured.
    publishes = all(is_whole(runs[section]) for section in sections) and (page.exists() or set(sections) == set(SECTIONS))
    document = page if publishes else folder / "benchmarks.md"
    document.write_text(report.render(runs, kept))
    print(f"Written to {document}")
    return 1 if any("failure" in result for section in sections for result in runs[section]["results"]) else 0


if __name__ == "__main__":
    sys.exit(main())
