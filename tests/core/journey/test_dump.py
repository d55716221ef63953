"""The module after every stage and pass in a folder, going on from there, and passes of one's own at the hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli import run
from transload.context import Context
from transload.dump import Dumped
from transload.errors import ConversionError, ReadError, UsageError
from transload.ir import Module
from transload.made_with import made_with
from transload.plugin import Conversion, Pass, Target
from transload.plugin_host import Host
from transload.quantization import Quantization
from transload.text import print_module

from tests.core.journey.test_conversion import append, renaming
from tests.support.graphs import summing


@pytest.fixture(scope="session")
def digits(examples: Path) -> Path:
    return examples / "digits" / "digits_int8.tflite"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "report.json"}


def test_every_stage_and_pass_is_a_file_and_the_index_says_which(digits: Path, tmp_path: Path):
    plan = transload.plan(digits)
    transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", verify=False)
    index = json.loads((tmp_path / "steps" / "index.json").read_text())
    assert index["model"] == str(digits)
    assert [stage["stage"] for stage in index["stages"]] == [stage.name for stage in plan.stages if stage.name != "verify"]
    assert [step["pass"] for stage in index["stages"] for step in stage["steps"]] == plan.passes
    named = {step["file"] for stage in index["stages"] for step in stage["steps"]} | {"01-read.mlir"}
    assert {file.name for file in (tmp_path / "steps").iterdir()} == named | {"constants.npz", "index.json"}
    assert "04-top-to-tosa.18-cse.mlir" in named and "04-top-to-tosa.13-top-to-tosa.rewrites.mlir" in named
    last = transload.load(tmp_path / "steps" / index["stages"][4]["file"])
    assert print_module(last) == print_module(transload.lower(transload.load(digits)))
    assert f"this is a dump of {digits}, after pipeline" in last.notes[-1]


@pytest.mark.parametrize("stage", ["tfl-to-top", "hub", "top-to-tosa", "pipeline", "check"])
def test_a_conversion_goes_on_from_a_stage_to_the_same_bytes(digits: Path, tmp_path: Path, stage: str):
    whole = transload.convert(digits, out=tmp_path / "whole", dump=tmp_path / "steps")
    before = contents(tmp_path / "steps")
    again = transload.convert(digits, out=tmp_path / "again", dump=tmp_path / "steps", start=stage)
    assert contents(tmp_path / "again") == contents(tmp_path / "whole")
    after = contents(tmp_path / "steps")
    assert after.keys() == before.keys() and len(after["constants.npz"]) == len(before["constants.npz"])
    assert {name for name in before if name.endswith(".mlir")} == {n for n in after if after[n] == before[n] and n[-1] == "r"}
    assert again.verification is not None and whole.verification is not None
    assert again.verification.report() == whole.verification.report()


def test_what_was_changed_in_a_dump_is_what_goes_on(examples: Path, tmp_path: Path):
    digits = examples / "digits" / "digits_float.onnx"
    transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", verify=False)
    file = tmp_path / "steps" / "03-hub.02-canonicalize.mlir"
    text = file.read_text()
    assert "do_relu = true" in text
    file.write_text(text.replace("do_relu = true", "do_relu = false", 1))
    changed = transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", start="top-to-tosa")
    assert changed.verification is not None and changed.verification.failed
    assert f"{file}, from which this goes on, was changed since it was dumped; it is {digits}" in changed.report.notes[-1]


def test_a_dump_of_a_file_that_was_changed_since(examples: Path, tmp_path: Path):
    model, steps = tmp_path / "m.tflite", tmp_path / "steps"
    model.write_bytes((examples / "digits" / "digits_int8.tflite").read_bytes())
    transload.convert(model, out=tmp_path / "out", dump=steps, verify=False)
    model.write_bytes((examples / "digits" / "digits_float.tflite").read_bytes())
    for go_on in (lambda: transload.convert(model, out=tmp_path / "out", dump=steps, start="hub", verify=False),
                  lambda: transload.plan(model, dump=steps, start="hub")):
        with pytest.raises(UsageError, match="the dump of: it was changed"):
            go_on()


@pytest.mark.parametrize(("asked", "words"), [
    ({"inputs": {"image": (2, 1, 8, 8)}}, "stage 'read' is behind 'check', and was made with nothing said of it, and now --sha"),
    ({"passes": "dce"}, "stage 'hub' is behind 'check', and was made with fold-constants, canonicalize, and now "
                        "fold-constants, canonicalize, dce is asked for"),
    ({"passes": "canonicalize"}, "stage 'hub' .* was made with .*, and now fold-constants, canonicalize, canonicalize is asked"),
    ({"options": {"bias": "plain"}}, r"stage 'top-to-tosa' .* was made with plain-biases\{bias=fine\}, .*\{bias=plain\}"),
    ({"quantize": "int8", "data": [{"image": np.ones((1, 1, 8, 8), np.float32)}]}, "'top-to-tosa' .* floats, and now quant")])
def test_what_stages_behind_were_made_with_has_to_be_what_is_asked_for(
    asked: dict[str, Any], words: str, examples: Path, tmp_path: Path,
):
    """They do not run again: it was ignored, and the report said that it had been done."""
    model, given = examples / "digits" / "digits_float.onnx", {"verify": False, "dump": tmp_path / "steps"}
    transload.convert(model, out=tmp_path / "out", **given)
    with pytest.raises(UsageError, match=words) as raised:
        transload.convert(model, out=tmp_path / "out", start="check", **given, **asked)
    assert "transload convert" in raised.value.hint
    if "data" not in asked:
        with pytest.raises(UsageError, match=words):
            transload.plan(model, start="check", **given, **asked)
    if "inputs" not in asked:  # what is not behind is made as is asked for
        transload.convert(model, out=tmp_path / "out", start="hub", **given, **asked)


@pytest.mark.parametrize("stage", ["hub", "top-to-tosa", "pipeline", "check"])
def test_passes_at_the_hub_that_is_behind_are_those_of_the_dump(stage: str, digits: Path, tmp_path: Path):
    """They were refused as off the way, of which only the stages left were looked at, so that such a dump led nowhere."""
    asked: dict[str, Any] = {"passes": "layout{to=NHWC}", "verify": False, "dump": tmp_path / "steps"}
    transload.convert(digits, out=tmp_path / "whole", **asked)
    assert [each.name for each in transload.plan(digits, start=stage, passes=asked["passes"], dump=asked["dump"]).stages]
    transload.convert(digits, out=tmp_path / "again", start=stage, **asked)
    assert contents(tmp_path / "again") == contents(tmp_path / "whole")


def test_a_call_that_is_refused_leaves_a_dump_as_it_was(digits: Path, tmp_path: Path):
    """Texts were gone that its index names: they go when the first stage is entered, and the index says so at once."""
    module = transload.lower(transload.load(digits))  # is there already, so that nothing goes by the hub
    given: dict[str, Any] = {"verify": False, "dump": tmp_path / "steps", "out": tmp_path / "out"}
    transload.convert(module, **given)
    before = contents(tmp_path / "steps")
    with pytest.raises(UsageError, match="passes were given to run at top"):
        transload.convert(module, **given, start="pipeline", passes="dce")
    assert contents(tmp_path / "steps") == before


def test_a_dump_of_an_earlier_version_does_not_say_what_it_was_made_with(digits: Path, tmp_path: Path):
    transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", verify=False)
    file = tmp_path / "steps" / "index.json"
    index = json.loads(file.read_text())
    for entry in index["stages"]:
        entry.pop("made", None)
    file.write_text(json.dumps(index))
    with pytest.raises(UsageError, match="does not say what it was made with"):
        transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", start="hub", verify=False)


@pytest.mark.parametrize("made", [
    {}, "x", 5, [], {"module": "sha256:0"}, {"module": 1, "reading": []}, {"module": "m", "reading": 5},
    {"module": "m", "reading": [1]}])
def test_an_index_that_does_not_say_what_it_was_made_with_as_it_should_is_damaged(made: Any, digits: Path, tmp_path: Path):
    """It ended in a KeyError or TypeError."""
    transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", verify=False)
    file = tmp_path / "steps" / "index.json"
    index = json.loads(file.read_text())
    index["stages"][0]["made"] = made
    file.write_text(json.dumps(index))
    with pytest.raises(ReadError, match="does not read"):
        transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", start="hub", verify=False)


def test_what_is_read_otherwise_is_said_to_be(digits: Path, tmp_path: Path):
    """Nothing was said of it then and now: "made with nothing said of it, and now nothing said of it is asked for"."""
    transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", verify=False)
    file = tmp_path / "steps" / "index.json"
    index = json.loads(file.read_text())
    index["stages"][0]["made"]["module"] = "sha256:0"
    file.write_text(json.dumps(index))
    with pytest.raises(UsageError, match="and now the same is read otherwise, by another version, or the module was edited"):
        transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", start="hub", verify=False)


def test_samples_that_say_only_where_they_lie_are_not_compared():
    """Arrays of other libraries may be shown by their addresses, and were others at each call."""
    class Held:
        def __array__(self, dtype=None, copy=None):
            return np.zeros((1, 4), np.float32)

    def told(data: Any) -> Any:
        return made_with(summing(), Quantization("int8"), data)["quantize"]["data"]

    for held in ([{"x0": Held()}], [Held()], {"x0": [Held()]}, [np.array([Held()], object)]):
        assert told(held) is None
    same = [told([{"x0": np.full((1, 4), number, np.float32)}]) for number in (1, 1, 2)]
    assert same[0] is not None and same[0] == same[1] != same[2]


def test_states_and_notes_go_with_a_dump(models: Path, tmp_path: Path):
    model = next((models / "tflite" / "tflm_mnist_lstm_float").glob("*.tflite"))
    options = {"state": "explicit"}
    whole = transload.convert(model, out=tmp_path / "whole", dump=tmp_path / "steps", verify=False, options=options)
    read = transload.load(tmp_path / "steps" / "03-hub.02-canonicalize.mlir")
    assert [(s.input, s.output) for s in read.states] == [(s.input, s.output) for s in whole.module.states]
    for mine, theirs in zip(read.states, whole.module.states, strict=True):
        assert np.array_equal(mine.initial.numpy(), theirs.initial.numpy())
    assert read.notes[:-1] == whole.module.notes


def test_a_stage_or_folder_that_is_not_there_is_said(digits: Path, tmp_path: Path, examples: Path):
    with pytest.raises(UsageError, match="where is the dump to go on from at stage 'hub'"):
        transload.convert(digits, out=tmp_path / "out", start="hub")
    with pytest.raises(ReadError, match="holds no dump"):
        transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", start="hub")
    transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", verify=False)
    with pytest.raises(UsageError) as caught:
        transload.convert(digits, out=tmp_path / "out", dump=tmp_path / "steps", start="top-to-tsa")
    assert "did you mean 'top-to-tosa'?" in caught.value.hint
    with pytest.raises(UsageError, match=r"holds the dump of .*digits_int8.tflite, not of .*digits_float.onnx"):
        transload.convert(
            examples / "digits" / "digits_float.onnx", out=tmp_path / "out", dump=tmp_path / "steps", start="top-to-tosa")
    index = tmp_path / "steps" / "index.json"
    index.write_text(index.read_text().replace("01-read.mlir", "../01-read.mlir"))
    with pytest.raises(ReadError, match="does not read"):
        Dumped(tmp_path / "steps")


def test_a_stage_that_fails_is_in_the_index_with_all_that_was_done_before(kit, tmp_path: Path):
    from transload.dump import Dump
    from transload.journey import convert_to

    table = renaming(a__x="b.x")
    table.refuse({"a.y": ("cannot be said", "")})
    kit.add(Pass("first", append("a.x")), Conversion("a-to-b", "a", "b", table, before="first"))
    with pytest.raises(ConversionError):
        convert_to(kit.module("a.y"), ("b",), observers=[Dump(tmp_path, "toy")])
    stages = json.loads((tmp_path / "index.json").read_text())["stages"]
    assert [step["pass"] for step in stages[0]["steps"]] == ["first"] and "cannot be said" in stages[0]["error"]
    assert (tmp_path / "01-a-to-b.01-first.mlir").exists()


def test_opt_and_convert_read_a_dump_with_its_constants(digits: Path, tmp_path: Path, capsys: Any):
    assert run(["convert", str(digits), "-o", str(tmp_path / "out"), "--dump", str(tmp_path / "steps"), "-q"]) == 0
    hub = tmp_path / "steps" / "03-hub.02-canonicalize.mlir"
    assert run(["opt", str(hub), "-p", "top-to-tosa", "-o", str(tmp_path / "tosa.mlir")]) == 0
    assert print_module(transload.load(tmp_path / "tosa.mlir")) == print_module(
        transload.load(tmp_path / "steps" / "04-top-to-tosa.19-dce.mlir"))
    capsys.readouterr()
    assert run(["convert", str(digits), "--dump", str(tmp_path / "steps"), "--from", "pipeline", "--show-pipeline"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == ["# read", "# pipeline: passes of tosa", "inline,"]
    assert run(["convert", str(digits), "-o", str(tmp_path / "out"), "--dump", str(tmp_path / "steps"), "--from", "hub"]) == 0
    assert "verification against litert: passed" in " ".join(capsys.readouterr().out.split())


# --- passes at the hub


def counting(seen: list[str], name: str) -> Any:
    def count(module: Module) -> bool:
        seen.append(f"{name}: {' '.join(sorted({op.dialect for op in module.ops()} - {'func'}))}")
        return False

    return count


class Chip(Target):
    name, doc, accepts, pipeline = "chip", "Takes the hub.", ("top",), "mine"


def test_passes_of_plugins_and_of_the_user_run_at_the_hub(digits: Path, tmp_path: Path):
    seen: list[str] = []
    host = Host()
    host.passes["adds"] = Pass("adds", counting(seen, "adds"), at="hub")
    host.passes["mine"] = Pass("mine", counting(seen, "mine"))
    host.targets["chip"] = Chip()
    with Context(host).bind():
        plan = transload.plan(digits, passes="mine")
        assert [str(step) for stage in plan.stages if stage.name == "hub" for step in stage.steps] == [
            "fold-constants", "canonicalize", "adds", "mine"]
        transload.convert(digits, out=tmp_path, verify=False, passes="mine")
        assert seen == ["adds: top", "mine: top"]
        plan = transload.plan(digits, "chip", passes="mine")
        assert [(stage.name, [str(step) for step in stage.steps]) for stage in plan.stages[2:4]] == [
            ("hub", ["mine"]), ("pipeline", ["mine"])]
        seen.clear()
        transload.lower(transload.load(digits), to="top")
        assert seen == []
        with pytest.raises(UsageError, match="passes were given to run at top, and the way to tosa does not go by it"):
            transload.convert(transload.lower(transload.load(digits)), out=tmp_path, passes="mine")
        with pytest.raises(UsageError, match="no pass is called 'mien'"):
            transload.plan(digits, passes="mien")


def test_where_a_pass_runs_by_itself_is_checked_when_it_is_registered():
    from transload import hookimpl
    from transload.errors import PluginError

    class Wrong:
        @hookimpl
        def register_passes(self, register: Any) -> None:
            register(Pass("adds", counting([], "adds"), at="top"))

    with pytest.raises(PluginError, match="at must be 'hub', or empty, and is 'top'"):
        Host(points=[]).register(Wrong())


@pytest.mark.parametrize("index", ['{"name": "a site", "stages": []}', '[{"title": "mine"}]'])
def test_the_index_of_another_program_stays(index: str, digits: Path, tmp_path: Path):
    (tmp_path / "index.json").write_text(index)
    with pytest.raises(UsageError, match=r"index\.json is not what Transload writes there"):
        transload.convert(digits, out=tmp_path / "out", dump=tmp_path, verify=False)
    assert (tmp_path / "index.json").read_text() == index


def test_only_what_is_called_as_a_text_of_a_dump_goes_with_it(digits: Path, tmp_path: Path):
    (tmp_path / "mine.mlir").write_text("mine")
    (tmp_path / "99-old.mlir").write_text("old")
    stages = [{"stage": "read", "file": name, "steps": []} for name in ("mine.mlir", "99-old.mlir")]
    (tmp_path / "index.json").write_text(json.dumps({"model": "m", "stages": stages}))
    transload.convert(digits, out=tmp_path / "out", dump=tmp_path, verify=False)
    assert (tmp_path / "mine.mlir").read_text() == "mine" and not (tmp_path / "99-old.mlir").exists()
