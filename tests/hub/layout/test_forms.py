"""The algebra of forms."""

from __future__ import annotations

import numpy as np
import pytest

from transload_hub.layout import forms


def test_channels() -> None:
    assert forms.channels_last(4) == (0, 2, 3, 1)
    assert forms.channels_first(4) == (0, 3, 1, 2)
    assert forms.channels_last(5) == (0, 2, 3, 4, 1)
    assert forms.channels_last(2) == forms.plain(2)
    assert forms.compose(forms.channels_last(4), forms.channels_first(4)) == forms.plain(4)


@pytest.mark.parametrize("seed", range(20))
def test_composition_is_that_of_transposes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (tuple(map(int, rng.permutation(4))) for _ in range(2))
    x = rng.normal(size=(2, 3, 4, 5))
    np.testing.assert_array_equal(x.transpose(a).transpose(b), x.transpose(forms.compose(a, b)))
    np.testing.assert_array_equal(x.transpose(a).transpose(forms.order_between(a, b)), x.transpose(b))
    # seen through a Permute of order b, x stored in form a has the form after_permute(a, b)
    np.testing.assert_array_equal(x.transpose(b).transpose(forms.after_permute(a, b)), x.transpose(a))


def test_sizes_of_one_lie_anywhere() -> None:
    assert forms.same_memory((1, 3, 1, 4), (0, 1, 2, 3), (2, 1, 3, 0))
    assert not forms.same_memory((2, 3, 1, 4), (0, 1, 2, 3), (1, 0, 2, 3))
    assert not forms.same_memory((None, 3), (0, 1), (1, 0))


def test_dropping_and_inserting() -> None:
    assert forms.dropping((0, 2, 3, 1), [2, 3]) == (0, 1)
    assert forms.dropping((0, 2, 3, 1), [0]) == (1, 2, 0)
    assert forms.inserting((1, 0), 0, 2) == (2, 1, 0)


@pytest.mark.parametrize(("form", "before", "after", "expected"), [
    ((0, 2, 3, 1), (2, 3, 4, 5), (2, 3, 20), (0, 2, 1)),
    ((0, 2, 3, 1), (2, 6, 4, 5), (2, 2, 3, 4, 5), (0, 3, 4, 1, 2)),
    ((0, 2, 3, 1), (2, 3, 4, 5), (2, 60), None),
    ((0, 2, 3, 1), (2, 3, 1, 1), (2, 3), (0, 1)),
    ((0, 1, 2), (2, 3, 4), (6, 4), (0, 1)),
    ((1, 0, 2), (2, 3, 4), (6, 4), None),
])
def test_reshapes_of_other_forms(form: forms.Form, before: tuple, after: tuple, expected: forms.Form | None) -> None:
    made = forms.reshaped_form(form, before, after, [])
    assert made == expected
    if made is not None:
        x = np.arange(np.prod(before)).reshape(before)
        stored = x.transpose(form).reshape(forms.stored_shape(after, made))
        np.testing.assert_array_equal(stored, x.reshape(after).transpose(made))


def test_empty_tensors_have_no_groups() -> None:
    assert forms.reshape_groups((0, 3), (3, 0)) is None
    assert forms.reshape_groups((2, 3), (4, 2)) is None
