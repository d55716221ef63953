"""Globals of IREE and TensorFlow in pretty text (`util.global`, `ml_program.global`), put into generic form.

The bindings do not know these dialects, and so read them in generic form only. What they mean is told in `foreign`.
"""

from __future__ import annotations

import re

__all__ = ["to_generic_globals"]

_NAME = rb'@(?:"[^"\\]*(?:\\.[^"\\]*)*"|[\w$.-]+)'
_TYPE = rb"(?:tensor<[^<>]*(?:<[^<>]*>[^<>]*)*>|[a-z]\w*)"
_VALUE = rb'(?:dense(?:_resource)?<(?:"[^"]*"|[^<>"]*)>|[^\s:]+)'
_ATTRIBUTES = rb"(?:\s*(?:attributes\s*)?\{[^{}]*\})?"

_GLOBAL = re.compile(
    rb"(?m)^(\s*)(util|ml_program)\.global\s+(?:(private|public|nested)\s+)?((?:mutable|unmutable)\s+)?(" + _NAME + rb")"
    + rb"(?:\s*=\s*(" + _VALUE + rb")\s*:\s*(" + _TYPE + rb")"
    + rb"|\s*\(\s*(" + _VALUE + rb")\s*:\s*" + _TYPE + rb"\s*\)\s*:\s*(" + _TYPE + rb")"
    + rb"|\s*:\s*(" + _TYPE + rb"))" + _ATTRIBUTES)
_ADDRESS = re.compile(rb"(?m)^(\s*%[\w$.-]+\s*=\s*)util\.global\.address(?:\s+immutable)?\s+(" + _NAME + rb")" + _ATTRIBUTES
                      + rb"\s*:\s*(!util\.ptr<" + _TYPE + rb">)")
_LOAD = re.compile(rb"(?m)^(\s*%[\w$.-]+\s*=\s*)(util\.global\.load|ml_program\.global_load(?:_const)?)(?:\s+immutable)?\s+("
                   + _NAME + rb")" + _ATTRIBUTES + rb"\s*:\s*(" + _TYPE + rb")")
_INDIRECT = re.compile(rb"(?m)^(\s*%[\w$.-]+\s*=\s*)util\.global\.load\.indirect(?:\s+immutable)?\s+(%[\w$.#-]+)" + _ATTRIBUTES
                       + rb"\s*:\s*(!util\.ptr<" + _TYPE + rb">)\s*->\s*(" + _TYPE + rb")")
_STORE = re.compile(rb"(?m)^(\s*)(util\.global\.store|ml_program\.global_store)\s+(?:(%[\w$.#-]+)\s*,\s*(" + _NAME + rb")|("
                    + _NAME + rb")\s*=\s*(%[\w$.#-]+))" + _ATTRIBUTES + rb"\s*:\s*(" + _TYPE + rb")")


def to_generic_globals(text: bytes) -> bytes:
    """The text with its globals, and what loads and stores them, in generic form."""
    if b"util.global" not in text and b"ml_program.global" not in text:
        return text
    text = _GLOBAL.sub(_define, text)
    text = _ADDRESS.sub(rb'\1"util.global.address"() {global = \2} : () -> \3', text)
    text = _INDIRECT.sub(rb'\1"util.global.load.indirect"(\2) : (\3) -> \4', text)
    text = _LOAD.sub(rb'\1"\2"() {global = \3} : () -> \4', text)
    return _STORE.sub(_store, text)


def _define(match: re.Match[bytes]) -> bytes:
    indent, dialect, _, mutable, name, value, type_, value2, type2, type3 = match.groups()
    symbol = name[1:] if name[1:2] == b'"' else b'"' + name[1:] + b'"'
    value, type_ = value or value2, type_ or type2 or type3
    parts = [b"sym_name = " + symbol, b"type = " + type_]
    if value is not None:
        parts.append(b"initial_value = " + value + b" : " + type_)
    if mutable is not None and mutable.startswith(b"mutable"):
        parts.append(b"is_mutable")
    return indent + b'"' + dialect + b'.global"() {' + b", ".join(parts) + b"} : () -> ()"


def _store(match: re.Match[bytes]) -> bytes:
    indent, op, value, name, name2, value2, type_ = match.groups()
    return indent + b'"' + op + b'"(' + (value or value2) + b") {global = " + (name or name2) + b"} : (" + type_ + b") -> ()"
