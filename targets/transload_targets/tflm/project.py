"""The project that is written: the model as an array, the operators that it needs, a program that runs it, and how to build it.

The array and its header are plain C11 and C++11, and compile by themselves. The rest is compiled against TensorFlow Lite for
Microcontrollers, which is a library that one builds for a board: https://github.com/tensorflow/tflite-micro.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

__all__ = ["Project", "identifier", "method_of"]

_LINE = 12
"""Bytes in a line of the array."""
_OTHERWISE = {
    "CUMSUM": "CumSum", "PADV2": "PadV2", "BATCH_MATMUL": "BatchMatMul",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM",
    "TFLite_Detection_PostProcess": "DetectionPostprocess"}
"""Operators whose method of `MicroMutableOpResolver` is not called as they are."""


def identifier(stem: str) -> str:
    """A file's name as a name in C."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return f"model_{name}" if name[:1].isdigit() or name.startswith("_") else name


def method_of(operator: str) -> str:
    """The method of `MicroMutableOpResolver` that adds an operator: `CONV_2D` is added by `AddConv2D`."""
    words = [word.upper() if word == "2D" else word.capitalize() for word in operator.split("_")]
    return f"Add{_OTHERWISE.get(operator, ''.join(words))}"


@dataclass(frozen=True)
class Project:
    """What the files of a project are made of."""

    name: str
    data: bytes
    arena: int
    operators: Sequence[str]
    inputs: Sequence[Mapping[str, str]]
    outputs: Sequence[Mapping[str, str]]

    def files(self) -> dict[str, str]:
        """The text of each file by its name."""
        words = {
            "name": self.name, "upper": self.name.upper(), "arena": str(self.arena), "size": str(len(self.data)),
            "bytes": self._array(), "count": str(max(len(self.operators), 1)), "adds": self._adds(),
            "inputs": self._comment(self.inputs), "outputs": self._comment(self.outputs)}
        places = {
            "model.h.tmpl": f"{self.name}_model.h", "model.c.tmpl": f"{self.name}_model.c", "ops.h.tmpl": f"{self.name}_ops.h",
            "main.cc.tmpl": "main.cc", "CMakeLists.txt.tmpl": "CMakeLists.txt"}
        templates = resources.files("transload_targets.tflm") / "templates"
        return {place: _filled((templates / name).read_text(encoding="utf-8"), words) for name, place in places.items()}

    def _array(self) -> str:
        lines = (self.data[start : start + _LINE] for start in range(0, len(self.data), _LINE))
        return "\n".join("    " + " ".join(f"0x{byte:02x}," for byte in line) for line in lines)

    def _adds(self) -> str:
        return "\n".join(f"  if (resolver.{method_of(name)}() != kTfLiteOk) return kTfLiteError;" for name in self.operators)

    @staticmethod
    def _comment(entries: Sequence[Mapping[str, str]]) -> str:
        """Names and types in order; a name of a tensor may hold anything, and must not end a comment."""
        return "\n".join(
            f"//   {number}: {_harmless(each['name'])} {_harmless(each['type'])}" for number, each in enumerate(entries))


def _harmless(text: str) -> str:
    return "".join(letter if letter.isprintable() and letter not in "\\?" else "_" for letter in text)[:200]


def _filled(template: str, words: Mapping[str, str]) -> str:
    return re.sub(r"@(\w+)@", lambda found: words[found[1]], template)
