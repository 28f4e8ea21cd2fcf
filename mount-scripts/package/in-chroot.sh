#!/bin/sh
# What test-deb.sh does within the clean system: in-chroot.sh. Each line that begins with "ok" is something that was found right.
set -eu

package=/test/backupfs.deb
fail() {
    echo "FAILED: $1" >&2
    exit 1
}
ok() { echo "ok: $1"; }
# Everything that is there, but for what apt and dpkg write for themselves, and what is not the package's.
files() {
    find / -xdev \( -path /proc -o -path /dev -o -path /test -o -path /srv -o -path /tmp -o -path /var/log -o -path /var/cache -o -path /var/lib/apt \
        -o -path /var/lib/dpkg -o -path /run \) -prune -o -print | sort
}
content() { (cd "$1" && find . -type f ! -name 'mount.lock' -exec sha256sum {} + | sort); }

# What it depends on comes first, so that all that the package itself brings can be seen to go again.
apt-get -qq update
dependencies=$(dpkg-deb --field $package Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/,//g')
# shellcheck disable=SC2086 # several words
apt-get -qq install --no-install-recommends $dependencies >/dev/null 2>&1 || fail "the dependencies cannot be installed: $dependencies"
if command -v swift >/dev/null; then fail "there is a toolchain"; fi
files > /test/before

apt-get -qq install --no-install-recommends $package >/dev/null || fail "it does not install"
[ -z "$(dpkg --verify backupfs)" ] || fail "installed files differ: $(dpkg --verify backupfs)"
[ "$(backupfs --version)" = "$(dpkg-query -W -f '${Version}' backupfs)" ] || fail "the versions differ"
if ldd /usr/bin/backupfs | grep -E 'not found|swift'; then fail "libraries are missing, or Swift's are needed"; fi
ok "installed, version $(backupfs --version), with $(ldd /usr/bin/backupfs | wc -l) libraries of the system and none of Swift"

mkdir -p /mnt/cars
backupfs init --sample --store /srv/cars >/dev/null
mount -t backupfs /srv/cars /mnt/cars
mkdir /mnt/cars/snapshots/one
(cd /mnt/cars/snapshots/one && sha256sum --quiet -c SHA256SUMS) || fail "checksums"
cp /mnt/cars/snapshots/one/export.json /mnt/cars/restore/
grep -q "Imported 3 cars, 1200 expenses" /mnt/cars/restore/last.txt || fail "the restore"
/usr/share/backupfs/health.sh -s /srv/cars -a 1 /mnt/cars || fail "the health script"
umount /mnt/cars
ok "mount -t backupfs, a backup, a restore, umount"

# What is recommended is not installed here.
if backupfs remote add server s3:https://127.0.0.1/bucket/cars --store /srv/cars 2>/test/errors; then fail "a server without libcurl"; fi
grep -qF 'Install libcurl (on Debian: libcurl4)' /test/errors || fail "a server without libcurl: $(cat /test/errors)"
recommended=$(dpkg-deb --field $package Recommends)
apt-get --simulate install "$recommended" | grep -q "^Inst $recommended " || fail "there is no package $recommended"
ok "without $recommended, it says what a server needs"

echo "/srv/cars /mnt/cars backupfs nofail,x-systemd.automount 0 0" >> /etc/fstab
mount /mnt/cars
mount -a || fail "mount -a of what is mounted"
[ -d /mnt/cars/snapshots/one ] || fail "the line in fstab"
umount /mnt/cars
ok "a line in /etc/fstab, twice"

apt-get -qq remove backupfs >/dev/null
if [ -e /usr/bin/backupfs ] || [ -e /usr/sbin/mount.backupfs ]; then fail "it is still there"; fi
ok "removed"

apt-get -qq install --no-install-recommends $package >/dev/null
backupfs init --store /root/.local/share/backupfs >/dev/null
backupfs init --store /srv/other --repository /srv/disk >/dev/null
mkdir -p /etc/backupfs
echo 'BACKUPFS_STORE="/srv/other"' > /etc/backupfs/other.conf
content /srv > /test/content
told=$(apt-get -qq purge backupfs)
for store in /srv/cars /root/.local/share/backupfs "/srv/other (its backups: /srv/disk)"; do
    echo "$told" | grep -qF "    $store" || fail "purging does not tell of $store: $told"
done
content /srv | cmp - /test/content || fail "purging changed a store"
ok "purged: all stores are whole and told of"
echo "$told" | sed -n '/^backupfs is gone/,$s/^/    /p'

rm -rf /root/.local /etc/backupfs /mnt/cars
files > /test/after
diff /test/before /test/after || fail "something is left, or gone (above)"
ok "nothing is left of it"
