"""What a person sees of modules, ops, values, blocks and types at the prompt, and in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import transload
from transload.ir import F32, I8, UI8, Block, Op, QuantType, Region, TensorType, new_module, note_elements
from transload.testing import build_module

X = TensorType((1, 4), F32)


@pytest.fixture
def module() -> Any:
    def build(b: Any, x: Any) -> Any:
        b.location = "clipped<&>"
        clipped = b.emit("top.Clip", x, min=0.0, max=6.0)
        b.location = "y"
        return b.emit("top.Add", clipped, clipped)

    return build_module([X], build, ["x"])


def test_each_says_what_it_is(module: Any) -> None:
    block = module.body_of_main
    assert repr(X) == "tensor<1x4xf32>"
    assert repr(block.arguments[0]) == "<value x: tensor<1x4xf32>>"
    assert repr(block.first) == "<top.Clip(x, min=0.0, max=6.0) -> clipped<&>: tensor<1x4xf32>>"
    assert repr(module.main) == "<main(x: tensor<1x4xf32>) -> (y: tensor<1x4xf32>)>"
    assert repr(module) == "<module, 2 ops of top\n  main(x: tensor<1x4xf32>) -> (y: tensor<1x4xf32>)>"
    lines = repr(block).splitlines()
    assert lines[0] == "<block (x: tensor<1x4xf32>), 3 ops"
    assert lines[2] == "  top.Add(clipped<&>, clipped<&>) -> y: tensor<1x4xf32>"
    assert repr(block.parent).startswith("<region of block (x")


def test_a_module_says_its_file_and_what_users_see(examples: Path) -> None:
    source = transload.load(examples / "digits" / "digits_int8.tflite")
    assert repr(source).startswith("<module digits_int8.tflite, 17 ops of tfl\n  main(image: tensor<1x8x8x1x")
    tosa = transload.lower(source)
    note_elements(tosa.main, [UI8], [None])
    assert "main(image: tensor<1x8x8x1xui8>) -> (probabilities: tensor<1x10xi8>)" in repr(tosa)
    assert list(tosa.inputs) == ["image"]
    assert tosa.inputs["image"] == TensorType((1, 8, 8, 1), UI8)
    assert tosa.outputs == {"probabilities": TensorType((1, 10), I8)}


def test_it_is_short(module: Any) -> None:
    many = QuantType(I8, F32, tuple(0.1 + n for n in range(1000)), (0,) * 1000, axis=0)
    assert repr(TensorType((1000,), many)) == "tensor<1000x!quant.uniform<i8:f32:0, {1000 scales}>>"
    op = module.body_of_main.first
    for number in range(30):
        op.attributes[f"a{number}"] = "long " * 100
    assert len(repr(op)) < 700
    block = Block([X] * 20)
    for _ in range(1000):
        block.append(Op("acme.do", block.arguments, [X] * 20))
    shown = repr(block)
    assert len(shown.splitlines()) == 14
    assert "… and 988 more" in shown
    assert "… 13 more" in shown


@pytest.mark.parametrize("broken", [
    lambda: Op("func.func", attributes={"sym_name": 3, "arg_attrs": "x"}, regions=[Region([Block([X])])]),
    lambda: Op("func.func"), lambda: Op(""), lambda: Op("a", attributes={"x": object(), "y": [None]}), lambda: Region(), Block,
    new_module])
def test_nothing_is_too_broken_to_be_shown(broken: Any) -> None:
    assert repr(broken())


def test_erased_ops_and_their_results_are_shown(module: Any) -> None:
    op = module.body_of_main.first
    op.replace_with([module.body_of_main.arguments[0]])
    assert "top.Clip" in repr(op)
    assert repr(op.results[0])


def test_notebooks_show_tables(module: Any) -> None:
    html = module._repr_html_()
    opened: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Checker().feed(html)
    assert not opened
    assert "<td>input</td><td>x</td><td>tensor&lt;1x4xf32&gt;</td>" in html
    note_elements(module.main, [None], [None])
    module.main.attributes["arg_attrs"] = [{"ml_program.identifier": "<script>"}]
    assert "<script>" not in module._repr_html_()
    assert new_module()._repr_html_()


@pytest.mark.parametrize("package", [
    "transload", "transload_hub", "transload_converters", "transload_plugins", "transload_targets"])
def test_packages_say_that_they_are_typed(package: str) -> None:
    from importlib import resources

    assert resources.files(package).joinpath("py.typed").is_file()


def test_names_that_do_not_print_are_spelt_out() -> None:
    """A name of a file's could look like a line of ours, or speak to the terminal."""
    def build(b: Any, x: Any) -> Any:
        b.location = "a\nb\x1b[31m"
        return b.emit("top.Relu", x)

    made = build_module([X], build)
    (op, *_) = made.body_of_main
    assert all(r"a\nb\x1b[31m" in repr(each) for each in (op, op.result))
    for each in (op, op.result, made.main, made):
        assert "\x1b" not in repr(each) and "a\nb" not in repr(each)
