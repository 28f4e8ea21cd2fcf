#!/usr/bin/env bash
# Mounts the default store, with sample data when it is new: mount-default.sh BINARY
# MOUNT names another mountpoint, BACKUPFS_STORE another store.
set -euo pipefail

readonly binary=$1
home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
export HOME=$home
readonly store=${BACKUPFS_STORE:-${XDG_DATA_HOME:-$home/.local/share}/backupfs}
if [ "$(id -u)" -eq 0 ]; then default_mountpoint=/mnt/backups; else default_mountpoint=$home/backups; fi
mountpoint=$(realpath --no-symlinks -m -- "${MOUNT:-$default_mountpoint}")
readonly mountpoint

# Only the mount table is asked at first: looking into the mountpoint of a dead daemon fails.
file_system_type() { findmnt --noheadings --output FSTYPE --mountpoint "$mountpoint" | tail -n 1; }

type=$(file_system_type || true)
case $type in
    "") ;;
    fuse.backupfs)
        if ls -- "$mountpoint" >/dev/null 2>&1; then
            echo "Already mounted: $mountpoint"
            echo "(A new build is used after: make umount mount)"
            exit 0
        fi
        # What a crashed daemon left is cleared by the program itself.
        ;;
    *)
        echo "Something else ($type) is mounted at $mountpoint. Choose another place: make mount MOUNT=/some/folder" >&2
        exit 1
        ;;
esac

# A store is never touched here when there is anything in its folder.
if [ -z "$(ls -A -- "$store" 2>/dev/null || true)" ]; then
    echo "Creating a store with sample data in $store"
    "$binary" init --sample --store "$store"
fi

if [ -z "$type" ]; then mkdir -p -- "$mountpoint"; fi
"$binary" mount --store "$store" "$mountpoint"

cat <<EOF_TEXT

Mounted at $mountpoint. Try:

    ls $mountpoint $mountpoint/live
    mkdir $mountpoint/snapshots/first                          # back up now
    ls -l $mountpoint/snapshots/latest/
    unzip -t $mountpoint/snapshots/latest/archive.zip
    sqlite3 $mountpoint/snapshots/latest/database.sqlite 'select count(*) from expenses'
    getfattr -n user.checksum.sha256 $mountpoint/snapshots/latest/export.json
    cp $mountpoint/snapshots/first/export.json $mountpoint/restore/   # restore it
    cat $mountpoint/restore/last.txt

Unmount with: $binary umount $mountpoint
EOF_TEXT
