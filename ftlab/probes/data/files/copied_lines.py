"""Rows written as lines of JSON, as exactly as these can hold them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from ftlab.probes.data.files.entries import Broken, LeftOut, Source
from ftlab.probes.data.files.json_files import array_lines, raw_lines
from ftlab.probes.data.rows.plain import plain
from ftlab.records.errors import BadValueError


def write_lines(sources: Sequence[Source], file: BinaryIO, left_out: LeftOut) -> int:
    """Write the rows that are not left out, and return how many these are.

    Raises
    ------
    BadValueError
        A row holds what JSON cannot.
    """
    number = kept = 0
    for source in sources:
        for line, rows in _lines(source):
            if line and not left_out(number):
                file.write(line)
                kept += 1
            number += rows
    return kept


def _lines(source: Source) -> Iterator[tuple[bytes, int]]:
    """Yield each row as a line, ``b""`` for what cannot be read, and how many it is."""
    if source.form == "json lines":
        for _, raw in raw_lines(source.path):
            yield b"" if isinstance(raw, Broken) else raw.rstrip(b"\r\n") + b"\n", 1
    elif source.form == "json array":
        for written in array_lines(source.path):
            yield b"" if isinstance(written, Broken) else f"{written}\n".encode(), 1
    else:
        for entry in source.read():
            if isinstance(entry.value, Broken):
                yield b"", entry.value.rows
            else:
                yield _dumped(entry.at, entry.value), 1


def _dumped(at: int, row: Any) -> bytes:
    try:
        return _encoded(row)
    except (TypeError, ValueError, RecursionError) as error:
        msg = (
            f"Row {at} holds what JSON cannot: {error}. "
            "dataset.select(report.kept()) gives the rows themselves."
        )
        raise BadValueError(msg) from error


def _encoded(row: Any) -> bytes:
    try:
        text = json.dumps(row, ensure_ascii=False, default=_listed)
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half of a character has an escape, and no UTF-8
        return json.dumps(row, default=_listed).encode() + b"\n"


def _listed(value: Any) -> Any:
    known = plain(value)
    if known is value:
        msg = f"an object of type {type(value).__name__}"
        raise TypeError(msg)
    return known
