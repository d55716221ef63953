"""Networks written in Python: every op as a function, numpy's operators, regions, quantized tensors, ops of plugins, targets."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload import DialectSpec, KernelTable, hookimpl
from transload.context import Context
from transload.errors import ShapeError, TransloadError, UsageError
from transload.ir import F32, TensorType
from transload.ir.declare import FLOAT, FLOAT_TENSOR, Dialect, attribute, operand, result
from transload.ir.registry import dialect
from transload.plugin_host import Host, host
from transload_hub.network import Network, call_of, constant, network, ops, quantized, scope

from .networks import mobilenet, transformer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 4)).astype(np.float32)


def written(function: Any, *arrays: np.ndarray) -> np.ndarray:
    """What a function of tensors computes of arrays."""
    types = {f"x{i}": (array.shape, array.dtype) for i, array in enumerate(arrays)}
    names = ", ".join(types)
    made: Network = network(eval(f"lambda {names}: function({names})", {"function": function}), **types)
    found: np.ndarray = made(*arrays)
    return found


@pytest.mark.parametrize("function", [
    lambda x: x + 1, lambda x: 1 - x, lambda x: 2 * x / 3, lambda x: x // 0.5, lambda x: x % 0.7, lambda x: abs(x) ** 2,
    lambda x: -x, lambda x: x[0], lambda x: x[:, 1:, ::-2], lambda x: x[..., None, -1], lambda x: x[1, ...,
                                                                                                    :2], lambda x: x[None],
    lambda x: x[:, [2, 0]], lambda x: x.sum(), lambda x: x.mean(axis=1), lambda x: x.max(axis=(0, 2), keepdims=True),
    lambda x: x.min(axis=-1), lambda x: x.reshape(4, -1), lambda x: x.transpose(), lambda x: x.T, lambda x: x.transpose(1, 0, 2),
    lambda x: x > 0, lambda x: (x > 0) & (x < 1), lambda x: ~(x >= 0) | (x == x), lambda x: x @ np.ones((4, 2), np.float32),
    lambda x: np.ones((2, 3), np.float32) @ x[0],
    lambda x: [1.0, 2.0, 3.0, 4.0] * x if not isinstance(x, np.ndarray) else np.array([1, 2, 3, 4], np.float32) * x,
    lambda x: np.arange(4.0, dtype=np.float32) - x])
def test_operators_are_numpys(function: Any) -> None:
    np.testing.assert_allclose(written(function, X), function(X), rtol=1e-6, atol=1e-6)


def test_integers_stay_integers() -> None:
    numbers = np.arange(-4, 4, dtype=np.int32)
    made = written(lambda x: (x * 3 + 1) ^ 5, numbers)
    assert made.dtype == np.int32
    np.testing.assert_array_equal(made, (numbers * 3 + 1) ^ 5)


def test_every_op_of_the_hub_is_a_function() -> None:
    declared = dialect("top").ops  # type: ignore[union-attr]
    assert len(declared) > 100 and set(dir(ops)) == {name.removeprefix("top.") for name in declared}
    for name, declaration in declared.items():
        function = getattr(ops, name.removeprefix("top."))
        assert declaration.doc in function.__doc__
        parameters = call_of(declaration).parameters
        wanted = {member.name for member in (*declaration.operands, *declaration.regions)} | set(declaration.attributes)
        assert wanted <= set(parameters)


def test_the_reference_page_of_every_op_shows_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "docs"))
    pages = import_module("op_pages")
    for name in dialect("top").ops:  # type: ignore[union-attr]
        text = pages.op_page("top", pages.describe(dialect("top").ops[name]))  # type: ignore[union-attr]
        assert f"```python\nops.{name.removeprefix('top.')}(" in text


def test_shapes_are_known_as_one_writes_and_errors_are_in_the_line() -> None:
    seen = []

    def net(x: Any) -> Any:
        y = ops.Conv(x, np.zeros((4, 3, 3, 3)), kernel_shape=(3, 3))
        seen.append((y.shape, str(y.element)))
        return y

    network(net, x=(1, 3, 8, 8))
    assert seen == [((1, 4, 6, 6), "f32")]
    with pytest.raises(ShapeError, match="do not fit"):
        network(net, x=(1, 2, 8, 8))


@pytest.mark.parametrize(("function", "why"), [
    (lambda x: ops.Conv(x), "filter"), (lambda x: ops.Softmax(x, axis=0, sharp=1), "sharp"), (lambda x: None, "no tensor"),
    (lambda x: x["a"], "no subscript"), (lambda x: quantized("f32"), "stored as integers"),
    (lambda x: quantized("i8", [0.1, 0.2]), "axis"), (lambda x: x.astype("f33"), "no element type")])
def test_misuse_is_told(function: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        network(function, x=(1, 3, 8, 8))


def test_other_mistakes() -> None:
    with pytest.raises(AttributeError, match="did you mean Conv"):
        _ = ops.Convv
    with pytest.raises(UsageError, match="while a network is written"):
        ops.Relu(X)
    with pytest.raises(UsageError, match="has the parameters"):
        network(lambda x, y: x, x=(1,))
    with pytest.raises(TypeError, match=r"ops\.Where"):
        network(lambda x: x if x > 0 else -x, x=(1,))
    with pytest.raises(IndexError, match="subscript 9"):
        network(lambda x: x[9], x=(1,))


def test_names_and_scopes() -> None:
    @network(x=(1, 8))
    def net(x: Any) -> dict[str, Any]:
        """Two layers."""
        with scope("first"):
            y = ops.Relu(x @ constant(np.ones((8, 4)), name="w"), name="hidden")
        return {"scaled": y * 2, "plain": ops.Relu(y, name="first/hidden")}

    assert net.__doc__ == "Two layers." and list(net.outputs) == ["scaled", "plain"]
    names = [op.origin for op in net.module.ops() if op.origin]
    assert names == ["first/w", "first/matmul_1", "first/hidden", "mul_1", "first/hidden_2"]
    assert "top.MatMul" in str(net) and "network net" in repr(net)


def test_branches_and_loops() -> None:
    def net(x: Any) -> Any:
        y = ops.If(x.sum() > 0, then_region=lambda: x * 2, else_region=lambda: -x)
        total, _ = ops.While(y, np.int64(0), cond=lambda s, i: i < 3, body=lambda s, i: (s + 1, i + 1))
        return total

    np.testing.assert_allclose(written(net, np.ones(4, np.float32)), np.full(4, 5.0))
    np.testing.assert_allclose(written(net, -np.ones(4, np.float32)), np.full(4, 4.0))


def test_quantized_tensors() -> None:
    weights = RNG.normal(size=(8, 4))

    @network(x=((1, 8), quantized("i8", 0.02, 3)))
    def net(x: Any) -> Any:
        w = constant(weights, quantized("i8", np.abs(weights).max(0) / 127, axis=1))
        return ops.MatMul(x, w, element=quantized("i8", 0.05), do_relu=True)

    stored = RNG.integers(-128, 128, (1, 8)).astype(np.int8)
    real = np.maximum(((stored.astype(np.float64) - 3) * 0.02) @ weights, 0)
    assert np.abs(net(stored) * 0.05 - real).max() < 0.05
    assert net.lower("tosa").outputs


def test_a_network_is_written_into_another() -> None:
    half = network(lambda x: x * 0.5, x=(4,))
    both = network(lambda x: half(x) + half(x), x=(4,))
    np.testing.assert_allclose(both(np.ones(4, np.float32)), np.ones(4))


def test_an_op_of_a_plugin_is_a_function_at_once() -> None:
    toy, kernels = Dialect("netoy", "Ops of a test."), KernelTable()

    @toy.op("Gain")
    class Gain:
        """`factor * x`."""

        input = operand("the tensor", FLOAT_TENSOR)
        output = result("of the same type", FLOAT_TENSOR)
        factor = attribute(FLOAT, "what x is multiplied by", default=1.0)

        def infer(op) -> Any:
            return op.input.type

    @kernels("netoy.Gain")
    def gain(op: Any, x: np.ndarray) -> np.ndarray:
        return (x * op.factor).astype(x.dtype)

    hooks = {"register_dialects": staticmethod(hookimpl(
        lambda register: register(DialectSpec("netoy", toy, kernels=kernels)), specname="register_dialects"))}
    own = Host()
    own.register(type("toy", (), hooks)(), "netoy")
    with Context(own).bind():
        np.testing.assert_allclose(written(lambda x: ops.netoy.Gain(x, factor=3.0), X), 3 * X)


# --- chapter 16 of TPU-MLIR's manual, in this style


def test_the_manuals_convolution(tmp_path: Path) -> None:
    """16.3, in the manual's sizes; its pad=[0, 0, 1, 1] are up, down, left, right, and `pads` are all begins, then all ends."""
    weights, bias = RNG.random((64, 1, 7, 7), np.float32), RNG.random(64, np.float32)

    @network(x=(1, 3, 173, 141))
    def model_def(x: Any) -> Any:
        return ops.Conv(x[:, :1], weights, bias, kernel_shape=(7, 7), strides=(2, 2), pads=(0, 1, 0, 1))

    (h, w), (up, down, left, right) = (173, 141), (0, 0, 1, 1)
    wanted = (h + up + down - 7) // 2 + 1, (w + left + right - 7) // 2 + 1  # the manual's shape inference
    assert model_def.outputs["output"].shape == (1, 64, *wanted)
    artifact = model_def.convert("tosa", tmp_path)
    assert artifact.files


def test_the_manuals_custom_operator(tmp_path: Path) -> None:
    @network(x=(1, 3, 14, 14))
    def test_net(x: Any) -> Any:
        return ops.Custom(x, name="swapchannel", options={"order": [2, 1, 0]}, types=[x.shape])

    op = next(op for op in test_net.module.ops() if op.name == "top.Custom")
    assert op.attributes["options"] == {"order": (2, 1, 0)}
    assert test_net.outputs["output"] == TensorType((1, 3, 14, 14), F32)
    assert transload.save(test_net.module, tmp_path / "net.mlir").exists()
    with pytest.raises(TransloadError, match="cannot be converted"):
        test_net.convert("tosa", tmp_path / "out")


# --- every target

TARGETS = (
    "tosa", "stablehlo", "tflite", "onnx", "xla-cpu", "iree-llvm-cpu", "tflm", "openvino", "coreml", "sophgo", "tp-large",
    "tp-small")
APART = ("ethos", "xla-gpu", "xla-tpu", "iree-cuda", "iree-rocm", "iree-vulkan", "tp-tiny")


def test_these_are_all_targets() -> None:
    """But for chips of integers, which the next test is about, and devices that are not here."""
    assert {name for name in host().targets if not name.startswith(APART)} == set(TARGETS)


REFUSED = {(transformer, "tflm"): "GELU"}
"""What a target has no kernels for, and what it says of that."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("build", [mobilenet, transformer])
@pytest.mark.parametrize("target", TARGETS)
def test_to_every_target(tmp_path: Path, build: Any, target: str) -> None:
    why = host().targets[target].available()
    if why:
        pytest.skip(why)
    net = build()
    if (build, target) in REFUSED:
        with pytest.raises(TransloadError) as caught:
            net.convert(target, tmp_path)
        assert REFUSED[build, target] in str(caught.value)
        return
    artifact = net.convert(target, tmp_path)
    assert artifact.files and (artifact.verification is None or artifact.verified or artifact.verification.status != "failed")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("build", "chip"), [
    (mobilenet, "ethos-u55-128"), (mobilenet, "ethos-u65-256"), (mobilenet, "ethos-u85-256"), (transformer, "ethos-u85-256"),
    (mobilenet, "tp-tiny"), (mobilenet, "tp-small")])
def test_to_a_chip_of_integers(tmp_path: Path, build: Any, chip: str) -> None:
    net = build()
    (name, type_), = net.inputs.items()
    samples = [{name: RNG.normal(size=type_.shape).astype(np.float32)} for _ in range(4)]
    options = {"float_ops": "host"} if chip.startswith("ethos") else {}
    artifact = net.convert(chip, tmp_path, quantize="int8", data=samples, options=options)
    assert artifact.files
