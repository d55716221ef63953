# ruff: noqa: E501 - lines of programs
"""A program of StableHLO that is changed in one place: what jaxlib's verifier refuses is refused, what it takes is taken and kept."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import transload
from transload.errors import TransloadError
from transload.text import print_module
from transload.worker import ChildEnded

from tests.drawn import Outcome
from tests.plugins.stablehlo.dialect.invalid_programs import OURS_TO_DECIDE, VALID, program, split, with_attribute, with_type
from tests.support import jaxlib_judge
from tests.support.stablehlo_seeds import SEEDS

SAMPLE = 75


def draw(number: int, folder: Path) -> Outcome:
    rng = random.Random(number)
    text = changed(rng)
    try:
        why, canonical = jaxlib_judge.verdict(text)
    except ChildEnded:
        return Outcome("not judged")
    ours = _refused(text)
    if why and ours:
        return Outcome("both refuse")
    if why:
        return Outcome("let through", f"takes what jaxlib refuses: {_class(why)}\n{why}\n{text}") if not OURS_TO_DECIDE.search(why) and not _FOREIGN.search(why) \
            else Outcome("ours to decide")
    if ours:
        if _STRICTER.search(ours):
            return Outcome("refused by the specification")
        return Outcome("refused", f"refuses what jaxlib takes: {_class(ours)}\n{ours}\n{text}")
    lost = _lost(text, canonical, folder)
    return Outcome("lost", f"{lost}\n{text}") if lost else Outcome("kept")


_FOREIGN = re.compile(r"TensorShardingPerValueAttr|Sdy_|expecting MeshAttr|^Unable to parse module assembly:\s+error: \S+ Negative tolerance")
"""What jaxlib says of shardings of Shardy, which are annotations to us (docs/stablehlo.md), and of attributes of ops that no dialect has."""
_STRICTER = re.compile(
    # docs/stablehlo.md, "What is refused"
    r"the function of chlo.scan ends in|holds no function|there is no attribute|does not end in func.return|is neither text nor|are the limit|must be constant, and is sparse"
    r"|before it is defined|out of place|holds no data for|\(C13\) without|torch_index_select: the result|operand and result have the same element type and rank")


def _refused(text: str) -> str:
    try:
        transload.load(text=text, format="stablehlo")
    except TransloadError as error:
        return "; ".join([error.message, *(f"{finding.what}: {finding.why}" for finding in error.findings)])
    return ""


def _class(message: str) -> str:
    """A message without what differs from case to case."""
    message = re.sub(r"^Unable to parse module assembly:\s*", "", message).split("\n note:")[0]
    message = re.sub(r'error: "[^"]*":\d+:\d+: |"[^"]*"|%\w+|@\w+|\'[^\']*<[^\']*\'|\b(?:tensor|tuple|memref)<\S*|-?\d[\w.]*', "_", message)
    return re.sub(r"\s+", " ", message)[:150]


def _lost(text: str, canonical: str, folder: Path) -> str:
    """What becomes another program on its way through our reader and a writer of ours, or ""."""
    module = transload.load(text=text, format="stablehlo")
    if not _comparable(text):
        return ""
    printed = print_module(module)
    why, again = jaxlib_judge.verdict(printed)
    if why or again != canonical:
        return f"our text is another program: {_class(why) or _first_difference(canonical, again)}\n{why}\n{printed}"
    theirs, data = jaxlib_judge.artifact(text)
    path = folder / "program.mlirbc"
    try:
        transload.save(module, path, format="stablehlo")
    except TransloadError as error:
        return "" if theirs else f"jaxlib writes the artifact, we do not: {_class(str(error))}\n{error}"
    if theirs:
        return ""
    why, again = jaxlib_judge.verdict(path.read_bytes())
    wanted = jaxlib_judge.verdict(data)[1]
    if why or again != wanted:
        return f"our artifact is another program: {_class(why) or _first_difference(wanted, again)}\n{why}"
    (folder / "theirs.mlirbc").write_bytes(data)
    why, again = jaxlib_judge.verdict(print_module(transload.load(folder / "theirs.mlirbc")))
    return f"we read jaxlib's artifact as another program: {_class(why) or _first_difference(wanted, again)}\n{why}" if why or again != wanted else ""


def _comparable(text: str) -> bool:
    """Whether a program is read as it stands: CHLO and other dialects' ops become StableHLO."""
    return set(re.findall(r'"(\w+)\.\w+"\s*\(', text)) <= {"builtin", "func", "stablehlo"}


def _first_difference(wanted: str, found: str) -> str:
    pairs = zip([*wanted.splitlines(), ""], [*found.splitlines(), ""], strict=False)
    return next((f"{one.strip()[:200]}  BECOMES  {other.strip()[:200]}" for one, other in pairs if one != other), "lines are missing")


# --- seeds


@lru_cache(maxsize=1)
def _seeds() -> list[str]:
    """All valid programs in generic form."""
    texts = [*SEEDS.values(), *(program(*each) for each in VALID)]
    generic = [jaxlib_judge.verdict(text) for text in texts]
    assert not any(why for why, _ in generic), [why for why, _ in generic if why]
    return [text for _, text in generic]


def changed(rng: random.Random) -> str:
    """One of the valid programs with one change; now and then two."""
    seed = text = rng.choice(_seeds())
    while text == seed:
        for _ in range(1 + (rng.random() < 0.1)):
            text = rng.choice(CHANGES)(rng, text)
    return text


# --- what is changed


@dataclass(frozen=True)
class Place:
    """Where an op stands in a text: `name`, the spans of its operands, of its regions and attributes, and of its types."""

    name: str
    results: str
    start: int
    operands: tuple[int, int]
    middle: tuple[int, int]
    types: tuple[int, int]


_OP = re.compile(r'(?:(%[\w:]+) = )?"([\w.]+)"\(([^()]*)\)')


def _ops(text: str) -> list[Place]:
    """All ops of a text in generic form."""
    found = []
    for match in _OP.finditer(text):
        depth, at, quoted = 0, match.end(), False
        while at < len(text) and not (depth == 0 and text.startswith(" : (", at)):
            character = text[at]
            quoted ^= character == '"'
            if not quoted and not text.startswith("->", at - 1):
                depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}.get(character, 0)
            at += 1
        end = text.find("\n", at)
        found.append(Place(match[2], match[1] or "", match.start(), match.span(3), (match.end(), at), (at + 3, end if end > 0 else len(text))))
    return found


def _put(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


def _operand(rng: random.Random, text: str) -> str:
    """An operand less, twice, in another's place, or another value of the program, with its type where that is written."""
    place = rng.choice(_ops(text))
    operands, (left, arrow, right) = split(text[slice(*place.operands)]), text[slice(*place.types)].partition(" -> ")
    types = split(left.strip()[1:-1])
    if len(types) != len(operands) or not operands:
        return text
    at, other = rng.randrange(len(operands)), rng.randrange(len(operands))
    what = rng.randrange(4)
    if what == 0:
        del operands[at], types[at]
    elif what == 1:
        operands.insert(other, operands[at])
        types.insert(other, types[at])
    elif what == 2:
        operands[at], operands[other] = operands[other], operands[at]
        types[at], types[other] = types[other], types[at]
    else:
        operands[at] = rng.choice(re.findall(r"%\w+(?:#\d+)?", text))
    text = _put(text, place.types, f"({', '.join(types)}){arrow}{right}")
    return _put(text, place.operands, ", ".join(operands))


def _result(rng: random.Random, text: str) -> str:
    """A result's type less, twice, of another op, and the number of results."""
    place = rng.choice(_ops(text))
    left, arrow, right = text[slice(*place.types)].partition(" -> ")
    results = split(right.strip().removeprefix("(").removesuffix(")"))
    what = rng.randrange(4)
    if what == 0 or not results:
        results.append(rng.choice(("tensor<2xf32>", "!stablehlo.token", "i32", "tuple<>", "none")))
    elif what == 1:
        results.pop()
    elif what == 2:
        results.reverse()
    else:
        results[-1] = rng.choice(re.findall(r"tensor<[^<>]*>", text) or ["index"])
    return _put(text, place.types, f"{left}{arrow}({', '.join(results)})")


def _region(rng: random.Random, text: str) -> str:
    """A region less, twice, empty; its block's arguments; a block more; its terminator."""
    places = [place for place in _ops(text) if "({" in text[slice(*place.middle)] and place.name != "builtin.module"]
    if not places:
        return text
    place = rng.choice(places)
    middle = text[slice(*place.middle)]
    begin, end = middle.index("({") + 1, middle.rindex("})") + 1
    inside = middle[begin:end]
    what = rng.randrange(10)
    if what == 0:
        inside = ""
    elif what == 1:
        inside = f"{inside}, {inside}"
    elif what == 2:
        inside = rng.choice(("{}", "{\n}, {\n}", "{\n^bb0:\n}"))
    elif what == 3:
        inside = re.sub(r"\^bb\d+\([^\n]*\):", rng.choice(("", "^bb0(%zz: tensor<f32>):", "^bb9(%zz: tensor<f32>, %zy: tensor<i32>):")), inside, count=1)
    elif what == 4:
        inside = re.sub(r'"(stablehlo|func)\.return"', rng.choice(('"func.return"', '"stablehlo.return"', '"test.other"', '"stablehlo.after_all"')), inside, count=1)
    elif what == 5:
        inside = re.sub(r'\n *"\w+\.return"[^\n]*', "", inside, count=1)
    elif what == 6:
        inside = re.sub(r'(\n *"\w+\.return"[^\n]*)', r"\1\1", inside, count=1)
    elif what == 7:
        inside = inside[:-1] + rng.choice(('^bb7:\n"func.return"() : () -> ()\n}', '^bb7(%q: tensor<f32>):\n"func.return"(%q) : (tensor<f32>) -> ()\n}'))
    elif what == 8:
        inside = re.sub(r'("\w+\.return")\((%[\w#]+)[^)]*\) : \((tensor<[^<>]*>)[^\n]*', r"\1(\2, \2) : (\3, \3) -> ()", inside, count=1)
    else:
        inside = re.sub(r'("\w+\.return")\([^)]*\) : [^\n]*', r"\1() : () -> ()", inside, count=1)
    return _put(text, place.middle, middle[:begin] + inside + middle[end:])


def _whole_type(rng: random.Random, text: str) -> str:
    """A type, or an element type, wherever it stands."""
    found = re.findall(r"tensor<[^<>]*>", text)
    if not found:
        return text
    old = rng.choice(found)
    if rng.random() < 0.5:
        return text.replace(old, rng.choice(TYPES))
    element = re.split(r"[x<]", old)[-1].rstrip(">")
    return re.sub(rf"(?<=[x<]){re.escape(element)}(?=>)", rng.choice(ELEMENTS), text) if element.isalnum() else text


def _one_type(rng: random.Random, text: str) -> str:
    found = list(re.finditer(r"tensor<[^<>]*>", text))
    return _put(text, rng.choice(found).span(), rng.choice(TYPES)) if found else text


def _dense(rng: random.Random, text: str) -> str:
    """The elements of a literal, in all forms."""
    found = list(re.finditer(r"dense<[^<>]*>(?= : tensor<)|array<i\d+(?:: [^<>]*)?>", text))
    return _put(text, rng.choice(found).span(), rng.choice(LITERALS)) if found else text


def _symbol(rng: random.Random, text: str) -> str:
    """A name of a function, or one that is used."""
    found = list(re.finditer(r'@\w+|(?<=sym_name = )"\w+"', text))
    if not found:
        return text
    names = re.findall(r'sym_name = "(\w+)"', text)
    new = rng.choice((*names, "missing", "a b", "main", ""))
    match = rng.choice(found)
    if match[0][0] == '"':
        return _put(text, match.span(), rng.choice((f'"{new}"', "@main", "1 : i32")))
    return _put(text, match.span(), rng.choice((f"@{new or 'main'}", f"@{names[0]}::@{new or 'x'}", f'@"{new}"', f'"{new}"')))


def _member(rng: random.Random, text: str) -> str:
    """An attribute or a property less, twice, more, or with another value."""
    found = [place for place in _ops(text) if "<{" in text[slice(*place.middle)] or rng.random() < 0.2]
    if not found:
        return text
    place = rng.choice(found)
    middle = text[slice(*place.middle)]
    match = re.search(r"<\{(.*?)\}>(?= |$)", middle, re.S)
    if match is None:
        return _put(text, place.middle, f" {{{rng.choice(MEMBERS)}}}{middle}")
    members = split(match[1])
    at, what = rng.randrange(len(members)), rng.randrange(5)
    key = members[at].partition(" = ")[0]
    if what == 0:
        del members[at]
    elif what == 1:
        members.append(members[at])
    elif what == 2:
        return _put(text, place.middle, middle[: match.end()] + f" {{{rng.choice(MEMBERS)}}}" + middle[match.end() :])
    elif what == 3:
        members[at] = f"{key} = {rng.choice(VALUES)}"
    else:
        return _put(text, place.middle, middle.replace("<{", "{", 1).replace("}>", "}", 1))
    return _put(text, place.middle, middle[: match.start(1)] + ", ".join(members) + middle[match.end(1) :])


def _function(rng: random.Random, text: str) -> str:
    """What stands in a function's head, or another function."""
    old, new = rng.choice((
        (r'(, sym_visibility = "\w+")?\}>', f', sym_visibility = {rng.choice(VISIBILITIES)}}}>'),
        (r"function_type = .*? -> ", f"{rng.choice(('arg', 'res'))}_attrs = {rng.choice(NOTES)}, \\g<0>"),
        (r"function_type = \([^()]*\)", rng.choice(("function_type = ()", "function_type = (tensor<2xf32>)", "function_type = (i32, index)"))),
        (r'(?s)("func\.func"\(.*?\n  \}\) : \(\) -> \(\)\n)', r"\1\1"),
        (r'(?s)("func\.func"\(.*\n  \}\) : \(\) -> \(\)\n)', r'"builtin.module"() ({\n\1}) : () -> ()\n'),
        (r'\n  "func\.func"', '\n"func.func"() <{function_type = () -> tensor<2xf32>, sym_name = "outside", '
                              f'sym_visibility = {rng.choice(VISIBILITIES)}}}> ({{}}) : () -> ()\n"func.func"'),
        (r'"func\.func"', rng.choice(('"func.other"', '"stablehlo.func"', '"func.call"'))),
        (r'"func\.func"\(\)', '"func.func"(%x)'),
    ))
    return re.sub(old, new, text, count=1)


def _form(rng: random.Random, text: str) -> str:
    """How it is written: order, names of values, places, remarks, aliases, what follows."""
    lines = text.splitlines()
    at = rng.randrange(len(lines))
    what = rng.randrange(12)
    if what == 0:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif what == 1:
        del lines[at]
    elif what == 2:
        lines.insert(at, lines[at])
    elif what == 3:
        lines[at] += rng.choice((" // a remark", ' loc("a")', " loc(unknown)", ' loc("f":1:2)', ' loc(fused["x", "y"])', ' loc(callsite("a" at "b"))', " loc(#l0)", ' loc(fused<"m">["a"])', ' loc("n"("f.py":3:4 to :5))', ' loc("f.py":3:4 to 5:6)'))
    elif what == 4:
        return re.sub(r"tensor<[^<>]*>", "!alias", "!alias = " + rng.choice(re.findall(r"tensor<[^<>]*>", text) or ["i1"]) + "\n" + text, count=rng.randrange(2, 5)).replace("!alias = !alias", "!alias = tensor<2xf32>")
    elif what == 5:
        return f'#a = dense<1> : tensor<2xi64>\n#l0 = loc("x")\n#b = array<i64: 0>\n{re.sub("array<i64[^>]*>", "#b", text, count=1)}'
    elif what == 6:
        return text + rng.choice(("}", "\n// the end", "\n{-# dialect_resources: {} #-}", '\n"builtin.module"() ({}) : () -> ()', "\0", "x"))
    elif what == 7:
        names = re.findall(r"%\w+", text)
        match = rng.choice(list(re.finditer(r"%\w+(?:#\d+)?", text)))
        return _put(text, match.span(), rng.choice((rng.choice(names), "%missing", match[0] + "#1", match[0] + "#0", "%0#7", "%-1")))
    elif what == 8:
        return re.sub(r"(%\w+):(\d+) =", rf"\1:{rng.randrange(5)} =", text)
    elif what == 9:
        return re.sub(r'"(stablehlo|func|builtin)\.(\w+)"', lambda m: m[0] if rng.random() < 0.9 else f'"{m[1]}.{m[2]}s"', text)
    elif what == 10:
        return text.replace("%", "%v.", rng.choice((1, -1)))
    else:
        return text.removesuffix("}) : () -> ()\n") + f"}}) {{{rng.choice(MEMBERS)}}} : () -> ()\n"
    return "\n".join(lines)


ELEMENTS = ("i1", "i2", "i3", "i4", "i8", "i16", "i32", "i64", "i128", "si8", "ui1", "ui4", "ui8", "ui32", "ui64", "index", "none", "f16", "bf16", "f32", "f64", "f80", "f128", "tf32",
            "f8E4M3FN", "f8E8M0FNU", "f4E2M1FN", "f6E2M3FN", "complex<f32>", "complex<f64>", "complex<f16>", "complex<i32>", "!quant.uniform<i8:f32, 0.5:-3>", "!quant.any<i8:f32>",
            "!quant.uniform<i8<-127:127>:f32, 0.5>", "!quant.uniform<u8:f32, 0.5:300>", "!quant.uniform<i8:f32, 0.0>", "!quant.uniform<i8:f32, -1.0>", "!quant.uniform<i8<5:1>:f32, 0.5>",
            "!quant.uniform<i4:f32, 0.5:9>", "!quant.uniform<i8:f16, 0.5>", "!quant.uniform<i16:f64, 1.0e300>", "!quant.uniform<i8:f32:0, {0.5}>", "!quant.uniform<i8:f32:1, {0.1, 0.2, 0.3}>",
            "!quant.uniform<i8:f32:-1, {0.1}>", "!quant.uniform<i8:f32:7, {0.1, 0.2}>", "!quant.uniform<i8:f32:{0:1, 1:3}, {{0.5}, {0.25}}>", "!quant.calibrated<f32<-1.0:1.0>>", "tensor<2xf32>", "!stablehlo.token",
            "vector<2xf32>", "memref<2xf32>", "tuple<i32>")
TYPES = ("tensor<f32>", "tensor<2xf32>", "tensor<1xf32>", "tensor<2x3xf32>", "tensor<3x2xf32>", "tensor<?x3xf32>", "tensor<?xf32>", "tensor<*xf32>", "tensor<0xf32>", "tensor<2x0x3xf32>", "tensor<2xi32>", "tensor<2xi64>",
         "tensor<i1>", "tensor<i32>", "tensor<2x3xi8>", "tensor<2x3xui8>", "tensor<2x3xi1>", "tensor<2x3xcomplex<f32>>", "tensor<?x3xf32, #stablehlo.bounds<4, ?>>", "tensor<2x?xf32, #stablehlo.bounds<?, 3>>",
         "tensor<2x3xf32, #stablehlo.bounds<?, ?>>", "tensor<?xf32, #stablehlo.bounds<-1>>", "tensor<?xf32, #stablehlo.bounds<4, 4>>", "tensor<2xf32, #stablehlo.bounds<4>>", "tensor<?xf32, #stablehlo.type_extensions<bounds = [4]>>",
         'tensor<2x3xf32, "x">', "tensor<2x3xf32, 1 : i32>", "tensor<2x3xf32, {a = 1 : i32}>", "!stablehlo.token", "tuple<>", "tuple<tensor<2xf32>, tuple<tensor<i32>>>", "!stablehlo.future<tensor<2xf32>>", "!stablehlo.future<>", "memref<2x3xf32>",
         "memref<?xf32>", "memref<2x3xf32, 1>", "memref<2xf32, strided<[2]>>", "vector<2xf32>", "f32", "i32", "index", "none", "() -> ()", "complex<f32>", "tensor<9223372036854775807xf32>", "tensor<4611686018427387904x4xf32>", "tensor<-1xf32>", "tensor<x3xf32>", "tensor<2 x3xf32>",
         "tensor<2x3x!quant.uniform<i8:f32:1, {0.1, 0.2, 0.3}>>", "tensor<?x!quant.uniform<i8:f32:0, {0.1, 0.2}>>", *(f"tensor<2x3x{element}>" for element in ELEMENTS))
LITERALS = ("dense<1>", "dense<1.0>", "dense<true>", "dense<>", "dense<[]>", "dense<[1]>", "dense<[1, 2]>", "dense<[1, 2, 3]>", "dense<[[1, 2], [3, 4]]>", "dense<[[1, 2], [3]]>", "dense<[1, [2]]>", 'dense<"0x00">', 'dense<"0x0000803F">',
            'dense<"0x0000000000000000">', 'dense<"0x0">', 'dense<"0xZZ">', 'dense<"00">', 'dense<"">', "dense<0x7F>", "dense<0x7F800000>", "dense<0x7F8000000>", "dense<[0x01, 1.0]>", "dense<-1>", "dense<-0x1>", "dense<300>", "dense<1.0e40>", "dense<1e>",
            "dense<(1.0, 2.0)>", "dense<(1.0, 2.0, 3.0)>", "dense<[(1, 2), 3]>", "dense<inf>", "dense<nan>", "dense<99999999999999999999>", 'dense<"a">', 'dense<["a", "b"]>', "dense<[true, 1]>", "dense<[-1, 1]>", "dense<[[0, 1]]>", "dense<[[0, 0]]>", "dense<[[0, 1], [1, 0]]>",
            "dense<[[0, -1]]>", "dense_resource<blob>", "sparse<0, 1>", "sparse<[[0]], [1]>", "array<i64>", "array<i64: 0>", "array<i64: 0, 1>", "array<i64: 1, 0>", "array<i64: 0, 0>", "array<i64: -1>", "array<i32: 0>", "array<i1: true>", "array<i8: 300>", "array<f32: 1>", "array<i64: 0x1>",
            "array<i64: 9223372036854775808>", "array<index: 0>", "array<i128: 0>", "array<i64: 1.0>")
MEMBERS = ("foo = 1 : i64", "foo.bar = 1 : i64", "foo", '"foo.bar baz" = unit', "mhlo.sharding = 1 : i32", 'mhlo.sharding = "{maximal device=0}"', 'sdy.sharding = "x"', "jax.thing = @missing", "sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>",
           "mhlo.frontend_attributes = {a = 1 : i32}", "mhlo.num_replicas = -1 : i32", 'sym_name = "twice"', "operandSegmentSizes = array<i32: 1, 1>", "result_accuracy = #stablehlo.result_accuracy<ulps = -1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>",
           "a.b = dense<1> : tensor<2xi64>", 'a.b = #unknown<"x">', "a.b = #unknown.attr", "a.b = #unknown.attr<[1, 2}>", "a.b = loc(\"x\")", "a.b = !unknown.type<1>", "a.b = 1.0", "a.b = 1", "a.b = 0x7F : f32", "a.b = 300 : i8", "a.b = -1 : ui8", "a.b = -129 : i8", "a.b = 1 : f32", "a.b = 1.0 : i32",
           "a.b = [1, , 2]", "a.b = {c = 1, c = 2}", "a.b = affine_map<(d0) -> (d0 + 1)>", "a.b = affine_set<(d0) : (d0 >= 0)>", 'a.b = "\\22\\0A"', 'a.b = "\\q"', "a.b = strided<[1], offset: 2>", "a.b = tensor<2xf32>", "a.b = #stablehlo.bounds<4>", "a.b = #builtin.int<1>", "a.b = distinct[0]<1 : i32>", "a.b = none", "a.b = opaque", "")
VALUES = ("true", "1 : i64", "-1 : i64", "0 : i64", "9 : i64", "1 : i32", "1.0 : f32", '"x"', "@main", "[]", "{}", "unit", "array<i64>", "array<i64: 0>", "array<i64: 1, 1>", "array<i64: -1, 2>", "dense<0> : tensor<1xi64>", "dense<0> : tensor<2x2xi64>", "dense<0> : tensor<0x2xi64>",
          "dense<[[0, 1]]> : tensor<1x2xi64>", "dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>", "#stablehlo.channel_handle<handle = 0, type = 0>", "#stablehlo<precision HIGH>", "#stablehlo<comparison_direction NE>", "#stablehlo<comparison_type UNSIGNED>", "#stablehlo<rng_algorithm PHILOX>",
          "#stablehlo<transpose NO_TRANSPOSE>", "() -> tensor<2xf32>", "(tensor<2xf32>) -> ()", "tensor<2xf32>", "[[0, 1]]", "9223372036854775807 : i64", "9223372036854775808 : i64", "1 : index", "1 : si64", "-1 : ui64", "0x10 : i64", "loc(unknown)")
VISIBILITIES = ('"private"', '"public"', '"nested"', '"other"', '""', "1 : i32")
NOTES = ("[]", "[{}]", "[{}, {}, {}]", "[{a = 1 : i32}]", "[{a.b}]", "[{a.b = 1 : i32}, {}]", '"x"', "[1 : i32]", "{}", "[{jax.result_info = 1 : i32}]", '[{mhlo.sharding = "{replicated}"}]', "[{tf.aliasing_output = 0 : i32}]", "[{tf.aliasing_output = 9 : i32}]", "[{}, 1 : i32]")
CHANGES: tuple[Callable[[random.Random, str], str], ...] = (
    _operand, _result, _region, _region, _whole_type, _whole_type, _one_type, _dense, _dense, _symbol, _member, _member, _member, _function, _form, with_type,
    *((lambda rng, text, what=what: with_attribute(rng, what, text)) for what in ("number", "number", "word", "list", "list")))
