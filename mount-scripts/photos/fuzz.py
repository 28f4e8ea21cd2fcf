"""Feeds the helper that reads photos, through the real program, with photos that are changed at random.

    fuzz.py BINARY MINUTES SEED

It begins with small photos of each format, the clips of the tests, and the photos that `make photo-corpora` has downloaded. An answer
that the program does not understand, a file without its line, a helper that lives longer than the program or takes too much memory, a
wrong field of a good photo between the others: each is a finding, and the files of the batch stay in .build/photo-findings. Crashes and
timeouts cost a photo its own line, so they are counted, and the files kept. Exit code 1 with findings.
"""

import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "Tests" / "PhotoDataTests" / "Hostile"))

import hostile_photos  # noqa: E402

BATCH = 60
CONTROL_INTERVAL = 20
# The addresses that the helper may have.
MEMORY_LIMIT_BYTES = 2 << 30
SEED_LIMIT_BYTES = 200_000
KEPT_LIMIT = 200
FORMATS = ["jpg", "png", "tif", "webp", "heic", "avif"]
CLIPS = ROOT / "Tests" / "PhotoDataTests" / "Clips"
ALIASES = {
    "jpeg": "jpg", "tiff": "tif", "heif": "heic", "hif": "heic", "cr3": "heic", "nef": "tif", "dng": "tif", "arw": "tif", "orf": "tif",
    "rw2": "tif", "raf": "tif", "3gp": "mp4", "m4v": "mp4"}


def make_bases(folder: Path) -> dict:
    commands = [["vips", "gaussnoise", "noise.v", "96", "64", "--seed", "7"], ["vips", "cast", "noise.v", "base.v", "uchar"]]
    commands += [["vips", "copy", "base.v", f"base.{kind}"] for kind in FORMATS]
    commands.append([
        "exiftool", "-q", "-m", "-overwrite_original", "-Make=Acme", "-GPSLatitude=48", "-GPSLatitudeRef=N", "-GPSLongitude=9",
        "-GPSLongitudeRef=E", "-XMP:Title=Title, with a comma", "-IPTC:Keywords=word", *[f"base.{kind}" for kind in FORMATS]])
    for command in commands:
        subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    return hostile_photos.read_bases(folder)


def seeds(bases: dict) -> dict:
    """Photos to begin with, by the kind of their mutation."""
    found = {kind: [data] for kind, data in bases.items()}
    for path in sorted(CLIPS.iterdir()):
        if path.suffix[1:] in found:
            found[path.suffix[1:]].append(path.read_bytes())
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    corpora = Path(os.environ.get("CORPORA") or Path(cache) / "backupfs-photos") / "files"
    for path in sorted(corpora.rglob("*")) if corpora.is_dir() else []:
        suffix = path.suffix.lower().lstrip(".")
        kind = ALIASES.get(suffix, suffix)
        if kind in hostile_photos.FIELDS and path.is_file() and 100 < path.stat().st_size < SEED_LIMIT_BYTES:
            found[kind].append(path.read_bytes())
    return found


class Watch(threading.Thread):
    """Looks at the helpers of a running program: who they are, and how much memory each has had."""

    def __init__(self, process: subprocess.Popen):
        super().__init__(daemon=True)
        self.process = process
        self.helpers = {}

    def run(self):
        while self.process.poll() is None:
            for child in self.children():
                try:
                    status = Path(f"/proc/{child}/status").read_text()
                except OSError:
                    continue
                if "backupfs-media" in status.splitlines()[0]:
                    peak = next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:")), 0)
                    self.helpers[child] = max(self.helpers.get(child, 0), peak)
            time.sleep(0.02)

    def children(self) -> list:
        found = []
        for path in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            try:
                found += path.read_text().split()
            except OSError:
                continue
        return found

    def left(self) -> list:
        """Helpers that have not ended some seconds after the program has."""
        end = time.monotonic() + 5
        while True:
            alive = []
            for number in self.helpers:
                try:
                    first = Path(f"/proc/{number}/status").read_text().splitlines()
                    if "backupfs-media" in first[0] and not any(line.startswith("State:\tZ") for line in first):
                        alive.append(number)
                except OSError:
                    continue
            if not alive or time.monotonic() > end:
                return alive
            time.sleep(0.05)


def is_right(document: dict) -> bool:
    good = document.get("metadata") or {}
    return (
        good.get("camera_make"), good.get("gps_latitude"), good.get("title"), good.get("keywords"), good.get("pixel_width"),
    ) == ("Acme", 48, "Title, with a comma", ["word"], 96)


def run_batch(binary: str, folder: Path, names: list, counts: collections.Counter) -> list:
    """What was found, as texts."""
    arguments = []
    for number, name in enumerate(names):
        arguments.append(name)
        if number % CONTROL_INTERVAL == CONTROL_INTERVAL - 1:
            arguments.append("good.jpg")
    with open(folder / "lines", "wb") as lines:
        process = subprocess.Popen(
            [binary, "photo-info", "--json", "--thumbnails", "small", *arguments], cwd=folder, stdout=lines, stderr=subprocess.DEVNULL)
        watch = Watch(process)
        watch.start()
        # Of each file as long as both questions may take.
        try:
            process.wait(timeout=len(arguments) * 45)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return ["the program did not end"]
        watch.join()
    found = []
    if process.returncode not in (0, 3):
        found.append(f"the exit code is {process.returncode}")
    documents = [json.loads(line) for line in (folder / "lines").read_bytes().splitlines()]
    documents = [document for document in documents if document["message_type"] == "photo"]
    if [document["file"] for document in documents] != arguments:
        found.append("a file has no line of its own")
    for document in documents:
        name, reason = document["file"], document["reason"]
        if name == "good.jpg":
            if not is_right(document):
                found.append(f"the good photo: {document}")
            continue
        counts[f"{name.rsplit('.')[-1]} {reason or document['status']}"] += 1
        if reason == "malformedAnswer":
            found.append(f"{name}: {reason}")
        if reason in ("crashed", "timedOut"):
            keep(folder / name, reason)
        if document["thumbnail"]:
            start = (folder / document["thumbnail"]).read_bytes()
            if not start.startswith(b"\xff\xd8\xff") or len(start) >= 50_000:
                found.append(f"{name}: the thumbnail is none")
    counts["peak MiB"] = max(counts["peak MiB"], *(peak >> 20 for peak in watch.helpers.values()), 0)
    if any(peak > MEMORY_LIMIT_BYTES for peak in watch.helpers.values()):
        found.append(f"memory: {max(watch.helpers.values()) >> 20} MiB")
    if watch.left():
        found.append("a helper is still there")
    return found


def keep(path: Path, reason: str):
    target = ROOT / ".build" / "photo-findings" / reason
    target.mkdir(parents=True, exist_ok=True)
    if len(os.listdir(target)) < KEPT_LIMIT:
        shutil.copyfile(path, target / f"{time.time_ns()}-{path.name}")


def main() -> int:
    binary, minutes, seed = os.path.abspath(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    end = time.monotonic() + 60 * minutes
    counts: collections.Counter = collections.Counter()
    finding_count = batch = 0
    next_report = time.monotonic() + 300
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as place:
        bases = make_bases(Path(place))
        inputs = seeds(bases)
        print(f"fuzz-photos: {sum(map(len, inputs.values()))} photos to begin with, seed {seed}", flush=True)
        while time.monotonic() < end:
            folder = Path(place) / "batch"
            folder.mkdir()
            chance = random.Random(seed * 1_000_003 + batch)
            (folder / "good.jpg").write_bytes(bases["jpg"])
            names = []
            for number in range(BATCH):
                kind = chance.choice(hostile_photos.FORMATS)
                data = chance.choice(inputs[kind])
                for _ in range(chance.choice([1, 1, 2, 4])):
                    data = hostile_photos.mutate(data, kind, chance.randrange(10), chance, bases) or data
                names.append(f"{number:02}.{kind}")
                (folder / names[-1]).write_bytes(data)
            found = run_batch(binary, folder, names, counts)
            for text in found:
                print(f"fuzz-photos: FINDING in batch {batch}: {text}", flush=True)
            if found:
                finding_count += len(found)
                target = ROOT / ".build" / "photo-findings" / f"batch-{seed}-{batch}"
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(folder, target)
            shutil.rmtree(folder)
            batch += 1
            if time.monotonic() > next_report:
                next_report += 300
                print(f"fuzz-photos: {batch * BATCH} photos, {finding_count} findings, {dict(sorted(counts.items()))}", flush=True)
    print(f"fuzz-photos: {batch * BATCH} photos, {finding_count} findings")
    for name, count in sorted(counts.items()):
        print(f"    {name}: {count}")
    return 1 if finding_count else 0


if __name__ == "__main__":
    sys.exit(main())
