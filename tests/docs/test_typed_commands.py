"""Commands that a page gives without what they print are typed, too: a page after the other, on files that stand in.

Those with what they print, in `console` blocks, are in `test_pages.py`. A synopsis, with brackets or names in capitals, is read
by `tests/core/cli/test_hints.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_of_a_page_can_be_typed(page: str, tmp_path: Path) -> None:
    typed = commands(page)
    put_stand_ins(tmp_path, "\n".join(typed))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"}
    lacking = []
    for line in typed:
        run = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        needs = MISSING.search(run.stdout + run.stderr)
        if run.returncode and needs:
            lacking.append(needs[0])
        else:
            assert run.returncode == 0, f"{page}: $ {line}\n{run.stdout}{run.stderr}"
    if lacking:
        pytest.skip("not all could be typed: " + ", ".join(sorted(set(lacking))))
