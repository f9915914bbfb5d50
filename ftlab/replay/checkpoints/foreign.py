"""Whether files of a checkpoint that others have written are whole.

No pickle is opened: torch's files are zips with checksums, but for those of before 1.6.
"""

import json
import zipfile
from pathlib import Path

from safetensors import safe_open

from ftlab.records.errors import CheckpointError
from ftlab.records.plain_files import open_file
from ftlab.replay.checkpoints.folder import NAME


def verify_files(folder: Path) -> None:
    """Look through a checkpoint; a CheckpointError names a file that is damaged."""
    for file in (*folder.glob("*"), *folder.glob("*/adapter_model.safetensors")):
        other = NAME.match(file.relative_to(folder).parts[0])
        try:
            if not other and not file.is_dir():
                _verify(file)
        except Exception as error:  # whatever a reader says of it
            why = getattr(error, "strerror", None) or error
            msg = f"{str(file)!r} is damaged: {why}. Go on from another checkpoint."
            raise CheckpointError(msg) from error


def _verify(file: Path) -> None:
    if file.suffix == ".safetensors":
        with open_file(file), safe_open(file, framework="pt"):
            return  # opening compares the length
    if file.suffix not in (".json", ".pt", ".pth", ".bin"):
        return
    with open_file(file) as opened:
        if file.suffix == ".json":
            json.loads(opened.read())
        elif not (begins := opened.read(4)):
            msg = "it is empty"
            raise ValueError(msg)
        elif begins == b"PK\x03\x04":
            stored = zipfile.ZipFile(opened)
            # zeros are written where torch was told to leave checksums out
            if any(e.CRC for e in stored.infolist()) and (bad := stored.testzip()):
                msg = f"the checksum of {bad} in it is another"
                raise ValueError(msg)
