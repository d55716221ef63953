"""A sample of each promise's cases, always the same: `make drawn` draws more of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.drawn.__main__ import kinds


@pytest.mark.parametrize("name", kinds())
def test_promise_is_kept(name: str, tmp_path: Path) -> None:
    kind = kinds()[name]
    words, wrong = Counter[str](), []
    for number in range(kind.SAMPLE):
        folder = tmp_path / str(number)
        folder.mkdir()
        one = kind.draw(number, folder)
        words[one.word] += 1
        if one.wrong:
            wrong.append(f"python -m tests.drawn {name} --only {number}: {one.wrong}")
    assert not wrong, "\n".join(wrong)
    assert words.total() > words["not judged"], f"no case of {name} was judged: {words}"
