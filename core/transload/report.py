"""What a conversion tells of itself: `Artifact.report`, the file `report.json`, and what `--json` prints.

`report.schema.json` beside this file is the JSON schema of what is written, made from these classes by `report_schema`.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from . import __version__
from .artifact_set import REPORT, replaced_folder
from .errors import InternalError, TransloadError
from .json_text import json_text
from .plugin_host import host
from .reported import files_of_report

__all__ = [
    "POOR", "SCHEMA_FILE", "ComparedOutput", "ErrorReport", "FindingReport", "KeptBound", "LayerReport", "LayersReport",
    "Nearness", "PartReport", "PartitionReport", "QuantizationReport", "QuantizedOutput", "Report", "SizeReport", "StateReport",
    "TensorReport", "VerificationReport", "error_report", "versions", "write_refusal",
]

SCHEMA_FILE = Path(__file__).with_name("report.schema.json")
_DEVELOPMENT = {"test", "bench", "docs"}
"""Extras of distributions whose packages have no part in a conversion."""


@dataclass
class TensorReport:
    """An input or output."""

    name: Annotated[str, "as the model's file names it"]
    type: Annotated[str, "as MLIR writes it"]
    quantization: Annotated[
        str | None, "what its integers stand for, as MLIR writes a quantized type; null where there is not one scale"] = None
    taken_as: Annotated[
        str | None, "of floats, the quantized type that they become before anything takes them; null where there is none"] = None


@dataclass
class StateReport:
    """A state of the model: what one run leaves to the next."""

    input: Annotated[str, "the input that takes it"]
    output: Annotated[str, "the output that gives it to the next run"]
    initial: Annotated[Any, "what the first run is given: one number for all elements, or all of them"]


@dataclass
class KeptBound:
    """A tensor that may differ by a bound of its own."""

    name: str
    max_abs: Annotated[float, "the greatest difference"]
    bound: Annotated[float, "the greatest bound"]
    kept: Annotated[bool, "whether every element keeps its own bound"]


@dataclass
class ComparedOutput:
    """How near an output is to that of the source's runtime."""

    name: str
    dtype: str
    shape: list[int]
    metrics: Annotated[dict[str, float], "by name of the metric: cos, euclid, max_abs and sqnr (in dB); of indices max_abs alone"]
    equal: Annotated[float | None, "share of elements that are the same; null of floats"]


@dataclass
class QuantizedOutput(ComparedOutput):
    """How near an output of the quantized model is to the float model's, over all samples."""

    agreement: Annotated[float | None, "share of rows whose greatest number is at the same place; null where there are no rows"]


POOR = 20.0
"""The SQNR in dB below which a quantized output is said to be poor: its noise is a tenth as great as its numbers."""


@dataclass
class Nearness:
    """How near a tensor is to what it should be, over all samples together."""

    cos: float
    euclid: Annotated[float, "1 - |difference| / |tensor|"]
    sqnr: Annotated[float, "in dB"]


@dataclass
class LayerReport:
    """A tensor that an op computes, or an input that is quantized: what holds it, and how far off it is."""

    name: str
    op: Annotated[str, "what computes it; input of an input"]
    place: Annotated[int, "in the order of the network, from 0"]
    type: Annotated[str, "of the numbers that are stored: i8, i16, f32; of floats of 8 bits those that are multiplied: f8e4m3"]
    scale: Annotated[float | None, "null of what stays float, as are all that say what the type holds"]
    zero_point: int | None
    low: Annotated[float | None, "the least number that the type holds"]
    high: Annotated[float | None, "the greatest"]
    threshold: Annotated[float | None, "how far from zero the farther of them is"]
    seen_low: Annotated[float, "the least number of the float model's tensor"]
    seen_high: Annotated[float, "the greatest"]
    saturated: Annotated[float, "share of the float model's numbers that lie outside of what the type holds"]
    own: Annotated[Nearness | None, "to what the float op gives of the quantized operands: the error of this op alone"]
    accumulated: Annotated[Nearness, "to the float model's tensor: this error, and what came from before it"]
    weight_bytes: Annotated[list[int], "of the constants that the op takes, before and after"]
    counts: Annotated[list[int], "of the float model's numbers, in equal parts from counts_from to counts_to"]
    counts_from: float
    counts_to: float
    why: Annotated[str, "why it stays float, or has more bits than others"] = ""


@dataclass
class SizeReport:
    """Bytes before and after."""

    weights: Annotated[list[int], "of all constants"]
    activations: Annotated[list[int], "the most that tensors take at one time"]


@dataclass
class LayersReport:
    """What quantizing cost, layer by layer."""

    samples: Annotated[int, "on how many it was measured"]
    outputs: Annotated[dict[str, Nearness], "of each output, to the float model's"]
    layers: Annotated[list[LayerReport], "in the order of the network"]
    sizes: SizeReport

    @property
    def worst(self) -> list[LayerReport]:
        """The quantized layers, those first whose op loses most by itself."""
        return sorted((each for each in self.layers if each.own is not None), key=_lost)

    def _repr_html_(self) -> str:
        from .notebook import layers_html

        return layers_html(self)


def _lost(layer: LayerReport) -> float:
    return layer.own.sqnr if layer.own is not None else math.inf


@dataclass
class QuantizationReport:
    """What quantized the model, and on what."""

    scheme: Annotated[str, "name of the quantizer"]
    options: Annotated[dict[str, Any], "of the quantizer, those that were given"]
    samples: Annotated[int | None, "how many it saw; null where that is not known"]
    skipped: Annotated[dict[str, str], "samples that were left out, by name, and why"]
    preprocess: Annotated[dict[str, str], "what became of images, by input, in words; preprocess.toml says it to programs"]
    floats: Annotated[dict[str, str], "tensors whose ops stay float, and why"]
    details: Annotated[dict[str, Any], "what else the quantizer says"]
    measured: Annotated[LayersReport | None, "what it cost, layer by layer; null without samples"] = None
    types: Annotated[dict[str, str], "what the integers of a tensor stand for, by its name: of those with one scale"] = field(
        default_factory=dict)

    def _repr_html_(self) -> str:
        from .notebook import quantization_html

        return quantization_html(self)


@dataclass
class VerificationReport:
    """The comparison with the source framework's own runtime."""

    status: Literal["passed", "failed", "inconclusive", "skipped", "not asked for"] = "not asked for"
    why: Annotated[str, "why it was skipped, is not conclusive, passed with a poor result, or ended the conversion"] = ""
    runtime: Annotated[str, "who judged"] = ""
    engine: Annotated[str, "what ran the result"] = ""
    broken: Annotated[list[str], "what is not near enough, in words"] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    bounds: list[KeptBound] = field(default_factory=list)
    outputs: list[ComparedOutput] = field(default_factory=list)
    samples: Annotated[int, "on how many inputs it was compared, where those were samples"] = 0
    samples_of: Annotated[int | None, "of how many that were given, or asked for; null where that is not known"] = None
    quantized: Annotated[list[QuantizedOutput], "a quantized model beside the float one; is told, and not judged"] = field(
        default_factory=list)
    excepts: Annotated[list[str], "outputs that were not judged, because the user said so"] = field(default_factory=list)


@dataclass
class PartReport:
    """A part of the model, which runs by itself."""

    place: Literal["target", "host"]
    target: Annotated[str | None, "the target that it is written for, and that runs it; null: an engine does"]
    files: list[str]
    inputs: Annotated[list[str], "the tensors that it takes: inputs of the model, or what parts before it give"]
    outputs: Annotated[list[str], "the tensors that it gives"]
    types: Annotated[dict[str, str], "of these tensors, by name, as its file has them"]
    ops: Annotated[dict[str, int], "how many there are of each op, in the dialect that the target was given the model in"]
    target_report: Annotated[dict[str, Any], "what the target says of this part"] = field(default_factory=dict)


@dataclass
class PartitionReport:
    """What runs where, of a model that the target takes in part."""

    parts: Annotated[list[PartReport], "in the order in which they run"]
    outputs: Annotated[dict[str, str], "which tensor each output of the model is"]
    bytes_across: Annotated[int | None, "what the target's parts take and give in all; null where it cuts models itself"] = None


@dataclass
class FindingReport:
    """One thing that is wrong."""

    what: Annotated[str, "the op or part"]
    why: str
    names: Annotated[list[str], "of the original tensors, or places, where it occurs"]
    hint: Annotated[str, "what can be done about it"]
    count: Annotated[int, "how often it occurs"]


@dataclass
class ErrorReport:
    """Why there is no artifact."""

    kind: Annotated[str, "the class of the error"]
    message: str
    findings: list[FindingReport] = field(default_factory=list)
    hint: Annotated[str, "what can be done about it"] = ""


@dataclass(kw_only=True)
class Report:
    """A conversion, or how far it came: what is not known of one that was refused is null, or empty."""

    schema: Annotated[Literal[1], "version of this schema"] = 1
    status: Annotated[Literal["converted", "refused"], "whether there are artifacts"] = "converted"
    exit_code: Annotated[int, "what the command line ends with"] = 0
    error: Annotated[ErrorReport | None, "why the model was refused"] = None
    model: Annotated[str | None, "path of the model; null for one that was made in memory"]
    digest: Annotated[
        str | None, "sha256:... of the model's file (of a SavedModel its saved_model.pb); beyond 16 GiB stat:SIZE-TIME, when "
        "it was changed"] = None
    beside: Annotated[dict[str, str], "the same of files that were read with it (weights), by path from its folder"] = field(
        default_factory=dict)
    format: Annotated[str | None, "name of the reader"] = None
    function: Annotated[str | None, "the function or signature that was asked for; null: the model's main one"] = None
    target: str
    host: Annotated[str | None, "the target of what the target leaves to the host; null: engines run it"] = None
    dialect: Annotated[str | None, "in which the target was given the model"] = None
    options: dict[str, Any] = field(default_factory=dict)
    versions: Annotated[dict[str, str], "of Transload, Python, plugins and packages, by name"] = field(default_factory=dict)
    inputs: list[TensorReport] = field(default_factory=list)
    outputs: list[TensorReport] = field(default_factory=list)
    notes: Annotated[list[str], "what a reader should know, as sizes that nobody said"] = field(default_factory=list)
    states: list[StateReport] = field(default_factory=list)
    quantization: QuantizationReport | None = None
    ops_in: Annotated[dict[str, int], "how many there are of each op of the model"] = field(default_factory=dict)
    ops_out: Annotated[dict[str, int], "how many there are of each op of what the target was given"] = field(
        default_factory=dict)
    constant_bytes: int | None = None
    peak_value_bytes: Annotated[int | None, "the most bytes that values take at one time"] = None
    verification: VerificationReport = field(default_factory=VerificationReport)
    tolerance: Annotated[dict[str, float], "the limits that every output had to keep"]
    seed: Annotated[int, "of the random inputs of the verification"]
    seconds: Annotated[dict[str, float], "by stage"] = field(default_factory=dict)
    files: Annotated[dict[str, int], "the artifacts beside the report, and their sizes in bytes"] = field(default_factory=dict)
    digests: Annotated[dict[str, str], "sha256:... of these files, but of none beyond 16 GiB"] = field(default_factory=dict)
    target_report: Annotated[dict[str, Any], "what the target says of its artifact"] = field(default_factory=dict)
    partition: Annotated[PartitionReport | None, "what runs where; null where the target has all"] = None

    def __repr__(self) -> str:
        of = self.model or "a model in memory"
        return f"<report of {of} for {self.target!r}: {self.status}; verification: {self.verification.status}>"

    def _repr_html_(self) -> str:
        from .notebook import report_html

        return report_html(self)

    def as_json(self) -> str:
        """The text of `report.json`."""
        return json_text(self) + "\n"

    def write(self, folder: Path) -> None:
        (folder / REPORT).write_text(self.as_json(), encoding="utf-8")

    def refuse(self, error: BaseException) -> None:
        """Say that the conversion ended with an error: what it wrote, it wrote into no place."""
        self.status, self.error, self.exit_code = "refused", error_report(error), getattr(error, "exit_code", 1)
        for part in self.partition.parts if self.partition is not None else ():
            part.files = []
        if isinstance(error, TransloadError):
            error.report = self


def error_report(error: BaseException) -> ErrorReport:
    """An error, with everything that it found."""
    if not isinstance(error, TransloadError):
        return ErrorReport(type(error).__name__, str(error))
    findings = [FindingReport(each.what, each.why, list(each.names), each.hint, each.count) for each in error.findings]
    return ErrorReport(type(error).__name__, error.message, findings, error.hint)


def write_refusal(report: Report, error: TransloadError, directory: Path) -> None:
    """Write the report of a conversion whose model was refused.

    A folder holds one conversion, the last one: the files of an earlier one go. A mistake in how the conversion was called
    (a misspelt option, a model that is not there) is no conversion, and leaves everything as it was; so does a place that
    cannot be written, or holds the report of another program, about which no more is said than the error.
    """
    if not (isinstance(error, InternalError) or error.exit_code == 3):
        return
    with suppress(TransloadError), replaced_folder(directory, drop=files_of_report) as folder:
        report.write(folder)


def versions() -> dict[str, str]:
    """Versions of Python, of the distributions of all plugins, Transload's among them, and of the packages that they can use."""
    plugins = {info.distribution: info.version for info in host().plugins if info.distribution}
    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python, **plugins, **_packages(tuple(sorted(plugins))), "transload": __version__}


@cache
def _packages(distributions: Iterable[str]) -> Mapping[str, str]:
    """The versions of the packages that some distributions name among their requirements, where they are installed."""
    from importlib import metadata

    found: dict[str, str] = {}
    for distribution in distributions:
        try:
            requirements = metadata.requires(distribution) or []
        except metadata.PackageNotFoundError:
            continue
        for requirement in requirements:
            name = re.match(r"[\w.-]+", requirement)
            extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", requirement)
            if name is None or (extra is not None and extra[1] in _DEVELOPMENT):
                continue
            try:
                found[name[0]] = metadata.version(name[0])
            except metadata.PackageNotFoundError:
                continue
    return dict(sorted(found.items()))
