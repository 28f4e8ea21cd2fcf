#!/usr/bin/env bash
# two-hosts.sh BINARY [MINUTES] [SUSPEND_SECONDS]: two hosts back up, forget and prune in one repository at the same time.
#
# Each host is a mount namespace and a UTS namespace with its own boot ID and machine ID, and has the repository mounted with sshfs from this
# machine's loopback address, so that kernel locks do not reach from one to the other. The second host is suspended again and again (SIGSTOP),
# once for longer than a lock's note is valid (600 s), in the middle of a backup. At the end each snapshot must verify on both hosts.
# As root. Exit code 0 when nothing was lost.
set -euo pipefail

binary=$(realpath "${1:?the program}")
readonly binary minutes=${2:-20} suspend_seconds=${3:-640}

# A host's life, in its own namespaces: host.sh NAME ROOT BINARY END.
if [ "${BACKUPFS_TWO_HOSTS_ROLE:-}" = host ]; then
    readonly name=$4 root=$5 end=$6
    mount --make-rprivate /
    cat /proc/sys/kernel/random/uuid >"$root/$name.boot"
    tr -d - </proc/sys/kernel/random/uuid >"$root/$name.machine"
    mount --bind "$root/$name.boot" /proc/sys/kernel/random/boot_id
    mount --bind "$root/$name.machine" /etc/machine-id
    hostname "$name"
    # The server may not listen yet.
    for attempt in $(seq 1 30); do
        sshfs -F "$root/ssh_config" -o dir_cache=no,attr_timeout=0,entry_timeout=0,negative_timeout=0,ac_attr_timeout=0 \
            "loopback:$root/shared" "$root/$name" && break
        sleep 1
    done
    mountpoint -q "$root/$name"
    trap 'fusermount3 -u "$root/$name"' EXIT
    store=$root/store-$name
    log=$root/$name.log
    export HOME=$root BACKUPFS_STORE=$store
    run() { # WHAT COMMAND...
        local what=$1 code=0
        shift
        "$@" >"$root/$name.out" 2>&1 || code=$?
        echo "$(date +%T) $what $code" >>"$log"
        # 11: the other host holds a lock, or this one was suspended and has lost its own.
        case $code in 0 | 3 | 11) ;; *)
            if grep -q -e 'lock' "$root/$name.out"; then
                echo "$(date +%T) $what: $(tail -n 1 "$root/$name.out")" >>"$log"
            else
                echo "UNEXPECTED $(date +%T) $what $code: $(tail -n 2 "$root/$name.out")" >>"$log"
            fi ;;
        esac
    }
    if [ ! -e "$store" ]; then
        for attempt in 1 2 3 4 5; do
            "$binary" init --store "$store" --repository "$root/$name/repository" --sample --new-source >"$root/$name.out" 2>&1 && break
            "$binary" init --store "$store" --repository "$root/$name/repository" --sample >"$root/$name.out" 2>&1 && break
            sleep "$attempt"
        done
    fi
    turn=0
    while [ "$(date +%s)" -lt "$end" ]; do
        turn=$((turn + 1))
        # Some megabytes that are new, and some records that change: a backup takes a while.
        sqlite3 "$store/app/database.sqlite" \
            "update expenses set notes = '$name $turn ' || hex(randomblob(1500)) where id % 3 = $turn % 3"
        run backup "$binary" backup --label "$name-$turn"
        [ $((turn % 3)) -ne 0 ] || run forget "$binary" forget --keep-last 3 --yes
        [ $((turn % 4)) -ne 0 ] || run prune "$binary" prune --now --max-unused 0
        [ $((turn % 5)) -ne 0 ] || run check "$binary" check
    done
    for attempt in $(seq 1 80); do
        "$binary" check --read-data >"$root/$name.out" 2>&1 && break
        [ $? -eq 11 ] || break
        sleep 10
    done
    "$binary" check --read-data >>"$log" 2>&1 || echo "UNEXPECTED check: $(tail -n 3 "$root/$name.out")" >>"$log"
    "$binary" verify --all >"$root/$name.out" 2>&1 || echo "UNEXPECTED verify: $(tail -n 3 "$root/$name.out")" >>"$log"
    echo "$(date +%T) snapshots: $("$binary" snapshots --json | jq -r '[.[].name] | join(" ")')" >>"$log"
    exit 0
fi

for command in sshfs sshd ssh-keygen sqlite3 jq unshare; do
    command -v "$command" >/dev/null || PATH=$PATH:/usr/sbin command -v "$command" >/dev/null || {
        echo "$command is missing. Install it: apt-get install sshfs openssh-server sqlite3 jq util-linux" >&2
        exit 1
    }
done

root=$(mktemp -d "${TMPDIR:-/tmp}/backupfs-two-hosts.XXXXXX")
chmod 700 "$root"
mkdir "$root/shared" "$root/alpha" "$root/beta"
ssh-keygen -q -t ed25519 -N '' -f "$root/host_key"
ssh-keygen -q -t ed25519 -N '' -f "$root/key"
cp "$root/key.pub" "$root/authorized_keys"
port=$((20000 + $$ % 20000))
mkdir -p /run/sshd
cat >"$root/sshd_config" <<EOF
ListenAddress 127.0.0.1:$port
HostKey $root/host_key
AuthorizedKeysFile $root/authorized_keys
PidFile $root/sshd.pid
StrictModes no
PermitRootLogin yes
UsePAM no
PasswordAuthentication no
Subsystem sftp internal-sftp
EOF
cat >"$root/ssh_config" <<EOF
Host loopback
    HostName 127.0.0.1
    Port $port
    User root
    IdentityFile $root/key
    UserKnownHostsFile $root/known_hosts
    StrictHostKeyChecking accept-new
    BatchMode yes
EOF
sshd=$(PATH=$PATH:/usr/sbin command -v sshd)
"$sshd" -D -f "$root/sshd_config" -E "$root/sshd.log" &
server=$!
hosts=()
cleanup() {
    for host in "${hosts[@]}"; do
        kill -CONT -- -"$host" 2>/dev/null || true
        kill -- -"$host" 2>/dev/null || true
    done
    if [ -n "${server:-}" ]; then kill "$server" 2>/dev/null || true; fi
}
trap cleanup EXIT

end=$(($(date +%s) + minutes * 60))
start_host() { # NAME
    BACKUPFS_TWO_HOSTS_ROLE=host setsid unshare --mount --uts --fork --kill-child \
        "$0" "$binary" "$minutes" "$suspend_seconds" "$1" "$root" "$end" >"$root/$1.host" 2>&1 &
    hosts+=($!)
}
start_host alpha
# The first one makes the repository.
for _ in $(seq 1 60); do [ -e "$root/shared/repository/config" ] && break; sleep 1; done
start_host beta

# The long one first, so that there is time to see what becomes of it.
pause=$suspend_seconds
while [ "$(date +%s)" -lt $((end - pause - 30)) ]; do
    # In the middle of something that beta does.
    for _ in $(seq 1 600); do
        process=$(pgrep -f "$binary (backup|prune|forget)" -s "${hosts[1]}" | head -n 1 || true)
        [ -n "$process" ] && break
        sleep 0.1
    done
    [ -n "$process" ] || break
    sleep 0.$((RANDOM % 9))
    kill -STOP "$process" 2>/dev/null || continue
    echo "$(date +%T) beta is suspended for $pause s" >>"$root/beta.log"
    sleep "$pause"
    kill -CONT "$process" 2>/dev/null || true
    echo "$(date +%T) beta goes on" >>"$root/beta.log"
    pause=$((RANDOM % 20 + 1))
    sleep $((RANDOM % 10))
done
for host in "${hosts[@]}"; do wait "$host" || echo "UNEXPECTED a host ended with $?" >>"$root/beta.log"; done
hosts=()
for name in alpha beta; do
    echo "$name: $(grep -c ' backup 0' "$root/$name.log") backups, $(grep -c ' prune 0' "$root/$name.log") prunes, $(grep -c ' 11$' "$root/$name.log") times locked"
    tail -n 1 "$root/$name.log"
done
if grep -H UNEXPECTED "$root"/*.log || ! grep -q 'No damage' "$root/alpha.log" || ! grep -q 'No damage' "$root/beta.log"; then
    echo "Everything stays in $root" >&2
    exit 1
fi
rm -rf "$root"
