#!/usr/bin/env bash
# Makes the clips of this folder again: make.sh [FFMPEG]. They were made by FFmpeg 9.0.2 with libx264 and libx265.
# The first frame has four colours, one in each quarter, and all later ones are black: a picture says which frame it is of, and how it is turned.
set -euo pipefail
cd "$(dirname "$0")"
readonly ffmpeg=${1:-ffmpeg}
frames=$(mktemp)
readonly frames
trap 'rm -f "$frames"' EXIT
python3 - "$frames" <<'EOF_FRAMES'
import sys

WIDTH, HEIGHT = 64, 48
# Above: red and green. Below: blue and light grey.
COLOURS = [(200, 40, 40), (40, 160, 40), (40, 40, 200), (220, 220, 220)]
first = b"".join(bytes(COLOURS[2 * (y >= HEIGHT // 2) + (x >= WIDTH // 2)]) for y in range(HEIGHT) for x in range(WIDTH))
open(sys.argv[1], "wb").write(first + bytes(4 * len(first)))
EOF_FRAMES

# make FILE [OPTION…]
make() {
    local file=$1
    shift
    "$ffmpeg" -nostdin -hide_banner -loglevel error -y -f rawvideo -pix_fmt rgb24 -s 64x48 -r 25 -i "$frames" \
        -fflags +bitexact -flags:v +bitexact -map_metadata -1 -threads 1 "$@" "$file"
}
h264=(-c:v libx264 -crf 12 -x264-params threads=1)
hevc=(-c:v libx265 -crf 12 -x265-params log-level=none:pools=none:frame-threads=1 -tag:v hvc1)

# `moov` is at the end.
make h264-baseline.mp4 "${h264[@]}" -profile:v baseline -pix_fmt yuv420p
# `moov` is at the start; with B-frames.
make h264-high.mov "${h264[@]}" -profile:v high -bf 2 -pix_fmt yuv420p -movflags +faststart
make h264-main-several-slices.mp4 -c:v libx264 -crf 12 -x264-params threads=1:slices=3 -profile:v main -pix_fmt yuv420p
# Not of whole macroblocks.
make h264-cropped.mp4 "${h264[@]}" -profile:v high -vf crop=60:44:2:2 -pix_fmt yuv420p
# With a box for its colours.
make h264-bt709.mp4 "${h264[@]}" -profile:v high -pix_fmt yuv420p \
    -vf scale=out_color_matrix=bt709,setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709
# Pixels that are twice as wide as high.
make h264-wide-pixels.mp4 "${h264[@]}" -profile:v high -vf setsar=2 -pix_fmt yuv420p
make h264-full-range.mov "${h264[@]}" -profile:v high -pix_fmt yuvj420p -color_range pc
make hevc.mp4 "${hevc[@]}" -pix_fmt yuv420p
make hevc-10-bit.mov "${hevc[@]}" -pix_fmt yuv420p10le
make mjpeg.mov -c:v mjpeg -q:v 2 -pix_fmt yuvj420p
make mjpeg.avi -c:v mjpeg -q:v 2 -pix_fmt yuvj420p
# What no decoder here takes.
make h264-10-bit-422.mp4 "${h264[@]}" -profile:v high422 -pix_fmt yuv422p10le
make h264-interlaced.mp4 "${h264[@]}" -profile:v high -flags +ilme+ildct -pix_fmt yuv420p
make prores.mov -c:v prores_ks -profile:v 0 -pix_fmt yuv422p10le

# To be turned for showing, by the matrix alone.
turn() { "$ffmpeg" -nostdin -hide_banner -loglevel error -y -display_rotation "$1" -i "$2" -c copy -fflags +bitexact -map_metadata -1 "$3"; }
turn -90 h264-high.mov h264-right.mp4
turn 180 h264-high.mov h264-upside-down.mov
turn 90 hevc.mp4 hevc-left.mp4
