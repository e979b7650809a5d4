#!/bin/sh
# Makes build/venv hold the `tauto` of this very tree:   tools/venv.sh [--runners STUDY] [EXTRA]
#
#   tools/venv.sh test              and what the extra test of pyproject.toml names
#   tools/venv.sh --runners loop    and the executables of the study loop, against the peers that are here
#
# The runtime is compiled once for both, where `tauto study --build` would compile it again. In a new venv the tools that
# no study needs are left out, so that an answer comes sooner: any call without --runners adds them.
# Cheap when nothing changed: the installed state is a checksum of every source that goes into the wheel.
# The checksum is written last and removed first, so a run that was stopped half-way is done again.
set -eu
cd "$(dirname -- "$0")/.."
study=
if [ "${1:-}" = --runners ]; then
    study=$2
    shift 2
fi
extra=${1:-}
python=${PYTHON:-python3}
. tools/quietly.sh
root=$(pwd -P)
venv=build/venv
stamp=$venv/.installed
runners_stamp=$venv/.runners
extras_stamp=$venv/.extra-$extra

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    printf 'tauto: error: Python 3.11 or newer is needed, this is %s\n' "$("$python" --version 2>&1)" >&2
    exit 2
}
mkdir -p build
# Two makes at once take turns.
exec 9>build/.venv-lock
if command -v flock >/dev/null 2>&1; then flock 9; fi

# A venv does not survive being moved, nor an upgrade of its Python.
venv_is_sound() {
    [ -x "$venv/bin/python" ] && [ -f "$venv/.made" ] && [ "$(cat "$venv/.made")" = "$root" ] &&
        "$venv/bin/python" -c 'import pip' >/dev/null 2>&1
}
if ! venv_is_sound; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    printf '%s' "$root" >"$venv/.made"
fi

checksum() {
    {
        "$venv/bin/python" --version
        find CMakeLists.txt pyproject.toml LICENSE README.md packages.txt cmake include runtime kernels options probe launch emulator balance runners simulator command timer machines lab \
            -type f ! -name '*.pyc' -exec cksum {} + | LC_ALL=C sort
    } | cksum
}
now=$(checksum)
# A study's name, and the packages that it would have more peers with.
runners=
if [ -n "$study" ]; then runners="$study $(sh tools/packages.sh --dry-run loop peer 2>&1 || :)"; fi
runners_are_there() {
    [ -z "$runners" ] || { [ -f "$runners_stamp" ] && [ "$(cat "$runners_stamp")" = "$runners" ]; }
}

# Which of the tools: all, or " study" for what a study needs, where nothing else was installed yet.
part=
if [ -n "$study" ] && { [ ! -f "$stamp" ] || grep -q ' study$' "$stamp"; }; then part=' study'; fi
tools_are_there() {
    [ -f "$stamp" ] && { [ "$(cat "$stamp")" = "$now" ] || [ "$(cat "$stamp")" = "$now$part" ]; }
}

if ! tools_are_there || ! runners_are_there ||
    ! "$venv/bin/tauto" --version >/dev/null 2>&1; then
    # What was compiled for a study stays.
    if [ -z "$study" ] && [ -s "$runners_stamp" ]; then
        runners=$(cat "$runners_stamp")
        study=${runners%% *}
    fi
    rm -f "$stamp" "$runners_stamp"
    . tools/compiler_cache.sh
    export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
    quietly build/venv.log "building tauto and installing it into $venv" "$venv/bin/python" -m pip install -v \
        ${study:+--config-settings=cmake.define.TAUTO_BUILD_RUNNERS=ON} \
        ${study:+"--config-settings=cmake.define.TAUTO_STUDIES=$study"} \
        ${part:+--config-settings=cmake.define.TAUTO_BUILD_OTHER_TOOLS=OFF} \
        ${part:+--config-settings=cmake.define.TAUTO_BUILD_C=OFF} .
    printf '%s' "$runners" >"$runners_stamp"
    printf '%s' "$now$part" >"$stamp"
fi
# Kept apart: the tools of the tests are needed by `make test` alone, and change with pyproject.toml alone.
if [ -n "$extra" ]; then
    wanted=$(cksum <pyproject.toml)
    if [ ! -f "$extras_stamp" ] || [ "$(cat "$extras_stamp")" != "$wanted" ]; then
        rm -f "$extras_stamp"
        "$venv/bin/python" tools/extra.py "$extra" >"$venv/requirements-$extra.txt"
        quietly build/venv.log "installing the Python packages of the extra $extra" \
            "$venv/bin/python" -m pip install -r "$venv/requirements-$extra.txt"
        printf '%s' "$wanted" >"$extras_stamp"
    fi
fi
