"""What a written report holds, without a browser."""

from __future__ import annotations

import json
import re
from typing import Any


def visible(html: str) -> str:
    """The page's text: no scripts, no styles, no tags, one space between words."""
    without = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", without))


def embedded(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    data: dict[str, Any] = json.loads(found.group(1))
    return data
