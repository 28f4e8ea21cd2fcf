#!/usr/bin/env bash
# Says loudly when this machine cannot mount FUSE file systems: check-fuse.sh mount|test
set -euo pipefail

if [ "${1:-mount}" = test ] && [ "${BACKUPFS_SKIP_MOUNTED_TESTS:-}" = 1 ]; then
    echo "NOTE: mounted tests are skipped, as BACKUPFS_SKIP_MOUNTED_TESTS=1 asks for." >&2
    exit 0
fi

if [ ! -e /dev/fuse ]; then
    problem="there is no /dev/fuse"
    remedy="Load the kernel module (modprobe fuse); in a container, start it with --device /dev/fuse --cap-add SYS_ADMIN."
elif [ ! -r /dev/fuse ] || [ ! -w /dev/fuse ]; then
    problem="/dev/fuse may not be opened by $(id -un)"
    remedy="As root: chmod 666 /dev/fuse"
elif [ "$(id -u)" -ne 0 ] && ! command -v fusermount3 >/dev/null; then
    problem="fusermount3 is missing, without which an ordinary user cannot mount"
    remedy="Install the package fuse3."
else
    exit 0
fi

{
    echo "************************************************************************"
    echo "This machine cannot mount FUSE file systems: $problem."
    echo "$remedy"
    if [ "${1:-mount}" = test ]; then
        echo "To run the other tests only: make test BACKUPFS_SKIP_MOUNTED_TESTS=1"
    fi
    echo "************************************************************************"
} >&2
exit 1
