"""Ops in an order with the least alive at once: each can run, it is never worse than the module's, and numbers are the same."""

import random

import numpy as np
import pytest

import transload
from transload.ir.verify import verify
from transload.passes.manager import Pipeline
from transload.text import parse_module
from transload_targets.tensor_processor.ordering import order_for_memory, peak_of

from .functions import Maker, network


def branches(order):
    """Wide tensors, each summed up to a narrow one: `order` says which ops come first."""
    made = Maker((1, 2, 8, 8))
    wide, narrow = {}, {}
    for kind, number in order:
        if kind == "wide":
            wide[number] = made.conv(made.input, 8 + number)
        else:
            narrow[number] = made.emit("tpu.avg_pool2d", wide[number], kernel=(8, 8))
    x = narrow[0]
    for number in range(1, len(narrow)):
        x = made.emit("tpu.concat", x, narrow[number], axis=1)
    return made.done(x)


def test_tensors_of_unknown_rank_do_not_count():
    """A defect that was to be reported."""
    module = parse_module('''"func.func"() <{sym_name = "main", function_type = (tensor<*xf32>) -> tensor<*xf32>}> ({
      ^bb0(%x: tensor<*xf32>):
        %y = "tfl.abs"(%x) : (tensor<*xf32>) -> tensor<*xf32>
        "func.return"(%y) : (tensor<*xf32>) -> ()
    }) : () -> ()''')
    assert peak_of(module.main) == 0 and not order_for_memory(module)


def test_what_is_wide_is_made_small_before_the_next_is_made():
    module = branches([("wide", number) for number in range(4)] + [("narrow", number) for number in range(4)])
    best = branches([(kind, number) for number in (3, 2, 1, 0) for kind in ("wide", "narrow")])
    x = {"x": np.random.default_rng(0).integers(-128, 128, (1, 2, 8, 8)).astype(np.int8)}
    wanted, before = list(transload.run(module, x).values()), peak_of(module.main)
    Pipeline.parse("order-for-memory").run(module)
    assert peak_of(module.main) <= peak_of(best.main) + 16 < before
    for one, other in zip(transload.run(module, x).values(), wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not order_for_memory(module)  # no order that it knows is better than its own


@pytest.mark.parametrize("seed", range(12))
def test_another_order_is_taken_where_it_is_better_alone(seed):
    chance = random.Random(seed)
    made = Maker((1, 2, 4, 4))
    values = [made.input]
    for _ in range(4):
        values.append(made.conv(chance.choice(values), chance.choice((1, 4, 9, 16)), 1))
    module = made.done(*chance.sample(values[1:], 2))
    before = peak_of(module.main)
    changed = order_for_memory(module)
    assert peak_of(module.main) < before if changed else peak_of(module.main) == before
    verify(module)


@pytest.mark.parametrize("seed", range(4))
def test_networks_compute_the_same_in_the_other_order(seed):
    module = network(seed)
    x = {name: np.random.default_rng(1).integers(-128, 128, type_.shape).astype(np.int8) for name, type_ in module.inputs.items()}
    wanted = list(transload.run(module, x).values())
    order_for_memory(module)
    for one, other in zip(transload.run(module, x).values(), wanted, strict=True):
        np.testing.assert_array_equal(one, other)
