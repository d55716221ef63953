"""Attention and embeddings as onnxruntime's optimizer fuses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError

from tests.support.onnx_models import make_model, node, read_model

G = np.random.default_rng(3)
MS = {"domain": "com.microsoft"}
CLOSE = {"rtol": 1e-3, "atol": 1e-4}


def real(*shape: int) -> np.ndarray:
    return G.standard_normal(shape).astype(np.float32)


MASKS = {"none": None, "lengths": np.array([5, 3], np.int32), "keys": np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], np.int32),
         "places": np.tril(np.ones((2, 5, 5), np.int32))}


PLACES = [([2, 3, 1, 0], 2), ([5, 7, 2, 9], 2), ([2, 1], 1), ([0, 4, 3, 0], 2),
          ([2, 3, 0, 3, 6, 0, 2, 5], 2), ([3, 0, 3, 0, 2], 1)]


@pytest.mark.parametrize(("places", "batch"), PLACES)
@pytest.mark.parametrize("constant", [False, True])
def test_where_keys_end_and_where_they_begin(
    compare: Callable[..., Any], places: list[int], batch: int, constant: bool,
) -> None:
    mask = {"m": np.array(places, np.int32)}
    constants = {"w": real(8, 24), "b": real(24), **(mask if constant else {})}
    inputs = {"x": real(batch, 5, 8), **({} if constant else mask)}
    compare(node("Attention", ["x", "w", "b", "m"], ["y"], num_heads=2, **MS), inputs, ("y",), constants, **CLOSE)
    if len(places) != 2 * batch:
        inputs = {"q": real(batch, 4, 8), "k": real(batch, 5, 8), "v": real(batch, 5, 8)} | mask
        compare(node("MultiHeadAttention", ["q", "k", "v", "", "m"], ["y"], num_heads=2, **MS), inputs, ("y",), **CLOSE)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_mask_of_one_column_says_nothing(compare: Callable[..., Any], rows: int) -> None:
    fused = node("Attention", ["x", "w", "b", "m"], ["y"], num_heads=2, **MS)
    constants = {"w": real(8, 24), "b": real(24), "m": np.array([[1], [0]], np.int32)[:rows]}
    compare(fused, {"x": real(2, 5, 8)}, ("y",), constants, **CLOSE)


@pytest.mark.parametrize("mask", list(MASKS))
@pytest.mark.parametrize("more", [{}, {"unidirectional": 1}, {"scale": 0.3}])
def test_attention(compare: Callable[..., Any], mask: str, more: dict[str, Any]) -> None:
    constants = {"w": real(8, 24), "b": real(24)}
    if MASKS[mask] is not None:
        constants["m"] = MASKS[mask]
    fused = node("Attention", ["x", "w", "b", "m" if "m" in constants else ""], ["y"], num_heads=2, **more, **MS)
    compare(fused, {"x": real(2, 5, 8)}, ("y",), constants, **CLOSE)


LEFT = np.array([[0, 1, 1, 1, 1], [1, 0, 1, 1, 1]], np.int32)


@pytest.mark.parametrize("filtered", [-10000.0, -2.0, -3.4e38])
@pytest.mark.parametrize("mask", [None, LEFT])
def test_later_keys_are_not_seen_whatever_a_mask_of_padding_adds(
    compare: Callable[..., Any], mask: np.ndarray | None, filtered: float,
) -> None:
    constants = {"w": real(8, 24), "b": real(24)} if mask is None else {"w": real(8, 24), "b": real(24), "m": mask}
    more: dict[str, Any] = {"num_heads": 2, "unidirectional": 1, "mask_filter_value": filtered, **MS}
    padded = "" if mask is None else "m"
    compare(node("Attention", ["x", "w", "b", padded], ["y"], **more), {"x": real(2, 5, 8)}, ("y",), constants, **CLOSE)
    inputs = {name: real(2, 5, 8) for name in "qkv"} | ({} if mask is None else {"m": mask})
    compare(node("MultiHeadAttention", ["q", "k", "v", "", padded], ["y"], **more), inputs, ("y",), **CLOSE)


@pytest.mark.parametrize(("queries", "keys"), [(3, 5), (5, 3), (1, 4), (4, 1)])
@pytest.mark.parametrize("masked", [False, True])
def test_later_keys_of_another_tensor(compare: Callable[..., Any], queries: int, keys: int, masked: bool) -> None:
    inputs = {"q": real(2, queries, 8), "k": real(2, keys, 8), "v": real(2, keys, 8)}
    constants = {"m": np.array([[1] * keys, [0] * (keys // 2) + [1] * (keys - keys // 2)], np.int32)} if masked else {}
    fused = node("MultiHeadAttention", ["q", "k", "v", "", "m" if masked else ""], ["y"], num_heads=2, unidirectional=1, **MS)
    compare(fused, inputs, ("y",), constants, **CLOSE)


def test_attention_with_values_of_another_width(compare: Callable[..., Any]) -> None:
    fused = node("Attention", ["x", "w", "b", "", "", "s"], ["y"], num_heads=2, qkv_hidden_sizes=[8, 8, 12], **MS)
    compare(fused, {"x": real(2, 5, 8), "s": real(2, 2, 5, 5)}, ("y",), {"w": real(8, 28), "b": real(28)}, **CLOSE)


@pytest.mark.parametrize("mask", ["none", "keys"])
@pytest.mark.parametrize("biased", [False, True])
def test_attention_of_given_keys(compare: Callable[..., Any], mask: str, biased: bool) -> None:
    constants = {"b": real(28)} if biased else {}
    if MASKS[mask] is not None:
        constants["m"] = MASKS[mask]
    inputs = {"q": real(2, 4, 8), "k": real(2, 5, 8), "v": real(2, 5, 12)}
    fused = node("MultiHeadAttention", ["q", "k", "v", "b" if biased else "", "m" if "m" in constants else ""], ["y"],
                 num_heads=2, **MS)
    compare(fused, inputs, ("y",), constants, **CLOSE)


def test_keys_and_values_by_heads(compare: Callable[..., Any]) -> None:
    inputs = {"q": real(2, 4, 8), "k": real(2, 2, 5, 4), "v": real(2, 2, 5, 4)}
    compare(node("MultiHeadAttention", ["q", "k", "v"], ["y"], num_heads=2, **MS), inputs, **CLOSE)


@pytest.mark.parametrize("segments", [False, True])
def test_embeddings(compare: Callable[..., Any], segments: bool) -> None:
    constants = {"words": real(20, 8), "places": real(7, 8), "kinds": real(2, 8), "g": real(8), "b": real(8)}
    names = ["i", "t" if segments else "", "words", "places", "kinds" if segments else "", "g", "b", "m"]
    inputs = {"i": G.integers(0, 20, (2, 5)).astype(np.int32), "m": np.array([[1] * 5, [2, -1, 1, 0, 1]], np.int32)}
    if segments:
        inputs["t"] = G.integers(0, 2, (2, 5)).astype(np.int32)
    fused = node("EmbedLayerNormalization", names, ["y", "n", "s"], epsilon=1e-5, **MS)
    compare(fused, inputs, ("y", "n", "s"), constants, **CLOSE)


TOTALS = {"none": None, "lengths": np.array([3, 5], np.int32), "keys": np.array([[0, 0, 1, 1, 1], [1, 0, 1, 1, 0]], np.int32),
          "places": np.tril(np.ones((2, 3, 5), np.int32), 2), "first": np.array([3, 5, 1, 0], np.int32)}


@pytest.mark.parametrize("mask", list(TOTALS))
@pytest.mark.parametrize("later", [0, 1])
def test_keys_and_values_of_earlier_steps(compare: Callable[..., Any], mask: str, later: int) -> None:
    masks = {} if TOTALS[mask] is None else {"m": TOTALS[mask]}
    padded = "m" if masks else ""
    more: dict[str, Any] = {"num_heads": 2, "unidirectional": later, **MS}
    fused = node("Attention", ["x", "w", "b", padded, "p"], ["y", "present"], **more)
    inputs = {"x": real(2, 3, 8), "p": real(2, 2, 2, 2, 4)}
    compare(fused, inputs, ("y", "present"), {"w": real(8, 24), "b": real(24), **masks}, **CLOSE)
    if mask != "first":
        inputs = {"q": real(2, 3, 8), "k": real(2, 3, 8), "v": real(2, 3, 8), "pk": real(2, 2, 2, 4), "pv": real(2, 2, 2, 4)}
        fused = node("MultiHeadAttention", ["q", "k", "v", "b", padded, "", "pk", "pv"], ["y", "k2", "v2"], **more)
        compare(fused, inputs, ("y", "k2", "v2"), {"b": real(24), **masks}, **CLOSE)


@pytest.mark.parametrize(("queries", "earlier", "keys"), [(1, 4, 1), (3, 0, 3), (3, 2, 4), (4, 2, 3)])
@pytest.mark.parametrize("by_heads", [False, True])
def test_one_step_after_so_many(compare: Callable[..., Any], queries: int, earlier: int, keys: int, by_heads: bool) -> None:
    shape = (2, 2, keys, 4) if by_heads else (2, keys, 8)
    inputs = {"q": real(2, queries, 8), "k": real(*shape), "v": real(*shape), "s": real(1, 2, queries, earlier + keys),
              "pk": real(2, 2, earlier, 4), "pv": real(2, 2, earlier, 4)}
    fused = node("MultiHeadAttention", ["q", "k", "v", "", "", "s", "pk", "pv"], ["y", "k2", "v2"], num_heads=2, unidirectional=1,
                 **MS)
    compare(fused, inputs, ("y", "k2", "v2"), **CLOSE)


def test_keys_and_values_for_later_steps_without_earlier_ones(compare: Callable[..., Any]) -> None:
    fused = node("Attention", ["x", "w", "b"], ["y", "present"], num_heads=2, unidirectional=1, **MS)
    compare(fused, {"x": real(2, 3, 8)}, ("y", "present"), {"w": real(8, 24), "b": real(24)}, **CLOSE)
    fused = node("MultiHeadAttention", ["q", "k", "v"], ["y", "k2", "v2"], num_heads=2, **MS)
    compare(fused, {"q": real(2, 3, 8), "k": real(2, 4, 8), "v": real(2, 4, 12)}, ("y", "k2", "v2"), **CLOSE)


def test_keys_and_values_of_earlier_steps_for_integers(compare: Callable[..., Any]) -> None:
    constants = {"w": G.integers(-60, 60, (8, 24)).astype(np.int8), "b": real(24), "xs": np.float32(0.02), "ws": np.float32(0.01),
                 "xz": np.uint8(120), "wz": np.int8(0)}
    fused = node("QAttention", ["x", "w", "b", "xs", "ws", "", "xz", "wz", "p"], ["y", "present"], num_heads=2, unidirectional=1,
                 **MS)
    inputs = {"x": G.integers(0, 256, (2, 3, 8)).astype(np.uint8), "p": real(2, 2, 2, 4, 4)}
    compare(fused, inputs, ("y", "present"), constants, **CLOSE)


def _refused(fused: Any, inputs: dict[str, np.ndarray], outputs: list[str], reason: str) -> None:
    model = make_model([fused], inputs, outputs, {"w": real(8, 24), "b": real(24)})
    with pytest.raises(ConversionError, match=reason):
        transload.legalize(read_model(model))


def test_buffers_of_earlier_steps_are_refused() -> None:
    fused = node("Attention", ["x", "w", "b", "", "p", "", "n"], ["y", "present"], num_heads=2, past_present_share_buffer=1, **MS)
    inputs = {"x": real(1, 1, 8), "p": real(2, 1, 2, 9, 4), "n": np.array([3], np.int32)}
    _refused(fused, inputs, ["y", "present"], r"(?s)has input 6: .*written in place.*grow by each step")


@pytest.mark.parametrize(("past", "reason"), [
    ((2, 3, 2, 2, 4), r"\[3, 2, 2, 4\] of earlier steps, which \[1, 2, 1, 4\] do not go on"), ((3, 1, 2, 2, 4), "has 3 tensors")])
def test_what_is_no_earlier_step_is_refused(past: tuple[int, ...], reason: str) -> None:
    fused = node("Attention", ["x", "w", "b", "", "p"], ["y", "present"], num_heads=2, **MS)
    _refused(fused, {"x": real(1, 1, 8), "p": real(*past)}, ["y", "present"], reason)


def test_products_of_queries_and_keys_are_refused() -> None:
    fused = node("MultiHeadAttention", ["q", "q", "q"], ["y", "k", "v", "qk"], num_heads=2, **MS)
    _refused(fused, {"q": real(1, 3, 8)}, ["y", "qk"], r"output number 3 \('qk'\) is used")


def test_caches_that_forget_are_refused() -> None:
    """The oldest rows make room for new ones in them, which were passed over."""
    fused = node("GroupQueryAttention", ["q", "k", "v", "", "", "n", "t"], ["y", "k2", "v2"], num_heads=4, kv_num_heads=2,
                 sliding_window_cache=1, **MS)
    inputs = {"q": real(1, 4, 32), "k": real(1, 4, 16), "v": real(1, 4, 16)}
    inputs |= {"n": np.array([3], np.int32), "t": np.array(4, np.int32)}
    _refused(fused, inputs, ["y", "k2", "v2"], "has sliding_window_cache 1")


@pytest.mark.parametrize("mask", [(3,), (3, 5), (2, 4), (2, 4, 5)])
def test_masks_of_other_shapes_are_refused(mask: tuple[int, ...]) -> None:
    fused = node("Attention", ["x", "w", "b", "m"], ["y"], num_heads=2, **MS)
    inputs = {"x": real(2, 5, 8), "m": np.ones(mask, np.int32)}
    _refused(fused, inputs, ["y"], r"has a mask of shape \[.*\] for 5 queries and 5 keys in a batch of 2")


@pytest.mark.parametrize("softcap", [-2.0, 0.0, 2.0])
def test_a_cap_that_is_not_positive_caps_nothing(compare: Callable[..., Any], softcap: float) -> None:
    inputs = {"q": real(2, 3, 4, 8), "k": real(2, 3, 6, 8), "v": real(2, 3, 6, 10)}
    compare(node("Attention", ["q", "k", "v"], ["y"], softcap=softcap), inputs, ("y",), opset=23, **CLOSE)


@pytest.mark.parametrize("softcap", [-2.0, 2.0])
def test_a_cap_of_grouped_queries(compare: Callable[..., Any], softcap: float) -> None:
    inputs = {"q": real(1, 4, 32), "k": real(1, 4, 16), "v": real(1, 4, 16)}
    constants = {"n": np.array([3], np.int32), "t": np.array(4, np.int32)}
    fused = node("GroupQueryAttention", ["q", "k", "v", "", "", "n", "t"], ["y", "k2", "v2"], num_heads=4, kv_num_heads=2,
                 softcap=softcap, **MS)
    compare(fused, inputs, ("y",), constants, **CLOSE)
