#!/usr/bin/env bash
# Tries the mounted folder and the menus in real file managers: check.sh BINARY [PICTURE-FOLDER]
# Thunar, Nautilus, Dolphin and Chromium run on an X server without a screen, with a notification server (dunst) whose buttons are pressed.
# film.py does what a person would do, and checks what came of it; with a folder, it leaves a picture of each step there.
# All is temporary: the store, the home folder, and the mount at /mnt/backups, which only the processes of this script see.
# `make test-desktop` installs what it needs.
set -euo pipefail

# In a namespace of its own, whose mounts go with its last process.
if [ -z "${BACKUPFS_DESKTOP:-}" ]; then
    exec env BACKUPFS_DESKTOP=1 unshare --user --map-root-user --mount --pid --fork --mount-proc --kill-child bash "$0" "$@"
fi

scripts=$(dirname "$(realpath "$0")")
binary=$(realpath "$1")
pictures=$(realpath -m "${2:-/nonexistent}")
readonly scripts binary pictures limit_seconds=60 mountpoint=/mnt/backups
work=$(mktemp -d)
readonly work
# Indexers of the desktop may still write.
trap 'rm -rf --one-file-system "$work" 2>/dev/null || true' EXIT

# As `make install` puts them.
mkdir -p "$work"/{bin,share/{applications,kio/servicemenus,Thunar/sendto,nautilus-python/extensions},home}
ln -s "$binary" "$work/bin/backupfs"
put() { sed "s|@BINDIR@|$work/bin|g" "$scripts/$1" >"$work/$2"; }
put backupfs.desktop share/applications/backupfs.desktop
put dolphin.desktop share/kio/servicemenus/backupfs.desktop
# Dolphin runs only what belongs to root or may be executed.
chmod 755 "$work/share/kio/servicemenus/backupfs.desktop"
put thunar-versions.desktop share/Thunar/sendto/backupfs-versions.desktop
put thunar-restore.desktop share/Thunar/sendto/backupfs-restore.desktop
put thunar-delete.desktop share/Thunar/sendto/backupfs-delete.desktop
put nautilus.py share/nautilus-python/extensions/backupfs.py

desktop-file-validate "$work/share/applications/backupfs.desktop"
# The folder that a program has shown is noted.
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\nprintf "%%s\\n" "$1" >>%s\n' "$work/shown" >"$work/bin/xdg-open"
chmod 755 "$work/bin/xdg-open"

mount -t tmpfs tmpfs /mnt
mkdir "$mountpoint"
"$binary" init --sample --app smilepile --store "$work/store" >/dev/null
"$binary" mount --store "$work/store" "$mountpoint"

export HOME=$work/home LC_ALL=C.UTF-8 PATH=$work/bin:$PATH XDG_RUNTIME_DIR=$work/run XDG_DATA_DIRS=$work/share:/usr/local/share:/usr/share
unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME DBUS_SESSION_BUS_ADDRESS LANGUAGE
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkdir -p "$HOME/.config/dunst" "$HOME/.config/xfce4/xfconf/xfce-perchannel-xml"
# A button is pressed by the program that would show a menu of the buttons: it prints the line with the wanted one.
cat >"$HOME/.config/dunst/dunstrc" <<EOF_SETTINGS
[global]
dmenu = $work/bin/press
width = 360
origin = top-right
font = DejaVu Sans 9
EOF_SETTINGS
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\nexec grep -m 1 -F "$(cat %s)"\n' "$work/wanted" >"$work/bin/press"
chmod 755 "$work/bin/press"
# In a list, each file can be found by its name.
cat >"$HOME/.config/xfce4/xfconf/xfce-perchannel-xml/thunar.xml" <<'EOF_SETTINGS'
<?xml version="1.0" encoding="UTF-8"?>
<channel name="thunar" version="1.0">
  <property name="last-view" type="string" value="ThunarDetailsView"/>
  <property name="default-view" type="string" value="ThunarDetailsView"/>
  <property name="last-window-width" type="int" value="860"/>
  <property name="last-window-height" type="int" value="560"/>
</channel>
EOF_SETTINGS

# The server writes the number of its display, the first free one, as soon as it accepts programs.
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 1000x700x24 -nolisten tcp 3>"$work/display" 2>"$work/Xvfb.log" &
read -r -t "$limit_seconds" number <"$work/display" || { echo "No X server after $limit_seconds s" >&2; exit 1; }
export DISPLAY=:$number

# Not as root, of which file managers warn. Python as the system has it, with its package for accessible programs.
export BACKUPFS_FILM="$work" BACKUPFS_FILM_PICTURES="$pictures" GTK_MODULES=gail:atk-bridge
unshare --user --map-user=1000 --map-group=1000 dbus-run-session -- /usr/bin/python3 "$scripts/film.py" > >(grep ': right$') 2>"$work/film.log" || {
    grep -v '^$\|dbus-daemon\|WARNING\|CRITICAL' "$work/film.log" | tail -n 40 >&2
    exit 1
}
"$binary" umount "$mountpoint" >/dev/null
