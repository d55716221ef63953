"""`.mlir` files as a format like any other."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import ReadError, UsageError

from tests.support.graphs import summing

TEXT = """"func.func"() <{sym_name = "main", function_type = (tensor<?x3xf32>) -> tensor<?x3xf32>,
    arg_attrs = [{ml_program.identifier = "x"}], res_attrs = [{ml_program.identifier = "y"}]}> ({
^bb0(%x: tensor<?x3xf32>):
  %w = "top.Weight"() <{value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}> : () -> tensor<3xf32>
  %y = "top.Add"(%x, %w) : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  "func.return"(%y) : (tensor<?x3xf32>) -> ()
}) : () -> ()
"""


def write(tmp_path, text):
    path = tmp_path / "m.mlir"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_read_fix_the_batch_run_and_write(tmp_path):
    module = transload.load(write(tmp_path, TEXT), inputs={"x": (2, 3)})
    assert str(module.main.attributes["function_type"]) == "(tensor<2x3xf32>) -> tensor<2x3xf32>"
    assert np.array_equal(transload.run(module, {"x": np.ones((2, 3), np.float32)})["y"], [[2, 3, 4]] * 2)
    transload.save(module, tmp_path / "again.mlir")
    assert str(transload.load(tmp_path / "again.mlir").main.attributes["function_type"]) == "(tensor<2x3xf32>) -> tensor<2x3xf32>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("<{value", "<{valeu"), "attribute 'value' is missing"),
        (TEXT.replace('sym_name = "main"', "sym_name = 3"), "'sym_name' must be string"),
        (TEXT.replace('sym_name = "main", ', ""), "'sym_name' is missing"),
        (TEXT.replace("-> tensor<?x3xf32>,", "-> tensor<?x3xi8>,"), "the type says"),
        ('"a.b"() : () -> ()', "holds no function"),
        ("", "holds no function"),
        ('"func.func"() <{sym_name = "main", function_type = () -> ()}> : () -> ()', "has 0 regions"),
        (TEXT.replace('top.Add"(%x', 'top.Conv"(%x'), "attribute 'kernel_shape' is missing"),
        (b"ML\xefR\x06\0\0 builtin.module", "bytecode"),
        (TEXT.replace("dense<[1.0", "dense<[1"), "decimal point"),
    ],
)
def test_files_that_break_the_rules(tmp_path, text, message):
    with pytest.raises(ReadError) as caught:
        transload.load(write(tmp_path, text))
    assert message in str(caught.value)


def test_what_is_shown_of_a_module_is_none(tmp_path):
    """`str(module)` has its functions' types and none of its ops: who writes that into a file hears what has them."""
    path = write(tmp_path, str(transload.load(write(tmp_path, TEXT))))
    for read in (lambda: transload.load(path), lambda: transload.text.parse_module(path.read_text())):
        with pytest.raises(ReadError, match="how a module is shown, without its ops") as caught:
            read()
        assert "print_module" in caught.value.hint and "transload.save" in caught.value.hint


def test_inputs_that_are_not_there_or_do_not_fit(tmp_path):
    path = write(tmp_path, TEXT)
    with pytest.raises(UsageError, match="no input 'z'"):
        transload.load(path, inputs={"z": (1, 3)})
    with pytest.raises(UsageError, match="the model fixes it to 3"):
        transload.load(path, inputs={"x": (1, 4)})


def test_bytes_that_are_no_utf8_survive(tmp_path):
    module = transload.load(
        write(tmp_path, TEXT.encode().replace(b"-> ()\n}) : () -> ()", b'-> () loc("caf\xe9")\n}) : () -> ()'))
    )
    transload.save(module, tmp_path / "again.mlir")
    assert b'"caf\\E9"' in (tmp_path / "again.mlir").read_bytes()


def test_states_are_in_the_file(tmp_path):
    path = transload.save(summing(), tmp_path / "m.mlir")
    module = transload.load(path)
    assert [(state.input, state.output) for state in module.states] == [("total", "total_next")]
    assert np.array_equal(transload.run(module, {"x0": np.ones((1, 4), np.float32)})["y0"], np.full((1, 4), 4))
    assert "transload.states" not in module.attributes


@pytest.mark.parametrize(("there", "instead"), [
    ('input = "total"', 'input = "elsewhere"'), ('output = "total_next"', 'output = "elsewhere"'), ("initial =", "first ="),
    ("dense<3.0> : tensor<1x4xf32>}", "dense<3.0> : tensor<4xf32>}"), ("[{input", "[1, {input")])
def test_states_that_are_none_of_the_module(tmp_path, there, instead):
    text = transload.save(summing(), tmp_path / "m.mlir").read_text()
    assert there in text
    with pytest.raises(ReadError, match=r"the attribute transload\.states of the module does not read"):
        transload.load(write(tmp_path, text.replace(there, instead)))
