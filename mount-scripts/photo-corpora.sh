#!/usr/bin/env bash
# Reads the photos with which other programs are tested, and compares each field with ExifTool's: photo-corpora.sh BINARY
# There are some 1,450 of them, many with flaws that have crashed decoders. They are in the sources of Debian's and PyPI's packages, which
# are downloaded once, 150 MB, into $CORPORA (~/.cache/backupfs-photos). What is printed is explained in Docs/how-to/photos.md.
set -euo pipefail

binary=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
corpora=${CORPORA:-${XDG_CACHE_HOME:-$HOME/.cache}/backupfs-photos}
readonly debian_packages="exiv2 libheif libjpeg-turbo tiff libwebp libimage-exiftool-perl vips"
readonly pypi_packages="pillow pillow-heif piexif exif imageio tifffile rawpy exifread hachoir"

mkdir -p "$corpora/files" "$corpora/downloads" "$corpora/apt/sources.list.d" "$corpora/apt/lists/partial"

# The system's own sources of packages, as sources of their source code: the system's lists stay as they are.
debian_source() {
    if [ ! -s "$corpora/apt/updated" ]; then
        for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
            [ -f "$file" ] || continue
            sed -e 's/^deb /deb-src /' -e 's/^Types:.*/Types: deb-src/' "$file" > "$corpora/apt/sources.list.d/${file##*/}"
        done
        apt "update" > /dev/null
        date > "$corpora/apt/updated"
    fi
    mkdir -p "$corpora/downloads/$1"
    (cd "$corpora/downloads/$1" && apt source --download-only "$1" > /dev/null)
    for archive in "$corpora/downloads/$1"/*.orig.tar.*; do
        case $archive in *.asc) ;; *) tar --extract --file "$archive" --directory "$2" ;; esac
    done
}

apt() {
    apt-get --quiet -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$corpora/apt/sources.list.d" \
        -o Dir::State::lists="$corpora/apt/lists" -o APT::Sandbox::User= "$@"
}

pypi_source() {
    local folder=$corpora/downloads/$1
    mkdir -p "$folder"
    python3 -m pip download --quiet --no-binary "$1" --no-deps --dest "$folder" "$1"
    for archive in "$folder"/*; do
        case $archive in
            *.zip) python3 -m zipfile --extract "$archive" "$2" ;;
            *) tar --extract --file "$archive" --directory "$2" ;;
        esac
    done
}

# get KIND NAME: one package, unless it is there. One that cannot be had is left out, and the table says how many files there are.
get() {
    local folder=$corpora/files/$2 draft=$corpora/draft
    [ ! -d "$folder" ] || return 0
    rm -rf "$draft"
    mkdir -p "$draft"
    if "$1_source" "$2" "$draft"; then mv "$draft" "$folder"; else echo "photo-corpora: $2 cannot be downloaded, and is left out" >&2; fi
}

for name in $debian_packages; do get debian "$name"; done
for name in $pypi_packages; do get pypi "$name"; done
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$here/photos/compare.py" "$binary" "$corpora/files" "$corpora/disagreements.txt"
