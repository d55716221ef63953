"""Coverage and its evidence, of a plugin that knows nothing of frameworks."""

from __future__ import annotations

import json
import sys

import pytest

from transload.coverage_report import coverage, evidence, first_reached, verdict
from transload.errors import PluginError, UsageError
from transload.ir.declare import Dialect
from transload.plugin import Conversion, DialectSpec, Target
from transload.plugin_host import Host, host, use_host
from transload.rewrite import RewriteTable

OLD = Dialect("old", "A framework's.")


@OLD.op("add")
class Add:
    """A sum."""


@OLD.op("guess")
class Guess:
    """A guess."""


TABLE = RewriteTable()


@TABLE("old.add")
def add(op, rw):
    return None


TABLE.refuse({"old.guess": ("it is only a guess", "measure instead")})
CELL = {"cases": 3, "kind": "integer", "off": 1, "why": "halves"}
RECORD = {"from": "old", "to": "new", "judge": "A judge.", "formats": {"u8": "bytes"}, "results": {"old.add": {"u8": CELL}}}


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Registers dialects `old` and `new` with a conversion, whose evidence has the given text."""
    before = host()

    def register(text: str) -> None:
        package = tmp_path / "evidence_of_old"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "seen.json").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        sys.modules.pop("evidence_of_old", None)
        new = Host(points=[])
        new.dialects["old"] = DialectSpec("old", OLD)
        new.dialects["new"] = DialectSpec("new", Dialect("new", "A hub."))
        new.conversions["old-to-new"] = Conversion(
            "old-to-new", "old", "new", table=TABLE, evidence="evidence_of_old:seen.json")
        use_host(new)

    yield register
    use_host(before)


def test_evidence_comes_with_the_rows(plugin):
    plugin(json.dumps(RECORD))
    rows = {row["op"]: row for row in coverage("old", "new")}
    assert rows["old.add"] == {
        "op": "old.add", "covered": True, "by": "old-to-new", "why": "", "evidence": {"u8": CELL}, "taken": None}
    assert rows["old.guess"]["why"] == "it is only a guess"
    assert not rows["old.guess"]["evidence"]


def test_evidence_of_another_way_does_not_count(plugin):
    plugin(json.dumps({**RECORD, "to": "elsewhere"}))
    assert evidence("old", "new") == {}


def test_what_a_target_does_not_take_is_not_covered(plugin):
    taken = [{"names": ["chip-1", "chip-2"], "taken": {"old.add": {"u8": 2}}, "why": {}},
             {"names": ["chip-3"], "taken": {}, "why": {"old.add": "chip-3 has no adder"}}]
    plugin(json.dumps({**RECORD, "targets": taken}))

    class Chip(Target):
        accepts = ("new",)

    for name in ("chip-2", "chip-3", "chip-4"):
        host().targets[name] = Chip()
    rows = {name: coverage("old", name)[0] for name in host().targets}
    assert rows["chip-2"]["covered"] and rows["chip-2"]["taken"] == {"u8": 2}
    assert not rows["chip-3"]["covered"] and rows["chip-3"]["why"] == "chip-3 has no adder"
    assert rows["chip-4"]["covered"] and rows["chip-4"]["taken"] is None, "it was not there to be asked"


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"from": "old"})])
def test_evidence_that_is_none_says_so(plugin, text):
    plugin(text)
    with pytest.raises(PluginError, match=r"seen\.json"):
        coverage("old", "new")


def test_verdicts():
    assert verdict({"cases": 0, "why": "no kernel"}) == "-"
    assert verdict({"cases": 2, "kind": "float", "off": 0.0}) == "exact"
    assert verdict({"cases": 2, "kind": "integer", "off": 1}) == "within 1"
    assert verdict({"cases": 2, "kind": "float", "off": 3e-7}) == "3e-07"


def test_a_way_of_several_steps_is_known_as_far_as_its_first(plugin):
    plugin(json.dumps({**RECORD, "to": "elsewhere"}))
    host().dialects["far"] = DialectSpec("far", Dialect("far", "A chip's."))
    host().conversions["new-to-far"] = Conversion("new-to-far", "new", "far", table=RewriteTable())
    assert first_reached("old", "far") == "new" and first_reached("old", "new") is None


@pytest.mark.parametrize("use", [coverage, evidence, first_reached])
def test_a_name_of_nothing_is_refused_with_what_there_is(plugin, use):
    """It was said that no conversions lead there, as if it were something."""
    plugin(json.dumps(RECORD))
    with pytest.raises(UsageError, match="no target and no dialect is called 'neww'") as caught:
        use("old", "neww")
    assert caught.value.hint is not None and caught.value.hint.startswith("did you mean 'new'? there are new")
