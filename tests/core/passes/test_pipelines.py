"""Pipelines as text, and routes over conversions."""

from __future__ import annotations

from typing import Literal

import pytest

from transload.errors import ConversionError, InternalError, PassError, UsageError
from transload.ir import Module
from transload.passes.manager import Pipeline
from transload.plugin import Conversion, Pass
from transload.plugin_host import Host, host, use_host
from transload.rewrite import CHANGED, RewriteTable
from transload.routes import find_route
from transload.text import parse_module

calls: list[dict] = []
KEEP = RewriteTable()
KEEP("a.b")(lambda op, rw: CHANGED)


def record(
    module: Module, *, to: Literal["NHWC", "NCHW"] = "NHWC", count: int = 1, ratio: float | None = None, flag: bool = False
) -> bool:
    calls.append({"to": to, "count": count, "ratio": ratio, "flag": flag})
    return flag


def spoil(module: Module) -> bool:
    module.main.attributes.pop("function_type")
    return True


def convert(module: Module, *, limit: int = 3) -> None:
    calls.append({"limit": limit})


def say(module: Module, *, text: str = "") -> None:
    calls.append({"text": text})


def ask(module: Module, kind: str, *, size: int, scale: float = 1.0) -> None:
    calls.append({"kind": kind, "size": size})


@pytest.fixture(autouse=True)
def passes():
    before = host()
    mine = Host(points=[])
    for one in (
        Pass("record", record),
        Pass("spoil", spoil),
        Pass("needs", record, requires=("other",)),
        Pass("makes", record, produces=("other",)),
        Pass("convert", convert),
        Pass("say", say),
        Pass("asks", ask),
        Pass("either", record, requires=("other|third",)),
    ):
        mine.passes[one.name] = one
    table = RewriteTable()
    for one in (
        Conversion("a-to-b", "a", "b", table=KEEP, before="convert{limit=$limit}", options={"limit": (int, 3, "How far.")}),
        Conversion("b-to-c", "b", "c", table=table),
        Conversion("a-to-c", "a", "c", table=table, cost=5.0),
        Conversion("more", "a", "c", extends="a-to-b", cost=0.0),
    ):
        mine.conversions[one.name] = one
    use_host(mine)
    calls.clear()
    yield
    use_host(before)


MODULE = """"func.func"() <{sym_name = "main", function_type = () -> ()}> ({
  "a.b"() : () -> ()
  "func.return"() : () -> ()
}) : () -> ()
"""


def test_options_are_typed():
    records = Pipeline.parse(" record , record{to=NCHW count=3, ratio=0.5 flag} ,record{flag=false},a-to-b{limit=7}").run(
        parse_module(MODULE)
    )
    assert calls == [
        {"to": "NHWC", "count": 1, "ratio": None, "flag": False},
        {"to": "NCHW", "count": 3, "ratio": 0.5, "flag": True},
        {"to": "NHWC", "count": 1, "ratio": None, "flag": False},
        {"limit": 7},
    ]
    assert [(r.name, r.modified) for r in records] == [("record", False), ("record", True), ("record", False), ("a-to-b", True)]
    assert all(r.seconds >= 0 for r in records)
    assert Pipeline.parse("").run(parse_module(MODULE)) == []


def test_comments_and_quoted_values():
    pipeline = Pipeline.parse(''' # from here
        say{text="a, {b} \\"c\\" $d #e"},   # a comment, with {braces}
        record{to=NCHW}
        # the end''')
    assert [step.options for step in pipeline.steps] == [{"text": 'a, {b} "c" $d #e'}, {"to": "NCHW"}]
    again = ",".join(map(str, pipeline.steps))
    assert [str(step) for step in Pipeline.parse(again).steps] == [str(step) for step in pipeline.steps]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recrod", "did you mean 'record'"),
        ("record{cuont=3}", "did you mean 'count'"),
        ("record{count=x}", "must be int"),
        ("record{ratio=x}", "must be float"),
        ("record{flag=maybe}", "true or false"),
        ("record{to=CHWN}", "must be NHWC or NCHW"),
        ("record{count=1 count=2}", "given twice"),
        ("record{", "does not read"),
        ("record}", "does not read"),
        (",record", "does not read"),
        ("record record", "does not read"),
        ('record{to="NHWC}', "does not read"),
        ('record{to="NHWC"count=1}', "do not read at"),
        ('record{to="\\q"}', "in quotes as in JSON"),
        ("more", "no pass is called"),
        ("a-to-b{x=1}", "no option 'x'"),
        ("b-to-c{x=1}", "no option 'x'"),
    ],
)
def test_bad_pipelines_say_what_is_wrong(text, message):
    with pytest.raises(UsageError) as caught:
        Pipeline.parse(text)
    assert message in str(caught.value)


def test_a_pass_that_breaks_the_module_is_named():
    with pytest.raises(InternalError, match="pass 'spoil' made invalid IR"):
        Pipeline.parse("record,spoil,record").run(parse_module(MODULE), verify_each=True)
    assert len(calls) == 1
    seen = []
    Pipeline.parse("record,record").run(parse_module(MODULE), print_after=lambda name, module: seen.append((name, type(module))))
    assert seen == [("record", Module)] * 2


def test_no_pass_is_blamed_for_a_module_that_was_invalid_before():
    module = parse_module(MODULE)
    next(op for op in module.walk() if op.name == "func.return").attributes["unheard_of"] = 1
    with pytest.raises(PassError, match="before the first pass"):
        Pipeline.parse("record").run(module, verify_each=True)
    assert calls == []


def test_what_a_pass_requires_must_be_there():
    with pytest.raises(PassError, match="'needs' requires other; the module is in a"):
        Pipeline.parse("needs").run(parse_module(MODULE))
    Pipeline.parse("makes,needs").run(parse_module(MODULE))
    Pipeline.parse("needs").run(parse_module('"other.op"() : () -> ()'))
    Pipeline.parse("needs").run(parse_module(""))


def test_a_pass_may_require_one_of_several():
    with pytest.raises(PassError, match="'either' requires other or third; the module is in a"):
        Pipeline.parse("either").run(parse_module(MODULE))
    Pipeline.parse("either").run(parse_module('"third.op"() : () -> ()'))
    Pipeline.parse("makes,either").run(parse_module(MODULE))


def test_an_option_without_a_default_is_asked_for_before_any_pass_runs():
    """It was a TypeError of the plugin, to be reported."""
    with pytest.raises(UsageError, match="pass 'asks' needs options kind, size") as caught:
        Pipeline.parse("record,asks").run(parse_module(MODULE))
    assert "asks{kind=... size=...}" in caught.value.hint and not calls
    with pytest.raises(UsageError, match="needs option size"):
        Pipeline.parse("asks{kind=a}").run(parse_module(MODULE))
    Pipeline.parse("asks{kind=a size=2}").run(parse_module(MODULE))
    assert calls == [{"kind": "a", "size": 2}]


def test_routes_are_cheapest_paths():
    there = host().conversions
    names = [c.name for c in find_route("a", ["c"], there)]
    assert names == ["a-to-b", "b-to-c"]  # cost 2 against 5; additions to a table are no way
    assert find_route("a", ["a"], there) == []
    assert [c.name for c in find_route("a", ["c", "b"], there)] == ["a-to-b"]
    assert [c.name for c in find_route("a", ["nowhere", "c"], there)] == ["a-to-b", "b-to-c"]
    with pytest.raises(ConversionError) as caught:
        find_route("a", ["x", "y"], there)
    assert "'x' or 'y'" in str(caught.value) and "b, c" in str(caught.value)
    with pytest.raises(ConversionError, match="nothing"):
        find_route("z", ["a"], there)
