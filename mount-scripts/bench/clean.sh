#!/usr/bin/env bash
# Removes all that `make bench` has made: corpora, repositories, the borg it built, results.
set -euo pipefail

BENCH_DIR=${BENCH_DIR:-/var/tmp/backupfs-bench}
[ -e "$BENCH_DIR" ] || exit 0
if [ ! -e "$BENCH_DIR/.backupfs-bench" ]; then
    echo "$BENCH_DIR is not a folder that \`make bench\` has made; nothing was removed." >&2
    exit 1
fi
# Left by a run that was killed.
if mountpoint -q "$BENCH_DIR/scratch/fresh"; then umount "$BENCH_DIR/scratch/fresh"; fi
rm -rf "$BENCH_DIR"
