"""A copy of a dataset without some rows; what it is copied from is only read.

Who calls whom: `write_copy` chooses a writer by the name's ending, and lets it write
into a file of its own beside the target, which becomes the copy when it is whole.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from ftlab.probes.data.files.copied_batches import COLUMNAR, write_arrow, write_parquet
from ftlab.probes.data.files.copied_lines import write_lines
from ftlab.probes.data.files.entries import LeftOut, Source
from ftlab.records.errors import BadValueError

LINES = ".jsonl"
LONGEST = 100
"""Characters of the name that the file keeps while it is written."""

Writer = Callable[[Sequence[Source], BinaryIO, LeftOut], int]


def write_copy(
    sources: Sequence[Source],
    path: str,
    left_out: LeftOut,
    check: Callable[[], None] | None = None,
) -> int:
    """Write the rows that are not left out, and return how many these are.

    Lines of JSON, and the elements of a JSON array, are copied as they are written.
    Parquet and Arrow files keep their columns where the copy is such a file. The copy
    appears under its name when it is whole.

    Parameters
    ----------
    path
        A new file whose name ends in ``.jsonl``; of Parquet or Arrow files also
        ``.parquet`` or ``.arrow``.
    left_out
        Tells by the number of a row.
    check
        Called before the copy appears under its name; what it raises keeps it away.

    Raises
    ------
    BadValueError
        The file exists, cannot be written, or cannot hold these rows.
    """
    write = checked_target(sources, path)
    target = Path(path)
    try:
        with _own_file(target) as part:
            with part.open("wb") as file:
                kept = write(sources, file, left_out)
            if check is not None:
                check()
            _put(part, target)
    except BadValueError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        msg = f"{path} was not written: {error}."
        raise BadValueError(msg) from error
    return kept


def checked_target(sources: Sequence[Source], path: object) -> Writer:
    """Return what writes a copy of this name.

    Raises
    ------
    BadValueError
        It is no name of a new file with rows.
    """
    if not isinstance(path, str) or not path or "\0" in path:
        msg = f"The copy's name is {path!r}; pass that of a new file: 'rows{LINES}'."
        raise BadValueError(msg)
    write = _writer(sources, Path(path))
    if os.path.lexists(path):
        raise BadValueError(_exists(path))
    return write


def _exists(path: str) -> str:
    return f"{path} exists; name a new file: what is there is never changed."


@contextmanager
def _own_file(target: Path) -> Iterator[Path]:
    """Make a file beside the target that nobody else has, and take it away."""
    name = f".{target.name[:LONGEST]}.{secrets.token_hex(8)}.part"
    part = target.with_name(name)
    part.open("xb").close()
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _put(part: Path, target: Path) -> None:
    """Give the copy its name, unless another file got it meanwhile."""
    try:
        os.link(part, target)
    except FileExistsError as error:
        raise BadValueError(_exists(str(target))) from error
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise BadValueError(_exists(str(target))) from None
        part.replace(target)


def _writer(sources: Sequence[Source], target: Path) -> Writer:
    ending = target.suffix
    if ending == LINES:
        return write_lines
    columnar = all(source.form in COLUMNAR for source in sources)
    if columnar and ending == ".parquet":
        return write_parquet
    if columnar and ending == ".arrow":
        return write_arrow
    allowed = f"{LINES}, .parquet or .arrow" if columnar else LINES
    msg = f"{target} ends in {ending or 'nothing'}; a copy of these ends in {allowed}."
    raise BadValueError(msg)
