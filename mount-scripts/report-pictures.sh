#!/usr/bin/env bash
# Makes the pictures of reports: report-pictures.sh BINARY [FOLDER]
# Two jobs are run for them, in a temporary folder: one that is complete, shown as a PDF, and one that is not, shown as HTML.
# BINARY must have backupfs-media beside it. `make screenshot` installs what this needs.
set -euo pipefail

# In a namespace of its own, where /media is what the reports name.
if [ -z "${BACKUPFS_PICTURES:-}" ]; then
    exec env BACKUPFS_PICTURES=1 unshare --user --map-root-user --mount bash "$0" "$@"
fi

cd "$(dirname "$0")/.."
binary=$(realpath "$1")
folder=$(realpath "${2:-Docs/images}")
readonly binary folder resolution=96
work=$(mktemp -d)
readonly work
trap 'rm -rf --one-file-system "$work"' EXIT

mkdir "$work/media"
mount --bind "$work/media" /media
export HOME=$work/home LC_ALL=C.UTF-8 TZ=UTC BACKUPFS_NOW=2026-01-11T14:30:00Z
unset XDG_STATE_HOME XDG_DATA_HOME BACKUPFS_STORE
readonly card=/media/A001_C03
mkdir -p "$HOME" "$card/DCIM/100MEDIA" "$card/CLIPS" /media/raid /media/shuttle /media/travel
for number in 1 2 3 4; do
    vips sines "$work/sine.v" 900 600 --hfreq "$number" --vfreq 3
    vips linear "$work/sine.v" "$work/grey.v" 100 128 --uchar
    vips copy "$work/grey.v" "$card/DCIM/100MEDIA/IMG_000$number.jpg"
done
for number in 1 2 3 4 5 6; do head -c $((number * 700000)) /dev/urandom > "$card/CLIPS/C000$number.MP4"; done
printf 'Take 3 is the good one' > "$card/notes.txt"
printf '<svg xmlns="http://www.w3.org/2000/svg" width="360" height="80"><rect width="360" height="80" fill="#1b2733"/><text x="24" y="54" font-family="DejaVu Sans" font-size="38" fill="#ffffff">Example Films</text></svg>' \
    > "$work/logo.svg"
vips copy "$work/logo.svg" "$work/logo.png"
find "$card" -type f -exec touch -d '2026-01-11 09:15:00' {} +

report() { # FORMAT DESTINATION… : prints the path of the report
    local format=$1 job
    shift
    job=$({ "$binary" copy --json "$card" "$@" 2>/dev/null || [ $? = 3 ]; } | tail -n 1 | jq -r .job)
    "$binary" report "$job" --format "$format" --output "$work/out" --company 'Example Films' --client 'Example Television' \
        --production 'The Long Example' --logo "$work/logo.png" --notes 'Second unit, camera B' --thumbnails
}

pdf=$(report pdf /media/raid /media/shuttle)
printf 'another note' > /media/raid/notes.txt
html=$(report html /media/raid /media/travel)
weasyprint --quiet "$html" "$work/html.pdf"

picture() { # PDF NAME
    pdftoppm -r "$resolution" -f 1 -l 1 -singlefile -png "$1" "$work/page"
    vips copy "$work/page.png" "$folder/$2[palette,Q=90,strip,compression=9]"
}
picture "$pdf" report-pdf.png
picture "$work/html.pdf" report-html.png
