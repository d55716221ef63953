"""What of a module the interpreter of microcontrollers cannot take: everything at once, under the names that the user knows.

It is asked. It stops at the first operator that it has no kernel for, of any kind or of these types; so when it refuses a model,
each of the operators is tried by itself, as a model (`transload.trials`). So they are where the model has a loop, too: that is
not run on numbers which nobody meant, as it may never end, and many kernels look at types only when they run.
"""

from __future__ import annotations

from transload.contents import STRUCTURE
from transload.errors import Finding, TransloadError, merge_findings
from transload.ir import Module
from transload.plugin import resolve
from transload.plugin_host import host
from transload.scratch import ScratchFolder
from transload.trials import is_of_files, refused_ops

from .interpreter import Given

__all__ = ["findings_of", "written"]


def findings_of(module: Module) -> list[Finding]:
    """Everything in a module of `tfl` that tflite-micro does not take."""
    foreign = [
        Finding(op.name, "is no operator of TFLite", (op.origin,) if op.origin else (),
                "`transload coverage` says which conversions are there")
        for op in module.ops() if op.dialect not in ("tfl", *STRUCTURE)]
    if foreign:
        return merge_findings(foreign)
    why = _refusal(module)
    if why is None and all(op.name != "tfl.while" for op in module.ops()):
        return []
    found = [Finding(op.name, f"tflite-micro says: {reason}", (op.origin,) if op.origin else ())
             for op, reason in refused_ops(module, _refusal)]
    return merge_findings(found) or ([Finding("the model", f"tflite-micro says: {why}")] if why is not None else [])


def _refusal(module: Module) -> str | None:
    try:
        return Given.of(written(module), module).refusal()
    except TransloadError as error:  # what cannot be written as a model of its own
        if is_of_files(error):
            raise
        return error.message


def written(module: Module) -> bytes:
    """A module as the bytes of a `.tflite` file."""
    with ScratchFolder() as folder:
        path = folder / "model.tflite"
        resolve(host().get("writers", "tflite").write)(module, path)
        return path.read_bytes()
