# ruff: noqa: E501 - lines of programs
"""Programs of one op each, changed at random in types and attributes: most of them break a rule."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

_ADD = '({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%z = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"stablehlo.return"(%z) : (tensor<f32>) -> ()\n})'
_ACCURATE = ("cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "sqrt", "tan", "tanh")
_GROUPS = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
_PAIRS = "source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>"
_PER_AXIS = "tensor<2x3x!quant.uniform<i8:f32:1, {0.1, 0.2, 0.3}>>"

# op, what stands between its operands and its types, types of operands, types of results
VALID = [
    ("custom_call", '{call_target_name = "foo", api_version = 4 : i32, backend_config = {x = 1 : i32}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]}', "tensor<2x3xf32>, tensor<4xf32>", "tensor<5x6xf32>"),
    ("custom_call", '{call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}', "tensor<2x3xf32>, tensor<4xf32>", "tensor<2x3xf32>"),
    ("custom_call", '{call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = [0]>]}', "tensor<2x3xf32>, tuple<tensor<4xf32>, tensor<i32>>", "tuple<tensor<2x3xf32>, tensor<4xf32>>"),
    ("custom_call", '{call_target_name = "foo", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[]> : tensor<0xindex>], has_side_effect = true}', "tensor<2x3xf32>", "tensor<5x6xf32>, !stablehlo.token"),
    ("all_to_all", f"{{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, {_GROUPS}}}", "tensor<2x4xf32>", "tensor<4x2xf32>"),
    ("all_gather", f"{{all_gather_dim = 1 : i64, {_GROUPS}, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}", "tensor<2x2xf32>", "tensor<2x4xf32>"),
    ("all_gather", f"{{all_gather_dim = 1 : i64, {_GROUPS}, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}}", "tensor<2x2xf32>", "tensor<2x8xf32>"),
    ("all_reduce", f"{_ADD} {{{_GROUPS}}}", "tensor<2x2xf32>", "tensor<2x2xf32>"),
    ("reduce_scatter", f"{_ADD} {{scatter_dimension = 1 : i64, {_GROUPS}}}", "tensor<2x4xf32>", "tensor<2x2xf32>"),
    ("collective_permute", f"{{{_PAIRS}}}", "tensor<2x2xf32>", "tensor<2x2xf32>"),
    ("collective_broadcast", f"{{{_GROUPS}}}", "tensor<2x2xf32>", "tensor<2x2xf32>"),
    ("reduce_precision", "{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}", "tensor<6xf64>", "tensor<6xf64>"),
    ("broadcast", "{broadcast_sizes = array<i64: 2>}", "tensor<3xf32>", "tensor<2x3xf32>"),
    ("broadcast_in_dim", "{broadcast_dimensions = array<i64: 1>}", "tensor<3xf32>", "tensor<2x3xf32>"),
    ("reshape", "", "tensor<6xf32>", "tensor<2x3xf32>"),
    ("set_dimension_size", "{dimension = 1 : i64}", "tensor<2x3xf32>, tensor<i32>", "tensor<2x?xf32, #stablehlo.bounds<?, 3>>"),
    ("real_dynamic_slice", "", "tensor<4x5xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>", "tensor<?x?xf32>"),
    ("rng", "{rng_distribution = #stablehlo<rng_distribution NORMAL>}", "tensor<f32>, tensor<f32>, tensor<2xi64>", "tensor<3x3xf32>"),
    ("iota", "{iota_dimension = 0 : i64}", "", "tensor<4x5xi32>"),
    ("reduce", f"{_ADD} {{dimensions = array<i64: 1>}}", "tensor<2x3xf32>, tensor<f32>", "tensor<2xf32>"),
    ("get_tuple_element", "{index = 1 : i32}", "tuple<tensor<2xf32>, tensor<i32>>", "tensor<i32>"),
    ("recv", "{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}", "!stablehlo.token", "tensor<2x2xi64>, !stablehlo.token"),
    ("recv", f"{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, {_PAIRS}}}", "!stablehlo.token", "tensor<2x2xi64>, !stablehlo.token"),
    ("add", "", f"{_PER_AXIS}, {_PER_AXIS}", _PER_AXIS),
    ("xor", "", "tensor<2x3xi32>, tensor<2x3xi32>", "tensor<2x3xi32>"),
    ("dot_general", "{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}", "tensor<2x3xf32>, tensor<3x4xf32>", "tensor<2x4xf32>"),
    ("convolution", "{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, padding = dense<1> : tensor<2x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}", "tensor<1x4x4x2xf32>, tensor<3x3x2x4xf32>", "tensor<1x4x4x4xf32>"),
    ("uniform_quantize", "", "tensor<2x3xf32>", _PER_AXIS),
    ("bitcast_convert", "", "tensor<4xf32>", "tensor<4x4xi8>"),
    *((op, "{result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-05, rtol = 0.25, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}", "tensor<2x3xf32>", "tensor<2x3xf32>") for op in _ACCURATE),
    *((op, "{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}", "tensor<2x3xf32>", "tensor<2x3xf32>") for op in _ACCURATE),
]
_ELEMENTS = (
    "i1", "i4", "i8", "ui8", "i32", "i64", "ui32", "f16", "bf16", "f32", "f64", "f8E4M3FN", "complex<f32>", "index",
    "!quant.uniform<i8:f32, 0.5>", "!quant.uniform<i8:f32, 0.25:3>", "!quant.uniform<i32:f32, 0.5>",
    "!quant.uniform<i8:f32:0, {0.1, 0.2}>", "!quant.uniform<i8:f32:1, {0.1, 0.2, 0.3}>")
_VALUES = (
    "true", "false", "1 : i64", "-1 : i64", "1 : i32", "1 : i8", "1 : ui64", "1 : index", "1.0 : f32", "1.0 : f64", '"x"', '""', "@main", "[]",
    "[1 : i64]", '["a"]', "[@main]", "[[0, 1]]", "{}", "{a = 1 : i64}", "array<i64>", "array<i64: 0>", "array<i64: 1, 0>", "array<i32: 0, 1>", "array<i1: true>",
    "array<f32: 1.0>", "dense<0> : tensor<i64>", "dense<0> : tensor<index>", "dense<0> : tensor<1xi64>", "dense<[[0, 1]]> : tensor<1x2xi64>", "dense<[[0, 1]]> : tensor<1x2xi32>",
    "dense<true> : tensor<1xi1>", "dense<1.0> : tensor<1xf32>", "[dense<[0]> : tensor<1xindex>]", "[dense<[0, 0]> : tensor<2xindex>]", "i64", "tensor<2xf32>", "() -> ()",
    "affine_map<(d0) -> (d0)>", "#stablehlo.channel_handle<handle = 1, type = 1>", "#stablehlo.channel_handle<handle = -1, type = 7>", "#stablehlo<precision DEFAULT>",
    "[#stablehlo<precision DEFAULT>]", "#stablehlo<comparison_direction EQ>", "#stablehlo<rng_distribution UNIFORM>", "#stablehlo<fft_type FFT>",
    "#stablehlo.gather<collapsed_slice_dims = [0]>", "#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>",
    "#stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>", "#stablehlo.bounds<3>",
    "#stablehlo.result_accuracy<ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>",
    "[#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 5, operand_tuple_indices = []>]", "")
"""Of an attribute, of all kinds; of the last kind is one without a value."""
OURS_TO_DECIDE = re.compile(
    # Bounds of results follow from those of operands; that is inferred where shapes are, and not held against a program.
    r"inferred type\(s\) .*bounds<"
    # By (C6) of add, the result is quantized along an axis where either operand is.
    r"|'stablehlo.add' op inferred type"
    # The specification has triangular_solve of quantized numbers (I1, I2).
    r"|triangular_solve' op operand .*floating-point|triangular_solve' op operand #\d must be ranked tensor of 4/6"
    # Tensors that are quantized along an axis are values like others in its section on types.
    r"|per-tensor integer quantized values or token", re.DOTALL)
"""What the bindings say of programs that are right by the specification."""
_OTHERS = ("!stablehlo.token", "f32", "tensor<*xf32>", "tuple<tensor<2xf32>>", "tensor<f32>", "tensor<0x2xf32>", "tensor<?x?xf32>")
_TENSOR = re.compile(r"tensor<((?:(?:\d+|\?)x)*)((?:[^<>,]|<[^<>]*>)+)((?:, #stablehlo.bounds<[^>]*>)?)>")
_NUMBER = re.compile(r"(?<![\w.%#<-])-?\d+(?:\.\d+(?:e[-+]\d+)?)?(?![\w.x:]|\*)")
_WORD = re.compile(r"\b(HIGHEST|DEFAULT|TOLERANCE|true|false|NORMAL)\b")
_LIST = re.compile(r"\[[^\[\]]*\]")
_MEMBER = re.compile(r"\b\w+ = (?:\d+ : i\d+|dense<[^>]*> : tensor<[^>]*>|\[dense[^{}]*?index>\]|\"\w*\"),? ?")


def program(op: str, attributes: str, operands: str, results: str) -> str:
    """A module with one op, whose operands come from ops that no dialect has."""
    types = split(operands)
    names = [f"%a{index}" for index in range(len(types))]
    values = "".join(f'{name} = "test.value"() : () -> {type_}\n' for name, type_ in zip(names, types, strict=True))
    left = f"%r:{len(split(results))}" if len(split(results)) > 1 else "%r"
    return (
        '"builtin.module"() ({\n"func.func"() <{function_type = () -> (), sym_name = "main"}> ({\n' + values
        + f'{left} = "stablehlo.{op}"({", ".join(names)}) {attributes} : ({operands}) -> ({results})\n'
        '"func.return"() : () -> ()\n}) : () -> ()\n}) : () -> ()\n')


def split(types: str) -> list[str]:
    """A list of types, or of attributes, at the commas that are outside of brackets."""
    parts, depth = [""], 0
    for character in types:
        depth += {"<": 1, "{": 1, "[": 1, ">": -1, "}": -1, "]": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def changed(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """So many different programs, each with its op's name."""
    rng = random.Random(seed)
    seen: set[str] = set()
    while len(seen) < count:
        op, attributes, operands, results = rng.choice(VALID)
        for _ in range(1 + (rng.random() < 0.15)):
            what = rng.choice(("type", "type", "inner", "number", "number", "word", "list", "member"))
            if what == "type":
                operands, _, results = with_type(rng, f"{operands} -> {results}").partition(" -> ")
            elif what == "inner":
                attributes = with_type(rng, attributes)
            else:
                attributes = with_attribute(rng, what, attributes)
        text = program(op, attributes, operands, results)
        if text not in seen:
            seen.add(text)
            yield op, text


def with_other_values() -> Iterator[tuple[str, str]]:
    """The valid programs with each value in the place of each attribute's, with the op's name."""
    for op, attributes, operands, results in VALID:
        region, opens, members = attributes.rpartition("}) {") if attributes.startswith("(") else ("", "", attributes[1:])
        each = split(members.removesuffix("}"))
        for place, member in enumerate(each):
            name = member.split(" ", 1)[0]
            for value in _VALUES:
                others = [*each[:place], f"{name} = {value}" if value else name, *each[place + 1 :]]
                yield op, program(op, f"{region}{opens or '{'}{', '.join(others)}}}", operands, results)


def with_type(rng: random.Random, text: str) -> str:
    """One tensor's type changed, at one place or wherever it stands."""
    found = list(_TENSOR.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    new = _other_type(rng, match)
    return text.replace(match[0], new) if rng.random() < 0.4 else text[: match.start()] + new + text[match.end() :]


def _other_type(rng: random.Random, match: re.Match[str]) -> str:
    sizes, element, bounds = [size for size in match[1].split("x") if size], match[2], match[3]
    what = rng.randrange(9)
    at = rng.randrange(len(sizes)) if sizes else 0
    if what < 3 or not sizes:
        element = rng.choice(_ELEMENTS)
    elif what == 3:
        sizes[at] = rng.choice(("0", "1", "2", "3", "5", "7"))
    elif what == 4:
        del sizes[at]
    elif what == 5:
        sizes.insert(at, rng.choice(("1", "2", "3")))
    elif what == 6:
        sizes[at] = "?"
    elif what == 7:
        sizes[at] = "?"
        bounds = f", #stablehlo.bounds<{', '.join(rng.choice('?43') for _ in sizes)}>"
    else:
        return rng.choice(_OTHERS)
    return f"tensor<{''.join(f'{size}x' for size in sizes)}{element}{bounds}>"


def with_attribute(rng: random.Random, what: str, text: str) -> str:
    """A number, a word or a list changed, or a member left out."""
    pattern = {"number": _NUMBER, "word": _WORD, "list": _LIST, "member": _MEMBER}[what]
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    if what == "number":
        new = rng.choice(("-1.0", "0.0", "1.0e-30") if "." in match[0] else ("-1", "0", "1", "2", "3", "7"))
    else:
        new = rng.choice({
            "word": ("HIGHEST", "DEFAULT", "TOLERANCE", "true", "false"), "member": ("",),
            "list": ("[]", "[0]", "[0, 1]", "[0, 0]", "[1, 0]", "[2]")}[what])
    return text[: match.start()] + new + text[match.end() :]
