"""The headers, the library and the tools of tautochrone, from the tree that this repository of Spack lies in."""

from pathlib import Path

from spack.package import *

TREE = Path(__file__).resolve().parents[4]


class Tautochrone(CMakePackage):
    """Makes every core of a machine finish at the same moment, and says what that costs."""

    git = TREE.as_uri()
    license("MIT")
    version("0.1.0", branch="main")
    variant("tools", default=True, description="Build tauto and the executables of its commands")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.11:", type=("build", "run"), when="+tools")
    depends_on("hwloc@2:")
    depends_on("cli11", type="build", when="+tools")
    depends_on("nlohmann-json", type="build", when="+tools")

    def cmake_args(self):
        return [
            self.define_from_variant("TAUTO_BUILD_TOOLS", "tools"),
            self.define("TAUTO_BUILD_RUNNERS", False),
        ]
