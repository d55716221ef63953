"""The quantizers that are registered: calibrate, correct, quantize."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from transload.errors import UsageError
from transload.ir import Module
from transload.ir.verify import verify
from transload.passes.manager import Pipeline

from .bias import corrected
from .calibration import Calibration, Sample, calibrate
from .observe import observed
from .quantize import quantize_module
from .scheme import SCHEMES, Scheme

__all__ = ["int8", "int8_asym", "int16x8", "quantized"]

CORRECTED = 32
"""Samples on which biases are corrected: means settle sooner than ranges."""


def quantized(
    module: Module, scheme: Scheme, samples: Iterable[Sample] | None = None, *, calibration: Calibration | None = None,
    method: str = "mse", bias_correction: bool = True, floats: Mapping[str, str] | None = None,
) -> Module:
    """A new module of the hub that computes with integers wherever there is a rule for it.

    The ranges are those of `calibration`, or measured on `samples`, dicts of arrays by input name, by `method`. With samples
    biases are corrected. `floats` names tensors whose ops are to stay float, with the reason. Raises `UsageError` where there
    is neither calibration nor a sample, or the calibration lacks a tensor.
    """
    kept = list(samples) if samples is not None else []
    if calibration is None:
        if not kept:
            raise UsageError("a quantizer needs samples, or a calibration", hint="samples: dicts of arrays by input name")
        calibration = calibrate(module, kept, method)
    names = observed(module)
    missing = [name for name in names if name not in calibration.ranges]
    unknown = [name for name in (*calibration.ranges, *(floats or {})) if name not in names]
    if missing or unknown:
        what = [f"lacks {', '.join(map(repr, missing[:5]))}{' and more' if missing[5:] else ''}"] if missing else []
        what += [f"names {', '.join(map(repr, unknown[:5]))}, which the module does not have"] if unknown else []
        raise UsageError(f"the calibration {' and '.join(what)}", hint="calibrate the module that is quantized")
    if bias_correction and kept:
        module = corrected(module, scheme, calibration.ranges, kept[:CORRECTED], floats)
    result = quantize_module(module, scheme, calibration.ranges, floats)
    Pipeline.parse("dce").run(result)  # the float weights
    verify(result)
    return result


def _run(name: str, module: Module, samples: Iterable[Sample] | None, options: Mapping[str, Any]) -> Module:
    known = [parameter.name for parameter in inspect.signature(quantized).parameters.values()
             if parameter.kind == parameter.KEYWORD_ONLY]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UsageError(f"the quantizer {name} has no option {', '.join(unknown)}", hint=f"options: {', '.join(known)}")
    return quantized(module, SCHEMES[name], samples, **options)


def int8(module: Module, samples: Iterable[Sample] | None = None, **options: Any) -> Module:
    """Symmetric activations of 8 bits; see `quantized`."""
    return _run("int8", module, samples, options)


def int8_asym(module: Module, samples: Iterable[Sample] | None = None, **options: Any) -> Module:
    """Activations of 8 bits with a zero point; see `quantized`."""
    return _run("int8-asym", module, samples, options)


def int16x8(module: Module, samples: Iterable[Sample] | None = None, **options: Any) -> Module:
    """Activations of 16 bits, weights of 8; see `quantized`."""
    return _run("int16x8", module, samples, options)
