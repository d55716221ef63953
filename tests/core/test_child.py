"""Child processes import nothing from where a user's files lie."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import transload
from transload.child import PythonChild, environment, python_command

PLANTED = ("numpy", "ml_dtypes", "jaxlib", "typing", "struct", "json", "threading", "ethosu", "flatbuffers", "sitecustomize")
PRETTY = """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory, also on PYTHONPATH, full of modules that leave a mark where one of them is run."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'MARK')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def test_planted_modules_would_run_otherwise(planted: Path) -> None:
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    assert (planted / "MARK").exists()


def test_reading_stablehlo_runs_no_file_beside_it(planted: Path) -> None:
    pytest.importorskip("jaxlib.mlir", reason="pretty text is read by jaxlib's bindings")
    from transload_converters.stablehlo import worker

    worker.JAXLIB.stop()  # one that an earlier test started would not show how it is started
    (planted / "model.mlir").write_text(PRETTY)
    module = transload.load("model.mlir", format="stablehlo")
    assert [op.name for op in module.body_of_main] == ["stablehlo.add", "func.return"]
    assert not (planted / "MARK").exists()


def test_vela_runs_no_file_beside_the_model(planted: Path, root: Path) -> None:
    pytest.importorskip("ethosu.vela")
    model = root / "examples" / "digits" / "digits_int8.tflite"
    artifact = transload.convert(model, "ethos-u85-256", "out", verify=False)
    assert artifact.report.target_report
    assert not (planted / "MARK").exists()


def test_module_run_from_a_folder_of_models(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit('ran')\n")
    (tmp_path / "x.mlir").write_text('"builtin.module"() ({}) : () -> ()\n')
    done = subprocess.run(
        [sys.executable, "-m", "transload", "inspect", "x.mlir"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "ran" not in done.stderr + done.stdout


def test_child_is_isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("TRANSLOAD_KEPT", "1")
    code = "import os, sys; print(os.listdir('.'), os.environ.get('PYTHONPATH'), os.environ['TRANSLOAD_KEPT'], sys.argv[1:])"
    with PythonChild(code, "a b", stdout=subprocess.PIPE) as child:
        printed = child.process.stdout.read().decode()
    assert printed == "[] None 1 ['a b']\n"


@pytest.mark.parametrize("asked", [True, False])
def test_child_writes_bytecode_where_this_process_does(asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a limit of file sizes, what it writes would be cut, and every later process that reads it would fail."""
    monkeypatch.setattr(sys, "dont_write_bytecode", asked)
    told = subprocess.run(python_command("print(sys.dont_write_bytecode)"), capture_output=True, text=True, check=True).stdout
    assert told.strip() == str(asked)


def test_child_finds_what_this_process_found() -> None:
    code = "import transload, numpy, sys; print(transload.__file__)"
    command = python_command(code, needs=("transload", "numpy"))
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True, cwd="/")
    assert Path(done.stdout.strip()) == Path(transload.__file__)


def test_stop_ends_the_process_and_removes_its_folder() -> None:
    child = PythonChild("import os, sys, time; print(os.getcwd(), flush=True); time.sleep(600)", stdout=subprocess.PIPE)
    folder = Path(child.process.stdout.readline().decode().strip())
    assert folder.is_dir()
    child.stop()
    assert not folder.exists() and child.process.returncode is not None
    assert os.getpid() != child.process.pid
