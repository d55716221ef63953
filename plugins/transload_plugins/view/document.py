"""The page: one HTML document that holds everything, fetches nothing, and treats what it is given as data alone.

The data is compressed JSON in base64, which no name in a model can end; the page writes texts as text nodes. Its policy allows
the scripts that it comes with, by a number made for it, and no connection to anywhere.
"""

from __future__ import annotations

import gzip
import json
import secrets
from base64 import b64encode
from html import escape
from importlib.resources import files
from typing import Any

from transload.json_text import plain

__all__ = ["document"]

STYLES = ("style.css",)
SCRIPTS = (
    "vendor/dagre.min.js", "text.js", "model.js", "layout.js", "canvas.js", "plots.js", "details.js", "layers.js", "about.js",
    "main.js")
"""The parts of the page, in their order."""


def document(data: dict[str, Any], title: str) -> bytes:
    """The page that shows `data`, as UTF-8."""
    nonce = secrets.token_urlsafe(16)
    text = _json(data)
    packed = b64encode(gzip.compress(text.encode("utf-8", "backslashreplace"), 6, mtime=0)).decode("ascii")
    body = _part("index.html")
    scripts = "".join(f'<script nonce="{nonce}">\n{_script(name)}\n</script>\n' for name in SCRIPTS)
    styles = "".join(f'<style nonce="{nonce}">\n{_part(name)}\n</style>\n' for name in STYLES)
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; "
        "form-action 'none'")
    made = body.replace("%POLICY%", policy).replace("%STYLES%", styles).replace("%TITLE%", escape(title))
    return made.replace("%DATA%", packed).replace("%SCRIPTS%", scripts).encode("utf-8", "backslashreplace")


def _json(data: dict[str, Any]) -> str:
    """JSON without spaces; where a number is none that JSON has, every number is looked at."""
    try:
        return json.dumps(data, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(plain(data), separators=(",", ":"), allow_nan=False)


def _script(name: str) -> str:
    """A script; what comes with a source map that is not shipped loses the line that names it."""
    return "\n".join(line for line in _part(name).splitlines() if not line.startswith("//# sourceMappingURL"))


def _part(name: str) -> str:
    return files(__package__).joinpath("page", *name.split("/")).read_text(encoding="utf-8")
