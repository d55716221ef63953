"""TOSA: the dialect with its kernels, `.tosa` files, the lowering from `top`, and passes."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.facts import Facts
from transload.plugin import Conversion, DialectSpec, Pass, Reader, Runtime, Writer

_HERE = "transload_plugins.tosa"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec(
        "tosa", f"{_HERE}.dialect:TOSA", f"{_HERE}.kernels:KERNELS", "Tensor Operator Set Architecture 1.0 and 1.1."))
    register(DialectSpec(
        "tosa030", f"{_HERE}.v030.dialect:TOSA030", f"{_HERE}.v030.kernels:KERNELS", "Tensor Operator Set Architecture 0.30."))


@hookimpl
def register_facts(register: Any) -> None:
    register(Facts("moves", "tosa", f"{_HERE}.facts:MOVES"))
    register(Facts("indices", "tosa", f"{_HERE}.facts:INDICES"))
    register(Facts("cast", "tosa", f"{_HERE}.facts:CASTS"))
    register(Facts("control", "tosa", f"{_HERE}.facts:CONTROL"))
    register(Facts("signs", "tosa", f"{_HERE}.facts:SIGNS"))
    register(Facts("steps", "tosa", f"{_HERE}.facts:STEPS"))
    register(Facts("products", "tosa", f"{_HERE}.facts:PRODUCTS"))
    register(Facts("integers", "top", f"{_HERE}.lowering.integers:INTEGERS"))


@hookimpl
def register_readers(register: Any) -> None:
    register(Reader("tosa", "tosa", (".tosa",), f"{_HERE}.flatbuffer.reader:read", f"{_HERE}.flatbuffer.reader:detect",
                    "TOSA flatbuffers, specification 1.0 and 1.1."))
    register(Reader(
        "tosa-0.30", "tosa030", (".mlir",), f"{_HERE}.v030.text:read", f"{_HERE}.v030.text:detect",
        "MLIR text of TOSA 0.30, as MLIR wrote it at that time (--format tosa-0.30 where nothing in it tells)."))


@hookimpl
def register_runtimes(register: Any) -> None:
    register(Runtime(
        "tosa-reference", "tosa", f"{_HERE}.runtime:open_module", "transload.own_meaning:always",
        "TOSA flatbuffers, and MLIR text of TOSA 1.0 and 1.1, by the reference engine.", functions=True, text=True))


@hookimpl
def register_writers(register: Any) -> None:
    register(Writer(
        "tosa", "tosa", (".tosa",), f"{_HERE}.flatbuffer.writer:write", "TOSA flatbuffers, specification 1.0 or 1.1."))
    register(Writer(
        "tosa-0.30", "tosa030", (), f"{_HERE}.v030.text:write", "MLIR text of TOSA 0.30, as MLIR wrote it at that time."))


@hookimpl
def register_conversions(register: Any) -> None:
    register(Conversion(
        "top-to-tosa", "top", "tosa", f"{_HERE}.lowering:TABLE",
        before="plain-biases{bias=$bias},biases-as-terms{bits=16},layout{to=NHWC},tosa-fuse-fixed-point{int64=$int64},dce,"
               "tosa-narrow-integers{int64=$int64},tosa-narrow-doubles{f64=$f64},tosa-spell-out-blocks,"
               "tosa-spell-out-expm1,dce,tosa-make-signed,tosa-tabulate-islands",
        after="tosa-pack-weights{int4=$int4},tosa-strip-quantized,dce,tosa-canonicalize,cse,dce",
        doc="The hub to TOSA: float, and quantized with exact integer arithmetic.",
        options={
            "int64": (("proved", "assumed"), "proved",
                      "64-bit integers become 32-bit ones where that is proved to change no number, or wherever it may be so"),
            "f64": (("narrowed", "refused"), "narrowed", "f64 becomes f32, which is noted, or is refused"),
            "int4": (bool, False, "weights of 4 bits are i4 (TOSA's extension int4), as the target tosa has them, or bytes"),
            "bias": (("fine", "plain"), "fine",
                     "biases finer than products of scales are added so, by two more operators, or rounded, which is noted"),
            "rounding": (("kept", "integers", "litert"), "kept",
                         "functions of int16 numbers whose results are rounded once, as ONNX's, are computed in floats, in "
                         "integers alone, or by LiteRT's interpolated tables, some steps off")}))
    register(Conversion(
        "tosa030-to-tosa", "tosa030", "tosa", f"{_HERE}.v030.upgrade:TABLE", after="dce,tosa-make-signless", rough=True,
        doc="TOSA 0.30 to 1.0: attributes become operands."))
    register(Conversion(
        "tosa-to-tosa030", "tosa", "tosa030", f"{_HERE}.v030.downgrade:TABLE", before="tosa030-unsigned", after="dce",
        doc="TOSA 1.0 to 0.30, where it can be said."))


@hookimpl
def register_passes(register: Any) -> None:
    prepare, v030 = f"{_HERE}.lowering.prepare", f"{_HERE}.v030"
    register(Pass("tosa-canonicalize", f"{_HERE}.canonicalize:canonicalize_tosa",
                  "Remove reshapes, transposes, casts and rescales that do nothing or cancel.", ("tosa",), ("tosa",)))
    register(Pass("tosa-fuse-fixed-point", f"{prepare}.fixed_point:fuse_fixed_point",
                  "Multiplications by a fixed-point number, written out in 64 bits, as one `tosa.rescale` each."))
    register(Pass("tosa-narrow-integers", f"{prepare}.integers:narrow_integers",
                  "Refuse ops on 64-bit integers, and unsigned 32-bit ones, that would compute other numbers in i32."))
    register(Pass("tosa-narrow-doubles", f"{prepare}.doubles:narrow_doubles",
                  "Note on the module that f64 becomes f32, or refuse it."))
    register(Pass("tosa-spell-out-blocks", f"{prepare}.block_scales:spell_out_blocks",
                  "Compute with real numbers where tensors have a scale for each block, which TOSA cannot say."))
    register(Pass("tosa-spell-out-expm1", f"{prepare}.expm1:spell_out_expm1",
                  "Compute exponentials less one, which are written by tanh, without it: TOSA's loses small numbers."))
    register(Pass("tosa-make-signed", f"{prepare}.signedness:make_signed",
                  "Give values the element types that TOSA has: unsigned ones become signed, 64-bit ones 32-bit."))
    register(Pass("tosa-tabulate-islands", f"{prepare}.float_islands:tabulate_islands",
                  "Make a table of what is computed in float of one int8 number and quantized again."))
    register(Pass("tosa-pack-weights", f"{_HERE}.lowering.four_bits:pack_weights",
                  "Hold constant weights of 4 bits as i4, where TOSA's convolutions take such.", ("tosa",), ("tosa",)))
    register(Pass("tosa-strip-quantized", "transload.passes.storage:strip_quantized_types",
                  "Leave the storage type where a value has a quantized type, as TOSA's operators see it.", ("tosa",), ("tosa",)))
    register(Pass("tosa-make-signless", f"{v030}.upgrade:make_signless",
                  "Tensors of ui8 and ui16 as i8 and i16, as TOSA 1.0 has them.", ("tosa",), ("tosa",)))
    register(Pass("tosa030-unsigned", f"{v030}.downgrade:make_unsigned",
                  "Tensors that are only read and written as unsigned get an unsigned type, as TOSA 0.30 has it."))
