"""A tokenizer's fingerprint: what it is made of, and one digest."""

import json
from collections.abc import Mapping
from pathlib import Path

from ftlab.records.errors import BadValueError
from ftlab.records.fingerprint import PARTS, SIDES, Fingerprint, Part
from ftlab.runlog.disk import replace
from ftlab.views.style import count
from ftlab.views.tokenizers.fingerprint_words import (
    SHORT,
    SHOWN,
    part_words,
    trained_line,
)
from ftlab.views.tokenizers.told import Line, Told, ToldView
from ftlab.views.view import Rows


class FingerprintView(ToldView):
    """Shows one fingerprint; its digest tells equal tokenizers from others.

    Parameters
    ----------
    fingerprint
        What was read.
    trained
        That of the tokenizer that a checkpoint was trained with.
    changes
        Steps of a run at which it was found changed, and the parts.

    Examples
    --------
    >>> from ftlab.records.fingerprint import Fingerprint, part_of
    >>> from ftlab.views.tokenizers.fingerprint import FingerprintView
    >>> parts = {"switches": part_of({"legacy": True, "add_bos_token": False})}
    >>> FingerprintView(Fingerprint("Own", "python", parts))
    Fingerprint of Own (python): 30a65830d7d2
      switches  legacy on, add_bos_token off  0c36f1b4ca6c
    """

    title = "Fingerprint"

    def __init__(
        self,
        fingerprint: Fingerprint,
        trained: Fingerprint | None = None,
        changes: tuple[tuple[int, str], ...] = (),
    ) -> None:
        super().__init__()
        self.fingerprint = fingerprint
        self.trained = trained
        self.changes = changes

    @property
    def digest(self) -> str:
        """SHA-256 over all parts, 64 hexadecimal digits."""
        return self.fingerprint.digest

    @property
    def parts(self) -> Mapping[str, Part]:
        """The parts by name, each with a digest of its own."""
        return self.fingerprint.parts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FingerprintView):
            return NotImplemented
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def save(self, path: str | Path) -> Path:
        """Write it to a file; `ftlab.tokenizer_diff` takes that like a tokenizer.

        Parameters
        ----------
        path
            Name of a file, such as ``"tokenizer.fingerprint.json"``; one that exists is
            written over.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        BadValueError
            It cannot be written.
        """
        path = Path(path)
        text = json.dumps(self.fingerprint.as_json(), indent=1, ensure_ascii=False)
        try:
            replace(path, text.encode("utf-8", "surrogatepass"))
        except OSError as error:
            msg = (
                f"{path} cannot be written: {error}. Pass a file name in a folder that "
                'exists: .save("tokenizer.fingerprint.json").'
            )
            raise BadValueError(msg) from error
        return path

    def _summarise(self) -> Told:
        kept = self.fingerprint
        head = f"Fingerprint of {kept.kind} ({kept.backend}): {kept.digest[:SHORT]}"
        lines = tuple(
            Line("", name, f"{part_words(name, part)}  {part.digest[:SHORT]}")
            for name, part in kept.parts.items()
        )
        return Told(head, (*trained_line(kept, self.trained), *self._changed(), *lines))

    def _changed(self) -> tuple[Line, ...]:
        """Return the line about changes on the way, the last few of them."""
        if not self.changes:
            return ()
        told = [f"step {step}: {parts}" for step, parts in self.changes[-SHOWN:]]
        words = f"{count(len(self.changes), 'time')} in the run; {told[0]}"
        mark = "≠" if any(parts != SIDES for _, parts in self.changes) else ""
        return (Line(mark, "changed", words, tuple(told[1:])),)

    def _table(self, summary: Told) -> Rows:
        parts = self.fingerprint.parts
        return [
            {
                "part": name,
                "says": part_words(name, parts[name]) if name in parts else "",
                "size": parts[name].size if name in parts else 0,
                "digest": parts[name].digest if name in parts else "",
            }
            for name in PARTS
        ]
