"""What is planned is what runs: stages and passes, on toy dialects and on real models; a plan as pipeline text; long routes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import transload
from transload.context import Context
from transload.errors import ConversionError
from transload.ir import Module
from transload.ir.declare import Dialect
from transload.journey import Journey, Observer, Stage, convert_to
from transload.passes.manager import Pipeline
from transload.passes.steps import PassRecord, Step
from transload.plugin import Conversion, DialectSpec, Pass
from transload.text import print_module

from tests.core.journey.test_conversion import append, renaming
from tests.support.sampling import sampled


class Record(Observer):
    """What ran: each stage with its passes, as text."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, list[str]]] = []

    def enters(self, stage: Stage) -> None:
        self.stages.append((stage.name, []))

    def ran(self, stage: Stage, step: Step, record: PassRecord, module: Module) -> None:
        self.stages[-1][1].append(str(step))


def planned(plan: transload.Plan) -> list[tuple[str, list[str]]]:
    return [(stage.name, [str(step) for step in stage.steps]) for stage in plan.stages]


def test_the_plan_is_the_list_of_what_runs(kit):
    kit.add(
        Pass("first", append("a.first")), Pass("last", append("b.last")),
        Conversion(
            "a-to-b", "a", "b", renaming(a__x="b.x", a__first="b.first"), before="first{times=$count}", after="last",
            options={"count": (int, 2, "How many."), "name": (str, "a b", "With a space.")}),
        Conversion("b-to-c", "b", "c", renaming(b__x="c.x", b__first="c.x", b__last="c.x")))
    module, record = kit.module("a.x"), Record()
    plan = Journey(("c",), {"count": 3}).plan(module)
    assert str(plan) == """\
# a-to-b: a → b
first{times=3},
a-to-b.rewrites{count=3 name="a b"},
last,
# b-to-c: b → c
b-to-c.rewrites,"""
    assert kit.names(module) == ["a.x"] and plan.is_certain
    convert_to(module, ("c",), count=3, observers=[record])
    assert record.stages == planned(plan)
    again = kit.module("a.x")
    Pipeline.parse(str(plan)).run(again)
    assert print_module(again) == print_module(module)


def unfit_where_wide(module: Module) -> str | None:
    return "it has b.wide" if any(op.name == "b.wide" for op in module.walk()) else None


def test_a_way_that_depends_on_what_a_stage_makes_is_tried(kit):
    """Only of a module in `b` can `b-to-d` say whether it is meant for it: a plan without a trial says so, and what else."""
    kit.add(
        Conversion("a-to-b", "a", "b", renaming(a__x="b.x", a__wide="b.wide")),
        Conversion("b-to-d", "b", "d", renaming(b__x="d.x"), unfit=unfit_where_wide),
        Conversion("b-to-c", "b", "c", renaming(b__x="c.x", b__wide="c.x")), Conversion("c-to-d", "c", "d", renaming(c__x="d.x")))
    for ops in (["a.x"], ["a.x", "a.wide"]):
        module, record = kit.module(*ops), Record()
        before = print_module(module)
        unsure = Journey(("d",)).plan(module, settle=False)
        assert [stage.name for stage in unsure.stages] == ["a-to-b", "b-to-d"] and not unsure.is_certain
        assert "#   unless it is not meant for what the module is then; if so: b-to-c, c-to-d" in str(unsure)
        plan = Journey(("d",)).plan(module)
        assert plan.is_certain and print_module(module) == before
        convert_to(module, ("d",), observers=[record])
        assert record.stages == planned(plan)
    with pytest.raises(ConversionError, match="no conversions lead from 'a' to 'e'"):
        Journey(("e",)).plan(kit.module("a.x"))


def test_a_way_that_depends_on_a_stage_and_has_no_other_is_a_way(kit):
    kit.add(
        Conversion("a-to-b", "a", "b", renaming(a__x="b.x", a__wide="b.wide"), options={"count": (int, 1, "")}),
        Conversion("b-to-d", "b", "d", renaming(b__x="d.x"), unfit=unfit_where_wide))
    assert "if so: there is no way" in str(Journey(("d",)).plan(kit.module("a.x"), settle=False))
    module = kit.module("a.x")
    convert_to(module, ("d",), count=2)
    assert kit.names(module) == ["d.x"]
    with pytest.raises(ConversionError, match="no conversions lead from 'b' to 'd'"):
        convert_to(kit.module("a.wide"), ("d",), count=2)


def test_the_hub_is_known_by_its_role_on_a_route_of_three_conversions(tmp_path: Path):
    """The module that verification takes steps and bounds from is the one in the hub, not the first conversion's result."""
    from transload.conversion_notes import AtHub
    from transload.plugin_host import Host

    host = Host()
    for dialect in ("graph", "net"):
        host.dialects[dialect] = DialectSpec(dialect, Dialect(dialect))
    for conversion in (
        Conversion("graph-to-net", "graph", "net", identity("graph.start", "net.start")),
        Conversion("net-to-top", "net", "top", relu("net.start")),
    ):
        host.conversions[conversion.name] = conversion
    with Context(host).bind():
        from transload.text import parse_module

        module = parse_module('''"func.func"() <{sym_name = "main", function_type = (tensor<4xf32>) -> tensor<4xf32>}> ({
        ^bb0(%x: tensor<4xf32>):
          %y = "graph.start"(%x) : (tensor<4xf32>) -> tensor<4xf32>
          "func.return"(%y) : (tensor<4xf32>) -> ()
        }) : () -> ()''')
        seen, record = AtHub(), Record()
        plan = Journey(("tosa",)).plan(module)
        convert_to(module, ("tosa",), observers=[seen, record])
    assert [stage.name for stage in plan.stages] == ["graph-to-net", "net-to-top", "hub", "top-to-tosa"]
    assert record.stages == planned(plan)
    assert seen.module is not None and [op.name for op in seen.module.ops()] == ["top.Relu", "func.return"]


def identity(source: str, target: str) -> Any:
    table = transload.RewriteTable()
    table(source)(lambda op, rw: rw.create(target, op.operands, [op.result.type]).results)
    return table


def relu(source: str) -> Any:
    table = transload.RewriteTable()
    table(source)(lambda op, rw: rw.emit("top.Relu", op.operands[0]))
    return table


MODELS = (
    "tflite/mlperf_resnet8_int8", "tflite/mlperf_ad_float", "tflite/tflm_mnist_lstm_int8", "onnx/mnist_8",
    "onnx/derived_ppocr_cls_qoperator", "stablehlo/derived_ad01_autoencoder_f32")


def model_file(models: Path, name: str) -> Path:
    return next(file for file in sorted((models / name).iterdir()) if file.suffix in (".tflite", ".onnx", ".mlir", ".mlirbc"))


@pytest.mark.models
@pytest.mark.parametrize("name", sampled(MODELS, [name for name in MODELS if "lstm" not in name]))
@pytest.mark.parametrize("dialect", ["tosa", "stablehlo", "top"])
def test_of_real_models_the_plan_is_the_list_of_what_runs(models: Path, name: str, dialect: str):
    module = transload.load(model_file(models, name), inputs={"x": (1, 3, 48, 192)} if "ppocr" in name else None)
    record = Record()
    plan = Journey((dialect,)).plan(module)
    lowered = module.clone()
    convert_to(lowered, (dialect,), observers=[record])
    assert plan.is_certain and record.stages == planned(plan)
    piped = module.clone()
    Pipeline.parse(str(plan)).run(piped)
    assert print_module(piped) == print_module(lowered)


@pytest.mark.models
@pytest.mark.parametrize("target", ["tosa", "stablehlo", "ethos-u55-128"])
def test_convert_runs_what_plan_says(models: Path, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from transload import convert_model

    if transload.host().targets[target].available():
        pytest.skip(f"{target} cannot be used here")
    record = Record()
    made = convert_model._journey
    monkeypatch.setattr(convert_model, "_journey", lambda *given: made(*given[:5], [*given[5], record], *given[6:]))
    file = model_file(models, "tflite/mlperf_resnet8_int8")
    transload.convert(file, target, tmp_path, tell=None)
    monkeypatch.undo()
    assert record.stages == planned(transload.plan(file, target))
