"""Rows of JSON Lines files, and of files that hold one JSON array."""

import codecs
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from ftlab.probes.data.entries import LARGEST, Broken, Entry, excerpt_of
from ftlab.records.errors import BadValueError

CHUNK = 1 << 20
"""Bytes that are read at once."""

_DECODER = json.JSONDecoder()
_UTF8_MARK = codecs.BOM_UTF8
_OTHER_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
_CUT_OFF = (EOFError, OSError, zlib.error)


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
    except _CUT_OFF as error:
        msg = f"{path} cannot be read: {error}."
        raise BadValueError(msg) from error
    for mark, name in _OTHER_MARKS.items():
        if head.startswith(mark):
            msg = (
                f"{path} is {name}; rows are read as UTF-8. Write it anew: "
                f"open(new, 'w', encoding='utf-8').write(open(old, "
                f"encoding='{name.lower()}').read())."
            )
            raise BadValueError(msg)
    return head.removeprefix(_UTF8_MARK).lstrip().startswith(b"[")


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
            except _CUT_OFF as error:
                yield number, Broken(f"the file cannot be read from here on: {error}")
                return
            if not line:
                return
            if number == 1:
                line = line.removeprefix(_UTF8_MARK)
            if len(line) > LARGEST:
                yield number, _too_long(file, line)
            elif line.strip():
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
    >>> from ftlab.probes.data.json_files import lines_of
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = path.write_text('{"text": "a"}\n\n{"text": \n')
    >>> for entry in lines_of(str(path)):
    ...     print(entry.at, entry.value)
    1 {'text': 'a'}
    3 Broken(says='no JSON: Expecting value', char=8, excerpt='{"text":', rows=1)
    """
    for number, line in raw_lines(path):
        yield Entry(number, line if isinstance(line, Broken) else _row_of(line))


def _behind(found: Broken, begun: int) -> Broken:
    """Count from the element's own beginning, and say what that means for the rest."""
    says = f"{found.says}; what is behind it is not read"
    return Broken(says, max(found.char - begun, -1), found.excerpt)


def _row_of(line: bytes) -> Any:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = line[max(0, error.start - 20) : error.start + 40]
        says = f"no UTF-8: byte 0x{line[error.start]:02x}"
        return Broken(says, error.start, shown.decode("utf-8", "backslashreplace"))
    return _parsed(text.strip(), _whole)


def _whole(text: str) -> Any:
    value, end = _DECODER.raw_decode(text)
    if end < len(text):
        msg = "more than one value"
        raise json.JSONDecodeError(msg, text, end)
    return value


def _parsed(text: str, parse: Callable[[str], Any]) -> Any:
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

    Only what is needed for the next element is in memory. Where an element is no JSON,
    nobody knows where the next one begins: what is behind it is not read.
    """
    with opened(path) as file:
        yield from _Array(file).elements()


class _Array:
    """Reads on as far as the next element needs."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._text = ""
        self._at = self._passed = 0
        self._ended = False
        self._more(CHUNK)
        self._text = self._text.removeprefix("\ufeff")

    def elements(self) -> Iterator[Entry]:
        """Yield them in order."""
        self._pass_over("[")
        number = 0
        while self._next() not in ("]", ""):
            value = self._element()
            yield Entry(number, value)
            if isinstance(value, Broken):
                return
            number += 1
            if self._next() == ",":
                self._at += 1
        if not self._next():
            said = "the file ends within the array: it was cut off"
            yield Entry(number, Broken(said, -1, self._text[-60:]))

    def _element(self) -> Any:
        wanted = CHUNK
        while True:
            found, begun = _parsed(self._text, self._decoded), self._at
            failed = isinstance(found, Broken)
            # a number may go on in what was not read yet
            whole = not failed and self._at + self._passed < len(self._text)
            if whole or self._ended or len(self._text) - begun > LARGEST:
                self._at += self._passed
                return _behind(found, begun) if failed else found
            self._more(wanted)
            wanted *= 2

    def _decoded(self, text: str) -> Any:
        self._passed = 0
        value, end = _DECODER.raw_decode(text, self._at)
        self._passed = end - self._at
        return value

    def _next(self) -> str:
        """Return the next character that is no white space; ``""`` at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more(CHUNK)

    def _pass_over(self, mark: str) -> None:
        if self._next() == mark:
            self._at += 1

    def _more(self, size: int) -> None:
        try:
            read = self._file.read(size)
        except _CUT_OFF:
            read = b""
        self._ended = not read
        self._text = self._text[self._at :] + self._decode(read, final=self._ended)
        self._at = 0
