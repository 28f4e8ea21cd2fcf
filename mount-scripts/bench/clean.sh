#!/usr/bin/env bash
# Removes all that `make bench` has made: corpora, repositories, the borg it built, results.
set -euo pipefail

BENCH_DIR=${BENCH_DIR:-/var/tmp/backupfs-bench}
[ -e "$BENCH_DIR" ] || exit 0
if [ ! -e "$BENCH_DIR/.backupfs-bench" ]; then
    echo "$BENCH_DIR is not a folder that \`make bench\` has made; nothing was removed." >&2
    exit 1
fi
"$(dirname "$0")/unmount-left.sh" "$BENCH_DIR"
rm -rf --one-file-system "$BENCH_DIR"
