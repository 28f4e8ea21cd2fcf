"""Measures how soon the mount answers the looks that people and monitors take at it, whatever else goes on: a backup, a restore, a database that the app
keeps locked, readers, and a repository that stalls or is gone.
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from daemon import Daemon, unmount
from measure import StepFailed, settle

MEDIA_BYTES = 10_000_000_000
FILE_BYTES = 4_000_000
READERS = 16
# For loads that do not end by themselves.
SECONDS = 20
# Longer, and it counts as that: nothing may hang for good.
LIMIT_SECONDS = 10
POLL_SECONDS = 0.0005

LOOKS = {"root": ["ls"], "snapshots": ["ls"], "status": ["cat"]}
PLACES = {"root": "", "snapshots": "snapshots/", "status": "status.json"}


class Place:
    """A store with media, whose repository lies on a file system that can be stopped."""

    def __init__(self, folder: Path, scale: float, binary: Path, runner):
        self.scratch, self.mounts, self.binary, self.runner = folder / "scratch", folder / "mounts", binary, runner
        self.disk, self.mountpoint = self.mounts / "disk", self.mounts / "responsiveness"
        self.media, self.store, self.files = self.scratch / "media", self.scratch / "store", self.scratch / "disk"
        self.file_count = max(4, round(MEDIA_BYTES * scale / FILE_BYTES))
        self.environment = {
            "HOME": str(self.scratch / "home"), "BACKUPFS_SCHEDULE": "off", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
        self.bindfs = self.daemon = None

    def photo(self, number: int) -> Path:
        return self.media / f"{number // 100:03}" / f"IMG_{number:05}.jpg"

    def build(self):
        for number in range(self.file_count):
            photo = self.photo(number)
            photo.parent.mkdir(parents=True, exist_ok=True)
            photo.write_bytes(random.Random(number).randbytes(FILE_BYTES))
        settle()

    def run(self, *words):
        self.runner.run([self.binary, *words, "--store", self.store], environment=self.environment)

    @contextmanager
    def mounted(self):
        self.files.mkdir()
        log = self.scratch / "daemons.log"
        with Daemon(["bindfs", "-f", self.files, self.disk], self.disk, {}, log) as self.bindfs:
            app = Path(__file__).parent / "media-app.yaml"
            self.run("init", "--repository", self.disk / "repository", "--app", app, "--media", self.media)
            command = [self.binary, "mount", "-f", "--store", self.store, self.mountpoint]
            with Daemon(command, self.mountpoint, self.environment, log) as self.daemon:
                try:
                    yield
                finally:
                    # Neither can be unmounted while it is stopped.
                    self.bindfs.process.send_signal(signal.SIGCONT)

    def start(self, *words):
        """A load, in a group of its own."""
        with open(self.runner.log, "ab") as log:
            return subprocess.Popen(
                [str(word) for word in words], env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=log, start_new_session=True)


# MARK: Loads: each is there while in the `with`, and gives a function that tells whether it still is.

@contextmanager
def nothing(place):
    yield lambda: True


@contextmanager
def until_done(place, *words):
    process = place.start(*words)
    try:
        yield lambda: process.poll() is None
        code = process.wait()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code != 0:
        raise StepFailed(f"exit code {code}: {' '.join(map(str, words))}")


def backup(place):
    # `mkdir` answers after two seconds; `sync` waits for the backup.
    name = place.mountpoint / "snapshots" / "bench"
    return until_done(place, "sh", "-c", 'mkdir "$1" && sync "$1"', "sh", name)


def restore(place):
    # Half of the files are to be brought back.
    for number in range(0, place.file_count, 2):
        place.photo(number).unlink()
    return until_done(place, place.binary, "restore", "bench", "--yes", "--store", place.store)


@contextmanager
def lock(place):
    database = sqlite3.connect(place.store / "app" / "database.sqlite", isolation_level=None)
    try:
        database.execute("pragma journal_mode = delete")
        database.execute("pragma locking_mode = exclusive")
        # What has changed since the last look has to be counted again.
        database.execute("insert into entries (title) values ('locked')")
        database.execute("begin exclusive")
        yield lambda: True
    finally:
        database.close()


@contextmanager
def readers(place):
    script = 'while :; do find "$1" -type f -exec cat {} + > /dev/null; done'
    processes = [place.start("sh", "-c", script, "sh", place.mountpoint / "live") for _ in range(READERS)]
    try:
        time.sleep(1)
        yield lambda: True
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def stalled(place):
    place.bindfs.process.send_signal(signal.SIGSTOP)
    try:
        yield lambda: True
    finally:
        place.bindfs.process.send_signal(signal.SIGCONT)


@contextmanager
def gone(place):
    if not unmount(place.disk, "-z"):
        raise StepFailed("the repository could not be unmounted")
    yield lambda: True


# In this order: the last one takes the repository away.
LOADS = {
    "nothing": nothing, "backup": backup, "restore": restore, "lock": lock, "readers": readers, "stalled": stalled, "gone": gone}


def look(place, name: str):
    """How many milliseconds it took, and whether it printed what it should."""
    start = time.monotonic()
    command = [*LOOKS[name], f"{place.mountpoint}/{PLACES[name]}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # One that hangs in the kernel cannot be waited for, nor killed.
    while process.poll() is None and time.monotonic() - start < LIMIT_SECONDS:
        time.sleep(POLL_SECONDS)
    milliseconds = (time.monotonic() - start) * 1_000
    if process.poll() is None:
        process.kill()
    return milliseconds, process.returncode == 0


def measure_load(place, load: str) -> list:
    times = {name: [] for name in LOOKS}
    failures = {name: 0 for name in LOOKS}
    try:
        with LOADS[load](place) as goes_on:
            end = time.monotonic() + SECONDS
            ends_by_itself = load in ("backup", "restore")
            while goes_on() and (ends_by_itself or time.monotonic() < end):
                for name in LOOKS:
                    milliseconds, is_answered = look(place, name)
                    times[name].append(milliseconds)
                    failures[name] += not is_answered
                time.sleep(0.02)
    except StepFailed as failure:
        print(f"    {load:10} FAILED: {failure}", flush=True)
        return [{"load": load, "look": name, "failure": str(failure)} for name in LOOKS]
    results = []
    for name in LOOKS:
        result = {"load": load, "look": name, "milliseconds": times[name], "errors": failures[name]}
        # Without its repository, the list of backups is an error: an empty one would say that there are none.
        is_expected = failures[name] == (len(times[name]) if (load, name) == ("gone", "snapshots") else 0)
        if not times[name] or not is_expected:
            result["failure"] = f"{failures[name]} of {len(times[name])} looks failed" if times[name] else "it was over too soon"
        slowest = max(times[name], default=0)
        print(f"    {load:10} {name:10} {len(times[name]):6} looks, at most {slowest:8.1f} ms  {result.get('failure', '')}", flush=True)
        results.append(result)
    return results


def measure(folder: Path, scale: float, rounds: int, kinds: list, runner) -> dict:
    """What was found, as `responsiveness_report` takes it. A load is there once: each has many looks."""
    kind = kinds[0]
    place = Place(folder, scale, kind.binary, runner)
    shutil.rmtree(place.scratch, ignore_errors=True)
    place.scratch.mkdir()
    run = {"versions": {"backupfs": kind.version()}, "results": [], "data": {"files": place.file_count, "bytes": place.file_count * FILE_BYTES}}
    print(f"{place.file_count:,} media files: making them", flush=True)
    place.build()
    with place.mounted():
        for load in LOADS:
            settle()
            run["results"] += measure_load(place, load)
    shutil.rmtree(place.scratch, ignore_errors=True)
    return run
