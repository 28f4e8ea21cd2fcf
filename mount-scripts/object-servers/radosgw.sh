#!/usr/bin/env bash
# Ceph's object gateway with the smallest cluster that it takes: one monitor, one OSD in a sparse file, no manager. See common.sh for how to
# call this.
# shellcheck disable=SC2154 # common.sh reads the keys from a file
server_name="Ceph RGW"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

# Two for the monitor, one for the gateway, and where the OSD begins to look for its own.
port_count=4
start_limit_seconds=240
# 64 GiB; it takes of the disk what is in it.
readonly block_file_size_bytes=68719476736

prepare() {
    need ceph-mon ceph-osd radosgw radosgw-admin monmaptool ceph
    [ "$tls" = no ] || fail "there is no variant with TLS"
    mkdir -p "$folder/mon" "$folder/osd" "$folder/rgw" "$folder/run"
    [ -e "$folder/ids" ] || printf '%s %s\n' "$(cat /proc/sys/kernel/random/uuid)" "$(cat /proc/sys/kernel/random/uuid)" >"$folder/ids"
    # Out of the text below, where shellcheck fails on it.
    local cluster last_port=$((ports[3] + 1000))
    read -r cluster _ <"$folder/ids"
    cat >"$folder/ceph.conf" <<EOF_CONF
[global]
fsid = $cluster
mon host = [v2:127.0.0.1:${ports[0]},v1:127.0.0.1:${ports[1]}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
run dir = $folder/run
admin socket =
log file =
mon cluster log file = /dev/null
log to stderr = true
crash dir = $folder/run
ms bind port min = ${ports[3]}
ms bind port max = $last_port
keyring = $folder/keyring
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon max pg per osd = 1000
mon osd full ratio = 0.97
mon data avail crit = 1
osd crush update on start = true
[mon]
mon data = $folder/mon
mon data avail warn = 2
[osd]
osd data = $folder/osd
osd objectstore = bluestore
bluestore block size = $block_file_size_bytes
bluestore block create = true
bluestore block preallocate file = false
osd memory target = 939524096
osd op num shards = 1
osd op num threads per shard = 2
[client]
rgw data = $folder/rgw
rgw frontends = beast endpoint=127.0.0.1:${ports[2]}
rgw dns name = localhost
rgw thread pool size = 32
rgw enable usage log = false
rgw enable apis = s3
EOF_CONF
}

launch_all() {
    local cluster osd
    read -r cluster osd <"$folder/ids"
    export CEPH_CONF=$folder/ceph.conf
    if [ ! -e "$folder/was-started" ]; then
        rm -rf "$folder/mon" "$folder/osd"
        mkdir -p "$folder/mon" "$folder/osd"
        monmaptool --create --clobber --fsid "$cluster" \
            --addv a "[v2:127.0.0.1:${ports[0]},v1:127.0.0.1:${ports[1]}]" "$folder/monmap" >"$folder/make.log" 2>&1
        make_keys >>"$folder/make.log" 2>&1
        ceph-mon -c "$CEPH_CONF" -i a --mkfs --monmap "$folder/monmap" --keyring "$folder/keyring" >>"$folder/make.log" 2>&1
    fi
    launch mon ceph-mon -c "$CEPH_CONF" -i a -f
    wait_until timeout 20 ceph -s || return 1
    if [ ! -e "$folder/was-started" ]; then
        timeout 60 ceph osd new "$osd" 0 >>"$folder/make.log" 2>&1 || return 1
        ceph-osd -c "$CEPH_CONF" -i 0 --mkfs --osd-uuid "$osd" >>"$folder/make.log" 2>&1 || return 1
    fi
    launch osd ceph-osd -c "$CEPH_CONF" -i 0 -f
    wait_until osd_is_up || return 1
    launch rgw radosgw -c "$CEPH_CONF" -n client.rgw -f
    if [ ! -e "$folder/was-started" ]; then
        # Needs the pools that the gateway makes, and waits for them.
        timeout "$start_limit_seconds" radosgw-admin -c "$CEPH_CONF" -n client.rgw user create --uid=admin --display-name=admin \
            --access-key="$access_key" --secret="$secret_key" >>"$folder/make.log" 2>&1 || return 1
    fi
    wait_until answers --fail "http://127.0.0.1:${ports[2]}/"
}

# Of all parts in one file. Without keys at all, the gateway of this version does not connect.
make_keys() {
    rm -f "$folder/keyring"
    local name
    for name in mon. client.admin client.rgw osd.0; do
        ceph-authtool --create-keyring "$folder/key" --gen-key -n "$name" --cap mon 'allow *' --cap osd 'allow *'
        cat "$folder/key" >>"$folder/keyring"
    done
    rm "$folder/key"
}

osd_is_up() { timeout 20 ceph osd stat | grep -q '1 up'; }

describe() {
    echo "endpoint=http://127.0.0.1:${ports[2]}"
    echo "region=us-east-1"
    head -n 2 "$folder/keys"
    echo "version=$(radosgw --version | awk '{print $3}')"
}

main "$@"
