"""The cycle model: queues in order, waits, what instructions take; and what is shown of it."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.cycles.roofline import point, roofline_picture
from transload_targets.tensor_processor.cycles.tables import groups, layers, summary
from transload_targets.tensor_processor.cycles.timeline import compulsory_bytes, roofline, shares, timeline, unavoidable
from transload_targets.tensor_processor.cycles.trace import picture, save_picture, save_trace, trace

from .functions import Maker, chip, network


def made(name="tp-small", seed=0, **about):
    target = chip(name)
    compiled = compile_function(network(seed).main, target, **about)
    return compiled, timeline(compiled.program, target)


@pytest.mark.parametrize("seed", range(4))
def test_an_instruction_starts_when_those_before_it_and_what_it_waits_for_have_ended(seed):
    compiled, times = made(seed=seed)
    spans = {(span.instruction.queue, span.instruction.id): span for span in times.spans}
    assert len(spans) == len(compiled.program.instructions)
    for span in times.spans:
        one = span.instruction
        others = [spans[key] for key in ((one.queue, one.id - 1), ("dma" if one.queue == "tiu" else "tiu", one.wait)) if key[1]]
        assert span.start == max((other.end for other in others), default=0)
    assert max(times.busy("tiu"), times.busy("dma")) <= times.cycles <= times.busy("tiu") + times.busy("dma")


def test_what_instructions_take_is_what_the_chip_says():
    made_ = Maker((1, 16, 10, 10))
    target = chip("tp-small")
    program = compile_function(made_.done(made_.conv(made_.input, 20)).main, target).program
    times = timeline(program, target)
    compute, = (span for span in times.spans if span.instruction.queue == "tiu")
    assert compute.end - compute.start == target.start_cycles + 3 * -(-100 * 16 * 9 // target.macs["int8"])
    assert compute.ideal == pytest.approx(20 * 100 * 16 * 9 / target.macs["int8"] / target.lanes)
    store = times.spans[-1]
    assert store.bytes == 2000 and store.end - store.start == target.dma_latency + 2000 / target.dma_bytes
    assert times.bytes == compulsory_bytes(program) == 1600 + 20 * 16 * 9 + 3 * 4 * 20 + 2000


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["tp-tiny", "tp-small", "tp-large"])
def test_no_program_beats_its_roofline(name, seed):
    compiled, times = made(name, seed)
    assert 0 < roofline(compiled.program, times) <= times.cycles and 0 < times.utilisation <= 1


@pytest.mark.parametrize("name", ["tp-tiny", "tp-small", "tp-large"])
@pytest.mark.parametrize("seed", range(4))
def test_no_program_does_without_what_is_unavoidable_and_shares_are_all_cycles(name, seed):
    compiled = compile_function(network(seed).main, chip(name))
    times = timeline(compiled.program, compiled.chip)
    assert roofline(compiled.program, times) < unavoidable(compiled.program, times) <= times.cycles
    parts = shares(times)
    assert sum(parts.values()) == pytest.approx(times.cycles)
    assert all(part >= -1e-6 for part in parts.values()) and parts["first"] > times.chip.dma_latency


def test_of_a_table_that_is_gathered_from_what_is_taken_has_to_be_moved():
    made_ = Maker((1, 6, 4, 4))
    table = made_.constant(np.arange(4000, dtype=np.int8).reshape(1000, 4))
    indices = made_.emit("tpu.arg", made_.input, function="max", axis=1)
    compiled = compile_function(made_.done(made_.emit("tpu.gather", table, indices)).main, chip("tp-small"))
    others = sum(len(held.data) for held in compiled.program.weights) - 4000
    assert compulsory_bytes(compiled.program) == 6 * 16 + 16 * 4 + 16 * 4 + others
    times = timeline(compiled.program, chip("tp-small"))
    assert roofline(compiled.program, times) <= times.cycles


def test_wider_moves_and_more_products_take_fewer_cycles():
    compiled, times = made("tp-tiny")
    faster = replace(times.chip, dma_bytes=64, macs={"int8": 512})
    assert timeline(compiled.program, faster).cycles < times.cycles


def test_a_trace_has_an_event_for_each_instruction_and_an_arrow_for_each_wait(tmp_path):
    compiled, times = made(way="layers")
    events = json.loads(save_trace(times, tmp_path / "trace.json").read_text())["traceEvents"]
    assert events == json.loads(json.dumps(trace(times)))["traceEvents"]
    instructions = compiled.program.instructions
    runs = [event for event in events if event["ph"] == "X"]
    assert [event["args"]["instruction"] for event in runs] == [one.label for one in instructions]
    assert max(event["ts"] + event["dur"] for event in runs) == times.cycles
    arrows = [[event for event in events if event["ph"] == kind] for kind in "sf"]
    assert len(arrows[0]) == len(arrows[1]) == sum(1 for one in instructions if one.wait)
    assert all(start["ts"] <= end["ts"] and start["tid"] != end["tid"] for start, end in zip(*arrows, strict=True))


def test_perfetto_opens_the_trace_and_counts_the_same_cycles(tmp_path):
    """In its own trace processor, which the package fetches when it is first used."""
    processor = pytest.importorskip("perfetto.trace_processor", reason="pip install perfetto")
    _, times = made()
    try:
        opened = processor.TraceProcessor(trace=str(save_trace(times, tmp_path / "trace.json")))
    except Exception as error:  # the package's own: it could not fetch the program that reads traces
        pytest.skip(f"Perfetto's trace processor is not here: {error}")
    with opened:
        (row,) = opened.query("select count(*) as spans, sum(dur) as cycles, max(ts + dur) as last from slice")
        (errors,) = opened.query("select sum(value) as count from stats where severity = 'error'")
    assert row.spans == len(times.spans) and not errors.count
    assert row.last / 1000 == pytest.approx(times.cycles, rel=1e-3)  # its microseconds are cycles, told in nanoseconds
    assert row.cycles / 1000 == pytest.approx(times.busy("tiu") + times.busy("dma"), rel=1e-3)


def test_the_picture_shows_all_instructions_and_escapes_names(tmp_path):
    compiled, times = made()
    spans = (replace(times.spans[0], instruction=replace(times.spans[0].instruction, name="<a&b>\x00")), *times.spans[1:])
    shown = ElementTree.fromstring(picture(replace(times, spans=spans), "one & two"))
    boxes = shown.findall("{http://www.w3.org/2000/svg}rect")
    assert len(boxes) == len(compiled.program.instructions)
    assert any("<a&b>" in "".join(box.itertext()) for box in boxes)
    assert save_picture(times, tmp_path / "time.svg").read_text() == picture(times)


def test_layers_add_up_to_the_whole():
    _, times = made(way="layers")
    rows = list(layers(times))
    assert sum(row["bytes"] for row in rows) == times.bytes
    assert sum(row["compute"] for row in rows) == pytest.approx(times.busy("tiu"))
    assert {row["bound"] for row in rows} <= {"compute", "memory"} and all(0 <= row["utilisation"] <= 1 for row in rows)


@pytest.mark.parametrize("way", ["best", "layers"])
def test_groups_add_up_to_the_whole_and_know_their_ops(way):
    compiled, times = made(way=way)
    rows = list(groups(compiled, times))
    assert sum(row["ops"] for row in rows) == len(compiled.reading.network.nodes)
    assert sum(row["instructions"] for row in rows) == len(compiled.program.instructions)
    assert sum(row["bytes"] for row in rows) == times.bytes
    assert [row["bytes"] for row in rows] == [group.bytes for group in compiled.partition.groups]


def test_a_summary_says_what_takes_how_long_beside_what_has_to():
    compiled, times = made()
    said = summary(compiled, times)
    assert said["roofline_cycles"] <= said["cycles"] and said["compulsory_bytes"] <= said["bytes_moved"]
    assert said["milliseconds"] * 1000 * times.chip.frequency_mhz == pytest.approx(times.cycles, rel=5e-3)


def test_layers_lie_under_the_roof():
    _, times = made(way="layers")
    rows = list(layers(times))
    places = [place for place in (point(row, times.chip) for row in rows) if place is not None]
    assert len(places) > 3 and all(0 < speed <= min(1.0, intensity) + 1e-9 for intensity, speed in places)
    shown = ElementTree.fromstring(roofline_picture(rows, times.chip, "a & b"))
    assert len(shown.findall("{http://www.w3.org/2000/svg}circle")) == len(places)
