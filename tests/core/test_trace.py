"""Following rewrites: which rule fired on which op, what came of it, and that it costs nothing while nobody does."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

import transload.text
from transload import CHANGED, Rewrite, RewriteTable, trace_rewrites
from transload.cli import run
from transload.cli.trace import rewrites_traced_to
from transload.errors import ConversionError
from transload.ir import Module
from transload.rewrite import apply_greedily, convert_ops
from transload.text import parse_module
from transload.trace import trace_links, traced


def module_of(*ops: str) -> Module:
    lines = "".join(f'%{n} = "{op}"(%x) : (i32) -> i32 loc("{op}_{n}")\n' for n, op in enumerate(ops))
    return parse_module(f'''"func.func"() <{{sym_name = "main", function_type = (i32) -> ()}}> ({{
^bb0(%x: i32):
{lines}"func.return"() : () -> ()
}}) : () -> ()''')


def table() -> RewriteTable:
    made = RewriteTable()

    @made("old.split")
    def split(op: Any, rw: Any) -> Any:
        first = rw.create("new.first", op.operands, [op.result.type])
        rw.create("new.first", op.operands, [op.result.type])
        return rw.create("new.second", first.results, [op.result.type]).results

    @made("old.none")
    def forward(op: Any, rw: Any) -> Any:
        return op.operands[0]

    @made("old.mark")
    def never(op: Any, rw: Any) -> Any:
        return None

    @made("old.mark")
    def mark(op: Any, rw: Any) -> Any:
        op.name = "new.mark"
        return CHANGED

    return made


def test_each_rule_that_fired_is_noted_with_what_it_made():
    with trace_rewrites() as rewrites:
        convert_ops(module_of("old.split", "old.none", "old.mark"), table(), "old")
    assert [(each.op, each.name, each.made, each.results) for each in rewrites] == [
        ("old.split", "old.split_0", ("new.first", "new.first", "new.second"), ("new.second",)),
        ("old.none", "old.none_1", (), ("argument",)),
        ("old.mark", "old.mark_2", ("new.mark",), ("new.mark",))]
    first = rewrites[0]
    assert first.rule.endswith("test_trace:table.<locals>.split") and first.plugin == "the program" and first.step == ""
    assert first.source.startswith("core/test_trace.py:")
    assert str(first) == (
        f"  old.split_0: old.split → 2 new.first, new.second  by table.<locals>.split of the program ({first.source})")
    assert "old.none → what argument gives" in str(rewrites[1])


def test_rules_that_are_applied_until_nothing_changes_are_noted_too():
    made = RewriteTable()
    made("old.a")(lambda op, rw: rw.create("old.b", op.operands, [op.result.type]).results)
    made("old.b")(lambda op, rw: rw.create("new.c", op.operands, [op.result.type]).results)
    with trace_rewrites() as rewrites:
        apply_greedily(module_of("old.a"), made)
    assert [(each.op, each.made) for each in rewrites] == [("old.a", ("old.b",)), ("old.b", ("new.c",))]


def test_while_nobody_traces_the_table_is_the_table():
    made = table()
    assert traced(made) is made
    with trace_rewrites():
        noting = traced(made)
        assert noting is not made and traced(noting).functions == noting.functions
    with trace_rewrites() as rewrites:
        pass
    convert_ops(module_of("old.none"), made, "old")
    assert rewrites == []


def test_a_model_is_followed_through_all_of_its_journey(examples: Path):
    module = transload.load(examples / "digits" / "digits_int8.tflite")
    plain = transload.lower(module)
    with trace_rewrites() as rewrites:
        followed = transload.lower(module)
    assert transload.text.print_module(followed) == transload.text.print_module(plain)
    steps = list(dict.fromkeys(each.step for each in rewrites))
    assert steps[:2] == ["tfl-to-top.rewrites", "top-to-tosa.rewrites"] and "tosa-canonicalize" in steps
    (conv,) = [each for each in rewrites if (each.name, each.op) == ("conv1", "top.Conv")]
    assert conv.plugin == "tosa" and conv.rule.startswith("transload_plugins.tosa.lowering.ops.conv:")
    assert conv.results == ("tosa.rescale",) and "tosa.conv2d" in conv.made


def test_the_command_writes_them_as_text_or_json_also_where_it_fails(examples: Path, tmp_path: Path, capsys: Any):
    digits, out = str(examples / "digits" / "digits_int8.tflite"), str(tmp_path / "out")
    assert run(["convert", digits, "-o", out, "--no-verify", "--trace-rewrites", str(tmp_path / "trace.txt")]) == 0
    assert run(["convert", digits, "-o", out, "--no-verify", "--trace-rewrites", str(tmp_path / "trace.jsonl")]) == 0
    capsys.readouterr()
    records = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    again = [Rewrite(**{**record, "made": tuple(record["made"]), "results": tuple(record["results"])}) for record in records]
    assert (tmp_path / "trace.txt").read_text().splitlines() == [str(each) for each in again] and len(again) > 30
    hub = tmp_path / "hub.mlir"
    transload.save(transload.legalize(transload.load(digits)), hub)
    assert run(["opt", str(hub), "-p", "top-to-tosa", "-o", str(tmp_path / "x.mlir"), "--trace-rewrites", "-"]) == 0
    assert "conv1: top.Conv → " in capsys.readouterr().err
    with pytest.raises(ConversionError), trace_rewrites() as rewrites:
        convert_ops(module_of("old.none", "old.unknown"), table(), "old")
    assert len(rewrites) == 1


def test_rewrites_that_cannot_be_written_leave_what_was_converted(
        examples: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The artifacts are there by then, and what a conversion ended with counts more than its trace."""
    written = Path.write_text

    def full(path: Path, *arguments: Any, **more: Any) -> int:
        if path.name == "trace.txt":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(path, *arguments, **more)

    monkeypatch.setattr(Path, "write_text", full)
    trace, digits = str(tmp_path / "trace.txt"), str(examples / "digits" / "digits_int8.tflite")
    assert run(["convert", digits, "-o", str(tmp_path / "out"), "--no-verify", "--trace-rewrites", trace]) == 1
    said = capsys.readouterr().err
    assert "trace.txt: No space left on device" in said
    assert "all else is done: only the file of --trace-rewrites is missing" in said
    assert (tmp_path / "out" / "report.json").exists() and not (tmp_path / "trace.txt").exists()
    source, out = tmp_path / "x.mlir", tmp_path / "y.mlir"
    source.write_text(transload.text.print_module(module_of("old.a")))
    assert run(["opt", str(source), "-o", str(out), "--trace-rewrites", trace]) == 1 and "old.a" in out.read_text()
    capsys.readouterr()
    with pytest.raises(ConversionError, match="no way"), rewrites_traced_to(trace):
        raise ConversionError("no way")
    assert "trace.txt: No space left on device" in capsys.readouterr().err


def test_links_have_the_ops_themselves() -> None:
    module = module_of("old.split", "old.mark", "old.none")
    split, mark, none = (op for op in module.ops() if op.dialect == "old")
    with trace_links() as links:
        apply_greedily(module, table())
    by_op = {link.op: link for link in links}
    left = [op for op in module.ops() if op.dialect == "new"]
    assert set(left) <= {*by_op[split].made, mark}
    assert [op.name for op in by_op[split].made] == ["new.first", "new.first", "new.second"]
    assert by_op[mark].made == (mark,)
    assert by_op[none].made == ()
    assert by_op[split].rewrite.op == "old.split"
