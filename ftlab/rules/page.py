"""A rule's page: the docstring of its file, as text and as Markdown."""

import inspect
import re
import sys
import textwrap
from dataclasses import dataclass

from ftlab.rules.registry import find_rule
from ftlab.rules.rule import Rule, Status

SECTIONS = (
    "What it does",
    "Why is this bad?",
    "Evidence",
    "What to try",
    "Known problems",
    "Known myths",
    "References",
)
"""The sections of pages, in this order and spelling."""

OPTIONAL = frozenset({"Known myths"})
"""Sections that a page may lack: folklore that did not hold when it was measured."""

_WIDTH = 79


@dataclass(frozen=True, slots=True, repr=False)
class RulePage:
    """What ftlab knows about one fault.

    Attributes
    ----------
    sections
        Text by heading; see `SECTIONS`.
    needs
        What a run must hold for the rule to decide, in words.

    Examples
    --------
    >>> from ftlab.rules.page import explain
    >>> explain("NUM001")
    NUM001 non-finite-loss (stable, since 0.1.0)...
    """

    code: str
    name: str
    area: str
    status: Status
    since: str
    sections: dict[str, str]
    needs: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The first sentence of what the rule does."""
        words = " ".join(self.sections.get("What it does", "").split())
        return words.split(". ")[0].rstrip(".")

    @property
    def title(self) -> str:
        """Code and name with status and version."""
        return f"{self.code} {self.name} ({self.status}, since {self.since})"

    def __repr__(self) -> str:
        parts = [self.title, "=" * len(self.title)]
        for heading, text in self.sections.items():
            parts += ["", heading, "-" * len(heading), text]
        return "\n".join([*parts, "", *self._needs_lines()])

    def _repr_markdown_(self) -> str:
        parts = [f"# {self.title}"]
        for heading, text in self.sections.items():
            parts += ["", f"## {heading}", "", text]
        return "\n".join([*parts, "", *self._needs_lines()])

    def _needs_lines(self) -> list[str]:
        return textwrap.wrap(f"Needs: {'; '.join(self.needs)}.", _WIDTH)


def page_of(rule: Rule) -> RulePage:
    """Make the page of a rule from its file's docstring."""
    module = sys.modules[type(rule).__module__]
    return RulePage(
        code=rule.code,
        name=rule.name,
        area=module.__name__.split(".")[-2],
        status=rule.status,
        since=rule.since,
        sections=parse_sections(inspect.getdoc(module) or ""),
        needs=tuple(need.what for need in rule.needs),
    )


def parse_sections(text: str) -> dict[str, str]:
    """Split a docstring at its ``## heading`` lines; what precedes them is dropped."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    headings, bodies = parts[1::2], parts[2::2]
    return {
        heading.strip(): body.strip()
        for heading, body in zip(headings, bodies, strict=True)
    }


def explain(code_or_name: str) -> RulePage:
    """Return the page of a rule: symptom, reason, evidence, what to try.

    Parameters
    ----------
    code_or_name
        ``"GRD001"`` or ``"vanishing-gradient"``.

    Examples
    --------
    >>> from ftlab.rules.page import explain
    >>> explain("vanishing-gradient").code
    'GRD001'
    """
    return page_of(find_rule(code_or_name))
