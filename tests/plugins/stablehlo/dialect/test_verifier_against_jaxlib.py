"""Our verifier beside that of the bindings: what they refuse, it refuses."""

from __future__ import annotations

import pytest

from transload.errors import TransloadError
from transload.ir.verify import check
from transload.text import parse_module
from transload_converters.stablehlo import bindings

from tests.plugins.stablehlo.dialect.invalid_programs import OURS_TO_DECIDE, VALID, changed, program, with_other_values

pytestmark = pytest.mark.skipif(bindings.available() is not None, reason="no jaxlib")


def _refused_by_the_bindings(texts: list[str]) -> list[str]:
    ir = bindings._modules()[0]
    said = []
    with bindings._context(), ir.Location.unknown():
        for text in texts:
            try:
                ir.Module.parse(text)
                said.append("")
            except Exception as error:  # MLIRError: says why
                said.append(str(error))
    return said


def _refused_by_us(text: str) -> str:
    try:
        return "; ".join(f"{finding.what}: {finding.why}" for finding in check(parse_module(text.encode())))
    except TransloadError as error:
        return error.message


def test_the_valid_programs_are_valid() -> None:
    texts = [program(*each) for each in VALID]
    assert _refused_by_the_bindings(texts) == [""] * len(texts)
    assert [_refused_by_us(text) for text in texts] == [""] * len(texts)


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_what_the_bindings_refuse_is_refused(seed: int) -> None:
    _need_refusals(list(changed(1500, seed)), 800)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("part", range(8))
def test_values_of_other_kinds_are_refused(part: int) -> None:
    _need_refusals(list(with_other_values())[part::8], 400)


def _need_refusals(programs: list[tuple[str, str]], least: int) -> None:
    """Fail where the bindings refuse one of the programs, at `least` so many, and we do not."""
    theirs = _refused_by_the_bindings([text for _, text in programs])
    assert sum(map(bool, theirs)) > least  # the programs are mostly invalid
    let_through = [
        f"{op}: {why}\n{text}" for (op, text), why in zip(programs, theirs, strict=True)
        if why and not OURS_TO_DECIDE.search(why) and not _refused_by_us(text)]
    assert not let_through, f"{len(let_through)} of {len(programs)}:\n" + "\n".join(let_through[:5])
