"""What somebody sees who types the name of a builder, a pipeline, a host or a target: one line that says which it is."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.facts import FactTable
from transload.ir import F32, Block, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.passes.manager import Pipeline
from transload.plugin import KernelTable, Target
from transload.plugin_host import Host
from transload.rewrite import Rewriter, RewriteTable
from transload.verification.verify import Verification

from tests.support.plugins import acme, module_of, point


def test_builders_say_where_they_build() -> None:
    module = new_module()
    main = module.add_function("main", [TensorType((4,), F32)], ["x"])
    block = main.regions[0].block
    builder = Builder(block, location="y")
    assert repr(builder) == "<Builder in main, at the end>"
    y = builder.emit("top.Relu", block.arguments[0])
    set_results(main, [y])
    before = "before top.Relu(x) -> y: tensor<4xf32>"
    assert repr(Builder(block, y.op, fold=True)) == f"<Builder in main, {before}, folding>"
    assert repr(Rewriter(y.op)) == f"<Rewriter in main, {before}>"
    assert repr(Builder(Block())) == "<Builder in a block of its own, at the end>"


@pytest.mark.parametrize("text", ["canonicalize,layout{to=NHWC},dce", "onnx-to-top", ""])
def test_pipelines_are_the_text_that_makes_them(text: str) -> None:
    assert repr(Pipeline.parse(text)) == f"<pipeline {text or 'of no passes'}>"


def test_hosts_count_their_plugins() -> None:
    broken = point("broken", register_metrics=lambda register: None)  # a hook without its mark is left alone
    host = Host([point("acme"), point("other"), broken], only="acme,broken")
    assert repr(host).startswith("<host of plugins: ") and repr(host).endswith("1 left out>")


@pytest.mark.parametrize(("names", "said"), [
    ([], "no op"), ("ab", "acme.a, acme.b"), ("decba", "acme.a, acme.b, acme.c and 2 more")])
def test_tables_name_their_first_ops(names: Any, said: str) -> None:
    kernels, rewrites, facts = KernelTable(), RewriteTable(), FactTable("acme")
    for name in names:
        for table in (kernels, rewrites, facts):
            table(f"acme.{name}")(abs)  # type: ignore[arg-type]
    assert repr(kernels) == f"<table of kernels: of {said}>"
    assert repr(rewrites) == f"<table of rewrites: of {said}>"
    assert repr(facts) == f"<table of facts for 'acme': of {said}>"


def test_plans_and_what_a_conversion_made(tmp_path: Path) -> None:
    """In a line; and a plan is read in another process as it was."""
    module = module_of("top.Relu")
    planned = transload.plan(module, "tosa")
    again = pickle.loads(pickle.dumps(planned))
    assert str(again) == str(planned) and again.passes == planned.passes and repr(again) == repr(planned)
    assert repr(planned).startswith("<plan: ") and "top-to-tosa" in repr(planned) and len(repr(planned)) < 200
    assert all(repr(each).startswith(f"<stage {each.name}: ") for each in again.stages)
    step = next(step for stage in again.stages for step in stage.steps if step.name == "top-to-tosa.rewrites")
    assert repr(step) == f"<step {step}>" and callable(step.run)
    made = transload.convert(module, "tosa", tmp_path, verify=False)
    files = ", ".join(file.name for file in made.files)
    assert repr(made) == f"<artifact for 'tosa' in {tmp_path}: {files}; verification: not asked for>"
    assert repr(made.report) == "<report of a model in memory for 'tosa': converted; verification: not asked for>"
    failed = Verification("failed", broken=["y is far off"], runtime="judge")
    assert repr(failed) == "<verification: failed by judge: y is far off>"
    assert "in place" in str(transload.CHANGED.__doc__)


class Chip(Target):
    name = "chip"
    accepts = ("tosa", "top")

    def emit(self, *given: Any) -> Any:
        raise AssertionError("nothing is to be written")


class Foreign:
    """A target by its members alone, which says nothing of itself."""

    name, doc, accepts, default, pipeline, tolerance = "foreign", "", ("tosa",), False, "", ()
    keeps, rounds_alone, takes, leaves, host, summary, run = False, False, None, None, "", None, None
    quantizing: dict[str, Any] = {}
    converting: dict[str, Any] = {}
    hosting: dict[str, Any] = {}

    def near_enough(self, options: Any) -> tuple[()]:
        return ()

    def options(self) -> dict[str, Any]:
        return {}

    def by_hub(self, module: Any) -> bool:
        return False

    def check(self, module: Any, options: Any) -> tuple[()]:
        return ()

    def emit(self, module: Any, directory: Any, stem: str, options: Any) -> None:
        return None

    def available(self) -> None:
        return None

    def runs_here(self) -> str:
        return "nowhere"


class Silent(Chip):
    name = "silent"

    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_targets_say_what_they_take() -> None:
    targets = acme(targets=[Chip(), Foreign(), Silent()]).targets
    assert repr(targets["chip"]) == "<target 'chip', which takes tosa or top>"
    for name in ("foreign", "silent"):
        assert repr(targets[name]) == f"<target {name!r} of plugin 'acme' (acme-chips 1.2)>"


def test_samples_say_how_many_they_are_and_of_what() -> None:
    types = {"x": TensorType((4,), F32), "a\nb": TensorType((2, 2), F32)}
    sample = {"x": np.zeros(4, np.float32), "a\nb": np.zeros((2, 2), np.float32)}
    of = r" of x: tensor<4xf32>, a\nb: tensor<2x2xf32>>"
    assert repr(transload.open_samples([sample] * 3, types)) == "<3 samples" + of
    assert repr(transload.open_samples([sample], types)) == "<1 sample" + of
    assert repr(transload.open_samples(iter([sample]), types)) == "<samples, nobody knows how many," + of
