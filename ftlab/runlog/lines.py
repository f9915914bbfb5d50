"""Files of JSON lines: appended to with one write per commit, read while they grow."""

import os
from pathlib import Path
from typing import Any

from ftlab.records.plain_files import open_file
from ftlab.runlog.codec import dumps, loads
from ftlab.runlog.disk import LeftOut, write_all
from ftlab.runlog.folder import check_version
from ftlab.runlog.schema import VERSION


class LineFile:
    """One JSON value a line; the first line says the schema and what the file holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pending = [dumps({"schema": VERSION, "file": path.stem})]
        self._file = -1

    def add(self, value: Any) -> None:
        """Queue a line."""
        self._pending.append(dumps(value))

    def flush(self) -> None:
        """Write what is queued."""
        if not self._pending:
            return
        if self._file < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._file = os.open(self.path, flags, 0o644)
        data = "".join(line + "\n" for line in self._pending)
        self._pending.clear()
        write_all(self._file, data.encode())

    def sync(self) -> None:
        """Write what is queued and wait until it is on the disk."""
        self.flush()
        if self._file >= 0:
            os.fsync(self._file)

    def release(self) -> None:
        """Let go of the file."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


class LineTail:
    """The whole lines of a JSON-lines file, each read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begun = False
        self._offset = 0

    def read(self) -> list[Any]:
        """Return the values of the lines that were completed since the last call.

        A line that is no JSON is left out. The first is a header, and no value.
        """
        try:
            file = open_file(self.path)
        except FileNotFoundError:
            return []
        with file:
            file.seek(self._offset)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self._offset += end
        values = []
        for line in data[:end].splitlines():
            with LeftOut(self.path):
                value = loads(line)
                if self._begun:
                    values.append(value)
                else:
                    check_version(value, self.path)
            self._begun = True
        return values
