#!/bin/sh
# Is the store mounted, does the mount answer, and is the store well? One line, and an exit code for monitors (as plugins of Nagios, Icinga,
# Sensu and others have them):
#
#     health.sh [-s STORE] [-t SECONDS] [-a HOURS] MOUNTPOINT
#
#     0 OK          all of it
#     1 WARNING     an operation failed and no backup was made since, the app's database cannot be read, or the newest backup is older than HOURS
#     2 CRITICAL    not mounted, dead, no answer within SECONDS (10), or no store
#     3 UNKNOWN     wrong command line
#
# STORE is that of `backupfs status`, else the default one. Run it as a user who has access to the mount: the one who mounted, or any with allow_other.
set -eu

program=@BINDIR@/backupfs
seconds=10
hours=
store=

answer() {
    # A message may have been made of a hostile file's text. What follows a bar is performance data to monitors.
    printf 'backupfs %s: %s\n' "$2" "$(printf '%s' "$3" | tr '|\n' '  ' | LC_ALL=C sed 's/[\x01-\x08\x0b-\x1f\x7f]//g; s/\xc2[\x80-\x9f]//g')"
    exit "$1"
}
unknown() { answer 3 UNKNOWN "$1; usage: health.sh [-s STORE] [-t SECONDS] [-a HOURS] MOUNTPOINT"; }

while getopts s:t:a: option 2>/dev/null; do
    case $option in
        s) store=$OPTARG ;;
        t) seconds=$OPTARG ;;
        a) hours=$OPTARG ;;
        *) unknown "wrong option" ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || unknown "one mountpoint is needed"
for number in "$seconds" "${hours:-1}"; do
    case $number in
        '' | *[!0-9]* | 0) unknown "\"$number\" is no number above 0" ;;
    esac
done
mountpoint=$1
case $mountpoint in /*) ;; *) mountpoint=$PWD/$mountpoint ;; esac
[ "$mountpoint" = / ] || mountpoint=${mountpoint%/}

# The table of mounts is asked first: a dead or hanging mount is not looked into by that. It writes spaces, tabs, newlines and backslashes in octal.
wanted=$(printf '%s' "$mountpoint" | awk '{ gsub(/\\/, "\\134"); gsub(/ /, "\\040"); gsub(/\t/, "\\011"); print }')
type=$(WANTED=$wanted awk '$5 == ENVIRON["WANTED"] { for (i = 7; i <= NF; i++) if ($i == "-") { type = $(i + 1); break } } END { print type }' \
    /proc/self/mountinfo)
case $type in
    fuse.backupfs) ;;
    '') answer 2 CRITICAL "nothing is mounted at $mountpoint" ;;
    *) answer 2 CRITICAL "a file system of type $type is mounted at $mountpoint" ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# in_time COMMAND…: its output in $state, its exit code in $status; 124 when it does not end within $seconds. It is not waited for then: a process
# whose request a hanging program has taken cannot be killed.
in_time() {
    rm -f "$scratch/status"
    (
        code=0
        "$@" >"$scratch/output" 2>&1 || code=$?
        echo "$code" >"$scratch/code" && mv "$scratch/code" "$scratch/status"
    ) </dev/null >/dev/null 2>&1 &
    tries=$((seconds * 20))
    while [ ! -e "$scratch/status" ]; do
        if [ "$tries" -eq 0 ]; then
            status=124
            return
        fi
        tries=$((tries - 1))
        sleep 0.05
    done
    status=$(cat "$scratch/status")
    state=$(cat "$scratch/output")
}

# Reading a file goes all the way through the program.
in_time cat -- "$mountpoint/status.json"
case $status in
    0) ;;
    124) answer 2 CRITICAL "no answer from $mountpoint within $seconds s" ;;
    *) answer 2 CRITICAL "$(printf '%s' "$state" | head -n 1)" ;;
esac

in_time "$program" status --json ${store:+--store "$store"}
case $status in
    0) ;;
    124) answer 2 CRITICAL "no answer from the store within $seconds s" ;;
    # With --json an error is a JSON object, whose message is for people.
    *)
        message=$(printf '%s\n' "$state" | sed -n 's/.*"message" *: *"\([^"]*\)".*/\1/p' | head -n 1)
        answer 2 CRITICAL "${message:-backupfs status ended with exit code $status}"
        ;;
esac

# A member of the object itself stands at the first indentation.
member() { printf '%s\n' "$state" | sed -n "s/^ \{2,4\}\"$1\" *: *\(.*[^,]\),\{0,1\}\$/\1/p" | head -n 1; }
# Of a member that is an object: one of its members, a text.
within() { printf '%s\n' "$state" | sed -n "/^  \"$1\"/,\$p" | sed -n "s/.*\"$2\" *: *\"\(.*\)\",\{0,1\}\$/\1/p" | head -n 1; }

case $(member repositoryError) in
    null | '') ;;
    *) answer 1 WARNING "repositoryError: $(member repositoryError | tr -d '"')" ;;
esac
case $(member databaseError) in
    null | '') ;;
    *) answer 1 WARNING "databaseError: $(member databaseError | tr -d '"')" ;;
esac
newest=
if [ "$(member lastBackup)" != null ]; then newest=$(within lastBackup createdAt); fi
# Times are all in UTC and in one form: the later one is the one that is sorted last.
if [ "$(member lastError)" != null ]; then
    failed=$(within lastError at)
    last=$(printf '%s\n' "$failed" "$newest" | LC_ALL=C sort | tail -n 1)
    if [ "$failed" != "$newest" ] && [ "$last" = "$failed" ]; then answer 1 WARNING "lastError: $(within lastError message)"; fi
fi

if [ -n "$hours" ]; then
    [ -n "$newest" ] || answer 1 WARNING "there is no backup yet"
    age=$((($(date +%s) - $(date -d "$newest" +%s)) / 3600))
    [ "$age" -lt "$hours" ] || answer 1 WARNING "the newest backup is $age h old ($newest)"
fi
answer 0 OK "mounted at $mountpoint, newest backup: ${newest:-none}"
