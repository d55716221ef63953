"""Plugins as they are found and looked at: what one of them has wrong is told of that one, and the others go on."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from transload.errors import PluginError
from transload.installed import installed
from transload.plugin import Pass
from transload.plugin_host import Host

from tests.support.plugins import info_of, point, raising, registering


def distribution(root: Path, name: str, entries: str | bytes) -> None:
    """A distribution that is installed in a folder, with a file of entry points."""
    folder = root / f"{name}-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (folder / "entry_points.txt").write_bytes(entries if isinstance(entries, bytes) else entries.encode())


@pytest.mark.parametrize("error", [KeyError("transload_api"), SystemExit(3)])
@pytest.mark.parametrize("member", ["__getattr__", "__dir__"])
def test_a_module_that_raises_when_it_is_looked_at(member: str, error: BaseException) -> None:
    members: dict[str, Any] = {member: raising(error), **registering(passes=[Pass("lazy", abs)])}
    lazy = point("lazy", **members)
    there = Host([lazy, point("other", **registering(passes=[Pass("p", abs)]))], only="")
    assert "p" in there.passes
    assert f"it cannot be looked at: {type(error).__name__}" in str(info_of(there, "lazy").error)


def test_objects_that_raise_when_they_are_looked_at() -> None:
    class Lazy:
        def __getattr__(self, name: str) -> Any:
            raise KeyError(name)

        def __eq__(self, other: object) -> bool:
            raise ValueError("no comparison")

        __hash__ = object.__hash__

    there = Host([], only="")
    with pytest.raises(PluginError, match="cannot be looked at: KeyError"):
        there.register(Lazy())


@pytest.mark.parametrize("entries", ["[transload]\noddity\n", b"\xff\xfe"])
def test_a_file_of_entry_points_that_does_not_read(
        entries: str | bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path, "odd", entries)
    monkeypatch.syspath_prepend(str(tmp_path))
    there = Host(only="odd,images")
    assert "its entry_points.txt does not read" in str(info_of(there, "odd").error)
    assert str(info_of(there, "odd")) == "plugin 'odd' (odd 1)"
    assert "add-postprocess" in there.passes
    assert info_of(Host(only="images"), "odd").skipped
    assert not installed("console_scripts")[1] or isinstance(entries, bytes)


def test_another_groups_line_that_does_not_read_is_no_business_of_ours(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path, "odd", "[other]\noddity\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    points, unreadable = installed("transload")
    assert "images" in {each.name for each in points} and not unreadable


def test_a_distribution_without_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path, "bare", "[transload]\nbare = no_such_module_anywhere\n")
    (tmp_path / "bare-1.dist-info" / "METADATA").unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "ModuleNotFoundError" in str(info_of(Host(only="bare"), "bare").error)


def test_two_entry_points_to_one_module() -> None:
    first = point("one", **registering(passes=[Pass("p", abs)]))
    there = Host([first, EntryPoint("two", first.value, "transload")], only="")
    assert "p" in there.passes and info_of(there, "two").error == "it is registered already, as 'one'"


@pytest.mark.parametrize("of", ["", ":PLUGIN"])
def test_a_plugin_that_asks_for_plugins_while_it_is_imported(
        of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_for_test_early.py").write_text(f"""
import sys
from importlib.metadata import EntryPoint
from transload import Pass, hookimpl
from transload.plugin_host import Host

inner = Host([EntryPoint("early", "made_for_test_early{of}", "transload")], only="")

@hookimpl
def register_passes(register):
    register(Pass("p", abs))

PLUGIN = sys.modules[__name__]
""")
    monkeypatch.syspath_prepend(str(tmp_path))
    there = Host([EntryPoint("early", f"made_for_test_early{of}", "transload")], only="")
    module: Any = sys.modules.pop("made_for_test_early")
    assert isinstance(module, ModuleType) and "p" in there.passes
    assert str(info_of(module.inner, "early").error).startswith("it asks for plugins while it is imported itself")


@pytest.mark.parametrize(("value", "said"), [
    ("12 34", "its entry point, '12 34', names no module: it is written package.module, or package.module:name"),
    ("no_such_package_here.plugin", "ModuleNotFoundError: No module named 'no_such_package_here'"),
    ("json:nothing", "AttributeError: module 'json' has no attribute 'nothing'")])
def test_what_an_entry_point_does_not_lead_to_has_no_place_in_importlib(value: str, said: str) -> None:
    there = Host([EntryPoint("lost", value, "transload")], only="")
    assert info_of(there, "lost").error == said
