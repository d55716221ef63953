"""Files that a request for many models names: which texts are paths, what depends on them, and who is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import transload
from transload.context import Context
from transload.errors import PluginFailure
from transload.option_files import files_of_options
from transload.passes.manager import Pipeline
from transload.plugin import Target
from transload.plugin_host import Host, host
from transload.scale import conversions
from transload.scale.located import located_options, located_passes, located_quantizing
from transload.scale.requests import files_of_request

from tests.support.plugins import beside_ours


def test_which_texts_of_options_are_files(tmp_path: Path) -> None:
    """A word is none where a file is called so, nor is a folder's name; what a pass is given is one, too."""
    for name in ("fine", "mine.ini", "a b.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "host").mkdir()
    given = {"bias": "fine", "config": "mine.ini", "device": "host", "vela.config": Path("gone.ini"), "int4": True}
    located = located_options(given, tmp_path, [host().targets["ethos-u55-128"]])
    assert located == {**given, "config": str(tmp_path / "mine.ini"), "vela.config": str(tmp_path / "gone.ini")}
    assert located_quantizing({"layers": "mine.ini"}, tmp_path, "int8") == {"layers": str(tmp_path / "mine.ini")}
    for name in ("mse", "digits_cali_table"):
        (tmp_path / name).write_text("")
    words = {"method": "mse", "islands": "mse", "calibration": "digits_cali_table", "layers": "mine.ini"}
    located = located_quantizing(words, tmp_path, "int8")  # words that a quantizer knows, and tables
    assert located == {**words, "calibration": str(tmp_path / "digits_cali_table"), "layers": str(tmp_path / "mine.ini")}
    located = located_options(given, tmp_path, [host().targets["ethos-u55-128"]])
    written = located_quantizing({"resume": "later.npz"}, tmp_path, "int8")
    assert written == {"resume": str(tmp_path / "later.npz")}  # where it is to be written
    for name in ("mine.ini.npz", "mine.ini.bak", "mine.ini.v2"):  # what is read with it, and copies
        (tmp_path / name).write_text("")

    class Plugin:
        @transload.hookimpl
        def register_passes(self, register: Any) -> None:
            register(transload.Pass("noted", lambda module, file="", number=0: False))

    own = Host()
    own.register(Plugin(), "notes")
    with Context(own).bind():
        assert located_passes("cse,  noted{number=3}", tmp_path) == "cse,  noted{number=3}"
        pipeline = located_passes('cse,noted{file="a b.txt" number=3}', tmp_path)
        assert pipeline == f'cse,noted{{file="{tmp_path / "a b.txt"}" number=3}}'
        found = list(files_of_options([Pipeline.parse(pipeline).steps[1].options, located]))
        assert found == [tmp_path / name for name in ("a b.txt", "mine.ini", "mine.ini.npz")]


def test_a_file_that_a_quantizer_writes_is_no_part_of_the_request(tmp_path: Path) -> None:
    """It is there while the quantizer runs, and may be left from one that was ended: nothing that is made depends on it."""
    state = tmp_path / "state.npz"
    asked: dict[str, Any] = {"quantize": "int8", "quantizer_options": {"learning": True, "resume": str(state)}}
    assert list(files_of_request(asked)) == []
    state.write_bytes(b"half")
    assert list(files_of_request(asked)) == []
    asked["quantizer_options"]["calibration"] = str(state)
    assert list(files_of_request(asked)) == [state]


def test_targets_that_nobody_asked_for_are_not_asked() -> None:
    """One that failed for want of a license stopped conversions to all others."""
    class Broken(Target):
        name, accepts = "broken", ("top",)

        def options(self) -> Any:
            raise RuntimeError("no license")

        def emit(self, module: Any, directory: Any, name: Any, options: Any) -> Any:
            raise AssertionError

    with beside_ours(targets=[Broken()]).bind():
        made = conversions._request("tosa", {"options": {"bias": "plain"}, "host": None})
        assert made["options"] == {"bias": "plain"}
        with pytest.raises(PluginFailure, match="no license"):
            conversions._request("broken", {"options": {"bias": "plain"}})
