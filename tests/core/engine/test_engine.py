"""The engine: inputs that fit, quantized kernels, intermediates, memory."""

from __future__ import annotations

import gc
import re
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.budget import allowed
from transload.engine import choice
from transload.engine.memory import peak_bytes
from transload.engine.quantized import dequantize, quantize
from transload.engine.reference import run_function
from transload.engine.run import Plan
from transload.errors import RunError
from transload.ir import F32, I8, I32, UI8, Module, QuantType, TensorType, note_elements
from transload.testing import build_module
from transload.text import parse_module, print_module

Q = QuantType(I8, F32, (0.5,), (3,))
PER_AXIS = QuantType(I8, F32, (0.5, 2.0), (0, 1), axis=0)


def test_dequantize_and_quantize_are_inverse_on_the_storage_range():
    stored = np.arange(-128, 128).astype(np.int8)
    np.testing.assert_array_equal(quantize(dequantize(stored, Q), Q), stored)
    per_axis = np.stack([stored, stored])
    np.testing.assert_array_equal(quantize(dequantize(per_axis, PER_AXIS), PER_AXIS), per_axis)


def test_quantize_rounds_halves_away_from_zero_and_saturates():
    one = QuantType(I8, F32, (1.0,), (0,))
    np.testing.assert_array_equal(quantize(np.array([0.5, -0.5, 1.5, 1000, -1000, np.inf]), one), [1, -1, 2, 127, -128, 127])


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_where_a_file_has_its_bytes_changes_no_bit(offset):
    """Weights at odd places of a file: numpy multiplies these by other loops, unless they are placed."""
    random = np.random.default_rng(3)
    weights = random.normal(size=(10, 128)).astype(np.float32)
    raw = np.zeros(weights.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64 + offset
    moved = raw[start:start + weights.nbytes].view(np.float32).reshape(weights.shape)
    moved[:] = weights
    assert not moved.flags.aligned
    given = {"x": random.normal(size=(1, 128)).astype(np.float32) * 20}

    def product(matrix):
        module = build_module([TensorType((1, 128), F32)], lambda b, x: b.emit(
            "top.MatMul", x, b.constant(matrix), right_transpose=True), ["x"])
        return transload.run(module, given)["y"]

    np.testing.assert_array_equal(product(moved), product(weights))


def relu_module(element=F32, size=4):
    return build_module([TensorType((size,), element)], lambda b, x: b.emit("top.Relu", x), ["x"])


def test_quantized_ops_run_through_their_float_kernels():
    x = np.array([-10, 0, 3, 20], np.int8)
    outputs = transload.run(relu_module(Q), {"x": x})
    np.testing.assert_array_equal(outputs["y"], np.maximum(x, 3))


@pytest.mark.parametrize(("inputs", "message"), [
    ({}, "is missing"),
    ({"x": np.zeros(4, np.float32), "z": 1}, "is not an input"),
    ({"x": np.zeros(5, np.float32)}, "has shape"),
    ({"x": np.zeros(4, np.complex64)}, "must be float32"),
])
def test_inputs_that_do_not_fit_are_all_listed(inputs, message):
    with pytest.raises(RunError, match=message):
        transload.run(relu_module(), inputs)


def test_floats_are_not_taken_for_stored_integers():
    with pytest.raises(RunError, match="stored"):
        transload.run(relu_module(Q), {"x": np.zeros(4, np.float32)})


@pytest.mark.parametrize(("element", "dtype"), [(I8, np.uint8), (UI8, np.int8)])
def test_an_array_of_the_other_sign_is_refused(element, dtype):
    with pytest.raises(transload.TransloadError, match=rf"is {np.dtype(dtype)}, and must be .*int8") as caught:
        transload.run(relu_module(element), {"x": np.zeros(4, dtype)})
    assert "where the bits are" in str(caught.value)


def test_the_bits_of_a_noted_type_go_in_and_come_out():
    """A function of `i8` whose borders are noted as unsigned takes and gives uint8, and computes with the same bits."""
    module = relu_module(I8)
    note_elements(module.main, [UI8], [UI8])
    assert str(module.inputs["x"].element) == str(module.outputs["y"].element) == "ui8"
    x = np.array([0, 127, 128, 255], np.uint8)
    for read in (module, parse_module(print_module(module))):
        outputs = transload.run(read, {"x": x})
        np.testing.assert_array_equal(outputs["y"], np.maximum(x.view(np.int8), 0).view(np.uint8))
        assert outputs["y"].dtype == np.uint8
    kept = transload.run(module, {"x": x}, keep=True)
    assert kept["y"].dtype == np.uint8


def test_intermediates_are_kept_by_name():
    def build(b, x):
        b.location = "inner"
        hidden = b.emit("top.Relu", x)
        b.location = "y"
        return b.emit("top.Neg", hidden)

    module = build_module([TensorType((3,), F32)], build, ["x"])
    outputs = transload.run(module, {"x": np.array([-1, 2, 3], np.float32)}, keep=True)
    assert list(outputs) == ["inner", "y"]
    np.testing.assert_array_equal(outputs["inner"], [0, 2, 3])


def test_ops_without_kernels_are_all_listed():
    from transload.ir import Op

    def build(b, x):
        for name in ("nobody.one", "nobody.two"):
            x = b.block.append(Op(name, [x], [x.type], location=name)).result
        return x

    module = build_module([TensorType((3,), F32)], build)
    with pytest.raises(RunError) as caught:
        transload.run(module, {"x0": np.zeros(3, np.float32)})
    assert [finding.what for finding in caught.value.findings] == ["nobody.one", "nobody.two"]


def test_a_value_is_dropped_after_its_last_use():
    alive: list[weakref.ref] = []
    most = 0

    class Watched(np.ndarray):
        pass

    def watch(op, x):
        nonlocal most
        y = (np.asarray(x) + 1).view(Watched)
        alive.append(weakref.ref(y))
        gc.collect()
        most = max(most, sum(ref() is not None for ref in alive))
        return y

    from transload.plugin_host import host

    host().facts("kernel")["watch.op"] = (watch, "native")
    try:
        from transload.ir import Op

        def build(b, x):
            for _ in range(8):
                x = b.block.append(Op("watch.op", [x], [x.type])).result
            return x

        transload.run(build_module([TensorType((3,), I32)], build), {"x0": np.zeros(3, np.int32)})
    finally:
        del host().facts("kernel")["watch.op"]
    assert most <= 2, f"{most} values were alive at once"


def test_the_most_that_values_take_at_one_time():
    def build(b, x):
        one = b.emit("top.Relu", x)  # x and one: 32 bytes
        two = b.emit("top.Concat", one, one, axis=0)  # x is gone: 16 + 32
        return b.emit("top.Reduce", two, axes=(0,), mode="ReduceSum", keepdims=True)  # 32 + 4

    module = build_module([TensorType((4,), F32)], build)
    assert peak_bytes(module.body_of_main) == 48


def test_what_is_computed_of_constants_alone_stays_where_a_model_is_loaded_once():
    module = parse_module("""
        func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
          %c = "top.Weight"() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
          %t = "top.Tile"(%c) {repeats = array<i64: 10>} : (tensor<1xf32>) -> tensor<10xf32>
          %a = "top.Reduce"(%t) {axes = array<i64: 0>, mode = "ReduceMax", keepdims = true} : (tensor<10xf32>) -> tensor<1xf32>
          %u = "top.Tile"(%a) {repeats = array<i64: 10>} : (tensor<1xf32>) -> tensor<10xf32>
          %b = "top.Reduce"(%u) {axes = array<i64: 0>, mode = "ReduceSum", keepdims = true} : (tensor<10xf32>) -> tensor<1xf32>
          %y = "top.Add"(%x, %b) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
          return %y : tensor<1xf32>
        }""")
    block = module.body_of_main
    assert (peak_bytes(block), peak_bytes(block, once=True)) == (4 + 40 + 4, 4 + 2 * (40 + 4) + 4)


def test_what_is_watched_has_the_values_inside_regions_too():
    from transload.text import parse_module

    module = parse_module("""
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%x: tensor<i32>):
    %r = "top.While"(%x) ({
    ^bb1(%a: tensor<i32>):
      %three = "top.Weight"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
      %c = "top.Compare"(%a, %three) {mode = "Less"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "top.Yield"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb2(%b: tensor<i32>):
      %one = "top.Weight"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %n = "top.Add"(%b, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "top.Yield"(%n) : (tensor<i32>) -> ()
    }) : (tensor<i32>) -> tensor<i32>
    "func.return"(%r) : (tensor<i32>) -> ()
  }) {sym_name = "main", function_type = (tensor<i32>) -> tensor<i32>} : () -> ()
}) : () -> ()
""")
    seen: list[tuple[str, int]] = []
    transload.run(module, {"arg0": np.int32(1)}, watch=lambda value, array: seen.append((value.op.name, int(array))))
    assert seen == [
        ("top.Compare", 1), ("top.Add", 2), ("top.Compare", 1), ("top.Add", 3), ("top.Compare", 0), ("top.While", 3)]


def test_of_several_threads_one_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is run by as many threads as come, all at once and before it was ever run."""
    compiled: list[Any] = []
    together = Barrier(4)

    def prepare(module: Any, function: str) -> Any:
        compiled.append(module)
        sleep(0.05)  # as long as the others need to come
        return lambda inputs, keep: {"y": inputs["x"] + 1}

    monkeypatch.setattr(choice, "host", lambda: SimpleNamespace(engine=lambda name: prepare))
    execute = choice._Execute(None, "main", choice.Choice("compiling", "it pays"))  # type: ignore[arg-type]

    def run(number: int) -> int:
        together.wait()
        return int(execute({"x": number})["y"])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(4))) == [1, 2, 3, 4]
    assert len(compiled) == 1


def test_types_that_were_changed_by_hand_are_not_blamed_on_a_kernel() -> None:
    module = build_module([TensorType((1, 4), F32)], lambda build, x: build.emit("top.Relu", x))
    module.body_of_main.arguments[0].type = TensorType((3, 4), F32)
    with pytest.raises(RunError, match="its result is tensor<1x4xf32>, and has to be tensor<3x4xf32>"):
        run_function(module, {next(iter(module.inputs)): np.zeros((3, 4), np.float32)})


# --- numbers that fit


def through(type_: str, given: Any) -> np.ndarray:
    kind = f"tensor<1x3x{type_}>"
    module = parse_module(f"func.func @main(%x: {kind}) -> {kind} {{\nreturn %x : {kind}\n}}")
    return transload.run(module, {"arg0": given})["result0"]


@pytest.mark.parametrize(("type_", "given"), [
    ("ui64", [[0, 1, 2]]), ("ui64", [[0, 1, 2**63]]), ("ui64", [[0, 1, 2**64 - 1]]), ("ui8", [[0, 1, 255]]),
    ("f32", [[0, 1.5, 2]]), ("i64", [[-1, 0, 1]]), ("f32", np.float64([[1e30, -np.inf, np.nan]])),
    ("ui16", np.int8([[0, 1, 127]])), ("ui16", np.array([[0, 1, 1]], ml_dtypes.int2)),
    ("f6E2M3FN", np.int8([[-1, 0, 7]])),
])
def test_numbers_that_the_type_of_an_input_has(type_, given):
    """Lists say no type: those for uint64 were of the wrong sign."""
    made = through(type_, given)
    np.testing.assert_array_equal(made, np.array(given, made.dtype))


@pytest.mark.parametrize(("type_", "given", "why"), [
    ("ui64", [[0, -1, 2]], "holds numbers that uint64 cannot"),
    ("ui64", [[0, 1, 2**64]], "is (float64|object), and must be uint64"),
    ("ui64", np.int64([[0, 1, 2]]), "is int64, and must be uint64"), ("ui8", [[0, 1, 256]], "holds numbers that uint8 cannot"),
    ("ui16", np.int8([[0, -1, 2]]), "holds numbers that uint16 cannot"),
    ("i8", np.uint32([[0, 1, 2**32 - 1]]), "holds numbers that int8 cannot"),
    ("f32", np.full((1, 3), 1e300), "holds numbers that float32 cannot"), ("f16", np.full((1, 3), 1e5), "that float16 cannot"),
    ("f32", [[1], [1, 2]], "is no array, and must be tensor<1x3xf32>"), ("f32", {"a": 1}, "has shape"),
    ("ui8", np.array([[0, -1, 2]], ml_dtypes.int4), "holds numbers that uint8 cannot"),
    ("ui4", np.full((1, 3), 1.0), "is float64"),
    ("ui4", np.array([[0, 1, 2]], ml_dtypes.int4), "is int4, and must be uint4"),
    ("i8", np.ones((1, 3), ml_dtypes.float8_e4m3fn), "is float8_e4m3fn, and must be int8"),
    ("i1", np.ones((1, 3), ml_dtypes.int2), "is int2, and must be bool"), ("bf16", np.full((1, 3), 1j), "is complex128"),
    ("f4E2M1FN", np.full((1, 3), 100.0), "holds numbers that float4_e2m1fn cannot"),
    ("complex<f32>", np.full((1, 3), 1e300j), "holds"),
    ("f64", np.full((1, 3), 2**64 - 1, np.uint64), "holds numbers that float64 cannot"),
    ("f32", np.ma.array([[1, 2, 3]], mask=[[0, 1, 0]]), "is masked"), ("i16", np.zeros((1, 3), "V2"), "must be int16"),
])
@pytest.mark.filterwarnings("error")
def test_numbers_that_it_has_not(type_, given, why):
    """They became infinite, or numbers of the other sign; lists of unlike lengths were a defect of the engine."""
    with pytest.raises(RunError, match=why):
        through(type_, given)


def test_numbers_that_become_others_on_the_way_to_an_engine_are_told():
    """Quantized modules go to XLA by way of TOSA, which has no f64."""
    kinds = "tensor<2xf64>, tensor<2x!quant.uniform<i8:f32, 0.5>>"
    first, second = kinds.split(", ", 1)
    module = parse_module(f"func.func @main(%x: {first}, %y: {second}) -> ({kinds}) {{\nreturn %x, %y : {kinds}\n}}")
    told: list[str] = []
    transload.run(module, {"arg0": np.full(2, 1 / 3), "arg1": np.int8([1, 2])}, engine="xla", tell=told.append)
    assert [note.partition(" (")[0] for note in told] == ["1 values are f64 in the model, and f32 here: arg0"]


# --- whose memory it is


def reshaped(dialect: str) -> Any:
    """Outputs that are all one input's numbers, as kernels give them without a copy, and a constant."""
    both = ", ".join(["tensor<2x3xf32>"] * 2)
    shapes = {
        "top": '%a = "top.Reshape"(%x) <{shape = array<i64: 2, 3>}> : (tensor<6xf32>) -> tensor<2x3xf32>',
        "tosa": '%s = "tosa.const_shape"() <{values = dense<[2, 3]> : tensor<2xindex>}> : () -> !tosa.shape<2>\n'
                '%a = "tosa.reshape"(%x, %s) : (tensor<6xf32>, !tosa.shape<2>) -> tensor<2x3xf32>',
        "onnx": '%s = "onnx.Constant"() <{value = dense<[2, 3]> : tensor<2xi64>}> : () -> tensor<2xi64>\n'
                '%a = "onnx.Reshape"(%x, %s) : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x3xf32>',
    }
    return parse_module(
        f"func.func @main(%x: tensor<6xf32>) -> ({both}, tensor<6xf32>) {{\n{shapes[dialect]}\n"
        f"return %a, %a, %x : {both}, tensor<6xf32>\n}}")


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dialect", ["top", "tosa", "onnx"])
def test_outputs_are_arrays_of_their_own(dialect, keep):
    """They were the input itself: who wrote into one changed it, and the others."""
    x = np.arange(6, dtype=np.float32)
    outputs = transload.run(reshaped(dialect), {"arg0": x}, engine="reference", keep=keep)
    assert len(outputs) >= 3 and all(array.flags.writeable for array in outputs.values())
    for number, array in enumerate(outputs.values()):
        np.testing.assert_array_equal(array.ravel(), np.arange(6))
        array[...] = 7 + number
    assert [array.ravel()[0] for array in outputs.values()] == [7 + number for number in range(len(outputs))]
    np.testing.assert_array_equal(x, np.arange(6))


def test_a_constant_as_output_can_be_written_to():
    module = build_module([TensorType((3,), F32)], lambda b, x: b.constant(np.ones(3, np.float32)), ["x"])
    first = transload.run(module, {"x": np.zeros(3, np.float32)})["y"]
    first[...] = 7
    np.testing.assert_array_equal(transload.run(module, {"x": np.zeros(3, np.float32)})["y"], 1)


def test_what_has_memory_of_its_own_is_not_copied():
    from transload.lending import apart

    x, y = np.zeros(3), np.zeros((2, 3))
    made = apart({"y": y, "again": y.T, "x": x[::2], "row": np.broadcast_to(np.ones(1), (4,))}, [x])
    assert made["y"] is y and not any(np.shares_memory(made[name], each) for name in ("again", "x", "row") for each in (x, y))


def test_who_watches_cannot_write():
    """It wrote into what the engine went on with."""
    module = build_module([TensorType((3,), F32)], lambda b, x: b.emit("top.Abs", x), ["x"])
    seen = []

    def watch(value, array):
        seen.append(array)
        with pytest.raises(ValueError, match="read-only"):
            array.fill(0)

    outputs = transload.run(module, {"x": np.float32([-1, 2, -3])}, watch=watch)
    np.testing.assert_array_equal(outputs["y"], [1, 2, 3])
    np.testing.assert_array_equal(seen[-1], [1, 2, 3])
    outputs["y"][0] = 5  # the output itself is the caller's


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), SystemExit(3), KeyError("x")])
def test_what_a_watch_raises_is_the_users(error):
    """It was called a defect of the reference engine, to be reported."""
    module = build_module([TensorType((3,), F32)], lambda b, x: b.emit("top.Abs", x), ["x"])

    def watch(value, array):
        raise error

    with pytest.raises(type(error)) as raised:
        transload.run(module, {"x": np.zeros(3, np.float32)}, watch=watch)
    assert raised.value is error


def test_a_function_that_is_called_from_many_places_is_planned_once() -> None:
    """Forty that call the next one twice were 2^40 plans."""
    type_ = "tensor<2xf32>"
    calls = "\n".join(
        f'func.func @f{n}(%a: {type_}) -> {type_} {{ %0 = func.call @f{n + 1}(%a) : ({type_}) -> {type_} '
        f'%1 = func.call @f{n + 1}(%0) : ({type_}) -> {type_} func.return %1 : {type_} }}' for n in range(40))
    module = parse_module(
        f'module {{ {calls} func.func @f40(%a: {type_}) -> {type_} {{ %0 = "no.such"(%a) : ({type_}) -> {type_} '
        f'func.return %0 : {type_} }} func.func @main(%a: {type_}) -> {type_} {{ %0 = func.call @f0(%a) : ({type_}) -> {type_} '
        f'func.return %0 : {type_} }} }}')
    plan = Plan(module.main.regions[0], module)
    assert [each.what for each in plan.missing] == ["no.such"]


def _calling_twice(depth: int) -> Module:
    """Functions of which each calls the next twice: the last runs 2^depth times."""
    def function(name: str, callee: str) -> str:
        op = f'func.call @{callee}' if callee else '"stablehlo.negate"'
        return (f'func.func @{name}(%a: {type_}) -> {type_} {{ %0 = {op}(%a) : ({type_}) -> {type_} '
                f'%1 = {op}(%0) : ({type_}) -> {type_} func.return %1 : {type_} }}')

    type_ = "tensor<2xf32>"
    names = ["main", *(f"f{n}" for n in range(1, depth)), ""]
    return parse_module("module { " + "\n".join(map(function, names, names[1:])) + " }")


def test_calls_that_double_are_bounded_where_a_module_runs() -> None:
    """They ran until the seconds of an execution were over, half an hour."""
    for engine in ("auto", "reference"):
        with pytest.raises(RunError, match="would run more than 3,200,000 ops") as raised:
            transload.run(_calling_twice(30), {"arg0": np.ones(2, np.float32)}, engine=engine)
        assert re.search(r"TRANSLOAD_BUDGET=ops=\d{9} allows that", raised.value.hint)
    with pytest.raises(RunError) as raised:
        transload.run(_calling_twice(60), {"arg0": np.ones(2, np.float32)}, engine="reference")
    assert raised.value.hint == "let functions call fewer others"
    with allowed(ops=100), pytest.raises(RunError) as raised:
        transload.run(_calling_twice(15), {"arg0": np.ones(2, np.float32)}, engine="reference")
    (enough,) = re.findall(r"ops=(\d+) allows", raised.value.hint)
    with allowed(ops=int(enough)):
        transload.run(_calling_twice(15), {"arg0": np.ones(2, np.float32)}, engine="reference")
    few = _calling_twice(5)
    assert transload.run(few, {"arg0": np.ones(2, np.float32)}, engine="reference")["result0"].tolist() == [1.0, 1.0]
    with allowed(ops=40), pytest.raises(RunError):
        transload.run(_calling_twice(16), {"arg0": np.ones(2, np.float32)}, engine="reference")
    with allowed(ops=10_000):
        transload.run(_calling_twice(12), {"arg0": np.ones(2, np.float32)}, engine="reference")


def test_of_branches_one_is_run() -> None:
    """A tree of branches runs as many ops as it is deep, whatever functions could be run by it."""
    def function(name: str, callee: str) -> str:
        op = f"func.call @{callee}(%a, %c) : ({type_}, tensor<i1>) -> {type_}" if callee else (
            f'"stablehlo.negate"(%a) : ({type_}) -> {type_}')
        branch = f'%x = {op} "stablehlo.return"(%x) : ({type_}) -> ()'
        return (f"func.func @{name}(%a: {type_}, %c: tensor<i1>) -> {type_} {{ "
                f'%o = "stablehlo.if"(%c) ({{ {branch} }}, {{ {branch} }}) : (tensor<i1>) -> {type_} func.return %o : {type_} }}')

    type_ = "tensor<2xf32>"
    names = ["main", *(f"f{n}" for n in range(1, 25)), ""]
    module = parse_module("module { " + "\n".join(map(function, names, names[1:])) + " }")
    given = {"arg0": np.ones(2, np.float32), "arg1": np.array(True)}
    assert transload.run(module, given, engine="reference")["result0"].tolist() == [-1.0, -1.0]
