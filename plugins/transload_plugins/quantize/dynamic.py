"""Weights of 8 bits whose products may round activations as they run: the scheme `dynamic`, TFLite's "dynamic range".

The constant weights of a `Conv` or `MatMul` become integers with a scale for each output channel, behind a cast to floats that
stays stored, and the op says by the attribute `DYNAMIC` how its activations may be rounded. No samples are needed. LiteRT has
kernels for it: there activations are rounded to 8 bits by the range that they have at that moment. What has none computes with
floats, as with weights alone.

Source: TensorFlow Lite, post-training dynamic range quantization; the size below which weights stay floats is its converter's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from transload.errors import UsageError
from transload.ir import F32, Dense, Module, Op
from transload.ir.build import Builder, constant_of
from transload.ir.verify import verify
from transload.options import typed
from transload.passes.manager import Pipeline
from transload.plugin import Quantized
from transload.shell import quoted
from transload.verification.bounds import DYNAMIC
from transload_hub.simplify.constant_products import PRODUCT, constants_to_layers
from transload_hub.simplify.einsum import write_out_einsums
from transload_hub.simplify.left_constants import left_constants_to_layers

from .asked import keywords_of, need_known
from .groups import rule_of
from .layers import Floats, check_tensors, floats_of
from .measure import Sample
from .observe import observed
from .requantize import begun
from .scheme import SCHEMES, stored
from .weight_only import weights_of

__all__ = ["dynamic", "ranges_found_as_it_runs"]

LEAST = 1024
"""Weights of fewer numbers stay floats."""
RECURRENT = ("top.LSTM", "top.GRU", "top.RNN")

FEWER = "weights are fewer than"
"""Of what stays as it is for its size alone."""


def ranges_found_as_it_runs(module: Module, *, least: int = LEAST, floats: Floats = None) -> Quantized:
    """A new module of the hub whose products have weights of 8 bits, and may round activations as they run.

    Weights of fewer numbers than `least` stay what they are, and so do those of layers that `floats` names, by what they compute.
    Raises `UsageError` for names that the module does not have, for weights that are no numbers, and where nothing is left.
    """
    if least < 0:
        raise UsageError(f"no weights are fewer than {least} numbers", hint="least=0 takes all")
    module = begun(module)
    result = module.clone()
    kept = floats_of(floats, module)
    check_tensors(module, kept)
    write_out_einsums(result)
    left_constants_to_layers(result)
    constants_to_layers(result)
    layers, others, takes_any = dict[str, Op](), dict[str, str](), False
    for name, value in observed(result).items():
        why = None if value.op is None else _why_not(value.op, least)
        if name in kept or name.removesuffix(PRODUCT) in kept or value.op is None or why == "":
            continue
        if why is None:
            layers[name] = value.op
        else:
            others[name] = why
            takes_any |= weights_of(value.op) is not None
    if not layers:
        small = any(FEWER in why for why in others.values())
        raise UsageError(
            "no layer of the model has weights for which LiteRT has kernels that round activations",
            hint="; ".join([*(f"{name}: {why}" for name, why in list(others.items())[:3]),
                            *(["--quantizer-option least=0 takes small weights, too"] if small else []),
                            *(["w8a16 takes any"] if takes_any else [])])
            or "dynamic makes integers of the weights of Conv and MatMul")
    sizes = [_change(name, op) for name, op in layers.items()]
    Pipeline.parse("dce").run(result)
    verify(result)
    before, now = (sum(each) for each in zip(*sizes, strict=True))
    told = {"weights": {"bytes before": before, "bytes": now}, "layers by their range": list(layers)}
    return Quantized(result, {**others, **kept}, told, module.clone())


def _why_not(op: Op, least: int) -> str | None:
    """Why an op's weights stay floats; '' where it has none, None where they become integers."""
    if op.name in RECURRENT:
        return f"{op.name} has weights of its own form: LiteRT's recurrent kernels that round are not written"
    rule = rule_of(op)
    dense = constant_of(op.operands[rule.weights]) if rule is not None and rule.weights is not None else None
    if rule is None or rule.weights is None or dense is None or not op.operands[rule.weights].is_float:
        return ""
    element = op.operands[rule.weights].element
    if element != F32 or op.operands[0].element != F32:
        return f"it multiplies {element}, and LiteRT's kernels round f32"
    if op.name == "top.MatMul":
        if len(dense.shape) != 2 or op.left_transpose:
            return "its weights are no matrix of a layer"
    elif op.name != "top.Conv" or len(dense.shape) != 4:
        return f"{op.name} of {len(dense.shape) - 2} dimensions has no kernel in LiteRT that rounds activations"
    elif op.group not in (1, op.operands[0].shape[1 if op.layout == "NCHW" else -1]):
        return "its channels are in groups"
    size = math.prod(dense.shape)
    return f"its {size} {FEWER} {least}" if size < max(least, 1) else None


def _change(name: str, op: Op) -> tuple[int, int]:
    """Give an op weights of integers; their bytes before and after."""
    rule = rule_of(op)
    assert rule is not None and rule.weights is not None
    value = op.operands[rule.weights]
    dense = constant_of(value)
    assert dense is not None
    numbers = dense.numpy().astype(np.float64)
    if not np.isfinite(numbers).all():
        raise UsageError(f"the weights of {name!r} hold infinities, or what are no numbers",
                         hint=f"keep them as floats: --floats {quoted(name)}")
    type_ = SCHEMES["int8"].weight_type(numbers, rule.channels(op))
    build = Builder(op.parent, before=op, location=value.name)  # type: ignore[arg-type]
    held = build.constant(Dense(stored(numbers, type_).astype(np.int8)), element=type_)
    op.set_operand(rule.weights, build.emit("top.Cast", held, element=F32, stored=True))
    op.attributes[DYNAMIC] = "asymmetric"
    return dense.nbytes, dense.nbytes // 4 + 4 * type_.count


def dynamic(module: Module, samples: Iterable[Sample] | None = None, /, **options: Any) -> Quantized:
    """What the quantizer runs; options may be text. Samples are not looked at."""
    need_known("the quantizer dynamic", options, keywords_of(ranges_found_as_it_runs))
    if "least" in options:
        options["least"] = typed("least", options["least"], int)
    return ranges_found_as_it_runs(module, **options)
