"""Registers what core itself brings, through the hooks that every plugin uses."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from .facts import FactKind, Facts
from .hookspecs import hookimpl
from .plugin import DialectSpec, Engine, Metric, Pass, Reader, Score, Writer

_PASSES = "transload.passes"
_ANALYSIS = "transload.analysis"
_OUTCOMES = "transload.fact_outcomes"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec("builtin", "transload.dialects.builtin:BUILTIN", doc="The module."))
    register(DialectSpec("func", "transload.dialects.func:FUNC", "transload.dialects.func:KERNELS", "Functions, calls, returns."))


@hookimpl
def register_facts(register: Any) -> None:
    register(FactKind(
        "kernel", "a function that executes the op, and how it treats quantized operands (`KernelTable`)", "engines, folding",
        tuple, declared=False))
    register(FactKind(
        "canonicalization", "rewrite functions that simplify the op (`RewriteTable`)", "the pass canonicalize", list,
        adds_up=True, declared=False))
    register(FactKind(
        "shape", "a function of the op that gives its result types, where its declaration has none", "builders, infer-shapes",
        Callable, declared=False))
    register(FactKind(
        "moves", "that it only moves numbers: a `Moves`, or a function of the op that gives one or None",
        "verification, engines, whatever passes something through", f"{_ANALYSIS}.movement:FACT",
        gives=f"{_OUTCOMES}:moves"))
    register(FactKind(
        "exact", "that its results are exact where its operands are, nothing being rounded: True, or a function of the op",
        "verification", "transload.verification.exact:EXACT", gives=f"{_OUTCOMES}:answer"))
    register(FactKind(
        "choice", "which of its results are chosen, as places are, or are where its operands are: a `Choice`", "verification",
        f"{_ANALYSIS}.choices:Choice"))
    register(FactKind(
        "indices", "its operands that are indices: `Index` by number", "inputs of verification, narrowing of integers", dict))
    register(FactKind(
        "landmarks", "at which numbers of its operands something else shows: a function `(op, shown)` that gives `Landmarks` by "
        "number, where `shown` is asked of its results", "inputs of verification", f"{_ANALYSIS}.landmarks:FACT",
        gives=f"{_OUTCOMES}:landmarks"))
    register(FactKind(
        "interval", "between which numbers its results lie: a function `(op, operands)`, or an `IntervalRule`",
        "narrowing of integers, engines, legalizations", f"{_ANALYSIS}.intervals:FACT",
        gives=f"{_OUTCOMES}:intervals"))
    register(FactKind(
        "control", "how it runs its regions: `Loop` or `Branches`", "analyses", f"{_ANALYSIS}.dataflow:FACT"))
    register(FactKind(
        "error-bound", "a function `(op, build, errors)` that emits what bounds its results' errors",
        "verification of models that their framework quantizes when it runs", Callable, gives=f"{_OUTCOMES}:errors"))
    register(FactKind(
        "as-it-runs", "a function `(op, build)` that emits its first operand as a runtime rounds it that quantizes when it runs",
        "verification of what was quantized so", Callable, gives="transload.ir:Value"))
    register(FactKind(
        "signs", "in a dialect whose integers have no sign: a function of the op that gives the numbers of the operands that it "
        "reads, and of the results that it writes, as unsigned", "reading of files: are bytes signed outside?",
        "transload.borders:SIGNS", gives=f"{_OUTCOMES}:signs"))
    register(FactKind(
        "integers", "a function of a quantized op that gives the kernel which computes exactly its stored numbers, or None",
        "the reference engine, folding", Callable, gives=f"{_OUTCOMES}:kernel"))
    register(FactKind(
        "nested", "how a model is cut at tensors in its regions: a `Nested`", "cutting of models", "transload.extraction:Nested"))
    register(FactKind(
        "assembly", "a function that reads the op in its dialect's own form, `(parser, name)` (`transload.text.assembly`)",
        "reading of MLIR text", Callable, declared=False, gives="transload.text.assembly:Written"))
    register(Facts("assembly", "builtin", "transload.dialects.assembly:BUILTIN_FORMS"))
    register(Facts("assembly", "func", "transload.dialects.assembly:FUNC_FORMS"))
    register(FactKind(
        "steps", "a function of the op: how many numbers it computes on the way to its results, as one for each place of each "
        "window, or how often it runs its regions", "verification, runs: what would take too long", Callable,
        gives="transload.fact_outcomes:count"))
    register(FactKind(
        "products", "a function of the op: how often it multiplies, where that is not known by its name as of a matrix product",
        "engines; verification, runs: what would take too long", Callable, gives="transload.fact_outcomes:count"))
    register(FactKind("cast", "True: it gives its operand's numbers in another element type", "verification, engines", bool))


@hookimpl
def register_readers(register: Any) -> None:
    register(
        Reader(
            "mlir",
            "builtin",
            (".mlir",),
            "transload.text.files:read",
            "transload.text.files:detect",
            "MLIR text in generic form.",
        )
    )


@hookimpl
def register_writers(register: Any) -> None:
    register(Writer("mlir", "builtin", (".mlir",), "transload.text.files:write", "MLIR text in generic form."))


@hookimpl
def register_passes(register: Any) -> None:
    register(
        Pass("canonicalize", f"{_PASSES}.canonicalize:canonicalize", "Simplify ops by their algebra; remove what is unused.")
    )
    register(Pass("inline", f"{_PASSES}.inline:inline_calls", "Replace calls by what they call."))
    register(Pass("keep-main", f"{_PASSES}.needed:keep_main", "Remove functions that are no part of the main one."))
    register(Pass("fold-constants", f"{_PASSES}.fold:fold_constants", "Compute ops whose operands are all constant."))
    register(Pass("cse", f"{_PASSES}.cse:eliminate_common_subexpressions", "Join ops that compute the same."))
    register(Pass("dce", f"{_PASSES}.dce:eliminate_dead_code", "Remove ops whose results are unused."))
    register(Pass("infer-shapes", f"{_PASSES}.shapes:infer_shapes", "Infer result types anew, inputs first."))


@hookimpl
def register_engines(register: Any) -> None:
    register(Engine("auto", "transload.engine.choice:prepare", "A compiling engine where that pays, else `reference`."))
    register(Engine("reference", "transload.engine.reference:prepare", "numpy, exact to the specifications' pseudo-code."))


@hookimpl
def register_metrics(register: Any) -> None:
    register(Metric(
        "cos", "transload.metrics:cosine", "Cosine of the angle between the tensors as vectors.", "higher", bounds=(-1.0, 1.0)))
    register(Metric(
        "euclid", "transload.metrics:euclid", "1 - |a - b| / |a|, as TPU-MLIR's comparison has it.", "higher",
        bounds=(-inf, 1.0)))
    register(Metric(
        "max_abs", "transload.metrics:max_abs", "Greatest absolute difference.", "lower", "max abs", bounds=(0.0, inf)))
    register(Metric("sqnr", "transload.metrics:sqnr", "Signal to quantization-noise ratio, in dB.", "higher", "SQNR dB"))


@hookimpl
def register_scores(register: Any) -> None:
    scores, pictures = "transload.evaluation.scores", "transload.evaluation.pictures"
    label, reference = ("label",), ("reference",)
    for score in (
        Score("top1", f"{scores}:top1", None, "The label is the best class.", label, unit="%", by_row=True),
        Score("top5", f"{scores}:top5", None, "The label is among the five best classes.", label, unit="%", by_row=True),
        Score("agreement", f"{scores}:agreement", None, "The best class is that of the first model.", reference, unit="%",
              by_row=True),
        Score("equal", f"{scores}:equal", None, "Share of numbers that are the first model's, of the output where it is least.",
              reference, unit="%"),
        Score("sqnr", f"{scores}:energies", f"{scores}:least_ratio",
              "Signal to quantization noise over all samples, of the output where it is least.", reference, unit="dB",
              least=f"{scores}:ratio_at_least"),
        Score("cos", f"{scores}:cosine", None, "Cosine of the angle to the first model's outputs, their mean.", reference,
              bounds=(-1.0, 1.0)),
        Score("euclid", f"{scores}:euclid", None, "1 - |a - b| / |a|, the mean over samples.", reference,
              bounds=(float("-inf"), 1.0)),
        Score("psnr", f"{scores}:squared_error", f"{scores}:peak_ratio",
              "Peak signal to noise, by labels that are images, or by the first model.", (), unit="dB", pictured=True),
        Score("pixels", f"{pictures}:pixels", None, "Share of pixels of the same class as the first model's.", reference,
              unit="%", pictured=True),
        Score("miou", f"{pictures}:overlaps", f"{pictures}:mean_overlap",
              "Mean over classes of intersection over union, by labels that are masks.", label, unit="%", pictured=True),
        Score("map", "transload.evaluation.detection:detections", "transload.evaluation.detection:average_precision",
              "COCO's mean average precision, of a detector with TFLite's four outputs.", label, unit="%", spread=False,
              available="transload.evaluation.detection:available", pictured=True),
    ):
        register(score)
