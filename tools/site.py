"""Hooks of mkdocs: what belongs to the site and is no page.

The headers are in the reference that Doxygen writes beside the pages; any other file is only named.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((\.\./[^)]+)\)")
_HEADERS = "../include/tauto"
_REFERENCE = "api/index.html"
_WORKER = "assets/iframe-worker.js"


def on_files(files: Any, config: Any) -> Any:
    """What is no page: the reference, over which Doxygen writes, and the script of the search."""
    files.append(File.generated(config, _REFERENCE, content=""))
    files.append(
        File.generated(config, _WORKER, abs_src_path=str(Path(__file__).with_name("iframe-worker.js")))
    )
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    return _OUTSIDE.sub(_within, markdown)


def _within(link: re.Match[str]) -> str:
    words, where = link.groups()
    return f"[{words}]({_REFERENCE})" if where.startswith(_HEADERS) else words
