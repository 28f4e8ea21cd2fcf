#!/usr/bin/env bash
# Makes the Debian package of a built program: build-deb.sh BINARY FOLDER
#
# FOLDER gets backupfs_VERSION_ARCHITECTURE.deb. The same program and the same sources give the same package, byte for byte: times are those of the
# last commit, or what SOURCE_DATE_EPOCH says. MAINTAINER ("Name <address>") is its maintainer; without it, the author of the last commit is.
set -euo pipefail
umask 022

binary=$(realpath -- "$1")
mkdir -p -- "$2"
folder=$(realpath -- "$2")
readonly binary folder
cd "$(dirname "$0")/../.."

if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
fi
export SOURCE_DATE_EPOCH
maintainer=${MAINTAINER:-$(git log -1 --format='%an <%ae>' 2>/dev/null || echo "backupfs <root@localhost>")}
version=$("$binary" --version)
architecture=$(dpkg --print-architecture)
readonly maintainer version architecture

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
documents=$root/usr/share/doc/backupfs
mkdir -p "$root/DEBIAN" "$work/debian"
readonly root documents

BINARY=$binary DESTDIR=$root PREFIX=/usr SBINDIR=/usr/sbin ZSHDIR=/usr/share/zsh/vendor-completions mount-scripts/install.sh install
gzip -9n "$root"/usr/share/man/man*/*

# What was linked into the program has licences of its own, which are told with it.
{
    printf 'backupfs is under the Apache License 2.0, which is in /usr/share/common-licenses/Apache-2.0.\n'
    printf 'The Swift standard library, which is linked into it, is under the Apache License 2.0 with Runtime Library Exception.\n'
    for licence in .build/checkouts/*/LICENSE*; do
        printf '\nThe library %s, which is linked into it, is under ' "$(basename "$(dirname "$licence")")"
        if grep -q 'Apache License' "$licence"; then
            printf 'the Apache License 2.0 with Runtime Library Exception.\n'
        else
            printf 'this licence:\n\n' && cat "$licence"
        fi
    done
} > "$documents/copyright"
{
    printf 'backupfs (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n' "$version"
    printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')"
} | gzip -9n > "$documents/changelog.gz"

# dpkg-shlibdeps reads the names of the libraries from the program, and wants a source package around it.
printf 'Source: backupfs\n\nPackage: backupfs\nArchitecture: any\n' > "$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O -eroot/usr/bin/backupfs | sed -n 's/^shlibs:Depends=//p')
if [ -z "$libraries" ]; then echo "build-deb.sh: the libraries of $binary could not be found out" >&2; exit 1; fi
# It is loaded when a server is first asked, so the program does not name it; backups in folders work without it.
curl=$(dpkg-query --search '*/libcurl.so.4' | cut -d: -f1 | head -n 1)
if [ -z "$curl" ]; then echo "build-deb.sh: no package has libcurl.so.4. Install libcurl4-openssl-dev" >&2; exit 1; fi
recommended=$curl
# So are the libraries of the program that reads photos, if it was built.
media=$root/usr/libexec/backupfs/backupfs-media
if [ -e "$media" ]; then
    media_libraries=$(cd "$work" && dpkg-shlibdeps -O "-e$media" | sed -n 's/^shlibs:Depends=//p')
    if [ -z "$media_libraries" ]; then echo "build-deb.sh: the libraries of $media could not be found out" >&2; exit 1; fi
    recommended="$curl, $media_libraries"
fi
# And that of the program that shows the mounted folder to browsers.
serve=$root/usr/libexec/backupfs/backupfs-serve
if [ -e "$serve" ]; then
    serve_libraries=$(cd "$work" && dpkg-shlibdeps -O "-e$serve" | sed -n 's/^shlibs:Depends=//p' | tr ',' '\n' | grep -o 'libmicrohttpd[^ ]*' | head -n 1)
    if [ -n "$serve_libraries" ]; then recommended="$recommended, $serve_libraries"; fi
fi
readonly libraries recommended

cat > "$root/DEBIAN/control" <<END
Package: backupfs
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -k --apparent-size -s "$root/usr" | cut -f 1)
Depends: $libraries, fuse3
Recommends: $recommended
Suggests: sqlite3, attr, unzip, libnotify-bin, xdg-utils, python3-nautilus
Section: utils
Priority: optional
Description: back up an app's data, and browse every backup as ordinary files
 backupfs mounts a folder in which an app's data (a SQLite database and, if it
 has one, a folder of photos or attachments) and every backup of it are
 ordinary files. Making a folder there makes a backup; copying an export, an
 archive or a database into it replaces the app's data, after the file has been
 checked whole and a safety backup has been made.
END
for script in postinst prerm postrm; do install -m 755 "mount-scripts/package/$script" "$root/DEBIAN/$script"; done
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"

find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
package=$folder/backupfs_${version}_$architecture.deb
# One thread: more of them cut the data into parts, and into how many depends on the machine.
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$package" >/dev/null
echo "$package"
