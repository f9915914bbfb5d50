"""Files of JSON lines: appended to with one write per commit, read while they grow."""

import json
import os
from pathlib import Path
from typing import Any

from ftlab.runlog.codec import dumps, loads
from ftlab.runlog.disk import write_all
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
    """The whole lines of a JSON-lines file, each read once; the first is its header."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: dict[str, Any] | None = None
        self._offset = 0

    def read(self) -> list[dict[str, Any]]:
        """Return the lines that were completed since the last call."""
        if not self.path.is_file():
            return []
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        end = data.rfind(b"\n") + 1
        lines = []
        for line in data[:end].splitlines():
            try:
                lines.append(loads(line))
            except (json.JSONDecodeError, UnicodeDecodeError):
                break
        self._offset += end
        if lines and self.header is None:
            self.header = lines.pop(0)
        return lines
