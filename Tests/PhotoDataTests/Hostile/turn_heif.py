"""turn_heif.py FILE ANGLE TARGET: writes a HEIF once more whose container turns its picture by so many quarters of a circle, counterclockwise."""

import struct
import sys
from pathlib import Path


def boxes(data: bytes, start: int, end: int):
    """(name, position, length) of each."""
    while start + 8 <= end:
        length, name = struct.unpack(">I4s", data[start:start + 8])
        yield name, start, length
        start += length


def find(data: bytes, start: int, end: int, wanted: bytes):
    return next((position, length) for name, position, length in boxes(data, start, end) if name == wanted)


def moved(table: bytes, shift: int) -> bytes:
    """A table of places (`iloc`) whose data has moved."""
    changed = bytearray(table)
    version, sizes = table[8], struct.unpack(">H", table[12:14])[0]
    offset_width, length_width, base_width, index_width = sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15, sizes & 15 if version else 0
    number_width = 4 if version == 2 else 2
    count = int.from_bytes(table[14:14 + number_width], "big")
    position = 14 + number_width
    for _ in range(count):
        position += number_width + (2 if version else 0) + 2 + base_width
        extents = int.from_bytes(table[position:position + 2], "big")
        position += 2
        for _ in range(extents):
            position += index_width
            value = int.from_bytes(table[position:position + offset_width], "big") + shift
            changed[position:position + offset_width] = value.to_bytes(offset_width, "big")
            position += offset_width + length_width
    return bytes(changed)


def grown(data: bytes, position: int, by: int) -> bytes:
    """With a longer length of the box at a position."""
    return data[:position] + struct.pack(">I", struct.unpack(">I", data[position:position + 4])[0] + by) + data[position + 4:]


def turned(data: bytes, angle: int) -> bytes:
    meta, meta_length = find(data, 0, len(data), b"meta")
    inside = meta + 12, meta + meta_length
    item = data[find(data, *inside, b"pitm")[0] + 12:][:2]
    iloc, iloc_length = find(data, *inside, b"iloc")
    iprp, iprp_length = find(data, *inside, b"iprp")
    ipco, ipco_length = find(data, iprp + 8, iprp + iprp_length, b"ipco")
    ipma, _ = find(data, iprp + 8, iprp + iprp_length, b"ipma")
    number = len(list(boxes(data, ipco + 8, ipco + ipco_length))) + 1
    entry = ipma + 16
    while data[entry:entry + 2] != item:
        entry += 3 + data[entry + 2]
    end = entry + 3 + data[entry + 2]
    irot = struct.pack(">I4sB", 9, b"irot", angle)
    shift = len(irot) + 1
    # From the end on, so that earlier positions stay as they are.
    data = data[:end] + bytes([0x80 | number]) + data[end:]
    data = data[:entry + 2] + bytes([data[entry + 2] + 1]) + data[entry + 3:]
    data = grown(data, ipma, 1)
    data = data[:ipco + ipco_length] + irot + data[ipco + ipco_length:]
    data = grown(grown(grown(data, ipco, len(irot)), iprp, shift), meta, shift)
    return data[:iloc] + moved(data[iloc:iloc + iloc_length], shift) + data[iloc + iloc_length:]


Path(sys.argv[3]).write_bytes(turned(Path(sys.argv[1]).read_bytes(), int(sys.argv[2])))
