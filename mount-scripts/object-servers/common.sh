#!/usr/bin/env bash
# shellcheck disable=SC2154,SC2034 # the scripts that read this set some names, and use others
#
# What the scripts in this folder share: SERVER.sh start FOLDER [--tls] [--until-end-of PROCESS] | stop FOLDER
#
# `start` makes FOLDER when it is not there and prints, once the server answers, lines of key=value:
#
#   endpoint, region       where, as a URL, and the region for signatures
#   access_key, secret_key may do everything
#   append_access_key …    may read, write and list, but not remove (where the server can tell these apart)
#   read_access_key …      may read and list
#   certificate            the authority that signed the server's certificate (--tls)
#   metrics                a page with counters of what clients have asked (where the server has one)
#   version                of the server
#   processes              their ids
#
# Everything listens on 127.0.0.1, on free ports, and all data is in FOLDER. A second `start` with a FOLDER that was stopped uses the same
# ports and data. `stop` ends the server's processes and leaves FOLDER.
# --until-end-of: when PROCESS has ended, however it ended, the server is stopped and FOLDER is removed.
# A script sets `server_name` and has the functions `prepare`, `launch_all` and
# `describe`, and `clean_up` when it leaves something outside of FOLDER.
set -euo pipefail

tools=${BACKUPFS_TEST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/backupfs-test}
readonly tools
export PATH=$tools/venv/bin:$PATH:/usr/sbin:/sbin
# Below it lie sockets, and their paths may have 107 bytes.
folder_limit_bytes=80
start_limit_seconds=${start_limit_seconds:-120}

fail() {
    echo "$server_name: $*" >&2
    exit 1
}

need() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || fail "$program is not installed. Run: mount-scripts/install-dependencies.sh remotes"
    done
}

# Ports below the range that the kernel takes for clients, so that no connection has taken one before the server listens.
choose_ports() { # COUNT
    python3 - "$1" <<'EOF_PYTHON'
import random, socket, sys
held = []
while len(held) < int(sys.argv[1]):
    candidate = socket.socket()
    try:
        candidate.bind(("127.0.0.1", random.randrange(20000, 32000)))
        held.append(candidate)
    except OSError:
        candidate.close()
print(*(one.getsockname()[1] for one in held))
EOF_PYTHON
}

# Starts a program in a session of its own, with its output in FOLDER/NAME.log. Closes what it inherits: a caller may wait for the end of a
# pipe that it gave this script.
launch() { # NAME COMMAND...
    local name=$1
    shift
    setsid "$@" </dev/null >>"$folder/$name.log" 2>&1 3>&- 4>&- 9>&- &
    echo "$! $(start_time $!)" >>"$folder/processes"
}

# In ticks after the boot: with it, a number that a later process has got is noticed. Empty for one that has ended.
start_time() { # PROCESS
    { sed 's/.*) //' "/proc/$1/stat" | awk '$1 != "Z" { print $20 }'; } 2>/dev/null || true
}

own_processes() {
    local process started
    [ -e "$folder/processes" ] || return 0
    while read -r process started; do
        if [ -n "$started" ] && [ "$(start_time "$process")" = "$started" ]; then echo "$process"; fi
    done <"$folder/processes"
}

all_alive() { [ "$(own_processes | wc -l)" -eq "$(wc -l <"$folder/processes")" ]; }

# Waits until a command succeeds.
wait_until() { # COMMAND...
    local end=$((SECONDS + start_limit_seconds))
    until "$@" >/dev/null 2>&1; do
        all_alive || return 1
        if [ "$SECONDS" -ge "$end" ]; then
            echo "$server_name did not answer within $start_limit_seconds s" >&2
            return 1
        fi
        sleep 0.05
    done
}

answers() { curl --silent --output /dev/null --max-time 2 --noproxy '*' "$@"; }

# Also what the processes started: each has a session, and so a group, of its own.
end_processes() {
    local processes signal process _
    mapfile -t processes < <(own_processes)
    for signal in "${stop_signal:-TERM}" KILL; do
        for process in "${processes[@]}"; do kill -s "$signal" -- "-$process" 2>/dev/null || true; done
        for _ in $(seq 1 60); do
            [ -n "$(own_processes)" ] || break 2
            sleep 0.05
        done
    done
    rm -f "$folder/processes"
    ! declare -F clean_up >/dev/null || clean_up
}

# An authority of our own and a certificate of it for this machine, for a year.
make_certificate() {
    [ ! -e "$folder/tls/server.pem" ] || return 0
    mkdir -p "$folder/tls"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj '/CN=backupfs test authority' \
        -keyout "$folder/tls/authority.key" -out "$folder/tls/authority.pem" 2>/dev/null
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj '/CN=localhost' \
        -keyout "$folder/tls/server.key" -out "$folder/tls/server.csr" 2>/dev/null
    openssl x509 -req -days 365 -in "$folder/tls/server.csr" -CA "$folder/tls/authority.pem" -CAkey "$folder/tls/authority.key" \
        -CAcreateserial -extfile <(echo 'subjectAltName=DNS:localhost,DNS:*.localhost,IP:127.0.0.1,IP:::1') -out "$folder/tls/server.pem" 2>/dev/null
}

# The keys of a server in a test are no secrets, but each server has others: a client that talks to the wrong one is refused.
choose_keys() {
    [ ! -e "$folder/keys" ] || return 0
    local identity
    for identity in '' append_ read_; do
        echo "${identity}access_key=$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n' | tr '[:lower:]' '[:upper:]')"
        echo "${identity}secret_key=$(od -An -N20 -tx1 /dev/urandom | tr -d ' \n')"
    done >"$folder/keys"
}

start() {
    # Another program may take a port in between: then once more with others.
    local _
    for _ in 1 2 3; do
        if [ ! -e "$folder/ports" ]; then choose_ports "$port_count" >"$folder/ports"; fi
        read -r -a ports <"$folder/ports"
        prepare
        : >"$folder/processes"
        if launch_all; then
            describe
            echo "processes=$(own_processes | tr '\n' ' ' | sed 's/ $//')"
            return
        fi
        end_processes
        [ -e "$folder/was-started" ] || rm -f "$folder/ports"
    done
    tail -n 20 "$folder"/*.log >&2
    fail "did not start; its output is in $folder"
}

# Waits for the end of a process without looking again and again, then cleans up. It has a session of its own and outlives this script.
watch_process() { # PROCESS
    [ "$(cat "$folder/watched" 2>/dev/null)" != "$1" ] || return 0
    echo "$1" >"$folder/watched"
    setsid python3 -c '
import os, select, shutil, subprocess, sys
process, script, folder = sys.argv[1:]
try:
    select.select([os.pidfd_open(int(process))], [], [])
except ProcessLookupError:
    pass
subprocess.run([script, "stop", folder])
shutil.rmtree(folder, ignore_errors=True)
' "$1" "$(realpath "$0")" "$folder" </dev/null >/dev/null 2>&1 3>&- 4>&- 9>&- &
}

main() {
    local command=${1:-} watched='' option
    target=''
    [ -n "${2:-}" ] || fail "usage: $0 start FOLDER [--tls] [--until-end-of PROCESS] | stop FOLDER"
    folder=$(realpath -m "$2")
    readonly folder
    shift 2
    tls=no
    while [ $# -gt 0 ]; do
        option=$1
        shift
        case $option in
            --tls) tls=yes ;;
            --target)
                target=${1:?HOST:PORT}
                shift
                ;;
            --until-end-of)
                watched=${1:?a process}
                shift
                ;;
            *) fail "unknown option $option" ;;
        esac
    done
    readonly tls
    case $command in
        start)
            [ "${#folder}" -le "$folder_limit_bytes" ] || fail "the folder's path has more than $folder_limit_bytes bytes: $folder"
            [ -z "$(own_processes)" ] || fail "a server in $folder runs already"
            mkdir -p "$folder"
            chmod 700 "$folder"
            choose_keys
            # shellcheck disable=SC1091 # made above
            . "$folder/keys"
            [ -z "$watched" ] || watch_process "$watched"
            start
            touch "$folder/was-started"
            ;;
        stop) end_processes ;;
        *) fail "unknown command $command" ;;
    esac
}
