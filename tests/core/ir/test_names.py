"""Names of which each is given once."""

from __future__ import annotations

from transload.ir.names import FreshNames


def test_a_name_that_is_taken_gets_a_number_that_is_free():
    fresh = FreshNames(["x", "x_1"])
    assert [fresh("x"), fresh("x"), fresh("y"), fresh("x_2"), fresh("y")] == ["x_2", "x_3", "y", "x_2_1", "y_1"]


def test_numbers_begin_where_they_are_to():
    fresh = FreshNames(["cut", "cut_2"], first=2)
    assert [fresh("cut"), fresh("cut")] == ["cut_3", "cut_4"]
