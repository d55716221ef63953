"""What a command tells its user to type can be typed as it stands, and leads further; no size is chosen silently.

A model of any format that asks for sizes, by names that a shell takes apart, is given to a command with options that are missing
or wrong. The judge is bash, which takes the printed words apart, and what the model's maker knows of its inputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np

from tests.drawn import Outcome
from tests.drawn._asked import Asked, Input, Size, make
from tests.drawn._followed import NO_PLACE, UNREADABLE, Said, commands, follow, known_options, named, options, typed

SAMPLE = 16
ROUNDS = 5
TARGETS = (
    "tosa", "tosa", "tosa", "onnx", "tflite", "stablehlo", "xla-cpu", "ethos-u85-256", "ethos-u55-128", "top", "tflm",
    "tosa-text",
    "tensor-processor", "sophgo", "openvino", "coreml", "xla-gpu", "mlir", "nix")
QUANTIZERS = ("int8", "int8", "uint8", "int16", "w8a16", "int8-asym", "float16", "bf16", "dynamic", "f8e4m3", "w4a16", "float")
COMMANDS = ("convert",) * 6 + (
    "inspect", "run", "compare", "quantize", "search", "calibrate", "eval", "gen-input", "extract", "view", "tosa-requirements")
NAMES = ("m.onnx", "m.tflite", "m.mlir", "m.pb", "m.keras", "m.prototxt", "m.bin", "m", "m.tosa", "m.txt")
METRICS = ("top1", "sqnr", "cos", "agreement", "equal")
AT_HAND = {
    "--target": "tosa", "-t": "tosa", "--quantize": "int8", "--dump": "steps", "--scheme": "int8", "--batch": "1"}
FORMS = ("npz", "npz", "npz", "npy", "named", "folder", "pictures", "missing", "csv", "one", "wrong")


def draw(number: int, folder: Path) -> Outcome:
    rng = Random(f"hints {number}")
    return Case(rng, folder, make(rng, folder)).outcome()


class Case:
    """A model and the line that is typed about it."""

    def __init__(self, rng: Random, folder: Path, asked: Asked) -> None:
        self.rng, self.folder, self.asked = rng, folder, asked
        self.sizes: dict[str, int] = {}
        self.right = {one.name: tuple(self.known(size) for size in one.sizes or (1, 4)) for one in asked.inputs}

    def known(self, size: Size) -> int:
        if isinstance(size, int):
            return size
        return self.sizes.setdefault(size, self.rng.choice((1, 2, 4))) if size else self.rng.choice((1, 2, 4))

    def outcome(self) -> Outcome:
        words = self.line()
        trail: list[str] = []
        seen: list[str] = []
        added: set[str] = set()
        for turn in range(ROUNDS):
            said = typed(words, self.folder)
            trail += [f"$ {words}", f"{said.code}: {said.err.strip() or said.out.strip()[:600]}"]
            wrong = self.complaint(words, said)
            if wrong is None and said.code not in (0, 4) and said.finding in seen:
                wrong = f"followed, and it is the same: {general(said.finding)}"
            if wrong is None and said.code == 2 and any(re.search(rf"(?<![\w'-]){option}\b", said.finding) for option in added):
                wrong = f"what it said is refused: {general(said.finding)}"
            if wrong is None and said.code == 0:
                wrong = self.next_steps(words, said, trail)
            if wrong is not None:
                return Outcome("wrong", "\n".join([wrong, *trail]))
            if said.code in (0, 4):
                return Outcome(f"done after {turn}" if said.code == 0 else "differs")
            seen.append(said.finding)
            clicks = said.finding.startswith("error: No such")
            following = follow(words, said, self.filler(words))
            if isinstance(following, str):
                if following == NO_PLACE:
                    return Outcome("wrong", "\n".join([f"{following}: {general(said.finding)}", *trail]))
                return Outcome(following if said.hints else "refused, and that is all")
            if following[0] == UNREADABLE:
                return Outcome("wrong", "\n".join([f"what is said reads as no line: {general(said.finding)}", *trail]))
            added = set() if clicks else {word for word in following if word.startswith("--") and word not in words}
            words = following
        return Outcome("wrong", "\n".join([f"no end after {ROUNDS} hints: {general(seen[-1])}", *trail]))

    # What is typed

    def line(self) -> list[str]:
        rng = self.rng
        command = rng.choice(COMMANDS)
        model = self.asked.path.name
        if rng.random() < 0.06:
            model = self.misnamed()
        words = [command, model]
        if rng.random() < 0.5:
            words += self.shapes()
        if self.asked.parts and rng.random() < 0.5:
            words += [rng.choice(("--function", "--signature")), misspelt(rng, rng.choice(self.asked.parts), 0.2)]
        words += getattr(self, f"_{command.replace('-', '_')}")()
        if rng.random() < 0.35:
            words += self.odd(command)
        if rng.random() < 0.06:
            words[0] = misspelt(rng, words[0], 1)
        elif rng.random() < 0.08:
            places = [place for place, word in enumerate(words) if word.startswith("--") and len(word) > 5]
            if places:
                place = rng.choice(places)
                words[place] = misspelt(rng, words[place], 1)
        return words

    def misnamed(self) -> str:
        """The model by another suffix: what is in it is what it was."""
        other = self.rng.choice(NAMES)
        if self.asked.path.name != other:
            self.asked.path.rename(self.folder / other)
        return other

    def shapes(self) -> list[str]:
        """Sizes as a user says them: rightly, or with what is easily got wrong."""
        words = []
        for one in self.asked.inputs:
            if not (one.is_open() or self.rng.random() < 0.3):
                continue
            name, sizes = one.name, list(self.right[one.name])
            kind = self.rng.random()
            if kind < 0.06:
                name = misspelt(self.rng, name, 1)
            elif kind < 0.12:
                sizes.append(3)
            elif kind < 0.18:
                sizes[-1] += 1
            elif kind < 0.22:
                sizes = sizes[1:]
            text = "x".join(map(str, sizes)) or "scalar"
            odd = (text.replace("x", ","), f"[{text}]", text + "x?", f"{text}:float", f"{text}:{one.dtype}")
            text = self.rng.choice((text,) * 12 + odd)
            words += ["--shape", f"{name}:{text}"]
        return words

    def _convert(self) -> list[str]:
        rng = self.rng
        words = ["-o", "made", "-t", misspelt(rng, rng.choice(TARGETS), 0.05)] if rng.random() < 0.9 else ["-o", "made"]
        words += ["--no-verify"] if rng.random() < 0.6 else []
        if rng.random() < 0.25:
            words += ["--quantize", misspelt(rng, rng.choice(QUANTIZERS), 0.1)]
            words += self.data() if rng.random() < 0.7 else []
        return words

    def _inspect(self) -> list[str]:
        return ["-t", misspelt(self.rng, self.rng.choice(TARGETS), 0.1)] if self.rng.random() < 0.5 else []

    def _run(self) -> list[str]:
        return ["-o", "out.npz"] if self.rng.random() < 0.5 else []

    def _compare(self) -> list[str]:
        typed(["convert", self.asked.path.name, "-t", "tosa", "-o", "made", "--no-verify", *self.truth()], self.folder)
        made = sorted((self.folder / "made").glob("*.tosa")) if (self.folder / "made").exists() else []
        more = ["--per-layer"] if self.rng.random() < 0.3 else []
        return [self.rng.choice(("made", f"made/{made[0].name}" if made else "made")), *more]

    def truth(self) -> list[str]:
        """The sizes, as they are."""
        return [word for one in self.asked.inputs if one.is_open()
                for word in ("--shape", f"{one.name}:{'x'.join(map(str, self.right[one.name])) or 'scalar'}")]

    def _quantize(self) -> list[str]:
        scheme = ["--scheme", misspelt(self.rng, "uint8", 0.2)] if self.rng.random() < 0.3 else []
        return ["-o", "q.mlir", *scheme, *(self.data() if self.rng.random() < 0.8 else [])]

    def _search(self) -> list[str]:
        return [*self.data(), *(["--min-cos", "0.5"] if self.rng.random() < 0.7 else [])]

    def _calibrate(self) -> list[str]:
        return [*self.data(), *(["--method", misspelt(self.rng, "minmax", 0.3)] if self.rng.random() < 0.4 else [])]

    def _eval(self) -> list[str]:
        metric = ["--metric", misspelt(self.rng, self.rng.choice(METRICS), 0.1)]
        return [*self.data(), *(metric if self.rng.random() < 0.8 else [])]

    def _gen_input(self) -> list[str]:
        return ["-o", "g.npz"]

    def _extract(self) -> list[str]:
        outputs = ["--outputs", misspelt(self.rng, self.rng.choice(self.asked.outputs or ("out0",)), 0.3)]
        return ["-o", "e.mlir", *(outputs if self.rng.random() < 0.7 else [])]

    def _view(self) -> list[str]:
        return ["--html", "page.html"]

    def _tosa_requirements(self) -> list[str]:
        return []

    def data(self) -> list[str]:
        """Samples in one of the forms there are, or in one that there is not."""
        rng, kind = self.rng, self.rng.choice(FORMS)
        first = self.asked.inputs[0].name if self.asked.inputs else "x"
        if kind == "missing":
            return ["--data", "nothing.npz"]
        if kind == "npz":
            self.write("samples.npz", 8)
            return ["--data", "samples.npz"]
        if kind == "one":
            self.write("samples.npz", None)
            return ["--data", "samples.npz"]
        (self.folder / "data").mkdir(exist_ok=True)
        for place in range(8 if kind != "csv" else 0):
            if kind == "pictures":
                from PIL import Image

                Image.fromarray(np.full((9, 7, 3), place * 9, np.uint8)).save(self.folder / "data" / f"{place}.png")
            else:
                np.save(self.folder / "data" / f"{place}.npy", self.array(first, None if kind != "wrong" else 3))
        if kind == "csv":
            (self.folder / "data" / "x.csv").write_text("1,2,3\n4,5,6\n")
            return ["--data", rng.choice(("data", "data/x.csv"))]
        if kind == "npy":
            np.save(self.folder / "s.npy", self.array(first, 8))
            return ["--data", "s.npy"]
        if kind == "named":
            words = []
            for place, one in enumerate(self.asked.inputs):
                np.save(self.folder / f"s{place}.npy", self.array(one.name, 8))
                words += ["--data", f"{misspelt(rng, one.name, 0.1)}=s{place}.npy"]
            return words or ["--data", "data"]
        return ["--data", "data"]

    def odd(self, command: str) -> list[str]:
        """An option more: right, misspelt, or of nothing."""
        rng = self.rng
        first = self.asked.inputs[0] if self.asked.inputs else Input("x", (1, 4), "float32")
        own = "S3" if first.dtype in ("string", "str") else first.dtype
        np.save(self.folder / "x.npy", self.array(first.name, None).astype(rng.choice((own, "float32", "float64", "int64"))))
        self.write("all.npz", None)
        size = next((size for one in self.asked.inputs for size in one.sizes or () if isinstance(size, str)), "seq")
        output = self.asked.outputs[-1] if self.asked.outputs else "out0"
        reader = rng.choice(("onnx", "tflite", "caffe", "tensorflow"))
        return rng.choice((
            ["--dim", f"{misspelt(rng, size, 0.4)}=4"], ["--dim", size], ["--batch", rng.choice(("2", "0", "x"))],
            ["--input", f"{misspelt(rng, first.name, 0.3)}=x.npy"], ["--input", "all.npz"], ["--input", "x.npy"],
            ["--input", "nix.npy"], ["--input", "."], ["--outputs", misspelt(rng, output, 0.4)],
            ["--function", misspelt(rng, "main", 0.6)], ["--format", misspelt(rng, reader, 0.3)],
            ["--option", rng.choice(("profil=x", "level=none", "x", "optimize=9", "memory-mode=Shared"))],
            ["--tolerance", rng.choice(("cos", "cosine=0.9", "sqnr=x", "cos=0.9"))],
            ["--passes", rng.choice(("canonicalise", "fold{", "nix"))],
            ["--engine", rng.choice(("referense", "xla", "onnx", "nix"))],
            ["--seed", rng.choice(("-1", "x", "3"))], ["--floats", misspelt(rng, output, 0.5)], ["--method", "minmaks"],
            ["--effort", "beste"], ["--quant-input", misspelt(rng, first.name, 0.5)], ["--weights", "m.caffemodel"],
            ["--metric", "topp1"], ["--from", "hub"], ["--json"], ["-v"], ["--verify", "maybe"], ["--mean", "1,2"],
            ["--resize", "8"],
            ["--host", "tosaa"], ["--excepts", misspelt(rng, "out0", 0.5)], ["--layers", "nix.txt"], ["--types", "INT7"],
            ["--output", "outt0"], ["--quantizer-option", "island=none"], ["--preprocess", "nix.toml"], ["--labels", "nix.txt"],
            ["extra word"]))

    # What is filled in

    def array(self, name: str, samples: int | None) -> np.ndarray:
        one = next((one for one in self.asked.inputs if one.name == name), Input("x", (1, 4), "float32"))
        shape = self.right.get(name, (1, 4))
        numbers = np.random.default_rng(1).random(shape if samples is None else (samples, *shape)) * 4
        return numbers.astype("S1" if one.dtype in ("string", "str") else one.dtype)

    def write(self, file: str, samples: int | None) -> None:
        np.savez(self.folder / file, **{one.name: self.array(one.name, samples) for one in self.asked.inputs})  # type: ignore[arg-type]

    def filler(self, words: list[str]) -> Callable[[str, str], str | None]:
        """What somebody has at hand where a name in capitals stands for it."""
        def fill(option: str, text: str) -> str | None:
            if "SIZE" in text and option == "--shape":
                name = named(option, text)
                return f"{name}:{'x'.join(map(str, self.right[name]))}" if name in self.right else None
            if option in ("--data", "--input", "-i") or text in ("SAMPLES", "..."):
                pairs = [word for before, word in pairwise(words) if before == "--shape"]
                said = {named("--shape", word): word.rpartition(":")[2] for word in pairs}
                for one in self.asked.inputs:
                    if one.name in said and re.fullmatch(r"\d+(x\d+)*", said[one.name]):
                        self.right[one.name] = tuple(int(size) for size in said[one.name].split("x"))
                if text == "NAME=FILE":
                    return f"{self.asked.inputs[0].name}=x.npy" if self.asked.inputs else None
                self.write("given.npz", None if option in ("--input", "-i") else 8)
                return "given.npz" if self.asked.inputs else None
            return AT_HAND.get(option, self.asked.path.name if text == "MODEL" else None)

        return fill

    # What is judged

    def complaint(self, words: list[str], said: Said) -> str | None:
        text = said.out + said.err
        if "Traceback" in text or "please report" in text or said.code not in (0, 2, 3, 4):
            return f"exit {said.code}: {general(said.err)}"
        if said.code and "error:" not in text and words[0] not in ("inspect", "tosa-requirements") and '"error"' not in text:
            return f"exit {said.code} without an error: {general(text)}"
        if said.code == 0 and re.search(r"^error:", said.err, re.MULTILINE):
            return f"exit 0 with an error: {general(said.err)}"
        given = {named("--shape", word) for before, word in pairwise(words) if before == "--shape"}
        taken = self.asked.fixed or any(word.startswith(("--input", "-i", "--dim", "--data", "--from")) for word in words)
        open_ = {one.name for one in self.asked.inputs if one.is_open()} - given
        if said.code == 0 and open_ and not taken and words[0] not in ("compare",):
            return f"{words[0]} chose a size that nobody said"
        if "no static shape" in said.finding and not taken:
            known = known_options(words[0])
            groups = [group for hint in said.hints for group in options(hint, known)]
            told = {named(option, value or "") for group in groups for option, value in group}
            if open_ - told:
                return f"not all inputs are asked for at once: {words[0]}"
        batches = [one for one in self.asked.inputs if one.open_batch() and one.name not in given]
        tells = "--batch" in " ".join([*words, text])
        if said.code == 0 and batches and not taken and words[0] in ("convert", "run") and not tells:
            return f"{words[0]} made a batch 1 and did not say so"
        return None

    def next_steps(self, words: list[str], said: Said, trail: list[str]) -> str | None:
        """What a command that succeeded tells to type next has to succeed."""
        for command in [] if "--json" in words else [*commands(said.out), *commands(said.err)]:
            if command[0] == UNREADABLE:
                return "a next step that is no line of a shell"
            filled = [self.filler(words)(command[place - 1], word) if re.fullmatch(r"[A-Z]{2,}|\.\.\.", word) else word
                      for place, word in enumerate(command)]
            if None in filled:
                continue
            after = typed([word for word in filled if word is not None], self.folder)
            trail += [f"then $ {filled}", f"{after.code}: {after.err.strip()[:600]}"]
            if after.code:
                return f"a next step of {words[0]} fails: {general(after.finding)}"
        return None


def misspelt(rng: Random, word: str, share: float) -> str:
    """With this probability, a letter twice, none, or another's place."""
    if rng.random() >= share:
        return word
    at = rng.randrange(max(len(word) - 1, 1))
    before, letter, after = word[:at], word[at:at + 1], word[at + 1:]
    return rng.choice((before + letter + letter + after, word[:-1] or "q", before + after[:1] + letter + after[1:]))


def general(text: str) -> str:
    """The first line of an error and of its findings, without names: what makes a class of it."""
    lines = [line for line in text.splitlines() if line.startswith("error:") or "•" in line] or text.splitlines()
    joined = " / ".join(line.strip() for line in lines[:2])
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d+|\S*\.(onnx|tflite|mlir|pb|keras|h5|prototxt|pt2|npz|npy)\b", "_", joined)[:160]
