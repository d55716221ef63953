"""The quantizers that are registered: calibrate, correct, quantize."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from transload.errors import UsageError
from transload.ir import Module
from transload.ir.verify import verify
from transload.passes.manager import Pipeline

from . import calibration as calibrations
from .bias import corrected
from .borders import Which, take_casts_off
from .calibration import Calibration
from .measure import Sample, Spread
from .observe import observed
from .quantize import quantize_module
from .scheme import SCHEMES, Scheme

__all__ = ["calibrate", "int8", "int8_asym", "int16x8", "quantized"]

CORRECTED = 32
"""Samples on which biases are corrected: means settle sooner than ranges."""


def quantized(
    module: Module, scheme: Scheme, samples: Iterable[Sample] | None = None, *,
    calibration: Calibration | str | Path | None = None, method: str = "mse", bias_correction: bool = True,
    floats: Mapping[str, str] | None = None, quant_input: Which = None, quant_output: Which = None,
) -> Module:
    """A new module of the hub that computes with integers wherever there is a rule for it.

    The ranges are those of `calibration`, which may be the path of a table, or measured on `samples`, dicts of arrays by input
    name, by `method`. With samples biases are corrected, on some that lie evenly among them. `floats` names tensors whose ops are
    to stay float, with the reason; inputs and outputs are float but for those that `quant_input` and `quant_output` name, or
    "all". Raises `UsageError` where there is neither calibration nor a sample, or the calibration lacks a tensor.
    """
    spread = Spread(samples if samples is not None else (), CORRECTED)
    if isinstance(calibration, str | Path):
        calibration = Calibration.load(calibration)
    elif calibration is None:
        if samples is None:
            raise UsageError("a quantizer needs samples, or a calibration", hint="samples: dicts of arrays by input name")
        calibration = calibrations.calibrate(module, spread, method, bits=scheme.activations.width)
    elif bias_correction:
        deque(spread, maxlen=0)
    ranges = calibration.kept(scheme.symmetric)
    names = observed(module)
    missing = [name for name in names if name not in calibration.ranges]
    unknown = [name for name in (*calibration.ranges, *(floats or {})) if name not in names]
    if missing or unknown:
        what = [f"lacks {', '.join(map(repr, missing[:5]))}{' and more' if missing[5:] else ''}"] if missing else []
        what += [f"names {', '.join(map(repr, unknown[:5]))}, which the module does not have"] if unknown else []
        raise UsageError(f"the calibration {' and '.join(what)}", hint="calibrate the module that is quantized")
    if bias_correction and spread.kept:
        module = corrected(module, scheme, ranges, spread.kept, floats)
    result = quantize_module(module, scheme, ranges, floats)
    take_casts_off(result, quant_input, quant_output)
    Pipeline.parse("dce").run(result)  # the float weights, casts that nobody takes
    verify(result)
    return result


def _run(name: str, module: Module, samples: Iterable[Sample] | None, options: Mapping[str, Any]) -> Module:
    _refuse_unknown(f"the quantizer {name}", quantized, options)
    return quantized(module, SCHEMES[name], samples, **options)


def _refuse_unknown(what: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """`UsageError` for options that are no keywords of a function's."""
    known = [parameter.name for parameter in inspect.signature(function).parameters.values()
             if parameter.kind == parameter.KEYWORD_ONLY]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UsageError(f"{what} has no option {', '.join(unknown)}", hint=f"options: {', '.join(known)}")


def calibrate(module: Module, samples: Iterable[Sample], method: str, **options: Any) -> Calibration:
    """The ranges of a module's tensors by a method; see `calibration.calibrate`."""
    _refuse_unknown(f"the method {method}", calibrations.calibrate, options)
    return calibrations.calibrate(module, samples, method, **options)


def int8(module: Module, samples: Iterable[Sample] | None = None, **options: Any) -> Module:
    """Symmetric activations of 8 bits; see `quantized`."""
    return _run("int8", module, samples, options)


def int8_asym(module: Module, samples: Iterable[Sample] | None = None, **options: Any) -> Module:
    """Activations of 8 bits with a zero point; see `quantized`."""
    return _run("int8-asym", module, samples, options)


def int16x8(module: Module, samples: Iterable[Sample] | None = None, **options: Any) -> Module:
    """Activations of 16 bits, weights of 8; see `quantized`."""
    return _run("int16x8", module, samples, options)
