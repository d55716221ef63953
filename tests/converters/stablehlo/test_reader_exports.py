# ruff: noqa: E501 - lines of programs
"""JAX exports, symbolic shapes, what other dialects bring along, globals, and large text."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir.constants import LazyData

DATA = Path(__file__).parent / "data"
pytest.importorskip("jaxlib", reason="its bindings read pretty text")


def export(name: str, **options: Any) -> Any:
    return transload.load(DATA / f"{name}.jaxexport", format="stablehlo", **options)


def first(outputs: dict[str, np.ndarray]) -> np.ndarray:
    return next(iter(outputs.values()))


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


# --- exports (made by jax.export of the functions that the tests repeat)


def test_the_program_of_an_export_is_read_and_its_gradient_is_not() -> None:
    module, x = export("vjp"), numbers(2, 30)
    weights = np.arange(300, dtype=np.float32).reshape(30, 10) / 300
    assert transload.ir.input_names(module.main) == ["x"]
    np.testing.assert_allclose(first(transload.run(module, {"x": x})), np.tanh(x @ weights), rtol=2e-5)


def test_exports_are_found_by_their_content() -> None:
    assert transload.load(DATA / "vjp.jaxexport").functions


def test_the_code_of_the_cpu_is_taken() -> None:
    module, x = export("platforms"), numbers(2, 3)
    assert transload.ir.input_names(module.main) == ["x"]
    assert not any(op.name == "stablehlo.case" for op in module.walk())
    np.testing.assert_array_equal(first(transload.run(module, {"x": x})), x + 1)


def test_unused_arguments_composites_and_trees() -> None:
    module, x, y = export("tree"), numbers(2, 3), numbers(2, 3) * 2
    a, c, values, places = transload.run(module, {"x": x, "y['b']": y}).values()
    np.testing.assert_array_equal(a, x + y)
    np.testing.assert_allclose(c, np.vectorize(math.erf)(x), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(values, -np.sort(-x, axis=1)[:, :2])
    np.testing.assert_array_equal(places, np.argsort(-x, axis=1)[:, :2])


@pytest.mark.parametrize("fixed", [False, True])
def test_symbolic_shapes(fixed: bool) -> None:
    x = numbers(3, 4)
    module = export("symbolic", **({"inputs": {"arg0": (3, 4)}} if fixed else {}))
    np.testing.assert_allclose(first(transload.run(module, {"arg0": x})), 2 * x.sum() + 3 + (x + 1).sum(), rtol=1e-5)
    if fixed:
        assert not any(op.name.startswith(("stablehlo.dynamic", "stablehlo.custom", "stablehlo.get_dim", "func.call")) for op in module.walk())
        np.testing.assert_allclose(first(transload.run(module, {"arg0": x}, engine="xla")), 2 * x.sum() + 3 + (x + 1).sum(), rtol=1e-5)


def test_shapes_that_the_export_forbids_are_refused_with_its_words() -> None:
    with pytest.raises(transload.TransloadError, match="remainder 1"):
        export("symbolic", inputs={"arg0": (3, 5)})
    with pytest.raises(transload.TransloadError, match="remainder 1"):
        transload.run(export("symbolic"), {"arg0": numbers(3, 5)})


def test_damaged_exports_are_refused() -> None:
    data = (DATA / "tree.jaxexport").read_bytes()
    rng = np.random.default_rng(0)
    for cut in range(1, 1900, 37):  # the program ends at about 2000
        with pytest.raises(transload.TransloadError):
            transload.load(text=data[:cut], format="stablehlo")
    for _ in range(300):
        mutated = bytearray(data)
        for _ in range(3):
            mutated[int(rng.integers(0, 300))] = int(rng.integers(256))
        try:
            assert transload.load(text=bytes(mutated), format="stablehlo").functions
        except transload.TransloadError:
            continue


# --- dynamic operations whose sizes become known

DYNAMIC = {
    "reshape": ("%s = stablehlo.constant dense<[2, 6]> : tensor<2xi32>\n%0 = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>",
                lambda x: x.reshape(2, 6)),
    "broadcast": ("%s = stablehlo.constant dense<[2, 3, 4]> : tensor<3xi64>\n%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1, 2] : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>",
                  lambda x: np.broadcast_to(x, (2, 3, 4))),
    "iota": ("%d = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>\n%s = stablehlo.reshape %d : (tensor<i32>) -> tensor<1xi32>\n%0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>",
             lambda x: np.arange(3, dtype=np.float32)),
    "pad": ("%z = stablehlo.constant dense<9.0> : tensor<f32>\n%a = stablehlo.constant dense<[1, 0]> : tensor<2xi32>\n%b = stablehlo.constant dense<[0, 2]> : tensor<2xi32>\n%c = stablehlo.constant dense<0> : tensor<2xi32>\n%0 = stablehlo.dynamic_pad %x, %z, %a, %b, %c : (tensor<?x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>",
            lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=9)),
    "slice": ("%a = stablehlo.constant dense<[1, 0]> : tensor<2xi32>\n%b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>\n%c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n%0 = stablehlo.real_dynamic_slice %x, %a, %b, %c : (tensor<?x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>",
              lambda x: x[1:3, ::2]),
    "gather": ("%i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>\n%q = stablehlo.constant dense<[1, 4]> : tensor<2xi32>\n%0 = \"stablehlo.dynamic_gather\"(%x, %i, %q) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<?x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x?xf32>",
               lambda x: x[[2, 0]]),
    "if": ("%d = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>\n%t = stablehlo.constant dense<3> : tensor<i32>\n%p = stablehlo.compare EQ, %d, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>\n%0 = \"stablehlo.if\"(%p) ({\n%n = stablehlo.negate %x : tensor<?x4xf32>\nstablehlo.return %n : tensor<?x4xf32>\n}, {\nstablehlo.return %x : tensor<?x4xf32>\n}) : (tensor<i1>) -> tensor<?x4xf32>",
           lambda x: -x),
    "while": ("%c = stablehlo.constant dense<0> : tensor<i32>\n%r:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i32>, tensor<?x4xf32>\ncond {\n%n = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>\n%p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\nstablehlo.return %p : tensor<i1>\n} do {\n%o = stablehlo.constant dense<1> : tensor<i32>\n%j = stablehlo.add %i, %o : tensor<i32>\n%z = stablehlo.add %y, %y : tensor<?x4xf32>\nstablehlo.return %j, %z : tensor<i32>, tensor<?x4xf32>\n}\n%0 = stablehlo.negate %r#1 : tensor<?x4xf32>",
              lambda x: -8 * x),
    "chlo": ("%y = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n%0 = chlo.broadcast_multiply %x, %y : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>",
             lambda x: x * np.arange(1, 5, dtype=np.float32)),
    "torch": ("%i = arith.constant 0 : index\n%d = tensor.dim %x, %i : tensor<?x4xf32>\n%e = arith.index_cast %d : index to i64\n%k = arith.constant 4 : i64\n%s = tensor.from_elements %k, %e : tensor<2xi64>\n%0 = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<4x?xf32>",
              lambda x: x.reshape(4, 3)),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_sizes_that_become_known_make_operations_static(name: str) -> None:
    body, wanted = DYNAMIC[name]
    last = body.rstrip().splitlines()[-1]
    result = last.split("->")[-1].strip() if "->" in last else last.split(" : ")[-1].strip()
    text = f"func.func @main(%x: tensor<?x4xf32>) -> {result} {{\n{body}\nreturn %0 : {result}\n}}"
    x = numbers(3, 4)
    dynamic = transload.load(text=text, format="stablehlo")
    fixed = transload.load(text=text, format="stablehlo", inputs={"arg0": (3, 4)})
    assert all(value.type.is_static for op in fixed.walk() for value in op.results)
    assert not any(op.dialect in ("arith", "tensor", "shape", "chlo") for op in dynamic.walk())
    for module in (dynamic, fixed):
        np.testing.assert_array_equal(first(transload.run(module, {"arg0": x})), wanted(x))
    np.testing.assert_array_equal(first(transload.run(fixed, {"arg0": x}, engine="xla")), wanted(x))


# --- CHLO by its decomposition


@pytest.mark.parametrize(("op", "function"), [
    ("erf", math.erf), ("erfc", math.erfc), ("lgamma", math.lgamma), ("asinh", math.asinh), ("tan", math.tan), ("sinh", math.sinh),
    ("square", lambda v: v * v), ("acosh", None), ("digamma", None), ("erf_inv", None), ("bessel_i1e", None), ("atanh", None),
])
def test_chlo_by_its_decomposition(op: str, function: Any) -> None:
    type_ = "tensor<4xf32>"
    module = transload.load(text=f"func.func @main(%x: {type_}) -> {type_} {{\n%0 = chlo.{op} %x : {type_} -> {type_}\nreturn %0 : {type_}\n}}", format="stablehlo")
    assert {each.dialect for each in module.walk()} == {"builtin", "func", "stablehlo"}
    x = np.array([0.1, 0.5, 0.9, 1.7], np.float32)
    ours, theirs = (first(transload.run(module, {"arg0": x}, engine=engine)) for engine in ("reference", "xla"))
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    if function is not None:
        np.testing.assert_allclose(ours, [function(v) for v in x], rtol=2e-5, atol=1e-6)


# --- globals

PROGRAM = """module {{
  {definition}
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
    {load}
    %0 = stablehlo.add %x, %w : tensor<2xf32>
    {store}
    return %0 : tensor<2xf32>
  }}
}}"""
FORMS = {
    "direct": ("util.global private @w = dense<[1.0, 2.0]> : tensor<2xf32>", "%w = util.global.load @w : tensor<2xf32>"),
    "quoted": ('util.global private @"a.b-c" = dense<[1.0, 2.0]> : tensor<2xf32>', '%w = util.global.load immutable @"a.b-c" : tensor<2xf32>'),
    "indirect": ("util.global private @w = dense<[1.0, 2.0]> : tensor<2xf32>",
                 "%p = util.global.address @w : !util.ptr<tensor<2xf32>>\n    %w = util.global.load.indirect %p : !util.ptr<tensor<2xf32>> -> tensor<2xf32>"),
    "ml_program": ("ml_program.global private @w(dense<[1.0, 2.0]> : tensor<2xf32>) : tensor<2xf32>", "%w = ml_program.global_load_const @w : tensor<2xf32>"),
    "mutable": ("util.global private mutable @w = dense<[1.0, 2.0]> : tensor<2xf32>", "%w = util.global.load @w : tensor<2xf32>"),
}


@pytest.mark.parametrize("form", FORMS)
def test_globals_are_constants(form: str) -> None:
    definition, load = FORMS[form]
    module = transload.load(text=PROGRAM.format(definition=definition, load=load, store=""), format="stablehlo")
    assert {op.dialect for op in module.walk()} == {"builtin", "func", "stablehlo"}
    np.testing.assert_array_equal(first(transload.run(module, {"arg0": np.array([3, 4], np.float32)})), [4, 6])


def test_globals_that_are_written_are_refused() -> None:
    definition, load = FORMS["mutable"]
    with pytest.raises(transload.TransloadError, match="@w is written"):
        transload.load(text=PROGRAM.format(definition=definition, load=load, store="util.global.store %0, @w : tensor<2xf32>"), format="stablehlo")
    with pytest.raises(transload.TransloadError, match="no value of @w"):
        transload.load(text=PROGRAM.format(definition="util.global private @w : tensor<2xf32>", load=load, store=""), format="stablehlo")


@pytest.mark.models
def test_the_trained_model_of_globals(models: Path) -> None:
    paths = [models / "stablehlo" / name for name in ("iree_mnist_trained/mnist.mlir", "derived_iree_mnist_pure/model.mlir")]
    if not all(path.is_file() for path in paths):
        pytest.skip("no MNIST models")
    x = np.random.default_rng(0).random((1, 28, 28, 1), np.float32)
    results = [first(transload.run(transload.load(path), {"arg0": x})) for path in paths]
    np.testing.assert_array_equal(*results)


@pytest.mark.models
@pytest.mark.slow
def test_the_trained_model_knows_its_digits(models: Path) -> None:
    folder = models / "data" / "mnist_t10k"
    path = models / "stablehlo" / "iree_mnist_trained" / "mnist.mlir"
    if not folder.is_dir() or not path.is_file():
        pytest.skip("no MNIST")
    read = [gzip.decompress(next(folder.glob(f"*{what}*")).read_bytes()) for what in ("images", "labels")]
    images = np.frombuffer(read[0], np.uint8, offset=16).reshape(-1, 1, 28, 28, 1)[:2000]
    labels = np.frombuffer(read[1], np.uint8, offset=8)[:2000]
    module = transload.load(path)
    right = sum(
        int(first(transload.run(module, {"arg0": image.astype(np.float32) / 255})).argmax()) == label
        for image, label in zip(images, labels, strict=True))
    assert right == 1858


# --- large text


@pytest.mark.parametrize("generic", [False, True])
def test_large_constants_of_text_are_not_read_by_the_parser(generic: bool) -> None:
    data = np.arange(600_000, dtype=np.float32)
    hexadecimal = data.tobytes().hex()
    if generic:
        text = f'"builtin.module"() ({{\n"func.func"() <{{function_type = () -> tensor<600000xf32>, sym_name = "main"}}> ({{\n%0 = "stablehlo.constant"() <{{value = dense<"0x{hexadecimal}"> : tensor<600000xf32>}}> : () -> tensor<600000xf32>\n"func.return"(%0) : (tensor<600000xf32>) -> ()\n}}) : () -> ()\n}}) : () -> ()'
    else:
        text = f'func.func @main() -> tensor<600000xf32> {{\n%0 = stablehlo.constant dense<"0x{hexadecimal}"> : tensor<600000xf32>\nreturn %0 : tensor<600000xf32>\n}}'
    module = transload.load(text=text, format="stablehlo")
    dense = next(op for op in module.walk() if op.name == "stablehlo.constant").attributes["value"]
    assert isinstance(dense.data, LazyData)
    np.testing.assert_array_equal(dense.numpy(), data)


def test_resource_sections_of_pretty_text() -> None:
    big, small = np.arange(5000, dtype=np.float32), np.arange(3, dtype=np.int32)
    text = ("func.func @main() -> (tensor<5000xf32>, tensor<3xi32>, tensor<5000xi1>) {\n"
            "%0 = stablehlo.constant dense_resource<big> : tensor<5000xf32>\n%1 = stablehlo.constant dense_resource<small> : tensor<3xi32>\n"
            "%2 = stablehlo.constant dense_resource<flags> : tensor<5000xi1>\n"
            "return %0, %1, %2 : tensor<5000xf32>, tensor<3xi32>, tensor<5000xi1>\n}\n{-#\n  dialect_resources: {\n    builtin: {\n"
            f'      big: "0x04000000{big.tobytes().hex()}",\n      small: "0x04000000{small.tobytes().hex()}",\n      flags: "0x01000000{"0100" * 2500}"\n    }}\n  }}\n#-}}\n')
    a, b, c = transload.run(transload.load(text=text, format="stablehlo"), {}).values()
    np.testing.assert_array_equal(a, big)
    np.testing.assert_array_equal(b, small)
    np.testing.assert_array_equal(c, np.arange(5000) % 2 == 0)


@pytest.mark.parametrize(("digits", "why"), [("00" * 4001, "takes 8000 bytes, and 4001"), ("00" * 7999 + "0", "odd"), ("zz" * 8000, "read")])
def test_large_constants_that_cannot_be_are_refused(digits: str, why: str) -> None:
    text = f'func.func @main() -> tensor<2000xf32> {{\n%0 = stablehlo.constant dense<"0x{digits}"> : tensor<2000xf32>\nreturn %0 : tensor<2000xf32>\n}}'
    with pytest.raises(transload.TransloadError, match=why):
        transload.load(text=text, format="stablehlo")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_mutated_text_gives_errors_or_modules(seed: int) -> None:
    import re

    from tests.converters.stablehlo.programs import PROGRAMS

    pool = [PROGRAMS[name].encode() for name in ("arguments", "locations", "control", "calls", "movement", "windows", "tokens", "quantized")]
    words = sorted({word for text in pool for word in re.findall(rb"[\w.]+|[^\w\s]", text)})
    rng = np.random.default_rng(seed)
    for number in range(500):
        data = bytearray(pool[int(rng.integers(len(pool)))])
        place = int(rng.integers(len(data)))
        if number % 4 == 0:
            del data[place:]
        elif number % 4 == 1:
            data[place:place] = words[int(rng.integers(len(words)))]
        elif number % 4 == 2:
            del data[place : place + int(rng.integers(1, 9))]
        else:
            data[place] = int(rng.integers(256))
        try:
            assert transload.load(text=bytes(data), format="stablehlo").functions
        except transload.TransloadError:
            continue
