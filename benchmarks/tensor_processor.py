"""Networks on the tensor processors that come along: bytes moved, cycles, memory, and the time that compiling takes.

    python benchmarks/tensor_processor.py networks [FOLDER] [--chips tp-large,tp-small,tp-tiny] [--only NAME] [--json FILE]
    [--check] [--quantize] [--page docs/tensor-processor-groups.md]
    python benchmarks/tensor_processor.py growth [--chips tp-small] [--sizes 125,250,500,1000,2000] [--plot FILE]

`networks` are the quantized ones of a folder (that of `TRANSLOAD_MODELS`), or those with `--only` in their names; what a chip
leaves to the host is cut off, and parts are compiled one by one. Columns: bytes moved in terms of the compulsory ones (weights
once, inputs, outputs) and of what layer by layer moves; the cost of groups in terms of the greedy partition's from the tail;
modelled cycles in terms of the roofline's bound, and of that with what no program does without (`unavoidable`: a load before
computing, a store after it, one start); local memory in terms of the largest sum alive at once, the same with `local=dense`,
and the cycles of that in terms of those without; global memory likewise; seconds of processor time from the network in dialect
`tpu` to its program. `--check` executes
programs in the simulator, beside the kernels. With `--page` the table of where the cycles go is put into a page, between its
marks, for the first of the chips. With `--quantize` the networks are the float ones, quantized by us on four samples.

`growth` compiles residual networks of so many ops, says the seconds, and those an op, and draws them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from model_samples import FOLDER, load, models, samples_for
from peer import model_name
from rich.console import Console
from rich.table import Table

import transload
from transload.errors import TransloadError
from transload.ir import I8, ArrayData, Dense, Module, QuantType, TensorType, dtype_of, new_module, set_results
from transload.ir.build import Builder
from transload.partitioning import TARGET
from transload.passes.manager import Pipeline
from transload_targets.tensor_processor.chip import Chip, load_chip
from transload_targets.tensor_processor.codegen import Compiled, compile_function
from transload_targets.tensor_processor.cycles.timeline import compulsory_bytes, roofline, shares, timeline, unavoidable
from transload_targets.tensor_processor.groups.partition import partition
from transload_targets.tensor_processor.groups.reading import machine_of
from transload_targets.tensor_processor.simulator import Simulator

LOWERING = ('inline,layout{{to=NCHW}},lower-to-tpu{{chip="{chip}"}},arrange-for-lanes{{chip="{chip}"}},dce,cse,'
            "order-for-memory")
FIGURES = ("ops", "groups", "compulsory", "layers", "greedy", "roofline", "unavoidable", "local", "dense", "slower", "global",
           "seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("networks", "growth"))
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--chips", default="tp-large,tp-small,tp-tiny")
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default="125,250,500,1000,2000")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quantize", action="store_true")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    rows = []
    for chip in map(load_chip, arguments.chips.split(",")):
        made = growth(chip, arguments) if arguments.what == "growth" else networks(chip, arguments)
        rows += show(chip, list(made))
    if arguments.plot:
        arguments.plot.write_text(plotted([row for row in rows if "seconds" in row]), encoding="utf-8")
    if arguments.page:
        first = arguments.chips.partition(",")[0]
        write_page(arguments.page, first, [row for row in rows if row["chip"] == first and "shares" in row])
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


def show(chip: Chip, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print the table of a chip."""
    table = Table("network", *FIGURES, "", title=chip.name)
    for row in rows:
        table.add_row(row["name"], *(_cell(row.get(figure)) for figure in FIGURES), row.get("note", ""))
    measured = [row for row in rows if "roofline" in row]
    for word, of in (("median", statistics.median), ("worst", max)):
        if measured:
            table.add_row(word, *(_cell(float(of(row[figure] for row in measured))) for figure in FIGURES))
    Console(width=150).print(table)
    return [{"chip": chip.name, **row} for row in rows]


def _cell(figure: Any) -> str:
    return "" if figure is None else f"{figure:.3f}" if isinstance(figure, float) else str(figure)


# --- the page

MARKS = "<!-- benchmarks/tensor_processor.py writes from here -->", "<!-- to here -->"


def write_page(page: Path, chip: str, rows: list[dict[str, Any]]) -> None:
    """Put the table of where the cycles go between the marks of a page."""
    shown = ("first", "full", "lanes", "starts", "waits", "last")
    lines = [f"| network on `{chip}` | cycles | of the bound | of the unavoidable | {' | '.join(shown)} | DMA | bytes |",
             "|---" * (6 + len(shown)) + "|"]
    for row in sorted(rows, key=lambda row: row["roofline"]):
        each = " | ".join(f"{100 * row['shares'][share]:.0f}" for share in shown)
        lines.append(f"| {row['name']} | {row['cycles']:,.0f} | {row['roofline']:.2f} | {row['unavoidable']:.2f} | {each} "
                     f"| {100 * row['dma']:.0f} | {row['compulsory']:.3f} |")
    medians = [statistics.median(row[figure] for row in rows) for figure in ("roofline", "unavoidable")]
    lines.append(f"| median | | {medians[0]:.3f} | {medians[1]:.3f} |" + " |" * (len(shown) + 2))
    text = page.read_text(encoding="utf-8")
    before, after = text.partition(MARKS[0])[0], text.partition(MARKS[1])[2]
    page.write_text(before + "\n".join([MARKS[0], "", *lines, "", MARKS[1]]) + after, encoding="utf-8")


# --- networks

def networks(chip: Chip, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each network."""
    for path in models(arguments.folder):
        if arguments.only not in str(path):
            continue
        row: dict[str, Any] = {"name": model_name(path)}
        try:
            module = transload.legalize(load(path))
            quantized = any(isinstance(type_, QuantType) for type_ in element_types(module))
            if arguments.quantize and not quantized:
                module = transload.quantize(module, samples=samples_for(path, module, 4, 0))
            elif arguments.quantize or (not arguments.only and not quantized):
                continue
            Pipeline.parse(LOWERING.format(chip=chip.name)).run(module)
            yield {**row, **measured(module, chip, arguments.check)}
        except TransloadError as error:
            yield {**row, "note": str(error).partition("\n")[0][:60]}


def element_types(module: Module) -> Iterator[Any]:
    """The element types of all results."""
    for op in module.ops():
        for result in op.results:
            if isinstance(result.type, TensorType):
                yield result.type.element


def measured(module: Module, chip: Chip, check: bool) -> dict[str, Any]:
    """The figures of a network's parts on a chip, summed up."""
    parts = [part.module for part in transload.partition(module, lambda op: op.dialect != "top").parts if part.place == TARGET]
    if not parts:
        return {"note": "all of it is left to the host"}
    begin = time.process_time()
    made = [compile_function(part.main, chip, way="best") for part in parts]
    seconds = time.process_time() - begin
    times = [timeline(one.program, chip) for one in made]
    machine = machine_of(chip)
    dense = [compile_function(part.main, chip, way="best", banked=False) for part in parts]
    others = {way: [partition(one.reading.network, machine, way) for one in made] for way in ("layers", "greedy")}
    moved = sum(each.bytes for each in times)
    cycles = sum(each.cycles for each in times)
    parts_of, some = [shares(each) for each in times], cycles or 1.0  # what only sees bytes otherwise takes no time
    return {
        "cycles": cycles, "shares": {share: sum(each[share] for each in parts_of) / some for share in parts_of[0]},
        "dma": sum(each.busy("dma") for each in times) / some,
        "unavoidable": cycles / sum(unavoidable(one.program, each) for one, each in zip(made, times, strict=True)),
        "ops": sum(len(one.reading.network.nodes) for one in made), "groups": sum(len(one.partition.groups) for one in made),
        "compulsory": moved / sum(compulsory_bytes(one.program) for one in made),
        "layers": moved / max(sum(each.bytes for each in others["layers"]), 1),
        "greedy": sum(one.partition.cost for one in made) / max(sum(each.cost for each in others["greedy"]), 1),
        "roofline": cycles / sum(roofline(one.program, each) for one, each in zip(made, times, strict=True)),
        "local": max(one.local.peak / max(one.local.bound, 1) for one in made),
        "dense": max(one.local.peak / max(one.local.bound, 1) for one in dense),
        "slower": sum(timeline(one.program, chip).cycles for one in dense) / some,
        "global": max(one.everywhere.peak / max(one.everywhere.bound, 1) for one in made), "seconds": seconds,
        "note": ", ".join([f"{len(made)} parts"] * (len(made) > 1) + (["same" if checked(parts, made) else "DIFFERENT"] if check
        else [])),
    }


def checked(parts: list[Module], made: list[Compiled]) -> bool:
    """Whether the simulator gives what the kernels give, of random inputs."""
    for part, one in zip(parts, made, strict=True):
        inputs = random_inputs(part)
        expected, found = transload.run(part, {**dict.fromkeys(part.inputs), **inputs}), Simulator(one.program).run(inputs)
        if not all(np.array_equal(*pair) for pair in zip(expected.values(), found.values(), strict=True)):
            return False
    return True


def random_inputs(part: Module) -> dict[str, np.ndarray]:
    """Numbers for all inputs but for operands that are not there."""
    random = np.random.default_rng(0)
    inputs = {}
    for name, type_ in part.inputs.items():
        if isinstance(type_, TensorType):
            dtype = np.dtype(dtype_of(type_.element))
            low, high = {"b": (0, 2), "u": (0, 256)}.get(dtype.kind, (-128, 128))
            given = random.integers(low, high, type_.shape) if dtype.kind in "biu" else random.standard_normal(type_.shape)
            inputs[name] = given.astype(dtype)
    return inputs


# --- growth

def growth(chip: Chip, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each size."""
    for size in map(int, arguments.sizes.split(",")):
        module = residual(size)
        begin = time.process_time()
        made = compile_function(module.main, chip)
        seconds = time.process_time() - begin
        ops = len(made.reading.network.nodes)
        yield {"name": f"{size} ops", "ops": ops, "groups": len(made.partition.groups), "seconds": seconds,
               "note": f"{1000 * seconds / ops:.2f} ms an op"}


def plotted(rows: list[dict[str, Any]], width: int = 480, height: int = 300, margin: int = 50) -> str:
    """Seconds over ops as SVG text, with the line that they would lie on if each op took as long as in the smallest network, as
    far as it is in the picture.
    """
    most, longest = max(row["ops"] for row in rows), max(row["seconds"] for row in rows)
    each = rows[0]["seconds"] / rows[0]["ops"]
    last = min(most, longest / each)

    def at(ops: float, seconds: float) -> str:
        return f"{margin + ops / most * width:.1f},{margin + height * (1 - seconds / longest):.1f}"

    points = [at(row["ops"], row["seconds"]) for row in rows]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 2 * margin} {height + 2 * margin}" '
        'font-family="sans-serif" font-size="11">',
        f'<text x="{margin}" y="{margin / 2}">seconds to compile, up to {longest:.2f}, over ops, up to {most:,}</text>',
        f'<rect x="{margin}" y="{margin}" width="{width}" height="{height}" fill="none" stroke="#bbb"/>',
        f'<polyline points="{at(0, 0)} {at(last, each * last)}" stroke="#999" stroke-dasharray="4 3"/>',
        f'<polyline points="{at(0, 0)} {" ".join(points)}" fill="none" stroke="#4a86c5"/>',
        *(f'<circle cx="{point.partition(",")[0]}" cy="{point.partition(",")[2]}" r="3" fill="#4a86c5"/>' for point in points),
        "</svg>"]) + "\n"


def residual(size: int) -> Module:
    """Blocks of an expansion, a depthwise convolution, a projection and a sum, of so many ops."""
    module = new_module()
    main = module.add_function("main", [TensorType((1, 32, 28, 28), I8)], ["x"])
    block = main.regions[0].block
    random = np.random.default_rng(0)

    def emit(name: str, *operands: Any, **attributes: Any) -> Any:
        return Builder(block, location=f"op{len(list(block))}").emit(name, *operands, **attributes)

    def conv(x: Any, channels: int, kernel: int, groups: int = 1) -> Any:
        weights = random.integers(-127, 128, (channels, x.shape[1] // groups, kernel, kernel)).astype(np.int8)
        constants = [np.zeros(channels, np.int32), np.full(channels, 1 << 30, np.int32), np.full(channels, 38, np.int32)]
        held = [emit("top.Weight", value=Dense(ArrayData(array))) for array in (weights, *constants)]
        return emit("tpu.conv2d", x, *held, pads=(kernel // 2,) * 4, groups=groups)

    x = block.arguments[0]
    for _ in range(size // 4):
        y = conv(conv(conv(x, 96, 1), 96, 3, 96), 32, 1)
        x = emit("tpu.add", x, y, multiplier=1 << 30, shift=31)
    set_results(main, [x], ["y"])
    return module


if __name__ == "__main__":
    main()
