"""Functions of `top` ops, lowered to TOSA: our kernels of both, and Arm's reference model, must compute the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import BF16, Module, TensorType, Type, Value, dtype_of, element_type_of, new_module, set_results
from transload.ir.build import Builder

HALVES = (np.dtype(np.float16), dtype_of(BF16))


def build(types: Sequence[Type], make: Callable[..., Any]) -> Module:
    """A module whose function returns what `make(builder, *arguments)` gives."""
    module = new_module()
    module.add_function("main", types, [f"x{i}" for i in range(len(types))])
    block = module.body_of_main
    made = make(Builder(block, None, "y"), *block.arguments)
    values = [made] if isinstance(made, Value) else list(made)
    set_results(module.main, values, [f"y{i}" for i in range(len(values))])
    return module


def run_official(module: Module, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of Arm's reference model, which also checks what specification and level 8K require."""
    arm = pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")
    from transload_plugins.tosa.flatbuffer.writer import serialize

    block = module.body_of_main
    given = []
    for argument, array in zip(block.arguments, arrays, strict=True):
        wanted = dtype_of(argument.element)
        carrier = np.dtype(np.uint16) if argument.element == BF16 else wanted  # numpy's buffers know no bfloat16
        given.append(np.ascontiguousarray(array.view(carrier) if array.itemsize == carrier.itemsize else array.astype(wanted)))
    outputs, status = arm.run(bytes(serialize(module)), given, tosa_level="EIGHTK")
    assert str(status).endswith("TOSA_VALID"), status
    made = []
    for output, value in zip(outputs, block.terminator.operands, strict=True):
        array, wanted = np.asarray(output), dtype_of(value.element)
        made.append((array.view(wanted) if array.itemsize == wanted.itemsize else array.astype(wanted)).reshape(value.shape))
    return made


def assert_same(mine: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    """Floats within a relative tolerance, with half of it of the greatest where sums cancel; all else equal."""
    assert mine.shape == wanted.shape
    if wanted.dtype in HALVES:
        mine, wanted = mine.astype(np.float32), wanted.astype(np.float32)
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(mine, wanted)
        return
    finite = np.abs(wanted[np.isfinite(wanted)])
    np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=0.5 * tolerance * finite.max(initial=0))


def check(module: Module, arrays: Sequence[np.ndarray], tolerance: float = 1e-5, official: bool = True) -> Module:
    """The lowered module, which computes what `module` does."""
    given = {f"x{i}": array for i, array in enumerate(arrays)}
    wanted = list(run(module, given).values())
    lowered = lower(module)
    mine = list(run(lowered, given).values())
    judged = [mine]
    borders = (*lowered.body_of_main.arguments, *lowered.body_of_main.terminator.operands)
    if official and all(value.rank <= 6 for value in borders):
        judged.append(run_official(lowered, arrays))
    for results in judged:
        for result, expected in zip(results, wanted, strict=True):
            assert_same(result, expected, tolerance)
    return lowered


@pytest.fixture
def same() -> Callable[..., Module]:
    """`same(make, *arrays, types=None, tolerance=1e-5)`: what `make(builder, *arguments)` builds is lowered rightly."""

    def compare(make: Callable[..., Any], *arrays: np.ndarray, types: Sequence[Type] | None = None, **how: Any) -> Module:
        types = types or [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays]
        return check(build(types, make), arrays, **how)

    return compare


@pytest.fixture
def same_op() -> Callable[..., Module]:
    """`same_op(name, *arrays, constants=(), element=None, **attributes)`: one op; operands in `constants` are constant.

    `element` is that of the operands where the arrays do not say it (a quantized one: of all but index operands),
    `result` that of the result.
    """

    def compare(
        name: str, *arrays: np.ndarray, constants: Collection[int] = (), element: Any = None, result: Any = None,
        tolerance: float = 1e-5, official: bool = True, **attributes: Any,
    ) -> Module:
        elements = [
            element if element is not None and dtype_of(element) == array.dtype else element_type_of(array.dtype)
            for array in arrays]
        given = [i for i in range(len(arrays)) if i not in constants]

        def make(builder: Builder, *arguments: Value) -> Any:
            values = iter(arguments)
            operands = [
                builder.constant(array, elements[i]) if i in constants else next(values) for i, array in enumerate(arrays)]
            return builder.emit(f"top.{name}", *operands, element=result, **attributes)

        module = build([TensorType(arrays[i].shape, elements[i]) for i in given], make)
        return check(module, [arrays[i] for i in given], tolerance, official)

    return compare


@pytest.fixture
def judge_op() -> Callable[..., None]:
    """`judge_op(operator, inputs, output, options, make, ...)`: what LiteRT's kernel gives, the lowered op of `make` gives.

    `inputs` are (array, (scale, zero point) or None, whether it is constant); `types` those of the function's arguments.
    """

    def compare(
        operator: str, inputs: Sequence[tuple[Any, ...]], output: tuple[Any, ...], options: dict[str, Any],
        make: Callable[..., Any], types: Sequence[Type], steps: int = 0, reference: bool = True, version: int = 1,
    ) -> None:
        litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
        from transload_converters.tflite.writer import ModelWriter

        def quantization(pair: tuple[float, int] | None) -> Any:
            return None if pair is None else ([pair[0]], [pair[1]])

        model = ModelWriter()
        numbers = [
            model.add_tensor(f"in{i}", array.shape, str(array.dtype), array if constant else None, quantization(pair))
            for i, (array, pair, constant) in enumerate(inputs)]
        shape, dtype, pair = output
        result = model.add_tensor("out", shape, dtype, None, quantization(pair))
        model.add_operator(operator, numbers, [result], options, version=version)
        model.inputs = [number for number, (_, _, constant) in zip(numbers, inputs, strict=True) if not constant]
        model.outputs = [result]
        kernels = litert.OpResolverType.BUILTIN_REF if reference else litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        interpreter = litert.Interpreter(model_content=bytes(model.finish()), experimental_op_resolver_type=kernels)
        interpreter.allocate_tensors()
        arrays = [array for array, _, constant in inputs if not constant]
        for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        theirs = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        lowered = lower(build(types, make))
        mine = run(lowered, {f"x{i}": array for i, array in enumerate(arrays)})["y0"]
        difference = np.abs(mine.view(theirs.dtype).astype(np.int64) - theirs.astype(np.int64))
        assert difference.max(initial=0) <= steps
        official = run_official(lowered, arrays)[0]
        np.testing.assert_array_equal(official.view(mine.dtype), mine)

    return compare


@pytest.fixture
def normal() -> Callable[..., np.ndarray]:
    """`normal(*shape)`: the same normal float32 numbers in every run, other ones for each call."""
    generator = np.random.default_rng(0)
    return lambda *shape: generator.normal(size=shape).astype(np.float32)


@pytest.fixture
def sample() -> Callable[..., np.ndarray]:
    """`sample(dtype, *shape)`: numbers of a dtype; small ones of integers, both of bool."""
    generator = np.random.default_rng(1)

    def make(dtype: Any, *shape: int) -> np.ndarray:
        numbers = generator.normal(size=shape) * 20
        return numbers > 0 if np.dtype(dtype) == bool else numbers.astype(dtype)

    return make
