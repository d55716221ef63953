"""A network compiled for variations of a chip: cycles, bytes and memory of each, by the cycle model.

    rows = explore(module, load_chip("tp-small"), {"lmem": ["256k", "512k", "1M"], "dma": [8, 16, 32]})
    rows[0].milliseconds, rows[0].bytes        # of the chip as it is; then of each combination

What the network is lowered to depends on the chip's operations, which stay. So it is lowered once; each worker then takes
variations, as `transload.scale` hands them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import prod
from typing import Any

from transload.errors import Finding, TransloadError, UsageError
from transload.ir import Module
from transload.partitioning import TARGET, partition
from transload.passes.manager import Pipeline
from transload.scale import Crew
from transload.text import parse_module
from transload.text.printer import print_module

from ..chip import Chip
from ..chip.reading import changed_chip

__all__ = ["NAMES", "Explored", "Network", "best_of", "explore", "parts_for", "variations"]

NAMES = {"lmem": "local_bytes", "dma": "dma_bytes", "latency": "dma_latency"}
"""Short names of what is varied most; `lmem` is the local memory of all lanes together."""
LOWERED = ("multiplier_bits", "shift_bits", "per_channel", "narrow_weights")
"""Fields that decide what a network is lowered to, which is done once."""
CHEAPER = ("dma_latency", "latency", "start_cycles")
"""What costs more the smaller it is."""
MOST = 4096
"""Variations that are computed."""
LOWERING = ("inline,unroll-recurrent,write-out-einsums,write-out-normalizations,layout{{to=NCHW}},"
            "lower-to-tpu{{chip=\"{chip}\"}},arrange-for-lanes{{chip=\"{chip}\"}},dce,cse,order-for-memory")

Setting = dict[str, int]


@dataclass(frozen=True)
class Explored:
    """What a network takes on one variation of a chip; `note` says why where it takes nothing."""

    settings: Setting
    cycles: float = 0.0
    milliseconds: float = 0.0
    bytes: int = 0
    compulsory: int = 0
    """Bytes that have to be moved on any chip."""
    utilisation: float = 0.0
    """Which part of what the lanes could compute they do."""
    bound: str = ""
    """`compute` or `memory`: which of the queues works longer."""
    groups: int = 0
    local_bytes: int = 0
    global_bytes: int = 0
    note: str = ""


def variations(chip: Chip, sweeps: Mapping[str, Iterable[Any]]) -> list[tuple[Setting, Chip]]:
    """All combinations of values, each with the chip that has them. Raises `UsageError` with all that no chip can be."""
    values = {name: list(each) for name, each in sweeps.items()}
    count = prod(map(len, values.values()))
    if not values or not count or count > MOST:
        raise UsageError(f"{count if values else 0} variations are asked for; 1 to {MOST:,} are computed")
    findings = _asked(values)
    if findings:
        raise UsageError(f"no variations of {chip.name} can be", findings)
    made = []
    for combination in product(*values.values()):
        given = dict(zip(values, combination, strict=True))
        try:
            made.append(_varied(chip, given))
        except UsageError as error:
            said = ", ".join(f"{name}={value}" for name, value in given.items())
            findings += [Finding(said, f"{each.what} {each.why}", hint=each.hint) for each in error.findings]
    if findings:
        raise UsageError(f"no variations of {chip.name} can be", findings)
    return made


def _asked(names: Iterable[str]) -> list[Finding]:
    """What is wrong with names alone: fields that are asked for by two of them, or that cannot be varied."""
    findings, fields = [], dict[str, str]()
    for name in names:
        field = NAMES.get(name, name)
        if field in fields:
            findings.append(Finding(name, f"is the same field as {fields[field]}", hint="one of the two"))
        elif field in LOWERED:
            findings.append(Finding(name, "decides what a network is lowered to, which is done once for all variations",
                                    hint="explore two chips: --chip takes a file of your own"))
        fields[field] = name
    return findings


def _varied(chip: Chip, given: Mapping[str, Any]) -> tuple[Setting, Chip]:
    """The chip with other values, and these as numbers."""
    own = {NAMES.get(name, name): value for name, value in given.items()}
    made = changed_chip(chip, own)
    settings = {name: getattr(made, NAMES.get(name, name)) for name in given}
    if "lmem" in given:
        lane, rest = divmod(made.local_bytes, made.lanes)
        if rest:
            raise UsageError("", [Finding("lmem", f"of {made.local_bytes:,} bytes are not {made.lanes} equal lanes",
                                         hint=f"a multiple of {made.lanes * made.banks * made.eu_bytes:,}")])
        made = changed_chip(made, {"local_bytes": lane})
    return settings, made


def parts_for(module: Module, chip: str) -> list[Module]:
    """What a chip, by its name or file, computes of a network in dialect `top`; it is changed."""
    Pipeline.parse(LOWERING.format(chip=chip)).run(module)
    return [part.module for part in partition(module, lambda op: op.dialect != "top").parts if part.place == TARGET]


class Network:
    """In a worker: a network's parts, as text, and what they take on a chip."""

    def __init__(self, texts: list[bytes]) -> None:
        self._parts = [parse_module(text) for text in texts]

    def __call__(self, about: dict[str, Any]) -> dict[str, Any]:
        """The figures on the chip that has these fields."""
        from ..codegen import compile_function
        from ..cycles.timeline import compulsory_bytes, timeline

        chip = Chip(**about)
        made = [compile_function(part.main, chip) for part in self._parts]
        times = [timeline(one.program, chip) for one in made]
        cycles = sum(each.cycles for each in times)
        computes, moves = (sum(each.busy(queue) for each in times) for queue in ("tiu", "dma"))
        return {
            "cycles": cycles, "milliseconds": cycles / chip.frequency_mhz / 1000, "bytes": sum(each.bytes for each in times),
            "compulsory": sum(compulsory_bytes(one.program) for one in made),
            "utilisation": sum(each.ideal for each in times) / cycles if cycles else 0.0,
            "bound": "compute" if computes >= moves else "memory", "groups": sum(len(one.partition.groups) for one in made),
            "local_bytes": max((one.local.peak for one in made), default=0),
            "global_bytes": max((one.program.global_bytes for one in made), default=0)}


def explore(
    parts: Iterable[Module], chip: Chip, sweeps: Mapping[str, Iterable[Any]], workers: int | None = None, scheduler: Any = None,
) -> list[Explored]:
    """What parts of a network, whose ops are all of a chip, take on it as it is, and on each combination of `sweeps`: values by
    the names of the chip's fields, or those of `NAMES`.

    Variations are compiled side by side by a `transload.scale.Crew`. One for which memory is too small has a `note`.
    """
    every = [({}, chip), *variations(chip, sweeps)]
    texts = [print_module(part, constants="resource").encode() for part in parts]
    found: list[Explored] = [Explored(settings) for settings, _ in every]
    maker = "transload_targets.tensor_processor.explore.sweep:Network"
    with Crew(workers, scheduler) as crew:
        for number, answer in crew.called(maker, (texts,), ((asdict(one),) for _, one in every)):
            settings = every[number][0]
            if isinstance(answer, TransloadError):
                found[number] = Explored(settings, note=_reason(answer))
            else:
                found[number] = replace(Explored(settings), **answer)
    return found


def _reason(error: TransloadError) -> str:
    """What went wrong, in a line: of several findings the first."""
    first = [f"{each.what} {each.why}" for each in error.findings[:1]]
    more = [f"and {len(error.findings) - 1} more"] if len(error.findings) > 1 else []
    return ": ".join([error.message, ", ".join(first + more)]) if first else error.message


def best_of(rows: Iterable[Explored]) -> list[Explored]:
    """Variations of which no cheaper one is as fast: each other one has more of something, or takes longer."""
    sound = [row for row in rows if row.settings and not row.note]

    def cost(row: Explored) -> list[int]:
        return [-value if name in CHEAPER else value for name, value in row.settings.items()]

    def beats(one: Explored, other: Explored) -> bool:
        pairs = list(zip([one.cycles, *cost(one)], [other.cycles, *cost(other)], strict=True))
        return all(ours <= theirs for ours, theirs in pairs) and any(ours < theirs for ours, theirs in pairs)

    return [row for row in sound if not any(beats(other, row) for other in sound)]
