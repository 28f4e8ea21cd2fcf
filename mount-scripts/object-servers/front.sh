#!/usr/bin/env bash
# Apache's HTTP server between clients and a server: front.sh start FOLDER --target HOST:PORT [--until-end-of PROCESS]. See common.sh. It prints
#
#   endpoint      https://localhost:PORT, also on [::1]: forwards to the target, and speaks HTTP/2 alone
#   endpoint6     http://[::1]:PORT: forwards to the target; empty where the machine has no such address
#   proxy         http://127.0.0.1:PORT: a proxy that clients name, for HTTP and, by CONNECT, for HTTPS
#   locked_proxy  the same for a user `member` with the password `secret`
#   certificate   the authority that signed the certificate for localhost
#   log           a line for each request that has ended: the protocol, the client's port, the status, the method, the path; a tunnel of
#                 CONNECT when it has ended
#   refused       a port on which nothing listens
#
# The signal USR1 to `process` has it finish the requests that run, tell its clients to connect again (GOAWAY), and go on.
# shellcheck disable=SC2154 # common.sh sets them
server_name=Apache
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

port_count=5
# Its end is to look like a crash, and it would wait for connections.
stop_signal=KILL

prepare() {
    need apache2
    make_certificate
    [ -z "$target" ] || echo "$target" >"$folder/target"
    target=$(cat "$folder/target")
    # The password in the form that crypt(3) makes.
    echo "member:$(openssl passwd -6 secret)" >"$folder/users"
    write_settings >"$folder/apache.conf"
    # It reads the users after it has given up root's rights.
    chmod 711 "$folder"
}

has_ipv6() { [ -n "$(ip -6 addr show dev lo to ::1 2>/dev/null)" ]; }

write_settings() {
    local module
    echo "ServerRoot $folder"
    echo "ServerName localhost"
    echo "PidFile $folder/apache.pid"
    echo "DefaultRuntimeDir $folder"
    echo "ErrorLog $folder/apache-errors.log"
    for module in mpm_event authn_core authn_file authz_core authz_user auth_basic ssl http2 proxy proxy_http proxy_connect; do
        echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"
    done
    cat <<EOF_CONF
User www-data
Group www-data
StartServers 1
ServerLimit 2
ThreadsPerChild 32
MaxRequestWorkers 64
KeepAliveTimeout 60
Timeout 120
AllowEncodedSlashes NoDecode
MergeSlashes Off
LogFormat "%H %{remote}p %>s %m %U%q" requests
CustomLog $folder/access.log requests
Listen 127.0.0.1:${ports[0]}
Listen 127.0.0.1:${ports[2]}
Listen 127.0.0.1:${ports[3]}
<VirtualHost *:${ports[0]}>
    Protocols h2
    SSLEngine on
    SSLCertificateFile $folder/tls/server.pem
    SSLCertificateKeyFile $folder/tls/server.key
    ProxyPreserveHost On
    ProxyPass / http://$target/ nocanon
</VirtualHost>
<VirtualHost *:${ports[1]}>
    ProxyPreserveHost On
    ProxyPass / http://$target/ nocanon
</VirtualHost>
<VirtualHost *:${ports[2]}>
    ProxyRequests On
    AllowCONNECT 1-65535
</VirtualHost>
<VirtualHost *:${ports[3]}>
    ProxyRequests On
    AllowCONNECT 1-65535
    <Proxy *>
        AuthType Basic
        AuthName members
        AuthBasicProvider file
        AuthUserFile $folder/users
        Require valid-user
    </Proxy>
</VirtualHost>
EOF_CONF
    if has_ipv6; then
        echo "Listen [::1]:${ports[0]}"
        echo "Listen [::1]:${ports[1]}"
    fi
}

# Whatever the target answers.
launch_all() {
    launch apache apache2 -f "$folder/apache.conf" -DFOREGROUND
    wait_until answers --cacert "$folder/tls/authority.pem" "https://localhost:${ports[0]}/"
}

describe() {
    echo "endpoint=https://localhost:${ports[0]}"
    echo "endpoint6=$(! has_ipv6 || echo "http://[::1]:${ports[1]}")"
    echo "proxy=http://127.0.0.1:${ports[2]}"
    echo "locked_proxy=http://127.0.0.1:${ports[3]}"
    echo "refused=${ports[4]}"
    echo "certificate=$folder/tls/authority.pem"
    echo "log=$folder/access.log"
    echo "process=$(cat "$folder/apache.pid")"
}

clean_up() { rm -f "$folder/apache.pid"; }

main "$@"
