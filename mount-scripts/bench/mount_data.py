"""The data that is looked at through mounts: the corpora of photos and of documents, in the states that are backed up."""

import os
import shutil
import subprocess
from pathlib import Path

import corpora


class DocumentData:
    """The corpus as it is: 1,000 folders with 100 small files each."""

    letter = "b"
    # A folder that must show the same names through a mount.
    sample = "0000"
    states = ["everything"]

    def __init__(self, corpus, scratch: Path):
        self.folder = corpus.folder
        self.database = corpus.database
        self.media = corpus.media
        self.archive = scratch / "documents.zip"

    def enter(self, state: str):
        pass


class PhotoData:
    """The photos in a folder of their own, so that programs can be sent through them alone, and the large file. Hard links: the
    corpus stays as it is, and nothing is stored twice."""

    letter = "a"
    sample = "photos"
    # The photos are backed up alone, too: for an archive of nothing else.
    states = ["photos", "everything"]

    def __init__(self, corpus, scratch: Path):
        self.folder = scratch / "photos"
        self.media = self.folder / "media"
        self.database = self.folder / corpus.database.name
        self.archive = self.folder / "photos.zip"
        self.original = corpus.media
        photos = self.media / "photos"
        photos.mkdir(parents=True)
        shutil.copy2(corpus.database, self.database)
        self.photos = sorted(name for name in os.listdir(self.original) if name.endswith(".jpg"))
        for name in self.photos:
            os.link(self.original / name, photos / name)

    def enter(self, state: str):
        film = self.media / "film.mp4"
        film.unlink(missing_ok=True)
        if state == "everything":
            os.link(self.original / "film.mp4", film)


def write_archive(data):
    """The archive that peers serve: stored, not compressed, as ours is for photos."""
    data.archive.unlink(missing_ok=True)
    members = "photos" if data.letter == "a" else "."
    subprocess.run(["zip", "-0", "-q", "-r", data.archive, members], cwd=data.media, check=True)


def build(folder: Path, scale: float, binary: Path, scratch: Path, chosen: list) -> list:
    """Builds what is not there yet of the chosen corpora, and the rest in `scratch`."""
    found = []
    for letter, kind in (("b", DocumentData), ("a", PhotoData)):
        if letter not in chosen:
            continue
        corpus = corpora.ALL[letter](folder / "corpora", scale, binary)
        print(f"{corpus.title}: building what is not there yet", flush=True)
        corpus.build()
        found.append(kind(corpus, scratch))
    return found
