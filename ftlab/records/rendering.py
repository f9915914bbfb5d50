"""A conversation that a chat template has rendered, or has refused to."""

from dataclasses import dataclass
from typing import Literal

RefusalKind = Literal[
    "raised",
    "syntax",
    "undefined",
    "forbidden",
    "failed",
    "time",
    "memory",
    "size",
    "recursion",
    "input",
    "no template",
    "worker",
    "turns",
]
"""What stopped a rendering: the template's own ``raise_exception``, its syntax, a name
that it needs, something out of its reach, another error, a limit, what it was given,
that there is none, the process that renders, or that what it writes holds no turns."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a conversation was not rendered.

    Attributes
    ----------
    kind
        For code that tells them apart.
    words
        A sentence about the template, without a full stop: ``'raised "no system
        messages"'``, ``"ran longer than 2 s and was stopped"``.

    Examples
    --------
    >>> from ftlab.records.rendering import Refusal
    >>> print(Refusal("syntax", "syntax error at line 3: unexpected '}'"))
    the template could not be rendered: syntax error at line 3: unexpected '}'
    """

    kind: RefusalKind
    words: str

    def __str__(self) -> str:
        if self.kind == "turns":
            return f"nobody can tell who speaks: the template {self.words}"
        return f"the template could not be rendered: {self.words}"


@dataclass(frozen=True, slots=True)
class RenderedText:
    """One conversation, as the template writes it.

    Attributes
    ----------
    text
        All of it.
    generation
        What stands between ``{% generation %}`` and ``{% endgeneration %}``, as pairs
        of characters.
    """

    text: str
    generation: tuple[tuple[int, int], ...] = ()
