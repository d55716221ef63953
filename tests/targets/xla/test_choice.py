"""The engine auto: which engine it takes, and that it takes the other one where that cannot."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.engine import choice
from transload.ir import Module, input_names
from transload.plugin import resolve
from transload.plugin_host import host

from tests.targets.xla.xla_programs import program, tensor


def product(size: int) -> Module:
    type_ = tensor((size, size), "f32")
    line = f"%y = stablehlo.dot_general %a0, %a0, contracting_dims = [1] x [0] : ({type_}, {type_}) -> {type_}"
    return program([type_], [line], [("%y", type_)])


def test_work_is_counted_from_the_types() -> None:
    work = choice.work_of(product(100))
    assert (work.kernels, work.ops, work.elements) == (1, 1, 10_000)
    assert work.products == 1_000_000


def test_small_models_are_not_compiled_and_large_ones_are() -> None:
    assert choice.choose(product(8)).engine == "reference"
    assert choice.choose(product(4096)).engine == "xla"
    assert choice.choose(product(64), runs=1_000_000).engine == "xla"


def test_dynamic_sizes_and_absent_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    type_ = tensor(("?", 4), "f32")
    module = program([type_], [f"%y = stablehlo.negate %a0 : {type_}"], [("%y", type_)])
    assert choice.choose(module).engine == "reference"
    monkeypatch.delitem(host().engines, "xla")
    assert choice.choose(product(4096)) == choice.Choice("reference", "no compiling engine is installed")


def test_what_the_compiling_engine_cannot_take_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "COMPILE_SECONDS", -1.0)
    text = """func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, !stablehlo.token) {
  %t = stablehlo.create_token : !stablehlo.token
  return %a, %t : tensor<2xf32>, !stablehlo.token
}"""
    module = transload.load(text=text, format="stablehlo")
    execute = resolve(host().get("engines", "auto").prepare)(module)
    assert execute.choice.engine == "xla"
    outputs = execute({input_names(module.main)[0]: np.ones(2, np.float32)}, False)
    assert execute.choice.engine == "reference" and "cannot take it" in execute.choice.why
    np.testing.assert_array_equal(next(iter(outputs.values())), np.ones(2))


def test_auto_computes_what_reference_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = product(16)
    x = {input_names(module.main)[0]: np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)}
    wanted = next(iter(transload.run(module, x, engine="reference").values()))
    np.testing.assert_array_equal(next(iter(transload.run(module, x).values())), wanted)
    monkeypatch.setattr(choice, "COMPILE_SECONDS", -1.0)
    np.testing.assert_allclose(next(iter(transload.run(module, x).values())), wanted, rtol=1e-5, atol=1e-5)
