#!/usr/bin/env bash
# run.sh BINARY: installs the programs to compare with, and runs the comparison. `make help` lists what can be set.
set -euo pipefail

BACKUPFS_BINARY=$(realpath "$1")
BENCH_DIR=${BENCH_DIR:-/var/tmp/backupfs-bench}
here=$(cd "$(dirname "$0")" && pwd)

"$here/../install-dependencies.sh" bench
# Only what this script has made is ever removed by `make bench-clean`.
if [ -e "$BENCH_DIR" ] && [ ! -e "$BENCH_DIR/.backupfs-bench" ] && [ -n "$(ls -A "$BENCH_DIR")" ]; then
    echo "$BENCH_DIR is not a folder of this script's. Choose another: BENCH_DIR=/some/folder" >&2
    exit 1
fi
mkdir -p "$BENCH_DIR"
BENCH_DIR=$(realpath "$BENCH_DIR")
touch "$BENCH_DIR/.backupfs-bench"
# Left by a run that was killed.
if mountpoint -q "$BENCH_DIR/scratch/fresh"; then umount "$BENCH_DIR/scratch/fresh"; fi

# The bars are about BorgBackup 1.4, which older distributions do not have.
BORG_BINARY=$(command -v borg)
case $(borg --version) in
    'borg 1.4.'*) ;;
    *)
        environment=$BENCH_DIR/borg-1.4
        python=python3
        # The headers that Debian installs are for Debian's own Python.
        if [ -x /usr/bin/python3 ]; then python=/usr/bin/python3; fi
        if [ ! -x "$environment/bin/borg" ]; then
            echo "Building BorgBackup 1.4 in $environment (some minutes, once)"
            rm -rf "$environment"
            if ! "$python" -m venv "$environment" ||
                ! "$environment/bin/pip" install --quiet 'borgbackup==1.4.*' 2> "$BENCH_DIR/borg-build.log"; then
                rm -rf "$environment"
            fi
        fi
        if [ -x "$environment/bin/borg" ]; then
            BORG_BINARY=$environment/bin/borg
        else
            echo "*****" >&2
            echo "***** BorgBackup 1.4 COULD NOT BE BUILT (see $BENCH_DIR/borg-build.log)." >&2
            echo "***** Comparing with $(borg --version) instead, which is SLOWER: do not judge by it." >&2
            echo "*****" >&2
        fi
        ;;
esac

export BACKUPFS_BINARY BENCH_DIR BORG_BINARY
# Bytecode would be left in the source tree.
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$here/bench.py"
