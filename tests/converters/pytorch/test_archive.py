"""Archives as nobody should write them: each is refused in one clear error, and nothing in them is executed."""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import transload
from transload.errors import ReadError, TransloadError, UsageError
from transload.ir import F32
from transload.testing import check_reader
from transload_converters.pytorch.payload import Payload as Weight
from transload_converters.pytorch.payload import TensorMeta
from transload_converters.pytorch.program import Json
from transload_converters.pytorch.symbols import Symbols, parse
from transload_converters.pytorch.tensors import tensor_of

from .conftest import KEPT

MODEL, WEIGHTS = "cnn/models/model.json", "cnn/data/weights/model_weights_config.json"


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(path: Path, held: dict[str, bytes], compress: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compress) as archive:
        for name, data in held.items():
            archive.writestr(name, data)
    return path


def edited(path: Path, name: str, change: Callable[[Any], None], source: Path = KEPT / "cnn.pt2") -> Path:
    """An archive whose member of JSON was changed."""
    held = members(source)
    document = json.loads(held[name])
    change(document)
    held[name] = json.dumps(document).encode()
    return written(path, held)


class Payload:
    """Whoever unpickles this makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (self.folder,)


def test_no_pickle_is_loaded(tmp_path: Path) -> None:
    trap, held = tmp_path / "trapped", members(KEPT / "cnn.pt2")
    held["cnn/data/sample_inputs/model.pt"] = pickle.dumps(Payload(trap))
    transload.load(written(tmp_path / "sample.pt2", held))  # is not looked at

    def pickled(document: Any) -> None:
        next(iter(document["config"].values()))["use_pickle"] = True

    with pytest.raises(ReadError, match="pickle"):
        transload.load(edited(tmp_path / "weights.pt2", WEIGHTS, pickled))
    assert not trap.exists()


@pytest.mark.parametrize("expression", [
    "__import__('os').system('true')", "(lambda: 1)()", "Symbol('s0').__class__", "Add(*range(9))", "[1, 2]",
    "Add(" * 5000 + "Integer(1)" + ")" * 5000, "9" * 20000])
def test_no_expression_is_evaluated(tmp_path: Path, expression: str) -> None:
    def change(document: Any) -> None:
        tensor = document["graph_module"]["graph"]["tensor_values"]["input"]
        tensor["sizes"][0] = {"as_expr": {"expr_str": expression, "hint": None}}

    with pytest.raises(ReadError, match="expression"):
        transload.load(edited(tmp_path / "m.pt2", MODEL, change))


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "cnn/../../evil", "C:\\evil", "cnn/data\\evil"])
def test_members_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    held = members(KEPT / "cnn.pt2") | {name: b"x"}
    with pytest.raises(ReadError, match="leads out"):
        transload.load(written(tmp_path / "m.pt2", held))
    assert [path.name for path in tmp_path.iterdir()] == ["m.pt2"]


def test_what_unpacks_to_much_more_than_it_is_is_refused(tmp_path: Path) -> None:
    held = members(KEPT / "cnn.pt2") | {MODEL: b" " * (1 << 27)}
    with pytest.raises(ReadError, match="claims"):
        transload.load(written(tmp_path / "bomb.pt2", held, zipfile.ZIP_DEFLATED))


def test_compressed_tensors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="compressed"):
        transload.load(written(tmp_path / "m.pt2", members(KEPT / "cnn.pt2"), zipfile.ZIP_DEFLATED))


def test_json_without_end_is_refused(tmp_path: Path) -> None:
    held = members(KEPT / "cnn.pt2") | {MODEL: b"[" * 200_000}
    with pytest.raises(ReadError, match="JSON"):
        transload.load(written(tmp_path / "m.pt2", held))


def _shrunk(document: Any) -> None:
    entry = next(iter(document["config"].values()))
    entry["tensor_meta"]["sizes"] = [{"as_int": 1 << 40}]
    entry["tensor_meta"]["strides"] = [{"as_int": 1}]


def _beyond(document: Any) -> None:
    next(iter(document["config"].values()))["tensor_meta"]["storage_offset"] = {"as_int": 1 << 30}


def _elsewhere(document: Any) -> None:
    next(iter(document["config"].values()))["path_name"] = "../../../etc/passwd"


@pytest.mark.parametrize("change", [_shrunk, _beyond, _elsewhere])
def test_tensors_beyond_their_bytes_are_refused(tmp_path: Path, change: Callable[[Any], None]) -> None:
    with pytest.raises(ReadError):
        transload.load(edited(tmp_path / "m.pt2", WEIGHTS, change))


@pytest.mark.parametrize(("sizes", "strides"), [((0, 1 << 62), (1, 1)), ((1 << 31, 1 << 31), (0, 0)), ((1 << 62, 1), (0, 0))])
def test_weights_of_sizes_that_cannot_be_are_refused(sizes: tuple[int, ...], strides: tuple[int, ...]) -> None:
    payload = Weight("0", TensorMeta(F32, sizes, strides, 0))
    with pytest.raises(ReadError, match=r"the tensor 'w' has .* elements; .* are the limit"):
        tensor_of(cast(Any, SimpleNamespace(where="m.pt2", view=lambda member: memoryview(bytes(4)))), payload, "w")


def _no_graph(document: Any) -> None:
    del document["graph_module"]["graph"]


def _other_version(document: Any) -> None:
    document["schema_version"]["major"] = 3


def _unknown_argument(document: Any) -> None:
    document["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"] = {"as_wonder": 3}


def _undefined(document: Any) -> None:
    document["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"] = {"as_tensor": {"name": "nobody"}}


@pytest.mark.parametrize(("change", "why"), [
    (_no_graph, "graph"), (_other_version, "version 3"), (_unknown_argument, "as_wonder"), (_undefined,
                                                                                            "not as torch.export writes")])
def test_programs_that_are_none_are_refused(tmp_path: Path, change: Callable[[Any], None], why: str) -> None:
    with pytest.raises(ReadError, match=why):
        transload.load(edited(tmp_path / "m.pt2", MODEL, change))


def test_an_operator_that_is_not_known_is_named_when_it_is_to_be_converted(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        document["graph_module"]["graph"]["nodes"][2]["target"] = "torch.ops.mylib.magic.default"

    module = transload.load(edited(tmp_path / "m.pt2", MODEL, change))
    with pytest.raises(TransloadError) as caught:
        transload.legalize(module)
    assert [finding.what for finding in caught.value.findings] == ["aten.mylib.magic.default"]


def test_mutations_of_an_archive_are_read_or_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members(KEPT / "dynamic_sizes.pt2").items():
            archive.writestr(name, data)
    outcome = check_reader(buffer.getvalue(), "pytorch", count=300, inputs={"x": (1, 2, 6)})
    assert outcome["refused"] > 100


def sized(*sizes: str, **ranges: tuple[int | None, int | None]) -> tuple[Symbols, dict[str, list[Any]]]:
    """The symbols of a program with one input x, of sizes with symbols a, b in SymPy's form."""
    texts = [re.sub(r"\b[ab]\b", lambda name: f"Symbol('{name[0]}')", size) for size in sizes]
    return Symbols("p", ranges), {"x": [parse(text) if "S" in text else int(text) for text in texts]}


def test_powers_of_small_powers_end() -> None:
    text = "Pow(Integer(2), Integer(-40))"
    assert parse(text).value({}) * 2**40 == 1
    assert parse("Pow(Pow(Integer(2), Integer(-5)), Integer(-8))").value({}) == 2**40
    for _ in range(8):  # of 40 * 64**8 digits
        text = f"Pow({text}, Integer(64))"
    with pytest.raises(ValueError, match="cannot be computed: a power of numbers that are too great"):
        parse(text).value({})


@pytest.mark.parametrize("text", [
    "Float(None)", "Float(1j)", "Float(...)", f"Float(1{'0' * 400})", "floor(" * 700 + "1" + ")" * 700,
    f"Add(0x{'f' * 5000}, 'a')"])
def test_texts_that_are_no_expressions(text: str) -> None:
    with pytest.raises(ValueError, match="is no expression of sizes"):
        parse(text)


@pytest.mark.parametrize("text", [
    "Mul(a, Pow(-1, 0.5))", "Mul(a, Float('inf'))", "Mul(a, Float('nan'))", f"Add(a, 1{'0' * 400})", "Mod(a, 0)", "Max()",
    "RoundToInt(a, -1000000000)"])
def test_expressions_that_are_no_size(text: str) -> None:
    symbols, declared = sized(text if "a," in text else f"Add(a, {text})")
    with pytest.raises(ReadError, match=r"^p: .*(cannot be computed|is no number of 64 bits)"):
        symbols.settle(declared, {"x": [7]})


def test_steps_that_lead_to_no_size() -> None:
    for text in ("Mul(a, 5e-324)", f"Mul(a, Rational(1, 1{'0' * 3000}), Rational(1, 1{'0' * 3000}))"):
        symbols, declared = sized(text)
        with pytest.raises(UsageError, match="cannot be 7"):
            symbols.settle(declared, {"x": [7]})


@pytest.mark.parametrize("number", ["1e999", "NaN", "1" + "0" * 400, "true", "null", "[1]"])
@pytest.mark.parametrize(("kind", "pattern"), [
    ("as_float", r'("sizes": \[)\{[^}]*\}'), ("as_float", r'("arg": )\{"as_float": [-0-9.e]+\}'),
    ("as_int", r'("sizes": \[)\{[^}]*\}')])
def test_numbers_that_are_none_name_their_field(tmp_path: Path, number: str, kind: str, pattern: str) -> None:
    held = members(KEPT / "cnn.pt2")
    text, count = re.subn(pattern, lambda found: f'{found[1]}{{"{kind}": {number}}}', held[MODEL].decode())
    assert count
    path = written(tmp_path / "m.pt2", held | {MODEL: text.encode()})
    if "arg" in pattern and number in ("1e999", "NaN"):
        assert transload.load(path).outputs  # floats, and arguments may be such
        return
    with pytest.raises(ReadError, match=r"graph\..* must be"):
        transload.load(path)


def test_sizes_that_are_chosen_or_shown_are_in_the_programs_ranges() -> None:
    symbols, declared = sized("Mul(Integer(2), a)", "4", a=(1, 8))
    symbols.settle(declared, {})
    assert symbols.values == {"a": 1} and "was taken for the batch and made 2" in symbols.notes[0]
    symbols, declared = sized("a", "b", a=(3, 16), b=(2, 32))
    with pytest.raises(ReadError, match="static shape") as caught:
        symbols.settle(declared, {})
    assert caught.value.hint == "say them, for example: --shape x:3x1"  # b is a batch by its name
    for given, expected in (([3, 40], "3x32"), ([2, 8], "3x8")):
        symbols, declared = sized("a", "b", a=(3, 16), b=(2, 32))
        with pytest.raises(UsageError, match="exported for") as told:
            symbols.settle(declared, {"x": given})
        assert told.value.hint == f"give the input another shape, for example --shape x:{expected}"
    symbols, declared = sized("Add(Mul(Integer(3), a), Integer(1))", a=(0, None))
    with pytest.raises(UsageError, match="cannot be 9") as told:
        symbols.settle(declared, {"x": [9]})
    assert told.value.hint.endswith("--shape x:7")
    symbols, declared = sized("Mul(Integer(2), a)", "4", a=(0, None))
    symbols.settle(declared, {})
    assert symbols.values == {"a": 1}  # no batch of 0
    symbols, declared = sized("Mul(a, a)", "b", a=(2, 4))  # of which no range is known
    with pytest.raises(ReadError, match="static shape"):
        symbols.settle(declared, {})


def test_a_least_size_of_two_is_none() -> None:
    """Of `Dim.AUTO` files say it, and PyTorch runs them on smaller ones."""
    for given in ({}, {"x": [1, 4]}):
        symbols, declared = sized("a", "4", a=(2, None))
        symbols.settle(declared, given)
        assert symbols.values == {"a": 1}
    symbols, declared = sized("a", "4", a=(3, None))
    with pytest.raises(UsageError, match="exported for 3 to any number"):
        symbols.settle(declared, {"x": [1, 4]})


def test_sizes_are_asked_for_and_checked() -> None:
    with pytest.raises(ReadError, match="static shape") as caught:
        transload.load(KEPT / "dynamic_sizes.pt2")
    assert "--shape" in caught.value.hint
    with pytest.raises(UsageError, match="cannot be 7"):
        transload.load(KEPT / "dynamic_sizes.pt2", inputs={"x": (2, 7, 6)})
    with pytest.raises(UsageError, match="exported for"):
        transload.load(KEPT / "dynamic_sizes.pt2", inputs={"x": (20, 8, 6)})
    assert transload.load(KEPT / "dynamic_sizes.pt2", inputs={"x": (4, 8, 6)}).outputs


def test_an_overwriting_operator_may_call_its_tensor_otherwise(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        node = next(n for n in document["graph_module"]["graph"]["nodes"] if n["target"] == "torch.ops.aten.dropout.default")
        node["target"] = "torch.ops.aten.dropout_.default"
        node["inputs"][0]["name"] = "self"

    module = transload.load(edited(tmp_path / "m.pt2", MODEL, change))
    assert transload.legalize(module).outputs


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_operators_with_graphs_lack_lists(tmp_path: Path, kept: int) -> None:
    def change(document: Any) -> None:
        for node in document["graph_module"]["graph"]["nodes"]:
            if node["target"].endswith(("scan", "map_impl")):
                node["inputs"] = node["inputs"][: 1 + kept]

    file = edited(tmp_path / "m.pt2", "slices/models/model.json", change, KEPT / "slices.pt2")
    with pytest.raises(TransloadError) as caught:
        transload.legalize(transload.load(file))
    assert "failed" not in str(caught.value)


@pytest.mark.parametrize("number", [-(1 << 63), (1 << 63) - 1])
def test_the_ends_of_64_bits_are_numbers_of_programs(number: int) -> None:
    """`torch.iinfo(torch.int64).min` was said to be a damaged file's."""
    assert Json(number, "m.pt2", "as_int").integer() == number
    with pytest.raises(ReadError, match="must be a number of 64 bits"):
        Json(number * 2, "m.pt2", "as_int").integer()
