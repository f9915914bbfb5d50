"""What is known of the machine and of what is installed on it."""

from dataclasses import dataclass
from typing import Literal

Health = Literal["fails", "noted", "works", "not checked"]

PARTS = ("versions", "device", "computing", "machine", "environment")
"""What a diagnosis looks at, in this order."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at.

    Attributes
    ----------
    part
        One of `PARTS`.
    what
        In lower-case words: ``"4-bit layers"``.
    health
        ``"noted"`` is right or wrong depending on what is meant.
    says
        What was seen, with numbers.
    fix
        What to do, of what fails or is noted.
    source
        An issue or a release note, of a combination of versions.
    """

    part: str
    what: str
    health: Health
    says: str
    fix: str = ""
    source: str = ""
