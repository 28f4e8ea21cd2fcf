"""Makes hostile photos and videos: `hostile_photos.py FOLDER NUMBER...` writes FOLDER/0012.jpg and so on.

FOLDER has base.jpg, base.png, base.tif, base.webp, base.heic and base.avif; the others are made here. The same number is the same
file for the same bases: nine formats are mutated in ten ways each (`mutate`), and `crafted.py` makes the rest.
"""

import random
import struct
import sys
import zlib
from pathlib import Path

import crafted

COUNT = 1500
FORMATS = ["jpg", "png", "tif", "webp", "heic", "avif", "cr2", "mp4", "mov"]
MUTATED_COUNT = 1350
CONTAINERS = (b"moov", b"trak", b"mdia", b"meta", b"iprp", b"ipco", b"udta", b"ilst", b"iinf", b"iref", b"minf", b"stbl")
EXTREMES = [0, 1, 2, 7, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF]


def jpeg_fields(data: bytes):
    """Where lengths and names are: (position, width in bytes, whether the first byte is the most significant one)."""
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF:
        yield position, 2, True
        yield position + 2, 2, True
        if 0xC0 <= data[position + 1] <= 0xC2:
            yield position + 5, 2, True
            yield position + 7, 2, True
        if data[position + 1] == 0xDA:
            return
        if data[position + 4:position + 8] == b"Exif":
            for place, width, is_big in tiff_fields(data[position + 10:]):
                yield position + 10 + place, width, is_big
        position += 2 + struct.unpack(">H", data[position + 2:position + 4])[0]


def png_fields(data: bytes):
    position = 8
    while position + 8 <= len(data):
        yield position, 4, True
        yield position + 4, 4, True
        if data[position + 4:position + 8] == b"IHDR":
            yield position + 8, 4, True
            yield position + 12, 4, True
            yield position + 16, 1, True
            yield position + 17, 1, True
        position += 12 + struct.unpack(">I", data[position:position + 4])[0]


def tiff_fields(data: bytes):
    is_big = data[:2] == b"MM"
    order = ">" if is_big else "<"
    yield 4, 4, is_big
    todo, seen = [struct.unpack(order + "I", data[4:8])[0]] if len(data) >= 8 else [], set()
    while todo:
        start = todo.pop()
        if start in seen or start + 2 > len(data):
            continue
        seen.add(start)
        count = struct.unpack(order + "H", data[start:start + 2])[0]
        yield start, 2, is_big
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            if entry + 12 > len(data):
                return
            tag, kind, _, value = struct.unpack(order + "HHII", data[entry:entry + 12])
            yield entry, 2, is_big
            yield entry + 2, 2, is_big
            yield entry + 4, 4, is_big
            yield entry + 8, 2 if kind == 3 else 4, is_big
            if tag in (0x8769, 0x8825, 0xA005, 0x014A):
                todo.append(value)
        end = start + 2 + 12 * count
        if end + 4 <= len(data):
            yield end, 4, is_big
            todo.append(struct.unpack(order + "I", data[end:end + 4])[0])


def riff_fields(data: bytes):
    yield 4, 4, False
    position = 12
    while position + 8 <= len(data):
        yield position, 4, True
        yield position + 4, 4, False
        yield position + 8, 4, False
        yield position + 12, 4, False
        length = struct.unpack("<I", data[position + 4:position + 8])[0]
        position += 8 + length + length % 2


def box_fields(data: bytes, start: int = 0, end: int | None = None):
    position, end = start, len(data) if end is None else end
    while position + 8 <= end:
        length, name = struct.unpack(">I4s", data[position:position + 8])
        yield position, 4, True
        yield position + 4, 4, True
        stop = end if length == 0 else position + length
        if length < 8 or stop > end:
            return
        if name in CONTAINERS:
            inner = position + (12 if name in (b"meta", b"iref") else 14 if name == b"iinf" else 8)
            yield from box_fields(data, inner, stop)
        elif name != b"mdat":
            for place in range(position + 8, min(stop, position + 120) - 3, 2):
                yield place, 2, True
        position = stop


FIELDS = {
    "jpg": jpeg_fields, "png": png_fields, "tif": tiff_fields, "cr2": tiff_fields, "webp": riff_fields, "heic": box_fields,
    "avif": box_fields, "mp4": box_fields, "mov": box_fields}


def fix_checksums(data: bytearray):
    """Of a PNG, so that a change reaches the decoder."""
    position = 8
    while position + 12 <= len(data):
        length = struct.unpack(">I", data[position:position + 4])[0]
        end = position + 8 + length
        if end + 4 > len(data):
            return
        data[end:end + 4] = struct.pack(">I", zlib.crc32(data[position + 4:end]))
        position = end + 4


def mutate(data: bytes, kind: str, way: int, chance: random.Random, others: dict) -> bytes:
    changed = bytearray(data)
    fields = list(FIELDS[kind](data)) or [(0, 4, True)]
    if way == 0:
        return data[:chance.randrange(len(data))]
    if way == 1:
        position, width, _ = chance.choice(fields)
        return data[:max(0, position + chance.randrange(-2, width + 3))]
    if way == 2:
        for _ in range(8):
            changed[chance.randrange(min(600, len(data)))] ^= 1 << chance.randrange(8)
    elif way == 3:
        for _ in range(20):
            changed[chance.randrange(len(data))] = chance.randrange(256)
    elif way == 4:
        for position, width, is_big in chance.sample(fields, min(len(fields), chance.choice([1, 1, 2, 4]))):
            value = chance.choice(EXTREMES) & (1 << 8 * width) - 1
            changed[position:position + width] = value.to_bytes(width, "big" if is_big else "little")
    elif way == 5:
        start, count, target = chance.randrange(len(data)), chance.randrange(1, 2000), chance.randrange(len(data))
        part = data[start:start + count]
        changed[target:target] = part * chance.choice([1, 1, 50])
    elif way == 6:
        position, width, is_big = chance.choice(fields)
        # Leads to another structure, or to itself.
        value = chance.choice(fields)[0] & (1 << 8 * width) - 1
        changed[position:position + width] = value.to_bytes(width, "big" if is_big else "little")
    elif way == 7:
        start, count = chance.randrange(len(data)), chance.randrange(1, max(2, len(data) // 2))
        del changed[start:start + count]
    elif way == 8:
        start = chance.randrange(len(data))
        changed[start:start + chance.randrange(4, 4000)] = bytes([chance.choice([0, 0xFF, 0x41])]) * chance.randrange(4, 4000)
    else:
        other = others[chance.choice(FORMATS)]
        cut = chance.randrange(min(len(data), 200), len(data)) if len(data) > 200 else len(data)
        changed = bytearray(data[:cut] + other[chance.randrange(len(other)):])
    if kind == "png" and chance.random() < 0.8:
        fix_checksums(changed)
    return bytes(changed)


def hostile(number: int, bases: dict) -> tuple[str, bytes]:
    """The suffix and the bytes."""
    if number >= MUTATED_COUNT:
        return crafted.make(number - MUTATED_COUNT, bases)
    kind = FORMATS[number % len(FORMATS)]
    way = number // len(FORMATS) % 10
    return kind, mutate(bases[kind], kind, way, random.Random(number), bases)


def read_bases(folder: Path) -> dict:
    bases = {kind: (folder / f"base.{kind}").read_bytes() for kind in ["jpg", "png", "tif", "webp", "heic", "avif"]}
    return bases | {"cr2": crafted.canon_raw(bases["jpg"]), "mp4": crafted.video(b"isom"), "mov": crafted.video(b"qt  ")}


def main():
    folder = Path(sys.argv[1])
    bases = read_bases(folder)
    for number in map(int, sys.argv[2:]):
        kind, data = hostile(number, bases)
        (folder / f"{number:04}.{kind}").write_bytes(data)


if __name__ == "__main__":
    main()
