#!/bin/sh
# Configures and builds one preset:   tools/cmake.sh PRESET [CMAKE OPTION...]
# A build folder that was made elsewhere, or half made, is configured afresh instead of failing.
set -eu
cd "$(dirname -- "$0")/.."
preset=$1
shift
folder=build/cpp/$preset
root=$(pwd -P)
. tools/compiler_cache.sh
# Two builds of one preset take turns.
mkdir -p build/cpp
exec 9>"build/cpp/.$preset-lock"
if command -v flock >/dev/null 2>&1; then flock 9; fi
fresh=
if [ -f "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    fresh=--fresh
fi
# The second try starts from nothing: a cache can name a compiler or a library that is gone.
# shellcheck disable=SC2086
cmake --preset "$preset" $fresh "$@" || cmake --preset "$preset" --fresh "$@"
cmake --build --preset "$preset" -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
