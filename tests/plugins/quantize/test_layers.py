"""What layers are held in where the caller says so: quantize tables, and names of tensors that stay float."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.errors import ReadError, UsageError
from transload.ir import I16, Module, QuantType
from transload.ir.borders import NAME
from transload.metrics import sqnr
from transload.quantization import quantize_at_hub
from transload_plugins.quantize.calibration import Calibration
from transload_plugins.quantize.layers import WORDS, floats_of, load_layers, save_layers

from .test_islands import far_from_zero
from tests.support import tosa_reference
from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node


def kinds(module: Module) -> dict[str, str]:
    """What each tensor with a name is held in, as text."""
    return {op.result.name: str(op.result.element) for op in module.ops() if op.results and op.result.name is not None}


def test_what_a_table_says_is_done_and_nothing_else(tmp_path: Path) -> None:
    module, samples = far_from_zero()
    found = quantize_at_hub(module, "int8", samples, {})
    assert found.report["layers"]["far"] == "INT16"
    without = quantize_at_hub(module, "int8", samples, {"layers": {}})
    assert without.report["layers"] == {} and not without.floats
    again = quantize_at_hub(module, "int8", samples, {"layers": str(save_layers(tmp_path / "q.txt", found.report["layers"]))})
    assert kinds(again.module) == kinds(found.module)
    assert "q.txt" in again.report["islands of 16 bits"]["far"]
    floats = quantize_at_hub(module, "int8", samples, {"layers": {"far": "F32"}})
    assert "far" in floats.floats
    assert not any(value.quant.storage == I16 for op in floats.module.ops() for value in op.results if value.quant is not None)


@pytest.mark.parametrize("name", ["Softmax", "Sigmoid", "Tanh"])
def test_what_gives_a_fixed_range_does_so_from_16_bits(name: str) -> None:
    """Between 0 and 1, or -1 and 1: integers compute it in the types that kernels fix for 16 bits, too."""
    g = Graph((1, 8))
    scores = g.MatMul(g.inputs[0], g.random(8, 4), g.random(4), location="scores")
    module = at_hub(g.done(getattr(g, name)(scores, location="share", **({"axis": -1} if name == "Softmax" else {}))))
    samples = [{"x0": np.random.default_rng(seed).normal(size=(1, 8)).astype(np.float32)} for seed in range(8)]
    made = transload.quantize(module, "int8", samples, layers={"scores": "INT16"})
    lowered = transload.lower(made, "tosa")
    assert not {"tosa.exp", "tosa.sigmoid", "tosa.tanh"} & {op.name for op in lowered.ops()}
    for sample in samples:
        (there,) = tosa_reference.run_module(lowered, [sample["x0"]], level="NONE")
        np.testing.assert_array_equal(transload.run(made, sample, engine="reference")["y0"], there)


@pytest.mark.parametrize("floats", ["far", ["far"], {"far": "as the caller asked"}])
@pytest.mark.parametrize("scheme", ["int8", "f16"])
def test_tensors_stay_float_by_name(scheme: str, floats: object) -> None:
    module, samples = far_from_zero()
    made = quantize_at_hub(module, scheme, samples, {"floats": floats})
    assert made.floats is not None and made.floats["far"] == "as the caller asked"


@pytest.mark.parametrize(("options", "message"), [
    ({"floats": "fra"}, "no float tensor 'fra'"), ({"layers": {"nowhere": "F32"}}, "no float tensor 'nowhere'"),
    ({"layers": {"far": "INT4"}}, "cannot be held in 'INT4'"), ({"layers": {"nowhere": "INT8"}}, "no float tensor 'nowhere'"),
    ({"layers": {"nowhere": "INT16"}}, "no float tensor 'nowhere'")])
def test_names_and_words_that_there_are_not_are_refused(options: dict[str, object], message: str) -> None:
    module, samples = far_from_zero()
    with pytest.raises(UsageError, match=message) as caught:
        quantize_at_hub(module, "int8", samples, options)
    assert caught.value.hint


def test_fewer_bits_than_the_scheme_has_are_refused() -> None:
    module, samples = far_from_zero()
    with pytest.raises(UsageError, match="'far' cannot be held in INT8 where others have 16 bits") as caught:
        quantize_at_hub(module, "int16x8", samples, {"layers": {"far": "INT8"}})
    assert "int8" in str(caught.value.hint)


@pytest.mark.parametrize(("scheme", "word"), [("int8", "INT16"), ("int8", "INT8"), ("int8", "F8E4M3"), ("f8e4m3", "F8E5M2")])
def test_a_table_does_not_contradict_what_stays_float(scheme: str, word: str) -> None:
    module, samples = far_from_zero()
    with pytest.raises(UsageError, match=f"'far' is to stay float, and who called says {word} of it"):
        quantize_at_hub(module, scheme, samples, {"floats": "far", "layers": {"far": word}})
    made = quantize_at_hub(module, scheme, samples, {"floats": "far", "layers": {"far": "F32"}})
    assert made.report["layers"]["far"] == "F32"


@pytest.mark.parametrize("word", ["F16", "BF16"])
def test_floats_of_16_bits_are_told_as_what_they_become(word: str) -> None:
    module, samples = far_from_zero()
    made = quantize_at_hub(module, "int8", samples, {"layers": {"far": word}})
    assert made.report["layers"] == {"far": "F32"} and made.floats is not None
    assert made.floats["far"] == f"{word} says who called, which is F32 among integers"


@pytest.mark.parametrize(("text", "message"), [
    ("conv F32\nconv INT8\n", ":2: 'conv' has had a line"), ("conv\n", ":1: 'conv' is not the name"),
    ("# all\nconv F33\n", ":2: 'conv F33' is not"), ("\xff", "cannot be read")])
def test_files_that_are_no_tables_are_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "q.txt"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ReadError, match=message):
        load_layers(file)


def test_names_may_have_spaces_in_them(tmp_path: Path) -> None:
    file = tmp_path / "q.txt"
    file.write_text("# op_name quantize_mode\na layer F16\nb\tINT8\n")
    assert load_layers(file) == {"a layer": "F16", "b": "INT8"}


def test_constants_of_layers_of_16_bits_have_16() -> None:
    """They were rounded to 8 bits first, and the product had 51 dB."""
    g = Graph((1, 64))
    shares = g.Sigmoid(g.inputs[0], location="shares")
    module = g.done(g.Mul(shares, np.exp(g.random(64) * 0.7).astype(np.float32), location="product"))
    samples = [{"x0": np.random.default_rng(seed).normal(size=(1, 64)).astype(np.float32)} for seed in range(4)]
    made = transload.quantize(module, "int8", samples, layers=dict.fromkeys(("x0", "shares", "product"), "INT16"))
    wanted, given = (np.stack([transload.run(each, sample)["y0"] for sample in samples]) for each in (module, made))
    assert sqnr(wanted, given) > 70.0
    (there,) = tosa_reference.run_module(transload.lower(made, "tosa"), [samples[-1]["x0"]], level="NONE")
    np.testing.assert_array_equal(given[-1], there)


NAMES = ["#relu", "a\nb", " x ", '"q"', '"#q"', "a  b", "#", "", "\u2028",
         "plain/name:0", "in put#1, 2", "#c_weight", "\x85", '"']


def test_any_name_comes_back_from_tables(tmp_path: Path) -> None:
    """Of layers and of ranges; names of other tools are as they stand."""
    layers = dict(zip(NAMES, cycle(WORDS), strict=False))
    assert load_layers(save_layers(tmp_path / "t", layers)) == layers
    calibration = Calibration({name: (-1.0, float(number)) for number, name in enumerate(NAMES)})
    assert Calibration.load(calibration.save(tmp_path / "c")).ranges == calibration.ranges
    (tmp_path / "t").write_text('# c\n"x" F32\n"x INT8\na"b" F32\n"\\z" INT8\n')
    assert load_layers(tmp_path / "t") == {'"x"': "F32", '"x': "INT8", 'a"b"': "F32", '"\\z"': "INT8"}


def test_names_with_commas_are_names() -> None:
    g = Graph((2, 8))
    layer = g.MatMul(g.inputs[0], g.random(8, 8), g.random(8), location="fl,at")
    module = at_hub(g.done(g.Relu(layer, location="b"), g.MatMul(layer, g.random(8, 4), g.random(4), location="c")))
    samples = [{"x0": np.random.default_rng(seed).normal(size=(2, 8)).astype(np.float32)} for seed in range(4)]
    assert floats_of("fl,at", module) == {"fl,at": "as the caller asked"} and set(floats_of("b,c", module)) == {"b", "c"}
    made = transload.quantize(module, "int8", samples, floats="fl,at", islands="none")
    assert made.quantization is not None and "fl,at" in made.quantization.floats
    for text in ("y0,y1", ["y0", "y1"]):
        both = transload.quantize(module, "int8", samples, quant_output=text, islands="none").outputs
        assert all(isinstance(type_.element, QuantType) for type_ in both.values())
    module.main.attributes["res_attrs"] = [{NAME: "o,1"}, {NAME: "o,2"}]
    one = transload.quantize(module, "int8", samples, quant_output="o,2", islands="none").outputs
    assert [isinstance(type_.element, QuantType) for type_ in one.values()] == [False, True]


def test_an_op_that_is_kept_float_is_so_with_what_it_is_spelled_out_to(tmp_path: Path) -> None:
    """A hint named it for a sum within it, and its last op alone stayed float."""
    drawn = np.random.default_rng(0)
    nodes = [node("Conv", ["x", "v"], ["c"]), node("DeformConv", ["c", "w", "o"], ["d"], kernel_shape=[2, 2]),
             node("Conv", ["d", "v"], ["y"])]
    given = {"x": drawn.normal(size=(1, 2, 5, 5)), "o": drawn.normal(size=(1, 8, 4, 4))}
    held = {"v": drawn.normal(size=(2, 2, 1, 1)), "w": drawn.normal(size=(2, 2, 2, 2))}
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {name: array.astype(np.float32) for name, array in given.items()}, ["y"],
                                {name: array.astype(np.float32) for name, array in held.items()}, opset=19).SerializeToString())
    samples = [{name: array.astype(np.float32) for name, array in given.items()}]
    made = transload.convert(file, "tflite", tmp_path / "out", quantize="int8", data=samples, quantizer_options={"floats": "d"})
    assert made.verification is not None and made.verification.passed
    assert {"d", "d#1", "d#2"} <= made.report.quantization.floats.keys()
