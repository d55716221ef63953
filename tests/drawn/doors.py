"""Every argument that names a file takes what is right in any form; else it is refused in words, soon, with little memory.

A case gives one argument of one command a file that is odd: a pipe, a device, a socket, a link to itself; damaged at a byte,
cut off, repeated; of another encoding; arrays in other byte orders, of objects, that say to be long, packed in other ways;
numbers and nesting that their format allows and nobody means. What numpy reads as the same arrays has to compute the same; of
what is wrong, the exit code is one of docs/errors.md, and nobody is told of a defect.
"""

from __future__ import annotations

import io
import json
import os
import random
import socket
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.drawn import Outcome
from tests.support.command_rules import complaint
from tests.support.commands import DIGITS, Surroundings, ended

SAMPLE = 25
_MOST = 1_500
"""MiB that a process may take for a file of some kilobytes."""
MODEL = "{model}"
_PROGRAM = """"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x8x8x1xf32>) -> tensor<1x10xf32>, sym_name = "main"}> ({
  ^bb0(%image: tensor<1x8x8x1xf32>):
    %0 = "stablehlo.reshape"(%image) : (tensor<1x8x8x1xf32>) -> tensor<1x64xf32>
    %1 = "stablehlo.constant"() <{value = dense<0.5> : tensor<64x10xf32>}> : () -> tensor<64x10xf32>
    %2 = "stablehlo.dot_general"(%0, %1) <{
      dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>
    }> : (tensor<1x64xf32>, tensor<64x10xf32>) -> tensor<1x10xf32>
    "func.return"(%2) : (tensor<1x10xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""
_IMAGES = np.random.default_rng(0).random((2, 8, 8, 1), np.float32)
Change = Callable[[random.Random, bytes], bytes]


def _npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _npy(array: np.ndarray, **more: bool) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **more)
    return file.getvalue()


def _image() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray((_IMAGES[0, ..., 0] * 255).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


_TABLE = b"# transload calibration table\n"
DOORS: dict[str, tuple[str, Callable[[], bytes], tuple[str, ...]]] = {
    "input npy": (".npy", lambda: _npy(_IMAGES[:1]), ("run", MODEL, "-i", "{file}", "-o", "{out}.npz")),
    "input npz": (".npz", lambda: _npz(arg0=_IMAGES[:1]), ("run", MODEL, "-i", "{file}", "-o", "{out}.npz")),
    "input of a conversion": (
        ".npz",
        lambda: _npz(arg0=_IMAGES[:1]),
        ("convert", MODEL, "-i", "{file}", "-o", "{out}", "--json"),
    ),
    "input image": (".png", _image, ("run", MODEL, "-i", "{file}", "-o", "{out}.npz")),
    "samples npz": (".npz", lambda: _npz(arg0=_IMAGES), ("calibrate", MODEL, "--data", "{file}", "-o", "{out}.table")),
    "samples npy": (
        ".npy",
        lambda: _npy(_IMAGES),
        ("quantize", MODEL, "--data", "{file}", "-o", "{out}.mlir", "--effort", "fast"),
    ),
    "samples png": (".png", _image, ("eval", MODEL, MODEL, "--data", "{file}", "--metric", "cos", "--json")),
    "list": (
        ".txt",
        lambda: os.fsencode(DIGITS / "test_images.npz"),
        ("calibrate", MODEL, "--data", "{file}", "-o", "{out}.table", "-n", "2"),
    ),
    "labels txt": (".txt", lambda: b"0\n1\n", ("eval", MODEL, "--data", "{data}", "--labels", "{file}", "--json")),
    "labels npy": (".npy", lambda: _npy(np.arange(2)), ("eval", MODEL, "--data", "{data}", "--labels", "{file}", "--json")),
    "labels json": (
        ".json",
        lambda: b'{"images": [], "annotations": [], "categories": []}',
        ("eval", MODEL, "--data", "{data}", "--labels", "{file}", "--json"),
    ),
    "classes": (
        ".txt",
        lambda: "\n".join("abcdefghij").encode(),
        ("eval", MODEL, "--data", "{data}", "--labels", "{labels}", "--classes", "{file}"),
    ),
    "resume": (
        ".state",
        lambda: b"",
        ("eval", MODEL, MODEL, "--data", "{data}", "--metric", "cos", "--resume", "{file}", "--json"),
    ),
    "resume of a calibration": (
        ".state",
        lambda: b"",
        ("calibrate", MODEL, "--data", "{data}", "-o", "{out}.table", "--resume", "{file}"),
    ),
    "table": (".table", lambda: _TABLE, ("convert", MODEL, "--quantize", "int8", "--table", "{file}", "-o", "{out}", "--json")),
    "layers": (
        ".txt",
        lambda: b"probabilities F32\n",
        ("quantize", MODEL, "--data", "{data}", "--layers", "{file}", "-o", "{out}.mlir"),
    ),
    "preprocess": (
        ".toml",
        lambda: b"mean = [0.0]\nscale = [1.0]\n",
        ("eval", MODEL, MODEL, "--data", "{png}", "--metric", "cos", "--preprocess", "{file}"),
    ),
    "onnx": (".onnx", lambda: (DIGITS / "digits_float.onnx").read_bytes(), ("inspect", "{file}", "--json")),
    "tflite": (
        ".tflite",
        lambda: (DIGITS / "digits_int8.tflite").read_bytes(),
        ("convert", "{file}", "-o", "{out}", "--verify=no", "--json"),
    ),
    "text": (".mlir", lambda: b'"builtin.module"() ({}) : () -> ()', ("opt", "{file}")),
    "dump": (".npz", lambda: _npz(a=_IMAGES, b=np.arange(3)), ("npz", "dump", "{file}")),
    "dump of one": (".npz", lambda: _npz(a=_IMAGES, b=np.arange(3)), ("npz", "dump", "{file}", "a")),
    "npz compare": (".npz", lambda: _npz(arg0=_IMAGES), ("npz", "compare", "{file}", "{data}")),
    "to-dat": (".npz", lambda: _npz(arg0=_IMAGES), ("npz", "to-dat", "{file}", "{out}.dat", "arg0")),
    "report run": ("", lambda: b"", ("run", "{folder}")),
    "report compare": ("", lambda: b"", ("compare", MODEL, "{folder}")),
    "report view": ("", lambda: b"", ("view", "{folder}", "--html", "{out}.html")),
    "report eval": ("", lambda: b"", ("eval", MODEL, "{folder}", "--data", "{data}", "--metric", "cos", "--json")),
    "report inspect": ("", lambda: b"", ("inspect", "{folder}")),
    "report again": ("", lambda: b"", ("convert", MODEL, "-o", "{folder}", "--json")),
}
"""Arguments that name a file: its suffix, what is right, and the command.

{folder} is of a conversion whose report is the file."""
_REPORTS = "report"
_TEXTS = ("list", "labels txt", "classes", "layers", "table")


def draw(number: int, folder: Path) -> Outcome:
    dice = random.Random(f"doors {number}")
    door = dice.choice(list(DOORS))
    suffix, right, line = DOORS[door]
    odd = folder / "odd"
    odd.mkdir()
    model = _saved(folder / "model.mlir", _PROGRAM.encode())
    content = _report(model, folder) if door.startswith(_REPORTS) else right()
    how, file, is_same = _odd(dice, door, odd, suffix, content)
    if door.startswith(_REPORTS):
        place = folder / "made"
        (place / "report.json").unlink()
        if file.parent == odd and os.path.lexists(file):
            file.rename(place / "report.json")
    names = {
        "model": model,
        "file": os.fspath(file),
        "out": str(folder / "out"),
        "data": _saved(folder / "data.npz", _npz(arg0=_IMAGES)),
        "labels": _saved(folder / "labels.txt", b"1\n2\n"),
        "png": _saved(folder / "image.png", _image()),
        "folder": str(folder / "made"),
    }
    one = ended([word.format(**names) for word in line], Surroundings())
    wrong = complaint(one)
    if wrong is None and one.memory > _MOST:
        wrong = f"{one.memory // 500 * 500} MiB are taken"
    if wrong is None and is_same:
        wrong = _other(door, one.code, model, folder)
    if wrong is not None:
        first, _, rest = wrong.partition("\n")
        return Outcome("wrong", f"{first} ({door}, {how})\n{rest}\n{one}")
    return Outcome("the same" if is_same else f"exit code {one.code}")


def _saved(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def _report(model: str, folder: Path) -> bytes:
    """A folder `made` by a conversion, and its report."""
    ended(["convert", model, "-o", str(folder / "made"), "--verify=no", "-q"])
    return (folder / "made" / "report.json").read_bytes()


def _other(door: str, code: int, model: str, folder: Path) -> str | None:
    """What differs where the same arrays are given in another form."""
    if code:
        return f"what is right in another form ends with {code}"
    if door.startswith("input n"):
        plain = folder / "plain.npy"
        np.save(plain, _IMAGES[:1])
        ended(["run", model, "-i", str(plain), "-o", str(folder / "plain.npz")])
        with np.load(folder / "out.npz") as one, np.load(folder / "plain.npz") as other:
            if any(not np.array_equal(one[name], other[name]) for name in other.files):
                return "the same array in another form computes something else"
    return None


def _odd(dice: random.Random, door: str, folder: Path, suffix: str, content: bytes) -> tuple[str, Path, bool]:
    """What is odd about a file, where it lies, and whether it says the same as what is right."""
    file = folder / f"odd{suffix}"
    ways: list[str] = ["thing", "bytes", "bytes"]
    if suffix in (".npz", ".npy"):
        ways += ["arrays"] * 4
    if door in _TEXTS or suffix in (".json", ".toml", "") or "resume" in door:
        ways += ["words"] * 4
    if suffix == ".png":
        ways += ["picture"] * 2
    match dice.choice(ways):
        case "thing":
            return _thing(dice, file, content)
        case "arrays":
            name = dice.choice(list(_ARRAYS))
            array = np.arange(2) if "labels" in door else _IMAGES[:1] if "input" in door else _IMAGES
            made, is_same = _ARRAYS[name](array, suffix == ".npz")
            file.write_bytes(made)
            return name, file, is_same and door not in ("dump", "dump of one")
        case "words":
            how, made = _words(dice, content)
        case "picture":
            how, made = _picture(dice)
        case _:
            how = dice.choice(list(_BYTES))
            made = _BYTES[how](dice, content)
    file.write_bytes(made)
    return how, file, False


def _thing(dice: random.Random, file: Path, content: bytes) -> tuple[str, Path, bool]:
    """What is no file, or one of an odd name."""
    how = dice.choice(
        (
            "fifo",
            "socket",
            "loop",
            "nothing",
            "folder",
            "/dev/null",
            "/dev/zero",
            "/dev/urandom",
            "/dev/full",
            "/proc/version",
            "/dev/stdin",
            "/proc/self/mem",
            "long name",
            "no utf-8",
            "sparse",
            "dash",
            "long path",
            "empty name",
            "newline",
            "link",
        )
    )
    file.parent.mkdir(exist_ok=True)
    if how.startswith("/"):
        file.symlink_to(how)
    match how:
        case "fifo":
            os.mkfifo(file)
        case "socket":
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(str(file))
        case "loop":
            file.symlink_to(file.name)
        case "folder":
            file.mkdir()
        case "long name":
            return how, file.with_name("n" * 300 + file.suffix), False
        case "long path":
            return how, Path(str(file.parent) + "/." * 2200 + file.name), False
        case "empty name":
            return how, Path(), False  # which is the current folder
        case "no utf-8" | "newline" | "dash":
            other = file.with_name({"no utf-8": "\udcff", "newline": "a\nb\x1b[31m", "dash": "-i"}[how] + file.suffix)
            other.write_bytes(content)
            return how, other, False
        case "sparse":
            with file.open("wb") as made:
                made.truncate(1 << 40)
        case "link":
            file.with_name("there").write_bytes(content)
            file.symlink_to("there")
    return how, file, False


def _flipped(dice: random.Random, content: bytes) -> bytes:
    made = bytearray(content or b"x")
    for _ in range(dice.choice((1, 1, 3, 20))):
        place = dice.randrange(len(made))
        made[place] = dice.choice((0, 255, made[place] ^ 1 << dice.randrange(8), dice.randrange(256)))
    return bytes(made)


_BYTES: dict[str, Change] = {
    "flipped": _flipped,
    "flipped at its beginning": lambda dice, content: _flipped(dice, content[:120]) + content[120:],
    "flipped at its end": lambda dice, content: content[:-80] + _flipped(dice, content[-80:]),
    "cut off": lambda dice, content: content[: dice.randrange(len(content) + 1)],
    "without its beginning": lambda dice, content: content[dice.randrange(len(content) + 1) :],
    "twice": lambda dice, content: content * 2,
    "zeros": lambda dice, content: bytes(dice.choice((1, 7, 5000))),
    "noise": lambda dice, content: dice.randbytes(dice.choice((1, 100, 5000))),
    "followed by more": lambda dice, content: content + dice.randbytes(50),
    "UTF-16": lambda dice, content: content.decode("latin-1").encode("utf-16"),
    "one long line": lambda dice, content: b"a" * 3_000_000,
    "lines": lambda dice, content: b"\n" * 3_000_000,
}


def _zipped(dice: int, names: dict[str, bytes], **more: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", dice) as archive:
        for name, content in names.items():
            archive.writestr(name, content, **more)
    return file.getvalue()


def _held(content: Callable[[np.ndarray], bytes]) -> Callable[[np.ndarray, bool], bytes]:
    """An array as a file of its own, or as the one of an archive."""
    return lambda array, packed: _zipped(0, {"arg0.npy": content(array)}) if packed else content(array)


def _header(says: str, version: int = 1) -> bytes:
    """An array that has only what its header says."""
    text = says.encode("latin-1", "replace").ljust(117) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text


def _says(says: str, version: int = 1) -> Callable[[np.ndarray, bool], tuple[bytes, bool]]:
    return lambda array, packed: (_held(lambda _: _header(says, version) + bytes(64))(array, packed), False)


def _as(form: Callable[[np.ndarray], np.ndarray], is_same: bool = True) -> Callable[[np.ndarray, bool], tuple[bytes, bool]]:
    return lambda array, packed: (_held(lambda one: _npy(form(one), allow_pickle=True))(array, packed), is_same)


def _archive(
    names: Callable[[bytes], dict[str, bytes]], how: int = 0, is_same: bool = False
) -> Callable[[np.ndarray, bool], tuple[bytes, bool]]:
    return lambda array, packed: (_zipped(how, names(_npy(array))), is_same and packed)


def _twice(array: np.ndarray, packed: bool) -> tuple[bytes, bool]:
    import warnings

    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for one in (array, array + 1):
            archive.writestr("arg0.npy", _npy(one))
    return file.getvalue(), False


def _with_flags(array: np.ndarray, packed: bool) -> tuple[bytes, bool]:
    """An archive that says to be encrypted."""
    made = bytearray(_zipped(0, {"arg0.npy": _npy(array)}))
    made[6] |= 1
    made[made.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(made), False


_ARRAYS: dict[str, Callable[[np.ndarray, bool], tuple[bytes, bool]]] = {
    "big endian": _as(lambda one: one.astype(one.dtype.newbyteorder(">"))),
    "Fortran order": _as(np.asfortranarray),
    "double": _as(lambda one: one.astype(np.float64) if one.dtype.kind == "f" else one.astype(np.int32), False),
    "objects": _as(lambda one: one.astype(object), False),
    "texts": _as(lambda one: one.astype(str), False),
    "records": _as(lambda one: one.view([("a", one.dtype)]), False),
    "complex": _as(lambda one: one.astype(np.complex64), False),
    "times": _as(lambda one: one.astype(np.int64).view("M8[s]"), False),
    "half": _as(lambda one: one.astype(np.float16), False),
    "long double": _as(lambda one: one.astype(np.longdouble), False),
    "nothing in it": _as(lambda one: one[:0], False),
    "a number": _as(lambda one: one.reshape(-1)[0], False),
    "many dimensions": _as(lambda one: one.reshape(*one.shape, *[1] * 40), False),
    "NaN": _as(lambda one: one * np.nan, False),
    "long by its header": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}"),
    "more than 64 bits": _says(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({1 << 70},)}}"),
    "negative": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 8)}"),
    "nothing, and long": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999999999999)}"),
    "true sizes": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (True, 8)}"),
    "no header": _says("nonsense"),
    "a header that is deep": _says("(" * 3000),
    "a header that computes": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (9**9**9,)}"),
    "a header of another version": _says("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 9),
    "void": _says("{'descr': '|V0', 'fortran_order': False, 'shape': (4,)}"),
    "long texts": _says("{'descr': '<U99999999', 'fortran_order': False, 'shape': (99,)}"),
    "a type of parts": _says("{'descr': [('a', '<f4', (99999999, 99))], 'fortran_order': False, 'shape': (1,)}"),
    "deflated": _archive(lambda one: {"arg0.npy": one}, zipfile.ZIP_DEFLATED, True),
    "bzip2": _archive(lambda one: {"arg0.npy": one}, zipfile.ZIP_BZIP2),
    "LZMA": _archive(lambda one: {"arg0.npy": one}, zipfile.ZIP_LZMA),
    "zeros, packed": _archive(
        lambda one: {
            "arg0.npy": _header("{'descr': '<f4', 'fortran_order': False, 'shape': (100000000,)}") + bytes(400_000_000)
        },
        zipfile.ZIP_DEFLATED,
    ),
    "names that lead out": _archive(lambda one: {"../../arg0.npy": one, "/arg0.npy": one}),
    "no suffix": _archive(lambda one: {"arg0": one}),
    "a folder": _archive(lambda one: {"arg0/": b"", "arg0.npy": one}),
    "an odd name": _archive(
        lambda one: {
            "a\x1b[31m\nb\udc80.npy".encode("utf-8", "replace").decode(): one,
            "": one,
            ".npy": one,
            "x" * 5000 + ".npy": one,
        }
    ),
    "no array": _archive(lambda one: {"arg0.npy": b"text", "other.txt": b"text"}),
    "no files": _archive(lambda one: {}),
    "many": _archive(lambda one: {f"{number}.npy": one for number in range(3000)}),
    "twice the same name": _twice,
    "encrypted": _with_flags,
}
"""Arrays in files that numpy writes, might read, or refuses; with whether they are the same numbers in another form."""


def _words(dice: random.Random, content: bytes) -> tuple[str, bytes]:
    """Text that its format allows, mostly, and nobody means; in JSON, values in the place of others."""
    try:
        said = json.loads(content)
    except ValueError:
        said = None
    odd = dice.choice(
        (
            "null",
            "[]",
            "{}",
            "true",
            "-1",
            "1e999",
            "NaN",
            '""',
            '"\\ud800"',
            "9" * 5000,
            "[" * 5000,
            '"../../../etc/passwd"',
            '"\\u0000"',
            '"/dev/zero"',
            "1e308",
            "0.1",
            "[[[]]]",
            '{"a": {"b": 1}}',
            "18446744073709551616",
        )
    )
    if isinstance(said, dict) and dice.random() < 0.8:
        return f"JSON {odd[:12]}", _with_value(dice, said, odd)
    lines = (
        b"",
        b"\xff\xfe0\n",
        "é\n".encode("latin-1"),
        b"\xef\xbb\xbf0\n1\n",
        b"0\r\n1\r\n",
        b"0\r1\r",
        b"\x00\n",
        b"1e400\n2\n",
        b"9" * 5000 + b"\n",
        b"-1\n-2\n",
        b"0 1\n",
        b"0,1\n",
        b"nan\nnan\n",
        b"1.5\n2.5\n",
        b"#\n#\n",
        "١\n٢\n".encode(),
        b"0x1\n0b1\n",
        b"1_0\n2\n",
        b" 0 \n\n1\n\n",
        b"../x\n",
        b"\n" * 1000,
        b"[" * 5000,
        b"a = " + b"9" * 5000,
        b"a = " + b"[" * 5000,
        b"mean = nan\n",
        b"mean = [inf]\nscale = [1e400]",
        b'mean = "x"',
        b"mean = [1, 2, 3, 4, 5]",
        b"resize = [-1, 99999999]",
        b"resize = [99999999, 99999999]",
        b"scale = true",
        b"[mean]\na = 1",
        b"mean = 1979-05-27",
        b"probabilities -1 -nan 4\n",
        b"probabilities 1e400 1 1\n",
        "# sample number: ²\n".encode(),
        b"# sample number: " + b"9" * 5000 + b"\n",
        odd.encode(),
    )
    chosen = dice.choice(lines)
    return f"text {chosen[:12]!r}", dice.choice((b"", content + b"\n")) + chosen


def _with_value(dice: random.Random, said: dict[str, object], odd: str) -> bytes:
    """A JSON object of which one value, at any depth, is another."""
    place: object = said
    while True:
        assert isinstance(place, dict | list)
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = dice.choice(keys)
        below = place[key]
        if isinstance(below, dict | list) and below and dice.random() < 0.6:
            place = below
            continue
        if dice.random() < 0.2 and isinstance(place, dict):
            del place[key]
        else:
            place[key] = "\x01odd"
        break
    return json.dumps(said).replace('"\\u0001odd"', odd).encode()


def _picture(dice: random.Random) -> tuple[str, bytes]:
    """Pictures of other sizes, kinds and formats, right or not."""
    from PIL import Image

    mode, form, size = (
        dice.choice(("L", "RGB", "RGBA", "P", "1", "I;16", "LA", "CMYK")),
        dice.choice(("PNG", "BMP", "JPEG", "WEBP", "GIF", "TIFF", "PPM")),
        dice.choice(((8, 8), (1, 1), (1, 3000), (300, 200))),
    )
    file = io.BytesIO()
    try:
        Image.new(mode, size).save(file, form)
    except (OSError, KeyError, ValueError):
        Image.new("L", size).save(file, "PNG")
    content = bytearray(file.getvalue())
    if content[:4] == b"\x89PNG" and dice.random() < 0.4:
        content[16:24] = struct.pack(">II", dice.choice((0, 100_000, 1 << 31)), dice.choice((0, 100_000, 7)))
    return f"picture {mode} {form}", bytes(content)
