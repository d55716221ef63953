"""`copy` and `pickle` of what there is in a module."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.ir import F32, I8, Block, Module, QuantType, TensorType, set_results
from transload.ir.build import Builder
from transload.ir.verify import verify
from transload.partitioning import partition
from transload.plugin_host import host
from transload.text import print_module

WAYS: dict[str, Callable[[Any], Any]] = {"copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.fixture
def module(examples: Path) -> Module:
    return transload.load(examples / "digits" / "digits_float.onnx")


@pytest.mark.parametrize("way", WAYS)
def test_a_module_is_copied_as_clone_does(way: str, module: Module) -> None:
    """They ended in `RecursionError`."""
    made = WAYS[way](module)
    verify(made)
    assert type(made) is Module and made is not module and made.main is not module.main
    assert transload.text.print_module(made) == transload.text.print_module(module)
    assert (made.source, made.notes, made.states, made.entry) == (module.source, module.notes, module.states, module.entry)
    x = np.random.default_rng(0).random((1, 1, 8, 8), np.float32)
    wanted = transload.run(module, {"image": x})
    made.main.erase()
    assert all(np.array_equal(wanted[name], array) for name, array in transload.run(module, {"image": x}).items())


@pytest.mark.parametrize("part", ["op", "value", "block", "region"])
@pytest.mark.parametrize("way", [*WAYS, "pickle"])
def test_what_is_in_a_module_is_not_copied_alone(way: str, part: str, module: Module) -> None:
    op = next(iter(module.ops()))
    uses = {result: dict(result.uses) for result in op.results}
    given = {"op": op, "value": op.results[0], "block": op.parent, "region": module.regions[0]}[part]
    with pytest.raises(UsageError, match=f"an? {part} is copied and pickled by no protocol") as raised:
        (WAYS.get(way) or pickle.dumps)([given] if way == "deepcopy" else given)
    assert "module.clone()" in raised.value.hint
    assert uses == {result: dict(result.uses) for result in op.results}


def test_pickles_of_modules_are_refused(module: Module) -> None:
    with pytest.raises(UsageError, match="a module is copied and pickled by no protocol"):
        pickle.dumps(module)


def test_what_holds_modules(module: Module, tmp_path: Path) -> None:
    artifact = transload.convert(module, "tosa", tmp_path / "out", verify=False)
    made = copy.deepcopy(artifact)
    assert made.module is not artifact.module and made.files == artifact.files
    assert transload.text.print_module(made.module) == transload.text.print_module(artifact.module)
    cut = partition(artifact.module, lambda op: True)
    assert copy.deepcopy(cut).parts[0].module is not cut.parts[0].module
    for each in (artifact, cut):
        with pytest.raises(UsageError, match=r"module is copied and pickled by no protocol"):
            pickle.dumps(each)


def test_what_is_registered_is_there_once() -> None:
    target = host().targets["tosa"]
    assert copy.copy(target) is target and copy.deepcopy([target])[0] is target


def test_types_are_pickled_without_their_hash() -> None:
    """In another process the hash of an equal type is another one: it was not found in a dictionary there."""
    types = [TensorType((2, None), F32), QuantType(I8, F32, (1, 4), (0, 1), axis=0), QuantType(I8, F32, np.float64([2]), (3,))]
    assert all(hash(each) and str(each) and each.__getstate__() for each in types)
    for each in types:
        assert copy.deepcopy(each) is each and pickle.loads(pickle.dumps(each)) == each
    code = (
        "import pickle, sys; from transload.ir import F32, I8, QuantType, TensorType\n"
        "types = [TensorType((2, None), F32), QuantType(I8, F32, (1, 4), (0, 1), axis=0), QuantType(I8, F32, (2,), (3,))]\n"
        "given = pickle.load(sys.stdin.buffer)\n"
        "assert given == types and set(given) == set(types), [*map(hash, given), *map(hash, types)]")
    subprocess.run([sys.executable, "-c", code], input=pickle.dumps(types), check=True, env={**os.environ, "PYTHONHASHSEED": "7"})


def test_a_caller_may_go_on_with_what_it_gave() -> None:
    """Lists and dictionaries of attributes, in each other, too, are the op's own."""
    deep: list[Any] = [2]
    given: dict[str, Any] = {"a": [1, deep], "b": {"c": deep}}
    build = Builder(Block())
    made = [build.create("acme.op", (), (), given), build.emit("acme.op", types=[], **given) or build.block.last]
    deep.append(3)
    given["a"].append(4)
    given["d"] = 5
    for op in made:
        assert op.attributes == {"a": [1, [2]], "b": {"c": [2]}}


def test_a_clone_has_lists_and_dictionaries_of_its_own() -> None:
    """What is changed in a copy of a module is not changed in the module, however deep in an attribute."""
    module = Module({"acme.list": [[1]]})
    function = module.add_function("main", [TensorType((2,), F32)], ["x"])
    Builder(function.regions[0].block).create("acme.op", (), (), {"a": [{"b": [2]}]})
    set_results(function, function.regions[0].block.arguments, ["y"])
    before = print_module(module)
    copied = module.clone()
    for op in copied.walk():
        for value in op.attributes.values():
            if isinstance(value, list):
                value[0].clear()
                value.append(3)
    assert print_module(module) == before
