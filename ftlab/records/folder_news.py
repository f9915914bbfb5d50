"""What a run has told of folders that hold a tokenizer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ftlab.records.tokenizer_files import Agreement

Matter = Literal["read", "changed", "saved", "read back"]


@dataclass(frozen=True, slots=True)
class FolderNews:
    """One thing that was seen of a folder; the detail of an event.

    Attributes
    ----------
    matter
        ``"read"``: the files that the run's tokenizer was loaded from were compared.
        ``"changed"``: they are no longer what they were when it began. ``"saved"``:
        another tokenizer than the run's was saved. ``"read back"``: what the run saved
        was loaded again.
    folder
        Its name.
    files
        Those that changed.
    parts
        Of the fingerprint, in which what is loaded from the folder differs from the
        run's tokenizer; where files changed, those that they can have changed.
    agreements
        What the files agree on, and what they do not.

    Examples
    --------
    >>> from ftlab.records.folder_news import FolderNews
    >>> told = FolderNews("saved", "checkpoint-2", parts=("vocabulary",))
    >>> FolderNews.from_json(told.as_json()) == told
    True
    """

    matter: Matter
    folder: str
    files: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    agreements: tuple[Agreement, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {
            "matter": self.matter,
            "folder": self.folder,
            "files": list(self.files),
            "parts": list(self.parts),
            "agreements": [each.as_json() for each in self.agreements],
        }

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "FolderNews":
        """Make it of what `as_json` gave."""
        return cls(
            read["matter"],
            str(read["folder"]),
            tuple(map(str, read["files"])),
            tuple(map(str, read["parts"])),
            tuple(map(Agreement.from_json, read["agreements"])),
        )
