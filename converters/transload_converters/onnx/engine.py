"""onnxruntime as an engine: a module of floats, lowered to ONNX in memory, run by kernels that need no compiling.

It is for measuring on many samples, where the reference engine takes ten times as long and a compiler takes longer to begin than
onnxruntime to end. The model is what our own lowering made of a module that was verified, so that it runs in this process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from transload.budget import check_deadline, seconds_left, timed
from transload.engine.run import check_inputs, named_outputs
from transload.errors import ConversionError, Finding, RunError
from transload.ir import Module
from transload.journey import convert_to

from . import imported
from .session import exchanged, first_line, told
from .writer import EXTERNAL_FROM, constant_bytes, model_of, refuse_unwritable

__all__ = ["Execute", "prepare"]

FINE_FROM, SMALL = 4096, 1024
"""Ops from which on, and elements of a result in the mean up to which, onnxruntime runs a module as it is written."""


class Execute:
    """`execute(inputs)` runs the main function once; threads may share it, and each run takes one thread.

    Raises `ConversionError` where ONNX lacks what the module has, `RunError` where onnxruntime refuses it, or the inputs do not
    fit.
    """

    def __init__(self, module: Module, function: str = "main") -> None:
        onnxruntime = imported.onnxruntime()

        self.main = module.function(function)
        if self.main is not module.main:
            raise RunError(f"onnxruntime runs main functions alone, and {function!r} is another")
        content = _content(module)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_mem_pattern = False  # one block for all tensors of a run, each thread's rounded up: a third more memory
        options.log_severity_level = 4
        if _is_fine(module):
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's native errors share no class
            raise RunError(f"onnxruntime cannot load what was made of the module: {first_line(error)}") from None
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self._outputs = self._session.get_outputs()

    def __call__(self, inputs: Mapping[str, Any], keep: bool = False) -> dict[str, np.ndarray]:
        if keep:
            raise RunError("onnxruntime gives outputs alone", hint="the engine 'reference' gives what lies between")
        given = dict(zip(self._inputs, check_inputs(self.main, inputs), strict=True))
        with timed():
            try:
                with _ended_in_time() as options:
                    made = exchanged(self._session, [each.name for each in self._outputs], given, options)
            except Exception as error:  # onnxruntime's native errors share no class
                check_deadline()
                raise RunError(f"onnxruntime stopped: {first_line(error)}") from None
        return named_outputs(self.main, [told(each, array) for each, array in zip(self._outputs, made, strict=True)])


prepare = Execute


@contextmanager
def _ended_in_time() -> Iterator[Any]:
    """Options of a run that ends, between two of its nodes, when the time is over that an execution has (`budget.timed`)."""
    onnxruntime = imported.onnxruntime()

    options = onnxruntime.RunOptions()
    left = seconds_left()
    if left > threading.TIMEOUT_MAX:
        yield options
        return
    timer = threading.Timer(left, setattr, (options, "terminate", True))
    timer.daemon = True
    timer.start()
    try:
        yield options
    finally:
        timer.cancel()


def _is_fine(module: Module) -> bool:
    """Whether a module is of very many ops on small tensors: to look for what can be fused takes longer than fusing saves.

    Measured with onnxruntime 1.32 on 29,000 ops: 10.5 s, against 3.6 s without.
    """
    sizes = [value.tensor_type.num_elements for op in module.body_of_main for value in op.results if value.is_static]
    return len(sizes) > FINE_FROM and sum(sizes) < SMALL * len(sizes)


def _content(module: Module) -> bytes:
    """A module as an ONNX file. Raises `ConversionError` where it cannot be one, or not in memory."""
    copy = module.clone()
    convert_to(copy, ("onnx",), at_hub="")  # onnxruntime has folding of its own
    refuse_unwritable(copy)
    if (size := constant_bytes(copy)) >= EXTERNAL_FROM:
        raise ConversionError("the module cannot be run from memory", [
            Finding("onnx.Constant", f"all together have {size} bytes, and a message of ONNX less than {EXTERNAL_FROM}")])
    content: bytes = model_of(copy).SerializeToString()
    return content
