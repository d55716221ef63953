"""Files that ask for work without end: the op stays, or a finding says what it would have cost."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload import budget
from transload.budget import Allowance, Budget, allowed
from transload.engine.steps import elements_of
from transload.errors import ConversionError, PassError, RunError, Unsupported, UsageError
from transload.ir import F32, Dense, SplatData, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.limits import text_length
from transload.passes.inline import inline_calls
from transload.text import parse_module
from transload.verification.verify import verify_conversion
from transload_converters.tflite.writer import ModelWriter
from transload_hub.kernels.conv import pad_spatial
from transload_plugins.stablehlo.kernels.movement import padded as stablehlo_padded
from transload_plugins.tosa.kernels.convolution import padded

from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node, read_model
from tests.support.tflite_models import write_operator


def test_a_budget_is_counted_down() -> None:
    with allowed(ops=3, grown=100, folded=1000):
        held = Budget()
    held.spend_ops(3)
    with pytest.raises(Unsupported, match="more than 3 ops") as caught:
        held.spend_ops(1)
    assert "TRANSLOAD_BUDGET=ops=12" in caught.value.hint
    assert held.may_fold(50, 150) and not held.may_fold(0, 1)  # as much growth as there may be
    assert held.may_fold(400, 400) and not held.may_fold(400, 0)


def test_the_environment_says_what_may_be_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(budget.VARIABLE, "ops=7, seconds=0.5")
    assert budget.allowance() == Allowance(ops=7, seconds=0.5)
    with allowed(ops=8):
        assert budget.allowance() == Allowance(ops=8, seconds=0.5)
    monkeypatch.setenv(budget.VARIABLE, "time=3")
    with pytest.raises(UsageError, match="time=3"):
        budget.allowance()


def test_advice_names_more_than_was_not_enough() -> None:
    """`seconds=0`, where none was allowed."""
    module = Graph((1,))
    with allowed(seconds=0), pytest.raises(RunError, match="without coming to an end") as late:
        transload.run(module.done(module.Relu(module.inputs[0])), {"x0": np.zeros(1, np.float32)})
    assert "TRANSLOAD_BUDGET=seconds=1 " in late.value.hint
    for changes, spent in (({"ops": 0}, (1, 0)), ({"text": 0}, (0, 1))):
        with allowed(**changes):
            held = Budget()
        with pytest.raises(Unsupported) as caught:
            held.spend_ops(*spent)
        assert f"TRANSLOAD_BUDGET={next(iter(changes))}=1 " in caught.value.hint


def test_concatenations_of_a_value_with_itself_do_not_double() -> None:
    g = Graph((1,))
    value = g.inputs[0]
    for _ in range(12):
        value = g.Concat(value, value, axis=0)
    module = g.done(value)
    transload.lower(module, "tosa")
    assert max(len(op.operands) for op in transload.lower(module, "top").ops()) == 2


def test_constants_that_double_are_folded_as_far_as_the_budget_goes() -> None:
    g = Graph((1,))
    value = g.constant(np.ones(1 << 12, np.float32))
    for _ in range(10):
        value = g.Concat(value, value, axis=0)
    module = g.done(g.Add(value, g.inputs[0]))
    with allowed(grown=1 << 18):
        kept = transload.lower(module, "tosa")
    joined = [op for op in kept.ops() if op.name == "tosa.concat"]
    assert len(joined) == 6
    given = {"x0": np.ones(1, np.float32)}
    np.testing.assert_array_equal(transload.run(kept, given)["y0"], transload.run(module, given)["y0"])


def test_what_a_model_holds_may_grow_by_four_times_as_much() -> None:
    """A large model of few bits becomes one of floats; it is small ones that ask for much."""
    spent = budget.Budget()
    assert not spent.may_fold(0, spent.allowance.grown + 1)
    spent.hold(0, spent.allowance.grown)
    assert spent.may_fold(0, 4 * spent.allowance.grown)
    assert not spent.may_fold(0, 1)


def test_a_model_of_many_ops_may_make_as_many_more() -> None:
    """The allowance is for what a file asks for beyond what it says."""
    with allowed(ops=100):
        spent = Budget()
    spent.spend_ops(60)
    spent.hold(20, 0)
    spent.spend_ops(20 * 16 - 60)
    with pytest.raises(Unsupported, match="more than 320 ops"):
        spent.spend_ops(1)


def test_a_model_of_more_ops_than_the_allowance_is_converted() -> None:
    g = Graph((2,))
    value = g.inputs[0]
    for _ in range(60):
        value = g.Sin(value)
    module = g.done(value)
    with allowed(ops=20):
        lowered = transload.lower(module, "tosa")
        inline_calls(lowered)  # of a module without calls, whatever its size


def test_an_unrolled_recurrence_is_refused_with_what_it_would_cost() -> None:
    g = Graph((50, 1, 2))
    weights = [g.random(1, 8, 2), g.random(1, 8, 2)]
    module = g.done(g.LSTM(g.inputs[0], *weights, hidden_size=2)[0])
    transload.lower(module, "tosa")
    with allowed(ops=200), pytest.raises(ConversionError, match=r"LSTM.*more than 200 ops"):
        transload.lower(module, "tosa")


def test_functions_that_call_the_next_twice_are_not_inlined_without_end() -> None:
    module = new_module()
    type_ = TensorType((), F32)
    for number in range(20):
        name = f"f{number}" if number else "main"
        function = module.add_function(name, [type_], ["x"])
        builder = Builder(function.regions[0].block)
        value = function.regions[0].block.arguments[0]
        if number == 19:
            value = builder.create("a.leaf", [value], [type_]).result
        for _ in range(2 if number < 19 else 0):
            from transload.ir import Symbol

            value = builder.create("func.call", [value], [type_], {"callee": Symbol(f"f{number + 1}")}).result
        set_results(function, [value], ["y"])
    with allowed(ops=1000), pytest.raises(PassError, match="more than 1,000 ops larger"):
        inline_calls(module)


@pytest.mark.parametrize(
    "held", ['loc("NAME")', 'loc(fused["NAME", "x"])', 'loc("x"("NAME"))', '{a.b = ["NAME"]}', '{a.b = #a<NAME>}'])
def test_what_a_function_says_is_counted_for_each_call(held: str) -> None:
    """A location of 60,000 characters, in a function of a module of a megabyte, became gigabytes of text."""
    attributes, location = (held.replace("NAME", "n" * 1000), "") if held[0] == "{" else ("", held.replace("NAME", "n" * 1000))
    chain = "".join(f'%{i + 1} = "func.call"(%{i}) {{callee = @f}} : (f32) -> f32\n' for i in range(40)).replace("%0)", "%x)")
    function = """"func.func"() ({{
      ^bb0(%x: f32):
        {}
        "func.return"(%{}) : (f32) -> ()
      }}) {{function_type = (f32) -> f32, sym_name = "{}"}} : () -> ()"""
    leaf = f'%1 = "a.leaf"(%x) {attributes} : (f32) -> f32 {location}'
    module = parse_module('"builtin.module"() ({\n' + function.format(chain, 40, "main") + function.format(leaf, 1, "f")
                          + "}) : () -> ()")
    is_place = held == 'loc("x"("NAME"))'  # which nothing needs: it is left out
    refused = pytest.raises(PassError, match=r"have 40,.* characters together, and 20,000 are the limit")
    with allowed(text=20_000), contextlib.nullcontext() if is_place else refused:
        inline_calls(module)
    with allowed(text=60_000):
        inline_calls(module)
    assert sum(op.name == "a.leaf" for op in module.main.walk()) == 40
    assert text_length(module) < (2_000 if is_place else 60_000)


def test_names_of_the_ops_that_are_made_are_counted() -> None:
    with allowed(text=10):
        held = Budget()
    held.spend_ops(1, 160)
    with pytest.raises(Unsupported, match="names of more than 160 characters"):
        held.spend_ops(1, 1)


def test_ops_of_a_model_with_long_names_may_have_as_long_ones() -> None:
    """What reads, as a large file may have long names, is not refused by the first stage that makes an op of each of its own."""
    with allowed(text=10):
        held = Budget()
    held.hold(4, 0, 1000)
    held.spend_ops(1, 16_000)
    with pytest.raises(Unsupported, match="names of more than 16,000 characters"):
        held.spend_ops(1, 1)


ENDLESS = """"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<i32>):
    %y = "top.While"(%x) ({
    ^bb0(%a: tensor<i32>):
      %t = "top.Weight"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
      "top.Yield"(%t) : (tensor<i1>) -> ()
    }, {
    ^bb0(%a: tensor<i32>):
      "top.Yield"(%a) : (tensor<i32>) -> ()
    }) : (tensor<i32>) -> tensor<i32>
    "func.return"(%y) : (tensor<i32>) -> ()
  }) {function_type = (tensor<i32>) -> tensor<i32>, sym_name = "main"} : () -> ()
}) : () -> ()"""


def test_an_endless_loop_comes_to_an_end_when_it_is_run() -> None:
    module = parse_module(ENDLESS)
    with allowed(seconds=0.05), pytest.raises(RunError, match="without coming to an end") as caught:
        transload.run(module, {"arg0": np.int32(1)}, engine="reference")
    assert "TRANSLOAD_BUDGET=seconds" in caught.value.hint


def test_what_does_not_fit_into_memory_is_told_with_its_op(monkeypatch: pytest.MonkeyPatch) -> None:
    g = Graph((1,))
    module = g.done(g.Expand(g.inputs[0], shape=(1 << 36,)), g.Abs(g.inputs[0]))
    monkeypatch.setattr(np, "abs", lambda x, *_: x)

    def refuse(*_: object) -> None:
        raise MemoryError("Unable to allocate 256 GiB")

    monkeypatch.setattr("transload_hub.kernels.movement.np.broadcast_to", refuse)
    with allowed(memory=1 << 50), pytest.raises(RunError, match=r"more memory than there is") as caught:
        transload.run(module, {"x0": np.ones(1, np.float32)}, engine="reference")
    assert caught.value.findings[0].what == "top.Expand"


def test_verification_says_what_it_would_have_computed(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    file = tmp_path / "m.tflite"
    file.write_bytes(write_operator("ABS", [((40, 50), "float32", None, None)], [((40, 50), "float32", None, None)]))
    source = transload.load(file)
    result = transload.lower(source, "tosa")
    assert verify_conversion(source, result).status == "passed"
    with allowed(elements=1999):
        skipped = verify_conversion(source, result)
    assert skipped.status == "skipped" and "2,000 numbers" in skipped.why and "elements=2000" in skipped.why


def test_verification_compares_so_many_outputs_and_no_more(tmp_path: Path) -> None:
    """A file may list one tensor a hundred thousand times: each took a millisecond and more."""
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    model = ModelWriter()
    given, made = (model.add_tensor(name, (2,), "float32") for name in "xy")
    model.add_operator("ABS", [given], [made])
    model.inputs, model.outputs = [given], [made] * 9
    file = tmp_path / "m.tflite"
    file.write_bytes(model.finish())
    source = transload.load(file)
    result = transload.lower(source, "tosa")
    with allowed(ends=10):
        assert verify_conversion(source, result).status == "passed"
    with allowed(ends=9):
        skipped = verify_conversion(source, result)
    assert skipped.status == "skipped" and "10 inputs and outputs" in skipped.why and "TRANSLOAD_BUDGET=ends=10" in skipped.why


def test_verification_says_what_memory_it_would_have_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that is many times what the model is itself: its inputs here, which are half of what is there at one time."""
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    file = tmp_path / "m.tflite"
    file.write_bytes(write_operator("ABS", [((40, 50), "float32", None, None)], [((40, 50), "float32", None, None)]))
    source = transload.load(file)
    result = transload.lower(source, "tosa")
    assert verify_conversion(source, result).status == "passed"  # and the judge's process is there by now
    with allowed(memory=100):
        assert verify_conversion(source, result).status == "passed"
        monkeypatch.setattr("transload.engine.room._VALUES_OF_ONE", 1)
        skipped = verify_conversion(source, result)
    assert skipped.status == "skipped" and "take 16,000 bytes" in skipped.why and "8,000 are allowed" in skipped.why
    assert "TRANSLOAD_BUDGET=memory=16000" in skipped.why


def test_inputs_that_are_drawn_allow_no_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a kilobyte may say that its input has 600 MB, and 64 times as much was allowed then."""
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    file = tmp_path / "m.tflite"
    file.write_bytes(write_operator("ABS", [((40, 50), "float32", None, None)], [((40, 50), "float32", None, None)]))
    source = transload.load(file)
    (name,), result = source.inputs, transload.lower(source, "tosa")
    monkeypatch.setattr("transload.engine.room._MADE_UP", 100)
    with allowed(memory=100):
        skipped = verify_conversion(source, result)
        assert skipped.status == "skipped" and "take 16,000 bytes" in skipped.why and "6,400 are allowed" in skipped.why
        given = {name: np.linspace(-1, 1, 2000, dtype=np.float32).reshape(40, 50)}
        assert verify_conversion(source, result, inputs=given).status == "passed"


def test_what_runtimes_make_of_constants_counts_together(tmp_path: Path) -> None:
    """LiteRT holds each of the floats that a file of 1 MB makes of one buffer 400 times: 4 GB."""
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    model = ModelWriter()
    value = model.add_tensor("x", (1000,), "float32")
    model.inputs = [value]
    for number in range(10):
        halves = model.add_tensor(f"w{number}", (1000,), "float16", np.arange(1000, dtype=np.float16).tobytes())
        floats, total = (model.add_tensor(f"{kind}{number}", (1000,), "float32") for kind in "fy")
        model.add_operator("DEQUANTIZE", [halves], [floats])
        model.add_operator("ADD", [value, floats], [total])
        value = total
    model.outputs = [value]
    file = tmp_path / "m.tflite"
    file.write_bytes(model.finish())
    source = transload.load(file)
    result = transload.lower(source, "tosa")
    with allowed(memory=10), pytest.MonkeyPatch.context() as patched:
        patched.setattr("transload.engine.room._VALUES_OF_ONE", 1)
        skipped = verify_conversion(source, result)
    assert skipped.status == "skipped" and "take 48,000 bytes at one time" in skipped.why


def test_a_model_of_next_to_nothing_folds_no_more_than_half_a_gigabyte() -> None:
    """Each doubling is there until all are: 256 MB of growth are 512 MB at one time."""
    spent = Budget()
    sizes = [8 << doubled for doubled in range(40)]
    folded = [size for size in sizes if spent.may_fold(size, 2 * size)]
    assert 2 * sum(folded) <= 1 << 29


def test_a_splat_counts_as_what_it_is_computed_with() -> None:
    """A file of some hundred bytes fills 2 GB by one number."""
    graph = Graph()
    graph.builder.constant(np.zeros(100, np.int8))
    many = graph.builder.emit("top.Weight", value=Dense(SplatData(np.int8(0), (2, 1 << 30))))
    module = graph.done(many)
    assert elements_of(module) == 1 << 31


@pytest.mark.parametrize("said", ["ops=-1", "seconds=nan", "seconds=-inf"])
def test_amounts_that_are_none_are_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every comparison with NaN is false: it would allow everything."""
    monkeypatch.setenv("TRANSLOAD_BUDGET", said)
    with pytest.raises(UsageError, match="TRANSLOAD_BUDGET has"):
        budget.allowance()


@pytest.mark.parametrize("pad", [
    lambda x: pad_spatial(x, (2,), (2**40, 0)), lambda x: padded(x, (2**40, 0)),
    lambda x: stablehlo_padded(x, np.float32(0), (0, 0, 2**40), (0, 0, 0), (0, 0, 0)),
    lambda x: stablehlo_padded(x, np.float32(0), (0, 0, 0), (0, 0, 0), (0, 0, 2**40)),
], ids=["top", "tosa", "stablehlo", "between"])
def test_padding_that_is_no_value_is_counted(pad: Any) -> None:
    """A window that strides over 2^40 elements of padding leaves few results; 480 GiB were asked for."""
    with pytest.raises(RunError, match=r"would have .* elements"):
        pad(np.ones((1, 2, 3), np.float32))


def test_constants_are_multiplied_as_often_as_the_budget_allows() -> None:
    """A kernel over an image, both of one number: a file of some hundred bytes took hours to convert."""
    weights, image = np.ones((1, 1, 40, 40), np.float32), np.ones((1, 1, 80, 80), np.float32)
    model = read_model(make_model(
        [node("Conv", ["c", "w"], ["y"]), node("Add", ["y", "x"], ["z"])], {"x": np.zeros((1,), np.float32)}, ["z"],
        {"c": image, "w": weights}))
    products = 41 * 41 * 40 * 40
    for allowance, folds in ((16 * products, True), (16 * products - 1, False)):
        with allowed(products=allowance):
            assert ("top.Conv" in [op.name for op in transload.lower(model, "top").ops()]) is not folds


def test_determinants_of_constants_are_counted_together() -> None:
    matrix = np.eye(30, dtype=np.float32)
    model = read_model(make_model(
        [node("Det", ["m"], ["a"]), node("Add", ["a", "x"], ["y"])], {"x": np.zeros((), np.float32)}, ["y"],
        {"m": matrix}, opset=22))
    assert transload.lower(model, "top")
    with allowed(products=16 * 30**3 - 1), pytest.raises(ConversionError, match="too long"):
        transload.lower(model, "top")
