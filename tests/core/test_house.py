"""The house: core is mechanism and names no dialect, and no import goes round in a circle, not even one inside a function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from transload.contents import STRUCTURE
from transload.plugin_host import Host

FOLDERS = ("core", "converters", "plugins", "targets")


def modules(root: Path) -> dict[str, Path]:
    """All modules of the project by name."""
    found = {}
    for folder in FOLDERS:
        for file in (root / folder).rglob("*.py"):
            name = ".".join(file.relative_to(root / folder).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = file
    return found


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every string in a program, docstrings among them, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def named(text: str, dialects: set[str]) -> list[str]:
    """The dialects that a text names, as `tosa`, `"tosa"` or `tosa.add`; parts of longer names and of files are none."""
    return re.findall(rf"(?<![\w.-])({'|'.join(sorted(dialects))})(?![\w-])", text)


def test_core_names_no_dialect(root: Path):
    """Whatever is registered: a new dialect's name must not be in core either."""
    dialects = set(Host().dialects) - set(STRUCTURE)
    assert {"top", "tosa", "tfl", "onnx"} <= dialects
    assert named('"top"', {"top"}) and named("as tosa.add has it", {"tosa"}) and not named("to-top, model.tosa", {"top", "tosa"})
    found = [
        f"{file.relative_to(root)}:{line}: {text[:80]!r}"
        for file in (root / "core" / "transload").rglob("*.py") if "templates" not in file.parts
        for line, text in texts(ast.parse(file.read_text(encoding="utf-8"))) if named(text, dialects)]
    assert not found, "\n".join(found)


def imports(name: str, file: Path, known: Mapping[str, Path]) -> set[str]:
    """The modules that a module imports anywhere, but for type checkers alone."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    typing = {
        id(inner) for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)}
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = ".".join(filter(None, (".".join(parts[: len(parts) - node.level + 1]) if node.level else "", node.module)))
            found |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names}
    return found & known.keys() - {name}


def circle(edges: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle; none where there is no such."""
    done: set[str] = set()
    for start in edges:
        path: list[str] = []
        stack: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(edges[start])))] if start not in done else []
        path = [start] if stack else []
        while stack:
            name, rest = stack[-1]
            following = next((other for other in rest if other not in done), None)
            if following is None:
                done.add(name)
                stack.pop()
                path.pop()
            elif following in path:
                return [*path[path.index(following):], following]
            else:
                path.append(following)
                stack.append((following, iter(sorted(edges[following]))))
    return []


def test_no_import_goes_round_in_a_circle(root: Path):
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"] and circle({"a": {"b"}, "b": set()}) == []
    known = modules(root)
    assert "transload.journey" in known and "transload_targets.tosa" in known
    found = circle({name: imports(name, file, known) for name, file in known.items()})
    assert not found, " → ".join(found)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("folder", "most"), [("core", 60), ("targets", 60), ("converters", 60)])
def test_functions_are_short(root: Path, folder: str, most: int):
    long = [
        f"{file.relative_to(root)}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for file in (root / folder).rglob("*.py") for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None and node.end_lineno - node.lineno >= most]
    assert not long, "\n".join(long)
