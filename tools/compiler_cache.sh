# Sourced by the build scripts, at the root of the tree. The wheel, the presets and the tests' consumers compile
# the same sources: with ccache each object is made once.
if command -v ccache >/dev/null 2>&1; then
    : "${CCACHE_DIR:=$(pwd -P)/build/ccache}" "${CCACHE_BASEDIR:=$(pwd -P)}"
    export CCACHE_DIR CCACHE_BASEDIR CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
