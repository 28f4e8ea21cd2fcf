"""Makes a folder of photos as a telephone takes them: JPEGs of 12 megapixels and some 4 MB, with Exif. No two are the same."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

# So many are made pixel by pixel; the others are copies of them that differ in their last bytes, which no program shows.
DISTINCT_COUNT = 200
# What is stored and uploaded is a part of them: the disk has them three times then.
STORED_COUNT = 1_000
WIDTH, HEIGHT = 4000, 3000
# Of the noise, by which the files get their length.
SIGMA = 14


class PhotoData:
    def __init__(self, folder: Path, count: int):
        self.count = count
        self.folder = folder / f"photos-{count}"

    @property
    def files(self) -> list:
        return sorted(self.folder.glob("*.jpg"))

    @property
    def stored_count(self) -> int:
        return min(self.count, STORED_COUNT)

    @property
    def stored_folder(self) -> Path:
        """The first photos alone, as the same files."""
        folder = self.folder.with_name(f"{self.folder.name}-stored")
        if not folder.is_dir():
            draft = folder.with_name(folder.name + ".draft")
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            for path in self.files[:self.stored_count]:
                os.link(path, draft / path.name)
            draft.rename(folder)
        return folder

    @property
    def stored_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.stored_folder.iterdir())

    @property
    def byte_count(self) -> int:
        return sum(path.stat().st_size for path in self.files)

    def build(self):
        """Takes minutes, once."""
        if self.folder.is_dir():
            return
        draft = self.folder.with_name(self.folder.name + ".draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        distinct = min(self.count, DISTINCT_COUNT)
        for number in range(distinct):
            make_picture(draft, number)
        tag(draft, distinct)
        for number in range(distinct, self.count):
            copy = draft / name(number)
            # Shares the bytes where the file system can.
            subprocess.run(["cp", "--reflink=auto", draft / name(number % distinct), copy], check=True)
            with open(copy, "ab") as file:
                file.write(f"photo {number}".encode())
        draft.rename(self.folder)


def name(number: int) -> str:
    return f"IMG_{number:05}.jpg"


def vips(folder: Path, *words):
    subprocess.run(["vips", *map(str, words)], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_picture(folder: Path, number: int):
    """Soft shapes, and noise as of a sensor."""
    vips(folder, "perlin", "shapes.v", WIDTH, HEIGHT, "--seed", number, "--cell-size", 700, "--uchar")
    for band in range(3):
        vips(folder, "gaussnoise", f"noise{band}.v", WIDTH, HEIGHT, "--seed", 3 * number + band, "--sigma", SIGMA, "--mean", 0)
        vips(folder, "add", "shapes.v", f"noise{band}.v", f"band{band}.v")
    vips(folder, "bandjoin", "band0.v band1.v band2.v", "joined.v")
    vips(folder, "cast", "joined.v", "picture.v", "uchar")
    vips(folder, "jpegsave", "picture.v", name(number), "--Q", 88)
    for path in folder.glob("*.v"):
        path.unlink()


def tag(folder: Path, count: int):
    """Exif, as ExifTool writes it: all photos in one run."""
    lines = []
    for number in range(count):
        day, minute = 1 + number % 28, number % 60
        lines += [
            "-overwrite_original", "-Make=Acme", "-Model=Telephone 12", "-LensModel=main camera 4.2mm f/1.6", "-FNumber=1.6",
            f"-DateTimeOriginal=2024:05:{day:02} 12:{minute:02}:00", "-OffsetTimeOriginal=+02:00", "-ExposureTime=1/125",
            f"-ISO={100 + number}", "-FocalLength=4.2", "-Flash#=0", "-GPSLatitude=48.5", "-GPSLatitudeRef=N",
            f"-GPSLongitude={number / 10}", "-GPSLongitudeRef=E", "-Orientation#=1", "-XMP:Rating=3", "-XMP:Subject=word",
            name(number), "-execute"]
    arguments = folder / "arguments"
    arguments.write_text("\n".join(lines) + "\n")
    subprocess.run(["exiftool", "-q", "-m", "-@", "arguments"], cwd=folder, check=True, stdout=sys.stderr)
    os.unlink(arguments)
