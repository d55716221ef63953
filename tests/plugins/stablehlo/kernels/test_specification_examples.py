"""Every example of the specification, run with its values, gives its results."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import dtype_of
from transload.ir.types import FloatType, QuantType, TensorType, TupleType, Type
from transload.text import parse_type

from tests.support.stablehlo_specification import Bits, Example, examples, op_names, result_names, specification

EXAMPLES = examples()
pytestmark = pytest.mark.skipif(specification() is None, reason="no specification: set TRANSLOAD_SPEC to its folder")

STATED_WRONG = {
    ("while-0", "results1"): 9,  # the loop counts from 1 to 10, so that it adds nine ones; ten are stated
    ("divide-0", "result"): [5.7, -5.7, -5.7, 5.7],  # the quotients of 17.1; those of 17 are stated
    ("negate-1", "result"): [(-2.5, -0.0)],  # a complex number, which is stated as a list
    ("power-0", "result"): [4.0, 0.0, float("nan"), 25.0, 1 / 3, 1e40],  # what is stated is infinite in f32, and not in f64
    ("tan-0", "result"): [[0.0, 147169271.76124874], [-3.58979303e-09, 2599497068.2695704]],  # stated for pi/2 itself
}


def test_every_op_has_an_example() -> None:
    assert {example.op for example in EXAMPLES} == set(op_names())
    assert len(EXAMPLES) >= 105


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_example(example: Example) -> None:
    program, operands, results = _program(example)
    module = transload.load(text=program, format="stablehlo")
    if example.op == "custom_call":
        with pytest.raises(transload.TransloadError, match="foo"):
            transload.run(module, {name: np.zeros(()) for name in transload.ir.input_names(module.main)})
        return
    wanted = {
        name: {process: value for (key, process), value in example.results.items() if _plain(key) == _plain(name)}
        for name, _ in results
    }
    for process, computed in _run(module, example, operands).items():
        assert len(computed) == len(results)
        for (name, type_), value in zip(results, computed, strict=True):
            stated = wanted[name].get(process, wanted[name].get(None))
            stated = STATED_WRONG.get((example.id, name), stated)
            if stated is not None and example.op != "rng":  # random numbers are the implementation's own
                _check(value, stated, type_)


def _plain(name: str) -> str:
    return name.replace("#", "")


def _run(module: Any, example: Example, operands: list[tuple[str, Type]]) -> dict[Any, list[Any]]:
    """The results of each process; of `None` where there is only one."""
    from transload_plugins.stablehlo.parallel import Grid, run_parallel

    names = transload.ir.input_names(module.main)
    given: dict[Any, dict[str, Any]] = {}
    for process in {process for _, process in example.operands} or {None}:
        given[process] = {
            name: _value(example.operands.get((key, process)), type_) for name, (key, type_) in zip(names, operands, strict=True)
        }
    replicas, partitions = example.notes.get("num_replicas", 1), example.notes.get("num_partitions", 1)
    feed = [[np.array(value)] for name, value in example.notes.items() if name.startswith("infeed_queue")]
    grid = Grid(replicas, partitions)
    grid.from_host[1].append([np.zeros((2, 2), np.int64)])
    inputs = given.get(None, given)
    outputs = run_parallel(module, inputs, num_replicas=replicas, num_partitions=partitions, infeed={(0, 0): feed}, grid=grid)
    return {process if replicas * partitions > 1 else None: list(values.values()) for process, values in outputs.items()}


def _program(example: Example) -> tuple[str, list[tuple[str, Type]], list[tuple[str, Type]]]:
    """The example as a module: what it uses and does not define are the function's arguments."""
    body = "\n".join(example.statements)
    body = re.sub(r"(?m)^(\s*)//.*$", "", body)
    signature = re.compile(r"\"stablehlo\.\w+\"\(([^()]*)\)")
    defined: dict[str, Type] = {}
    arguments: dict[str, Type] = {}
    for statement in example.statements:
        inputs, outputs = _signature(statement)
        used = signature.search(statement)
        names = [name.strip().lstrip("%") for name in used[1].split(",") if name.strip()] if used else []
        for name, type_ in zip(names, inputs, strict=False):
            if name not in defined:
                arguments[name] = type_
        defined.update(zip(result_names(statement), outputs, strict=True))
    for name, _ in example.operands:  # used inside of regions
        if name not in arguments and name not in defined and f"%{name}" in body:
            arguments[name] = parse_type(re.search(rf"%{name}\b.*?(tensor<[^>]*>)", body, re.S)[1])
    results = [
        (name, type_)
        for name, type_ in defined.items()
        if "constant dense" not in body
        or (name.startswith(("result", "output_")) and name in result_names(example.statements[-1]))
    ]
    if example.op == "constant":
        results = list(defined.items())
    extra = ""
    if example.op == "composite":
        extra = (
            "func.func private @my_op(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n"
            "%c = stablehlo.add %a, %b : tensor<f32>\nreturn %c : tensor<f32>\n}\n"
        )
    if example.op == "custom_call":
        extra = "func.func private @foo(%a: tensor<f64>) -> tensor<f64> {\nreturn %a : tensor<f64>\n}\n"
    parameters = ", ".join(f"%{name}: {type_}" for name, type_ in arguments.items())
    types = ", ".join(str(type_) for _, type_ in results)
    returned = ", ".join(f"%{name}" for name, _ in results)
    main = f"func.func @main({parameters}) -> ({types}) {{\n{body}\nreturn {returned} : {types}\n}}\n"
    return extra + main, list(arguments.items()), results


def _signature(statement: str) -> tuple[list[Type], list[Type]]:
    """Types of operands and results: what follows the last colon outside of brackets."""
    constant = re.search(r"constant dense<.*> : (tensor<.*>)", statement)
    if constant and "->" not in statement:
        return [], [parse_type(constant[1].strip())]
    text = statement.rstrip()
    arrow = text.rfind("->")
    inputs = _types(text[_open(text, arrow) : arrow])
    return inputs, _types(text[arrow + 2 :])


def _open(text: str, arrow: int) -> int:
    """Where the parenthesis that closes before `arrow` opens."""
    depth, at = 0, text.rindex(")", 0, arrow)
    while True:
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if not depth:
            return at
        at -= 1


def _types(text: str) -> list[Type]:
    function = parse_type(
        f"{'' if text.strip().startswith('(') else '('}{text.strip()}{'' if text.strip().startswith('(') else ')'} -> ()"
    )
    return list(function.inputs)


def _value(stated: Any, type_: Type) -> Any:
    if isinstance(type_, TupleType):
        return tuple(_value(part, inner) for part, inner in zip(stated or (0,) * len(type_.types), type_.types, strict=True))
    if not isinstance(type_, TensorType):
        return np.zeros((), np.bool_)
    if stated is None:
        return np.ones([size or 0 for size in type_.shape], dtype_of(type_.element))
    dtype = dtype_of(type_.element)

    def one(item: Any) -> Any:
        if isinstance(item, Bits) and isinstance(type_.element, FloatType):
            return np.array(int(item), f"u{dtype.itemsize}").view(dtype)[()]
        return complex(*item) if isinstance(item, tuple) and len(item) > 1 else item[0] if isinstance(item, tuple) else item

    def fill(item: Any) -> Any:
        return [fill(part) for part in item] if isinstance(item, list) else one(item)

    array = np.array(fill(stated), dtype)
    if array.shape != type_.shape and np.unique(array).size == 1:  # one number for all, of whatever shape
        return np.full(type_.shape, array.reshape(-1)[0], dtype)
    return array.reshape(type_.shape)


def _check(value: Any, stated: Any, type_: Type) -> None:
    if isinstance(type_, TupleType):
        for part, inner, inner_type in zip(value, stated, type_.types, strict=True):
            _check(part, inner, inner_type)
        return
    if not isinstance(type_, TensorType):
        return
    wanted = _value(stated, type_)
    assert np.shape(value) == wanted.shape
    assert value.dtype == wanted.dtype
    if wanted.dtype.kind in "fc" and not isinstance(type_.element, QuantType):
        np.testing.assert_allclose(value, wanted, rtol=2e-6, atol=2e-7)
    else:
        np.testing.assert_array_equal(value, wanted)
