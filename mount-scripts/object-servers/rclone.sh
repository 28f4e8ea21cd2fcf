#!/usr/bin/env bash
# `rclone serve s3` in front of a folder. All its keys may do everything. See common.sh for how to call this.
# shellcheck disable=SC2154 # common.sh reads the keys from a file
server_name="rclone serve s3"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

port_count=1

prepare() {
    need rclone
    mkdir -p "$folder/data" "$folder/home"
    [ "$tls" = no ] || make_certificate
}

launch_all() {
    local options=()
    [ "$tls" = no ] || options+=(--cert "$folder/tls/server.pem" --key "$folder/tls/server.key")
    # By the environment: arguments are seen by all users of the machine.
    RCLONE_AUTH_KEY="\"$access_key,$secret_key\"" RCLONE_CONFIG=/dev/null HOME=$folder/home launch rclone rclone serve s3 \
        --cache-dir "$folder/cache" --addr "127.0.0.1:${ports[0]}" "${options[@]}" "$folder/data"
    wait_until answers --insecure "$(endpoint)/"
}

endpoint() { if [ "$tls" = yes ]; then echo "https://127.0.0.1:${ports[0]}"; else echo "http://127.0.0.1:${ports[0]}"; fi; }

describe() {
    echo "endpoint=$(endpoint)"
    [ "$tls" = no ] || echo "certificate=$folder/tls/authority.pem"
    echo "region=us-east-1"
    head -n 2 "$folder/keys"
    echo "version=$(RCLONE_CONFIG=/dev/null rclone version | head -n 1 | sed 's/^rclone v//')"
}

main "$@"
