"""The target `sophgo`: TPU-MLIR's Top text and weights, and, where TPU-MLIR is, the bmodel that it makes of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from transload.contents import constant_bytes, op_counts
from transload.engine.quantized import dequantize, quantize
from transload.errors import Finding, RunError
from transload.interface import arguments, interface
from transload.ir import Module, QuantType, TensorType, Type, dtype_of
from transload.plugin import Emitted, Options, Target
from transload.text import parse_type, write_module

from .effects import QUANTIZED, need_effects, need_ranges, table_text
from .environment import deployed, simulated
from .text import calibration_text, findings_of, precision_text, written

__all__ = ["SophgoTarget"]

VARIABLE = "TRANSLOAD_TPU_MLIR"
"""Names the environment that runs artifacts of another process."""
_TEXT = "_top"
"""How the name of TPU-MLIR's text ends; no other file's does."""
_NO_BINARY = ("no bmodel was made: `--option environment=PATH` makes one, where PATH is an environment with "
              "TPU-MLIR")


class SophgoTarget(Target):
    """`STEM_top.mlir` and its `_weights.npz`, `.table` of quantized models, and `.bmodel` where TPU-MLIR is.

    `STEM.mlir` (`STEM_hub.mlir` of a stem that ends as the text's does) is the module itself, in the hub's words, for engines.
    """

    name = "sophgo"
    doc = "Sophgo's chips by TPU-MLIR: Top text and weights, and its bmodel where --option environment= names one."
    accepts = ("top",)
    pipeline = "inline,keep-main,unroll-recurrent,write-out-einsums,write-out-normalizations,layout{to=NCHW},dce,cse"
    compiled = (f"{_TEXT}.mlir",)
    tolerance = ("integer=4",)
    """Floats that are rounded to the steps of integers fall otherwise at halves, and layers behind pass that on: of a quantized
    MobileNet, 2 steps at the output."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def _environment(self, report: Mapping[str, Any]) -> str:
        """The environment whose simulator runs an artifact: one that the user named.

        The artifact's report names one, too, and may come from anybody: it says nothing of whose programs are to be run.
        """
        said = report.get("environment")
        if said in self._named:
            return str(said)
        named = os.environ.get(VARIABLE, "")
        if not named:
            raise RunError(f"no environment with TPU-MLIR is named: {VARIABLE}=PATH says whose simulator runs it (what the "
                           f"artifact's report names, {said!r}, is not run for that)")
        return named

    def options(self) -> Options:
        return {
            "environment": (str, "", "a virtual environment with TPU-MLIR, whose model_deploy makes a bmodel and whose simulator "
                            "runs it; without one only text and weights are written"),
            "chip": (str, "bm1684x", "the processor, in the words of model_deploy --processor, where a bmodel is made"),
            "precision": (("F32", "F16", "BF16", QUANTIZED), "F32", "what the chip computes in, where a bmodel is made; INT8 "
                          "takes the ranges of a quantized model, or those of table="),
            "asymmetric": (bool, False, "whether INT8 has zero points in the bmodel, which bm1684x and later processors compute "
                           "with"),
            "table": (str, "", "a calibration table of TPU-MLIR's form, by the names of tensors, for INT8"),
            "qtable": (str, "", "a quantize table of TPU-MLIR's form: which tensors are computed in what"),
        }

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        need_effects(options, self.options())
        findings = findings_of(module)
        if not findings:
            made = written(module, "model", "weights.npz", rounds=options["precision"] != QUANTIZED)
            need_ranges(made, options)
            for option in ("table", "qtable"):
                table_text(options, option, made.names)
        return findings

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        name = "".join(letter if letter.isalnum() else "_" for letter in stem) + _TEXT
        made = written(module, name, f"{name}_weights.npz", rounds=options["precision"] != QUANTIZED)
        content = {f"{name}.mlir": made.text.encode(), f"{name}_weights.npz": _archive(made.weights)}
        tables = ["--asymmetric"] if options["asymmetric"] and options["precision"] == QUANTIZED else []
        partly = bool(made.ranges) and options["precision"] == QUANTIZED and not options["table"]
        for option, flag, own in (("table", "--calibration_table", calibration_text(made) if made.ranges else ""),
                                  ("qtable", "--quantize_table", precision_text(made) if partly else "")):
            given = (table_text(options, option, made.names) or own).encode()
            if given:
                content[f"{name}.{option}"] = given
                tables += [flag, f"{name}.{option}"] if options["precision"] == QUANTIZED or option == "qtable" else []
        report: dict[str, Any] = {
            **interface(module), "operators": op_counts(module), "constant_bytes": constant_bytes(module),
            "environment": options["environment"], "chip": options["chip"]}
        if options["environment"]:
            self._named.add(options["environment"])
            content[f"{name}.bmodel"] = deployed(
                options["environment"], content, name, options["chip"], options["precision"], tables)
        own = f"{stem}_hub" if stem.endswith(_TEXT) else stem
        files = [directory / file for file in (f"{own}.mlir", *content)]
        with files[0].open("w", encoding="utf-8") as out:  # what engines run, in the words of the hub
            write_module(module, out, constants="resource")
        for file, data in zip(files[1:], content.values(), strict=True):
            file.write_bytes(data)
        return Emitted(files, {**report, "file_bytes": {file.name: file.stat().st_size for file in files}})

    def cannot_run(self, emitted: Emitted) -> str | None:
        if _binary(emitted) is None:
            return _NO_BINARY
        try:
            self._environment(emitted.report)
        except RunError as error:
            return error.message
        return None

    def run(self, emitted: Emitted, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the bmodel gives in TPU-MLIR's simulator; `RunError` where there is none."""
        report = emitted.report
        binary = _binary(emitted)
        if binary is None:
            raise RunError(_NO_BINARY)
        reals = {
            one["name"]: _real(array, parse_type(one["type"]))
            for one, array in zip(report["inputs"], arguments(report, inputs), strict=True)}
        given = simulated(self._environment(report), binary, reals)
        if len(given) != len(report["outputs"]):
            raise RunError(f"the bmodel gives {len(given)} outputs, and the model has {len(report['outputs'])}")
        return {one["name"]: _stored(array, parse_type(one["type"]))
                for one, array in zip(report["outputs"], given, strict=True)}


def _binary(emitted: Emitted) -> Path | None:
    return next((file for file in emitted.files if file.suffix == ".bmodel"), None)


def _archive(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as `.npz`."""
    held = BytesIO()
    np.savez(held, **arrays)  # type: ignore[arg-type]
    return held.getvalue()


def _real(array: np.ndarray, type_: Type) -> np.ndarray:
    """The real numbers of an input, of rank 1 at least."""
    element = type_.element if isinstance(type_, TensorType) else None
    stored = isinstance(element, QuantType) and array.dtype.kind in "iu"
    reals = dequantize(array, element) if stored else array  # type: ignore[arg-type]
    return np.atleast_1d(np.asarray(reals, np.float32))


def _stored(array: np.ndarray, type_: Type) -> np.ndarray:
    """Real numbers as an output has them."""
    assert isinstance(type_, TensorType)  # results are tensors
    shaped = np.asarray(array, np.float32).reshape(type_.static_shape)
    if isinstance(type_.element, QuantType):
        return np.asarray(quantize(shaped, type_.element))
    dtype = dtype_of(type_.element)
    return (np.rint(shaped) if dtype.kind in "iu" else shaped).astype(dtype)
