"""Options and whose they are: a target's, a conversion's, an extension's; by name, by owner, and where two declare the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import PluginError, UsageError
from transload.ir import Module
from transload.journey import Journey, convert_to
from transload.options import as_annotated, settings_of, typed
from transload.plugin import Conversion, DialectSpec, Emitted, Pass, Reader, Target
from transload.rewrite import RewriteTable

from tests.core.journey.test_conversion import renaming

WIDTH = {"width": (("8", "16"), "8", "How wide.")}


class Chip(Target):
    name, doc, accepts = "chip", "A toy.", ("c",)

    def __init__(self, options: Any = WIDTH) -> None:
        self._options = options
        self.given: list[Any] = []

    def options(self) -> Any:
        return self._options

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        self.given.append(dict(options))
        (directory / "file").write_text("x")
        return Emitted([directory / "file"])


def noting(seen: list[Any], source: str, target: str) -> RewriteTable:
    table = RewriteTable()
    table(source)(lambda op, rw: seen.append(dict(rw.options)) or rw.create(target).results)
    return table


@pytest.fixture
def toy(kit: SimpleNamespace, tmp_path: Path) -> SimpleNamespace:
    """`a-to-b` and `b-to-c` with an option `width` each, and a chip with one, too; `convert(**options)` tells who got what."""
    def make(ab: Any = WIDTH, bc: Any = WIDTH, chip: Any = WIDTH, more: tuple[Conversion, ...] = ()) -> Any:
        first: list[Any] = []
        second: list[Any] = []
        target = Chip(chip)
        kit.add(
            Conversion("a-to-b", "a", "b", noting(first, "a.x", "b.x"), options=ab),
            Conversion("b-to-c", "b", "c", noting(second, "b.x", "c.x"), options=bc), target, *more)

        def convert(**options: Any) -> Any:
            transload.convert(kit.module("a.x"), "chip", tmp_path, options=options, verify=False)
            return first.pop(), second.pop(), target.given.pop()

        return convert

    return SimpleNamespace(make=make, kit=kit)


def test_an_option_that_is_declared_alike_goes_to_all_who_declare_it(toy):
    """What a target and a conversion both declared went to the target alone."""
    assert toy.make()(width="16") == ({"width": "16"}, {"width": "16"}, {"width": "16"})


def test_an_option_goes_to_the_owner_that_is_named(toy):
    convert = toy.make()
    assert convert(**{"b-to-c.width": "16"}) == ({"width": "8"}, {"width": "16"}, {"width": "8"})
    assert convert(**{"chip.width": "16"}) == ({"width": "8"}, {"width": "8"}, {"width": "16"})
    assert convert(**{"width": "16", "a-to-b.width": "8"}) == ({"width": "8"}, {"width": "16"}, {"width": "16"})


def test_an_option_that_goes_to_nobody_is_refused(toy):
    """Each that has it is given its own."""
    with pytest.raises(UsageError, match=r"option width=8 has no effect: a-to-b.width is given, which wins"):
        toy.make(bc={}, chip={})(**{"width": "8", "a-to-b.width": "16"})


def test_a_target_wishes_what_nobody_else_says(toy, monkeypatch):
    monkeypatch.setattr(Chip, "converting", {"b-to-c.width": "16"})
    convert = toy.make(chip={})
    assert convert() == ({"width": "8"}, {"width": "16"}, {})
    assert convert(width="8") == ({"width": "8"}, {"width": "8"}, {})
    assert convert(**{"b-to-c.width": "8"}) == ({"width": "8"}, {"width": "8"}, {})


def test_a_target_that_wishes_what_there_is_not_is_told(toy, monkeypatch):
    monkeypatch.setattr(Chip, "converting", {"b-to-c.height": "16"})
    with pytest.raises(PluginError, match="converting of target 'chip': b-to-c takes no option height"):
        toy.make(chip={})()


def test_an_option_that_two_declare_differently_asks_whose_it_is(toy):
    convert = toy.make(bc={"width": (int, 3, "In metres.")}, chip={})
    with pytest.raises(UsageError, match="option width is declared by 'a-to-b' and, differently, by 'b-to-c'") as caught:
        convert(width="16")
    assert caught.value.hint == "say whose it is: a-to-b.width=16 or b-to-c.width=16"
    assert convert(**{"a-to-b.width": "16", "b-to-c.width": "5"}) == ({"width": "16"}, {"width": 5}, {})


def test_of_a_target_and_a_conversion_too(toy):
    convert = toy.make(bc={}, chip={"width": (str, "", "")})
    with pytest.raises(UsageError, match="option width is declared by 'chip' and, differently, by 'a-to-b'"):
        convert(width="16")


@pytest.mark.parametrize(("value", "fits"), [(16, "chip"), ("5", "chip"), ("kept", "a-to-b"), ("whole", "a-to-b")])
def test_what_is_a_value_for_one_of_two_alone_is_refused_with_what_to_type(toy, value, fits):
    """Each refused the other's values, and neither said whose else the option was."""
    convert = toy.make(ab={"width": (("kept", "whole"), "kept", "")}, bc={}, chip={"width": (int, 8, "")})
    for more in ({}, {"chip.width": 3} if fits != "chip" else {"a-to-b.width": "whole"}):
        with pytest.raises(UsageError, match="option width is declared by 'chip' and, differently, by 'a-to-b'") as caught:
            convert(width=value, **more)
        assert caught.value.hint == f"say whose it is: {fits}.width={value}"
    assert convert(**{f"{fits}.width": value}) == (
        {"width": value if fits != "chip" else "kept"}, {}, {"width": int(value) if fits == "chip" else 8})
    assert convert(**{"a-to-b.width": "whole", "chip.width": 3}) == ({"width": "whole"}, {}, {"width": 3})


def test_what_is_no_value_for_either_is_refused_as_such(toy):
    convert = toy.make(ab={"width": (("kept", "whole"), "kept", "")}, bc={}, chip={"width": (int, 8, "")})
    with pytest.raises(UsageError, match="option width must be int, not 'wide'"):
        convert(width="wide")
    with pytest.raises(UsageError, match="option width must be kept or whole, not 'wide'"):
        convert(**{"a-to-b.width": "wide"})


def test_an_option_of_a_target_leads_no_module_by_the_hub_for_its_owners_name(toy):
    """A module that is where its target takes it goes round by the hub for options of conversions alone."""
    toy.kit.add(Conversion("c-to-top", "c", "top", RewriteTable()), Conversion("top-to-c", "top", "c", RewriteTable()))
    chip = Chip({"width": (int, 8, "")})
    for name in ("width", "chip.width"):
        journey = Journey(("c",), {name: 5}, target=chip)
        assert not journey.plan(toy.kit.module("c.x")).stages


@pytest.mark.parametrize(("digits", "wanted"), [(400, float), (5000, bool), (5000, str), (5000, ("a", "b"))])
def test_integers_that_no_float_and_no_message_holds_are_refused(digits, wanted):
    with pytest.raises(UsageError, match=r"option x must be .*, not an integer of [0-9,]+ bits"):
        typed("x", 10**digits, wanted)


def test_an_extension_owns_its_options(toy):
    more = Conversion("mine", "mine", "b", renaming(mine__x="b.x"), extends="a-to-b", options={"depth": (int, 1, "")})
    convert = toy.make(more=(more,))
    for name in ("depth", "mine.depth", "a-to-b.depth"):
        assert convert(**{name: 4})[0] == {"width": "8", "depth": 4}


@pytest.mark.parametrize(("options", "message", "hint"), [
    ({"widht": 1}, "target 'chip', with the conversions on the way to it, has no option widht", "did you mean 'width'?"),
    ({"a-to-b.widht": 1}, "'a-to-b' has no option widht", "did you mean 'width'?"),
    ({"a-to-c.width": 1}, "has no 'a-to-c', whose option a-to-c.width would be", "there are: chip, a-to-b, b-to-c"),
])
def test_an_option_that_nobody_has_is_refused_with_the_nearest(toy, options, message, hint):
    with pytest.raises(UsageError) as caught:
        toy.make()(**options)
    assert message in caught.value.message and hint in caught.value.hint


@pytest.mark.parametrize(("kind", "value", "wanted"), [
    (int, 2.5, "int"), (int, 8.0, "int"), (int, True, "int"), (int, None, "int"), (float, "x", "float"),
    (float, False, "float"), (float, [1.0], "float"), (bool, 7, "true or false"), (bool, None, "true or false"),
    (str, 5, "text"), (("a", "b"), 3, "a or b"),
])
def test_values_of_another_type_are_the_users_mistake(kind, value, wanted):
    """They came as they were to the target, whose failure was told as its plugin's."""
    with pytest.raises(UsageError, match=f"option n must be {wanted}, not"):
        settings_of({"n": (kind, "a" if isinstance(kind, tuple) else kind(), "")}, {"n": value})


@pytest.mark.parametrize(("kind", "value", "held"), [
    (int, np.int64(3), 3), (float, 2, 2.0),
    (float, np.float32(0.5), 0.5), (bool, np.bool_(True), True), (str, Path("a/b"), "a/b"),
])
def test_values_that_are_of_the_type(kind, value, held):
    found = settings_of({"n": (kind, kind(), "")}, {"n": value})["n"]
    assert (found, type(found)) == (held, kind)
    assert settings_of({"n": (kind, None, "")}, {"n": None}) == {"n": None}


def test_values_of_a_quantizer_by_its_annotations():
    def run(module, samples, step: float = 0.5, least: int | None = 1, names: str = "", other: dict[str, int] | None = None):
        pass

    for key, value in (("step", None), ("step", True), ("least", 1.5), ("names", 3)):
        with pytest.raises(UsageError, match=f"option {key} of q must be"):
            as_annotated("q", run, 2, {key: value})
    good = {"step": 1, "least": None, "names": "a", "other": {"b": 2}}
    assert as_annotated("q", run, 2, good) == good


def test_options_that_have_no_names(examples, tmp_path):
    with pytest.raises(UsageError, match="takes a dictionary by names as options, and was given a dict with the key 3"):
        transload.convert(examples / "digits" / "digits_float.onnx", "tosa", tmp_path, options={3: 4})


def test_lower_and_legalize_refuse_what_no_conversion_takes(toy):
    toy.make()
    with pytest.raises(UsageError, match=r"the way to c, with 2 conversion\(s\), has no option widht"):
        transload.lower(toy.kit.module("a.x"), "c", widht="8")
    with pytest.raises(UsageError, match=r"the way to b, with 1 conversion\(s\), has no option depth"):
        transload.legalize(toy.kit.module("a.x"), "b", depth=1)
    with pytest.raises(UsageError, match="has no option widht"):
        transload.lower(toy.kit.module("c.x"), "c", widht="8")


def test_options_of_conversions_that_a_module_is_past_are_no_mistake(toy):
    toy.make()
    assert toy.kit.names(transload.lower(toy.kit.module("c.x"), "c", width="16")) == ["c.x"]
    assert toy.kit.names(transload.lower(toy.kit.module(), "c", width="16")) == []


def test_an_option_of_a_conversion_that_may_be_needed_is_taken(kit):
    """Of two ways on from `b` only the module there decides which is gone; options of both can be given."""
    seen: list[Any] = []
    kit.add(
        Conversion("a-to-b", "a", "b", renaming(a__x="b.x")),
        Conversion("b-to-d", "b", "d", renaming(b__x="d.x"), unfit=lambda module: "never"),
        Conversion("b-to-c", "b", "c", noting(seen, "b.x", "c.x"), options=WIDTH),
        Conversion("c-to-d", "c", "d", renaming(c__x="d.x")))
    convert_to(kit.module("a.x"), ("d",), width="16")
    assert seen == [{"width": "16"}]
    assert "b-to-c.rewrites{width=16}," in str(Journey(("d",), {"b-to-c.width": "16"}).plan(kit.module("a.x")))


def test_a_targets_pipeline_takes_its_options(toy):
    ran: list[int] = []

    def tile(module: Module, *, banks: int = 1) -> bool:
        ran.append(banks)
        return False

    toy.kit.add(Pass("tile", tile))
    convert = toy.make(chip={"banks": (int, 4, "Of memory.")})
    toy.kit.host.targets["chip"].pipeline = "tile{banks=$banks}"
    convert()
    convert(banks="2")
    assert ran == [4, 2]
    toy.kit.host.targets["chip"].pipeline = "tile{banks=$bnaks}"
    with pytest.raises(PluginError, match=r"option banks of pass 'tile' is \$bnaks, and there is no option bnaks"):
        convert()


# --- what is registered, and what readers are asked for


def test_an_extension_of_what_is_not_there_is_refused_with_the_nearest_name():
    from transload import hookimpl
    from transload.plugin_host import Host

    class Mine:
        @hookimpl
        def register_dialects(self, register: Any) -> None:
            register(DialectSpec("mine", "nowhere:MINE"))

        @hookimpl
        def register_conversions(self, register: Any) -> None:
            register(Conversion("mine", "mine", "tosa", renaming(mine__x="tosa.x"), extends="top-to-tsa"))

    with pytest.raises(PluginError) as caught:
        Host().register(Mine())
    assert "conversion 'mine' extends 'top-to-tsa', which is not registered; did you mean 'top-to-tosa'?" in str(caught.value)


def test_an_extension_of_an_installed_plugin_that_names_nothing_is_listed(monkeypatch: pytest.MonkeyPatch):
    import sys
    from importlib.metadata import EntryPoint
    from types import ModuleType

    from transload import hookimpl
    from transload.plugin_host import Host

    module = ModuleType("acme_extends")

    @hookimpl
    def register_conversions(register: Any) -> None:
        register(Conversion("good", "a", "b", renaming(a__x="b.x")))
        register(Conversion("more", "a", "b", renaming(a__y="b.x"), extends="good"))
        register(Conversion("again", "a", "b", renaming(a__z="b.x"), extends="more"))

    module.register_conversions = register_conversions  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "acme_extends", module)
    host = Host(points=[EntryPoint("acme", "acme_extends", "transload")])
    assert list(host.conversions) == ["good", "more"]
    info = next(info for info in host.plugins if info.name == "acme")
    assert info.error == "register_conversions: conversion 'again' extends 'more', which extends another itself"


def test_an_input_that_no_reader_took_is_refused(kit):
    """A reader that does not look at what it is asked for is caught, whoever wrote it."""
    from transload.ir import F32, TensorType
    from transload.testing import build_module

    kit.host.readers["deaf"] = Reader(
        "deaf", "a", (".deaf",), lambda source, inputs: build_module([TensorType((1, 4), F32)], lambda b, x: x, ["image"]))
    with pytest.raises(UsageError, match="the model has no input 'imgae'") as caught:
        transload.load(text="", format="deaf", inputs={"imgae": (1, 4)})
    assert "did you mean 'image'?" in caught.value.hint
    with pytest.raises(UsageError, match=r"input 'image' was to be of shape \(2, 4\), and reader 'deaf' made it tensor<1x4xf32>"):
        transload.load(text="", format="deaf", inputs={"image": (2, 4)})
    assert transload.load(text="", format="deaf", inputs={"image": (1, 4)}).main
