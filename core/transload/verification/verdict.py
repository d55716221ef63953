"""What a verification finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from ..report import ComparedOutput, KeptBound, QuantizedOutput, VerificationReport
from .bounds import Bounded
from .differences import TensorDifference

__all__ = ["Verification"]


@dataclass
class Verification:
    """The outcome.

    `status` is "passed"; "failed", with what is wrong in `broken`; "inconclusive" where the outputs would have been the same
    whatever was computed, or "skipped", with the reason in `why`. `notes` say what else a reader should know.
    """

    status: str
    why: str = ""
    runtime: str = ""
    engine: str = ""
    tensors: list[TensorDifference] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    bounds: list[Bounded] = field(default_factory=list)
    """Tensors within the model that may differ by a bound of their own, and were compared with the source's alone."""
    notes: list[str] = field(default_factory=list)
    samples: int = 0
    """On how many inputs it was compared, where those were samples."""
    samples_of: int | None = None
    """Of how many that were given, or asked for; None where that is not known, or none were."""
    quantized: list[QuantizedOutput] = field(default_factory=list)
    """The outputs of a quantized model beside those of the float one: told, and not judged."""
    excepts: list[str] = field(default_factory=list)
    """The outputs that were not judged, because somebody said so."""
    is_costly: bool = False
    """Whether what is wrong is but what quantizing cost, beyond limits beside the float model: the conversion itself is right."""
    wrong_before: str = ""
    """The runtime from which a model that was quantized on the way differs before that already: the conversion is wrong."""

    def __repr__(self) -> str:
        why = "; ".join(self.broken[:1]) or self.why
        return f"<verification: {self.status}{f' by {self.runtime}' if self.runtime else ''}{f': {why}' if why else ''}>"

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def failed(self) -> bool:
        return self.status == "failed"

    def report(self) -> VerificationReport:
        """What a conversion's report says of it."""
        return VerificationReport(
            self.status,  # type: ignore[arg-type]
            self.why, self.runtime, self.engine, self.broken, self.notes,
            [KeptBound(**asdict(bounded)) for bounded in self.bounds],
            [ComparedOutput(t.name, t.dtype, list(t.shape), t.metrics, t.equal) for t in self.tensors],
            self.samples, self.samples_of, self.quantized, self.excepts)
