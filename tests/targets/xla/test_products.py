"""Products rewritten for the CPU: the bits of integers are those of XLA's own loops, and of the reference engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F64, Module
from transload.text import parse_module
from transload_targets.xla.program import in_stablehlo, written

from tests.targets.xla.xla_programs import dense, program, run, tensor

LIMITS = {"i8": (-128, 127), "ui8": (0, 255), "i16": (-32768, 32767), "ui16": (0, 65535), "ui32": (0, 2**32 - 1)}
DTYPES = {"i8": np.int8, "ui8": np.uint8, "i16": np.int16, "ui16": np.uint16, "ui32": np.uint32}


class Cases:
    """Several products in one program, which is compiled once."""

    def __init__(self) -> None:
        self.arguments: list[str] = []
        self.inputs: list[np.ndarray] = []
        self.lines: list[str] = []
        self.results: list[tuple[str, str]] = []

    def argument(self, array: np.ndarray, element: str) -> str:
        self.arguments.append(tensor(array.shape, element))
        self.inputs.append(array)
        return f"%a{len(self.inputs) - 1}"

    def line(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def wide(self, value: str, shape: tuple[int, ...], element: str, wanted: str) -> str:
        return self.line(f"stablehlo.convert {value} : ({tensor(shape, element)}) -> {tensor(shape, wanted)}")

    def check(self) -> Module:
        module = program(self.arguments, self.lines, self.results)
        plain = run(module, self.inputs, "xla-plain")
        for engine in ("xla-cpu", "reference"):
            for (name, type_), mine, theirs in zip(self.results, run(module, self.inputs, engine), plain, strict=True):
                np.testing.assert_array_equal(mine, theirs, err_msg=f"{engine} {name} {type_}")
        for (name, type_), mine, theirs in zip(self.results, run_as_for_gpus(module, self.inputs), plain, strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=f"as for GPUs {name} {type_}")
        return module


def run_as_for_gpus(module: Module, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The results of the program that XLA is given for GPUs, which has no convolutions of integers but empty ones."""
    made = written(in_stablehlo(module, "gpu"), "main", "gpu")
    there = parse_module(made.text)
    left = [op for op in there.walk() if op.name == "stablehlo.convolution" and op.results[0].element != F64]
    assert all(0 in op.results[0].shape for op in left)
    return run(there, [*inputs, *made.constants], "reference")


def numbers(rng: np.random.Generator, shape: tuple[int, ...], element: str, extreme: bool) -> np.ndarray:
    low, high = LIMITS[element]
    if extreme:
        return rng.choice([low, high], shape).astype(DTYPES[element])
    return rng.integers(low, high, shape, endpoint=True).astype(DTYPES[element])


def add_convolution(
    cases: Cases, rng: np.random.Generator, *, x: tuple[str, tuple[int, ...]], w: tuple[str, tuple[int, ...]],
    sum_type: str = "i32",
    constant: bool = True, extreme: bool = False, dims: str = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", window: str = "",
    out: tuple[int, ...], groups: int = 1, batch_groups: int = 1,
) -> None:
    left = cases.wide(cases.argument(numbers(rng, x[1], x[0], extreme), x[0]), x[1], x[0], sum_type)
    weights = numbers(rng, w[1], w[0], extreme)
    given = cases.line(f"stablehlo.constant {dense(weights, w[0])}") if constant else cases.argument(weights, w[0])
    right = cases.wide(given, w[1], w[0], sum_type)
    made = cases.line(
        f"stablehlo.convolution({left}, {right}) dim_numbers = {dims}, window = {{{window}}} "
        f"{{batch_group_count = {batch_groups} : i64, feature_group_count = {groups} : i64}} : "
        f"({tensor(x[1], sum_type)}, {tensor(w[1], sum_type)}) -> {tensor(out, sum_type)}")
    cases.results.append((made, tensor(out, sum_type)))


def element_of_products(module: Module) -> list[str]:
    """The element types in which the rewritten program has its products."""
    text = written(in_stablehlo(module), "main", "cpu").text
    return re.findall(r'"stablehlo\.(?:convolution|dot_general)".*-> tensor<[0-9x]*x(\w+)>', text)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("constant, extreme", [(True, False), (True, True), (False, True)])
def test_convolutions(constant: bool, extreme: bool) -> None:
    rng, cases = np.random.default_rng(1), Cases()

    def add(**more: Any) -> None:
        add_convolution(cases, rng, constant=constant, extreme=extreme, **more)

    add(x=("i8", (1, 6, 5, 4)), w=("i8", (3, 3, 4, 5)), out=(1, 4, 3, 5))
    add(x=("ui8", (2, 6, 5, 4)), w=("ui8", (3, 2, 4, 5)), out=(2, 3, 3, 5), window="stride = [2, 2], pad = [[1, 1], [0, 1]]")
    add(x=("i8", (1, 4, 6, 5)), w=("i8", (5, 4, 3, 3)), out=(1, 5, 6, 5), dims="[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
        window="pad = [[1, 1], [1, 1]]")
    add(x=("i8", (1, 9, 9, 3)), w=("i8", (3, 3, 3, 2)), out=(1, 5, 5, 2), window="rhs_dilate = [2, 2]")
    add(x=("i8", (1, 4, 4, 3)), w=("i8", (3, 3, 3, 2)), out=(1, 9, 9, 2), window="lhs_dilate = [2, 2], pad = [[2, 2], [2, 2]]")
    add(x=("i8", (1, 5, 5, 3)), w=("i8", (3, 3, 3, 2)), out=(1, 3, 3, 2), window="reverse = [true, true]")
    add(x=("i8", (1, 5, 5, 6)), w=("i8", (3, 3, 2, 9)), out=(1, 3, 3, 9), groups=3)
    add(x=("i8", (1, 5, 5, 6)), w=("i8", (3, 3, 1, 6)), out=(1, 5, 5, 6), groups=6, window="pad = [[1, 1], [1, 1]]")
    add(x=("i8", (1, 6, 5, 4)), w=("i8", (3, 2, 1, 8)), out=(1, 2, 4, 8), groups=4,
        window="stride = [2, 1], reverse = [false, true]")
    add(x=("i8", (1, 7, 7, 3)), w=("i8", (3, 3, 1, 3)), out=(1, 3, 3, 3), groups=3, window="rhs_dilate = [2, 2]")
    add(x=("i8", (1, 5, 5, 3)), w=("i8", (3, 3, 1, 3)), out=(1, 2, 2, 3), groups=3, window="pad = [[-1, 0], [0, -1]]")
    add(x=("i8", (4, 5, 5, 3)), w=("i8", (3, 3, 3, 6)), out=(2, 3, 3, 6), batch_groups=2)
    add(x=("i8", (1, 9, 4)), w=("i8", (3, 4, 5)), out=(1, 7, 5), dims="[b, 0, f]x[0, i, o]->[b, 0, f]")
    add(x=("i8", (1, 4, 4, 4, 3)), w=("i8", (2, 2, 2, 3, 4)), out=(1, 3, 3, 3, 4),
        dims="[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]")
    add(x=("i16", (1, 5, 5, 16)), w=("i8", (3, 3, 16, 4)), out=(1, 3, 3, 4), sum_type="i64")
    add(x=("i16", (1, 5, 5, 4)), w=("i8", (3, 3, 1, 4)), out=(1, 3, 3, 4), sum_type="i64", groups=4)
    add(x=("i8", (1, 0, 5, 4)), w=("i8", (1, 3, 4, 5)), out=(1, 0, 3, 5))
    cases.check()


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("element, weights, sum_type", [
    ("ui16", (3000, 3), "i32"), ("ui16", (2000, 0), "i64"), ("i16", (3000, -3000), "i32"), ("ui32", (1, 0), "i64")])
def test_convolutions_by_bytes(element: str, weights: tuple[int, int], sum_type: str, extreme: bool) -> None:
    """What is too wide for floats is cut into its high and low bytes: the highest bit of unsigned numbers is no sign."""
    cases, (x, w, y) = Cases(), ((1, 4, 4, 1), (1, 1, 1, 2), (1, 4, 4, 2))
    left = cases.argument(numbers(np.random.default_rng(7), x, element, extreme), element)
    right = cases.line(f"stablehlo.constant {dense(np.array(weights).reshape(w), element)}")
    made = cases.line(
        f"stablehlo.convolution({left}, {right}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{}} "
        f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({tensor(x, element)}, {tensor(w, element)}) "
        f"-> {tensor(y, sum_type)}")
    cases.results.append((made, tensor(y, sum_type)))
    assert element_of_products(cases.check()) == ["f32", "f32"]


@pytest.mark.parametrize("constant", [True, False])
def test_dots(constant: bool) -> None:
    rng, cases = np.random.default_rng(2), Cases()
    for depth, element, sum_type in ((7, "i8", "i32"), (1500, "i8", "i32"), (90, "i16", "i64"), (3000, "ui8", "i32"),
                                     (3, "i16", "i32"), (5, "ui16", "i32")):  # sums of these pass 32 bits, and wrap round
        for extreme in (False, True):
            a, b = (numbers(rng, shape, element, extreme) for shape in ((2, 3, depth), (2, depth, 4)))
            left = cases.wide(cases.argument(a, element), a.shape, element, sum_type)
            given = cases.line(f"stablehlo.constant {dense(b, element)}") if constant else cases.argument(b, element)
            right = cases.wide(given, b.shape, element, sum_type)
            out = tensor((2, 3, 4), sum_type)
            made = cases.line(
                f"stablehlo.dot_general {left}, {right}, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
                f"({tensor(a.shape, sum_type)}, {tensor(b.shape, sum_type)}) -> {out}")
            cases.results.append((made, out))
    cases.check()


def one_convolution(depth: int, weight: int, **more: Any) -> Module:
    """A 1x1 convolution of i8 with `depth` channels whose weights are all one number."""
    weights = np.full((1, 1, depth, 2), weight, np.int8)
    x, w, out = (1, 2, 2, depth), weights.shape, (1, 2, 2, 2)
    return program([tensor(x, "i8")], [
        f"%x = stablehlo.convert %a0 : ({tensor(x, 'i8')}) -> {tensor(x, 'i32')}",
        f"%c = stablehlo.constant {dense(weights, 'i8')}",
        f"%w = stablehlo.convert %c : ({tensor(w, 'i8')}) -> {tensor(w, 'i32')}",
        "%y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} "
        f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({tensor(x, 'i32')}, {tensor(w, 'i32')}) -> "
        f"{tensor(out, 'i32')}",
    ], [("%y", tensor(out, "i32"))])


@pytest.mark.parametrize("depth, weight, parts", [
    (1024, 127, 1),  # 1024 * 127 * 128 is below 2^24
    (1040, 127, 2),  # and this is above
    (4000, -128, 4),
    (8000, 1, 1),  # what counts is the weights there are
])
def test_sums_stay_where_floats_are_exact(depth: int, weight: int, parts: int) -> None:
    module = one_convolution(depth, weight)
    assert element_of_products(module) == ["f32"] * parts
    for value in (-128, 127):
        x = np.full((1, 2, 2, depth), value, np.int8)
        assert (run(module, [x], "xla-cpu")[0] == depth * weight * value).all()


def test_sums_that_no_float_holds_stay_integers() -> None:
    assert element_of_products(one_convolution(16384, 127)) == ["i32"]


def test_ranges_are_seen_through_the_zero_point() -> None:
    """`x - zero_point` of i8 is between -255 and 255: that is what the bound is made of."""
    def with_zero_point(depth: int) -> Module:
        module_lines = [
            f"%x = stablehlo.convert %a0 : ({tensor((1, depth), 'i8')}) -> {tensor((1, depth), 'i32')}",
            f"%z = stablehlo.constant dense<-128> : {tensor((1, depth), 'i32')}",
            f"%d = stablehlo.subtract %x, %z : {tensor((1, depth), 'i32')}",
            f"%w = stablehlo.constant dense<127> : {tensor((depth, 1), 'i32')}",
            "%y = stablehlo.dot_general %d, %w, contracting_dims = [1] x [0] : "
            f"({tensor((1, depth), 'i32')}, {tensor((depth, 1), 'i32')}) -> tensor<1x1xi32>",
        ]
        return program([tensor((1, depth), "i8")], module_lines, [("%y", "tensor<1x1xi32>")])

    assert element_of_products(with_zero_point(518)) == ["f32"]
    assert element_of_products(with_zero_point(519)) == ["f64"]
    full = np.full((1, 519), 127, np.int8)
    assert run(with_zero_point(519), [full], "xla-cpu")[0].item() == 519 * 127 * 255


def floats(make: Callable[[], tuple[Module, list[np.ndarray]]]) -> None:
    module, inputs = make()
    plain = run(module, inputs, "xla-plain")
    for mine, theirs in zip(run(module, inputs, "xla-cpu"), plain, strict=True):
        np.testing.assert_allclose(mine.astype(np.float64), theirs.astype(np.float64), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("element, dtype", [("f32", np.float32), ("f64", np.float64)])
def test_depthwise_convolutions_of_floats(element: str, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    lines, arguments, inputs, results = [], [], [], []
    for index, (x, w, out, dims, window) in enumerate([
        ((1, 8, 7, 5), (3, 3, 1, 5), (1, 8, 7, 5), "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]"),
        ((2, 5, 8, 7), (10, 1, 3, 2), (2, 10, 3, 3), "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "stride = [2, 2]"),
        ((2, 5, 9), (4, 1, 5), (2, 6, 5), "[b, f, 0]x[0, i, o]->[b, 0, f]", ""),
    ]):
        arguments += [tensor(x, element), tensor(w, element)]
        inputs += [rng.standard_normal(x).astype(dtype), rng.standard_normal(w).astype(dtype)]
        lines.append(
            f"%y{index} = stablehlo.convolution(%a{2 * index}, %a{2 * index + 1}) dim_numbers = {dims}, window = {{{window}}} "
            f"{{batch_group_count = 1 : i64, feature_group_count = 5 : i64}} : ({tensor(x, element)}, {tensor(w, element)}) -> "
            f"{tensor(out, element)}")
        results.append((f"%y{index}", tensor(out, element)))
    module = program(arguments, lines, results)
    floats(lambda: (module, inputs))
    assert element_of_products(module) == []


def test_chains_that_double_without_end_are_compiled_without_fusion() -> None:
    type_ = tensor((1, 20), "i32")
    lines = ["%v0 = stablehlo.add %a0, %a0 : " + type_]
    for i in range(45):
        lines.append(f"%w{i} = stablehlo.reverse %v{i}, dims = [1] : {type_}")
        lines.append(f"%v{i + 1} = stablehlo.add %v{i}, %w{i} : {type_}")
    module = program([type_], lines, [("%v45", type_)])
    assert written(in_stablehlo(module), "main", "cpu").options == {"xla_disable_hlo_passes": "fusion"}
    x = np.arange(20, dtype=np.int32).reshape(1, 20)
    np.testing.assert_array_equal(run(module, [x], "xla-cpu")[0], run(module, [x], "reference")[0])
    assert written(in_stablehlo(one_convolution(4, 1)), "main", "cpu").options == {}


@pytest.mark.parametrize("platform", ["gpu", "tpu"])
def test_a_product_that_says_how_it_is_computed_asks_for_no_precision(platform: str) -> None:
    """XLA of jaxlib 0.11 refuses both."""
    algorithm = (
        "algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, "
        "rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>")
    types = "(tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>"
    module = transload.load(format="stablehlo", text=f"""
        func.func @main(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {{
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], {algorithm} : {types}
          %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : {types}
          return %0, %1 : tensor<3x5xf32>, tensor<3x5xf32>
        }}""")
    there = parse_module(written(in_stablehlo(module, platform), "main", platform).text)
    asked = ["HIGHEST" in str(op.attributes.get("precision_config")) for op in there.walk() if op.name == "stablehlo.dot_general"]
    assert asked == [False, True]
