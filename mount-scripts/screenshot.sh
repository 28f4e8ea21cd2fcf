#!/usr/bin/env bash
# Makes the picture of a mounted store in a file manager: screenshot.sh BINARY [PICTURE]
# All is temporary: the store, and the mount at /mnt/backups, which only the processes of this script see. `make screenshot` installs
# what it needs.
set -euo pipefail

# In a namespace of its own, whose mounts go with its last process.
if [ -z "${BACKUPFS_SCREENSHOT:-}" ]; then
    exec env BACKUPFS_SCREENSHOT=1 unshare --user --map-root-user --mount --pid --fork --mount-proc --kill-child bash "$0" "$@"
fi

cd "$(dirname "$0")/.."
binary=$(realpath "$1")
readonly binary picture=${2:-Docs/images/file-manager.png}
readonly width=860 height=400 limit_seconds=60 mountpoint=/mnt/backups
work=$(mktemp -d)
readonly work
trap 'rm -rf --one-file-system "$work"' EXIT

fail() { echo "$1 after $limit_seconds s" >&2; exit 1; }

# A store with three backups.
mount -t tmpfs tmpfs /mnt
mkdir "$mountpoint"
"$binary" init --sample --store "$work/store" >/dev/null
"$binary" mount --store "$work/store" "$mountpoint"
for name in before-upgrade monday tuesday; do mkdir "$mountpoint/snapshots/$name"; done

# A home folder of its own: the picture must not depend on the settings of the user who makes it.
export HOME=$work/home XDG_RUNTIME_DIR=$work/run LC_ALL=C.UTF-8 NO_AT_BRIDGE=1
unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME DBUS_SESSION_BUS_ADDRESS
mkdir -p "$HOME/.config/pcmanfm/default"
mkdir -m 700 "$XDG_RUNTIME_DIR"
cat > "$HOME/.config/pcmanfm/default/pcmanfm.conf" <<EOF_SETTINGS
[ui]
win_width=$width
win_height=$height
splitter_pos=240
view_mode=list
side_pane_mode=dirtree
EOF_SETTINGS
cat > "$HOME/.gtkrc-2.0" <<'EOF_SETTINGS'
gtk-theme-name = "Adwaita"
gtk-icon-theme-name = "Adwaita"
gtk-font-name = "DejaVu Sans 9"
EOF_SETTINGS

# The server writes the number of its display, the first free one, as soon as it accepts programs.
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 "${width}x${height}x24" -nolisten tcp 3>"$work/display" 2>"$work/Xvfb.log" &
read -r -t "$limit_seconds" number < "$work/display" || fail "No X server"
export DISPLAY=:$number

# Not as root, of which file managers warn.
unshare --user --map-user=1000 --map-group=1000 pcmanfm --no-desktop "$mountpoint/snapshots/before-upgrade" >"$work/pcmanfm.log" 2>&1 &
window=$(timeout "$limit_seconds" xdotool search --sync --onlyvisible --class pcmanfm | head -n 1) || fail "No window of the file manager"
xdotool windowmove "$window" 0 0

photograph() { import -window root +dither -colors 128 -strip "png8:$1"; }

# Waits until the window has many colours (icons and texts are there), is not the same as the picture $1 and no longer changes.
photograph_window() {
    local end=$((SECONDS + limit_seconds))
    photograph "$work/last"
    while photograph "$work/now"; ! cmp -s "$work/last" "$work/now" || cmp -s "$1" "$work/now" || [ "$(identify -format %k "$work/now")" -lt 60 ]; do
        [ "$SECONDS" -lt "$end" ] || fail "No complete picture"
        mv "$work/now" "$work/last"
        sleep 0.3
    done
}

# The file manager scrolls the tree to the open folder; three turns of the wheel show the folders above it as well.
photograph_window /dev/null
mv "$work/now" "$work/unscrolled"
xdotool mousemove 100 250 click --repeat 3 4
photograph_window "$work/unscrolled"
mkdir -p "$(dirname "$picture")"
cp "$work/now" "$picture"
echo "$picture: $(identify -format %wx%h "$picture"), $(stat -c %s "$picture") bytes"
"$binary" umount "$mountpoint" >/dev/null
