"""The reference of the library has every public name, and what its pages show is what `docs/generate.py` writes of them."""

from __future__ import annotations

import importlib
import importlib.util
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
