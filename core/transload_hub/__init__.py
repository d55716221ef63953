"""The hub dialect `top`, to which every framework's model comes and from which every target's starts.

Ops (`ops`) and the kernels that execute them (`kernels`); what is known about them: simplifications (`simplify`), composites
(`recognize`), layouts (`layout`), intervals and bounds (`analysis`). Core does not import this package: it comes by an entry
point, as every plugin does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transload import hookimpl
from transload.facts import FactKind, Facts
from transload.plugin import DialectSpec, Pass, Runtime

_HERE = "transload_hub"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec(
        "top", f"{_HERE}.ops:TOP", f"{_HERE}.kernels:KERNELS", "The hub: hardware-independent operations.",
        canonicalize=f"{_HERE}.simplify.table:TABLE", role="hub", pipeline="fold-constants,canonicalize"))


@hookimpl
def register_facts(register: Any) -> None:
    register(FactKind(
        "layout", "a rule `(op, around) -> options`: the orders of dimensions in which it can run", "the pass layout", Callable,
        gives=f"{_HERE}.layout.options:no_options"))
    register(FactKind(
        "integer-width", "what must be known of i32 that stand for wider operands: a `Width`, or a function that gives one",
        "narrowing of integers", f"{_HERE}.analysis.integer_width_rules:FACT",
        gives=f"{_HERE}.analysis.integer_width_rules:Width"))
    register(FactKind(
        "known-call", "a function `(op) -> bool`: whether the op, as it is, is a library's, and means operations of the hub",
        "targets that have no way to make the call", Callable, gives="transload.fact_outcomes:answer"))
    register(FactKind(
        "call-form", "a function `(op) -> bool`: whether the op is a call known by name, and takes and gives what it does",
        "readers that make operations of such calls", Callable, gives="transload.fact_outcomes:answer"))
    register(Facts("layout", "top", f"{_HERE}.layout.rules:RULES"))
    register(Facts("integer-width", "top", f"{_HERE}.analysis.integer_width_rules:WIDTHS"))
    register(Facts("interval", "top", f"{_HERE}.analysis.intervals:INTERVALS"))
    register(Facts("landmarks", "top", f"{_HERE}.analysis.landmarks:LANDMARKS"))
    register(Facts("control", "top", f"{_HERE}.analysis.movement:CONTROL"))
    register(Facts("error-bound", "top", f"{_HERE}.analysis.error_bounds:ERROR_BOUNDS"))
    register(Facts("exact", "top", f"{_HERE}.analysis.exact:EXACT"))
    register(Facts("choice", "top", f"{_HERE}.analysis.choices:CHOICES"))
    register(Facts("as-it-runs", "top", f"{_HERE}.analysis.error_bounds:ROUNDED"))
    register(Facts("moves", "top", f"{_HERE}.analysis.movement:MOVES"))
    register(Facts("indices", "top", f"{_HERE}.analysis.movement:INDICES"))
    register(Facts("steps", "top", f"{_HERE}.analysis.steps:STEPS"))
    register(Facts("products", "top", f"{_HERE}.analysis.steps:PRODUCTS"))
    register(Facts("cast", "top", f"{_HERE}.analysis.movement:CASTS"))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "hub-reference", "mlir", f"{_HERE}.runtime:open_module", "transload.own_meaning:always",
        "Modules of the hub in MLIR text, by the reference engine.", functions=True))


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("recognize", f"{_HERE}.recognize.composites:recognize",
                  "Put composites that exporters take apart (softmax, layer norm, GELU, ...) together as one op of `top`."))
    register(Pass("recognize-quantized", f"{_HERE}.recognize.quantized:recognize_quantized",
                  "Make casts from and to quantized types of arithmetic that quantizes and dequantizes."))
    register(Pass("dequantize-weights", f"{_HERE}.simplify.weights:dequantize_weights",
                  "Make quantized constants that are used as real numbers float constants."))
    register(Pass("spell-out-weights", f"{_HERE}.simplify.weights:spell_out_weights",
                  "Say quantized constants that are to stay stored by a cast of integers and a product with their scales."))
    register(Pass("fold-qdq", f"{_HERE}.simplify.qdq:fold_qdq",
                  "Make quantized ops of ops between casts from and to quantized types."))
    register(Pass("fold-fake-quant", f"{_HERE}.simplify.fake_quant:fold_fake_quant",
                  "Make integer arithmetic of models that training rounded in floats: simplify, then fold-qdq."))
    register(Pass("round-once", f"{_HERE}.ops.rounding:round_once",
                  "Say of quantized ops that they round a scaled sum once, as models mean it that are quantized around floats."))
    register(Pass("plain-biases", f"{_HERE}.simplify.biases:plain_biases",
                  "Round biases that are finer than the products they are added to, as integer chips have them."))
    register(Pass("biases-as-terms", f"{_HERE}.simplify.bias_terms:biases_as_terms",
                  "Make biases of batches of products of so many bits or more terms of the sums, which are the same integers."))
    register(Pass("unroll-recurrent", f"{_HERE}.simplify.recurrent:unroll_recurrent",
                  "Write out recurrent layers of few steps: products, activations and sums for each."))
    register(Pass("write-out-einsums", f"{_HERE}.simplify.einsum:write_out_einsums",
                  "Write out Einstein sums as matrix products, sums over dimensions and products of numbers."))
    register(Pass("scales-to-products", f"{_HERE}.simplify.scales:scales_to_products",
                  "Write scales and shifts of channels as depthwise convolutions, others as products and sums."))
    register(Pass("constants-to-layers", f"{_HERE}.simplify.constant_products:constants_to_layers",
                  "Products with constants have a matrix of weights, or nothing added: as integers have them."))
    register(Pass("left-constants-to-layers", f"{_HERE}.simplify.left_constants:left_constants_to_layers",
                  "Transpose products whose constant matrix stands on the left: it stands on the right, as a layer's."))
    register(Pass("write-out-normalizations", f"{_HERE}.simplify.normalization:write_out_normalizations",
                  "Write out normalizations and quotients of tensors: means, squares, products, reciprocals."))
    register(Pass("write-out-floor-divisions", f"{_HERE}.simplify.floor_division:write_out_floor_divisions",
                  "Write out quotients of floats rounded down that are not of rounded quotients: what is left, compared."))
    register(Pass("spell-out-quantized", f"{_HERE}.simplify.spell_out:spell_out_quantized",
                  "Let quantized ops compute with real numbers between casts, as QDQ models have them."))
    register(Pass("layout", f"{_HERE}.layout.change:change_layout", "Turn the graph to NHWC or NCHW and cancel the transposes."))
