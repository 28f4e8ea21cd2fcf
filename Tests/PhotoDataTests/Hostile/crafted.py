"""Photos and videos that are made to cost much: loops, huge sizes, what grows when it is unpacked, empty ones."""

import random
import struct
import zlib

BIG = 100_000


def tiff(entries, extra=b"", next_directory=0, mark=b""):
    """A TIFF of one directory; `entries` are (tag, type, count, value)."""
    body = b"II*\0" + struct.pack("<I", 8 + len(mark)) + mark + struct.pack("<H", len(entries))
    for tag, kind, count, value in entries:
        body += struct.pack("<HHI", tag, kind, count) + (
            struct.pack("<HH", value, 0) if kind == 3 and count == 1 else struct.pack("<I", value))
    return body + struct.pack("<I", next_directory) + extra


def canon_raw(jpeg: bytes) -> bytes:
    """As a CR2 begins: the picture to look at is a JPEG in the first directory."""
    place = 16 + 2 + 5 * 12 + 4
    entries = [(0x0100, 3, 1, 96), (0x0101, 3, 1, 64), (0x0103, 3, 1, 6), (0x0111, 4, 1, place), (0x0117, 4, 1, len(jpeg))]
    return tiff(entries, jpeg, mark=b"CR\2\0\0\0\0\0")


def box(name: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I4s", 8 + len(content), name) + content


def full(name: bytes, content: bytes, version: int = 0) -> bytes:
    return box(name, struct.pack(">I", version << 24) + content)


def video(brand: bytes) -> bytes:
    header = full(b"mvhd", struct.pack(">IIII", 3797823489, 3797823489, 600, 900) + bytes(80))
    matrix = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
    track = full(b"tkhd", bytes(36) + matrix + struct.pack(">II", 1920 << 16, 1080 << 16))
    media = box(b"mdia", full(b"hdlr", bytes(4) + b"vide" + bytes(13)))
    keys = [(b"com.apple.quicktime.make", b"Apple"), (b"com.apple.quicktime.location.ISO6709", b"+48.8584+002.2945+035.000/")]
    names = b"".join(box(b"mdta", name) for name, _ in keys)
    items = b"".join(
        struct.pack(">II", 24 + len(value), number + 1) + box(b"data", struct.pack(">II", 1, 0) + value)
        for number, (_, value) in enumerate(keys))
    meta = box(
        b"meta", full(b"hdlr", bytes(4) + b"mdta" + bytes(13)) + full(b"keys", struct.pack(">I", len(keys)) + names)
        + box(b"ilst", items))
    user = box(b"udta", box(b"\xa9mod", struct.pack(">HH", 4, 0x15C7) + b"X100"))
    return box(b"ftyp", brand + bytes(4) + brand) + box(b"mdat", bytes(100)) + box(
        b"moov", header + box(b"trak", track + media) + meta + user)


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def zeros(count: int) -> bytes:
    """So many zero bytes, deflated, without ever having them here."""
    part = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = part.compress(bytes(1 << 20)) + part.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(9, zlib.DEFLATED, -15)
    last = rest.compress(bytes(count % (1 << 20))) + rest.flush()
    return b"\x78\xda" + block * (count >> 20) + last + struct.pack(">HH", count % 65521, 1)


def png(width, height, depth, colour, data, *more):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(more) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def small_png(*more):
    return png(8, 8, 8, 0, zlib.compress(bytes(72)), *more)


def with_segments(jpeg: bytes, *segments):
    """A JPEG with more segments after its first two bytes: (marker, content)."""
    more = b"".join(struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content for marker, content in segments)
    return jpeg[:2] + more + jpeg[2:]


def xmp(body: bytes, before: bytes = b"") -> bytes:
    return (
        before + b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        b'<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">' + body
        + b"</rdf:Description></rdf:RDF></x:xmpmeta>")


def in_png(packet: bytes) -> bytes:
    return small_png(chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet))


def laughs() -> bytes:
    entities = b'<!ENTITY a0 "ha">' + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10))
    return xmp(b"<xmp:Label>&a9;</xmp:Label>", b"<!DOCTYPE x [" + entities + b"]>")


def profile(size, count):
    """An ICC profile that claims a size and a number of tags."""
    return struct.pack(">I", size) + bytes(8) + b"mntrRGB XYZ " + bytes(12) + b"acsp" + bytes(88) + struct.pack(">I", count) + \
        b"".join(struct.pack(">4sII", b"rTRC", 0xFFFFFFF0, 0xFFFFFFFF) for _ in range(min(count, 100)))


def heif(*properties, item=b"hvc1", extra=b"", brand=b"heic"):
    """A HEIF with one item whose data is nonsense."""
    associations = full(
        b"ipma", struct.pack(">IHB", 1, 1, len(properties)) + bytes(n + 1 for n in range(len(properties))))
    meta = full(
        b"meta", full(b"hdlr", bytes(4) + b"pict" + bytes(13)) + full(b"pitm", struct.pack(">H", 1))
        + full(b"iinf", struct.pack(">H", 1) + full(b"infe", struct.pack(">HH", 1, 0) + item + b"\0", 2))
        + full(b"iloc", b"\x44\0" + struct.pack(">HHHHII", 1, 1, 0, 1, 0, 64))
        + box(b"iprp", box(b"ipco", b"".join(properties)) + associations) + extra)
    return box(b"ftyp", brand + bytes(4) + b"mif1" + brand) + meta + box(b"mdat", bytes(64))


def deep(name: bytes, count: int) -> bytes:
    content = b""
    for _ in range(count):
        content = box(name, content)
    return content


def progressive(jpeg_size: int, scans: int) -> bytes:
    """A progressive JPEG whose scans all say the same again."""
    start = b"\xff\xd8\xff\xdb\0C\0" + bytes([1]) * 64
    start += b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, jpeg_size, jpeg_size, 1) + b"\1\x11\0"
    start += b"\xff\xc4" + struct.pack(">H", 20) + b"\0\1" + bytes(15) + b"\0"
    scan = b"\xff\xda" + struct.pack(">H", 8) + b"\1\1\0\0\0\0" + b"\0"
    return start + scan * scans + b"\xff\xd9"


def bombs(bases: dict) -> list:
    """All that is made once: (suffix, function). They are functions since some are large."""
    jpeg, raw = bases["jpg"], bases["cr2"]
    rows = (BIG + 7) // 8 + 1
    strips = [(0x0100, 4, 1, BIG), (0x0101, 4, 1, BIG), (0x0102, 3, 1, 8), (0x0106, 3, 1, 1), (0x0115, 3, 1, 1), (0x0116, 4, 1, BIG)]
    one_strip = [*strips, (0x0111, 4, 1, 200), (0x0117, 4, 1, 20_000_000)]
    size = full(b"ispe", struct.pack(">II", BIG, BIG))
    largest = full(b"ispe", struct.pack(">II", 0xFFFFFFFF, 0xFFFFFFFF))
    keywords = b"<dc:subject><rdf:Bag>" + b"<rdf:li>word</rdf:li>" * 100_000 + b"</rdf:Bag></dc:subject>"
    nested = b"<xmp:a>" * 20_000 + b"</xmp:a>" * 20_000
    made = [
        ("png", lambda: png(BIG, BIG, 1, 0, zeros(rows * BIG))),
        ("png", lambda: png(BIG, BIG, 8, 6, zeros(1 << 28))),
        ("png", lambda: png(0x7FFFFFFF, 0x7FFFFFFF, 16, 6, zlib.compress(bytes(100)))),
        ("png", lambda: png(30_000, 30_000, 1, 0, zeros(3751 * 30_000))),
        ("png", lambda: png(1, 0x7FFFFFFF, 1, 0, zeros(1 << 28))),
        ("png", lambda: png(0x7FFFFFFF, 1, 1, 0, zeros(1 << 28))),
        ("png", lambda: small_png(chunk(b"iCCP", b"x\0\0" + zeros(1 << 29)))),
        ("png", lambda: small_png(chunk(b"zTXt", b"Raw profile type exif\0\0" + zeros(1 << 29)))),
        ("png", lambda: small_png(chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zeros(1 << 29)))),
        ("png", lambda: small_png(*[chunk(b"tEXt", b"a\0b")] * 50_000)),
        ("png", lambda: small_png(chunk(b"eXIf", tiff([(0x010F, 2, 0xFFFFFFFF, 8)] * 1000)))),
        ("png", lambda: in_png(laughs())), ("png", lambda: in_png(xmp(keywords))), ("png", lambda: in_png(xmp(nested))),
        ("png", lambda: in_png(xmp(b"<xmp:Label>" + b"x" * 10_000_000 + b"</xmp:Label>"))),
        ("png", lambda: in_png(xmp(b"".join(b"<xmp:a%d>x</xmp:a%d>" % (n, n) for n in range(50_000))))),
        ("tif", lambda: tiff(one_strip + [(0x0103, 3, 1, 8)], bytes(100) + zeros(1 << 28))),
        ("tif", lambda: tiff(one_strip + [(0x0103, 3, 1, 1)])),
        ("tif", lambda: tiff(one_strip + [(0x0103, 3, 1, 5)], bytes(1000))),
        ("tif", lambda: tiff(one_strip + [(0x0103, 3, 1, 32773)], b"\x81\0" * 1_000_000)),
        ("tif", lambda: tiff([(0x0100, 4, 1, 0xFFFFFFFF), (0x0101, 4, 1, 0xFFFFFFFF), *one_strip[2:]])),
        ("tif", lambda: tiff([(0x0100, 4, 1, BIG), (0x0101, 4, 1, BIG), (0x0142, 4, 1, 16), (0x0143, 4, 1, 16), *strips[2:]])),
        ("tif", lambda: tiff([(0x010F, 2, 5, 8)], next_directory=8)),
        ("tif", lambda: tiff([(0x8769, 4, 1, 8), (0x8825, 4, 1, 8), (0x014A, 4, 1, 8)])),
        ("tif", lambda: tiff([(0x014A, 4, 0xFFFFFF, 8)])),
        ("tif", lambda: tiff([(0x0100 + n, 3, 1, n) for n in range(60_000)])),
        ("tif", lambda: tiff([(0x010F, kind, 0x3FFFFFFF, 8) for kind in range(20)])),
        ("tif", lambda: tiff([(700, 1, 0x7FFFFFF0, 8), (33723, 4, 0x7FFFFFF0, 8), (34377, 1, 0x7FFFFFF0, 8), (34675, 7, 0x7FFFFFF0, 8)])),
        ("tif", lambda: tiff([(0x0100, 3, 1, 8)]) + b"".join(
            struct.pack("<HHHIII", 1, 0x0100, 3, 1, 8, 26 + 18 * (n + 1)) for n in range(50_000))),
        ("tif", lambda: tiff([(34675, 7, 300, 26)], profile(0xFFFFFFFF, 0xFFFFFFFF))),
        ("jpg", lambda: progressive(65_500, 10)), ("jpg", lambda: progressive(20_000, 2_000)), ("jpg", lambda: progressive(64, 50_000)),
        ("jpg", lambda: with_segments(jpeg, *[(0xE1, b"Exif\0\0" + tiff([(0x010F, 2, 4, 0x41414141)]))] * 5_000)),
        ("jpg", lambda: with_segments(jpeg, *[(0xFE, b"x" * 60_000)] * 500)),
        ("jpg", lambda: with_segments(jpeg, (0xE1, b"Exif\0\0" + tiff([(0x8769, 4, 1, 8)], next_directory=8)))),
        ("jpg", lambda: with_segments(jpeg, (0xE1, b"http://ns.adobe.com/xap/1.0/\0" + laughs()))),
        ("jpg", lambda: with_segments(jpeg, *[(0xE2, b"ICC_PROFILE\0\1\xff" + profile(0xFFFFFFFF, 100))] * 255)),
        ("jpg", lambda: with_segments(jpeg, (0xE2, b"ICC_PROFILE\0\1\1" + profile(1380, 0xFFFFFFFF)))),
        ("jpg", lambda: with_segments(jpeg, (0xED, b"Photoshop 3.0\0" + b"8BIM\4\4\0\0\xff\xff\xff\xff" + b"\x1c\2\x19\xff\xff" * 100))),
        ("jpg", lambda: with_segments(jpeg, (0xED, b"Photoshop 3.0\0" + b"8BIM\4\4\0\0\0\0\xea\x60" + b"\x1c\2\x19\0\0" * 12_000))),
        ("jpg", lambda: with_segments(jpeg, (0xEE, b"Adobe" + bytes(7)), (0xE0, b"JFIF\0" + bytes([1, 1, 0, 255, 255, 255, 255, 255, 255])))),
        ("webp", lambda: b"RIFF\xff\xff\xff\xffWEBPVP8X\n\0\0\0\x3e\0\0\0" + b"\xff" * 6),
        ("webp", lambda: b"RIFF\x30\0\0\0WEBPVP8L\x20\0\0\0\x2f" + b"\xff" * 31),
        ("webp", lambda: b"RIFF\x30\0\0\0WEBPVP8L\x20\0\0\0\x2f\xff\xff\xff\x0f" + bytes(27)),
        ("webp", lambda: b"RIFF\x30\0\0\0WEBPVP8 \x20\0\0\0\x30\1\0\x9d\1\x2a\xff\x3f\xff\x3f" + bytes(22)),
        ("webp", lambda: b"RIFF\xf0\xff\xff\0WEBP" + b"ANMF\x10\0\0\0" * 10_000),
        ("heic", lambda: heif(size)), ("heic", lambda: heif(largest)), ("avif", lambda: heif(size, item=b"av01", brand=b"avif")),
        ("heic", lambda: heif(size, full(b"clap", struct.pack(">8I", 1, 0, 1, 0, 1, 0, 1, 0)))),
        ("heic", lambda: heif(size, box(b"irot", b"\3"), box(b"irot", b"\1"), box(b"imir", b"\xff"))),
        ("heic", lambda: heif(size, item=b"grid", extra=full(b"iref", box(b"dimg", struct.pack(">HHH", 1, 1, 1))))),
        ("heic", lambda: heif(size, item=b"iden", extra=full(b"iref", box(b"dimg", struct.pack(">HHH", 1, 1, 1))))),
        ("heic", lambda: heif(size, item=b"iovl", extra=full(b"iref", box(b"thmb", struct.pack(">HH", 1, 0xFFFF))))),
        ("heic", lambda: heif(size, extra=deep(b"ipco", 5_000))), ("heic", lambda: heif(*[size] * 120)),
        ("heic", lambda: heif(size, extra=full(b"iinf", struct.pack(">I", 0xFFFFFFFF), 1))),
        ("mp4", lambda: box(b"ftyp", b"isom" + bytes(4)) + deep(b"moov", 50_000)),
        ("mp4", lambda: box(b"ftyp", b"isom" + bytes(4)) + box(b"moov", box(b"free") * 60_000)),
        ("mp4", lambda: box(b"ftyp", b"isom" + bytes(4)) + box(b"moov", box(b"trak") * 60_000)),
        ("mp4", lambda: box(b"ftyp", b"isom" + bytes(4)) + struct.pack(">I4sQ", 1, b"moov", 0xFFFFFFFFFFFFFFFF)),
        ("mp4", lambda: box(b"ftyp", b"isom" + bytes(4)) + box(b"free") * 1_000_000),
        ("mov", lambda: box(b"moov", box(b"meta", full(b"keys", struct.pack(">I", 0xFFFFFFFF)) + box(b"ilst", box(b"data") * 5_000)))),
        ("mov", lambda: box(b"moov", box(b"udta", box(b"\xa9nam", b"\xff\xff\0\0") * 5_000))),
        ("cr2", lambda: raw[:8] + b"CR\2\0" + struct.pack("<I", 16) + raw[16:]),
        ("cr2", lambda: raw.replace(struct.pack("<I", len(jpeg)), b"\xff\xff\xff\xff")),
        ("cr2", lambda: tiff([(0x0111, 4, 1, 8), (0x0117, 4, 1, 0xFFFFFFF0)], next_directory=16, mark=b"CR\2\0\x10\0\0\0")),
        ("orf", lambda: b"IIRO" + tiff([(0x010F, 2, 0xFFFFFF, 8)], next_directory=8)[4:]),
        ("raf", lambda: b"FUJIFILMCCD-RAW " + b"\xff" * 200), ("rw2", lambda: b"IIU\0" + b"\xff" * 100),
        ("cr3", lambda: box(b"ftyp", b"crx " + bytes(4)) + deep(b"uuid", 2_000)),
    ]
    starts = [b"", b"\xff", jpeg[:3], jpeg[:4], b"\x89PNG\r\n\x1a\n", b"II*\0", b"MM\0*", b"RIFF\0\0\0\0WEBP", bases["heic"][:12], raw[:12],
              b"IIRO", b"FUJIFILMCCD-RAW", b"IIU\0", b"\0\0\0\x08ftyp", b"\0\0\0\x0cftypqt  ", b"\0\0\0\0ftypheic", b"\0\0\0\x01moov", b"\0" * 64]
    return made + [("bin", lambda start=start: start) for start in starts]


MAKERS = [
    b"Nikon\0\2\x10\0\0", b"OLYMP\0\1\0", b"OLYMPUS\0II\3\0", b"FUJIFILM\x0c\0\0\0", b"SONY DSC \0\0\0", b"Panasonic\0\0\0", b"AOC\0II",
    b"PENTAX \0II", b"Apple iOS\0\0\1MM", b"", b"SIGMA\0\0\0\1\0", b"KDK\0"]
MAKER_NAMES = [b"NIKON", b"OLYMPUS", b"OLYMPUS", b"FUJIFILM", b"SONY", b"Panasonic", b"PENTAX", b"PENTAX", b"Apple", b"Canon", b"SIGMA", b"Kodak"]


def maker_note(number: int, jpeg: bytes) -> bytes:
    """A JPEG with a maker note of a known maker whose tables are random."""
    chance = random.Random(9_000 + number)
    kind = number % len(MAKERS)
    table = b"".join(
        struct.pack("<HHII", chance.randrange(0x120), chance.randrange(1, 13), chance.choice([1, 2, 60, 0xFFFF, 0x7FFFFFFF]),
                    chance.randrange(400)) for _ in range(20))
    note = MAKERS[kind] + struct.pack("<H", 20) + table + chance.randbytes(200)
    name = MAKER_NAMES[kind] + b"\0"
    exif = tiff([(0x010F, 2, len(name), 38), (0x8769, 4, 1, 64)], name.ljust(26, b"\0"))
    exif += struct.pack("<HHHIII", 1, 0x927C, 7, len(note), 82, 0) + note
    return with_segments(jpeg, (0xE1, b"Exif\0\0" + exif))


def make(number: int, bases: dict) -> tuple[str, bytes]:
    made = bombs(bases)
    if number < len(made):
        suffix, function = made[number]
        return suffix, function()
    return "jpg", maker_note(number - len(made), bases["jpg"])
