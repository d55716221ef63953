"""A command as a process: streams that are closed, full, in ASCII or no longer read; signals; names that are no text."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from kills import kill

from transload.cli import run
from transload.cli.process import Output

COMMAND = [sys.executable, "-m", "transload"]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line of shell, in which `transload` is the command."""
    line = f'transload() {{ {" ".join(COMMAND)} "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300, errors="replace")


@pytest.fixture
def digits(examples: Path) -> Path:
    return examples / "digits" / "digits_int8.tflite"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "m.mlir"
    path.write_text('"func.func"() <{sym_name = "main", function_type = () -> ()}> ({"func.return"() : () -> ()}) : () -> ()')
    return path


def test_an_ascii_terminal(text: Path, digits: Path, tmp_path: Path) -> None:
    done = shell("transload ops nosuch", **ASCII)
    assert done.returncode == 2 and "\n  -> dialects: " in done.stderr
    done = shell("transload ops top", COLUMNS="80", **ASCII)
    assert done.returncode == 0 and "..." in done.stdout and max(map(len, done.stdout.splitlines())) <= 80
    done = shell(f"transload convert {digits} --verify=no -o {tmp_path}/out", **ASCII)
    assert done.returncode == 0 and f"{digits} -> tosa" in done.stdout and "\\u" not in done.stdout


@pytest.mark.parametrize("line", [
    "convert {digits} --verify=no -o {out} --json >&-", "convert {digits} --verify=no -o {out} > /dev/full",
    "gen-input {digits} -o {out} > /dev/full"])
def test_what_was_written_is_told_where_nothing_can_be_printed(line: str, digits: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = shell(f"transload {line.format(digits=digits, out=out)}")
    assert done.returncode == 1 and out.exists()
    assert done.stderr.endswith(f"\n  → what was written is whole, in {out}\n"), done.stderr


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("line", "code"), [
    ("transload ops top >&-", 1), ("transload inspect nosuch 2>&-", 3), ("transload ops top >&- 2>&- <&-", 1),
    ("transload ops top --json >&-", 1), ("transload -V >&-", 1), ("transload -q targets >&-", 0), ("transload opt - <&-", 2),
    ("transload inspect nosuch >&-", 3), ("transload inspect nosuch 2>/dev/full", 3)])
def test_closed_streams(line: str, code: int) -> None:
    """As a disk that is full: what was not printed is told, where there is something to print."""
    done = shell(line)
    assert done.returncode == code and "Traceback" not in done.stderr and "defect" not in done.stderr
    told = "error: cannot write to standard output: Bad file descriptor\n"
    assert (told in done.stderr) == (code == 1 and "2>&-" not in line)


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """The number of a closed stream is that of the next file: what a library prints was in the model that was being written."""
    code = ("import os, sys; from transload.cli.process import open_streams; open_streams(); file = open(sys.argv[1], 'w')\n"
            "try: os.write(1, b'printed by a library')\nexcept OSError: file.write('alone')")
    file = tmp_path / "file"
    subprocess.run(["bash", "-c", '"$0" -c "$1" "$2" >&- 2>&- <&-', sys.executable, code, str(file)], check=True)
    assert file.read_text() == "alone"


@pytest.mark.parametrize("command", ["ops top", "ops top --json", "-h", "-V", "opt {text}", "completion bash"])
def test_a_full_disk_behind_standard_output(command: str, text: Path) -> None:
    done = shell(f"transload {command.format(text=text)} > /dev/full")
    assert (done.returncode, done.stderr) == (1, "error: cannot write to standard output: No space left on device\n")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("command", ["ops top", "ops top --json", "plugins", "run {digits} --trace", "coverage --json", "-h"])
@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_had_enough(command: str, reader: str, digits: Path) -> None:
    done = shell(f"transload {command.format(digits=digits)} | {reader} > /dev/null; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 0 and "error" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["KILL", "TERM", "INT"])
def test_killed_at_any_moment(name: str) -> None:
    """A sample; `benchmarks/kills.py` does 200 of each."""
    outcome = kill(signal.Signals[f"SIG{name}"], 3)
    assert not outcome.wrong, outcome.wrong


@pytest.mark.slow
def test_killed_while_it_converts_many_with_a_cache() -> None:
    """Each model's folder is old or new, and what the cache holds is whole."""
    outcome = kill(signal.SIGKILL, 2, what="many")
    assert not outcome.wrong, outcome.wrong


@pytest.mark.slow
def test_killed_while_it_calibrates() -> None:
    """The table, its histograms and their picture are of one calibration."""
    outcome = kill(signal.SIGKILL, 2, what="calibrate")
    assert not outcome.wrong, outcome.wrong


def test_a_signal_while_a_library_does_not_look_up() -> None:
    """The main thread is in C, where Python's handlers wait: another thread answers."""
    code = (
        "import sys, time, ctypes; sys.argv = ['transload', '-V']\n"
        "import transload.cli.process as process\n"
        "process.Signals(); print('go', flush=True)\n"
        "libc = ctypes.CDLL(None)\n"
        "while True: libc.sleep(60)\n")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "go\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "interrupted\n")


def test_ctrl_c_while_the_command_is_imported() -> None:
    """Nothing is imported before the first line that takes it, and nothing is said from there on."""
    code = (
        "import os, runpy, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == sys.argv[1]: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "before = set(sys.modules)\n"
        "import transload\n"
        "assert set(sys.modules) - before == {'transload'}, set(sys.modules) - before\n"
        "runpy.run_module('transload', run_name='__main__')")
    for name in ("transload.cli", "transload.cli.process"):
        done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["digits_int8.tflite", "digits_float.onnx"])
def test_names_that_are_no_utf_8(name: str, examples: Path, tmp_path: Path) -> None:
    """The runtimes that judge take none, and are given what is in the file."""
    model, out = (os.fsencode(tmp_path) + b"/\xff" + each for each in (Path(name).suffix.encode(), b"out"))
    with open(model, "wb") as file:  # noqa: PTH123 - as bytes
        file.write((examples / "digits" / name).read_bytes())
    for command in ([b"convert", model, b"-o", out, b"--verify=require"], [b"run", out], [b"compare", model, out]):
        done = subprocess.run([os.fsencode(sys.executable), b"-m", b"transload", *command], capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr


def test_in_a_directory_that_is_gone(digits: Path, examples: Path, tmp_path: Path) -> None:
    (there := tmp_path / "gone").mkdir()
    line = "cd {there}; rmdir {there}; transload convert {model} -o {out} -q"
    for model in (digits, examples / "digits" / "digits_float.onnx"):
        done = shell(line.format(there=there, model=model, out=tmp_path / "out"))
        assert (done.returncode, done.stderr) == (0, "")
        there.mkdir()
    done = shell(line.format(there=there, model=digits, out="out"))
    assert done.returncode == 1 and done.stderr == "error: cannot write to out: the current directory is not there any more\n"
    for command in (f"convert {digits} {digits} --target tosa", f"gen-input {digits} -o o.npz",
                    f"convert {digits} -o {tmp_path / 'out'} --dump d"):
        there.mkdir()
        done = shell(f"cd {there}; rmdir {there}; transload {command}")
        assert done.returncode and "the current directory is not there any more\n" in done.stderr, done.stderr


def test_a_signal_that_was_ignored_stays_so(tmp_path: Path, digits: Path) -> None:
    """As `nohup` has it."""
    line = f"trap '' HUP; {' '.join(COMMAND)} convert {digits} -o {tmp_path}/out -q"
    process = subprocess.Popen(["bash", "-c", line])
    for _ in range(5):
        time.sleep(0.1)
        process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=60) == 0


ESCAPE = "\x1b[31mred\nforged\x07"


def test_names_cannot_speak_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither by control characters, nor by lines that look like ours: also in the cells of tables."""
    monkeypatch.setenv("COLUMNS", "400")  # so that no name is wrapped
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    def model(op: str, domain: str = "") -> Path:
        graph = helper.make_graph(
            [helper.make_node(op, [f"x{ESCAPE}"], [f"m{ESCAPE}"], domain=domain),
             helper.make_node("Relu", [f"m{ESCAPE}"], [f"y{ESCAPE}"])], "g",
            [helper.make_tensor_value_info(f"x{ESCAPE}", TensorProto.FLOAT, [1, 4])],
            [helper.make_tensor_value_info(f"y{ESCAPE}", TensorProto.FLOAT, [1, 4])])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("nobody", 1)]
        path = tmp_path / f"{op}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path

    good, bad = model("Neg"), model("Nothing", "nobody")
    out = tmp_path / "out"
    commands: list[list[Any]] = [
        ["convert", good, "-o", out], ["inspect", good], ["run", good, "--all"], ["run", good, "--trace"],
        ["compare", good, out / "Neg.tosa", "--per-layer"], ["convert", bad, "-o", tmp_path / "no"],
        ["inspect", bad, "-t", "tosa"], ["convert", bad, "-o", tmp_path / "no", "-v"], ["run", good, "--shape", f"x{ESCAPE}:1x5"],
        ["run", good, "--input", f"x{ESCAPE}=nosuch.npy"], ["run", good, "--input", f"x{ESCAPE}:1x4"], ["ops", f"top.{ESCAPE}"],
        ["extract", good, "-o", tmp_path / "part.mlir", "--outputs", f"m{ESCAPE}"],
        ["gen-input", good, "-o", tmp_path / "in.npz"], ["npz", "dump", tmp_path / "in.npz"],
        ["npz", "compare", tmp_path / "in.npz", tmp_path / "in.npz"],
        ["tosa-requirements", good], ["eval", good, out, "--data", tmp_path / "in.npz", "--metric", "cos"],
        ["quantize", good, "-o", tmp_path / "q.mlir", "--data", tmp_path / "in.npz"],
        ["convert", good, "--option", f"{ESCAPE}=1"], [f"{ESCAPE}"], ["convert", good, f"--{ESCAPE}"],
        ["convert", good, "-o", tmp_path / "o2", "--json"], ["inspect", good, "--json"]]
    for command in commands:
        run([str(each) for each in command])
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err and "\x07" not in said.out + said.err, command
        assert not any(line.strip().startswith("forged") for line in (said.out + said.err).split("\n")), command
    assert "red" in said.out


def test_a_signal_when_all_is_said(tmp_path: Path) -> None:
    """The interpreter gave signals back to the system while it took itself apart: the command, which was done, died of one."""
    program = tmp_path / "program.py"
    program.write_text("""
import os, signal, sys
from transload.cli import main
class Last:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGINT):
        kill(process, number)
signal.keeps = Last()  # which goes with the modules, after all that runs at the end
main(["targets", "-q"])
""")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, timeout=60, start_new_session=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_stream_that_a_plugin_closed() -> None:
    """What is said then is lost, and the command ends as it would have."""
    stream = io.StringIO()
    output = Output(stream)
    output.write("before")
    stream.close()
    assert output.write("after") == 5
    output.flush()
    assert output.lost is None


_SLOW = (
    "import signal, sys, time\n"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # which nohup has ignored
    "import transload.cli as cli\n"
    "from transload.cli.answer import data_alone, print_json\n"
    "def slow(arguments):\n"
    "    with data_alone():\n"
    "        if 'answered' in arguments: print_json({'exit_code': 7})\n"
    "        print('go', file=sys.stderr, flush=True)\n"
    "        time.sleep(1)\n"
    "    return 7\n"
    "cli.run = slow\n"
    "cli.main(sys.argv[1:])")


@pytest.mark.parametrize(("name", "word"), [("SIGINT", "interrupted"), ("SIGTERM", "terminated"), ("SIGHUP", "hung up")])
def test_json_of_a_command_that_a_signal_ends(name: str, word: str) -> None:
    number = signal.Signals[name]
    code, printed, said = _ended(number, "--json")
    error = {"kind": name, "message": word, "findings": [], "hint": ""}
    assert (code, said) == (128 + number, f"{word}\n")
    assert json.loads(printed) == {"exit_code": 128 + number, "error": error}


def test_a_command_that_has_printed_its_json_ends_by_itself() -> None:
    code, printed, said = _ended(signal.SIGTERM, "--json", "answered")
    assert (code, json.loads(printed), said) == (7, {"exit_code": 7}, "")
    assert _ended(signal.SIGTERM, "answered")[0] == 128 + signal.SIGTERM  # its text is no answer that another would follow


def _ended(number: int, *arguments: str, **streams: Any) -> tuple[int, str, str]:
    """The exit code of a slow command that gets a signal, and what it prints."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SLOW, *arguments], **{"stdout": subprocess.PIPE, **streams}, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None and process.stderr.readline() == "go\n"
    process.send_signal(number)
    printed, said = process.communicate(timeout=30)
    return process.returncode, printed, said


def test_a_signal_where_nobody_takes_the_json() -> None:
    """Standard output is a pipe that is full and never read: the command ends all the same."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writes, bytes(65536))
    os.set_blocking(writes, True)
    code, _, said = _ended(signal.SIGINT, "--json", stdout=writes)
    os.close(reads)
    os.close(writes)
    assert (code, said) == (130, "interrupted\n")


def test_json_of_a_flag_that_takes_no_value() -> None:
    done = shell("transload targets --json=1")
    assert done.returncode == 2 and json.loads(done.stdout)["exit_code"] == 2 and "--json" in done.stderr
    assert shell("transload inspect -- --json").stdout == ""  # the name of a file
