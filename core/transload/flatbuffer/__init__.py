"""FlatBuffers: files that nobody vouches for are read, and files are written, by field numbers of any schema.

Source: FlatBuffers internals, https://flatbuffers.dev/internals. All numbers are little-endian. A table starts with a signed
offset back to its vtable, which holds its own size, the table's size, and for each field, in the order of the schema's
numbers, the field's offset in the table or 0. Strings, vectors and tables inside a table are unsigned offsets forward.
"""

from .builder import FlatBuilder
from .reader import FlatFile, Table

__all__ = ["FlatBuilder", "FlatFile", "Table"]
