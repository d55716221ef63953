"""LiteRT's interpreter, as the process has it in which it runs (`runtime`)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transload.budget import VARIABLE
from transload.errors import RunError

__all__ = ["Session"]

_OLDER = (
    "ABS", "ADD", "ARG_MAX", "ARG_MIN", "COS", "DEPTH_TO_SPACE", "DEPTHWISE_CONV_2D", "GELU", "MUL", "RANGE", "SIN", "SOFTMAX",
    "SQUEEZE", "STRIDED_SLICE", "TILE", "TRANSPOSE", "UNIDIRECTIONAL_SEQUENCE_LSTM")
"""Operators of which LiteRT knows reference kernels by older versions alone, which do what newer versions say: they take all
types that the usual kernels do, and depthwise weights of 4 bits (measured, LiteRT 2.3)."""


class Session:
    """A model, and the interpreters made for it: one for speed, one that keeps all tensors, each when first needed.

    `name` is what errors call the model; `outputs` and `names` are the names of its outputs and of all tensors; `kernels`
    says what is to compute: the "reference" kernels, the "usual" ones, or XNNPACK where it can ("delegate"). Of a function that
    is not the main one `signature` is the key, what it calls inputs and outputs, in their order, and the subgraph's number.
    `afresh` is whether each run needs an interpreter of its own, as LiteRT keeps variables from run to run. The outputs of a run
    take `most` bytes at most, where that is said.
    """

    def __init__(
        self, path: str, name: str, outputs: Sequence[str], names: Sequence[str], kernels: str, signature: Sequence[Any] = (),
        afresh: bool = False, most: int = 0,
    ) -> None:
        self.signature, self.afresh, self.most = signature, afresh, most
        self.path, self.name, self.outputs, self.names = path, name, outputs, names
        self._kernels = kernels
        self._interpreters: dict[bool, Any] = {}

    def __call__(self, inputs: Sequence[np.ndarray | None], keep: bool) -> dict[str, np.ndarray]:
        """Run once, on arrays in the order of the model's inputs; None for one of strings, which is empty ones.

        With `keep`, what holds no numbers is left out: handles of variables, strings.
        """
        interpreter = self._interpreter(keep)
        if self.afresh:
            del self._interpreters[keep]
        try:
            return self._invoke(interpreter, inputs, keep)
        except (RuntimeError, ValueError) as error:
            self._interpreters.pop(keep, None)
            raise RunError(f"{self.name}: LiteRT cannot run the model: {_first_line(error)}") from None

    def _interpreter(self, keep: bool) -> Any:
        """An interpreter with the kernels asked for; with the usual ones for models that use what has no reference."""
        if keep not in self._interpreters:
            from ai_edge_litert.interpreter import Interpreter, OpResolverType

            usual = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            pending = {
                "reference": [OpResolverType.BUILTIN_REF, usual], "usual": [usual], "delegate": [OpResolverType.BUILTIN],
            }[self._kernels]
            file, older = self._file(), set[str]()
            while keep not in self._interpreters:
                try:
                    self._interpreters[keep] = Interpreter(
                        **file, experimental_op_resolver_type=pending[0], experimental_preserve_all_tensors=keep)
                except (RuntimeError, ValueError) as error:
                    found = re.search(r"Didn't find op for builtin opcode '(\w+)'", str(error))
                    if found is None or len(pending) == 1:
                        raise RunError(f"{self.name}: LiteRT does not load the model: {_first_line(error)}") from None
                    if found[1] in _OLDER and found[1] not in older:
                        older.add(found[1])
                        file = {"model_content": _of_first_version(self._content(file), found[1])}
                    else:
                        del pending[0]
                        file = self._file()
        return self._interpreters[keep]

    def _content(self, file: dict[str, Any]) -> bytes:
        content = file.get("model_content")
        return content if isinstance(content, bytes) else Path(self.path).read_bytes()

    def _file(self) -> dict[str, Any]:
        """The model's file, or what is in it where its name is no UTF-8 text, which LiteRT wants."""
        try:
            self.path.encode()
        except UnicodeEncodeError:
            return {"model_content": Path(self.path).read_bytes()}
        return {"model_path": self.path}

    def _invoke(self, interpreter: Any, inputs: Sequence[np.ndarray | None], keep: bool) -> dict[str, np.ndarray]:
        if self.signature:
            return self._by_signature(interpreter, inputs, keep)
        details = interpreter.get_input_details()
        given = [
            np.zeros(detail["shape"], detail["dtype"]) if array is None else array
            for detail, array in zip(details, inputs, strict=True)]
        for detail, array in zip(details, given, strict=True):
            if tuple(detail["shape"]) != array.shape:
                interpreter.resize_tensor_input(detail["index"], array.shape)
        interpreter.allocate_tensors()
        self._need_room(interpreter.get_output_details())
        interpreter.reset_all_variables()
        for detail, array in zip(details, given, strict=True):
            interpreter.set_tensor(detail["index"], array.astype(detail["dtype"], copy=False))
        interpreter.invoke()
        arrays = [np.asarray(interpreter.get_tensor(detail["index"])) for detail in interpreter.get_output_details()]
        return self._given(interpreter, dict(zip(self.outputs, arrays, strict=True)), keep)

    def _need_room(self, details: Sequence[dict[str, Any]]) -> None:
        """Refuse a run of which LiteRT, that has found the sizes, is going to give too much."""
        needed = sum(math.prod(map(int, detail["shape"])) * np.dtype(detail["dtype"]).itemsize for detail in details)
        if needed > self.most > 0:
            raise RunError(f"{self.name}: its outputs would take {needed:,} bytes, and {self.most:,} are allowed: "
                           f"{VARIABLE}=memory={needed} allows them")

    def _by_signature(self, interpreter: Any, inputs: Sequence[np.ndarray | None], keep: bool) -> dict[str, np.ndarray]:
        """Run the function of a signature."""
        key, taken, given, _ = self.signature
        runner = interpreter.get_signature_runner(key)
        details = runner.get_input_details()
        found = runner(**{
            name: np.zeros(details[name]["shape"], details[name]["dtype"]) if array is None
            else array.astype(details[name]["dtype"], copy=False) for name, array in zip(taken, inputs, strict=True)})
        outputs = {name: np.asarray(found[called]) for name, called in zip(self.outputs, given, strict=True)}
        return self._given(interpreter, outputs, keep)

    def _given(self, interpreter: Any, outputs: dict[str, np.ndarray], keep: bool) -> dict[str, np.ndarray]:
        """What is given of a run: the outputs, and where it is asked for what is kept before them."""
        if not keep:
            for name, array in outputs.items():
                if array.dtype.hasobject:
                    raise RunError(f"{self.name}: its output {name!r} holds no numbers")
            return outputs
        kept = {**self._intermediates(interpreter), **outputs}
        return {name: array for name, array in kept.items() if not array.dtype.hasobject}

    def _intermediates(self, interpreter: Any) -> dict[str, np.ndarray]:
        """The tensors of the subgraph by name; those that LiteRT has no data for are left out.

        A delegate keeps its tensors to itself: LiteRT's own hold nothing then.
        """
        kept: dict[str, np.ndarray] = {}
        if self._kernels == "delegate":
            return kept
        for index, name in enumerate(self.names):
            if name in self.outputs:
                continue
            try:
                kept[name] = np.asarray(interpreter.get_tensor(index, self.signature[-1] if self.signature else 0))
            except (RuntimeError, ValueError):
                continue  # an inner tensor of a kernel, or one that was never allocated
        return kept


def _of_first_version(content: bytes, operator: str) -> bytes:
    """A file that says of an operator that it is of its first version. LiteRT has read the file, and found it whole."""
    from ai_edge_litert import schema_py_generated as schema

    made, model = bytearray(content), schema.Model.GetRootAs(content)
    for code in map(model.OperatorCodes, range(model.OperatorCodesLength())):
        place = code._tab.Offset(8)  # of the field `version`, 0 where it is left out
        if place and max(code.BuiltinCode(), code.DeprecatedBuiltinCode()) == getattr(schema.BuiltinOperator, operator):
            struct.pack_into("<i", made, code._tab.Pos + place, 1)
    return bytes(made)


def _first_line(error: Exception) -> str:
    """What LiteRT says in lines, as one. The node that it happened in comes right behind what a kernel says, without a space."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = re.sub(r"(?<=\S)(?=Node number \d)", " ", "; ".join(lines))
    return re.sub(r"(?<=[^.;:!? ]) (?=Node number \d)", ". ", said) or type(error).__name__
