"""What somebody writes by mistake where the IR takes values, ops, modules or text: told in words, and nothing is half changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import BuildError, TransloadError, UsageError
from transload.ir import F32, Block, Module, Op, Region, TensorType, new_module, set_results, update_function_type
from transload.ir.build import Builder, constant_of
from transload.ir.verify import check, verify
from transload.passes.manager import Pipeline
from transload.text import parse_module, print_module

from tests.core.ir.relu import relu_module


def kind_of(given: Any) -> str:
    return type(given).__name__


NONSENSE = [None, 3, 2.5, "x", b"x", np.zeros(3), [1], {"a": 1}, object(), TensorType((1,), F32), True]


@pytest.fixture
def module() -> Module:
    return relu_module()


def relu_of(module: Module) -> Op:
    return next(op for op in module.ops() if op.name == "top.Relu")


@pytest.mark.parametrize("given", NONSENSE, ids=kind_of)
def test_what_is_no_value_is_no_operand(module: Module, given: Any) -> None:
    relu = relu_of(module)
    before = print_module(module)
    for act in (lambda: relu.set_operand(0, given), lambda: setattr(relu, "operands", (given,)),
                lambda: setattr(module.body_of_main.terminator, "operands", given), lambda: relu.replace_with([given]),
                lambda: relu.replace_with(given), lambda: Op("top.Relu", [relu.result, given]), lambda: Op("top.Relu", given),
                lambda: set_results(module.main, given)):
        with pytest.raises(BuildError):
            act()
    assert print_module(module) == before and check(module) == [] and list(relu.result.uses) == [module.body_of_main.terminator]


@pytest.mark.parametrize("index", [None, 3, -2, "input", np.zeros(2)], ids=kind_of)
def test_operands_that_there_are_not(module: Module, index: Any) -> None:
    with pytest.raises(BuildError, match=r"top\.Relu has 1 operands, and no operand"):
        relu_of(module).set_operand(index, module.body_of_main.arguments[0])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "check": check, "verify": verify, "print_module": print_module, "extract": transload.extract,
    "update_function_type": update_function_type, "set_results": lambda given: set_results(given, []),
    "legalize": transload.legalize, "lower": transload.lower}


@pytest.mark.parametrize("given", NONSENSE, ids=kind_of)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_take_modules(name: str, given: Any) -> None:
    with pytest.raises(UsageError, match=rf"{name}\(\) takes a (module|function)"):
        FUNCTIONS[name](given)


@pytest.mark.parametrize("given", [each for each in NONSENSE if not isinstance(each, str | bytes)], ids=kind_of)
def test_functions_that_take_text(module: Module, given: Any) -> None:
    for act in (lambda: parse_module(given), lambda: Pipeline.parse(given), lambda: transload.save(module, given)):
        with pytest.raises(UsageError, match=r"takes a (text|path)( as path)?, and was given"):
            act()


@pytest.mark.parametrize("given", [3, 2.5, b"x", np.zeros(3), [1], {"x": 1}, {1: "x"}, object()], ids=kind_of)
def test_names_of_tensors_are_texts(module: Module, given: Any) -> None:
    for side in ("inputs", "outputs"):
        with pytest.raises(UsageError, match=r"(give|takes) names of tensors as (a list of texts|inputs|outputs)"):
            transload.extract(module, **{side: given})


@pytest.mark.parametrize("given", [each for each in NONSENSE if each is not None], ids=kind_of)
def test_what_is_no_value_holds_no_constant(given: Any) -> None:
    with pytest.raises(UsageError, match="takes a value"):
        constant_of(given)


@pytest.mark.parametrize("given", NONSENSE, ids=kind_of)
def test_builders_have_a_place(module: Module, given: Any) -> None:
    with pytest.raises(BuildError, match="takes a block"):
        Builder(given)
    if given is not None:
        with pytest.raises(BuildError, match="takes an op"):
            Builder(module.body_of_main, before=given)


def test_builders_put_ops_into_their_own_block(module: Module) -> None:
    """The list of a block would lead into another one."""
    with pytest.raises(BuildError, match=r"before top\.Relu, which is not in its block"):
        Builder(module.body_of_main, before=relu_of(module.clone()))


def test_constants_have_a_dialect_and_an_element(module: Module) -> None:
    build = Builder(module.body_of_main)
    with pytest.raises(BuildError, match="there is no dialect 'tosaa'; the nearest is 'tosa'"):
        build.constant(np.zeros(3, np.float32), dialect="tosaa")
    for given in NONSENSE:
        if given is not None:
            with pytest.raises(TransloadError):
                build.constant(np.zeros(3, np.float32), dialect=given)
        if given is not None and not isinstance(given, TensorType):
            with pytest.raises(BuildError):
                build.constant(np.zeros(3, np.float32), given)


@pytest.mark.parametrize(("depth", "is_right"), [(250, True), (400, False), (5000, False)])
def test_regions_that_lie_too_deep_in_each_other(depth: int, is_right: bool) -> None:
    """They ended in Python's RecursionError, here or in whatever copies or runs them."""
    type_ = TensorType((2,), F32)
    module = new_module()
    main = module.add_function("main", [type_], ["x"])
    block = main.regions[0].block
    for _ in range(depth):
        block = block.append(Op("acme.around", (), (), {}, [Region([Block()])])).regions[0].block
    set_results(main, [main.regions[0].block.arguments[0]], ["y"])
    if is_right:
        verify(module)
        assert len(list(module.clone().walk())) == depth + 3
        return
    for asked in (verify, partial(transload.lower, to="tosa")):
        with pytest.raises(TransloadError, match=r"acme.around: has regions, and lies 300 deep in those of others"):
            asked(module)
