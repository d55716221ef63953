"""Graphs with control flow of TensorFlow 1 cut inside: `--outputs`, tensors given by `--shape`, `extract`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload_converters.tensorflow.runtime import available

from tests.converters.tensorflow.test_executor import F, cond, loop
from tests.support.tensorflow_graphs import const, graph, main_ops, node, placeholder, read_graph

X = np.array([1, 3], np.float32)


def written(folder: Path, graph_def: Any) -> Path:
    (folder / "m.pb").write_bytes(graph_def.SerializeToString())
    return folder / "m.pb"


def names(module: transload.Module) -> list[str]:
    return [op.name for op in main_ops(module)]


def test_a_branch_alone_is_ops_in_program_order(tmp_path: Path) -> None:
    module = transload.load(written(tmp_path, cond()), outputs=["true"])
    assert names(module) == ["tf.Const", "tf.AddV2", "func.return"] and list(module.inputs) == ["x"]
    np.testing.assert_array_equal(transload.run(module, {"x": X})["true"], X + 1)
    np.testing.assert_array_equal(transload.run(transload.lower(module, "tosa"), {"x": X})["true"], X + 1)


def test_behind_the_branches_the_condition_counts(tmp_path: Path) -> None:
    """A constant that only a control edge puts into a branch stays there."""
    given = cond()
    given.node.extend([const("no", np.full(2, 7, np.float32), "^not_taken"), node("not_taken", "Identity", "switch:0", T=F),
                       node("chosen", "Merge", "no", "true", T=F, N=2)])
    module = transload.load(written(tmp_path, given), outputs=["chosen"])
    assert list(module.inputs) == ["x", "p"]
    for form in (module, transload.legalize(module)):
        assert all(transload.run(form, {"x": X, "p": np.array(False)})["chosen"] == 7)
        np.testing.assert_array_equal(transload.run(form, {"x": X, "p": np.array(True)})["chosen"], X + 1)


def test_a_part_of_a_loop_that_is_given_what_goes_round(tmp_path: Path) -> None:
    path = written(tmp_path, graph(*loop()))
    module = transload.load(path, inputs={"merge_s": ()}, outputs=["doubled"])
    assert list(module.inputs) == ["merge_s"] and "tf_executor.graph" not in names(module)
    assert transload.run(module, {"merge_s": np.float32(3)})["doubled"] == 6
    module = transload.load(path, inputs={"body": ()}, outputs=["next_value"])
    assert transload.run(module, {"body": np.int32(3)})["next_value"] == 4


def test_the_whole_loop_with_one_of_its_results(tmp_path: Path) -> None:
    module = transload.load(written(tmp_path, graph(*loop())), outputs=["s"])
    for form in (module, transload.legalize(module)):
        assert transload.run(form, {"n": np.int32(4)}) == {"s": 16}


@pytest.mark.parametrize(("given", "outputs", "why"), [
    (graph(*loop()), ["doubled"], "merge_s goes round a loop, and has another value in each iteration"),
    (cond(), ["true", "false"], "is in another branch or loop than others that are asked for"),
    (cond(), ["true", "z"], "leads into several branches of which one is asked for"),
    (cond(), ["tru"], "did you mean 'true'"),
])
def test_where_a_graph_cannot_be_cut(tmp_path: Path, given: Any, outputs: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        transload.load(written(tmp_path, given), outputs=outputs)


def test_a_module_that_is_there_is_cut_alike() -> None:
    module = read_graph(cond())
    part = transload.extract(module, outputs={"true": "y"}, inputs={"switch:1": "given"})
    assert list(part.inputs) == ["given"] and list(part.outputs) == ["y"]
    np.testing.assert_array_equal(transload.run(part, {"given": X})["y"], X + 1)
    assert list(module.inputs) == ["x", "p"], "the argument is unchanged"


def test_the_dialect_of_a_graph_is_no_lowering(tmp_path: Path) -> None:
    """`z` is the value `z:0` there, and control flow no sign of a lowering: in a file each tensor is itself."""
    module = transload.load(written(tmp_path, cond()))
    assert module.source_format == "tensorflow" and "tf_executor.graph" in names(module)
    part = transload.extract(module, outputs=["z"], inputs={"z": "given"})
    assert list(part.inputs) == ["given"] and list(part.outputs) == ["z"]


def test_what_is_kept_for_its_state_runs(tmp_path: Path) -> None:
    """Of what comes before by control edges, that stays which changes a state."""
    given = graph(
        placeholder("p", (), "bool"), node("v", "VarHandleOp", dtype=F, shape=(), shared_name="v"),
        node("x", "Placeholder", dtype=F, shape=()), node("switch", "Switch", "x", "p", T=F),
        node("into", "Identity", "switch:1", T=F), node("assign", "AssignVariableOp", "v", "into", dtype=F),
        node("after", "NoOp", "^assign"), node("read", "ReadVariableOp", "v", "^after", dtype=F),
        node("y", "Neg", "read", T=F))
    module = transload.load(written(tmp_path, given), outputs=["y"])
    assert "tf.AssignVariableOp" in {op.name for op in module.walk()}


def test_any_result_of_a_node_can_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, graph(
        placeholder("x", (4,)), const("axis", np.int32(0)), node("parts", "Split", "axis", "x", num_split=2, T=F),
        node("y", "Sub", "parts:0", "parts:1", T=F)))
    module = transload.load(path, inputs={"parts:1": (2,)})
    assert list(module.inputs) == ["x", "parts:1"]
    found = transload.run(module, {"x": np.array([5, 6, 0, 0], np.float32), "parts:1": np.array([1, 2], np.float32)})
    np.testing.assert_array_equal(found["y"], [4, 4])
    assert list(transload.load(path, inputs={"parts": (2,), "parts:1": (2,)}, outputs=["y"]).inputs) == ["parts", "parts:1"]


def test_inputs_that_a_part_does_not_need_are_not_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, graph(
        placeholder("x", (2,)), placeholder("unknown", None), node("h", "Neg", "x", T=F), node("y", "Mul", "h", "unknown", T=F)))
    module = transload.load(path, outputs=["h"])
    assert list(module.inputs) == ["x"] and list(module.outputs) == ["h"]


@pytest.mark.skipif(available() is not None, reason="tensorflow is not installed")
def test_tensorflow_judges_parts(tmp_path: Path) -> None:
    def judged(given: Any, name: str, **how: Any) -> str:
        return transload.convert(written(tmp_path, given), "tosa", tmp_path / name, **how).verification.status

    assert judged(cond(), "branch", outputs=["true"]) == "passed"
    assert judged(graph(*loop()), "body", outputs=["doubled"], inputs={"merge_s": ()}) == "passed"
    split = graph(placeholder("x", (4,)), const("axis", np.int32(0)), node("parts", "Split", "axis", "x", num_split=2, T=F),
                  node("y", "Sub", "parts:0", "parts:1", T=F))
    assert judged(split, "given", inputs={"parts:1": (2,)}) == "passed"
