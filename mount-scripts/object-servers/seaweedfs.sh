#!/usr/bin/env bash
# SeaweedFS with its S3 gateway, in one process. See common.sh for how to call this.
#
# The action `Write` of an identity permits it to remove objects, too. Only a policy tells these apart.
# shellcheck disable=SC2154 # common.sh reads the keys from a file
server_name=SeaweedFS
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

port_count=10

readonly append_policy='{"Version": "2012-10-17", "Statement": [{"Effect": "Allow",
  "Action": ["s3:GetObject", "s3:PutObject", "s3:ListBucket", "s3:GetBucketLocation", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts",
    "s3:ListBucketMultipartUploads"],
  "Resource": ["arn:aws:s3:::*", "arn:aws:s3:::*/*"]}]}'

prepare() {
    need weed
    mkdir -p "$folder/data"
    [ "$tls" = no ] || make_certificate
    cat >"$folder/s3.json" <<EOF_JSON
{"identities": [
  {"name": "admin", "credentials": [{"accessKey": "$access_key", "secretKey": "$secret_key"}],
   "actions": ["Admin", "Read", "Write", "List", "Tagging"]},
  {"name": "append", "credentials": [{"accessKey": "$append_access_key", "secretKey": "$append_secret_key"}],
   "actions": [], "policyNames": ["append-only"]},
  {"name": "read", "credentials": [{"accessKey": "$read_access_key", "secretKey": "$read_secret_key"}],
   "actions": ["Read", "List"]}
], "policies": [
  {"name": "append-only", "content": $(jq -c . <<<"$append_policy" | jq -R .)}
], "kms": {"default_provider": "tests", "providers": {"tests": {"type": "local", "enableOnDemandCreate": true}}}}
EOF_JSON
    # Where `weed` looks for settings of its machine: it shall find none.
    mkdir -p "$folder/home"
}

# No volume is made larger than what is in it, and one needs few: 4 for each bucket.
launch_all() {
    local options=()
    if [ "$tls" = yes ]; then
        options+=(-s3.port.https="${ports[8]}" -s3.cert.file="$folder/tls/server.pem" -s3.key.file="$folder/tls/server.key")
    fi
    # The key for what clients have it encrypt.
    HOME=$folder/home GOMEMLIMIT=512MiB WEED_S3_SSE_KEY=backupfs-tests launch seaweedfs weed -logtostderr=true server -dir="$folder/data" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
        -master.port="${ports[0]}" -master.port.grpc="${ports[1]}" -master.volumeSizeLimitMB=1024 -master.volumePreallocate=false \
        -metricsIp=127.0.0.1 -metricsPort="${ports[9]}" -master.telemetry=false -master.peers=none \
        -volume.port="${ports[2]}" -volume.port.grpc="${ports[3]}" -volume.max=1000 -volume.preStopSeconds=0 -volume.minFreeSpace=1 \
        -filer -filer.port="${ports[4]}" -filer.port.grpc="${ports[5]}" -filer.localSocket="$folder/filer.sock" \
        -s3 -s3.port="${ports[6]}" -s3.port.grpc="${ports[7]}" -s3.localSocket="$folder/s3.sock" -s3.config="$folder/s3.json" \
        -s3.port.iceberg=0 -s3.port.lance=0 -s3.iam=false "${options[@]}"
    wait_until is_ready
}

is_ready() {
    answers "http://127.0.0.1:${ports[6]}/healthz" --fail &&
        answers "http://127.0.0.1:${ports[0]}/cluster/healthz" --fail
}

describe() {
    if [ "$tls" = yes ]; then
        echo "endpoint=https://127.0.0.1:${ports[8]}"
        echo "certificate=$folder/tls/authority.pem"
    else
        echo "endpoint=http://127.0.0.1:${ports[6]}"
    fi
    echo "region=us-east-1"
    echo "metrics=http://127.0.0.1:${ports[9]}/metrics"
    cat "$folder/keys"
    echo "version=$(weed version | head -n 1 | awk '{print $3}')"
}

# It makes these sockets for itself in /tmp, whatever it is asked, and leaves them there.
clean_up() {
    [ -e "$folder/ports" ] || return 0
    local ports
    read -r -a ports <"$folder/ports"
    rm -f "/tmp/seaweedfs-master-grpc-${ports[1]}.sock" "/tmp/seaweedfs-volume-grpc-${ports[3]}.sock" \
        "/tmp/seaweedfs-filer-grpc-${ports[5]}.sock" "/tmp/seaweedfs-s3-grpc-${ports[7]}.sock"
}

main "$@"
