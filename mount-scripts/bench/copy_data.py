"""Makes what a camera card has: photos and clips of random bytes, and a folder of many small files."""

import os
import random
import shutil
from pathlib import Path

PHOTO_COUNT, CLIP_COUNT, SMALL_COUNT = 800, 10, 100_000
PHOTO_BYTES, CLIP_BYTES = 5_000_000, 100_000_000
SMALL_BYTES = (200, 8_000)


class CopyData:
    """With `scale`, of all files that part."""

    def __init__(self, folder: Path, scale: float):
        self.card = folder / f"card-{scale:g}"
        self.small = folder / f"small-files-{scale:g}"
        self.scale = scale

    def count(self, whole: int) -> int:
        return max(1, round(whole * self.scale))

    def build(self):
        """Takes a minute, once."""
        random.seed(4)
        self.make(self.card, self.make_card)
        self.make(self.small, self.make_small)

    @staticmethod
    def make(folder: Path, fill):
        if folder.is_dir():
            return
        draft = folder.with_name(folder.name + ".draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        fill(draft)
        draft.rename(folder)

    def make_card(self, folder: Path):
        for number in range(self.count(PHOTO_COUNT)):
            write(folder / "DCIM" / f"{100 + number // 400}TEST" / f"IMG_{number:05}.JPG", PHOTO_BYTES + number)
        for number in range(self.count(CLIP_COUNT)):
            write(folder / "CLIPS" / f"C{number:04}.MP4", CLIP_BYTES + number)

    def make_small(self, folder: Path):
        for number in range(self.count(SMALL_COUNT)):
            write(folder / f"{number // 1_000:03}" / f"{number:06}.xml", random.randint(*SMALL_BYTES))


def write(path: Path, size: int):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        while size > 0:
            size -= file.write(os.urandom(min(size, 1 << 22)))


def extent(folder: Path) -> tuple:
    """How many files there are, and their bytes."""
    sizes = [os.lstat(os.path.join(path, name)).st_size for path, _, names in os.walk(folder) for name in names]
    return len(sizes), sum(sizes)
