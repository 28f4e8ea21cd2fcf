#!/usr/bin/env bash
# run-tests.sh [--split PATTERN]... COMMAND...: runs the tests and, when some fail, says once more at the end which and why. Thousands
# of lines come in between, and a log is often cut to its last few.
#
# --split: the tests whose names begin with what matches the pattern run in a process of their own, at the same time. One process runs no
# more tests at once than there are processors, and most of these tests wait for programs. COMMAND is then the test program itself: of several `swift test` in one build
# folder, one can find the build database locked, and runs no test.
set -uo pipefail

splits=()
while [ "$1" = --split ]; do
    splits+=("$2")
    shift 2
done
readonly splits

# The tests expect English, wherever they run.
unset LANGUAGE
export LC_ALL=C.UTF-8
# A log is no terminal; without `swift test` in between, the test program colors its lines all the same.
export NO_COLOR=1

# `python3` can be a script that takes several times as long to find Python as Python takes to start (pyenv), and Python then reads
# what its installed packages want to do at each start (*.pth), which takes longer than most of the tests' scripts. So the tests have a
# virtual environment, with links to the packages and without those files. Python starts in it over a thousand times.
tools=$(mktemp -d)
make_python() {
    local python packages place
    python=$(python3 -c 'import sys; print(sys.executable if sys.prefix == sys.base_prefix else "")' 2>/dev/null)
    mkdir "$tools/bin"
    [ -n "$python" ] || return
    ln -s "$python" "$tools/bin/python3"
    packages=$tools/lib/$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/site-packages
    mkdir -p "$packages"
    # Of two packages with one name, that of the first folder counts, as in Python's own path.
    "$python" -c 'import site, sys; print(*[place for place in sys.path if place in site.getsitepackages()], sep="\n")' |
        while read -r place; do
            find "$place" -mindepth 1 -maxdepth 1 ! -name '*.pth' -exec ln -s -t "$packages" {} + 2>/dev/null
        done
    printf 'home = %s\ninclude-system-site-packages = false\n' "$(dirname "$python")" >"$tools/pyvenv.cfg"
    # All that the tests ask of it. If something is not found, they get Python as it is.
    "$tools/bin/python3" -c 'import boto3, cryptography, jsonschema, sqlite3, yaml' 2>/dev/null || rm "$tools/pyvenv.cfg"
}
make_python
export PATH=$tools/bin:$PATH

# Most tests make and synchronize thousands of small files, and wait for the disk more than for the processor. Where there is memory for
# them, they lie there. Mounted tests keep theirs in /tmp, and `make test-all` has all of them on the disk.
memory=
if [ -z "${TMPDIR:-}" ] && [ "${BACKUPFS_ROUNDS:-}" != all ]; then
    available_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
    free_kib=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)
    if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ "$available_kib" -ge 8388608 ] && [ "${free_kib:-0}" -ge 4194304 ]; then
        memory=$(mktemp -d /dev/shm/bfs.XXXXXX)
        # As /tmp: some tests have programs of other users.
        chmod 1777 "$memory"
        # Linux has had extended attributes there since version 6.6.
        if setfattr -n user.test -v 1 "$memory" 2>/dev/null; then
            setfattr -x user.test "$memory"
            # For those that need a disk.
            export BACKUPFS_TEST_DISK=/tmp TMPDIR=$memory
        else
            rmdir "$memory"
            memory=
        fi
    fi
fi

log=$(mktemp)
# Before the cache is another: the servers that install-dependencies.sh has put there.
export BACKUPFS_TEST_TOOLS=${BACKUPFS_TEST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/backupfs-test}
# Catalogs of repositories that have no store, and that the user's own cache must not keep.
cache=$(mktemp -d)
export XDG_CACHE_HOME=$cache
trap 'rm -rf "$log" "$log".* "$cache" "$tools" ${memory:+"$memory"}' EXIT

if [ "${#splits[@]}" -gt 0 ]; then
    if [ "${BACKUPFS_ROUNDS:-}" != all ]; then
        # Of the campaigns, a part in each run (Rounds.swift). The number repeats a run.
        export BACKUPFS_ROTATION=${BACKUPFS_ROTATION:-$RANDOM}
        echo "Campaigns of rotation $BACKUPFS_ROTATION; all of them: make test-all"
    fi
    processes=()
    for number in "${!splits[@]}"; do
        # A shell without job control has its background processes ignore SIGINT, and theirs would inherit that.
        env --default-signal=INT,QUIT "$@" --filter "^${splits[number]}" >"$log.$number" 2>&1 &
        processes+=($!)
    done
    others=$(IFS='|' && echo "${splits[*]}")
    "$@" --skip "^($others)" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    for process in "${processes[@]}"; do wait "$process" || status=$?; done
    for number in "${!splits[@]}"; do tee -a "$log" <"$log.$number"; done
else
    "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
fi

if [ "$status" -ne 0 ]; then
    closing_line=$(grep -E '^[^ ]+ Test run with ' "$log")
    printf '\nWhat failed:\n'
    # The issue itself, and the lines below it that carry its values and comment.
    grep -E -A 3 '^[^ ]+ Test .* recorded an issue|error: |Fatal error' "$log" | grep -vE '^[^ ]+ (Test|Suite) .*(started|passed)' | tail -n 60
    printf '%s\n' "${closing_line:-The tests did not come to their end (exit code $status).}"
fi
exit "$status"
