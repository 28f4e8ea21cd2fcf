#!/usr/bin/env bash
# JuiceFS's S3 gateway, with its metadata in SQLite and its data in a folder. See common.sh for how to call this.
# shellcheck disable=SC2154 # common.sh reads the keys from a file
server_name="JuiceFS gateway"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

port_count=2

prepare() {
    need juicefs
    [ "$tls" = no ] || fail "there is no variant with TLS"
    mkdir -p "$folder/data" "$folder/home"
    [ -e "$folder/metadata.db" ] || HOME=$folder/home juicefs format --quiet --storage file --bucket "$folder/data/" --trash-days 0 \
        "sqlite3://$folder/metadata.db" backupfs-test >"$folder/format.log" 2>&1
}

launch_all() {
    HOME=$folder/home MINIO_ROOT_USER=$access_key MINIO_ROOT_PASSWORD=$secret_key launch juicefs juicefs gateway --no-agent --no-banner \
        --no-usage-report --multi-buckets --keep-etag --backup-meta 0 --cache-dir "$folder/cache" --cache-size 100 \
        --metrics "127.0.0.1:${ports[1]}" "sqlite3://$folder/metadata.db" "127.0.0.1:${ports[0]}"
    wait_until answers --fail "http://127.0.0.1:${ports[0]}/minio/health/ready"
}

describe() {
    echo "endpoint=http://127.0.0.1:${ports[0]}"
    echo "region=us-east-1"
    head -n 2 "$folder/keys"
    echo "version=$(juicefs version | sed -E 's/^juicefs version ([0-9.]+).*/\1/')"
}

main "$@"
