#!/usr/bin/env bash
# unmount-left.sh FOLDER: takes away what a run that was killed has left mounted below FOLDER.
set -euo pipefail

folder=$(realpath "$1")
if mountpoint -q "$folder/scratch/fresh"; then umount "$folder/scratch/fresh"; fi
# What has died is still mounted, and cannot be looked at: the kernel's list is asked.
awk -v below="$folder/mounts/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo | while IFS= read -r escaped; do
    fusermount3 -u -z "$(printf '%b' "$escaped")"
done
if [ -d "$folder/mounts" ]; then rmdir --ignore-fail-on-non-empty "$folder"/mounts/* "$folder/mounts" 2>/dev/null || true; fi
