"""TensorFlow Lite files: what LiteRT, XNNPACK, and the tools of many chips take; with the lowering from the hub."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Conversion, Pass

_HERE = "transload_targets.tflite"


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion(
        "top-to-tfl", "top", "tfl", f"{_HERE}.lowering:TABLE",
        before="tfl-narrow-doubles{f64=$f64},tfl-take-integers,plain-biases,biases-as-terms,layout{to=NHWC},spell-out-weights,"
               "dequantize-weights,dce,tfl-make-bytes-signed{bytes=$bytes},tfl-widen-narrow-types,tfl-narrow-integers,tfl-check-types",
        after="dce,tfl-fuse-activations,tfl-tidy,dce,tfl-keep-states,tfl-say-rounding{rounding=$rounding},"
              "tfl-check-operators{made=lowering}",
        doc="The hub to TensorFlow Lite: float, and quantized with the integers of LiteRT's reference kernels.",
        options={
            "bytes": (("kept", "signed"), "kept",
                      "unsigned quantized bytes become signed ones, the same numbers, where kernels want it, or all of them"),
            "rounding": (("kept", "litert"), "kept",
                         "quantized ops that round otherwise than LiteRT's kernels: refused, or rounded as LiteRT does"),
            "f64": (("narrowed", "kept", "refused"), "narrowed",
                    "f64 becomes f32, which is noted, is left to LiteRT, which moves such numbers, or is refused")}))


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("tfl-take-integers", f"{_HERE}.lowering.hybrid:take_integers",
                  "Have products that may round activations as they run take weights of 8 bits as they are stored."))
    register(Pass("tfl-narrow-doubles", f"{_HERE}.lowering.doubles:narrow_doubles",
                  "Make numbers of f64 f32, noted on the module, or refuse them."))
    register(Pass("tfl-say-rounding", f"{_HERE}.lowering.rounding:say_rounding",
                  "Note in a module that its operators may round otherwise than the ops that they were made of."))
    register(Pass("tfl-check-types", f"{_HERE}.lowering.types:check_types",
                  "Refuse values of types that LiteRT's kernels do not compute with, and of sizes known only at run time."))
    register(Pass("tfl-make-bytes-signed", f"{_HERE}.lowering.signedness:make_bytes_signed",
                  "Make quantized unsigned bytes signed ones, the same numbers, where an op has both, or everywhere."))
    register(Pass("tfl-widen-narrow-types", f"{_HERE}.lowering.narrow:widen_narrow_types",
                  "Have a clip cut what quantized types are narrowed to: LiteRT's kernels saturate at the ends of whole ones."))
    register(Pass("tfl-narrow-integers", f"{_HERE}.lowering.integers:narrow_integers",
                  "Compute in int32 what LiteRT has no kernels of for 64 bits, where the numbers are known to lie there."))
    register(Pass("tfl-fuse-activations", f"{_HERE}.lowering.tidy:fuse_activations",
                  "Make a ReLU behind an operator that has one part of that operator.", ("tfl",), ("tfl",)))
    register(Pass("tfl-tidy", f"{_HERE}.lowering.tidy:tidy",
                  "Remove reshapes, transposes and quantizations that do nothing or cancel.", ("tfl",), ("tfl",)))
    register(Pass("tfl-keep-states", f"{_HERE}.lowering.control:keep_states",
                  "Copy what a loop's body moves from one place of the state to another.", ("tfl",), ("tfl",)))


@hookimpl
def register_targets(register: Any) -> None:
    from .target import TfliteTarget

    register(TfliteTarget())
