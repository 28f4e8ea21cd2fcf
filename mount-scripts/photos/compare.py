"""Reads a folder of photos and videos with `backupfs photo-info` and with ExifTool, and prints where they agree.

    compare.py BINARY FOLDER REPORT

REPORT gets a line for each disagreement. Exit code 1 when the helper has crashed, hung or talked nonsense, when a file has no line of
its own, or when fewer values agree than AGREEMENT.
"""

import collections
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# What the suffixes of photos and videos are, of which the corpora have many other files.
SUFFIXES = """jpg jpeg jpe thm png apng tif tiff webp heic heif hif avif cr2 cr3 crw nef arw dng orf raf rw2 pef srw mp4 mov m4v 3gp exv
psd gif bmp""".split()
# The part of all values that must be the same. The rest is judged in Docs/how-to/photos.md.
AGREEMENT = 0.975
# Of our texts.
TEXT_LIMIT_BYTES = 4096
BAD_REASONS = {"crashed", "timedOut", "malformedAnswer"}


def said_by_us(binary: str, files: list, folder: Path) -> dict:
    with tempfile.TemporaryDirectory() as thumbnails:
        # Files of several folders have the same names, and each folder has its own thumbnails.
        found = {}
        by_folder = collections.defaultdict(list)
        for file in files:
            by_folder[file.parent].append(file)
        for number, group in enumerate(by_folder.values()):
            target = Path(thumbnails) / str(number)
            lines = subprocess.run(
                [binary, "photo-info", "--json", "--thumbnails", str(target), *map(str, group)], capture_output=True, cwd=folder)
            for line in lines.stdout.splitlines():
                document = json.loads(line)
                if document.get("message_type") == "photo":
                    if document["thumbnail"]:
                        document["thumbnail_begin"] = Path(document["thumbnail"]).read_bytes()[:3]
                    found[document["file"]] = document
        return found


def said_by_exiftool(files: list, folder: Path) -> dict:
    found = {}
    for start in range(0, len(files), 200):
        part = [str(file) for file in files[start:start + 200]]
        output = subprocess.run(
            ["exiftool", "-n", "-j", "-G0", "-struct", "-charset", "iptc=utf8", "-api", "largefilesupport=1", *part],
            capture_output=True, cwd=folder).stdout
        for document in json.loads(output or b"[]"):
            found[document["SourceFile"]] = document
    return found


def date(text, subseconds=None, offset=None):
    """In our words; None for a day or time that does not exist."""
    match = re.match(r"(\d{4})[:-](\d\d)[:-](\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?(?:\.(\d+))?\s*(Z|[+-]\d\d:?\d\d)?)?\s*$", str(text))
    if not match:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    try:
        datetime.datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    result = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    digits = match[7] or (str(subseconds).strip() if subseconds is not None else "")
    if digits.isdigit():
        digits = digits[:9].ljust(9, "0").rstrip("0") or "0"
        result += f".{digits}"
    zone = match[8] or (str(offset).strip() if offset else "")
    if zone == "Z":
        zone = "+00:00"
    if re.fullmatch(r"[+-]\d\d:?\d\d", zone):
        result += f"{zone[:3]}:{zone[-2:]}"
    return result


def first(tags: dict, *names):
    return next((tags[name] for name in names if tags.get(name) not in (None, "")), None)


def text(value):
    """A text without zeros, and without blanks around it."""
    if value is None:
        return None
    if isinstance(value, dict):
        value = value.get("x-default") or next(iter(value.values()))
    if isinstance(value, list):
        value = value[0]
    value = str(value).replace("\0", "").strip()
    return value or None


def number(value):
    try:
        return float(str(value).split()[0])
    except (ValueError, IndexError):
        return None


def positive(value):
    found = number(value)
    return found if found is not None and 0 < found < 10_000_000 else None


def date_taken(tags: dict, is_video: bool):
    if is_video:
        created = first(tags, "QuickTime:CreationDate", "QuickTime:ContentCreateDate")
        found = date(created) if created else None
        if found:
            return found
        utc = tags.get("QuickTime:CreateDate")
        found = date(utc) if utc else None
        return found + "+00:00" if found and found >= "1970" else None
    for name, suffix in [("DateTimeOriginal", "Original")]:
        found = date(tags.get(f"EXIF:{name}"), tags.get(f"EXIF:SubSecTime{suffix}"), tags.get(f"EXIF:OffsetTime{suffix}"))
        if found:
            return found
    iptc = tags.get("IPTC:DateCreated")
    for value in [
            tags.get("XMP:DateTimeOriginal"), tags.get("XMP:DateCreated"),
            f"{iptc} {tags['IPTC:TimeCreated']}" if iptc and "IPTC:TimeCreated" in tags else None, iptc]:
        found = date(value) if value else None
        if found:
            return found
    found = date(tags.get("EXIF:CreateDate"), tags.get("EXIF:SubSecTimeDigitized"), tags.get("EXIF:OffsetTimeDigitized"))
    return found or date(tags.get("XMP:CreateDate")) or date(
        tags.get("EXIF:ModifyDate"), tags.get("EXIF:SubSecTime"), tags.get("EXIF:OffsetTime"))


def place(tags: dict, is_video: bool):
    if is_video:
        parts = str(first(tags, "QuickTime:GPSCoordinates", "QuickTime:LocationInformation") or "").split()
        values = [number(part) for part in parts[:2]]
    else:
        values = []
        for name, negative in (("Latitude", "S"), ("Longitude", "W")):
            value = number(tags.get(f"EXIF:GPS{name}"))
            if value is not None and str(tags.get(f"EXIF:GPS{name}Ref", "")).upper().startswith(negative):
                value = -value
            values.append(value if value is not None else number(tags.get(f"XMP:GPS{name}")))
    return values if len(values) == 2 and None not in values else [None, None]


def size(tags: dict, is_video: bool, is_heif: bool):
    """As it is looked at."""
    if is_video:
        width, height = first(tags, "QuickTime:ImageWidth"), first(tags, "QuickTime:ImageHeight")
        turned = int(number(first(tags, "Composite:Rotation")) or 0) in (90, 270)
    else:
        both = str(tags.get("Composite:ImageSize", "")).split()
        width, height = both if len(both) == 2 else (None, None)
        turned = not is_heif and (number(first(tags, "EXIF:Orientation", "XMP:Orientation")) or 1) in (5, 6, 7, 8)
        turned = turned or is_heif and int(number(tags.get("QuickTime:Rotation")) or 0) in (90, 270)
    width, height = number(width), number(height)
    return (height, width) if turned else (width, height)


def said(tags: dict) -> dict:
    """ExifTool's tags as our fields."""
    mime = tags.get("File:MIMEType", "")
    is_video, is_heif = mime.startswith("video/"), mime in ("image/heic", "image/heif", "image/avif", "image/heic-sequence")
    width, height = size(tags, is_video, is_heif)
    latitude, longitude = place(tags, is_video)
    altitude = number(tags.get("EXIF:GPSAltitude"))
    flash = number(tags.get("EXIF:Flash"))
    subject = first(tags, "XMP:Subject", "IPTC:Keywords")
    keywords = subject if isinstance(subject, list) else [] if subject is None else [subject]
    if number(tags.get("EXIF:GPSAltitudeRef")) in (1, 3) and altitude is not None:
        altitude = -altitude
    orientation = number(first(tags, "EXIF:Orientation", "XMP:Orientation"))
    lens = text(first(tags, "EXIF:LensModel", "XMP:LensModel", "XMP:Lens"))
    fields = {
        "content_type": mime, "date_taken": date_taken(tags, is_video), "pixel_width": width, "pixel_height": height,
        "orientation": orientation if orientation in range(1, 9) else None,
        "camera_make": text(first(tags, "EXIF:Make", "XMP:Make", "QuickTime:Make")),
        "camera_model": text(first(tags, "EXIF:Model", "XMP:Model", "QuickTime:Model")),
        "lens_model": lens, "exposure_time": positive(first(tags, "EXIF:ExposureTime", "XMP:ExposureTime")),
        "f_number": positive(first(tags, "EXIF:FNumber", "XMP:FNumber")),
        "iso_speed": positive(first(tags, "EXIF:ISO", "XMP:ISO")),
        "focal_length": positive(first(tags, "EXIF:FocalLength", "XMP:FocalLength")),
        "flash_fired": None if flash is None else bool(int(flash) & 1), "gps_latitude": latitude, "gps_longitude": longitude,
        "gps_altitude": altitude, "rating": number(first(tags, "XMP:Rating", "EXIF:Rating")),
        "title": text(first(tags, "XMP:Title", "IPTC:ObjectName", "EXIF:XPTitle", "QuickTime:Title")),
        "caption": text(first(
            tags, "XMP:Description", "IPTC:Caption-Abstract", "EXIF:ImageDescription", "EXIF:XPComment", "QuickTime:Description")),
        "keywords": [str(word).strip() for word in keywords],
        "duration_seconds": number(tags.get("QuickTime:Duration")) if is_video else None}
    return fields


def same(field: str, ours, theirs) -> bool:
    if field == "exposure_time" and isinstance(ours, str):
        upper, _, lower = ours.partition("/")
        ours = float(upper) / float(lower or 1)
    if field == "content_type":
        # The same kind under two names.
        pairs = {
            ("image/heic", "image/heif"), ("image/png", "image/apng"), ("image/x-fuji-raf", "image/x-fujifilm-raf"),
            ("image/heif", "image/heif-sequence"), ("image/heic", "image/heic-sequence"), ("video/mp4", "video/quicktime")}
        return ours == theirs or (ours, theirs) in pairs or (theirs, ours) in pairs
    if isinstance(theirs, bool) or isinstance(ours, bool) or ours is None or theirs is None:
        return ours == theirs
    if isinstance(theirs, float):
        limit = 1e-6 if field.startswith("gps_l") else max(1e-6, 1e-5 * abs(theirs))
        return isinstance(ours, (int, float)) and abs(ours - theirs) <= limit
    if isinstance(theirs, str):
        # Texts in Latin-1, of which ExifTool's JSON has question marks; and texts that are cut.
        pattern = "".join("." if letter == "?" else re.escape(letter) for letter in theirs)
        is_cut = len(ours.encode()) >= TEXT_LIMIT_BYTES - 3 and theirs.startswith(ours)
        return is_cut or re.fullmatch(pattern, ours, re.DOTALL) is not None
    return ours == theirs


def kind_of(ours: dict, theirs: dict) -> str:
    if ours["metadata"]:
        return ours["metadata"]["content_type"]
    return theirs.get("File:MIMEType") or "unknown"


def main() -> int:
    binary, folder, report = os.path.abspath(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    files = sorted(
        path.relative_to(folder) for path in folder.rglob("*")
        if path.suffix.lower().lstrip(".") in SUFFIXES and path.is_file() and not path.is_symlink())
    ours, theirs = said_by_us(binary, files, folder), said_by_exiftool(files, folder)
    formats = collections.defaultdict(collections.Counter)
    fields = collections.defaultdict(collections.Counter)
    lines, bad = [], []
    for file in map(str, files):
        if file not in ours:
            bad.append(f"{file}: no line")
            continue
        document, tags = ours[file], theirs.get(file, {})
        row = formats[kind_of(document, tags)]
        row["files"] += 1
        row[document["status"]] += 1
        row["thumbnails"] += bool(document["thumbnail"])
        row["exiftool"] += bool(tags) and "ExifTool:Error" not in tags
        if document["reason"] in BAD_REASONS:
            row["bad"] += 1
            lines.append(f"{file}: {document['reason']} ({document['status']})")
        if document.get("thumbnail_begin", b"\xff\xd8\xff") != b"\xff\xd8\xff":
            bad.append(f"{file}: the thumbnail is no JPEG")
        if document["reason"] == "malformedAnswer":
            bad.append(f"{file}: {document['reason']}")
        if document["status"] == "unreadable" and tags and "ExifTool:Error" not in tags:
            lines.append(f"{file}: refused ({document['reason']}), ExifTool: {tags.get('File:MIMEType')}")
        if document["status"] != "found" or not tags or "ExifTool:Error" in tags:
            continue
        metadata = document["metadata"]
        for field, value in said(tags).items():
            if metadata[field] in (None, []) and value in (None, []):
                continue
            fields[field]["of"] += 1
            if same(field, metadata[field], value):
                fields[field]["same"] += 1
            else:
                lines.append(f"{file}: {field}: {metadata[field]!r}, ExifTool: {value!r}")
    print(f"{'format':24} files  read nothing refused crashed thumbnails  ExifTool reads")
    for kind, row in sorted(formats.items()):
        print(
            f"{kind:24} {row['files']:5} {row['found']:5} {row['nothing']:7} {row['unreadable']:7} {row['bad']:7} "
            f"{row['thumbnails']:10}  {row['exiftool']:14}")
    print()
    for field, row in fields.items():
        print(f"{field:18} {row['same']:5} of {row['of']:5} the same")
    agreed, compared = sum(row["same"] for row in fields.values()), sum(row["of"] for row in fields.values())
    print(f"{len(files)} files, {compared} values, {100 * agreed / max(1, compared):.2f}% the same; the others: {report}")
    report.write_text("\n".join(lines) + "\n")
    for line in bad:
        print(line)
    return 1 if bad or not compared or agreed < AGREEMENT * compared else 0


if __name__ == "__main__":
    sys.exit(main())
