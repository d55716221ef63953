"""What a type checker knows of the public names: those of `transload`, which come when asked for, are not `Any` to it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import transload

ROOT = Path(__file__).parents[2]
LOOSE = ("no-untyped-def", "no-untyped-call", "name-defined", "import-not-found", "misc")
"""What examples of pages are free in: they say no types where a reader needs none, and begin with names of the example before."""
SCRIPT = '''
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import transload
from transload import Emitted, Module, Op, RewriteTable, Rewriter, Target, hookimpl
from transload.errors import Finding
from transload.ir import Value
from transload_hub.network import network

RULES = RewriteTable()

@RULES("top.Relu")
def relu(op: Op, rw: Rewriter) -> Value | None:
    return op.operands[0]

class Chip(Target):
    name = "chip"
    accepts = ("top",)

    def check(self, module: Module, options: Any) -> list[Finding]:
        return []

    def emit(self, module: Module, directory: Path, stem: str, options: Any) -> Emitted:
        return Emitted([directory / stem])

class Yielding(Target):
    def check(self, module: Module, options: Any) -> Iterator[Finding]:
        yield Finding("top.Relu", "there is no such unit")

@hookimpl
def register_targets(register: Any) -> None:
    register(Chip())

reveal_type(transload.load("m.onnx"))  # note: Revealed type is "transload.ir.module.Module"
transload.memory.place
transload.convrt("m.onnx")  # error: Module has no attribute "convrt"
transload.convert("m.onnx", 5)  # error: Argument 2 to "convert" has incompatible type "int"
transload.convert("m.onnx", nosuch=1)  # error: Unexpected keyword argument "nosuch" for "convert"
'''


def test_each_public_name_is_imported_for_type_checkers() -> None:
    """From where it is when the program runs, and as a name that others may import (PEP 484: `X as X`)."""
    tree = ast.parse(Path(transload.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imported: dict[str, str | None] = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name
            imported[alias.name] = node.module
    assert sorted([*imported, "__version__"]) == sorted(transload.__all__)
    for name, module in imported.items():
        there = import_module(f"transload.{module}" if module else f"transload.{name}")
        assert getattr(transload, name) is (getattr(there, name) if module else there), name


def test_all_is_what_there_is() -> None:
    assert dir(transload) == sorted(transload.__all__)
    with pytest.raises(AttributeError, match="no attribute 'convrt'"):
        transload.convrt  # noqa: B018


def test_mypy_knows_the_public_names(tmp_path: Path) -> None:
    """A user's script with all checks (`--strict`); and examples of pages, of which each name and argument is there."""
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n" + "".join(
        f"[mypy-{page}]\ndisable_error_code = {', '.join(LOOSE)}\n" for page in _put_examples(tmp_path)))
    files = sorted(path.name for path in tmp_path.glob("*.py"))
    done = subprocess.run([sys.executable, "-m", "mypy", *files], cwd=tmp_path, capture_output=True, text=True, check=False)
    said = re.findall(r"^(\w+)\.py:(\d+): (.*)$", done.stdout, re.MULTILINE)
    assert [each for each in said if each[0] != "script"] == []
    wanted = {
        str(number): comment[1] for number, line in enumerate(SCRIPT.splitlines(), 1)
        if (comment := re.search(r"  # (.*)", line)) is not None}
    found = {number: text for page, number, text in said if page == "script" and "defined in" not in text}
    assert found.keys() == wanted.keys(), done.stdout + done.stderr
    assert [found[number][: len(text)] for number, text in wanted.items()] == list(wanted.values())


def _put_examples(directory: Path) -> list[str]:
    """Each example in Python of a page of the documentation as a module; their names."""
    made = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        for place, text in enumerate(re.findall(r"^```python[^\n]*\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)):
            try:
                ast.parse(text)
            except SyntaxError:  # a piece of something
                continue
            made.append(f"{page.stem.replace('-', '_')}_{place}")
            (directory / f"{made[-1]}.py").write_text(text, encoding="utf-8")
    assert len(made) > 20
    return made
