"""What the pages of the documentation show is what happens: their Python sessions and their commands are run.

A page's ```pycon blocks are one session, as `doctest` reads it; in ```console blocks, the lines after `$ command` are what it
prints, and `...` stands for anything. Both run in an empty folder with the example's models in it; the commands of a page that
installs a package of its own, in a virtual environment that has what ours has.
"""

from __future__ import annotations

import doctest
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from transload.context import Context

from tests.docs.lines import OURS, typed
from tests.support.installed import install, site_packages
from tests.support.judge_versions import newer_jaxlib

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = DOCS.parent / "examples" / "digits"
BLOCK = re.compile(r"^```(pycon|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = [path.name for path in sorted(DOCS.glob("*.md")) if BLOCK.search(path.read_text(encoding="utf-8"))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file in EXAMPLES.iterdir():
        if file.suffix in (".tflite", ".onnx", ".npz"):
            shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def programs(page: str, folder: Path) -> Path:
    """Where the commands of a page are."""
    if "\n$ pip install " not in (DOCS / page).read_text(encoding="utf-8"):
        return OURS
    python = install(folder / ".environment")
    (Path(site_packages(python)) / "ours.pth").write_text("\n".join(each for each in sys.path if Path(each).is_dir()))
    ours = f"{sys.executable} -m pip --python {python}"
    for name, command in {
            "pip": f'{ours} "$1" --no-deps --no-build-isolation --force-reinstall "${{@:2}}"',
            "transload": f'{python} -m transload "$@"'}.items():
        (python.parent / name).write_text(f"#!/bin/bash\n{command}\n", encoding="utf-8")
        (python.parent / name).chmod(0o755)
    return python.parent


OTHERWISE = {"tutorial-jax.md": newer_jaxlib("has other names for the parts of a program")}


@pytest.mark.parametrize("page", [pytest.param(page, marks=OTHERWISE.get(page, ())) for page in PAGES])
def test_what_a_page_shows_is_what_happens(page: str, folder: Path, programs: Path) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    if ">>> import torch" in text:
        pytest.importorskip("torch")
    failures: list[str] = []
    names: dict[str, object] = {"__name__": "__main__"}
    with Context().bind():
        for kind, line, text in blocks(DOCS / page):
            if kind == "pycon":
                failures += session(text, names, f"{page}:{line}")
            else:
                found = (said(command, shown, f"{page}:{line}", programs) for command, shown in commands(text))
                failures += [problem for problem in found if problem]
    assert not failures, "\n".join(failures)


def blocks(path: Path) -> Iterator[tuple[str, int, str]]:
    """The sessions of a page: `pycon` or `console`, the line each begins in, its text."""
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield match[1], text.count("\n", 0, match.start()) + 2, match[2]


def session(text: str, names: dict[str, object], place: str) -> list[str]:
    """Run Python's part of a session; what differs from what is shown."""
    examples = doctest.DocTestParser().get_examples(text)
    test = doctest.DocTest(examples, names, place, place, 0, text)
    found: list[str] = []
    # Without `verbose`, it looks for -v among the arguments, which are pytest's, and tells of what is right, too.
    doctest.DocTestRunner(verbose=False, optionflags=LENIENT).run(test, out=found.append, clear_globs=False)
    names.update(test.globs)
    return found


def test_what_is_right_is_no_difference_whatever_pytest_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pytest", "-v"])
    assert session(">>> 1 + 1\n2\n", {}, "here") == []
    assert "Expected" in "".join(session(">>> 1 + 1\n3\n", {}, "here"))


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands in a block, each with what it is shown to print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        command = lines.pop(0)
        while command.endswith("\\"):
            command = command[:-1] + lines.pop(0)
        yield command, "\n".join(lines)


def said(command: str, shown: str, place: str, programs: Path) -> str | None:
    """Run a command; what is wrong with what it prints, if anything."""
    _, actual = typed(command, Path.cwd(), programs)
    if doctest.OutputChecker().check_output(shown, actual, LENIENT):
        return None
    return f"{place}: $ {command}\nshown:\n{shown}\nsaid:\n{actual}"
