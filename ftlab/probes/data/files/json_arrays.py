"""Rows of files that hold one JSON array: read on as far as the next row needs."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ftlab.probes.data.files.entries import LARGEST, Broken, Entry, excerpt_of
from ftlab.probes.data.files.json_files import CUT_OFF, opened, parsed

CHUNK = 1 << 20
"""Bytes that are read at once."""

_DECODER = json.JSONDecoder()
_NO_UTF8 = re.compile("[\udc80-\udcff]")
"""What stands for bytes that are no UTF-8 while they are looked for."""

_BEHIND = "what is behind it is not read"


def array_of(path: str) -> Iterator[Entry]:
    """Yield the elements of a file that holds one JSON array, by their number from 0.

    Only what is needed for the next element is in memory. Where an element is no JSON,
    nobody knows where the next one begins: what is behind it is not read.
    """
    with opened(path) as file:
        yield from _Array(file).elements()


def array_lines(path: str) -> Iterator[str | Broken]:
    r"""Yield each element as it is written, in one line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ftlab.probes.data.files.json_arrays import array_lines
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.json"
    >>> _ = path.write_text('[{"a": 1.50,\n"a": 2}, {}]')
    >>> list(array_lines(str(path)))
    ['{"a": 1.50, "a": 2}', '{}']
    """
    with opened(path) as file:
        array = _Array(file)
        for entry in array.elements():
            broken = isinstance(entry.value, Broken)
            yield entry.value if broken else array.written()


class _Array:
    """Reads on as far as the next element needs."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._text = ""
        self._at = self._passed = 0
        self._ended = self._lost = self._odd = False
        self._more(CHUNK)
        self._text = self._text.removeprefix("\ufeff")

    def elements(self) -> Iterator[Entry]:
        """Yield them in order."""
        self._pass_over("[")
        number = 0
        while self._next() not in ("]", ""):
            yield Entry(number, self._element())
            if self._lost:
                return
            number += 1
            if not self._pass_over(",") and self._next() not in ("]", ""):
                yield Entry(number, self._broken(f"no JSON: no comma; {_BEHIND}"))
                return
        if not self._pass_over("]"):
            said = "the file ends within the array: it was cut off"
            yield Entry(number, Broken(said, -1, self._text[-60:]))
        elif self._next():
            said = "more follows behind the array's end, and is not read"
            yield Entry(number, self._broken(said))

    def written(self) -> str:
        """Return the element that was yielded last as it is written, in one line."""
        text = self._text[self._at - self._passed : self._at]
        return text.replace("\r", "").replace("\n", " ")

    def _broken(self, says: str) -> Broken:
        return Broken(says, -1, self._text[self._at : self._at + 60])

    def _element(self) -> Any:
        wanted = CHUNK
        while True:
            found, begun = parsed(self._text, self._decoded), self._at
            failed = isinstance(found, Broken)
            # a number may go on in what was not read yet
            whole = not failed and self._at + self._passed < len(self._text)
            if whole or self._ended or len(self._text) - begun > LARGEST:
                self._at += self._passed
                self._lost = failed
                return _behind(found, begun) if failed else self._checked(found, begun)
            self._more(wanted)
            wanted *= 2

    def _checked(self, found: Any, begun: int) -> Any:
        odd = _NO_UTF8.search(self._text, begun, self._at) if self._odd else None
        if odd is None:
            return found
        text, at = self._text[begun : self._at], odd.start() - begun
        says = f"no UTF-8: byte 0x{ord(odd.group()) - 0xDC00:02x}"
        return Broken(says, at, excerpt_of(text, at))

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

    def _pass_over(self, mark: str) -> bool:
        if self._next() != mark:
            return False
        self._at += 1
        return True

    def _more(self, size: int) -> None:
        try:
            read = self._file.read(size)
        except CUT_OFF:
            read = b""
        self._ended = not read
        self._text = self._text[self._at :] + self._decode(read, final=self._ended)
        self._odd = not self._text.isascii() and bool(_NO_UTF8.search(self._text))
        self._at = 0


def _behind(found: Broken, begun: int) -> Broken:
    """Count from the element's own beginning, and say what that means for the rest."""
    says = f"{found.says}; {_BEHIND}"
    return Broken(says, max(found.char - begun, -1), found.excerpt)
