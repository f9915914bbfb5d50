"""What the files of a tokenizer say, and what is read of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["agrees", "noted", "differs", "fails", "not checked"]


@dataclass(frozen=True, slots=True)
class FileState:
    """One file of a folder.

    Attributes
    ----------
    name
        Its name in the folder.
    size
        Bytes; 0 where that cannot be told.
    problem
        Why it cannot be read, ``""`` if it can.
    revision
        The revision that it was taken from, where a download has left word of it.
    """

    name: str
    size: int = 0
    problem: str = ""
    revision: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether files agree on one subject.

    Attributes
    ----------
    subject
        What it is about, such as ``"eos_token"``.
    status
        ``"agrees"``, ``"noted"`` where it is well if it is meant so, ``"differs"``,
        ``"fails"`` where that breaks a run, or ``"not checked"``.
    words
        What was seen, in a sentence.
    says
        What each file says, by its name.
    reason
        What rules know a disagreement by, such as ``"template-hidden"``; ``""`` for
        what no rule is about.

    Examples
    --------
    >>> from ftlab.records.tokenizer_files import Agreement
    >>> told = Agreement("eos_token", "differs", "two say two", {"a.json": "</s>"})
    >>> Agreement.from_json(told.as_json()) == told
    True
    """

    subject: str
    status: Status
    words: str
    says: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        told = {"subject": self.subject, "status": self.status, "words": self.words}
        return told | {"says": dict(self.says), "reason": self.reason}

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "Agreement":
        """Make it of what `as_json` gave."""
        says = {str(file): str(text) for file, text in read["says"].items()}
        told = str(read["subject"]), read["status"], str(read["words"])
        return cls(*told, says, str(read["reason"]))


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """The files of a tokenizer's folder.

    Attributes
    ----------
    folder
        Its name.
    files
        The files that were looked at.
    agreements
        What they were compared in.

    Examples
    --------
    >>> from ftlab.records.tokenizer_files import Agreement, TokenizerFiles
    >>> told = Agreement("eos_token", "differs", "two files say two things")
    >>> TokenizerFiles("mine", (), (told,)).ok
    False
    """

    folder: str
    files: tuple[FileState, ...]
    agreements: tuple[Agreement, ...]

    @property
    def ok(self) -> bool:
        """Whether all could be read, loaded and compared, and nothing disagrees."""
        return not self.problems and all(
            each.status in ("agrees", "noted") for each in self.agreements
        )

    @property
    def problems(self) -> tuple[FileState, ...]:
        """The files that cannot be read."""
        return tuple(each for each in self.files if each.problem)
