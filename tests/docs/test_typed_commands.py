"""Commands that a page gives without what they print are typed, too: a page after the other, on files that stand in.

Those with what they print, in `console` blocks, are in `test_pages.py`. A synopsis, with brackets or names in capitals, is read
by `tests/core/cli/test_hints.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.lines import typed
from tests.docs.stand_ins import ROOT, put_stand_ins

BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
SYNOPSIS = re.compile(r"\[|\||\.\.\.|\b[A-Z]{4,}\b")
ELSEWHERE = re.compile(r"tcp://|~/|mtcnn\.pb|^transload view (?!.*--html)")
"""A cluster, an environment, a network of somebody's: there is nothing to type it for; and what stays until it is ended."""
MISSING = re.compile(r"pip install 'transload\[\w+\]'")
PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


def commands(page: str) -> list[str]:
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    typed = (re.sub(r"\s{2,}#.*", "", line.removeprefix("$ ").strip()) for line in lines)
    return [line for line in typed if line.startswith("transload ") and not SYNOPSIS.search(line) and not ELSEWHERE.search(line)]


@pytest.mark.one_in(3)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_of_a_page_can_be_typed(page: str, tmp_path: Path) -> None:
    lines = commands(page)
    put_stand_ins(tmp_path, "\n".join(lines))
    lacking = []
    for line in lines:
        code, printed = typed(line, tmp_path)
        needs = MISSING.search(printed)
        if code and needs:
            lacking.append(needs[0])
        else:
            assert code == 0, f"{page}: $ {line}\n{printed}"
    if lacking:
        pytest.skip("not all could be typed: " + ", ".join(sorted(set(lacking))))
