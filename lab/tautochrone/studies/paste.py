"""Lines to paste that are the same in every study."""

from __future__ import annotations

from tautochrone.report.analysis import Settings

CMAKE = Settings(
    label="CMake, tautochrone",
    language="cmake",
    text="""find_package(tautochrone REQUIRED)
target_link_libraries(my_program PRIVATE tautochrone::tautochrone)""",
)
