"""Conversion of many models: the same artifacts as one by one, nothing done twice, and none that stops the others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.cli import run
from transload.context import Context
from transload.errors import TransloadError, UsageError
from transload.input_shapes import sizes_given
from transload.plugin_host import Host
from transload.scale import Crew, conversions, models_in
from transload.scale import convert_all as convert_and_verify_all
from transload.scale.conversions import MANIFEST
from transload.scale.requests import Request


def convert_all(*given, **how):
    """Without verification, which is half of the work, where a test does not look at it."""
    return convert_and_verify_all(*given, **{"verify": "no", **how})


@pytest.fixture
def zoo(tmp_path, examples):
    """A folder with a folder, two models, one that is damaged, and what is no model."""
    digits = examples / "digits"
    folder = tmp_path / "zoo"
    (folder / "float").mkdir(parents=True)
    shutil.copy(digits / "digits_int8.tflite", folder)
    shutil.copy(digits / "digits_float.onnx", folder / "float")
    (folder / "cut.tflite").write_bytes((digits / "digits_int8.tflite").read_bytes()[:500])
    (folder / "notes.txt").write_text("no model")
    (folder / "train.py").write_text('"""Begins as text of MLIR does."""\n')
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """All files that were written, but for reports, which say how long it took."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*")
            if file.is_file() and file.suffix != ".json"}


def test_each_model_has_the_artifacts_that_it_has_alone(zoo, tmp_path):
    made = convert_and_verify_all(zoo, "tosa", tmp_path / "out", workers=2)
    assert [(each.name, each.way, each.exit_code) for each in made] == [
        ("cut.tflite", "refused", 3), ("digits_int8.tflite", "converted", 0), ("float/digits_float.onnx", "converted", 0)]
    assert made[0].error is not None and "cut.tflite" in made[0].error.message
    for each in made[1:]:
        alone = tmp_path / "alone" / each.name
        transload.convert(each.model, "tosa", alone)
        assert files_of(each.directory) == files_of(alone)
        assert each.report["verification"]["status"] == "passed"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("workers", [3, 1])
def test_the_number_of_workers_changes_nothing(zoo, tmp_path, workers):
    convert_all(zoo, "tosa", tmp_path / "two", workers=2)
    convert_all(zoo, "tosa", tmp_path / "other", workers=workers)
    assert files_of(tmp_path / "two") == files_of(tmp_path / "other")


def ways(made) -> list[str]:
    return [each.way for each in made if each.report is not None and each.report["status"] == "converted"]


def test_what_is_there_of_the_same_request_is_kept(zoo, tmp_path):
    out = tmp_path / "out"

    def converted(**asked):
        return ways(convert_and_verify_all([zoo / "float", zoo / "cut.tflite"], "tosa", out, workers=1, **asked))

    assert converted() == ["converted"] and converted() == ["kept"]
    assert converted(seed=1) == ["converted"]  # another request
    assert converted(seed=1, anew=True) == ["converted"]
    (out / "digits_float.onnx" / "digits_float.tosa").unlink()
    assert converted(seed=1) == ["converted"] and converted(seed=1) == ["kept"]
    with sizes_given(batch=1):
        assert converted(seed=1) == ["converted"]


def test_a_file_with_another_byte_in_it_is_not_kept(zoo, tmp_path):
    """It has the length that it had, and was handed on as if it were whole."""
    out = tmp_path / "out"
    convert_all(zoo, "tosa", out, workers=1)
    file = out / "digits_int8.tflite" / "digits_int8.tosa"
    known = file.read_bytes()
    file.write_bytes(known[:-1] + bytes([known[-1] ^ 1]))
    assert ways(convert_all(zoo, "tosa", out, workers=1)) == ["converted", "kept"]
    assert file.read_bytes() == known


def test_what_is_said_as_it_is_by_default_is_the_same_request(zoo, tmp_path, capsys):
    out = tmp_path / "out"
    run(["convert", str(zoo / "float"), "-t", "tosa", "-o", str(out), "-q"])
    assert ways(convert_all(zoo / "float", "tosa", out, verify=True, seed=0, options={})) == ["kept"]


def test_another_content_is_another_request(zoo, tmp_path, examples):
    out = tmp_path / "out"
    convert_all(zoo, "tosa", out, workers=1)
    shutil.copy(examples / "digits" / "digits_int8.tflite", zoo / "cut.tflite")
    assert [each.way for each in convert_all(zoo, "tosa", out, workers=1)] == ["converted", "kept", "kept"]


def test_folders_with_a_report_of_another_program_are_looked_into(zoo, tmp_path, examples):
    (zoo / "float" / "report.json").write_text('{"accuracy": 0.9}')
    assert "float/digits_float.onnx" in dict(models_in([zoo]))
    transload.convert(examples / "digits" / "digits_int8.tflite", "tosa", zoo / "made")
    assert not [name for name in dict(models_in([zoo])) if name.startswith("made")]


def test_the_list_of_another_program_stays(zoo, tmp_path):
    (tmp_path / MANIFEST).write_text('{"mp4": ["webm"]}')
    with pytest.raises(UsageError, match="is not what Transload writes there"):
        convert_all(zoo, "tosa", tmp_path, workers=1)
    assert (tmp_path / MANIFEST).read_text() == '{"mp4": ["webm"]}' and len(list(tmp_path.iterdir())) == 2


def test_a_call_that_was_broken_off_goes_on(zoo, tmp_path):
    out = tmp_path / "out"
    seen = []

    def breaks_off(made):
        seen.append(made.name)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_all(zoo, "tosa", out, workers=1, tell=breaks_off)
    noted = json.loads((out / MANIFEST).read_text())["models"]
    assert sorted(noted) == sorted(seen)
    again = {each.name: each.way for each in convert_all(zoo, "tosa", out, workers=1)}
    assert all(again[name] == "kept" for name in seen if name != "cut.tflite")


def copies_of(model: Path, folder: Path) -> list[Path]:
    """The folder of six copies of a model, all of its name."""
    for number in range(6):
        (folder / "copies" / str(number)).mkdir(parents=True)
        shutil.copy(model, folder / "copies" / str(number))
    return [folder / "copies"]


class TestCache:
    """Conversions by content."""

    def test_another_folder_takes_what_was_made(self, zoo, tmp_path):
        cache = tmp_path / "cache"
        first = convert_all(zoo, "tosa", tmp_path / "a", workers=2, cache=cache)
        second = convert_all(zoo, "tosa", tmp_path / "b", workers=2, cache=cache)
        assert ways(first) == ["converted", "converted"] and ways(second) == ["cached", "cached"]
        assert files_of(tmp_path / "a") == files_of(tmp_path / "b")

    def test_the_same_model_elsewhere(self, zoo, tmp_path):
        cache = tmp_path / "cache"
        convert_all(zoo / "digits_int8.tflite", "tosa", tmp_path / "a", cache=cache)
        other = tmp_path / "digits_int8.tflite"
        shutil.copy(zoo / "digits_int8.tflite", other)
        (made,) = convert_all(other, "tosa", tmp_path / "b", cache=cache)
        assert made.way == "cached" and made.report["model"] == str(other)

    def test_artifacts_are_called_as_their_model_though_another_has_the_same_bytes(self, zoo, tmp_path):
        """They had the name of the first."""
        other = tmp_path / "other.tflite"
        shutil.copy(zoo / "digits_int8.tflite", other)
        for model in (zoo / "digits_int8.tflite", other):
            (made,) = convert_all(model, "tosa", tmp_path / "out", cache=tmp_path / "cache")
            assert made.way == "converted" and list(made.report["files"]) == [f"{model.stem}.tosa"]

    def test_the_name_of_a_model_that_is_a_folder_is_the_folders(self, tmp_path):
        folders = [tmp_path / name for name in ("one", "two", "deeper/one")]
        for folder in folders:
            folder.mkdir(parents=True)
            (folder / "saved_model.pb").write_bytes(b"")
        first, second, third = (Request(folder / "saved_model.pb", {}).digest for folder in folders)
        assert first == third != second

    def test_where_it_cannot_be_written_nothing_is_converted(self, zoo, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(TransloadError, match=r"cache cannot be written: .* is a file"):
            convert_all(zoo, "tosa", tmp_path / "out", workers=1, cache=tmp_path / "file" / "cache")
        assert not (tmp_path / "out").exists()

    @pytest.mark.slow
    def test_two_calls_at_once_into_one_folder(self, zoo, tmp_path):
        """Both end well, and what is there is whole."""
        command = [sys.executable, "-m", "transload", "convert", zoo, "-t", "tosa", "-o", tmp_path / "out",
                   "--cache", tmp_path / "cache", "--workers", "1", "-q"]
        running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
        said = [each.communicate()[1] for each in running]
        assert [each.returncode for each in running] == [3, 3], said  # as the damaged model has it
        convert_and_verify_all(zoo, "tosa", tmp_path / "alone", workers=1)
        assert files_of(tmp_path / "out") == files_of(tmp_path / "alone")
        assert ways(convert_and_verify_all(zoo, "tosa", tmp_path / "out", workers=1)) == ["kept", "kept"]
        assert not [each for where in ("out", "cache") for each in (tmp_path / where).rglob(".transload-*")]

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize("damage", ["cut", "other bytes", "no report", "half a report", "no files", "a file in its place"])
    def test_a_damaged_entry_is_none_and_is_replaced(self, zoo, tmp_path, damage):
        cache = tmp_path / "cache"
        model = zoo / "digits_int8.tflite"
        convert_all(model, "tosa", tmp_path / "a", cache=cache)
        (artifact,) = cache.rglob("*.tosa")
        (report,) = cache.rglob("report.json")
        content = artifact.read_bytes()
        if damage == "cut":
            artifact.write_bytes(content[:100])
        elif damage == "other bytes":  # as many as there were: zeros, as a file has that was not yet on the disk
            artifact.write_bytes(content[:100] + bytes(len(content) - 100))
        elif damage == "no report":
            report.unlink()
        elif damage == "half a report":
            report.write_text(report.read_text()[:200])
        else:
            (entry,) = cache.glob("*/*/*")
            shutil.rmtree(entry)
            entry.mkdir() if damage == "no files" else entry.touch()
        again = [convert_all(model, "tosa", tmp_path / name, cache=cache)[0].way for name in ("b", "c")]
        assert again == ["converted", "cached"]
        assert files_of(tmp_path / "c") == files_of(tmp_path / "a")
        assert not list(cache.rglob(".transload-*"))

    @pytest.mark.slow
    def test_several_writers_replace_a_damaged_entry(self, zoo, tmp_path):
        """Six copies of a model, at once, by three processes, and an entry that holds half a report."""
        model = zoo / "digits_int8.tflite"
        convert_all(model, "tosa", tmp_path / "a", cache=tmp_path / "cache")
        (report,) = (tmp_path / "cache").rglob("report.json")
        report.write_text(report.read_text()[:200])
        copies = copies_of(model, tmp_path)
        made = convert_all(copies, "tosa", tmp_path / "out", workers=3, cache=tmp_path / "cache")
        assert {each.exit_code for each in made} == {0} and {each.way for each in made} <= {"converted", "cached"}
        assert len(list((tmp_path / "cache").rglob("*.tosa"))) == 1
        assert convert_all(model, "tosa", tmp_path / "b", cache=tmp_path / "cache")[0].way == "cached"
        assert not list((tmp_path / "cache").rglob(".transload-*"))

    def test_several_writers_leave_whole_entries(self, zoo, tmp_path):
        """Six copies of a model, at once, by three processes: the same request."""
        copies = copies_of(zoo / "digits_int8.tflite", tmp_path)
        made = convert_all(copies, "tosa", tmp_path / "out", workers=3, cache=tmp_path / "cache")
        assert {each.exit_code for each in made} == {0}
        assert len(list((tmp_path / "cache").rglob("*.tosa"))) == 1
        assert not list((tmp_path / "cache").rglob(".transload-*"))

    def test_a_file_that_an_option_names_is_a_part_of_the_request(self, zoo, tmp_path, monkeypatch):
        """Its path alone was: a table that was calibrated anew gave the artifacts of the one before."""
        monkeypatch.chdir(tmp_path)
        model = transload.load(zoo / "float" / "digits_float.onnx")
        samples = list(np.random.default_rng(0).normal(size=(4, 1, 1, 8, 8)).astype(np.float32))
        how = {"workers": 1, "cache": "cache", "quantize": "int8", "quantizer_options": {"calibration": "digits.table"}}

        def converted(out: str) -> tuple[list[str], dict[str, bytes]]:
            made = convert_all(zoo / "float", "tosa", out, **how)
            assert made[0].error is None  # a worker stands elsewhere, and finds it all the same
            return ways(made), files_of(tmp_path / out)

        seen = []
        for scale in (1.0, 20.0):
            transload.calibrate(model, [{"image": each * scale} for each in samples], "minmax").save("digits.table")
            way, files = converted("out")
            assert way == ["converted"]
            seen.append(files)
            assert converted("out") == (["kept"], files) and converted(f"other{scale}") == (["cached"], files)
        assert seen[0] != seen[1]

    @pytest.mark.parametrize("what", [
        "digits.table", "digits.table.npz", "samples/image.npy", "samples/new.npy", "zoo/float/digits_float.onnx"])
    def test_what_changes_while_models_are_converted_is_kept_as_nothing_elses(self, what, zoo, tmp_path, monkeypatch):
        """Tables were looked at before all models, so that what one became later was kept as made with what it had been."""
        model, table = zoo / "float" / "digits_float.onnx", tmp_path / "digits.table"
        samples = list(np.random.default_rng(0).normal(size=(4, 1, 1, 8, 8)).astype(np.float32))
        (tmp_path / "samples").mkdir()
        np.save(tmp_path / "samples" / "image.npy", samples[0])
        asked = conversions._request("tosa", {
            "quantize": "int8", "quantizer_options": {"calibration": str(table)}, "data": str(tmp_path / "samples"),
            "verify": False})

        def calibrated(scale: float) -> None:
            transload.calibrate(transload.load(model), [{"image": each * scale} for each in samples], "kl").save(table)

        def made(number: int) -> str | None:
            answer = conversions.convert_one(str(model), str(tmp_path / f"out{number}"), asked, None, str(tmp_path / "cache"))
            assert answer["way"] == ("cached" if number == 2 else "converted"), answer["error"]
            return answer["request"]

        calibrated(1.0)
        first = made(1)
        assert first is not None and made(2) == first
        calibrated(20.0)  # after one model, before the next
        assert made(3) not in (None, first)
        convert = conversions.convert

        def meanwhile(*given, **how):
            artifact = convert(*given, **how)
            file = tmp_path / what
            file.write_bytes(file.read_bytes() if file.exists() else b"")
            return artifact

        calibrated(40.0)
        monkeypatch.setattr(conversions, "convert", meanwhile)
        known = set((tmp_path / "cache").rglob("*"))
        assert made(4) is None and set((tmp_path / "cache").rglob("*")) == known

    def test_samples_of_a_function_are_not_cached(self, zoo, tmp_path):
        script = tmp_path / "made.py"
        script.write_text("import numpy as np\ndef some():\n    yield {'image': np.zeros((1, 1, 8, 8), np.float32)}\n")
        how = {"data": f"python:{script}:some", "cache": tmp_path / "cache", "workers": 1}
        for _ in range(2):
            (made,) = convert_and_verify_all(zoo / "float", "tosa", tmp_path / "out", **how)
            assert made.way != "cached"


def test_a_cluster_gives_the_same(zoo, tmp_path):
    distributed = pytest.importorskip("distributed")
    convert_all(zoo, "tosa", tmp_path / "here", workers=1)
    with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1") as cluster:
        convert_all(zoo, "tosa", tmp_path / "there", scheduler=cluster.scheduler_address)
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")


def test_names_of_models_in_folders(zoo):
    assert [name for name, _ in models_in([zoo])] == ["cut.tflite", "digits_int8.tflite", "float/digits_float.onnx"]


def test_two_models_of_one_name_are_refused(zoo, tmp_path):
    other = tmp_path / "digits_int8.tflite"
    shutil.copy(zoo / "digits_int8.tflite", other)
    with pytest.raises(UsageError, match="would both be written to"):
        convert_all([other, zoo / "digits_int8.tflite"], "tosa", tmp_path / "out")


@pytest.mark.parametrize(("how", "words"), [
    ({"inputs": {"x": (1,)}}, "inputs is not for many models"), ({"verify": "perhaps"}, "verify must be"),
    ({"options": {"levle": "8K"}}, "levle"), ({"data": [1, 2]}, "a function by its name"), ({"workers": 0}, "1 is the least"),
    ({"passes": "canonicalise"}, "canonicalise"), ({"passes": "layout{too=NHWC}"}, "too"), ({"engine": "nothing"}, "no engine"),
    ({"tolerance": ["nothing=1"]}, "nothing"), ({"quantize": "nothing"}, "no quantizer"), ({"format": "nothing"}, "no reader"),
    ({"quantizer_options": {"method": "mse"}}, "of which quantizer"), ({"verify": "no", "engine": "reference"}, "left out"),
    ({"quantize": "float", "quantizer_options": {"nothing": "1"}}, "has no option nothing"), ({"host": "nothing"}, "nothing")])
def test_mistakes_are_said_before_anything_is_done(zoo, tmp_path, how, words):
    with pytest.raises(UsageError, match=words):
        convert_and_verify_all(zoo, "tosa", tmp_path / "out", **how)
    assert not (tmp_path / "out").exists()


def test_a_folder_cannot_be_converted_into_itself(zoo, tmp_path):
    before = files_of(zoo)
    with pytest.raises(UsageError, match="is a file; give a directory"):
        convert_all(zoo, "tosa", zoo)
    assert files_of(zoo) == before


def test_a_mistake_that_only_a_model_shows_is_one_still(zoo, tmp_path):
    (made,) = convert_all(zoo / "digits_int8.tflite", "tosa", tmp_path / "out", workers=1, add_postprocess="nothing")
    with pytest.raises(UsageError) as alone:
        transload.convert(zoo / "digits_int8.tflite", "tosa", tmp_path / "alone", add_postprocess="nothing")
    assert (made.way, made.exit_code, made.error.kind) == ("failed", alone.value.exit_code, "UsageError")


class TestCommand:
    """`transload convert` of several models."""

    def test_the_table_and_the_exit_code(self, zoo, tmp_path, capsys):
        code = run(["convert", str(zoo), "-t", "tosa", "-o", str(tmp_path / "out"), "--workers", "2"])
        out = capsys.readouterr().out
        assert code == json.loads((tmp_path / "out" / MANIFEST).read_text())["models"]["cut.tflite"]["exit_code"] == 3
        assert "float/digits_float.onnx" in out and "2 converted" in out

    def test_standard_error_has_the_errors(self, zoo, tmp_path, capsys, monkeypatch):
        models = [zoo / "cut.tflite", zoo / "float"]
        made = convert_and_verify_all(models, "stablehlo", tmp_path / "out", workers=1, tolerance=["max_abs=1e-30"])
        monkeypatch.setattr("transload.scale.convert_all", lambda *given, **asked: made)
        for how in ([], ["-q"], ["--json"]):
            assert run(["convert", *map(str, models), *how]) == 4
            told = capsys.readouterr()
            assert bool(told.out) == (how != ["-q"])
            assert told.err.count("error: ") == 2 and f"error: {zoo / 'cut.tflite'} cannot be read\n  • " in told.err
            assert "error: digits_float.onnx: converted, and verification failed\n  • probabilities: max_abs" in told.err

    def test_json(self, zoo, tmp_path, capsys):
        code = run(["convert", str(zoo / "digits_int8.tflite"), str(zoo / "float"), "-o", str(tmp_path / "out"), "--json"])
        found = json.loads(capsys.readouterr().out)
        assert code == found["exit_code"] == 0
        assert [each["report"]["status"] for each in found["models"]] == ["converted", "converted"]

    def test_what_speaks_of_one_model_is_refused(self, zoo, tmp_path, capsys):
        code = run(["convert", str(zoo), "-o", str(tmp_path / "out"), "--shape", "x:1x8"])
        assert code == 2 and "--shape is for one model" in capsys.readouterr().err

    def test_a_folder_without_models_is_no_model(self, tmp_path, capsys):
        code = run(["convert", str(tmp_path), "-o", str(tmp_path / "out")])
        assert code == 3 and "is a directory, not a model file" in capsys.readouterr().err


def test_the_folder_of_a_conversion_is_one_model(zoo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was taken for one of many; but for what lies beside the artifact in it, and inside of another folder."""
    first, second, many = (tmp_path / name for name in ("first", "second", "many"))
    assert run(["convert", str(zoo / "digits_int8.tflite"), "-o", str(first)]) == 0
    assert run(["convert", str(first), "-t", "tosa", "-o", str(second)]) == 0
    assert sorted(each.name for each in second.iterdir()) == ["digits_int8.tosa", "report.json"]
    assert list(models_in([first])) == [("first", first)]
    shutil.copytree(first, zoo / "made")
    assert [name for name, _ in models_in([zoo])] == ["cut.tflite", "digits_int8.tflite", "float/digits_float.onnx"]
    shutil.copy(zoo / "float" / "digits_float.onnx", first)
    assert [name for name, _ in models_in([first])] == ["digits_float.onnx", "digits_int8.tosa"]
    capsys.readouterr()
    assert run(["convert", str(zoo / "float"), "-o", str(many)]) == 0
    for command in (["convert", str(many), "-o", str(tmp_path / "none")], ["run", str(many)], ["inspect", str(many)]):
        assert run(command) == 3
        said = " ".join(capsys.readouterr().err.split())
        assert "is what many models were converted to" in said and f"can be given: {many / 'digits_float.onnx'}" in said


def test_a_folder_that_leads_back_to_itself(examples: Path, tmp_path: Path) -> None:
    """Each model was found 41 times, as often as the system follows links."""
    shutil.copy(examples / "digits" / "digits_int8.tflite", tmp_path / "m.tflite")
    (tmp_path / "self").symlink_to(".")
    assert list(models_in([tmp_path])) == [("m.tflite", tmp_path / "m.tflite")]


def test_a_line_break_in_a_name_begins_no_row(
        examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "zoo").mkdir()
    shutil.copy(examples / "digits" / "digits_int8.tflite", tmp_path / "zoo" / "a\nother.tflite")
    assert run(["convert", str(tmp_path / "zoo"), "-t", "tosa", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "a\\nother.tflite" in said and not any(line.startswith("other") for line in said.splitlines())


class TestSkipped:
    """What has a model's name in a folder, and cannot be read at all, is said."""

    @pytest.fixture
    def odd(self, zoo: Path) -> Path:
        (zoo / "empty.onnx").touch()
        (zoo / "float" / "gone.tflite").symlink_to("nowhere.tflite")
        os.mkfifo(zoo / "pipe.tflite")
        return zoo

    def test_each_with_its_reason(self, odd: Path, tmp_path: Path) -> None:
        made = {each.name: each for each in convert_all(odd, "tosa", tmp_path / "out", workers=2)}
        skipped = {name: each.error.message.partition(": ")[2] for name, each in made.items() if each.way == "skipped"}
        assert skipped == {"empty.onnx": "is empty", "float/gone.tflite": "is a link that leads nowhere",
                           "pipe.tflite": "is a pipe, not a file"}
        assert all(made[name].exit_code == 0 and made[name].report is None for name in skipped)
        assert made["digits_int8.tflite"].way == "converted"
        lines = json.loads((tmp_path / "out" / MANIFEST).read_text())["models"]
        assert {name for name, line in lines.items() if line["status"] == "skipped"} == set(skipped)

    def test_the_table_says_it(self, odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (odd / "cut.tflite").unlink()
        code = run(["convert", str(odd), "-t", "tosa", "-o", str(tmp_path / "out"), "--workers", "2"])
        said = capsys.readouterr().out
        assert code == 0 and "3 skipped" in said and "2 converted" in said and "is empty" in said

    def test_a_folder_with_nothing_else(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "zoo").mkdir()
        (tmp_path / "zoo" / "m.onnx").touch()
        code = run(["convert", str(tmp_path / "zoo"), "-o", str(tmp_path / "out")])
        said = " ".join(capsys.readouterr().err.split())
        assert code == 2 and "holds no file that a reader takes" in said and "m.onnx: is empty" in said
        os.mkfifo(tmp_path / "zoo" / "saved_model.pb")
        (tmp_path / "zoo" / "m.onnx").unlink()
        code = run(["convert", str(tmp_path / "zoo"), "-o", str(tmp_path / "out")])
        said = " ".join(capsys.readouterr().err.split())
        assert code == 2 and "is a pipe, not a file; write what comes out of it" in said, "what to do is no text of a name's"

    def test_what_is_named_is_no_part_of_a_folder(self, odd: Path, tmp_path: Path) -> None:
        """A file that a user names is refused, as alone."""
        (made,) = convert_all([odd / "empty.onnx"], "tosa", tmp_path / "out", workers=1)
        assert made.way == "refused" and made.exit_code == 3


def test_the_largest_are_begun_first(zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    class Watched(Crew):
        def done(self, function, tasks):
            begun.extend(Path(task[0]).name for task in tasks)
            return super().done(function, tasks)

    monkeypatch.setattr(conversions, "Crew", Watched)
    made = convert_all(zoo, "tosa", tmp_path / "out", workers=1)
    assert begun == sorted(begun, key=lambda name: -next(zoo.rglob(name)).stat().st_size)
    assert [each.name for each in made] == ["cut.tflite", "digits_int8.tflite", "float/digits_float.onnx"]


class Mole(transload.Target):
    name, doc, accepts = "mole", "For tests.", ("tosa",)

    def takes(self, op, options):
        return op.name == "tosa.conv2d"

    def emit(self, module, directory, stem, options):
        return transload.Emitted([transload.save(module, directory / f"{stem}.mlir")])


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("asked", "what"), [
    ({"target": "mole"}, "target 'mole'"), ({"target": "tp-small", "host": "mole"}, "target 'mole'"),
    ({"target": "tosa", "quantize": "quick"}, "quantizer 'quick'"),
    ({"target": "tosa", "passes": "dce,tunnel{deep=3}"}, "pass 'tunnel'"),
    ({"target": "tosa"}, "reader 'hut'"), ({"target": "tosa", "format": "hut"}, "reader 'hut'")])
def test_what_only_this_process_knows_is_told_before_any_work(asked, what, zoo, tmp_path):
    """It was told for each model, as if there were no such thing: workers have the plugins of installed packages."""
    class Plugin:
        @transload.hookimpl
        def register_targets(self, register):
            register(Mole())

        @transload.hookimpl
        def register_quantizers(self, register):
            register(transload.Quantizer("quick", lambda module, samples: module))

        @transload.hookimpl
        def register_passes(self, register):
            register(transload.Pass("tunnel", lambda module, deep=1: False))

        @transload.hookimpl
        def register_readers(self, register):
            register(transload.Reader("hut", "top", (".hut",), lambda source, inputs: None))

    own, request = Host(), dict(asked)
    own.register(Plugin(), "moles")
    if what == "reader 'hut'":
        (zoo / "a.hut").write_text("hut")
    with Context(own).bind():
        with pytest.raises(UsageError, match=f"{what} is of plugin 'moles' .* processes that work on many models") as raised:
            convert_all(zoo, request.pop("target"), tmp_path / "out", workers=1, **request)
        assert "one model at a time" in raised.value.hint and not (tmp_path / "out").exists()
        if what != "reader 'hut'":
            return
        (zoo / "a.hut").unlink()
        if "format" not in asked:  # one that is not used is in nobody's way
            assert [each.way for each in convert_all(zoo / "float", "tosa", tmp_path / "out", workers=1)] == ["converted"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("order", [["zoo"], ["zoo/conversions.json", "zoo/h.tflite"], ["zoo/h.tflite", "zoo/conversions.json"]])
def test_the_name_of_the_table_is_not_a_models(order: list[str], models: Path, tmp_path: Path) -> None:
    """All ended at its folder, which lies where the table does; the others go on."""
    (zoo := tmp_path / "zoo").mkdir()
    shutil.copytree(models / "tf_savedmodel" / "half_plus_two_cpu", zoo / "conversions.json")
    shutil.copy(models / "tflite" / "tflm_hello_world_float" / "hello_world_float.tflite", zoo / "h.tflite")
    for _ in range(2):
        made = {each.name: each for each in transload.convert_all(
            [tmp_path / each for each in order], "tosa", tmp_path / "out", workers=1, verify=False)}
        refused = made["conversions.json"]
        assert refused.way == "failed" and refused.exit_code == 2 and refused.error is not None
        assert "the table of all conversions lies" in refused.error.message and "another name" in refused.error.hint
        assert made["h.tflite"].report is not None and (tmp_path / "out" / "h.tflite" / "report.json").exists()
        lines = json.loads((tmp_path / "out" / "conversions.json").read_text())["models"]
        assert lines["conversions.json"]["status"] == "failed" and lines["h.tflite"]["status"] != "failed"


def test_names_that_are_one_in_the_folder_are_of_one_model(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where case is nothing to the file system, the second model would have replaced the first."""
    (zoo := tmp_path / "zoo").mkdir()
    for name in ("h.tflite", "H.tflite"):
        shutil.copy(models / "tflite" / "tflm_hello_world_float" / "hello_world_float.tflite", zoo / name)
    if len(list(zoo.iterdir())) < 2:
        pytest.skip("here they are one file")
    assert {each.exit_code for each in transload.convert_all(zoo, "tosa", tmp_path / "both", workers=1, verify=False)} == {0}
    monkeypatch.setattr(conversions, "_is_one", lambda folder, name, other: name.casefold() == other.casefold())
    made = transload.convert_all(zoo, "tosa", tmp_path / "one", workers=1, verify=False)
    assert [each.exit_code for each in made] == [0, 2] and made[1].error is not None
    assert "where what 'H.tflite' becomes lies" in made[1].error.message
