"""A share of the cases is looked at: the page of `transload view` has to hold whatever was read, and nothing of it as markup."""

from __future__ import annotations

import gzip
import json
import random
import re
from base64 import b64decode
from pathlib import Path

from transload.budget import allowed
from transload.ir import Module
from transload_plugins.view import view_page

__all__ = ["is_viewed", "viewed"]

SHARE = 16
"""One case of so many is looked at."""
_DATA = re.compile(rb'<script[^>]*id="data"[^>]*>([A-Za-z0-9+/=]*)</script>')


def is_viewed(number: int) -> bool:
    """Whether case `number` is one of these; the dice of the case itself are not touched."""
    return random.Random(f"view {number}").randrange(SHARE) == 0


def viewed(module: Module, target: str, file: Path) -> None:
    """Write the page of a module on its way to a target, and read back what it shows: every op that was read is there.

    Raises what looking raises, and `AssertionError` for a page that is none.
    """
    ops = [op.name for op in module.walk()]
    with allowed(elements=1 << 24, seconds=15):
        page = view_page(module, file, target).read_bytes()
    found = _DATA.search(page)
    assert found is not None, "the page has no data, or more than data where they are"
    shown = json.loads(gzip.decompress(b64decode(found[1])))
    first = shown["models"][0]["stages"][0]["graph"]["ops"]
    assert {op["op"] for op in first} <= set(ops), "the first stage has ops that the module has not"
    plain, title = re.escape(b"<title>"), re.escape(b"</title>")
    assert re.search(plain + rb"[^<>]*" + title, page), "the title has markup in it"
