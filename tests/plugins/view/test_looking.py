"""What the page is told: stages, what became of what, constants, costs, comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError, UsageError
from transload.ir import Dense
from transload.text import parse_module
from transload_plugins.view.constants import Constants
from transload_plugins.view.costs import costs_of
from transload_plugins.view.graph import Graph, group_of
from transload_plugins.view.looking import Looking


def seen(path: Path, target: str | None = None, **more: Any) -> dict[str, Any]:
    looking = Looking()
    looking.add(path, target, options={}, **more)
    return looking.data("a title")


@pytest.fixture(scope="module")
def digits(examples: Path) -> dict[str, Any]:
    return seen(examples / "digits" / "digits_float.onnx")


def ops_of(stage: dict[str, Any]) -> list[str]:
    return [op["op"] for op in stage["graph"]["ops"]]


def test_stages_are_those_of_the_way(digits: dict[str, Any]) -> None:
    stages = digits["models"][0]["stages"]
    assert [stage["dialect"] for stage in stages] == ["onnx", "top", "top", "tosa"]
    assert [stage["title"] for stage in stages] == ["as it was read", "onnx-to-top", "simplified", "top-to-tosa"]
    assert all(len(stage["graph"]["ops"]) == sum(stage["counts"].values()) for stage in stages)
    assert not digits["models"][0]["refusal"]
    assert json.dumps(digits, allow_nan=False)


def test_constants_are_no_nodes(digits: dict[str, Any]) -> None:
    source = digits["models"][0]["stages"][0]["graph"]
    conv = source["ops"][ops_of(digits["models"][0]["stages"][0]).index("onnx.Conv")]
    image, weights, *_ = (source["values"][each] for each in conv["in"])
    assert "constant" not in image
    told = digits["constants"][weights["constant"]]
    assert sum(told["counts"]) == told["of"] == told["looked"]
    assert told["low"] < told["mean"] < told["high"]
    assert not any("onst" in name for name in ops_of(digits["models"][0]["stages"][3]))


def test_an_op_is_followed_through_all_stages(digits: dict[str, Any]) -> None:
    """A convolution with its activation behind it, which becomes one op at the hub and two in TOSA."""
    stages = digits["models"][0]["stages"]
    rules = digits["rules"]
    place = ops_of(stages[3]).index("tosa.conv2d")
    for stage, rule in ((3, "conv"), (2, None), (1, "conv")):
        origins, fired = stages[stage]["lineage"][place][1:]
        assert rule is None or rule in [rules[each]["rule"].split(":")[1] for each in fired]
        assert all(rules[each]["source"].partition(":")[2].isdigit() and rules[each]["plugin"] for each in fired)
        place = origins[0]
    assert ops_of(stages[0])[place] == "onnx.Conv"


def test_every_op_comes_from_somewhere(digits: dict[str, Any]) -> None:
    """From an op of the stage before, or from an input of the network, as a transpose of it."""
    for stage in digits["models"][0]["stages"][1:]:
        graph = stage["graph"]
        new = [graph["ops"][place] for place, origins, _ in stage["lineage"] if not origins]
        assert all(set(op["in"]) & set(graph["inputs"]) for op in new)


def test_what_is_refused_is_on_the_page(network: Callable[..., Path]) -> None:
    onnx = pytest.importorskip("onnx")
    path = network(lambda block, part: f"{part}{block}")
    model = onnx.load(path)
    model.graph.node[1].op_type, model.graph.node[1].domain = "Mystery", "nobody.knows"
    model.opset_import.append(onnx.helper.make_opsetid("nobody.knows", 1))
    onnx.save(model, path)
    made = seen(path)["models"][0]
    assert made["stages"][0]["counts"]["onnx.Conv"] == 2
    assert "Mystery" in json.dumps(made["refusal"]["findings"])


def test_what_memory_does_not_hold_is_on_the_page(network: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant of one number in 2^31 places is 8 GB where it is written."""
    def emit_for(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("transload_plugins.view.stages.emit_for", emit_for)
    made = seen(network(lambda block, part: f"{part}{block}"), "tosa")["models"][0]
    assert "not enough memory" in made["refusal"]["message"] and made["stages"]


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("nothing")
    with pytest.raises(ReadError):
        seen(tmp_path / "text.txt")


def test_a_target_that_there_is_not(examples: Path) -> None:
    with pytest.raises(UsageError):
        seen(examples / "digits" / "digits_float.onnx", "no-such-target")


def test_an_artifact_is_shown_with_its_report(examples: Path, tmp_path: Path) -> None:
    transload.convert(examples / "digits" / "digits_int8.tflite", "tosa", tmp_path / "build", verify="no")
    for path in (tmp_path / "build", tmp_path / "build" / "digits_int8.tosa", tmp_path / "build" / "report.json"):
        made = seen(path)["models"][0]
        assert [stage["dialect"] for stage in made["stages"]] == ["tosa"]
        assert made["report"]["target"] == "tosa"
    with pytest.raises(UsageError, match="is what was written"):
        seen(tmp_path / "build", passes="canonicalize")


def test_two_models_are_put_beside_each_other(examples: Path, tmp_path: Path) -> None:
    model = examples / "digits" / "digits_float.tflite"
    transload.convert(model, "tosa", tmp_path / "build", verify="no")
    looking = Looking()
    looking.add(model, None, options={})
    looking.add(tmp_path / "build", None, options={})
    comparison = looking.data("two")["comparison"]
    assert comparison["judged"] == "accumulated"
    assert len(comparison["layers"]) > 3
    assert all(layer["accumulated"]["cos"] > 0.9999 for layer in comparison["layers"])


def test_integers_of_an_artifact_stand_for_real_numbers(examples: Path, tmp_path: Path) -> None:
    model = examples / "digits" / "digits_int8.tflite"
    transload.convert(model, "tosa", tmp_path / "build", verify="no")
    looking = Looking()
    looking.add(model, None, options={})
    looking.add(tmp_path / "build", None, options={})
    layers = looking.data("two")["comparison"]["layers"]
    assert len(layers) > 3
    assert all(layer["accumulated"]["sqnr"] == "Infinity" for layer in layers)


def test_a_float_network_beside_its_quantized_form(examples: Path) -> None:
    """Random numbers are what the quantized one takes: its input loses no more than rounding does."""
    looking = Looking()
    for name in ("digits_float.tflite", "digits_int8.tflite"):
        looking.add(examples / "digits" / name, None, options={})
    comparison = looking.data("two")["comparison"]
    assert comparison["judged"] == "own"
    assert comparison["random"]
    assert comparison["of"] == ["digits_float.tflite", "digits_int8.tflite"]
    assert min(layer["own"]["sqnr"] for layer in comparison["layers"]) > 25


def test_costs_are_added_up_by_tensor() -> None:
    report = {
        "ops": [
            {"tensor": "a", "cycles": 3, "on": "NPU", "mac_percent": 50.0}, {"tensor": "a", "cycles": 4, "mac_percent": 50.0}],
        "parts": [{"ops": [{"name": "b", "bytes": 7}]}], "inputs": [{"name": "x", "type": "tensor<1xf32>", "zero_point": 3}],
        "total": {"cycles": 7}}
    assert costs_of(report) == {"a": {"cycles": 7, "on": "NPU", "mac_percent": 50.0}, "b": {"bytes": 7}}
    assert costs_of({}) == {}


def test_attributes_that_mlir_has_no_word_for() -> None:
    module = parse_module("""func.func @main(%x: i32) -> i32 {
  %y = "acme.op"(%x) {sizes = array<i64: 1, 2>} : (i32) -> i32
  func.return %y : i32
}""")
    (op,) = (op for op in module.ops() if op.name == "acme.op")
    op.attributes["floats"] = (50.0, 1.5)
    (told,) = Graph(module, Constants()).plain()["ops"]
    assert dict(told["attributes"]) == {"sizes": "array<i64: 1, 2>", "floats": "(50.0, 1.5)"}


def test_names_become_groups() -> None:
    assert group_of("a/b/Relu") == ["a", "b"]
    assert group_of("layer1.0.conv") == ["layer1", "0"]
    assert group_of("a/b;c/d") == ["a"]
    assert group_of("/a/Conv_output_0", as_leaf=True) == ["a", "Conv_output_0"]
    assert group_of("conv") == group_of("") == []
    assert len(group_of("a/" * 1000)) < 10


def test_constants_that_are_unusual() -> None:
    constants = Constants()
    odd = Dense(np.array([np.nan, np.inf, 1.0], np.float32))
    told = [constants.about[constants.place(each)] for each in (
        odd, Dense(np.zeros((0,), np.float32)), Dense(np.ones((5, 5), np.int8)), Dense(np.arange(1 << 20, dtype=np.int32)), odd)]
    assert told[0]["odd"] == 2
    assert told[0]["counts"] == [1]
    assert told[0] is told[4]
    assert "counts" not in told[1]
    assert told[2]["low"] == told[2]["high"] == 1
    assert told[3]["looked"] < told[3]["of"] == 1 << 20
    assert told[3]["high"] == (1 << 20) - 1
    json.dumps(told, allow_nan=False)
