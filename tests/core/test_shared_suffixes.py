"""Two readers, or writers, of one suffix: who looks at the file decides, or the user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import transload
from transload.errors import ReadError, UsageError
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.plugin import Reader, Writer

from tests.support.plugins import beside_ours, module_of


def reading(name: str, detect: Callable[..., bool] | None = None) -> Reader:
    """A reader of `.two` whose models have an input of its name."""
    def read(source: Any, inputs: Any) -> Module:
        module = new_module()
        function = module.add_function("main", [TensorType((2,), F32)], [name])
        set_results(function, list(function.regions[0].block.arguments), ["y"])
        return module

    return Reader(name, "top", (".two",), read, detect)


def never(head: bytes, path: Path) -> bool:
    return False


def always(head: bytes, path: Path) -> bool:
    return True


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.two"
    path.write_text("x")
    return path


@pytest.mark.parametrize(("second", "read"), [(always, "second"), (never, "first")])
def test_a_reader_that_knows_its_files_comes_first(second: Callable[..., bool], read: str, file: Path) -> None:
    with beside_ours(readers=[reading("first"), reading("second", second)]).bind():
        assert transload.load(file).functions["main"].regions[0].block.arguments[0].name == read


def test_of_readers_that_do_not_look_the_user_says_which(file: Path) -> None:
    with beside_ours(readers=[reading("first"), reading("second"), reading("third", never)]).bind():
        with pytest.raises(ReadError, match=r"a\.two: first and second read \.two files") as raised:
            transload.load(file)
        assert raised.value.hint == "say which with --format"
        assert transload.load(file, format="second").functions["main"].regions[0].block.arguments[0].name == "second"


def test_writers_of_one_suffix(tmp_path: Path) -> None:
    """That of the module's dialect writes; where that is not one, the user says which."""
    def writing(name: str, dialect: str, suffix: str = ".two") -> Writer:
        return Writer(name, dialect, (suffix,), lambda module, path: Path(path).write_text(name))

    writers = [
        writing("other", "acme"), writing("first", "top"), writing("third", "top", ".three"), writing("last", "top", ".three")]
    with beside_ours(writers=writers).bind():
        module = module_of("top.Relu")
        assert transload.save(module, tmp_path / "a.two").read_text() == "first"
        with pytest.raises(UsageError, match=r"third and last write \.three files") as raised:
            transload.save(module, tmp_path / "a.three")
        assert raised.value.hint == "say which with format="
        assert transload.save(module, tmp_path / "a.three", format="last").read_text() == "last"


def test_a_module_without_ops_is_of_every_dialect(tmp_path: Path) -> None:
    """What writes any module comes first: text, which was refused as if it were to be chosen."""
    module = new_module()
    function = module.add_function("main", [TensorType((2,), F32)], ["x"])
    set_results(function, function.regions[0].block.arguments, ["y"])
    writers = [Writer("other", "acme", (".mlir", ".two"), lambda module, path: Path(path).write_text("other"))]
    with beside_ours(writers=writers).bind():
        assert "func.func" in transload.save(module, tmp_path / "a.mlir").read_text()
        assert transload.save(module, tmp_path / "a.two").read_text() == "other"
