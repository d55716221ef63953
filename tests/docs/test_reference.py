"""The reference of the library has every public name, and what its pages show is what `docs/generate.py` writes of them."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import transload

DOCS = Path(__file__).resolve().parents[2] / "docs"


def script(name: str) -> ModuleType:
    """A module of `docs/`, which are in no package."""
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def api_pages() -> ModuleType:
    return script("api_pages")


@pytest.fixture(scope="module")
def explained(api_pages: ModuleType) -> set[str]:
    """Full names of the classes and functions that have a place on some page."""
    things = (
        getattr(importlib.import_module(module), name)
        for page in api_pages.PAGES for module in page.modules for name in importlib.import_module(module).__all__)
    return {api_pages.home(thing) for thing in things if api_pages.is_written(thing)}


def test_every_public_name_has_its_place(api_pages: ModuleType, explained: set[str]) -> None:
    public = [getattr(transload, name) for name in transload.__all__]
    subjects = [thing for thing in public if isinstance(thing, ModuleType)]
    public += [getattr(subject, name) for subject in subjects for name in subject.__all__]
    missing = {api_pages.home(thing) for thing in public if api_pages.is_written(thing)} - explained
    assert subjects, "`transload.memory` is a subject"
    assert not missing, f"PAGES of docs/api_pages.py lacks the modules of {sorted(missing)}"


def test_every_page_is_in_the_navigation(api_pages: ModuleType) -> None:
    """A page that nothing leads to is found by search alone."""
    navigation = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [f"reference/library/{page.name}.md" for page in api_pages.PAGES]
    pages += [path.name for path in sorted(DOCS.glob("*.md"))]
    assert [page for page in pages if f": {page}\n" not in navigation] == []


def test_the_manual_page_is_what_the_commands_say() -> None:
    """`python docs/man_page.py` writes it."""
    page = script("man_page").man_page()
    assert (DOCS / "transload.1").read_text(encoding="utf-8") == page
    assert ".SS transload program disassemble" in page, "commands of groups are there, too"


def imports_shown() -> dict[tuple[str, str], str]:
    """What the pages' examples import of ours, as module and name, and the page that does."""
    shown = {}
    for page in [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]:
        for line in page.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"(?:>>> |\.\.\. )? *from (transload[\w.]*) import ([\w, ]+)", line):
                shown.update({(found[1], name.strip()): page.name for name in found[2].split(",")})
    return shown


def test_what_pages_tell_to_import_has_its_place(api_pages: ModuleType) -> None:
    """Whoever copies an example looks its functions up in the reference."""
    known = [importlib.import_module(module) for page in api_pages.PAGES for module in page.modules]
    listed = {id(getattr(module, name)) for module in known for name in module.__all__}
    missing = []
    for (module, name), page in imports_shown().items():
        there = importlib.import_module(module)
        thing = getattr(there, name) if hasattr(there, name) else importlib.import_module(f"{module}.{name}")
        has_place = any(each.__name__.startswith(thing.__name__) for each in known) if isinstance(thing, ModuleType) else (
            id(thing) in listed)
        if not has_place:
            missing.append(f"{page}: from {module} import {name}")
    assert imports_shown() and not missing, f"PAGES of docs/api_pages.py lacks {missing}"


def test_tables_of_the_reference_are_the_same_each_time(api_pages: ModuleType) -> None:
    """What tells where it lies in memory tells its class there."""
    parts = "\n".join(part for page in api_pages.PAGES for module in page.modules for part in api_pages.section(module))
    assert "<locals>" not in parts and not re.search(r"x[0-9a-f]{6,}>", parts)
