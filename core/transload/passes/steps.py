"""Steps of a pipeline, from text: passes with their options.

    canonicalize,layout{to=NHWC}

Names are separated by commas, options in braces by spaces or commas; a value with any of these in it stands in double quotes, as
in JSON. A `#` begins a comment, to the end of its line. In the pipelines of a conversion or target, `name{key=$option}` gives a
pass the value that the conversion's or target's own option has.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..budget import check_deadline
from ..errors import UsageError
from ..ir import Module
from ..options import option_type, required, typed
from ..outcomes import need_right_module
from ..plugin import Pass, resolve
from ..plugin_host import host
from ..suggest import nearest
from ..trace import tracing

__all__ = ["PassRecord", "Step", "parse_steps", "read_options", "reads"]

@dataclass(frozen=True)
class PassRecord:
    """What became of one pass: how long it took, and whether it changed anything."""

    name: str
    seconds: float
    modified: bool


@dataclass
class Step:
    """A pass or conversion with its options."""

    name: str
    run: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    partial: bool = False
    """Whether passes that follow put right what it leaves: rewrites without their conversion's passes after."""
    declared: Pass | None = None
    """The pass that it is of, where it is of one."""

    def need_options(self) -> None:
        """Raise `UsageError` where an option is not said that the pass has no default for."""
        if self.declared is None:
            return
        missing = [name for name in required(self.run, 1) if name not in self.options]
        if missing:
            asked = " ".join(f"{name}=..." for name in missing)
            raise UsageError(f"pass {self.name!r} needs {'option' if len(missing) == 1 else 'options'} {', '.join(missing)}",
                             hint=f"as {self.name}{{{asked}}}; `transload passes` lists what each pass takes")

    def apply(self, module: Module) -> PassRecord:
        """Run it on `module`, in place. What is not finite that it makes of a model's constants is the model's, and no news.

        Raises `TimeOver` where this is part of what has to end in a time that is over: an engine lowers what it runs.
        """
        check_deadline()
        trace = tracing()
        if trace is not None:
            trace.step = self.name
        start = time.perf_counter()
        plugin = getattr(self.run, "plugin", None)
        before = len(module.functions) if plugin is not None and not plugin.is_ours else 0
        with np.errstate(all="ignore"):
            modified = bool(self.run(module, **self.options))
        if before:
            need_right_module(module, plugin, f"pass {self.name!r} (run)", "leaves")
        return PassRecord(self.name, time.perf_counter() - start, modified)

    def __repr__(self) -> str:
        return f"<step {self}>"

    def __str__(self) -> str:
        """As text that `Pipeline.parse` reads."""
        return self.name + ("{" + " ".join(f"{key}={_text(value)}" for key, value in self.options.items()) + "}"
                            if self.options else "")


_PLAIN = re.compile(r"[^\s,{}\"$#]+").fullmatch


def _text(value: Any) -> str:
    """An option's value as text, in quotes where it needs them."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if _PLAIN(text) else json.dumps(text, ensure_ascii=False)


More = Callable[[str, str, Mapping[str, Any]], "Step | None"]
"""`more(name, options, settings)`: the step of a name that is no pass's, or None."""


def parse_steps(text: str, settings: Mapping[str, Any] | None = None, more: More | None = None) -> list[Step]:
    """Steps from text: names separated by commas, options in braces: `name{option=value option=value}`.

    `settings` are the values that `$name` stands for; `more` knows steps that are no passes. Raises `UsageError` for
    unknown passes and options, with the nearest names, and for values of the wrong type.
    """
    return [_step(name, options, settings or {}, more) for name, options in _split(text)]


_QUOTED = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_BLANK = r"(?:\s|#[^\n]*(?:\n|$))*"
_ITEM = re.compile(rf"([\w.-]+){_BLANK}(?:\{{((?:[^{{}}\"]|{_QUOTED})*)\}})?{_BLANK}(?:,{_BLANK}|$)")
_OPTION = re.compile(rf"[\s,]*([^\s,=\"]+)(?:(=)({_QUOTED}|[^\s,\"]*))?(?=[\s,]|$)")


def _split(text: str) -> list[tuple[str, str]]:
    """`a,b{x=1}` to `[("a", ""), ("b", "x=1")]`."""
    items: list[tuple[str, str]] = []
    at = re.match(_BLANK, text).end()  # type: ignore[union-attr]
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None:
            raise UsageError(f"the pipeline does not read at {text[at:]!r}", hint='as "canonicalize,layout{to=NHWC}"')
        items.append((match[1], match[2] or ""))
        at = match.end()
    return items


def _options(name: str, text: str) -> Iterator[tuple[str, str, bool]]:
    """`a=1 b="x y" c` to `("a", "1", False), ("b", "x y", True), ("c", "true", False)`: name, value, and whether it is quoted."""
    at, end = 0, len(text.rstrip(" \t\r\n,"))
    while at < end:
        match = _OPTION.match(text, at, end)
        if match is None:
            raise UsageError(f"the options of pass {name!r} do not read at {text[at:]!r}", hint='as {to=NHWC file="a b.toml"}')
        value = match[3] if match[2] else "true"
        quoted = value.startswith('"')
        try:
            yield match[1], json.loads(value) if quoted else value, quoted
        except ValueError:
            raise UsageError(f"option {match[1]} of pass {name!r} does not read: {value}", hint="in quotes as in JSON") from None
        at = match.end()


def reads(text: str, settings: Mapping[str, Any]) -> bool:
    """Whether a pipeline's text is one with these settings."""
    try:
        parse_steps(text, settings)
    except UsageError:
        return False
    return True


def _step(name: str, options: str, settings: Mapping[str, Any], more: More | None) -> Step:
    there = host()
    if name in there.passes:
        known = there.passes[name]
        wanted = {key: option_type(parameter.annotation) for key, parameter in known.options().items()
                  if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)} if options.strip() else {}
        return Step(name, resolve(known.run), read_options(name, wanted, options, settings), known.requires, known.produces,
                    declared=known)
    step = more(name, options, settings) if more is not None else None
    if step is not None:
        return step
    names = [*there.passes, *(c.name for c in there.conversions.values() if c.extends is None and more is not None)]
    guess = nearest(name, names)
    raise UsageError(f"no pass is called {name!r}", hint=(
        f"did you mean {guess!r}? " if guess else "") + f"passes: {', '.join(names)}{there.absent()}")


def read_options(
    name: str, known: Mapping[str, type | tuple[str, ...]], text: str, settings: Mapping[str, Any],
) -> dict[str, Any]:
    """The options in `key=value` texts; `known` says their types (see `transload.options`), `settings` what `$name` is."""
    options: dict[str, Any] = {}
    for key, given, quoted in _options(name, text):
        if key not in known:
            guess = nearest(key, known)
            raise UsageError(
                f"pass {name!r} has no option {key!r}",
                hint=(f"did you mean {guess!r}? " if guess else "") + f"options: {', '.join(known) or 'none'}")
        if key in options:
            raise UsageError(f"option {key} of pass {name!r} is given twice")
        value: Any = given
        if given.startswith("$") and not quoted:
            if given[1:] not in settings:
                raise UsageError(
                    f"option {key} of pass {name!r} is {given}, and there is no option {given[1:]}",
                    hint=f"options: {', '.join(settings) or 'none'}")
            value = settings[given[1:]]
        options[key] = typed(f"{key} of pass {name!r}", value, known[key]) if isinstance(value, str) else value  # a setting
    return options
