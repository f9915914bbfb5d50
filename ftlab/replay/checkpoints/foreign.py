"""Files of a checkpoint that others have written: whole, as far as they tell it.

There are no digests, and no pickle is opened: the header of a safetensors file has its
length, and torch's files are zips with checksums, but for those of before 1.6.
"""

import json
import zipfile
import zlib
from pathlib import Path

from safetensors import SafetensorError, safe_open

from ftlab.records.errors import CheckpointError
from ftlab.records.plain_files import open_file
from ftlab.replay.checkpoints.folder import NAME


def verify_files(folder: Path) -> None:
    """Look through a checkpoint; a CheckpointError names a file that is damaged."""
    adapters = folder.glob("*/adapter_model.safetensors")
    nested = (file for file in adapters if not NAME.match(file.parent.name))
    for file in (*sorted(folder.iterdir()), *nested):
        check = _CHECKS.get(file.suffix)
        if check is None or file.is_dir():
            continue
        try:
            check(file)
        except (
            *(OSError, ValueError, RuntimeError, SafetensorError),
            *(zipfile.BadZipFile, zlib.error, EOFError),
        ) as error:
            why = getattr(error, "strerror", None) or error
            msg = (
                f"{str(file)!r} is damaged: {why}. Go on from another checkpoint of "
                "that run."
            )
            raise CheckpointError(msg) from error


def _tensors(file: Path) -> None:
    with open_file(file), safe_open(file, framework="pt"):
        pass  # opening compares the length


def _values(file: Path) -> None:
    with open_file(file) as opened:
        json.loads(opened.read())


def _pickled(file: Path) -> None:
    with open_file(file) as opened:
        if not (begins := opened.read(4)):
            msg = "it is empty"
            raise ValueError(msg)
        if begins != b"PK\x03\x04":
            return
        with zipfile.ZipFile(opened) as stored:
            # torch writes zeros where it was told to leave checksums out
            summed = any(each.CRC for each in stored.infolist())
            if bad := stored.testzip() if summed else None:
                msg = f"the checksum of {bad} in it is another"
                raise ValueError(msg)


_CHECKS = {".safetensors": _tensors, ".json": _values}
_CHECKS |= dict.fromkeys((".pt", ".pth", ".bin"), _pickled)
