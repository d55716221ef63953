"""Transload: takes a trained model from any framework onto any chip.

    import transload

    module = transload.load("model.tflite")          # framework dialect, one op for one op
    hub = transload.legalize(module)               # to the hub dialect
    lowered = transload.lower(hub)                   # to the dialect of the default target
    outputs = transload.run(lowered, {"input": x})      # dict name -> ndarray, in order
    artifact = transload.convert("model.onnx", target="ethos-u85-256", out="build/")
"""

# Nothing is imported here, nor `typing`: the command's first line of its own, which takes the signals, comes after this file.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .plugin_host import Host

__version__ = "0.1.0"

# Public names and where they live. They are imported when first used, so that a plugin which imports
# `transload` for `hookimpl` alone, or `transload --help`, does not pay for numpy.
_PUBLIC = {
    "hookimpl": "hookspecs",
    **dict.fromkeys(("load", "legalize", "lower", "calibrate", "quantization_report", "quantize", "save"), "api"),
    "run": "execution",
    **dict.fromkeys(("convert", "plan"), "convert_model"),
    **dict.fromkeys(("Converted", "convert_all"), "scale"),
    "quantization_page": "layers_page",
    **dict.fromkeys(("Samples", "open_samples"), "samples.samples"),
    "Preprocess": "samples.preprocess",
    "Plan": "journey",
    **dict.fromkeys(("Inspection", "inspect"), "inspection"),
    **dict.fromkeys(("Rewrite", "trace_rewrites"), "trace"),
    "compare": "verification.compare",
    "extract": "extraction",
    **dict.fromkeys(("Evaluation", "evaluate"), "evaluation.evaluate"),
    "coverage": "coverage_report",
    **dict.fromkeys(("TransloadError", "Finding", "Unsupported"), "errors"),
    **dict.fromkeys(
        ("Calibrator", "Conversion", "DialectSpec", "Emitted", "EmittedPart", "Engine", "ForeignFormat", "KernelTable", "Metric",
         "Pass", "Quantized", "Quantizer", "Reader", "Runtime", "Score", "Source", "Target", "Writer"),
        "plugin"),
    **dict.fromkeys(("Part", "Partition", "partition"), "partitioning"),
    **dict.fromkeys(("FactKind", "FactTable", "Facts"), "facts"),
    **dict.fromkeys(("Index", "Moves"), "analysis.movement"),
    **dict.fromkeys(("RewriteTable", "Rewriter", "CHANGED"), "rewrite"),
    **dict.fromkeys(("Module", "Op", "Value"), "ir"),
    **dict.fromkeys(("host", "Host"), "plugin_host"),
    "Context": "context",
}

_SUBJECTS = ("memory", "scale")
"""Packages that are used by their own name: `transload.memory.place`, `transload.scale.Crew`."""

__all__ = [*_PUBLIC, *_SUBJECTS, "__version__"]


def __getattr__(name: str) -> "Any":
    import importlib

    if name in _SUBJECTS:
        return importlib.import_module(f".{name}", __name__)
    where = _PUBLIC.get(name)
    if where is None:
        raise AttributeError(f"module 'transload' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{where}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def installed_plugins() -> "Host":
    """The host of a context that was given none: all plugins that are installed, as `TRANSLOAD_PLUGINS` narrows them."""
    from .plugin_host import Host

    return Host()
