#!/usr/bin/env bash
# Prints the path of a Swift compiler that is new enough, or says where to get one.
set -euo pipefail

# InlineArray, which the digests are made of, came with 6.2.
readonly needed_major=6 needed_minor=2

# Debian has another program of this name (OpenStack's client), so the version decides, not the name.
is_new_enough() {
    local version major minor
    version=$("$1" --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1) || return 1
    [ -n "$version" ] || return 1
    major=${version%%.*}
    minor=${version#*.}
    [ "$major" -gt "$needed_major" ] || { [ "$major" -eq "$needed_major" ] && [ "$minor" -ge "$needed_minor" ]; }
}

for candidate in "${SWIFT:-}" "$(command -v swift || true)" "${HOME:-/root}/.local/share/swiftly/bin/swift" \
    /opt/swift/usr/bin/swift /usr/local/swift/usr/bin/swift /usr/libexec/swift/bin/swift; do
    if [ -n "$candidate" ] && command -v "$candidate" >/dev/null && is_new_enough "$candidate"; then
        command -v "$candidate"
        exit 0
    fi
done

cat >&2 <<EOF_MESSAGE
backupfs is written in Swift and needs the Swift toolchain $needed_major.$needed_minor or newer; none was found.
Install it from https://www.swift.org/install/linux/, for instance with swiftly:

    curl -O https://download.swift.org/swiftly/linux/swiftly-\$(uname -m).tar.gz
    tar -xzf swiftly-\$(uname -m).tar.gz && ./swiftly init

or name the compiler: make SWIFT=/path/to/usr/bin/swift. Only building needs it, running does not.
EOF_MESSAGE
exit 1
