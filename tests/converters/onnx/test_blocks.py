"""Scales in blocks: QuantizeLinear and DequantizeLinear with block_size, MatMulNBits, against onnxruntime, on every route."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import Module, QuantType, TensorType
from transload_converters.onnx.runtime import open_model

from tests.support.onnx_models import make_model, node, read_model

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

G = np.random.default_rng(13)
MS = {"domain": "com.microsoft"}
LIMITS = {np.int8: (-128, 127), np.uint8: (0, 255), ml_dtypes.int4: (-8, 7), ml_dtypes.uint4: (0, 15)}


def real(*shape: int) -> np.ndarray:
    return G.standard_normal(shape).astype(np.float32)


def blocks(dtype: Any, shape: tuple[int, ...], axis: int, block: int, with_zero: bool) -> dict[str, Any]:
    """Weights `w`, a scale for each block, and zero points where asked for."""
    low, high = LIMITS[dtype]
    grid = tuple(-(-size // block) if dim == axis else size for dim, size in enumerate(shape))
    made = {
        "w": G.integers(low, high, shape, endpoint=True).astype(np.int16).astype(dtype),
        "s": G.uniform(0.01, 0.1, grid).astype(np.float32)}
    if with_zero:
        middle = (low + high + 1) // 2
        made["z"] = G.integers(middle - 3, middle + 4, grid).astype(np.int16).astype(dtype)
    return made


def quantized_types(module: Module) -> list[QuantType]:
    return [
        value.type.element for op in module.walk() for value in op.results
        if isinstance(value.type, TensorType) and isinstance(value.type.element, QuantType)]


@pytest.fixture
def everywhere(tmp_path: Path, reference_model: Any) -> Callable[..., Module]:
    """`everywhere(nodes, inputs, constants, atol=)`: onnxruntime, the hub, TOSA and StableHLO in two engines agree; the hub."""

    def run(
        nodes: list[Any], inputs: dict[str, np.ndarray], constants: dict[str, Any], atol: float = 2e-5, **more: Any,
    ) -> Module:
        file = tmp_path / "model.onnx"
        file.write_bytes(make_model(nodes, inputs, ["y"], constants, opset=21, **more).SerializeToString())
        wanted = open_model(file)(inputs)["y"].astype(np.float64)
        scale = max(1.0, float(np.abs(wanted).max()))
        hub = transload.legalize(transload.load(file))
        tosa = transload.lower(transload.load(file), to="tosa")
        out = tmp_path / "model.tosa"
        transload.save(tosa, out)
        found = {
            "top": transload.run(hub, inputs)["y"], "tosa": transload.run(tosa, inputs)["y"],
            "reference model": reference_model(out.read_bytes(), list(inputs.values()))[0],
        }
        stablehlo = transload.lower(transload.load(file), to="stablehlo")
        found["stablehlo"] = transload.run(stablehlo, inputs)["y"]
        found["xla"] = transload.run(stablehlo, inputs, engine="xla")["y"]
        for route, got in found.items():
            np.testing.assert_allclose(np.asarray(got, np.float64).reshape(wanted.shape), wanted, 0, atol * scale, err_msg=route)
        return hub

    return run


@pytest.mark.parametrize("with_zero", [False, True])
@pytest.mark.parametrize(("axis", "block", "shape"), [
    (0, 4, (8, 6)), (1, 4, (6, 8)), (1, 4, (6, 10)), (0, 5, (7, 3)), (-1, 16, (5, 12)), (1, 2, (3, 4, 5)), (0, 1, (6, 4))])
@pytest.mark.parametrize("dtype", LIMITS)
def test_dequantized_weights(
    everywhere: Callable[..., Module], dtype: Any, axis: int, block: int, shape: tuple[int, ...], with_zero: bool,
) -> None:
    """Blocks along any dimension, the last one shorter, of one place, or longer than the dimension."""
    constants = blocks(dtype, shape, axis % len(shape), block, with_zero)
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"][: 2 + with_zero], ["d"], axis=axis, block_size=block),
        node("Mul", ["x", "d"], ["y"])]
    hub = everywhere(nodes, {"x": real(*shape)}, constants)
    kinds = quantized_types(hub)
    assert len(kinds) == (block < shape[axis])  # else they are scales per axis
    assert all(kind.blocks is not None for kind in kinds)


@pytest.mark.parametrize(("dtype", "axis", "block", "shape", "with_zero"), [
    (np.int8, 1, 4, (6, 8), False), (np.uint8, 0, 4, (8, 6), True), (np.int8, 1, 4, (6, 10), True)])
def test_numbers_quantized_in_blocks_at_run_time(
    everywhere: Callable[..., Module], dtype: Any, axis: int, block: int, shape: tuple[int, ...], with_zero: bool,
) -> None:
    """Quantized and dequantized again: a step's difference where a number lies on an edge in float32."""
    constants = blocks(dtype, shape, axis, block, with_zero)
    names = ["s", "z"][: 1 + with_zero]
    more: dict[str, Any] = {} if with_zero else {"output_dtype": 3}
    nodes = [
        node("QuantizeLinear", ["x", *names], ["q"], axis=axis, block_size=block, **more),
        node("DequantizeLinear", ["q", *names], ["y"], axis=axis, block_size=block)]
    hub = everywhere(nodes, {"x": real(*shape) * 2}, {k: v for k, v in constants.items() if k != "w"}, atol=1e-6)
    kinds = quantized_types(hub)
    assert kinds and all(kind.blocks is not None for kind in kinds)


@pytest.mark.parametrize("transposed", [False, True])
def test_weights_that_are_moved_before_use(everywhere: Callable[..., Module], transposed: bool) -> None:
    """A transposed or reshaped blocked constant keeps its blocks, or is dequantized first."""
    constants = blocks(np.int8, (6, 8), 1, 4, True)
    dq = node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=1, block_size=4)
    moved = node("Transpose", ["d"], ["t"], perm=[1, 0]) if transposed else node("Reshape", ["d", "shape"], ["t"])
    if not transposed:
        constants["shape"] = np.array([8, 6])
    everywhere([dq, moved, node("MatMul", ["x", "t"], ["y"])], {"x": real(3, 8)}, constants)


def quantized_product(
    dtype: Any, k: int, n: int, block: int, with_zero: bool, bias: bool, relu: bool = False,
) -> tuple[list[Any], dict[str, Any]]:
    """A product in QDQ form, activations of int8 per tensor and weights in blocks along K."""
    constants: dict[str, Any] = {
        **blocks(dtype, (k, n), 0, block, with_zero), "a_scale": np.float32(0.02), "a_zero": np.int8(3),
        "o_scale": np.float32(0.06), "o_zero": np.int8(-5)}
    nodes = [
        node("QuantizeLinear", ["x", "a_scale", "a_zero"], ["xq"]), node("DequantizeLinear", ["xq", "a_scale", "a_zero"], ["xd"]),
        node("DequantizeLinear", ["w", "s", "z"][: 2 + with_zero], ["wd"], axis=0, block_size=block)]
    if bias:
        constants["b"] = real(n)
        nodes.append(node("Gemm", ["xd", "wd", "b"], ["r"]))
    else:
        nodes.append(node("MatMul", ["xd", "wd"], ["r"]))
    end = "r"
    if relu:
        nodes.append(node("Relu", ["r"], ["p"]))
        end = "p"
    last = ["o_scale", "o_zero"]
    return [*nodes, node("QuantizeLinear", [end, *last], ["oq"]), node("DequantizeLinear", ["oq", *last], ["y"])], constants


DTYPES = (np.int8, ml_dtypes.int4, ml_dtypes.uint4)
GROUPS = ((32, 8), (20, 8), (64, 64), (96, 32))
FORMS = ((False, False, False), (True, True, False), (True, True, True))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("dtype", "k", "block", "with_zero", "bias", "relu"), [  # every two of the three together, at all times
    pytest.param(dtype, *group, *form, marks=[] if (i + j + n) % 3 == 0 else [pytest.mark.slow])
    for i, dtype in enumerate(DTYPES) for j, group in enumerate(GROUPS) for n, form in enumerate(FORMS)])
def test_integer_activations_take_the_product_apart(
    tmp_path: Path, reference_model: Any, dtype: Any, k: int, block: int, with_zero: bool, bias: bool, relu: bool,
) -> None:
    """In integers throughout, one convolution for each group; never off by more than one step, and by none nearly always."""
    nodes, constants = quantized_product(dtype, k, 10, block, with_zero or dtype == ml_dtypes.uint4, bias, relu)
    inputs = {"x": real(40, k)}
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, inputs, ["y"], constants, opset=21).SerializeToString())
    wanted = open_model(file)(inputs)["y"]
    hub = transload.legalize(transload.load(file))
    product = next(op for op in hub.walk() if op.name == "top.MatMul")
    assert isinstance(product.right.element, QuantType) and isinstance(product.result.element, QuantType)
    tosa = transload.lower(transload.load(file), to="tosa")
    wide = np.abs(constants["w"].astype(int)).max() > 120 and with_zero  # less their zero points, they take more than 8 bits
    if not wide:
        names = [op.name for op in tosa.walk()]
        assert "tosa.matmul" not in names and "tosa.conv2d" in names
        assert all(op.result.element.width == 32 for op in tosa.walk() if op.name == "tosa.conv2d")
    out = tmp_path / "model.tosa"
    transload.save(tosa, out)
    found = {
        "top": transload.run(hub, inputs)["y"], "tosa": transload.run(tosa, inputs)["y"],
        "reference model": reference_model(out.read_bytes(), [inputs["x"]])[0].reshape(wanted.shape),
        "xla": transload.run(transload.lower(transload.load(file), to="stablehlo"), inputs, engine="xla")["y"]}
    for route, got in found.items():
        steps = np.abs(got.astype(np.float64) - wanted) / 0.06
        assert steps.max() < 1.01 and (steps > 0.5).mean() < 0.01, route
    np.testing.assert_array_equal(found["tosa"], found["reference model"])
    np.testing.assert_array_equal(found["tosa"], found["xla"])


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("k", "block"), [(64, 16), (64, 32), (80, 32), (48, 64)])
@pytest.mark.parametrize(("with_zero", "bias"), [(False, False), (True, False), (True, True)])
def test_matmul_nbits(everywhere: Callable[..., Module], bits: int, k: int, block: int, with_zero: bool, bias: bool) -> None:
    """Weights of 4 and 8 bits in groups, as LLMs have them; in the hub they stay so."""
    n, count = 12, -(-k // block)
    constants: dict[str, Any] = {
        "w": G.integers(0, 256, (n, count, block * bits // 8)).astype(np.uint8),
        "s": G.uniform(0.01, 0.1, n * count).astype(np.float32)}
    operands = ["x", "w", "s"]
    if with_zero:
        constants["z"] = G.integers(0, 256, n * -(-count * bits // 8)).astype(np.uint8)
        operands.append("z")
    if bias:
        constants["b"] = real(n)
        operands += ["", "b"]
    nodes = [node("MatMulNBits", operands, ["y"], bits=bits, block_size=block, K=k, N=n, **MS)]
    hub = everywhere(nodes, {"x": real(3, k)}, constants, atol=2e-4)
    kinds = quantized_types(hub)
    assert len(kinds) == (block < k)  # else there is one scale for each row
    for kind in kinds:
        assert str(kind).startswith(f"!quant.uniform<u{bits}:f32:{{0:1, 1:{16 if k == 80 else block}}}, {{{{")


@pytest.mark.parametrize("order", ["kept", "mixed"])
def test_columns_of_nbits_are_of_the_groups_that_are_said(everywhere: Callable[..., Module], order: str) -> None:
    """Quantizers that go by activations give the columns of a group out of order; weights stay packed where they are in order."""
    n, k, block = 6, 64, 16
    groups = np.arange(k, dtype=np.int32) // block
    constants: dict[str, Any] = {
        "w": G.integers(0, 256, (n, k // block, block // 2)).astype(np.uint8),
        "s": G.uniform(0.01, 0.1, n * (k // block)).astype(np.float32),
        "g": groups if order == "kept" else G.permutation(groups)}
    nodes = [node("MatMulNBits", ["x", "w", "s", "", "g"], ["y"], bits=4, block_size=block, K=k, N=n, **MS)]
    hub = everywhere(nodes, {"x": real(3, k)}, constants, atol=2e-4)
    assert len(quantized_types(hub)) == (order == "kept")


@pytest.mark.parametrize(("bits", "zero", "groups", "why"), [
    (4, "", [1] * 16, "a group of 1, and 1 groups"), (4, "", [-1] * 16, "a group of -1"), (4, "", [0] * 7, "7 columns"),
    (8, "", [0] * 16, "of 4 bits alone"), (4, "z", [0] * 16, "without zero points")])
def test_groups_of_nbits_that_do_not_fit(bits: int, zero: str, groups: list[int], why: str) -> None:
    """onnxruntime 1.32 leaves zero points out where groups are said, and takes 8 for them."""
    constants = {"w": np.zeros((2, 1, 2 * bits), np.uint8), "s": np.ones(2, np.float32), "g": np.array(groups, np.int32)}
    if zero:
        constants["z"] = np.full(2, 7, np.uint8)
    nodes = [node("MatMulNBits", ["x", "w", "s", zero, "g"], ["y"], K=16, N=2, bits=bits, block_size=16, **MS)]
    with pytest.raises(ConversionError, match=why):
        transload.legalize(read_model(make_model(nodes, {"x": real(3, 16)}, ["y"], constants)))


@pytest.mark.parametrize("with_zero", [False, True])
@pytest.mark.parametrize(("rows", "k"), [((3,), 64), ((2, 3), 64), ((1, 2, 3), 64), ((2, 3), 80)])
def test_matmul_nbits_is_written_as_onnx(tmp_path: Path, rows: tuple[int, ...], k: int, with_zero: bool) -> None:
    """Weights are turned there for products of more than two dimensions: their blocks' scales were not, and had no size."""
    n, block = 12, 32
    count = -(-k // block)
    constants: dict[str, Any] = {
        "w": G.integers(0, 256, (n, count, block // 2)).astype(np.uint8),
        "s": G.uniform(0.01, 0.1, n * count).astype(np.float32)}
    if with_zero:
        constants["z"] = G.integers(0, 256, n * -(-count // 2)).astype(np.uint8)
    nodes = [node("MatMulNBits", ["x", *constants], ["y"], bits=4, block_size=block, K=k, N=n, **MS)]
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {"x": real(*rows, k)}, ["y"], constants, opset=21).SerializeToString())
    found = transload.convert(file, "onnx", tmp_path / "out").verification
    assert found is not None and found.passed, found
    written = [op.name for op in transload.load(tmp_path / "out" / "model.onnx").walk()]
    assert written.count("onnx.DequantizeLinear") == 1 and "onnx.Transpose" not in written  # small in the file, and turned there


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("perm", [(1, 0), (0, 1)])
@pytest.mark.parametrize("block", [0, 4])
def test_weights_that_are_turned_keep_their_scales_in_onnx(
    tmp_path: Path, perm: tuple[int, ...], axis: int | None, block: int,
) -> None:
    if axis is None and block:
        pytest.skip("blocks lie along a dimension")
    constants = blocks(np.int8, (8, 8), axis or 0, block or 8, True)
    if not block:
        constants |= {name: constants[name].reshape(-1)[: 8 if axis is not None else 1] for name in "sz"}
    if axis is None:
        constants |= {name: constants[name].reshape(()) for name in "sz"}
    more: dict[str, Any] = {} if axis is None else {"axis": axis, **({"block_size": block} if block else {})}
    nodes = [node("DequantizeLinear", ["w", "s", "z"], ["d"], **more), node("Transpose", ["d"], ["t"], perm=list(perm)),
             node("MatMul", ["x", "t"], ["y"])]
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {"x": real(2, 3, 8)}, ["y"], constants, opset=21).SerializeToString())
    found = transload.convert(file, "onnx", tmp_path / "out").verification
    assert found is not None and found.passed, found


def test_blocked_scales_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    constants = blocks(np.int8, (6, 8), 1, 4, False)
    constants["s"] = constants["s"][:, :1]
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model([
        node("DequantizeLinear", ["w", "s"], ["d"], axis=1, block_size=4), node("Mul", ["x", "d"], ["y"])],
        {"x": real(6, 8)}, ["y"], constants, opset=21).SerializeToString())
    with pytest.raises(transload.TransloadError, match="do not fit"):
        transload.legalize(transload.load(file))


def signed(scales: np.ndarray) -> np.ndarray:
    """Scales of which every other is negative, and the third 0."""
    made = scales * np.where(np.arange(scales.size) % 2, -1, 1).reshape(scales.shape).astype(np.float32)
    made.reshape(-1)[2] = 0
    return made


@pytest.mark.parametrize("with_zero", [False, True])
@pytest.mark.parametrize(("axis", "block", "shape"), [(1, 4, (6, 10)), (0, 4, (8, 6)), (1, 0, (5, 6)), (0, 0, ())])
@pytest.mark.parametrize("dtype", LIMITS)
def test_scales_that_are_negative_or_nothing(
    everywhere: Callable[..., Module], dtype: Any, axis: int, block: int, shape: tuple[int, ...], with_zero: bool,
) -> None:
    """As a dequantization multiplies by them: per block, per channel and per tensor; weights in blocks stay integers."""
    low, high = LIMITS[dtype]
    constants = blocks(dtype, shape or (6, 10), axis, block or 1, with_zero)
    if not block:  # per channel: a row of one for each place; or one for all
        constants |= {k: v[0] if shape else v[0, 0] for k, v in constants.items() if k in "sz"}
    constants["s"] = signed(constants["s"]) if shape else -constants["s"]
    constants["w"].reshape(-1)[:3] = np.array([low, high, low]).astype(dtype)
    more: dict[str, Any] = {"block_size": block} if block else {}
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"][: 2 + with_zero], ["d"], axis=axis, **more),
        node("Mul", ["x", "d"], ["y"])]
    hub = everywhere(nodes, {"x": real(*(shape or (6, 10)))}, constants, atol=1e-6)
    assert [min(kind.scales) > 0 for kind in quantized_types(hub)] == [True] * bool(block)  # the others are floats by then


@pytest.mark.parametrize("scale", [-0.02, 0.0])
def test_activations_with_such_scales_are_computed_as_floats(everywhere: Callable[..., Module], scale: float) -> None:
    constants = {"s": np.float32(scale), "z": np.uint8(7)}
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])]
    everywhere(nodes, {"x": real(3, 8)}, constants, atol=1e-6)


def test_integers_that_are_given_have_no_type_of_a_negative_scale(everywhere: Callable[..., Module]) -> None:
    constants = {"s": np.float32(-0.02), "z": np.uint8(7)}
    hub = everywhere([node("DequantizeLinear", ["x", "s", "z"], ["y"])], {"x": np.arange(256, dtype=np.uint8)}, constants, 1e-6)
    assert not quantized_types(hub) and not hub.body_of_main.arguments[0].is_quantized


@pytest.mark.parametrize(("zero", "scales"), [(4099, [-0.04, 0.03]), (-32001, [-0.039, -0.05]), (-1, [-0.0392, 0.0391])])
def test_f16_is_quantized_in_f32(everywhere: Callable[..., Module], zero: int, scales: list[float]) -> None:
    """As onnxruntime does: f16 holds no odd zero point of 16 bits, and rounds quotients to other integers."""
    x = np.random.default_rng(5).standard_normal((2, 64)).astype(np.float16)
    constants = {"s": np.array(scales, np.float16), "z": np.full(2, zero, np.int16)}
    everywhere([node("QuantizeLinear", ["x", "s", "z"], ["y"], axis=0)], {"x": x}, constants, atol=1e-7)


@pytest.mark.parametrize("kind", [np.int8, ml_dtypes.int4, ml_dtypes.uint4])
@pytest.mark.parametrize("block", [0, 4])
def test_numbers_beyond_the_type_are_cut_off(everywhere: Callable[..., Module], kind: Any, block: int) -> None:
    """Of 4 bits in bytes, the bytes' ends were taken where there are several scales and no zero points."""
    more: dict[str, Any] = {"axis": 1, "block_size": block} if block else {"axis": 0}
    constants = {"s": np.full((2, 2) if block else 2, 0.01, np.float32)}
    element = {np.int8: 3, ml_dtypes.uint4: 21, ml_dtypes.int4: 22}[kind]
    everywhere([node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=element, **more),
                node("DequantizeLinear", ["q", "s"], ["y"], **more)],
               {"x": np.linspace(-3, 3, 16, dtype=np.float32).reshape(2, 8)}, constants, atol=1e-6)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("form", ["MatMulNBits", "GatherBlockQuantized"])
def test_the_largest_number_as_the_least_integer(everywhere: Callable[..., Module], form: str, bits: int) -> None:
    """What onnxruntime's quantizer of few bits writes: half of the scales are negative."""
    n, k, block = 6, 64, 16
    stored = G.integers(0, 256, (n, k // block, block * bits // 8)).astype(np.uint8)
    scales = signed(G.uniform(0.01, 0.1, (n, k // block)).astype(np.float32))
    if form == "MatMulNBits":
        nodes, inputs = [node(form, ["x", "w", "s"], ["y"], K=k, N=n, bits=bits, block_size=block, **MS)], {"x": real(2, k)}
    else:
        stored = stored.reshape(n, -1)
        nodes = [
            node(form, ["w", "i", "s"], ["d"], bits=bits, block_size=block, quantize_axis=1, gather_axis=0, **MS),
            node("Mul", ["x", "d"], ["y"])]
        inputs = {"x": real(2, k)}
    constants: dict[str, Any] = {"w": stored, "s": scales, "i": np.array([4, 1])}
    everywhere(nodes, inputs, {name: constants[name] for name in nodes[0].input if name in constants}, atol=1e-6)


def test_weights_that_are_packed_for_a_gpu_are_refused() -> None:
    nodes = [node("MatMulNBits", ["x", "w", "s"], ["y"], K=16, N=2, bits=4, block_size=16, weight_prepacked=1, **MS)]
    model = make_model(nodes, {"x": real(2, 16)}, ["y"], {"w": np.zeros((2, 1, 8), np.uint8), "s": np.ones((2, 1), np.float32)})
    with pytest.raises(ConversionError, match="weights packed for a GPU"):
        transload.legalize(read_model(model))


@pytest.mark.parametrize(("scales", "zeros", "block", "told"), [
    ((5,), (5,), 0, "do not broadcast"), ((6,), (3,), 0, "6 scales and 3 zero points"), ((2, 3), (2, 3), 0, "do not broadcast"),
    ((4, 2), (4, 3), 3, "do not fit"), ((4, 3), (4, 3), 4, "do not fit"), ((4, 2), (4, 2), -3, "do not fit")])
def test_negative_scales_that_do_not_fit_are_refused(
    tmp_path: Path, scales: tuple[int, ...], zeros: tuple[int, ...], block: int, told: str,
) -> None:
    """In words, not by what numpy says."""
    constants = {"w": np.ones((4, 6), np.int8), "s": np.full(scales, -0.1, np.float32), "z": np.zeros(zeros, np.int8)}
    more: dict[str, Any] = {"axis": 1, "block_size": block} if block else {"axis": 1}
    nodes = [node("DequantizeLinear", ["w", "s", "z"], ["d"], **more), node("Mul", ["x", "d"], ["y"])]
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {"x": real(4, 6)}, ["y"], constants, opset=21).SerializeToString())
    with pytest.raises(transload.TransloadError, match=told) as caught:
        transload.legalize(transload.load(file))
    assert "failed: " not in str(caught.value)


def test_a_weight_of_no_dimensions(everywhere: Callable[..., Module]) -> None:
    constants = {"w": np.array(-128, np.int8), "s": np.float32(-0.5)}
    everywhere([node("DequantizeLinear", ["w", "s"], ["d"]), node("Mul", ["x", "d"], ["y"])], {"x": real(3, 4)}, constants, 1e-6)


@pytest.mark.parametrize("scale", [np.nan, np.inf])
@pytest.mark.parametrize("block", [0, 4])
def test_scales_that_are_not_finite_are_refused(tmp_path: Path, scale: float, block: int) -> None:
    scales = np.full((4, 2) if block else (4,), 0.1, np.float32)
    scales.reshape(-1)[1] = scale
    more: dict[str, Any] = {"axis": 1, "block_size": block} if block else {"axis": 0}
    dq = node("DequantizeLinear", ["w", "s"], ["d"], **more)
    model = make_model(
        [dq, node("Mul", ["x", "d"], ["y"])], {"x": real(4, 8)}, ["y"], {"w": np.ones((4, 8), np.int8), "s": scales}, opset=21)
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    with pytest.raises(transload.TransloadError, match="scales must be finite"):
        transload.legalize(transload.load(file))


def test_an_operator_on_integers_with_a_negative_scale_says_what_takes_one(tmp_path: Path) -> None:
    constants = {"s": np.float32(-0.1), "z": np.uint8(3), "b": np.full((8, 4), 9, np.uint8)}
    product = node("QLinearMatMul", ["q", "s", "z", "b", "s", "z", "s", "z"], ["y"])
    model = make_model([product], {"q": np.zeros((2, 8), np.uint8)}, ["y"], constants, opset=21)
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    with pytest.raises(transload.TransloadError, match=r"scales positive[\s\S]*between DequantizeLinear and QuantizeLinear"):
        transload.legalize(transload.load(file))
