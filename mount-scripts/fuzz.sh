#!/usr/bin/env bash
# Feeds the readers of what strangers make with millions of inputs (libFuzzer, led by what of our code they reach), beginning with the corpora in
# Tests/Fuzz/Corpora. Why, and what an input is: Docs/decisions/0028-fuzzing.md.
#
#     mount-scripts/fuzz.sh SECONDS TARGETS SEED      (any may be empty)
#
# RUNS=100000 ends a target after so many inputs instead of after a time: then the same seed does the very same again.
# ADDRESS=1 finds accesses beyond an object's memory as well (AddressSanitizer), in a build of its own and at half the speed.
# KEEP=1 adds what was reached for the first time to the corpora, as few and as small inputs as do it. SWIFT names the compiler.
set -euo pipefail
cd "$(dirname "$0")/.."

all_targets=json,wire,zip,crafted-zip,crafted-tar,drop,crafted-drop,journal,definition
all_targets+=,record,label,source,directory,list,pack-index,note,config,config-copy,register,catalog,settings,video,heif,maker-note,media-answer
readonly all_targets
readonly seconds=${1:-60} targets=${2:-$all_targets} seed=${3:-1}
if [ -n "${ADDRESS:-}" ]; then
    # What is freed is kept for a while, so as to notice who still uses it.
    readonly scratch=.build/fuzz-address sanitizers=fuzzer,address memory_limit_mb=2000
else
    # What a reader may take of any file.
    readonly scratch=.build/fuzz sanitizers=fuzzer memory_limit_mb=200
fi
readonly corpora=Tests/Fuzz/Corpora dictionaries=Tests/Fuzz/Dictionaries findings=.build/fuzz-findings
readonly timeout_seconds=5

swift=$(SWIFT="${SWIFT:-}" mount-scripts/find-swift.sh)
BACKUPFS_FUZZ=$sanitizers "$swift" build -c release --scratch-path "$scratch" --product FuzzDriver
driver=$scratch/release/FuzzDriver

# Files of an input in memory, where there is such a place: there are thousands a second.
shm=/dev/shm
[ -w "$shm" ] || shm=${TMPDIR:-/tmp}
work=$(mktemp -d "$shm/backupfs-fuzz-XXXXXX")
trap 'rm -rf "$work"' EXIT

# Swift's own report of a crash would come in the way of libFuzzer's. The clock stands still, and the order of dictionaries is the same each
# time: an input does the same whenever it is read.
export SWIFT_BACKTRACE=enable=no SWIFT_DETERMINISTIC_HASHING=1 BACKUPFS_NOW=2026-09-21T14:13:20Z

# Longest input, in bytes: long enough for the largest document of its kind, short enough to be quick.
length_limit() {
    case $1 in
        json | wire | journal) echo 4096 ;;
        drop | catalog) echo 65536 ;;
        note | label | config | config-copy | settings) echo 4096 ;;
        *) echo 16384 ;;
    esac
}

dictionary() {
    case $1 in
        json) cat "$dictionaries/json.dict" ;;
        zip | crafted-zip) cat "$dictionaries/zip.dict" ;;
        crafted-tar) cat "$dictionaries/tar.dict" ;;
        journal | definition) cat "$dictionaries/$1.dict" ;;
        record | label | source | directory | list | pack-index | note | config | config-copy | register | catalog)
            cat "$dictionaries/repository.dict" ;;
        settings) settings_names ;;
        video | heif | maker-note | media-answer) cat "$dictionaries/media.dict" ;;
        wire) cat "$dictionaries/json.dict" && member_names ;;
        drop | crafted-drop) cat "$dictionaries/zip.dict" "$dictionaries/json.dict" && member_names ;;
    esac
    if [ "$1" = definition ]; then member_names; fi
}

# The words of the apps' definitions.
member_names() { grep -ohE '[A-Za-z][A-Za-z0-9]+' Sources/AppData/Resources/*.yaml | sort -u | sed 's/.*/"&"/'; }

# The names of a store's settings.
settings_names() { sed -n 's/^ *case .*= "\(.*\)"$/"\1: "/p' Sources/Operations/Settings/SettingName.swift; }

# One target's campaign. Prints a line; what was found stays in the folder of findings.
fuzz() {
    local target=$1 log=$work/$1.log status=0 new=$work/$1.new ground=$work/$1.ground before executed coverage found
    mkdir -p "$new" "$ground" "$findings/$target" "$corpora/$target"
    before=$(find "$findings/$target" -type f | wc -l)
    BACKUPFS_FUZZ_TARGET=$target BACKUPFS_FUZZ_FOLDER=$ground BACKUPFS_FUZZ_EXAMPLES=$new "$driver"
    dictionary "$target" > "$work/$target.dict"
    local limit=(-max_total_time="$seconds")
    # What is not led by time, nor by the operands of comparisons, among which are addresses.
    if [ -n "${RUNS:-}" ]; then limit=(-runs="$RUNS" -entropic=0 -use_cmp=0 -reload=0); fi
    export BACKUPFS_FUZZ_TARGET=$target BACKUPFS_FUZZ_FOLDER=$ground
    "$driver" -seed="$seed" "${limit[@]}" -timeout="$timeout_seconds" -rss_limit_mb="$memory_limit_mb" \
        -max_len="$(length_limit "$target")" -dict="$work/$target.dict" -artifact_prefix="$findings/$target/" \
        -print_final_stats=1 "$new" "$corpora/$target" > "$log" 2>&1 || status=$?
    executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
    coverage=$(grep -oE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -1)
    found=$(($(find "$findings/$target" -type f | wc -l) - before))
    printf '%-13s %9s inputs   %-22s %5d new to the corpus   %d findings\n' \
        "$target" "${executed:-?}" "${coverage:-?}" "$(find "$new" -type f | wc -l)" "$found"
    if [ "$status" -ne 0 ]; then
        grep -E '^VIOLATION|^SUMMARY|Fatal error|ERROR: libFuzzer|Test unit written' "$log" | cut -c1-400 | sed 's/^/    /' || tail -5 "$log"
        cat <<END
    Once more: BACKUPFS_FUZZ_TARGET=$target BACKUPFS_FUZZ_FOLDER=\$(mktemp -d) SWIFT_BACKTRACE=enable=no $driver $findings/$target/FILE
    When it is corrected, the file belongs into Tests/Fuzz/Findings/$target: the tests then read it for ever.
END
        return 1
    fi
    if [ -n "${KEEP:-}" ]; then keep "$target" "$new"; fi
}

# Rebuilds the corpus from the old one and the new inputs: one input for each thing that is reached.
keep() {
    local merged=$work/$1.merged
    mkdir -p "$merged"
    "$driver" -set_cover_merge=1 -use_counters=0 -max_len="$(length_limit "$1")" "$merged" "$corpora/$1" "$2" > "$work/$1.merge.log" 2>&1
    rm -rf "${corpora:?}/$1"
    mv "$merged" "$corpora/$1"
    printf '%-13s %s files, %s bytes in the corpus now\n' \
        "$1" "$(find "$corpora/$1" -type f | wc -l)" "$(cat "$corpora/$1"/* | wc -c)"
}

failed=0
for target in ${targets//,/ }; do
    case ,$all_targets, in
        *,"$target",*) fuzz "$target" || failed=1 ;;
        *) echo "fuzz: there is no target $target; there are $all_targets" >&2 && exit 2 ;;
    esac
done
exit "$failed"
