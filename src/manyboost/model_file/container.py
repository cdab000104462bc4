"""A model file as bytes: head, manifest, body and digest, and how they get onto a disk and off it."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

MAGIC = b"\x89MBOOST\n"
HEAD = struct.Struct("<8sII")  # magic, version, length of the manifest
DIGEST = hashlib.sha256().digest_size
MAX_MANIFEST = 2**23


class BadModelFile(ValueError):
    """The file is no valid model and was not loaded; the message says what is wrong with it."""


def require(holds: Any, otherwise: str) -> None:
    """Refuse the file unless a condition holds."""
    if not holds:
        raise BadModelFile(otherwise)


def packed(version: int, manifest: bytes, body: Iterable[bytes]) -> bytes:
    """The whole file."""
    data = b"".join([HEAD.pack(MAGIC, version, len(manifest)), manifest, *body])
    return data + hashlib.sha256(data).digest()


def digest_of(data: bytes) -> str:
    return data[-DIGEST:].hex()


def check_head(head: bytes, latest: int) -> tuple[int, int]:
    """The version, and the length of the manifest."""
    require(len(head) == HEAD.size, "it is too short for a model file")
    magic, version, length = HEAD.unpack(head)
    require(magic == MAGIC, "this is no model file of ManyBoost; pickled models are programs and are not loaded here")
    require(version <= latest, f"it has version {version} of the format, and this ManyBoost reads up to {latest}; update ManyBoost")
    require(version > 0, "its version is 0, which does not exist")
    require(length <= MAX_MANIFEST, "its manifest is too long")
    return int(version), int(length)


def unpacked(data: bytes, latest: int) -> tuple[int, bytes, memoryview]:
    """The version, the manifest and the body of a file that is not damaged."""
    version, length = check_head(data[: HEAD.size], latest)
    start = HEAD.size + length
    require(len(data) >= start + DIGEST, "it ends too early")
    require(hashlib.sha256(memoryview(data)[:-DIGEST]).digest() == data[-DIGEST:], "it is damaged: its digest does not fit its content")
    return version, data[HEAD.size : start], memoryview(data)[start:-DIGEST]


def read_file(path: str | os.PathLike[str], latest: int) -> bytes:
    """What is in a file, if it begins as a model file does."""
    require(stat.S_ISREG(os.stat(path).st_mode), "this is no regular file")  # a pipe or device may have no end
    with open(path, "rb") as file:
        head = file.read(HEAD.size)
        check_head(head, latest)  # before the rest is read, which may be long
        return head + file.read()


def write_file(data: bytes, path: str | os.PathLike[str]) -> None:
    """Write all of the data or nothing: an existing file is replaced once the new one is safely on the disk."""
    target = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.manyboost.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    with suppress(OSError):  # not every system can do this with a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
