"""Searches on small networks: promises are kept on samples that nobody saw, limits are never passed, and the way is the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.errors import ReadError, UsageError
from transload.ir import Module
from transload.metrics import cosine, sqnr
from transload_plugins.quantize.layers import load_layers
from transload_plugins.quantize.search import measuring, real, tables
from transload_plugins.quantize.search.promise import Quality, least_drop, promise_of
from transload_plugins.quantize.search.searching import Found, search
from transload_plugins.quantize.search.spending import Spending, Units

from tests.support.graphs import Graph

Samples = list[dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def network() -> Module:
    """Products in a row, of which one makes numbers far apart, before a difference that shows what is lost in them."""
    g = Graph((64, 16))
    first = g.Relu(g.MatMul(g.inputs[0], g.random(16, 24), g.random(24), location="first"), location="active")
    wide = g.MatMul(first, g.random(24, 24) * np.geomspace(0.001, 1, 24, dtype=np.float32), g.random(24), location="wide")
    second = g.Relu(g.MatMul(wide, g.random(24, 16), g.random(16), location="second"), location="behind")
    return at_hub(g.done(g.MatMul(second, g.random(16, 8), g.random(8), location="end")))


def drawn(seed: int, count: int) -> Samples:
    random = np.random.default_rng(seed)
    return [{"x0": random.uniform(-1, 1, size=(64, 16)).astype(np.float32)} for _ in range(count)]


@pytest.fixture(scope="module")
def samples() -> Samples:
    return drawn(0, 64)


def score(network: Module, found: Found, unseen: Samples, measure: Any) -> float:
    """Of outputs of the module that was judged, all samples together as one vector."""
    wanted, given = (np.concatenate([transload.run(each, sample, engine="reference")["y0"] for sample in unseen])
                     for each in (network, found.quantized.module))
    return float(measure(wanted, given))


@pytest.mark.parametrize(("asked", "measure", "least"), [
    ({"min_sqnr": 44.0}, sqnr, 44.0), ({"min_cos": 0.99999}, cosine, 0.99999)])
def test_a_promise_is_kept_on_samples_that_were_not_seen(
    network: Module, samples: Samples, asked: dict[str, float], measure: Any, least: float,
) -> None:
    found = search(network, samples, promise_of(**asked))
    assert found.kept and not found.before[0].kept and found.layers
    assert found.judged[0].sure >= least
    assert score(network, found, drawn(7, 100), measure) >= least
    assert 0.0 < found.floats + found.wide <= 2.0
    assert [point.price for point in found.curve] == sorted(point.price for point in found.curve)
    assert [point.loss for point in found.curve] == sorted((point.loss for point in found.curve), reverse=True)


def test_the_float_model_is_made_ready_and_run_once(network: Module, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Module] = []
    ready = real.models_ready

    def counted(module: Module, *how: Any) -> Any:
        made.append(module)
        return ready(module, *how)

    monkeypatch.setattr(real, "models_ready", counted)
    search(network, samples, promise_of(min_sqnr=44.0))
    assert len(made) > 3
    quantized = [module for module in made if any(result.quant for op in module.body_of_main for result in op.results)]
    assert len(quantized) == len(made) - 1


def test_nothing_is_given_up_where_nothing_has_to_be(network: Module, samples: Samples) -> None:
    found = search(network, samples, promise_of(min_cos=0.9))
    assert found.kept and not found.layers and found.floats == found.wide == 0.0 and not found.losses
    assert search(network, samples, promise_of(min_cos=0.9), losses=True).losses


@pytest.mark.parametrize("share", ["0%", "20%", 0.45])
def test_a_limit_is_never_passed_and_is_made_use_of(network: Module, samples: Samples, share: Any) -> None:
    limit = float(str(share).rstrip("%")) / (100 if isinstance(share, str) else 1)
    found = search(network, samples, promise_of(max_float=share), types=["F32"])
    assert found.kept and found.floats <= limit
    assert all(point.floats <= limit for point in found.curve if point.judged)
    if limit >= 0.45:
        assert found.floats > 0.0 and found.judged[0].value > found.before[0].value


def test_what_both_cannot_keep_is_said_and_the_limit_holds(network: Module, samples: Samples) -> None:
    found = search(network, samples, promise_of(min_sqnr=90, max_float="30%"), types=["F32"])
    assert not found.kept and found.floats <= 0.3


@pytest.mark.parametrize(("score", "good", "bad"), [("cos", 1.0, float("nan")), ("sqnr", [[1.0, 1e-9]], [[1.0, float("nan")]])])
def test_a_sample_of_nan_keeps_no_promise(score: str, good: Any, bad: Any) -> None:
    """However many others would."""
    quality = Quality(score, least=0.5)
    assert quality.judged([[good]] * 20).kept and not quality.judged([[good]] * 19 + [[bad]]).kept


@pytest.mark.parametrize(("asked", "text"), [(0.99999999, "0.99999999"), (0.99, "0.99"), (44.0, "44"), (1e-9, "1e-09")])
def test_a_promise_is_told_as_it_was_given(asked: float, text: str) -> None:
    """Rounded, it would be another."""
    assert Quality("cos", least=asked).text == f"cos at least {text}"
    assert Quality("cos", most_drop=asked).text == f"cos at most {text} worse"


def test_a_drop_is_judged_on_pairs(network: Module, samples: Samples) -> None:
    labels = [transload.run(network, sample, engine="reference")["y0"].argmax(-1).tolist() for sample in samples]
    found = search(network, samples, promise_of(max_drop="5%", metric="top1"), labels=labels)
    assert found.kept and found.judged[0].score == "drop of top1" and 0.0 <= found.judged[0].value <= 0.05
    quality = Quality("top1", most_drop=0.02)
    same, lost = [[1.0, 1.0]] * 200, [[1.0, 1.0]] * 180 + [[0.0, 1.0]] * 20
    assert quality.judged(same).kept and not quality.judged(same).few and not quality.judged(lost).kept
    assert quality.judged(lost).value == pytest.approx(0.1) and quality.judged(lost).sure > 0.1


def test_few_samples_say_how_little_they_tell_of_a_drop() -> None:
    """Of 24 of which none is worse the bootstrap said that surely none ever is."""
    quality = Quality("top1", most_drop=0.02)
    right = [[1.0, 1.0]] * 24
    found = quality.judged(right)
    assert found.kept and found.few == 24 and found.sure == least_drop(24) > 0.05 and "24 samples tell no more" in found.text
    assert not quality.judged([*right[1:], [0.0, 1.0]]).kept
    assert least_drop(190) < 0.02 < least_drop(188)
    held = 0
    for seed in range(400):
        draw = np.random.default_rng(seed).random(200)
        rows = [[0.0, 1.0] if one < 0.03 else [1.0, 0.0] if one < 0.04 else [1.0, 1.0] for one in draw]
        held += quality.judged(rows).sure >= 0.02
    assert held >= 0.96 * 400


def test_types_that_are_asked_for_names_that_are_left_and_a_table_to_begin_with(network: Module, samples: Samples) -> None:
    promise = promise_of(min_sqnr=44)
    assert set(search(network, samples, promise, types=["INT16"]).layers.values()) <= {"INT16"}
    left = search(network, samples, promise, excepts=["wi*"])
    assert "wide" not in left.layers
    begun = search(network, samples, promise, layers={"end": "F32"})
    assert begun.layers["end"] == "F32" and begun.floats > 0.0
    fixed = search(network, samples, promise, layers={"wide": "INT8"})
    assert "wide" not in fixed.layers


@pytest.mark.parametrize(("word", "types"), [("INT16", ("INT16", "F32")), ("F32", ("INT16",)), ("F16", ("INT16", "F32"))])
def test_a_table_to_begin_with_is_kept_to(network: Module, samples: Samples, word: str, types: tuple[str, ...]) -> None:
    """Also where its word is not among the types that the others may get, or there would be more to gain."""
    found = search(network, samples, promise_of(min_sqnr=60), layers={"wide": word}, types=types)
    assert found.layers["wide"] == word
    assert set(found.layers.values()) <= {word, *types}


def test_tensors_of_one_type_have_one_word(samples: Samples) -> None:
    g = Graph((64, 16))
    turned = g.Permute(g.MatMul(g.inputs[0], g.random(16, 24), g.random(24), location="sums"), order=(1, 0), location="turned")
    module = at_hub(g.done(g.MatMul(turned, g.random(64, 8), g.random(8), location="end")))
    with pytest.raises(UsageError, match="tensors of one type have several in the table: sums INT8, turned F32"):
        search(module, samples, promise_of(min_sqnr=44), layers={"sums": "INT8", "turned": "F32"})


def test_the_way_is_the_same_by_processes_and_resumed(
    network: Module, samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    promise, file = promise_of(min_sqnr=44), tmp_path / "state"
    first = search(network, samples, promise, resume=file)
    assert search(network, samples, promise, workers=1).layers == first.layers
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-3]) + lines[-3][:20])  # as a kill leaves it
    again = search(network, samples, promise, resume=file)
    assert (again.layers, again.judged) == (first.layers, first.judged)
    assert sorted(file.read_text().splitlines()) == sorted(map(str.rstrip, lines))

    def refuse(*given: Any) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(measuring.Simulated, "__call__", refuse)
    assert search(network, samples, promise, resume=file).layers == first.layers
    with pytest.raises(UsageError, match="another"):
        search(network, samples[:-1], promise, resume=file)
    file.write_text("no JSON\n")
    with pytest.raises(ReadError, match="not what a search saved"):
        search(network, samples, promise, resume=file)


def test_tables_read_as_the_manual_has_them(network: Module, samples: Samples, tmp_path: Path) -> None:
    found = search(network, samples, promise_of(min_sqnr=44))
    tables.save_quantize_table(tmp_path / "q.txt", found, "bm1684x")
    tables.save_loss_table(tmp_path / "loss.txt", found)
    text = (tmp_path / "q.txt").read_text()
    assert text.startswith("# sample number: 64\n# all int8 loss: -") and "###\n# op_name quantize_mode\n" in text
    assert "# chip: bm1684x mix_mode: " in text
    assert load_layers(tmp_path / "q.txt") == found.layers
    lines = [line for line in (tmp_path / "loss.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == len(found.losses) and re.fullmatch(r"No\.0 : Layer: \S+ Loss: -[0-9.]+", lines[0])
    losses = [float(line.rpartition(" ")[2]) for line in lines]
    assert losses == sorted(losses)
    made = transload.quantize(network, "int8", samples, layers=str(tmp_path / "q.txt"))
    assert made.quantization.report["layers"] == found.layers
    tables.save_curve(tmp_path / "curve.svg", found)
    tables.save_curve(tmp_path / "curve.txt", found)
    assert (tmp_path / "curve.svg").read_text().count("<circle") == len(found.curve)
    assert len((tmp_path / "curve.txt").read_text().splitlines()) == len(found.curve) + 1


def test_the_simulation_says_what_the_quantized_module_gives(network: Module, samples: Samples) -> None:
    """In decibels, with all in 8 bits and with half of it; and nothing is lost where all is float."""
    found = search(network, samples, promise_of(min_sqnr=44))
    judged = [point for point in found.curve if point.judged]
    assert judged and all(abs(point.decibels - point.judged[0].value) < 3.0 for point in judged)
    units = Units(network)
    spending = Spending(units)
    everything = dict.fromkeys(units.tensors, "F32")
    assert spending.floats({}) == 0.0 and spending.floats(everything) == pytest.approx(1.0)
    assert spending.wide(dict.fromkeys(units.tensors, "INT16")) == pytest.approx(1.0)


@pytest.mark.parametrize(("asked", "more", "match"), [
    ({}, {}, "something to promise"),
    ({"min_cos": 2.0}, {}, "there is none"),
    ({"min_sqnr": float("nan")}, {}, "there is none"),
    ({"max_cycles": -1.0, "target": "tosa"}, {}, "there are none"),
    ({"max_float": "120%"}, {}, "share from 0 to 1"),
    ({"max_cycles": 5.0}, {}, "those of a target"),
    ({"min_cos": 0.9, "metric": "top5"}, {}, "a metric is said of what may drop"),
    ({"min_cos": 0.9, "target": "nosuch"}, {}, "a target is said of cycles"),
    ({"max_drop": "1%"}, {}, "needs labels"),
    ({"max_drop": "1%", "metric": "nothing"}, {}, "nothing"),
    ({"min_cos": 0.9}, {"scheme": "int16x8"}, "begins with layers in 8 bits"),
    ({"min_cos": 0.9}, {"types": ["INT4"]}, "cannot get INT4"),
    ({"min_cos": 0.9}, {"types": []}, "cannot get nothing"),
    ({"min_cos": 0.9}, {"excepts": ["nobody"]}, "no float tensor 'nobody'"),
    ({"min_cos": 0.9}, {"layers": {"nobody": "F32"}}, "no float tensor 'nobody'"),
    ({"max_float": "1%"}, {"layers": {"end": "F32"}}, "are allowed"),
    ({"min_cos": 0.9}, {"types": ["F8E4M3", "F32"]}, "does not choose F8E4M3"),
    ({"min_cos": 0.9}, {"layers": {"end": "F8E5M2"}}, "does not choose F8E5M2"),
])
def test_what_cannot_be_asked_for(
    network: Module, samples: Samples, asked: dict[str, Any], more: dict[str, Any], match: str,
) -> None:
    with pytest.raises(UsageError, match=match):
        search(network, samples, promise_of(**asked), **more)


def test_few_samples_are_refused(network: Module) -> None:
    with pytest.raises(UsageError, match="needs 8 samples"):
        search(network, drawn(0, 7), promise_of(min_cos=0.9))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_notes_on_a_full_disk_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transload.errors import TransloadError
    from transload_plugins.quantize.search.measuring import Notes

    notes = Notes(tmp_path / "notes.json", "about")
    monkeypatch.setattr(notes, "_file", Path("/dev/full"))
    with pytest.raises(TransloadError, match="cannot write /dev/full: No space left"):
        notes.add("key", 1.0)
