#!/usr/bin/env bash
# Installs the Debian package in a clean Debian and tries it there: test-deb.sh PACKAGE
#
# As root, in a folder of its own that is removed afterwards; what it mounts and starts ends with a namespace of its own. The clean system is made by
# mmdebstrap of this machine's release, from the mirror and through the proxy that apt uses here; 300 MB, a minute or two.
set -euo pipefail

if [ "${2:-}" = inside ]; then
    # In namespaces of mounts and processes: mount what the clean system needs, and go there.
    root=$1
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/dev"
    for device in null zero random urandom fuse; do
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    # Where apt gets the terminal of what it starts from.
    mkdir "$root/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        chroot "$root" /bin/sh /test/in-chroot.sh
fi

if [ ! -f "${1:-}" ]; then echo "test-deb.sh: there is no package \"${1:-}\". Run: make deb" >&2; exit 1; fi
package=$(realpath -- "$1")
script=$(realpath -- "$0")
readonly package script
if [ "$(id -u)" -ne 0 ]; then echo "test-deb.sh: mounting in a clean system needs root. Run: sudo make test-deb" >&2; exit 1; fi
"${script%/package/*}/check-fuse.sh" mount

# As this machine has it.
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016 # the words are apt's
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $codename" "Component: main" "Created-By: Packages" | head -n 1)
work=$(mktemp -d /var/tmp/backupfs-test-deb-XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
apt-config dump | grep -E '^Acquire::(http|https|ftp)::(Proxy|ProxyAutoDetect|Proxy-Auto-Detect)' > "$work/apt.conf" || true

echo "A clean $codename from ${mirror:=http://deb.debian.org/debian}"
mmdebstrap --quiet --variant=minbase --mode=root --aptopt="$work/apt.conf" "$codename" "$work/root" "$mirror"
mkdir "$work/root/test"
cp "$package" "$work/root/test/backupfs.deb"
cp "${script%/*}/in-chroot.sh" "$work/root/test/"
# The machine's own names of hosts and servers of names.
cp /etc/resolv.conf /etc/hosts "$work/root/etc/"
unshare --mount --pid --fork --kill-child -- "$script" "$work/root" inside
echo "test-deb: the package installs, works and goes"
