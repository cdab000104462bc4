"""A model file as bytes: head, manifest, body and digest, and how they get onto a disk and off it."""

from __future__ import annotations

import errno
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
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


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


def read_file(path: Path, latest: int) -> bytes:
    """What is in a file, if it begins as a model file does."""
    require(stat.S_ISREG(os.stat(path).st_mode), "this is no regular file")  # a pipe or device may have no end
    with open(path, "rb") as file:
        head = file.read(HEAD.size)
        check_head(head, latest)  # before the rest is read, which may be long
        return head + file.read()


def _mode_of_old_file(target: str, name: str) -> int | None:
    """The rights that a file to be replaced gives, None where there is none; what is no file is not replaced by one."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "This is a folder; give the name of a file in it", name)
    if not stat.S_ISREG(mode):
        raise ValueError(f"path={name!r} is a pipe, a device or a socket and no regular file; give the name of a file, or of none yet.")
    return stat.S_IMODE(mode)


def write_file(data: bytes, path: Path) -> None:
    """Write all of the data or nothing: an existing file is replaced once the new one is safely on the disk, and who may read it stays."""
    name = os.fsdecode(path)
    target = os.path.realpath(name)
    mode = _mode_of_old_file(target, name)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.manyboost.tmp")

    def opener(path: str, flags: int) -> int:  # with no more rights than the old file has, not even for a moment
        return os.open(path, flags, 0o666 if mode is None else mode)

    try:
        with open(temporary, "xb", opener=opener) as file:
            if mode is not None:
                with suppress(OSError):  # not every file system has modes
                    os.chmod(temporary, mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename == temporary:  # a name that nobody has heard of
            why = f"{error.strerror} (a model is written into a folder that exists and takes new files)"
            raise OSError(error.errno, why, name) from None
        raise
    with suppress(OSError):  # not every system can do this with a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
