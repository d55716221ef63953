"""Protocol buffers: the wire format, as far as reading models needs more than the protobuf package gives.

Source: https://protobuf.dev/programming-guides/encoding.
"""

from .wire import Cut, Field, Layout, cut_out, fields, read_varint, varint

__all__ = ["Cut", "Field", "Layout", "cut_out", "fields", "read_varint", "varint"]
