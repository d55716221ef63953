"""Calls of single operators, on the hub and in TOSA, against what PyTorch computes: as it was recorded, or live."""

from __future__ import annotations

import json
from collections import defaultdict
from importlib import resources

import numpy as np
import pytest

import transload
from transload_converters.pytorch.legalize import TABLE
from transload_converters.pytorch.schemas import overwriting, schemas

from .cases.record import all_cases, computed, recorded
from .cases.run import distance, module_of, results_of
from .cases.spec import DTYPES, Case, Cases, Dt, t
from .conftest import LIVE

FAMILIES: dict[str, list[Case]] = defaultdict(list)
for _number, _case in enumerate(all_cases()):
    FAMILIES[f"{_number // 100:02d}xx"].append(_case)


def test_there_are_enough() -> None:
    cases = all_cases()
    assert len(cases) >= 1500 and len({case.name for case in cases}) == len(cases)
    assert {case.name for case in cases} == recorded().keys(), "python -m tests.converters.pytorch.cases.record writes them anew"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("family", FAMILIES)
def test_as_torch_computes(family: str) -> None:
    wanted = recorded()
    for case in FAMILIES[family]:
        hub = transload.legalize(module_of(case, wanted[case.name]))
        results = results_of(hub, case)
        distance(results, wanted[case.name], f"{case.name} on the hub")
        for made, recorded_ in zip(results, wanted[case.name], strict=False):
            assert made.dtype == recorded_.dtype or recorded_.dtype.kind == "c", f"{case.name} on the hub"
        distance(results_of(transload.lower(hub, "tosa", int64="assumed"), case), wanted[case.name], f"{case.name} in TOSA")


def test_quotients_are_rounded_as_often_as_by_aten() -> None:
    """Of 16-bit floats at each step, or of one number once: they are the same to the last bit."""
    wanted = recorded()
    rounding = [case for case in all_cases() if case.op.startswith("div.") and case.make().get("rounding_mode")]
    assert len(rounding) > 20
    for case in rounding:
        np.testing.assert_array_equal(results_of(transload.legalize(module_of(case, wanted[case.name])), case)[0],
                                      wanted[case.name][0], err_msg=case.name)


@pytest.mark.parametrize("divisor", [2.0, -0.5, 3.0, 0.3])
def test_quotients_rounded_down_are_one_op_that_stays_float(divisor: float) -> None:
    """What is left of a division, in steps of integers, would be of the next whole number as often as not."""
    cases = Cases()
    cases.add("floor_divide.Scalar", t(2, 64), divisor)
    samples = [{"x0": np.random.default_rng(seed).uniform(0, 2000, (2, 64)).astype(np.float32)} for seed in range(4)]
    hub = transload.legalize(module_of(cases.all[0], [np.zeros((2, 64), np.float32)]))
    assert [op.name for op in hub.ops() if op.name.startswith("top.")] == ["top.Weight", "top.FloorDiv"]
    quantized = transload.quantize(hub, "int8", samples)
    for sample in samples:
        (made,) = transload.run(quantized, sample).values()
        np.testing.assert_array_equal(made, np.floor_divide(sample["x0"], np.float32(divisor)))  # numpy's steps are ATen's


@pytest.mark.parametrize(("low", "high"), [(-1, 2), (3, -2), (-2, -1), (1, 2)])
def test_padding_round_the_ends_wraps_what_is_left(low: int, high: int) -> None:
    """As `_pad_circular` in PyTorch's source has it: what negative padding takes off does not come back at the other end."""
    cases = Cases()
    cases.add("_pad_circular.default", t(1, 2, 6), [low, high])
    x = cases.all[0].make()["self"]
    kept = x[:, :, max(-low, 0) : 6 + min(high, 0)]
    wanted = np.pad(kept, [(0, 0), (0, 0), (max(low, 0), max(high, 0))], mode="wrap")
    np.testing.assert_array_equal(results_of(transload.legalize(module_of(cases.all[0], [wanted])), cases.all[0])[0], wanted)


@pytest.mark.parametrize(("size", "wanted"), [((8, 8), [3, 3]), ((7, 5), [3, 4]), ((3, 4), [5, 6])])
def test_parts_that_are_shorter_are_filled_with_nothing_far_away(size: tuple[int, int], wanted: list[int]) -> None:
    """Their last place is there again, and the first of equal places counts, as in PyTorch; a fill would take the whole scale."""
    cases = Cases()
    cases.add("adaptive_max_pool2d.default", t(1, 2, *size), wanted)
    x = cases.all[0].make()["self"]
    x[:] = np.round(x)  # many are equal
    numbers = np.arange(size[0] * size[1]).reshape(size)
    best, places = np.zeros((1, 2, *wanted), np.float32), np.zeros((1, 2, *wanted), np.int64)
    for c, i, j in np.ndindex(2, *wanted):
        part = tuple(slice(k * n // m, -(-(k + 1) * n // m)) for k, n, m in zip((i, j), size, wanted, strict=True))
        first = int(x[0, c][part].argmax())
        best[0, c, i, j], places[0, c, i, j] = x[0, c][part].ravel()[first], numbers[part].ravel()[first]
    hub = transload.legalize(module_of(cases.all[0], [best, places]))
    assert not [op for op in hub.walk() if op.name == "top.Where"]
    found = list(transload.run(hub, {next(iter(hub.inputs)): x}).values())
    np.testing.assert_array_equal(found[0], best)
    np.testing.assert_array_equal(found[1], places)


@pytest.mark.parametrize("dtype", ["f32", "i32", "i1"])
def test_no_differences_leave_a_tensor_as_it_is(dtype: str) -> None:
    """ATen returns it before it looks at what is put at its ends."""
    cases = Cases()
    cases.add("diff.default", t(3, 5, d=dtype), 0, -1, t(3, 1, d=dtype), t(3, 2, d=dtype))
    x = cases.all[0].make()["self"]
    np.testing.assert_array_equal(results_of(transload.legalize(module_of(cases.all[0], [x])), cases.all[0])[0], x)


@pytest.mark.parametrize(("given", "wanted"), [
    ("f32", "i16"), ("f32", "ui8"), ("f16", "ui8"), ("f64", "f32"), ("ui8", "f16"), ("ui8", "f32"), ("i16", "f32"),
    ("i64", "f16")])
def test_bits_of_floats_are_seen_as_narrower_and_wider_numbers(given: str, wanted: str) -> None:
    """The lowest bits first, as memory has them. On the hub alone: TOSA has no such op."""
    cases = Cases()
    cases.add("view.dtype", t(2, 8, d=given), Dt(wanted))
    x = cases.all[0].make()["self"]
    seen = x.view(DTYPES[wanted])
    np.testing.assert_array_equal(results_of(transload.legalize(module_of(cases.all[0], [seen])), cases.all[0])[0], seen)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize(("number", "dtype", "values"), [
    (2, "i32", (1, 2, 3)), (2.5, "i32", (1, 2, 3)), (2.5, "f32", (1, 2.5)), (4, "f16", (1, 2.5)), (1, "f32", ())])
def test_whether_one_number_is_among_others(number: float, dtype: str, values: tuple[float, ...], invert: bool) -> None:
    cases = Cases()
    cases.add("isin.Scalar_Tensor", number, t(len(values), d=dtype, values=values), invert=invert)
    wanted = np.isin(number, values, invert=invert)
    made = results_of(transload.legalize(module_of(cases.all[0], [wanted])), cases.all[0])
    np.testing.assert_array_equal(made[0], wanted)


def test_the_first_power_of_truth_values_is_they() -> None:
    cases = Cases()
    cases.add("pow.Tensor_Scalar", t(4, d="i1"), True)
    x = cases.all[0].make()["self"]
    np.testing.assert_array_equal(results_of(transload.legalize(module_of(cases.all[0], [x])), cases.all[0])[0], x)


@pytest.mark.parametrize(("op", "shape"), [
    ("det.default", (2, 3, 3)), ("linalg_det.default", (5, 5)), ("_linalg_det.default", (2, 4, 4))])
def test_determinants(op: str, shape: tuple[int, ...]) -> None:
    cases = Cases()
    cases.add(op, t(*shape))
    (x,) = cases.all[0].make().values()
    wanted = np.linalg.det(x.astype(np.float64)).astype(np.float32)
    results = [wanted, x, np.zeros(shape[:-1], np.int32)] if op.startswith("_") else [wanted]
    made = results_of(transload.legalize(module_of(cases.all[0], results)), cases.all[0])
    np.testing.assert_allclose(made[0], wanted, rtol=1e-4)


@pytest.mark.skipif(not LIVE, reason="torch is not installed: what it computed is recorded")
def test_what_is_recorded_is_what_torch_computes() -> None:
    wanted = recorded()
    for case in all_cases():
        results = computed(case)
        assert len(results) == len(wanted[case.name])
        distance(results, wanted[case.name], case.name)


def test_every_core_operator_is_converted_or_refused_with_a_reason() -> None:
    core = [name for name, is_core in schemas().items() if is_core]
    assert len(core) > 180
    missing = [name for name in core if name not in TABLE]
    assert not missing
    measured = json.loads(resources.files("transload_converters.pytorch").joinpath("coverage.json").read_text(encoding="utf-8"))
    unseen = [name for name in core if TABLE.refusal(name) is None and name not in measured["results"]]
    assert set(unseen) == {"aten.empty.memory_format", "aten.empty_strided.default"}  # whose numbers nobody says


def test_every_rewrite_is_of_an_operator_that_exists() -> None:
    known = {*schemas(), "aten.Constant", "aten.NoValue", "aten.Yield"}
    assert [name for name in TABLE.functions if name not in known and not name.startswith("aten.higher_order.")] == []


def test_what_overwrites_is_told_by_its_name() -> None:
    assert overwriting("aten.relu_.default") == "aten.relu.default"
    assert overwriting("aten.__iand__.Tensor") == "aten.__and__.Tensor"
    assert overwriting("aten.__and__.Tensor") is None and overwriting("aten.relu.default") is None
    assert overwriting("aten.mylib.put_.default") == "aten.mylib.put.default"
