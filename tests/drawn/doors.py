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
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.drawn import Outcome
from tests.drawn._array_files import ARRAYS, npy_of, npz_of
from tests.support.command_rules import complaint
from tests.support.commands import DIGITS, Surroundings, ended

SAMPLE = 8
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


def _image() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray((_IMAGES[0, ..., 0] * 255).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


_TABLE = b"# transload calibration table\n"
DOORS: dict[str, tuple[str, Callable[[], bytes], tuple[str, ...]]] = {
    "input npy": (".npy", lambda: npy_of(_IMAGES[:1]), ("run", MODEL, "-i", "{file}", "-o", "{out}.npz")),
    "input npz": (".npz", lambda: npz_of(arg0=_IMAGES[:1]), ("run", MODEL, "-i", "{file}", "-o", "{out}.npz")),
    "input of a conversion": (
        ".npz",
        lambda: npz_of(arg0=_IMAGES[:1]),
        ("convert", MODEL, "-i", "{file}", "-o", "{out}", "--json"),
    ),
    "input image": (".png", _image, ("run", MODEL, "-i", "{file}", "-o", "{out}.npz")),
    "samples npz": (".npz", lambda: npz_of(arg0=_IMAGES), ("calibrate", MODEL, "--data", "{file}", "-o", "{out}.table")),
    "samples npy": (
        ".npy",
        lambda: npy_of(_IMAGES),
        ("quantize", MODEL, "--data", "{file}", "-o", "{out}.mlir", "--effort", "fast"),
    ),
    "samples png": (".png", _image, ("eval", MODEL, MODEL, "--data", "{file}", "--metric", "cos", "--json")),
    "list": (
        ".txt",
        lambda: os.fsencode(DIGITS / "test_images.npz"),
        ("calibrate", MODEL, "--data", "{file}", "-o", "{out}.table", "-n", "2"),
    ),
    "labels txt": (".txt", lambda: b"0\n1\n", ("eval", MODEL, "--data", "{data}", "--labels", "{file}", "--json")),
    "labels npy": (".npy", lambda: npy_of(np.arange(2)), ("eval", MODEL, "--data", "{data}", "--labels", "{file}", "--json")),
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
    "dump": (".npz", lambda: npz_of(a=_IMAGES, b=np.arange(3)), ("npz", "dump", "{file}")),
    "dump of one": (".npz", lambda: npz_of(a=_IMAGES, b=np.arange(3)), ("npz", "dump", "{file}", "a")),
    "npz compare": (".npz", lambda: npz_of(arg0=_IMAGES), ("npz", "compare", "{file}", "{data}")),
    "to-dat": (".npz", lambda: npz_of(arg0=_IMAGES), ("npz", "to-dat", "{file}", "{out}.dat", "arg0")),
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
        "data": _saved(folder / "data.npz", npz_of(arg0=_IMAGES)),
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
            name = dice.choice(list(ARRAYS))
            array = np.arange(2) if "labels" in door else _IMAGES[:1] if "input" in door else _IMAGES
            made, is_same = ARRAYS[name](array, suffix == ".npz")
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
