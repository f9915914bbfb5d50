"""Rows of JSON Lines files, and of files that hold one JSON array."""

import codecs
import contextlib
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from ftlab.probes.data.files.entries import LARGEST, Broken, Entry, excerpt_of
from ftlab.probes.data.files.file_marks import other_format
from ftlab.records.errors import BadValueError

CHUNK = 1 << 20
"""Bytes that are read at once."""

try:  # four times as fast, and of a line that both read makes the same
    import msgspec

    _decode: Callable[[bytes], Any] | None = msgspec.json.decode
    _REFUSED: tuple[type[Exception], ...] = (
        msgspec.MsgspecError,
        UnicodeDecodeError,
        RecursionError,
    )
except ImportError:
    _decode, _REFUSED = None, ()

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_UTF8_MARK = codecs.BOM_UTF8
CUT_OFF = (EOFError, OSError, zlib.error)


def opened(path: str) -> BinaryIO:
    """Open a file for reading bytes, unpacked where its name ends in ``.gz``."""
    if path.endswith(".gz"):
        return cast("BinaryIO", gzip.open(path, "rb"))
    return Path(path).open("rb")


def is_array(path: str) -> bool:
    """Tell whether a file holds one array instead of a row in each line.

    Raises
    ------
    BadValueError
        It is no UTF-8 at all.
    """
    try:
        with opened(path) as file:
            head = file.read(4096)
    except CUT_OFF as error:
        msg = f"{path} cannot be read: {error}."
        raise BadValueError(msg) from error
    if other := other_format(head):
        msg = f"{path} {other}."
        raise BadValueError(msg)
    begins = head.removeprefix(_UTF8_MARK).lstrip().startswith(b"[")
    return begins and not _holds_arrays(path)


def _holds_arrays(path: str) -> bool:
    """Tell whether an array fills the first line of several: each line is a row."""
    lines = raw_lines(path)
    first = next(lines)[1]
    if isinstance(first, Broken) or isinstance(_row_of(first), Broken):
        return False
    return next(lines, None) is not None


def raw_lines(path: str) -> Iterator[tuple[int, bytes | Broken]]:
    """Yield the lines that hold something, by their number from 1.

    A line that is too long is passed over without being kept.
    """
    number = 0
    with opened(path) as file:
        while True:
            number += 1
            try:
                line = file.readline(LARGEST + 1)
            except CUT_OFF as error:
                yield number, Broken(f"the file cannot be read from here on: {error}")
                return
            if not line:
                return
            if number == 1:
                line = line.removeprefix(_UTF8_MARK)
            if len(line) > LARGEST:
                yield number, _too_long(file, line)
            elif not line.isspace():
                yield number, line


def _too_long(file: BinaryIO, begun: bytes) -> Broken:
    size, line = len(begun), begun
    while line and not line.endswith(b"\n"):
        line = file.readline(CHUNK)
        size += len(line)
    head = begun[:60].decode("utf-8", "replace")
    return Broken(
        f"a line of {size:,} bytes; up to {LARGEST:,} are read", -1, f"{head}..."
    )


def lines_of(path: str) -> Iterator[Entry]:
    r"""Yield the rows of a JSON Lines file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ftlab.probes.data.files.json_files import lines_of
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = path.write_text('{"text": "a"}\n\n{"text": \n')
    >>> for entry in lines_of(str(path)):
    ...     print(entry.at, entry.value)
    1 {'text': 'a'}
    3 Broken(says='no JSON: Expecting value', char=8, excerpt='{"text":', rows=1)
    """
    for number, line in raw_lines(path):
        yield Entry(number, line if isinstance(line, Broken) else _row_of(line))


def _row_of(line: bytes) -> Any:
    if _decode is not None:
        try:
            return _decode(line)
        except _REFUSED:
            pass  # NaN, for one; the decoder of Python reads it, or says what is wrong
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = line[max(0, error.start - 20) : error.start + 40]
        says = f"no UTF-8: byte 0x{line[error.start]:02x}"
        return Broken(says, error.start, shown.decode("utf-8", "backslashreplace"))
    return parsed(text.strip(), _whole)


def _whole(text: str) -> Any:
    value, end = _DECODER.raw_decode(text)
    if end < len(text):
        msg = "more than one value"
        raise json.JSONDecodeError(msg, text, end)
    return value


def parsed(text: str, parse: Callable[[str], Any]) -> Any:
    """Parse, and say in words what stands in the way."""
    try:
        return parse(text)
    except json.JSONDecodeError as error:
        says = f"no JSON: {error.msg}"
        return Broken(says, error.pos, excerpt_of(text, error.pos))
    except RecursionError:
        return Broken("values nested too deeply", -1, text[:60])
    except ValueError as error:  # a number with thousands of digits
        return Broken(f"no row: {str(error)[:120]}", -1, text[:60])


def array_of(path: str) -> Iterator[Entry]:
    """Yield the elements of a file that holds one JSON array, by their number from 0.

    Where an element is no JSON, nobody knows where the next one begins: what is behind
    it is not read.
    """
    for number, (value, _) in enumerate(_elements(path)):
        yield Entry(number, value)


def array_lines(path: str) -> Iterator[str | Broken]:
    r"""Yield each element as it is written, in one line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ftlab.probes.data.files.json_files import array_lines
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.json"
    >>> _ = path.write_text('[{"a": 1.50,\n"a": 2}, {}]')
    >>> list(array_lines(str(path)))
    ['{"a": 1.50, "a": 2}', '{}']
    """
    for value, written in _elements(path):
        broken = isinstance(value, Broken)
        yield value if broken else written.replace("\r", "").replace("\n", " ")


def _elements(path: str) -> Iterator[tuple[Any, str]]:
    """Yield each element of an array, and how it is written."""
    text = _text_of(path)
    at, says = _behind_space(text, text.index("[") + 1), ""
    while text[at : at + 1] not in ("]", "") and not says:
        found = parsed(text, partial(_DECODER.raw_decode, idx=at))
        if isinstance(found, Broken):
            says = f"{found.says}; what is behind it is not read"
            yield Broken(says, max(found.char - at, -1), found.excerpt), ""
            return
        value, end = found
        yield _no_utf8(text[at:end]) or value, text[at:end]
        at = _behind_space(text, end)
        if text[at : at + 1] == ",":
            at = _behind_space(text, at + 1)
        elif text[at : at + 1] not in ("]", ""):
            says = "no JSON: no comma; what is behind it is not read"
    if text[at : at + 1] == "]":
        at += 1
        says = "more follows behind the array's end" if text[at:].strip() else ""
    elif not says:
        at, says = max(at - 60, 0), "the file ends within the array: it was cut off"
    if says:
        yield Broken(says, -1, text[at : at + 60].strip()), ""


def _text_of(path: str) -> str:
    """Read a file, up to where it was cut off."""
    read = []
    with opened(path) as file, contextlib.suppress(*CUT_OFF):
        while chunk := file.read(CHUNK):
            read.append(chunk)
    whole = b"".join(read).removeprefix(_UTF8_MARK)
    return whole.decode("utf-8", "surrogateescape")


def _behind_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _no_utf8(written: str) -> Broken | None:
    """Find bytes that are no UTF-8."""
    try:
        written.encode()
    except UnicodeEncodeError as error:
        byte = ord(written[error.start]) - 0xDC00
        shown = excerpt_of(written, error.start)
        return Broken(f"no UTF-8: byte 0x{byte:02x}", error.start, shown)
    return None
