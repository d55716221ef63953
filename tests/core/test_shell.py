"""Commands that are printed can be pasted, whatever a file calls its tensors."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from transload.shell import quoted

Cli = Callable[..., tuple[int, str, str]]

NAMES = [
    "x", "my net.onnx", "it's", "a\nb", "\x1b[31mred'\\\x1b[0m", "é\t\x85", "\u202eabc", "$HOME`ls`", "", "\udcff\n",
    "{0}\r\u2028"]


def typed(words: str) -> bytes:
    """What a shell makes of words."""
    return subprocess.run([shutil.which("bash") or pytest.skip("no bash"), "-c", f"printf '%s\\n' {words}"], capture_output=True,
                          check=True).stdout[:-1]


@pytest.mark.parametrize("name", NAMES)
def test_a_shell_reads_what_was_meant(name: str) -> None:
    assert typed(quoted(name)) == name.encode("utf-8", "surrogateescape") and quoted(name).isprintable()


def test_the_shape_that_is_proposed_can_be_pasted(cli: Cli, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper, name = onnx.helper, "a\nb\x1b"
    info = [helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, [1, 3, "H"]) for each in (name, "y")]
    graph = helper.make_graph([helper.make_node("Relu", [name], ["y"])], "g", info[:1], info[1:])
    model = tmp_path / "it's.onnx"
    model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString())
    code, _, said = cli("convert", model, "-o", tmp_path / "o")
    found = re.search(r"for example: --shape (.*)", said)
    assert code == 3 and found is not None and found[1] == r"$'a\nb\x1b:1x3x128'"
    shape = typed(found[1]).decode()
    assert cli("convert", model, "-o", tmp_path / "o", "--shape", shape)[0] == 0
