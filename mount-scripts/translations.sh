#!/usr/bin/env bash
# Brings the catalogs of translations in step with the sources (update), or says where they are not (check).
# The compiler tells which texts are messages, so the debug build must be up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly task=${1:?update or check}
readonly build=${BUILD_FOLDER:-$PWD/.build/debug}
swift=$(mount-scripts/find-swift.sh)

# Modules that are written in C, for the compiler to find: ours, and those of the packages.
options=()
for folder in Sources/C*/include; do
    module=$(basename "$(dirname "$folder")")
    options+=(-Xcc -I -Xcc "$PWD/$folder" -Xcc "-fmodule-map-file=$build/$module.build/module.modulemap")
done
for map in Sources/C*/module.modulemap "$build"/../checkouts/*/Sources/*/module.modulemap "$build"/../checkouts/*/Sources/*/include/module.modulemap \
    .build/checkouts/*/Sources/*/module.modulemap .build/checkouts/*/Sources/*/include/module.modulemap; do
    if [ -f "$map" ]; then options+=(-Xcc "-fmodule-map-file=$(realpath "$map")" -Xcc -I -Xcc "$(realpath "$(dirname "$map")")"); fi
done
read -ra fuse <<< "$(pkg-config --cflags fuse3)"
for option in "${fuse[@]}"; do options+=(-Xcc "$option"); done

# SwiftPM makes the name of the package from the name of the clone's folder; the build's manifest has it.
package=$(sed -nE '/"-module-name","BackupCore"/ s/.*"-package-name","([^"]+)".*/\1/p' "$build.yaml")
[ -n "$package" ] || { echo "$build.yaml does not name the package; run swift build first" >&2; exit 1; }

texts() {
    local target sources=()
    for target in Sources/*/; do
        target=$(basename "$target")
        mapfile -t sources < <(find "Sources/$target" "$build/$target.build/DerivedSources" -name '*.swift' 2> /dev/null)
        # The programs have no texts of their own.
        case $target in backupfs | backupfs-*) continue ;; esac
        if [ "${#sources[@]}" -eq 0 ]; then continue; fi
        # A module cache of its own: in the build's, the compiler can find a module by two paths, one through a link, and refuses it.
        # Only the lines of the tree are passed on; should the compiler fail, what it says is all there is to see.
        "${swift}c" -dump-ast -parse-as-library -DDEBUG -DSWIFT_PACKAGE -swift-version 6 -package-name "$package" -module-name "$target" \
            -I "$build/Modules" -module-cache-path "$build/TranslationsModuleCache" "${options[@]}" "${sources[@]}" 2>&1 \
            || { echo "the module $target could not be read; build it first" >&2; return 1; }
    done
}

texts | python3 mount-scripts/translations/translations.py "$task" Sources/CTranslations Sources/AppData/Resources

# A second opinion of the catalogs' form, values and plural forms.
if [ "$task" = check ]; then
    for file in Sources/CTranslations/*.po; do
        said=$(msgfmt --check --output-file=/dev/null "$file" 2>&1) || { echo "$said" >&2; exit 1; }
    done
fi
