"""The xla engines: what goes in and comes out, whatever the types; batches, intermediates, dynamic shapes, dialects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.budget import TimeOver, allowed
from transload.errors import UsageError
from transload.ir import Module, input_names
from transload.plugin import resolve
from transload.plugin_host import host
from transload.verification.inputs import random_inputs
from transload_targets.xla.program import in_stablehlo, written

from tests.support.judge_versions import newer_jaxlib
from tests.targets.xla.xla_programs import dense, program, run, tensor


def prepared(module: Module, engine: str = "xla-cpu") -> Any:
    return resolve(host().get("engines", engine).prepare)(module)


def doubled(element: str) -> Module:
    type_ = tensor((2, 3), element)
    return program([type_], [f"%y = stablehlo.add %a0, %a0 : {type_}"], [("%y", type_), ("%a0", type_)])


@pytest.mark.parametrize("element, dtype", [
    pytest.param("i1", np.bool_, marks=newer_jaxlib("adds i1 modulo 2, and not as StableHLO says")),
    ("i4", ml_dtypes.int4), ("ui4", ml_dtypes.uint4), ("i8", np.int8), ("ui8", np.uint8), ("i16", np.int16),
    ("ui16", np.uint16), ("i32", np.int32), ("ui32", np.uint32), ("i64", np.int64), ("ui64", np.uint64), ("f16", np.float16),
    ("bf16", ml_dtypes.bfloat16), ("f32", np.float32), ("f64", np.float64), ("complex<f32>", np.complex64),
    ("complex<f64>", np.complex128), ("f8E4M3FN", ml_dtypes.float8_e4m3fn), ("f8E5M2", ml_dtypes.float8_e5m2),
])
def test_every_type_crosses(element: str, dtype: Any) -> None:
    x = np.array([[0, 1, 2], [3, 1, 0]]).astype(dtype)
    for mine, theirs in zip(*(run(doubled(element), [x], engine) for engine in ("xla", "reference")), strict=True):
        assert mine.dtype == theirs.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("engine", ["xla", "xla-plain"])
@pytest.mark.parametrize("element, dtype", [
    ("i2", ml_dtypes.int2), ("ui2", ml_dtypes.uint2), ("i4", ml_dtypes.int4), ("ui4", ml_dtypes.uint4), ("i8", np.int8)])
def test_no_copies_of_a_sign_are_counted(element: str, dtype: Any, engine: str) -> None:
    """XLA holds i4 in 8 bits, and counted them all."""
    width = int(element.lstrip("ui"))
    low = 0 if element.startswith("u") else -(1 << (width - 1))
    numbers = range(low, low + (1 << width))
    type_ = tensor((len(numbers),), element)
    module = program([type_], [f"%y = stablehlo.popcnt %a0 : {type_}"], [("%y", type_)])
    [made] = run(module, [np.array(numbers).astype(dtype)], engine)
    wanted = [(bin(each % (1 << width)).count("1") - low) % (1 << width) + low for each in numbers]
    assert made.astype(int).tolist() == wanted


def test_results_may_be_changed_and_arguments_may_be_read_only() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    x.flags.writeable = False
    doubled_x, same = run(doubled("f32"), [x.T.copy().T], "xla")
    doubled_x += 1
    same += 1
    np.testing.assert_array_equal(x, np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("shape", [(), (0, 3), (1, 1, 1, 1, 1, 1), (2, 0)])
def test_shapes_of_no_dimension_and_no_size(shape: tuple[int, ...]) -> None:
    type_ = tensor(shape, "f32")
    module = program([type_], [f"%y = stablehlo.negate %a0 : {type_}"], [("%y", type_)])
    x = np.ones(shape, np.float32)
    np.testing.assert_array_equal(run(module, [x], "xla")[0], -x)


def test_a_batch_is_what_its_parts_are() -> None:
    module, rng = doubled("f32"), np.random.default_rng(0)
    x = rng.standard_normal((17, 2, 3)).astype(np.float32)
    name = input_names(module.main)[0]
    execute = prepared(module)
    both = list(execute.batch({name: x}).values())
    np.testing.assert_array_equal(both[0], 2 * x)
    np.testing.assert_array_equal(both[1], x)
    with pytest.raises(transload.TransloadError, match="first size"):
        execute.batch({name: x[:0]})
    with pytest.raises(transload.TransloadError, match="shape"):
        execute.batch({name: x[:, :1]})


def test_intermediates_are_kept_by_name() -> None:
    text = """func.func @main(%a: tensor<2xf32> loc("in")) -> tensor<2xf32> {
  %0 = stablehlo.negate %a : tensor<2xf32> loc("first")
  %1 = stablehlo.abs %0 : tensor<2xf32> loc("second")
  return %1 : tensor<2xf32>
}"""
    module = transload.load(text=text, format="stablehlo")
    x = {input_names(module.main)[0]: np.array([1, -2], np.float32)}
    mine, theirs = (transload.run(module, x, engine=engine, keep=True) for engine in ("xla", "reference"))
    assert list(mine) == list(theirs)
    for name, array in theirs.items():
        np.testing.assert_array_equal(mine[name], array)


def channels_first() -> Module:
    """A convolution and a pooling of channels first, as ONNX has them: XLA's CPU wants them last."""
    text = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x3x8x6xf32>) -> tensor<1x4x4x3xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<1x3x8x6xf32> loc("x")):
    %w = "top.Weight"() <{value = dense<0.5> : tensor<4x3x3x3xf32>}> : () -> tensor<4x3x3x3xf32>
    %b = "top.None"() : () -> none
    %c = "top.Conv"(%x, %w, %b) <{kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, layout = "NCHW"}> : (tensor<1x3x8x6xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x8x6xf32> loc("conv")
    %r = "top.Tanh"(%c) : (tensor<1x4x8x6xf32>) -> tensor<1x4x8x6xf32> loc("tanh")
    %p = "top.MaxPool"(%r) <{kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, layout = "NCHW"}> : (tensor<1x4x8x6xf32>) -> tensor<1x4x4x3xf32> loc("pool")
    "func.return"(%p) : (tensor<1x4x4x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""  # noqa: E501 - generic text has long lines
    return transload.load(text=text, format="mlir")


def test_a_name_means_the_same_in_every_engine() -> None:
    x = {"x": np.random.default_rng(0).standard_normal((1, 3, 8, 6)).astype(np.float32)}
    mine, theirs = (transload.run(channels_first(), x, engine=engine, keep=True) for engine in ("xla", "reference"))
    assert {name: array.shape for name, array in mine.items()} == {name: array.shape for name, array in theirs.items()}
    assert list(mine) == list(theirs) == ["conv", "tanh", "pool"]
    for name, array in theirs.items():
        np.testing.assert_allclose(mine[name], array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dialect", ["tfl", "top", "tosa", "stablehlo"])
def test_names_of_a_quantized_model_are_the_same_in_every_engine(examples: Path, dialect: str) -> None:
    """Names, their order, shapes and types; the numbers too, where all is integers."""
    source = transload.load(examples / "digits" / "digits_int8.tflite")
    module = source if dialect == "tfl" else transload.lower(source, dialect)
    x = random_inputs(source)
    mine, theirs = (transload.run(module, x, engine=engine, keep=True) for engine in ("xla", "reference"))
    assert [(name, array.shape, array.dtype) for name, array in mine.items()] == [
        (name, array.shape, array.dtype) for name, array in theirs.items()]
    assert "conv1" in mine
    if dialect in ("tosa", "stablehlo"):
        for name, array in theirs.items():
            np.testing.assert_array_equal(mine[name], array)


def test_dynamic_shapes_are_compiled_for_each() -> None:
    text = """func.func @main(%a: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %r = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %c = stablehlo.constant dense<3> : tensor<1xi32>
  %s = stablehlo.concatenate %r, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %b = stablehlo.dynamic_broadcast_in_dim %one, %s, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
  %y = stablehlo.add %a, %b : tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}"""
    module = transload.load(text=text, format="stablehlo")
    execute = prepared(module)
    name = input_names(module.main)[0]
    for count in (1, 4, 1):
        x = np.ones((count, 3), np.float32)
        np.testing.assert_array_equal(next(iter(execute({name: x}).values())), x + 1)
    assert len(execute._compiled) == 2


def test_large_constants_are_arguments_and_equal_ones_are_one() -> None:
    numbers = np.arange(2000, dtype=np.int32).reshape(2, 1000)
    type_ = tensor((2, 1000), "i32")
    module = program([type_], [
        f"%c = stablehlo.constant {dense(numbers, 'i32')}", f"%d = stablehlo.constant {dense(numbers, 'i32')}",
        f"%s = stablehlo.constant dense<7> : {type_}",
        f"%0 = stablehlo.add %a0, %c : {type_}", f"%1 = stablehlo.add %0, %d : {type_}", f"%2 = stablehlo.add %1, %s : {type_}",
    ], [("%2", type_)])
    made = written(in_stablehlo(module), "main", "cpu")
    assert len(made.constants) == 1
    assert len(made.text) < 2000
    np.testing.assert_array_equal(run(module, [numbers], "xla")[0], 3 * numbers + 7)


def test_large_constants_in_regions_and_called_functions() -> None:
    numbers = (np.arange(600) % 5).astype(np.float32)
    type_ = tensor((600,), "f32")
    text = f"""func.func @main(%a: {type_}) -> {type_} {{
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %z, %x = %a) : tensor<i32>, {type_}
   cond {{
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
   }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %c = stablehlo.constant {dense(numbers, 'f32')}
    %y = stablehlo.add %x, %c : {type_}
    stablehlo.return %j, %y : tensor<i32>, {type_}
   }}
  %1 = func.call @inner(%0#1) : ({type_}) -> {type_}
  return %1 : {type_}
}}
func.func private @inner(%a: {type_}) -> {type_} {{
  %c = stablehlo.constant {dense(numbers, 'f32')}
  %0 = func.call @innermost(%a) : ({type_}) -> {type_}
  %1 = stablehlo.add %0, %c : {type_}
  return %1 : {type_}
}}
func.func private @innermost(%a: {type_}) -> {type_} {{
  %0 = stablehlo.negate %a : {type_}
  return %0 : {type_}
}}"""
    module = transload.load(text=text, format="stablehlo")
    np.testing.assert_array_equal(run(module, [np.ones(600, np.float32)], "xla")[0], -(1 + 3 * numbers) + numbers)


QUANT = "!quant.uniform<i8:f32, 0.5:3>"


@pytest.mark.parametrize("line, out", [
    ("%y = stablehlo.add %a0, %a1 : tensor<4x!quant.uniform<i8:f32, 0.5:3>>", (4,)),
    (f"%y = stablehlo.reshape %a0 : (tensor<4x{QUANT}>) -> tensor<2x2x{QUANT}>", (2, 2)),
    ("%y = stablehlo.dot_general %a0, %a1, contracting_dims = [0] x [0] : (tensor<4x{q}>, tensor<4x{q}>) -> tensor<{q}>".format(
        q="!quant.uniform<i8:f32, 0.5>"), ()),
    (f"%y = stablehlo.tanh %a0 : tensor<4x{QUANT}>", (4,)),
])
def test_quantized_types_are_dequantized_computed_quantized(line: str, out: tuple[int, ...]) -> None:
    quant = QUANT if ":3>" in line else "!quant.uniform<i8:f32, 0.5>"
    module = program([tensor((4,), quant)] * 2, [line], [("%y", tensor(out, quant))])
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, y = (rng.integers(-128, 127, 4, endpoint=True).astype(np.int8) for _ in range(2))
        np.testing.assert_array_equal(run(module, [x, y], "xla")[0], run(module, [x, y], "reference")[0])


def test_what_cannot_cross_is_said() -> None:
    text = """func.func @main(%a: !stablehlo.token) -> !stablehlo.token {
  return %a : !stablehlo.token
}"""
    module = transload.load(text=text, format="stablehlo")
    with pytest.raises(transload.TransloadError, match="token"):
        transload.run(module, {input_names(module.main)[0]: np.zeros(1)}, engine="xla")


def test_inputs_that_do_not_fit_are_said() -> None:
    module = doubled("f32")
    with pytest.raises(transload.TransloadError, match="shape"):
        run(module, [np.zeros((3, 2), np.float32)], "xla")
    with pytest.raises(transload.TransloadError, match="missing"):
        transload.run(module, {}, engine="xla")


@pytest.mark.parametrize("engine", ["xla-gpu", "xla-tpu"])
def test_devices_that_are_not_there_say_what_to_install(engine: str) -> None:
    why = resolve(host().get("engines", engine).available)()
    if why is None:
        assert len(run(doubled("f32"), [np.ones((2, 3), np.float32)], engine)) == 2
        return
    assert "pip install" in why or "can be used" in why
    with pytest.raises(UsageError, match=engine):
        run(doubled("f32"), [np.ones((2, 3), np.float32)], engine)


def test_a_plugin_that_does_not_load_is_a_reason(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from transload_targets.xla import platforms

    library = tmp_path / "pjrt_plugin.so"
    library.write_bytes(b"no library")
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", f"cuda:{library}")
    platforms._opened.cache_clear()
    why = platforms.why_not("gpu")
    assert why is not None and "pjrt_plugin.so" in why
    assert platforms.best.__wrapped__() == "cpu"  # type: ignore[attr-defined]


@pytest.mark.one_in(3)
@pytest.mark.models
@pytest.mark.parametrize("name", [
    "mlperf_kws_int8", "mlperf_resnet8_int8", "arm_kws_ds_cnn_int16x8", "support_mobilenet_v1_0.25_224_quant",
])
@pytest.mark.parametrize("dialect", ["tosa", "top", "tfl"])
def test_integer_models_have_the_same_bits(models: Any, name: str, dialect: str) -> None:
    from transload.verification.inputs import random_inputs

    files = sorted((models / "tflite" / name).glob("*.tflite"))
    if not files:
        pytest.skip(f"no {name}")
    source = transload.load(files[0])
    module = source if dialect == "tfl" else transload.lower(source, dialect)
    inputs = list(random_inputs(source).values())
    # The reference engine runs quantized ops of `tfl` and `top` on reals; what they mean to the bit is their lowering.
    wanted = run(transload.lower(source, "tosa"), inputs, "reference")
    for mine, theirs in zip(run(module, inputs, "xla-cpu"), wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


@pytest.mark.models
@pytest.mark.parametrize("name", ["derived_mobilenet_v1_0.25_224_f32", "derived_kwt1_transformer_f32"])
def test_float_models_are_near(models: Any, name: str) -> None:
    from transload.verification.inputs import random_inputs

    path = models / "onnx" / name / "model.onnx"
    if not path.is_file():
        pytest.skip(f"no {path}")
    source = transload.load(path)
    inputs = list(random_inputs(source).values())
    for mine, theirs in zip(run(source, inputs, "xla-cpu"), run(source, inputs, "reference"), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("calls, why", [(1, "itself"), (2, "itself")])
def test_calls_without_end_are_an_error(calls: int, why: str) -> None:
    type_ = "tensor<2xf32>"
    names = ["%a", *(f"%{i}" for i in range(calls))]
    lines = "\n".join(f"  {names[i + 1]} = func.call @f({names[i]}) : ({type_}) -> {type_}" for i in range(calls))
    text = f"""func.func @main(%a: {type_}) -> {type_} {{
  %0 = func.call @f(%a) : ({type_}) -> {type_}
  return %0 : {type_}
}}
func.func private @f(%a: {type_}) -> {type_} {{
{lines}
  %n = stablehlo.negate {names[-1]} : {type_}
  return %n : {type_}
}}"""
    with pytest.raises(transload.TransloadError, match=why):
        module = transload.load(text=text, format="stablehlo")
        run(module, [np.ones(2, np.float32)], "xla")


@pytest.mark.parametrize("offset", [0, 1, 4, 32, 63, 64])
@pytest.mark.parametrize("element, dtype", [("i8", np.int8), ("bf16", ml_dtypes.bfloat16), ("f32", np.float32)])
def test_arrays_wherever_they_lie(offset: int, element: str, dtype: Any) -> None:
    """Aligned as XLA wants it or not, the results are the same, the array is left alone, and what comes out is no view of it."""
    room = np.zeros(256, np.uint8)
    start = -room.ctypes.data % 64 + offset
    x = room[start : start + 6 * np.dtype(dtype).itemsize].view(dtype).reshape(2, 3)
    x[...] = np.array([[0, 1, 2], [3, 1, 0]])
    expected = x.copy()
    sums, same = run(doubled(element), [x], "xla-cpu")
    np.testing.assert_array_equal(x, expected)
    x[...] = 5
    np.testing.assert_array_equal(sums, expected + expected)
    np.testing.assert_array_equal(same, expected)


ODD_WITHOUT_END = """func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %odd = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %y = stablehlo.while(%n = %x) : tensor<i32>
   cond {
    %more = stablehlo.compare NE, %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %m = stablehlo.multiply %n, %three : tensor<i32>
    %next = stablehlo.or %m, %odd : tensor<i32>
    stablehlo.return %next : tensor<i32>
  }
  func.return %y : tensor<i32>
}"""


def test_a_loop_without_end_ends_with_the_time() -> None:
    """Nothing ended one: it ran in this process, for which XLA knows no way."""
    module = transload.load(text=ODD_WITHOUT_END, format="stablehlo")
    (name,) = module.inputs
    execute = host().engine("xla-cpu")(module)
    for _ in range(2):  # the process was ended with the first, and another takes its place
        with allowed(seconds=1.0), pytest.raises(TimeOver, match="without coming to an end"):
            execute({name: np.int32(1)})


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the system does not list a process's threads")
@newer_jaxlib("names its threads otherwise")
def test_workers_keep_to_cores_of_their_own() -> None:
    """Each of the pool's threads to one core, together all that the process has; this process's own to none."""
    script = """
import json, os, pathlib
from transload_targets.xla.platforms import device_of
device_of("cpu")
names = {int(task.name): (task / "comm").read_text() for task in pathlib.Path("/proc/self/task").iterdir()}
workers = [sorted(os.sched_getaffinity(thread)) for thread, name in names.items() if "XLAEigen" in name]
print(json.dumps([workers, sorted(os.sched_getaffinity(0))]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    workers, own = json.loads(done.stdout)
    assert sorted(workers) == [[core] for core in own]
    assert own == sorted(os.sched_getaffinity(0))
