#!/bin/sh
# Unpacks the packages of packages.txt with the mark `arm64` into build/sysroot, for the preset aarch64:   tools/sysroot.sh
# Nothing is installed. apt's lists of that architecture are kept beside it, so the system's own do not change either.
set -eu
cd "$(dirname -- "$0")/.."
root=$(pwd -P)/build/sysroot
packages=$(sed -n 's/^arm64[[:space:]]*\([^[:space:]]*\).*/\1/p' packages.txt)
[ "$(cat "$root/packages" 2>/dev/null)" != "$packages" ] || exit 0

rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial"
apt_arm64() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User= \
        -o Dir::State="$root/apt" -o Dir::State::status=/dev/null -o Dir::Cache="$root/apt" "$@"
}
cd "$root/apt"
# shellcheck disable=SC2086
if ! apt_arm64 update || ! apt_arm64 download $packages; then
    echo "tauto: error: apt gives no packages of arm64 here ($(echo "$packages" | tr '\n' ' ')): the preset aarch64 needs an archive that has them, as Debian's" >&2
    exit 2
fi
for package in *.deb; do dpkg-deb --extract "$package" "$root"; done
rm -rf "$root/apt"
echo "$packages" >"$root/packages"
