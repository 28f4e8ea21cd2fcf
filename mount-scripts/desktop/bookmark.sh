#!/bin/sh
# Shows the mounted folder in the sidebar of Nautilus, Thunar, Nemo, Caja and the file dialogs of GTK, or takes it out again.
#
#     bookmark.sh add|remove [MOUNTPOINT] [NAME]      (MOUNTPOINT: /mnt/backups, NAME: Backups)
#
# Each user runs it for himself. It may be run again and again; other bookmarks stay as they are. Exit code 2: wrong command line.
set -eu

action=${1:-}
mountpoint=${2:-/mnt/backups}
name=${3:-Backups}
case $action in
    add | remove) ;;
    *) echo "usage: bookmark.sh add|remove [MOUNTPOINT] [NAME]" >&2 && exit 2 ;;
esac
case $mountpoint in
    /*) ;;
    *) echo "bookmark.sh: \"$mountpoint\" is no absolute path" >&2 && exit 2 ;;
esac
[ "$mountpoint" = / ] || mountpoint=${mountpoint%/}
newline='
'
case $name in
    *"$newline"*) echo "bookmark.sh: a name is one line" >&2 && exit 2 ;;
esac

# As file managers write paths: bytes other than these as %XX.
encoded=$(printf '%s' "$mountpoint" | od -An -v -tx1 | tr -d '\n' | awk '
    BEGIN { for (i = 33; i < 127; i++) { c = sprintf("%c", i); if (c ~ /[A-Za-z0-9\/._~!$&()*+,;=:@-]/ || c == "\047") plain[sprintf("%02x", i)] = c } }
    { for (i = 1; i <= NF; i++) printf "%s", ($i in plain) ? plain[$i] : "%" toupper($i) }')
uri=file://$encoded

folder=${XDG_CONFIG_HOME:-$HOME/.config}/gtk-3.0
file=$folder/bookmarks
[ "$action" = add ] || [ -e "$file" ] || exit 0
mkdir -p "$folder"
# Through a link (of a user who keeps such files elsewhere) the file behind it is replaced.
[ ! -L "$file" ] || file=$(readlink -f "$file")

# Beside the file, so that the rename is one step: file managers watch it. A bookmark is a line: the address, a space, the name.
draft=$(mktemp "$file.XXXXXX")
trap 'rm -f "$draft"' EXIT
if [ -e "$file" ]; then
    chmod --reference="$file" "$draft"
    # One that is there keeps its place.
    URI=$uri NAME=$name ACTION=$action awk '
        BEGIN { uri = ENVIRON["URI"] }
        $1 == uri { if (ENVIRON["ACTION"] == "add" && !done++) print uri " " ENVIRON["NAME"]; next }
        { print }
        END { if (ENVIRON["ACTION"] == "add" && !done) print uri " " ENVIRON["NAME"] }' "$file" > "$draft"
else
    printf '%s %s\n' "$uri" "$name" > "$draft"
fi
if [ -e "$file" ] && cmp -s "$draft" "$file"; then exit 0; fi
mv -f "$draft" "$file"
trap - EXIT
