"""Layers in Python, known by their class's name: a plugin converts them, and nothing of them is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("google.protobuf", reason="the package 'protobuf' is not installed")

import transload
from transload import Conversion, RewriteTable
from transload.context import Context
from transload.errors import ConversionError, Unsupported
from transload.ir import Op
from transload.plugin_host import Host
from transload_converters.caffe.python import python_parameters

from tests.support.caffe_files import net_text
from tests.support.plugins import registering

TABLE = RewriteTable()


@TABLE("caffe.python.AbsAdd")
def abs_add(op, rw):  # type: ignore[no-untyped-def]
    return rw.emit("top.AddConst", rw.emit("top.Abs", op.operands[0]), const_val=float(python_parameters(op, "b_val")["b_val"]))


@TABLE("caffe.Novel")
def novel(op, rw):  # type: ignore[no-untyped-def]
    return rw.emit("top.MulConst", op.operands[0], const_val=float(op.attributes["novel_param"]["factor"]))


@pytest.fixture
def plugin() -> Iterator[None]:
    own = Host()
    added = registering(conversions=[Conversion("abs-add", "caffe", "top", TABLE, extends="caffe-to-top")])
    own.register(SimpleNamespace(**added), "abs-add")
    with Context(own).bind():
        yield


def python_layer(param_str: str, class_: str = "AbsAdd") -> str:
    quoted = param_str.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return net_text(
        f'layer {{ name: "p" type: "Python" bottom: "x" top: "y" python_param {{ module: "my_layer" layer: "{class_}" '
        f'param_str: "{quoted}" }} }} layer {{ name: "r" type: "ReLU" bottom: "y" top: "z" }}', x=(1, 3))


@pytest.mark.parametrize("said", ["{'b_val': 1.2}", '{"b_val": 1.2}', "'b_val': 1.2", "'b_val': 1.2\n"])
def test_a_plugin_converts_a_class(plugin: None, said: str) -> None:
    module = transload.load(text=python_layer(said), format="caffe")
    assert next(op.name for op in module.ops()) == "caffe.python.AbsAdd"
    (found,) = transload.run(module, {"x": np.array([[-1, 0, 2]], np.float32)}).values()
    np.testing.assert_allclose(found, [[2.2, 1.2, 3.2]], rtol=1e-6)


def test_a_plugin_converts_a_type_of_layer_with_parameters_of_its_own(plugin: None) -> None:
    text = net_text('layer { name: "n" type: "Novel" bottom: "x" top: "y" novel_param { factor: 2.5 } }', x=(1, 2))
    (found,) = transload.run(transload.load(text=text, format="caffe"), {"x": np.array([[1, -2]], np.float32)}).values()
    np.testing.assert_allclose(found, [[2.5, -5]])


@pytest.mark.parametrize("said", [
    "__import__('os').system('touch {flag}')", "{{'b_val': __import__('os').system('touch {flag}')}}", "[1, 2]", "{{1: 2}}",
    "{{'b_val': 1, 'other': 2}}", "(" * 500, "'" + "x" * 70000 + "'"])
def test_what_is_no_dictionary_is_refused_and_never_run(tmp_path: Path, said: str) -> None:
    flag = tmp_path / "ran"
    op = Op("caffe.python.AbsAdd", (), (), {"param_str": said.format(flag=flag)})
    with pytest.raises(Unsupported, match="param_str"):
        python_parameters(op, "b_val")
    assert not flag.exists()


def test_a_class_that_nobody_knows_says_how_it_is_added() -> None:
    with pytest.raises(ConversionError, match=r"caffe\.python\.Unknown") as caught:
        transload.legalize(transload.load(text=python_layer("{}", "Unknown"), format="caffe"))
    assert "extends='caffe-to-top'" in str(caught.value)


def test_the_proposals_of_faster_rcnn_are_known() -> None:
    text = net_text(
        'layer { name: "p" type: "Python" bottom: "s" bottom: "d" bottom: "i" top: "rois" python_param { '
        "module: 'rpn.proposal_layer' layer: 'ProposalLayer' param_str: \"'feat_stride': 16\" } }",
        s=(1, 18, 2, 3), d=(1, 36, 2, 3), i=(1, 3))
    module = transload.legalize(transload.load(text=text, format="caffe"))
    assert str(module.outputs["rois"]) == "tensor<300x5xf32>"
