#!/usr/bin/env bash
# test-remotes.sh COMMAND...: runs COMMAND, which runs tests, once for each object server that can be started here (SERVERS="radosgw swift":
# only these). The tests see its name in BACKUPFS_TEST_SERVERS. A server that cannot be started is named at the end, and fails no test.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

failed=() absent=() passed=()
for server in ${SERVERS:-seaweedfs radosgw swift juicefs rclone}; do
    folder=$(mktemp -d)
    if output=$("mount-scripts/object-servers/$server.sh" start "$folder/s" 2>&1); then
        "mount-scripts/object-servers/$server.sh" stop "$folder/s"
        printf '\n%s %s\n' "$server" "$(sed -n 's/^version=//p' <<<"$output")"
        if BACKUPFS_TEST_SERVERS=$server "$@"; then passed+=("$server"); else failed+=("$server"); fi
    else
        absent+=("$server: $(tail -n 1 <<<"$output")")
    fi
    rm -rf "$folder"
done
printf '\nTested with: %s\n' "${passed[*]:-no server}"
for line in "${absent[@]}"; do echo "Not started: $line"; done
if [ "${#failed[@]}" -gt 0 ]; then
    echo "Tests failed with: ${failed[*]}"
    exit 1
fi
[ "${#passed[@]}" -gt 0 ]
