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
    # What a type checker knows of the names below, which it cannot follow through `__getattr__`.
    from . import memory as memory
    from . import scale as scale
    from .analysis.movement import Index as Index
    from .analysis.movement import Moves as Moves
    from .api import calibrate as calibrate
    from .api import legalize as legalize
    from .api import load as load
    from .api import lower as lower
    from .api import quantization_report as quantization_report
    from .api import quantize as quantize
    from .api import save as save
    from .context import Context as Context
    from .convert_model import convert as convert
    from .convert_model import plan as plan
    from .coverage_report import coverage as coverage
    from .errors import Finding as Finding
    from .errors import TransloadError as TransloadError
    from .errors import Unsupported as Unsupported
    from .evaluation.evaluate import Evaluation as Evaluation
    from .evaluation.evaluate import evaluate as evaluate
    from .execution import run as run
    from .extraction import extract as extract
    from .facts import FactKind as FactKind
    from .facts import Facts as Facts
    from .facts import FactTable as FactTable
    from .hookspecs import hookimpl as hookimpl
    from .inspection import Inspection as Inspection
    from .inspection import inspect as inspect
    from .ir import Module as Module
    from .ir import Op as Op
    from .ir import Value as Value
    from .journey import Plan as Plan
    from .layers_page import quantization_page as quantization_page
    from .partitioning import Part as Part
    from .partitioning import Partition as Partition
    from .partitioning import partition as partition
    from .plugin import Calibrator as Calibrator
    from .plugin import Conversion as Conversion
    from .plugin import DialectSpec as DialectSpec
    from .plugin import Emitted as Emitted
    from .plugin import EmittedPart as EmittedPart
    from .plugin import Engine as Engine
    from .plugin import ForeignFormat as ForeignFormat
    from .plugin import KernelTable as KernelTable
    from .plugin import Metric as Metric
    from .plugin import Pass as Pass
    from .plugin import Quantized as Quantized
    from .plugin import Quantizer as Quantizer
    from .plugin import Reader as Reader
    from .plugin import Runtime as Runtime
    from .plugin import Score as Score
    from .plugin import Source as Source
    from .plugin import Target as Target
    from .plugin import Writer as Writer
    from .plugin_host import Host as Host
    from .plugin_host import host as host
    from .rewrite import CHANGED as CHANGED
    from .rewrite import Rewriter as Rewriter
    from .rewrite import RewriteTable as RewriteTable
    from .samples.preprocess import Preprocess as Preprocess
    from .samples.samples import Samples as Samples
    from .samples.samples import open_samples as open_samples
    from .scale import Converted as Converted
    from .scale import convert_all as convert_all
    from .trace import Rewrite as Rewrite
    from .trace import trace_rewrites as trace_rewrites
    from .verification.compare import compare as compare

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

if not TYPE_CHECKING:  # a type checker would take every name for one that there is
    __all__ = [*_PUBLIC, *_SUBJECTS, "__version__"]

    def __getattr__(name: str) -> object:
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
