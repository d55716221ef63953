"""Arguments of the public functions that are of another kind: told by name, before anything is done."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload import memory
from transload.errors import TransloadError, UsageError
from transload.ir import Block, Region
from transload.kinds import CALLABLE, MAPPING, PATH, SCHEDULER, TEXTS, is_iterable, takes

pytest.importorskip("onnx")


@pytest.fixture
def model(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


@pytest.mark.parametrize("name", [
    "out", "options", "inputs", "tolerance", "excepts", "input_data", "data", "preprocess", "quantize", "quantizer_options",
    "tell", "format", "function", "weights", "outputs", "passes", "dump", "start", "add_postprocess", "engine",
    "target", "verify"])
def test_convert_is_given_a_number(model: Path, tmp_path: Path, name: str) -> None:
    """Twelve of them ended in TypeError or AttributeError, `preprocess` when all the rest was done."""
    given: dict[str, Any] = {"target": "tosa", "out": tmp_path / "out", name: 5}
    with pytest.raises(UsageError):
        transload.convert(model, **given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("call", [
    lambda model: transload.convert(model, "tosa", seed="x"), lambda model: transload.compare(model, model, seed="x"),
    lambda model: transload.compare(model, model, excepts=5), lambda model: transload.compare(model, model, shapes=[1]),
    lambda model: transload.evaluate(5, []), lambda model: transload.partition(5, 5),
    lambda model: transload.partition(transload.load(model), 5),
    lambda model: transload.calibrate(transload.load(model), 5), lambda model: transload.evaluate(model, [], metrics=5),
    lambda model: transload.evaluate(model, [], resume=5), lambda model: transload.convert_all(5, "tosa"),
    lambda model: transload.convert_all([model], "tosa", workers="many")])
def test_others_are_given_something_else(model: Path, call: Callable[[Path], Any]) -> None:
    with pytest.raises(UsageError, match=r"^\w+\(\) takes .* as \w+, and was given .+"):
        call(model)


WRONG: list[Any] = [
    None, 5, 1.5, float("nan"), b"x", [], (), [None], {}, {1: 2}, {"image": None}, np.zeros(3), np.array(5.0), np.ma.masked,
    object(), type, "", "zz", "\ud800", "a\0b"]
LONG = ("convert", "convert_all", "compare")


def public_functions() -> dict[str, Callable[..., Any]]:
    found = {name: getattr(transload, name) for name in transload.__all__}
    return {name: each for name, each in found.items() if inspect.isfunction(each) and inspect.signature(each).parameters}


def named(function: Callable[..., Any]) -> list[str]:
    return [each.name for each in inspect.signature(function).parameters.values() if each.kind is not each.VAR_KEYWORD]


@pytest.mark.parametrize("name", public_functions())
def test_public_functions_look_at_all_of_their_arguments(name: str) -> None:
    function = public_functions()[name]
    assert set(named(function)) == set(getattr(function, "kinds", ())), "`@takes` names each of them"


@pytest.mark.parametrize("name", public_functions())
def test_wrong_arguments_are_told(
    model: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They ended in AttributeError, TypeError, "the truth value is ambiguous", and what no plugin did was told as its failure."""
    function = public_functions()[name]
    module = transload.legalize(transload.load(model))
    sample = [{"image": np.zeros((1, 1, 8, 8), np.float32)}]
    right: dict[str, Any] = {
        "module": module, "model": model, "models": [model], "path": model, "target": "tosa", "to": "tosa", "source": sample,
        "inputs": module if name == "open_samples" else {"image": np.zeros((1, 1, 8, 8), np.float32)} if name == "run" else None,
        "samples": sample, "floats": module, "quantized": module, "data": sample, "artifact": module, "takes": lambda op: True,
        "report": transload.quantization_report(module, module, sample)}
    if name in ("save", "quantization_page"):
        right["path"] = tmp_path / "made.mlir"
    if name == "coverage":
        right["source"] = "onnx"
    given = {each: right[each] for each in named(function) if right.get(each) is not None}
    monkeypatch.chdir(tmp_path)
    kinds = function.kinds  # type: ignore[attr-defined]
    for argument in named(function):
        for wrong in WRONG:
            default = inspect.signature(function).parameters[argument].default
            fits = kinds[argument].fits(wrong)
            if wrong is default or (fits and (kinds[argument] in (CALLABLE, SCHEDULER) or name in LONG)):
                continue  # a function of the user's raises what it raises, and the others take long
            try:
                function(**{**given, argument: wrong})
            except TransloadError as error:
                assert "failed in" not in str(error), f"{argument}={wrong!r:.50}: told as somebody else's: {error}"
            except Exception as error:
                pytest.fail(f"{argument}={wrong!r:.50}: {type(error).__name__}: {error}")
            else:
                assert fits, f"{argument}={wrong!r:.50} is taken"


@pytest.mark.parametrize("call", [
    lambda given: Region(given), lambda given: Block(given), memory.plan, memory.lower_bound])
@pytest.mark.parametrize("given", [np.array(5.0), np.ma.masked])
def test_an_array_of_no_dimensions_is_no_list(call: Callable[[Any], Any], given: Any) -> None:
    """It has the method that what can be gone through has, and raises TypeError there."""
    with pytest.raises(TransloadError):
        call(given)


def test_texts_may_be_gone_through_once(model: Path, tmp_path: Path) -> None:
    """"a part of a model needs an output": looking at what a generator gives had used it up."""
    module, names = transload.load(model), list(transload.load(model).outputs)

    def once() -> Any:
        return (name for name in names)

    assert list(transload.extract(module, outputs=once()).outputs) == names
    assert list(transload.load(model, outputs=once()).outputs) == names
    made = transload.convert(model, "tosa", tmp_path / "out", outputs=once(), excepts=iter([]), tolerance=iter(["cos=0.9"]))
    assert made.verification is not None and made.verification.status == "passed"
    assert transload.compare(model, tmp_path / "out", outputs=once(), excepts=iter([]))
    with pytest.raises(UsageError, match="takes a list of texts as outputs"):
        transload.load(model, outputs=iter([5]))


def test_truths_of_numpy(model: Path, tmp_path: Path) -> None:
    """`verify must be 'yes', 'no' or 'require', not np.True_`."""
    for number, verify in enumerate((np.bool_(True), np.bool_(False))):
        given: dict[str, Any] = {"verify": verify, "fuse_preprocess": np.bool_(False)}
        made = transload.convert(model, "tosa", tmp_path / str(number), **given)
        assert (made.verification is not None) == bool(verify)
    for one in transload.convert_all([model], "tosa", tmp_path / "all", verify=np.bool_(False), anew=np.bool_(True), workers=1):
        assert one.error is None
    assert transload.Preprocess(keep_aspect_ratio=np.bool_(True)).keep_aspect_ratio is True  # type: ignore[arg-type]


def test_kinds() -> None:
    @takes(path=PATH, table=MAPPING, names=TEXTS)
    def function(path: Any, table: Any = None, *, names: Any = ()) -> Any:
        """What it does."""
        return path, table, names

    assert function.__doc__ == "What it does."
    assert function("x", None, names=["a"]) == ("x", None, ["a"]) and function(Path("x"), {}, names=iter("ab"))[1] == {}
    for given, named in ((["x", 5], {}), ([5], {}), (["x"], {"table": []}), (["x"], {"names": [1]}), (["x"], {"names": None})):
        with pytest.raises(UsageError):
            function(*given, **named)
    assert function("x", names=iter("ab"))[2] == ["a", "b"] and function("x", {}, names=iter([]))[2] == []
    with pytest.raises(TypeError):
        function()
    assert np.int64(3).__index__() == 3


class TensorShape:
    """A shape as TensorFlow has it, which is no tuple; of unknown rank with None, whose length it refuses to say."""

    def __init__(self, sizes: tuple[int, ...] | None) -> None:
        self.sizes = sizes

    def __len__(self) -> int:
        if self.sizes is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self.sizes)

    def __bool__(self) -> bool:
        return self.sizes is not None


@pytest.mark.parametrize(("shape", "several"), [
    (None, True), ((), False), ((2,), True), (np.zeros(0, np.int64), False), (np.array([2, 3]), True), (TensorShape(()), False),
    (TensorShape((2,)), True), (TensorShape(None), True), (7, True)])
def test_a_shape_may_be_no_tuple(shape: Any, several: bool) -> None:
    """`if` of what comparing that gives is an error, or may be."""
    class Shaped(list[int]):
        pass

    Shaped.shape = shape  # type: ignore[attr-defined]
    assert is_iterable(Shaped()) is several
