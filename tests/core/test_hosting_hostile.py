"""The folder of an artifact in parts is somebody's: whatever its report says, an error of ours tells what is wrong with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import TransloadError
from transload.plugin import Target
from transload.plugin_host import Host
from transload.written import written_at

from .test_hosting import Chip, Picky, Whole


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An artifact of four parts, for a chip and a host that are there."""
    root = Path(__file__).resolve().parents[2]

    class Plugin:
        @transload.hookimpl
        def register_targets(self, register: Callable[[Target], None]) -> None:
            for target in (Chip(), Picky(), Whole()):
                register(target)

    own = Host()
    own.register(Plugin(), "chips")
    with Context(own).bind():
        out = tmp_path_factory.mktemp("made") / "out"
        transload.convert(root / "examples" / "digits" / "digits_float.onnx", "chip", out, host="picky", verify=False)
        yield out


def changed(made: Path, folder: Path, change: Callable[[Any, Path], None]) -> Path:
    out = folder / "out"
    shutil.copytree(made, out)
    report = json.loads((out / "report.json").read_text())
    change(report, out)
    (out / "report.json").write_text(json.dumps(report))
    return out


def parts(report: Any) -> list[Any]:
    return report["partition"]["parts"]  # type: ignore[no-any-return]


def swapped(report: Any, out: Path) -> None:
    parts(report)[0], parts(report)[2] = parts(report)[2], parts(report)[0]


def cyclic(report: Any, out: Path) -> None:
    parts(report)[0]["inputs"] = parts(report)[2]["outputs"]


def other_files(report: Any, out: Path) -> None:
    parts(report)[1]["files"], parts(report)[3]["files"] = parts(report)[3]["files"], parts(report)[1]["files"]


def outside(report: Any, out: Path) -> None:
    (out.parent / "m.mlir").write_text("")
    report["files"]["../m.mlir"] = 1
    parts(report)[1]["files"] = ["../m.mlir"]


def linked(report: Any, out: Path) -> None:
    file = out / parts(report)[1]["files"][0]
    shutil.move(file, out.parent / "m.mlir")
    file.symlink_to(out.parent / "m.mlir")


def unlisted(report: Any, out: Path) -> None:
    parts(report)[1]["files"] = ["2-host/other.mlir"]


def gone(report: Any, out: Path) -> None:
    (out / parts(report)[1]["files"][0]).unlink()


def gone_of_the_chip(report: Any, out: Path) -> None:
    (out / parts(report)[0]["files"][0]).unlink()


def without_files(report: Any, out: Path) -> None:
    parts(report)[1]["files"] = []


def other_types(report: Any, out: Path) -> None:
    name = parts(report)[1]["inputs"][0]
    parts(report)[1]["types"][name] = "tensor<3xi8>"


def no_types(report: Any, out: Path) -> None:
    parts(report)[1]["types"] = {parts(report)[1]["inputs"][0]: "tensor<" * 3000}


def types_of_numbers(report: Any, out: Path) -> None:
    parts(report)[1]["types"] = {"x": 1}


def other_outputs(report: Any, out: Path) -> None:
    report["partition"]["outputs"] = {"probabilities": "nobodys"}


def given_twice(report: Any, out: Path) -> None:
    parts(report)[1]["outputs"] = [report["inputs"][0]["name"]]


def names_that_are_none(report: Any, out: Path) -> None:
    parts(report)[1]["inputs"] = [None]


def no_parts(report: Any, out: Path) -> None:
    report["partition"]["parts"] = []


def parts_that_are_none(report: Any, out: Path) -> None:
    report["partition"]["parts"] = [1, "x"]


def partition_that_is_none(report: Any, out: Path) -> None:
    report["partition"] = "all"


def another_target(report: Any, out: Path) -> None:
    parts(report)[0]["target"] = "xla-cpu"


def target_that_is_none(report: Any, out: Path) -> None:
    parts(report)[0]["target"] = ["chip"]


def inputs_that_are_none(report: Any, out: Path) -> None:
    report["inputs"] = [{"name": "image"}]


def inputs_of_no_type(report: Any, out: Path) -> None:
    report["inputs"][0]["type"] = "tensor<4x"


def inputs_without_end(report: Any, out: Path) -> None:
    report["inputs"][0]["type"] = "tensor<99999999x99999999xf32>"


def states_of_nothing(report: Any, out: Path) -> None:
    report["states"] = [{"input": "image", "output": "probabilities", "initial": {"a": 1}}]


def states_without_end(report: Any, out: Path) -> None:
    report["inputs"].append({"name": "h", "type": "tensor<99999999x99999999xf32>"})
    report["states"] = [{"input": "h", "output": "probabilities", "initial": 0}]


WRONG = [
    swapped, cyclic, other_files, outside, linked, unlisted, gone, gone_of_the_chip, without_files, other_types, no_types,
    types_of_numbers, other_outputs, given_twice, names_that_are_none, no_parts, parts_that_are_none, partition_that_is_none,
    another_target, target_that_is_none, inputs_that_are_none, inputs_of_no_type, states_of_nothing, states_without_end]


@pytest.mark.plugin_fails
@pytest.mark.parametrize("change", WRONG)
def test_a_report_that_is_not_true(change: Callable[[Any, Path], None], made: Path, tmp_path: Path) -> None:
    out = changed(made, tmp_path, change)
    with pytest.raises(TransloadError) as raised:
        written = written_at(out)
        if written is None:
            transload.load(out)
        assert written is not None and written.run is not None
        written.run({"image": np.zeros((1, 1, 8, 8), np.float32)})
    assert "Traceback" not in str(raised.value)


def test_what_a_report_says_of_sizes_is_not_made(made: Path, tmp_path: Path, cli: Any) -> None:
    code, _, said = cli("run", changed(made, tmp_path, inputs_without_end))
    assert code == 3 and "more than" in said and "elements" in said


def test_what_one_part_calls_its_own_is_not_taken_for_what_another_gives(made: Path, tmp_path: Path) -> None:
    """With `keep`, a part tells of tensors within it; one called as an input of the model leaves that as it is."""
    given = {"image": np.random.default_rng(0).normal(size=(1, 1, 8, 8)).astype(np.float32)}
    plain = written_at(made)
    assert plain is not None and plain.run is not None
    expected = plain.run(given)

    def renamed(report: Any, out: Path) -> None:
        file = out / parts(report)[1]["files"][0]
        program = transload.load(file)
        for op in program.body_of_main:
            if op is not program.body_of_main.terminator and op.results and op.results[0].name not in program.outputs:
                op.location = "image"
        transload.save(program, file)

    written = written_at(changed(made, tmp_path, renamed))
    assert written is not None and written.run is not None
    found = written.run(given, keep=True)
    np.testing.assert_array_equal(found["probabilities"], expected["probabilities"])
