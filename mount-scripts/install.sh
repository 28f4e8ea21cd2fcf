#!/usr/bin/env bash
# Installs backupfs, or removes what it has installed: install.sh install|uninstall|list
#
# All from the environment; `make install` sets them: BINARY (the program as it was built), PREFIX (/usr/local), DESTDIR (a folder that stands for /).
# SBINDIR is where the mount helper goes: /sbin (which is /usr/sbin everywhere by now) is the only place where mount(8) looks. ZSHDIR is zsh's folder of completions,
# DOCDIR that of the documents. Files are told in one list, so that what is installed is what is removed. Stores are never touched.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly action=${1:-} destination=${DESTDIR:-} prefix=${PREFIX:-/usr/local}
readonly binary_folder=${BINDIR:-$prefix/bin} helper_folder=${SBINDIR:-/usr/sbin} share=$prefix/share
build_folder=$(dirname "${BINARY:-.}")
readonly build_folder
readonly documents=${DOCDIR:-$share/doc/backupfs} zsh_folder=${ZSHDIR:-$share/zsh/site-functions}

# One line for each file: mode, how it comes about, source, where it goes. `copy` takes the source as it is, `fill` puts the program's folder into it,
# `program` is BINARY without its symbols, `helper` a program beside it that it starts, `made` has been generated.
list() {
    cat <<END
755 program - $binary_folder/backupfs
$(for name in backupfs-media backupfs-serve; do
    if [ "$action" = uninstall ] || [ -x "$build_folder/$name" ]; then echo "755 helper $name $(dirname "$binary_folder")/libexec/backupfs/$name"; fi
done)
755 fill mount-scripts/system/mount.backupfs $helper_folder/mount.backupfs
644 made completions/backupfs.bash $share/bash-completion/completions/backupfs
644 made completions/_backupfs $zsh_folder/_backupfs
644 made completions/backupfs.fish $share/fish/vendor_completions.d/backupfs.fish
644 made manual/backupfs.1 $share/man/man1/backupfs.1
644 made manual/backupfs.yaml.5 $share/man/man5/backupfs.yaml.5
644 made manual/mount.backupfs.8 $share/man/man8/mount.backupfs.8
755 fill mount-scripts/system/health.sh $share/backupfs/health.sh
755 copy mount-scripts/system/updatedb.sh $share/backupfs/updatedb.sh
755 copy mount-scripts/desktop/bookmark.sh $share/backupfs/bookmark.sh
644 fill mount-scripts/desktop/backupfs.desktop $share/applications/backupfs.desktop
644 fill mount-scripts/desktop/dolphin.desktop $share/kio/servicemenus/backupfs.desktop
644 fill mount-scripts/desktop/nautilus.py $share/nautilus-python/extensions/backupfs.py
$(for name in versions restore delete; do
    echo "644 fill mount-scripts/desktop/nemo-$name.nemo_action $share/nemo/actions/backupfs-$name.nemo_action"
    echo "644 fill mount-scripts/desktop/thunar-$name.desktop $share/Thunar/sendto/backupfs-$name.desktop"
done)
644 copy mount-scripts/systemd/store.conf.example $documents/store.conf.example
END
    local kind file
    for kind in system user; do
        for file in mount-scripts/systemd/"$kind"/*; do echo "644 fill $file $prefix/lib/systemd/$kind/${file##*/}"; done
    done
    # With the folders they have here, since they refer to each other.
    for file in README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md changelog/TEMPLATE.md LICENSE Docs/*.md Docs/*/*.md Docs/reference/*.json Docs/images/*.png; do echo "644 copy $file $documents/$file"; done
}

generate() {
    mkdir -p "$work/completions"
    # It is read by a shell, not run.
    "$BINARY" --generate-completion-script bash | sed '1{/^#!/d}' > "$work/completions/backupfs.bash"
    "$BINARY" --generate-completion-script zsh > "$work/completions/_backupfs"
    "$BINARY" --generate-completion-script fish > "$work/completions/backupfs.fish"
    mount-scripts/manual/manual.sh "$BINARY" "$work/manual"
}

install_all() {
    local mode kind source target
    if [ ! -x "${BINARY:-}" ]; then echo "There is no program to install at \"${BINARY:-}\". Run: make" >&2; exit 1; fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    generate
    while read -r mode kind source target; do
        [ -n "$mode" ] || continue
        case $kind in
            program) install -D -s -m "$mode" "$BINARY" "$destination$target" ;;
            helper) install -D -s -m "$mode" "$build_folder/$source" "$destination$target" ;;
            copy) install -D -m "$mode" "$source" "$destination$target" ;;
            made) install -D -m "$mode" "$work/$source" "$destination$target" ;;
            fill)
                sed "s|@BINDIR@|$binary_folder|g" "$source" > "$work/filled"
                install -D -m "$mode" "$work/filled" "$destination$target"
                ;;
        esac
    done < <(list)
}

uninstall_all() {
    local target
    while read -r _ _ _ target; do [ -z "$target" ] || rm -f -- "$destination$target"; done < <(list)
    # Folders that no other program uses.
    for target in "$documents"/Docs/{how-to,reference,explanation,decisions,images} "$documents"/{Docs,changelog} "$documents" "$share/backupfs" \
        "$(dirname "$binary_folder")/libexec/backupfs"; do
        if [ -d "$destination$target" ]; then rmdir --ignore-fail-on-non-empty -- "$destination$target"; fi
    done
}

case $action in
    install) install_all ;;
    uninstall) uninstall_all ;;
    list) list | awk 'NF { print $4 }' ;;
    *) echo "usage: install.sh install|uninstall|list" >&2; exit 2 ;;
esac
