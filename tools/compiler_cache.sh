# Sourced by the build scripts, at the root of the tree. The wheel, the presets and the tests' consumers compile
# the same sources: with ccache each object is made once. It tells compilers apart by their names, so the name is
# the same everywhere.
if command -v ccache >/dev/null 2>&1; then
    : "${CCACHE_DIR:=$(pwd -P)/build/ccache}" "${CXX:=c++}"
    # Without these it keeps nothing that is compiled with a precompiled header.
    : "${CCACHE_SLOPPINESS:=pch_defines,time_macros}"
    # What a source includes it takes from the compiler's list: reading all headers once more before each compilation
    # takes a sixth of the compiler's time.
    : "${CCACHE_DEPEND:=1}"
    # The sources that CMake puts together lie in the build folders. Relative to these their names are the same in all:
    # in the wheel and the presets, because all lie at one depth.
    : "${CCACHE_BASEDIR:=$(pwd -P)/build}"
    export CCACHE_BASEDIR CCACHE_DIR CCACHE_SLOPPINESS CCACHE_DEPEND CXX CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
