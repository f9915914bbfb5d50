"""What a fault's file says of it, taken apart: symptom, cause, fix and source.

A fault's docstring says in its paragraphs what happens and why; ``Fix:`` and
``Source:`` begin its last lines. The symptom, as a user words it, is its title.
"""

import re
import textwrap
from dataclasses import dataclass

_LABELLED = re.compile(r"^(Fix|Source): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FaultPage:
    """The parts of a page.

    Attributes
    ----------
    symptom
        What the user sees.
    cause
        What is wrong, in paragraphs.
    fix
        What to do.
    source
        Where it was seen.
    """

    symptom: str
    cause: str
    fix: str
    source: str

    @classmethod
    def of(cls, title: str, docstring: str) -> "FaultPage":
        r"""Take a docstring apart.

        Examples
        --------
        >>> from ftlab.faults.page import FaultPage
        >>> page = FaultPage.of("it is flat", "B is frozen.\n\nFix: thaw it.")
        >>> page.cause, page.fix
        ('B is frozen.', 'thaw it.')
        """
        cause, *labelled = _LABELLED.split(docstring)
        named = dict(zip(labelled[::2], map(_one_line, labelled[1::2]), strict=True))
        fix, source = named.get("Fix", ""), named.get("Source", "")
        return cls(title, cause.strip(), fix, source)

    def text(self, head: str) -> str:
        """Return the page as text for a terminal."""
        lines = [head]
        for label, said in self._parts():
            wrapped = [textwrap.fill(each, 79) for each in said.split("\n\n")]
            body = textwrap.indent("\n\n".join(wrapped), " " * 9)
            lines.append(f"{label + ':':<8} {body.lstrip()}")
        return "\n".join(lines)

    def markdown(self, head: str) -> str:
        """Return the page as Markdown."""
        return "\n\n".join(
            [f"### {head}", *(f"**{label}.** {said}" for label, said in self._parts())]
        )

    def _parts(self) -> list[tuple[str, str]]:
        parts = [
            ("Symptom", self.symptom),
            ("Cause", self.cause),
            ("Fix", self.fix),
            ("Source", self.source),
        ]
        return [(label, said) for label, said in parts if said]


def _one_line(text: str) -> str:
    return " ".join(text.split())
