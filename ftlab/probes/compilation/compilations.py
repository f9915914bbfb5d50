"""What came of compiling the model's frames: failures that were swallowed, limits hit.

Dynamo notes each frame that it compiles, or tries to, with the guard that made it
compile anew. Looking whether there is news costs a look at the last note.
"""

import re
import types
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch

from ftlab.probes.dynamo_private import compilations
from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment, Probe
from ftlab.records.step import Column

TABLE = "compilations"

SOFT = ("Unsupported", "UserError", "SkipFrame")
"""Ends of a compilation that are no error: Python runs what no graph can hold."""

LIMIT = "Dynamo recompile limit exceeded"

_LINE = re.compile(r"([^/\\\s]+:\d+) in \w+")
"""How a reason ends: file and line of what the guard was made for."""

_Code = tuple[str, int]


class Compilations(Probe):
    """Tell of frames of the model that run eagerly though they were to be compiled."""

    columns: ClassVar[Sequence[Column]] = (
        Column("compilations", "1", "Frames that were compiled, or tried, whoever's."),
        Column("compiled_frames", "1", "Frames of the model that were compiled."),
        Column("recompiled_frames", "1", "Those of them that had been before."),
    )

    def __init__(self) -> None:
        self._last: Any = None
        self._codes: dict[str, _Code] = {}
        self._failed: dict[str, int] = {}

    def attach(self, subject: Any) -> tuple[()]:
        """Take what was compiled before as known."""
        for note in self._news():
            self._code(note)
        return ()

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Count the frames of this step, and name those that run eagerly."""
        news = self._news()
        if not news:
            return {}
        if moment.subject.gone:
            return {"compilations": float(len(news))}
        paths = _frames(moment.subject.model)
        ours = [(n, p) for n in news if (p := paths.get(self._code(n))) is not None]
        done = [note for note, _ in ours if not note.fail_type and note.co_filename]
        for note, path in ours:
            self._tell(moment, note, path)
        again = sum(bool(note.recompile_reason) for note in done)
        return {
            "compilations": float(len(news)),
            "compiled_frames": float(len(done)),
            "recompiled_frames": float(again),
        }

    def _news(self) -> list[Any]:
        notes = compilations()
        if not notes or notes[-1] is self._last:
            return []
        known = [i for i, note in enumerate(notes) if note is self._last]
        self._last = notes[-1]
        return notes[known[0] + 1 :] if known else notes

    def _code(self, note: Any) -> _Code:
        """Return where a frame's code begins; at the limit only its number tells."""
        frame = str(note.compile_id).partition("/")[0]
        if note.co_filename:
            self._codes[frame] = (note.co_filename, note.co_firstlineno)
        return self._codes.get(frame, ("", 0))

    def _tell(self, moment: Moment, note: Any, path: str) -> None:
        reason = str(note.fail_reason or "")
        if reason.startswith(LIMIT):
            guard, _, rest = str(note.recompile_reason or "").partition("#")
            lines = _LINE.findall(rest)
            meta: dict[str, str | int] = {
                "kind": "limit",
                "guard": guard.partition(": ")[2].strip(),
                "line": lines[0] if lines else "",
            }
        elif note.fail_type in (None, *SOFT) or not note.config_suppress_errors:
            return
        else:
            self._failed[path] = self._failed.get(path, 0) + 1
            kind, text = note.fail_type, " ".join(reason.split())
            meta = {"kind": "failed", "error": kind, "reason": text[:200]}
            meta["frames"] = self._failed[path]
        moment.name(TABLE, path or "model", "module", meta)


def _frames(model: torch.nn.Module) -> dict[_Code, str]:
    """Give the outermost module that each code is the forward of."""
    found: dict[_Code, str] = {}
    for path, module in model.named_modules():
        if type(module).__name__ != "OptimizedModule":
            for code in _codes(module):
                place = (code.co_filename, code.co_firstlineno)
                found.setdefault(place, clean_name(path))
    return found


def _codes(module: torch.nn.Module) -> Iterator[types.CodeType]:
    """Yield the code of a forward and of what decorators have put around it."""
    function: Any = getattr(module, "forward", None)
    while function is not None:
        code = getattr(function, "__code__", None)
        if code is not None:
            yield code
        function = getattr(function, "__wrapped__", None)
