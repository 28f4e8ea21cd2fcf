#!/usr/bin/env bash
# OpenStack Swift on one device, with its S3 interface (s3api) and keys from tempauth. No memcached, one replica. See common.sh for how to
# call this. FOLDER's file system must keep extended attributes of users, with 500 bytes each.
# shellcheck disable=SC2154,SC2034 # common.sh reads the keys from a file, and uses what is set here
server_name="OpenStack Swift"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

port_count=4

# NAME NUMBER PIPELINE
server_conf() {
    cat <<EOF_CONF
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${ports[$2]}
user = $(id -un)
swift_dir = $folder/etc
devices = $folder/devices
mount_check = false
workers = 0
disable_fallocate = true
fallocate_reserve = 0
log_level = WARNING
[pipeline:main]
pipeline = $3
[app:$1-server]
use = egg:swift#$1
EOF_CONF
}

prepare() {
    need swift-proxy-server swift-ring-builder
    [ "$tls" = no ] || fail "there is no variant with TLS"
    mkdir -p "$folder/etc" "$folder/devices/d1"
    [ -e "$folder/suffix" ] || od -An -N8 -tx1 /dev/urandom | tr -d ' \n' >"$folder/suffix"
    printf '[swift-hash]\nswift_hash_path_suffix = %s\n' "$(cat "$folder/suffix")" >"$folder/etc/swift.conf"
    local number=1 kind
    for kind in account container object; do
        server_conf "$kind" "$number" "$kind-server" >"$folder/etc/$kind-server.conf"
        rm -f "$folder/etc/$kind.builder" "$folder/etc/$kind.ring.gz"
        {
            swift-ring-builder "$folder/etc/$kind.builder" create 4 1 1
            swift-ring-builder "$folder/etc/$kind.builder" add "r1z1-127.0.0.1:${ports[$number]}/d1" 1
            swift-ring-builder "$folder/etc/$kind.builder" rebalance
        } >>"$folder/make.log" 2>&1
        number=$((number + 1))
    done
    {
        server_conf proxy 0 'catch_errors gatekeeper healthcheck listing_formats s3api tempauth bulk slo dlo copy proxy-server'
        cat <<EOF_CONF
account_autocreate = true
allow_account_management = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_$access_key = $secret_key .admin
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
[filter:copy]
use = egg:swift#copy
EOF_CONF
    } >"$folder/etc/proxy-server.conf"
}

# Swift looks for swift.conf in /etc only.
launch_all() {
    local kind
    for kind in account container object proxy; do
        launch "$kind" "$tools/venv/bin/python3" -c '
import importlib, sys
from swift.common import utils
folder, kind = sys.argv[1:]
utils.SWIFT_CONF_FILE = folder + "/etc/swift.conf"
from swift.common import storage_policy
storage_policy.reload_storage_policies()
sys.argv = ["swift-" + kind + "-server", folder + "/etc/" + kind + "-server.conf"]
package = "obj" if kind == "object" else kind
importlib.import_module("swift." + package + ".server").main()
' "$folder" "$kind"
    done
    local port
    for port in "${ports[@]}"; do wait_until answers "http://127.0.0.1:$port/healthcheck" || return 1; done
}

describe() {
    echo "endpoint=http://127.0.0.1:${ports[0]}"
    echo "region=us-east-1"
    echo "access_key=test:$access_key"
    echo "secret_key=$secret_key"
    echo "version=$("$tools/venv/bin/python3" -c 'import swift; print(swift.__version__)')"
}

main "$@"
