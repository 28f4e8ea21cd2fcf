#!/usr/bin/env bash
# The rules of this project that the compiler does not know. Each line of output is one violation.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly line_limit=500
# Foundation is slow to start and to bridge, and nothing on the way of a read may touch it.
readonly foundation_free=(BackupCore SystemIO PhotoData Photos backupfs-media CopyVerify SQLite BackupRepository SnapshotFormats VirtualTree FUSEBridge)
readonly pages=(README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md changelog Docs .github)
violations=0

violation() {
    echo "$1" >&2
    violations=$((violations + 1))
}

# Each matching line of the Swift files below the given folders is a violation of the rule named first.
forbid() {
    local rule=$1 pattern=$2 match folder
    shift 2
    local folders=()
    for folder in "$@"; do if [ -d "$folder" ]; then folders+=("$folder"); fi; done
    [ "${#folders[@]}" -gt 0 ] || return 0
    while IFS= read -r match; do violation "$match  <- $rule"; done \
        < <(grep -rnE --include='*.swift' -- "$pattern" "${folders[@]}" || true)
}

while IFS= read -r file; do
    count=$(wc -l < "$file")
    if [ "$count" -gt "$line_limit" ]; then violation "$file: $count lines, more than $line_limit"; fi
done < <(find Sources -name '*.swift')

forbid "try! is not used" '\btry!' Sources Tests Package.swift
forbid "no unfinished work" '\b(TODO|FIXME|XXX)\b' Sources Tests
forbid "Foundation is not imported here" '^[[:space:]]*(@[A-Za-z_]+ )*(public |internal |private |fileprivate )?import (struct |class |func |enum )?Foundation' \
    "${foundation_free[@]/#/Sources/}"

# Tests of power cuts and full disks see every change of a repository, since all of them go through SystemIO.
forbid "changes go through SystemIO, where tests can see them" \
    '(^|[^.A-Za-z_])(mkdir|rmdir|unlinkat|rename|renameat|pwrite|ftruncate|fsync|fdatasync|syncfs|symlink)\(|unlink\([a-z]*[pP]ath' \
    Sources/BackupRepository

# Only commands talk to a terminal.
talkative=()
for folder in Sources/*/; do
    case $folder in Sources/BackupCommands/ | Sources/backupfs/) ;; *) talkative+=("$folder") ;; esac
done
forbid "only BackupCommands prints" '(^|[^A-Za-z0-9_."])(print|debugPrint|dump)\(' "${talkative[@]}"

# Code that the compiler cannot check says why it is safe, in the line itself or in the comment above (attributes may stand between).
while IFS= read -r match; do
    violation "$match  <- a comment above says why this is safe"
done < <(find Sources -name '*.swift' -exec awk '
    FNR == 1 { previous = "" }
    /@unchecked Sendable|nonisolated\(unsafe\)|unsafeBitCast|unsafeDowncast/ && !/^[[:space:]]*\/\// {
        if ($0 !~ /\/\// && previous !~ /^[[:space:]]*\/\//) print FILENAME ":" FNR ":" $0
    }
    !/^[[:space:]]*@[A-Za-z]+(\(.*\))?[[:space:]]*$/ { previous = $0 }
' {} +)

# Words that these pages and comments do not use; Docs/glossary.md has those to use instead. Literals in code are left out: an account can be called nobody.
readonly vague='\b(whoever|whomever|somebody|nobody|anew|by and by)\b'
while IFS= read -r match; do
    case $match in
        Docs/glossary.md:* | mount-scripts/tidy.sh:* | *"\`nobody\`"*) ;;
        *) violation "$match  <- say who does what; see Docs/glossary.md" ;;
    esac
done < <(
    grep -rniE --include='*.swift' "^[[:space:]]*//.*$vague" Sources Tests || true
    grep -rniE --include='*.sh' --include='*.py' --include=Makefile --include=run "^[[:space:]]*#.*$vague" Makefile .ci mount-scripts || true
    grep -rniE --include='*.md' "$vague" "${pages[@]}" || true
)

# The words in the list are names, other languages' words and examples. Tests hand in misspelled words: only their comments are checked.
if command -v codespell >/dev/null; then
    spelling=(codespell --ignore-words mount-scripts/spelling-words.txt)
    while IFS= read -r match; do violation "$match"; done < <(
        "${spelling[@]}" --skip '*.po' Sources "${pages[@]}" mount-scripts Makefile Package.swift .ci
        grep -rnE --include='*.swift' '^[[:space:]]*//' Tests | "${spelling[@]}" -
    )
else
    echo "NOTE: codespell is not installed; the spelling was not checked." >&2
fi

# Each line that the given command prints is a violation, and so is a failure without one.
run_check() {
    local output match
    if output=$("$@"); then return; fi
    while IFS= read -r match; do violation "${match:-$1 failed}"; done <<< "$output"
}

if command -v python3 >/dev/null; then
    run_check mount-scripts/check-links.py
    run_check mount-scripts/check-lines.py README.md CONTRIBUTING.md SECURITY.md changelog Docs .github Sources Tests
    run_check mount-scripts/changelog.py --check
    run_check mount-scripts/check-architecture.py
    run_check mount-scripts/check-doc-comments.py
else
    echo "NOTE: python3 is not installed; the pages were not checked." >&2
fi

# Subjects of commits, since the rule exists: a log shows 72 characters, and the body has the reason. A shallow clone may lack the first of them.
readonly first_subject_after=6b3002ab622f
if git cat-file -e "$first_subject_after^{commit}" 2>/dev/null; then
    while IFS=$'\t' read -r commit subject body; do
        if [ "${#subject}" -gt 72 ]; then violation "commit $commit: the subject has ${#subject} characters, more than 72"; fi
        if [ -z "$body" ]; then violation "commit $commit: the body does not give the reason"; fi
    done < <(git log --no-merges --format=$'%h\t%s\t%b%x00' "$first_subject_after.." | tr '\n' ' ' | tr '\0' '\n' | sed 's/^ //')
fi

for entry in *; do
    case $entry in
        Package.swift | Package.resolved | Sources | Tests | mount-scripts | Docs | Makefile | LICENSE) ;;
        README.md | CONTRIBUTING.md | SECURITY.md | CHANGELOG.md | changelog) ;;
        *) violation "$entry: does not belong at the top level" ;;
    esac
done

if command -v shellcheck >/dev/null; then
    # All that begin as scripts, whatever their names.
    mapfile -t scripts < <(grep -rlE '^#!/(bin/sh|usr/bin/env bash)' mount-scripts .ci)
    shellcheck "${scripts[@]}" || violations=$((violations + 1))
else
    echo "NOTE: shellcheck is not installed; the scripts were not checked." >&2
fi

if [ "$violations" -gt 0 ]; then
    echo "tidy: $violations violations" >&2
    exit 1
fi
echo "tidy: nothing to complain about"
