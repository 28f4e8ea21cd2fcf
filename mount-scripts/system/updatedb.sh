#!/bin/sh
# Keeps `locate` out of mounted backups, which have everything many times over, or lets it in again: adds fuse.backupfs to PRUNEFS in the settings
# of updatedb(8), or removes it.
#
#     updatedb.sh add|remove [FILE]      (FILE: /etc/updatedb.conf)
#
# It may be run again and again. Exit code 2: wrong command line; 1: there is no such file, or no right to change it.
set -eu

type=fuse.backupfs
action=${1:-}
file=${2:-/etc/updatedb.conf}
case $action in
    add | remove) ;;
    *) echo "usage: updatedb.sh add|remove [FILE]" >&2 && exit 2 ;;
esac
if [ ! -f "$file" ]; then
    if [ "$action" = remove ]; then exit 0; fi
    echo "updatedb.sh: $file is not there. Install plocate (or mlocate) first, or name the file." >&2
    exit 1
fi
[ ! -L "$file" ] || file=$(readlink -f "$file")

draft=$(mktemp "$file.XXXXXX")
trap 'rm -f "$draft"' EXIT
chmod --reference="$file" "$draft"
# PRUNEFS = "nfs ext2 ..." on one line; the last such line counts. Words that are there stay in their order.
TYPE=$type ACTION=$action awk '
    { lines[NR] = $0 }
    /^[ \t]*PRUNEFS[ \t]*=/ { last = NR }
    END {
        type = ENVIRON["TYPE"]; adds = ENVIRON["ACTION"] == "add"
        for (i = 1; i <= NR; i++) {
            if (i == last) {
                words = lines[i]; sub(/^[^=]*=[ \t]*/, "", words)
                comment = ""
                if (match(words, /"[ \t]*#.*$/)) { comment = substr(words, RSTART + 1); words = substr(words, 1, RSTART) }
                gsub(/"/, "", words)
                count = split(words, list, /[ \t]+/); found = 0; kept = ""
                for (j = 1; j <= count; j++) {
                    if (list[j] == "") continue
                    if (tolower(list[j]) == type) { found = 1; if (!adds) continue }
                    kept = kept (kept == "" ? "" : " ") list[j]
                }
                if (adds != found) { if (adds) kept = kept (kept == "" ? "" : " ") type; lines[i] = "PRUNEFS=\"" kept "\"" comment }
            }
            print lines[i]
        }
        if (!last && adds) print "PRUNEFS=\"" type "\""
    }' "$file" > "$draft"
if cmp -s "$draft" "$file"; then exit 0; fi
mv -f "$draft" "$file"
trap - EXIT
