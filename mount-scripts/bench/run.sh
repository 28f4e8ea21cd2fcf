#!/usr/bin/env bash
# run.sh BINARY: installs the programs to compare with, and runs the comparison. `make help` lists what can be set.
set -euo pipefail

BACKUPFS_BINARY=$(realpath "$1")
BENCH_DIR=${BENCH_DIR:-/var/tmp/backupfs-bench}
here=$(cd "$(dirname "$0")" && pwd)

sections=${SECTIONS:-backups,mounts,remote,records,responsiveness,photos,copy}
# Records are compared with programs that everybody has.
case $sections in
    records | remote | photos | copy) "$here/../install-dependencies.sh" "$sections" ;;
    *) "$here/../install-dependencies.sh" bench ;;
esac
# Only what this script has made is ever removed by `make bench-clean`.
if [ -e "$BENCH_DIR" ] && [ ! -e "$BENCH_DIR/.backupfs-bench" ] && [ -n "$(ls -A "$BENCH_DIR")" ]; then
    echo "$BENCH_DIR is not a folder of this script's. Choose another: BENCH_DIR=/some/folder" >&2
    exit 1
fi
mkdir -p "$BENCH_DIR"
BENCH_DIR=$(realpath "$BENCH_DIR")
touch "$BENCH_DIR/.backupfs-bench"
"$here/unmount-left.sh" "$BENCH_DIR"

# The headers that Debian installs are for Debian's own Python.
python=python3
if [ -x /usr/bin/python3 ]; then python=/usr/bin/python3; fi

# install_with_pip NAME PACKAGE: into an environment of its own, in $BENCH_DIR/NAME. Fails if that cannot be.
install_with_pip() {
    local environment=$BENCH_DIR/$1
    [ -x "$environment/bin/pip" ] || "$python" -m venv "$environment" || return 1
    "$environment/bin/pip" install --quiet "$2" 2> "$BENCH_DIR/${1%%-*}-build.log"
}

# The bars are about BorgBackup 1.4, which older distributions do not have.
BORG_BINARY=$(command -v borg || true)
case $sections/$(borg --version 2>/dev/null || true) in
    records/* | remote/* | photos/* | copy/* | */'borg 1.4.'*) ;;
    *)
        environment=$BENCH_DIR/borg-1.4
        # Without pyfuse3 it cannot mount.
        if ! { [ -x "$environment/bin/borg" ] && "$environment/bin/python" -c 'import pyfuse3' 2>/dev/null; }; then
            echo "Building BorgBackup 1.4 in $environment (some minutes, once)"
            install_with_pip borg-1.4 'borgbackup[pyfuse3]==1.4.*' || install_with_pip borg-1.4 'borgbackup==1.4.*' ||
                rm -rf "$environment"
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

RATARMOUNT_BINARY=$(command -v ratarmount || true)
environment=$BENCH_DIR/ratarmount
if [ -z "$RATARMOUNT_BINARY" ] && [[ $sections == *mounts* ]]; then
    if [ ! -x "$environment/bin/ratarmount" ]; then
        echo "Installing ratarmount in $environment (once)"
        install_with_pip ratarmount ratarmount || rm -rf "$environment"
    fi
    if [ -x "$environment/bin/ratarmount" ]; then RATARMOUNT_BINARY=$environment/bin/ratarmount; fi
fi

export BACKUPFS_BINARY BENCH_DIR BORG_BINARY RATARMOUNT_BINARY
# Bytecode would be left in the source tree.
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$here/bench.py"
