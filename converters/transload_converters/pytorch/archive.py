"""The archive that `torch.export.save` writes: a zip file of JSON and of the bytes of tensors.

    NAME/archive_format               the word `pt2`
    NAME/byteorder                    `little`
    NAME/models/MODEL.json            the program
    NAME/data/weights/MODEL_weights_config.json, weight_0, weight_1, ...
    NAME/data/constants/MODEL_constants_config.json, tensor_0, ...
    NAME/data/sample_inputs/MODEL.pt  a pickle, which is never looked at

Before PyTorch 2.8 the members were others, and tensors lay in archives inside the archive, as `torch.save` writes them:

    version                           that of the schema, `5.3`
    serialized_exported_program.json  the program
    serialized_state_dict.pt          weights and buffers (`.json` in PyTorch 2.2)
    serialized_constants.pt           constants
    serialized_example_inputs.pt      never looked at

Members are stored, not compressed, so that a tensor's bytes are looked at where they lie in the file. Nothing is ever
unpacked to disk, and no pickle is loaded. The file is hostile: a member may claim any size, lie anywhere and be called anything.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import Any, NoReturn

from transload.errors import ForeignContent, ReadError
from transload.json_text import room_for_json
from transload.plugin import Source

__all__ = ["OLD_PROGRAM", "Archive", "Members"]

OLD_PROGRAM = "serialized_exported_program.json"
"""The member that tells an archive from before PyTorch 2.8."""

MAX_MEMBERS = 1 << 20
MAX_RATIO = 200
"""How much larger than its compressed bytes a member of text may be."""
_LOCAL = struct.Struct("<4s5H3I2H")
_AGAIN = "python -c \"import sys, torch; torch.export.save(torch.export.load(sys.argv[1]), 'model.pt2')\" {}"
_DAMAGED = "the file is damaged, was cut short, or is no archive of torch.export"


class _Bytes(io.RawIOBase):
    """Bytes as a file, of which nothing is copied but what is read."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.place = data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self.place = max(0, offset + (0, self.place, len(self.data))[whence])
        return self.place

    def tell(self) -> int:
        return self.place

    def readinto(self, buffer: Any) -> int:
        part = self.data[self.place : self.place + len(buffer)]
        buffer[: len(part)] = part
        self.place += len(part)
        return len(part)


class Members:
    """The members of a zip archive, by their names without the folder that is around them all.

    Raises `ReadError` for what is no such archive, and for members that cannot be looked at in place.
    """

    def __init__(self, data: Any, where: str) -> None:
        self.where = where
        self._data = data
        try:
            with zipfile.ZipFile(_Bytes(memoryview(data))) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, UnicodeDecodeError, struct.error) as error:
            raise ForeignContent(f"{self.where}: is no zip archive, as torch.export writes: {error}", hint=_DAMAGED) from None
        if len(members) > MAX_MEMBERS:
            self.fail(f"has {len(members):,} members; {MAX_MEMBERS:,} are the limit")
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            self._enter(member)

    def fail(self, why: str, hint: str = "") -> NoReturn:
        """Raise `ReadError` about this file."""
        raise ReadError(f"{self.where}: {why}", hint=hint)

    def _enter(self, member: zipfile.ZipInfo) -> None:
        """Note a member, whose name must lie inside the archive and be the only one of its kind."""
        parts = member.filename.split("/")
        outside = member.filename.startswith("/") or ".." in parts or ":" in parts[0]
        if outside or "\\" in member.filename or "\0" in member.filename:
            self.fail(f"has a member {member.filename!r:.100}, which leads out of the archive")
        name = member.filename.partition("/")[2] or member.filename
        if name in self._members:
            self.fail(f"has two members {name!r:.100}")
        self._members[name] = member

    def _check_order(self) -> None:
        order = self.text("byteorder", 64).strip() if "byteorder" in self._members else b"little"
        if order != b"little":
            self.fail(f"holds numbers in byte order {order.decode(errors='replace')!r}, and little-endian ones are read")

    def inside(self, name: str) -> Members:
        """The archive that a member is, which must not be compressed."""
        made = Members(self.view(name), f"{self.where}: {name}")
        made._check_order()
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members."""
        return tuple(self._members)

    @property
    def size(self) -> int:
        """How many bytes the archive has."""
        return len(self._data)

    def text(self, name: str, most: int | None = None) -> bytes:
        """The bytes of a member of text, unpacked where it is compressed; no more than `most`, or than there is room for."""
        member = self._member(name)
        packed = self._packed(member)
        most = room_for_json(self.size) if most is None else most
        if member.file_size > most or member.file_size > MAX_RATIO * max(len(packed), 1 << 16):
            self.fail(f"{name} claims {member.file_size:,} bytes, of {len(packed):,} in the file")
        if member.compress_type == zipfile.ZIP_STORED:
            return bytes(packed)
        if member.compress_type != zipfile.ZIP_DEFLATED:
            self.fail(f"{name} is compressed by a method that torch.export does not use ({member.compress_type})")
        try:
            unpacked = zlib.decompressobj(-15).decompress(packed, member.file_size + 1)
        except zlib.error as error:
            self.fail(f"{name} cannot be unpacked: {error}", _DAMAGED)
        if len(unpacked) != member.file_size:
            self.fail(f"{name} is not of the {member.file_size:,} bytes that it claims", _DAMAGED)
        return unpacked

    def view(self, name: str) -> memoryview:
        """The bytes of a member as they lie in the file, which must not be compressed."""
        member = self._member(name)
        if member.compress_type != zipfile.ZIP_STORED:
            self.fail(f"{name} is compressed, and tensors are looked at where they lie",
                      f"torch.export.save does not compress: {_AGAIN.format(self.where)}")
        return self._packed(member)

    def _member(self, name: str) -> zipfile.ZipInfo:
        member = self._members.get(name)
        if member is None:
            self.fail(f"has no member {name!r:.200}", _DAMAGED)
        if member.flag_bits & 1:
            self.fail(f"{name} is encrypted")
        return member

    def _packed(self, member: zipfile.ZipInfo) -> memoryview:
        """A member's bytes in the file, behind a header that has its name once more and says how long it is itself."""
        header: Any = self._data[member.header_offset : member.header_offset + _LOCAL.size]
        if member.header_offset < 0 or len(header) != _LOCAL.size:
            self.fail(f"{member.filename!r:.100} does not lie in the file", _DAMAGED)
        fields = _LOCAL.unpack(header)
        begin = member.header_offset + _LOCAL.size + fields[9] + fields[10]
        end = begin + member.compress_size
        sizes_agree = member.compress_type != zipfile.ZIP_STORED or member.compress_size == member.file_size
        if fields[0] != b"PK\x03\x04" or end > len(self._data) or not sizes_agree:
            self.fail(f"{member.filename!r:.100} is not where the archive's directory says", _DAMAGED)
        return self._data[begin:end]


class Archive(Members):
    """The archive of a program: one file. `is_old` says that it is of PyTorch before 2.8."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.data, source.name)
        self.is_old = OLD_PROGRAM in self.names
        folders = {name.partition("/")[0] for name in self.names}
        if not self.is_old and "archive_format" not in self._members and "models" not in folders:
            raise ForeignContent(f"{self.where}: is no archive of torch.export: it has no archive_format", hint=_DAMAGED)
        self._check_order()
