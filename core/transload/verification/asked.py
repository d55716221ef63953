"""What is asked of a verification, and what is said of a result by it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Finding, UsageError, VerificationError
from ..plugin_host import host
from ..read_again import command

if TYPE_CHECKING:
    from .verify import Verification

__all__ = ["QUANTIZED", "need_random", "unverified", "verify_mode"]

QUANTIZED = "quantized.mlir"
"""The file of the quantized module in what is advised."""


def verify_mode(
    verify: bool | str, *, tolerance: Any = None, excepts: Sequence[str] = (), engine: str = "auto", data: Any = None,
    seed: int = 0, given: bool = False, input_data: Any = None,
) -> str:
    """What `verify=` asks for: `yes` (or True), `no` (or False), `require`.

    Raises `UsageError` for other words, where one of the others says something of a verification that is not to be, for a
    seed where all inputs are `given`, for `input_data` beside `data`, of which one alone is run on, and for an engine that
    cannot be used here.
    """
    mode = {True: "yes", False: "no"}.get(verify, verify) if isinstance(verify, bool) else verify
    if mode not in ("yes", "no", "require"):
        raise UsageError(f"verify must be 'yes', 'no' or 'require', not {verify!r}")
    said = {"tolerance": tolerance, "excepts": excepts, "engine": engine != "auto", "data": data is not None, "seed": seed}
    name = next((name for name, value in said.items() if value), None)
    if mode == "no" and name is not None:
        raise UsageError(
            f"--{name} is for verification, and that is left out",
            hint=f"leave out --{name}, or what leaves verification out: --no-verify, or --verify=no")
    if data is not None and input_data is not None:
        raise UsageError("verification runs on one input, or on samples, and both are given", hint="leave out --input, or --data")
    need_random(seed, not given)
    if mode != "no" and engine != "auto":
        host().engine(engine)
    return mode


def need_random(seed: int, random: bool) -> None:
    """Raise `UsageError` where a seed is said, and no input is `random`."""
    if seed and not random:
        raise UsageError(
            f"seed {seed} is of random inputs, and inputs are given: none is random", hint="leave out the seed, or what is given")


def unverified(
    verification: Verification | None, required: bool = False, model: Path | None = None, artifact: Path | None = None,
    quantizing: str | None = None, reading: Sequence[str] = (),
) -> VerificationError | None:
    """What is wrong with a result that was converted and written: it differs, or, where that is `required`, was not compared.

    The hint names the `model`, read as `reading` says, and the `artifact` that its tensors can be compared in, or else a way to
    one. Of a model that was quantized on the way the quantized module is compared, from which all layers of the float one differ:
    `quantizing` is the command that writes it.
    """
    if verification is not None and verification.failed:
        quantizes = verification.quantized and not verification.wrong_before and (quantizing or _quantizing(model, reading))
        wrong = f"the result does not compute what {verification.runtime} computes"
        hint = _where_it_starts(model, reading, artifact, quantizes)
        if verification.wrong_before:
            wrong = f"before it is quantized it does not compute what {verification.wrong_before} computes"
        if verification.is_costly:
            wrong = "quantizing cost more than is allowed"
            hint = "--report page.html shows where it is lost; more samples, --effort best or another scheme may lose less"
        return VerificationError(
            f"converted, but {wrong}",
            [Finding(what, why) for what, _, why in (reason.partition(": ") for reason in verification.broken)],
            hint=f"{hint}; --tolerance sets what is enough")
    if required and (verification is None or not verification.passed):
        said = verification.why if verification is not None else "not asked for"
        return VerificationError(f"converted, but not verified: {said}")
    return None


def _quantizing(model: Path | None, reading: Sequence[str]) -> str:
    line = command("quantize", model or "MODEL", reading=reading, more=("-o", QUANTIZED))
    return f"`{line}`, with the options of this conversion"


def _where_it_starts(model: Path | None, reading: Sequence[str], artifact: Path | None, quantizing: Any) -> str:
    beside, how = (QUANTIZED, ()) if quantizing else (model or "MODEL", reading)

    def by(place: object) -> str:
        line = command("compare", beside, place, reading=how, more=("--per-layer",), without=("--tolerance",))
        shown = f"`{line}` shows where it starts"
        return f"{quantizing} writes the quantized module, and {shown}" if quantizing else shown

    if artifact is not None:
        return by(artifact)
    return f"convert it once more with --dump steps, and {by('steps/NAME.mlir')}, of the last step, or of those before"
