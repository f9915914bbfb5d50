"""What a checklist says: one item per check, in seven layers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from ftlab.records.finding import Place, Severity

Layer = Literal[
    "data",
    "model",
    "optimizer",
    "device",
    "numerics",
    "logging",
    "rollback",
]
LAYERS: tuple[Layer, ...] = get_args(Layer)
"""The layers of a fine-tune, in the order in which a fault of one hides the next."""

Status = Literal["passed", "failed", "not checked"]
STATUSES: tuple[Status, ...] = ("failed", "not checked", "passed")
"""How an item can end, what to look at first in front."""


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One check and how it ended.

    Attributes
    ----------
    name
        What is checked, in lower-case words: ``"labels within the vocabulary"``.
    says
        One line with numbers: what was seen, or what could not be.
    evidence
        What was measured, by name.
    cause, fix
        Of a failed item. ``fix`` of one that was not checked says what to hand over or
        to record. One that passed and has a fix is noted: right or wrong depends on
        what comes next, which nobody can check now.
    code
        The rule behind it, ``""`` where there is none.
    places
        Where a failed item stands, the place to look at first in front.
    severity
        How bad a failed item is.

    Examples
    --------
    >>> from ftlab.records.checklist import CheckItem
    >>> CheckItem("data", "labels", "passed", "48 of 64 labels are trained on").label
    'passed'
    >>> CheckItem("data", "labels", "maybe", "")
    Traceback (most recent call last):
    ...
    ValueError: A check cannot end as 'maybe'; it is failed, not checked or passed.
    """

    layer: Layer
    name: str
    status: Status
    says: str
    evidence: Mapping[str, float | int | str] = field(default_factory=dict)
    cause: str = ""
    fix: str = ""
    code: str = ""
    places: tuple[Place, ...] = ()
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            msg = (
                f"A check cannot end as {self.status!r}; "
                "it is failed, not checked or passed."
            )
            raise ValueError(msg)

    @property
    def noted(self) -> bool:
        """Whether it passed, and is worth a look all the same."""
        return self.status == "passed" and bool(self.fix)

    @property
    def label(self) -> str:
        """The status, and of a failed item how bad it is."""
        return self.severity.label if self.status == "failed" else self.status


def in_order(items: Iterable[CheckItem]) -> tuple[CheckItem, ...]:
    """Sort items by layer, and within one by what to look at first."""
    return tuple(
        sorted(
            items,
            key=lambda item: (
                LAYERS.index(item.layer),
                STATUSES.index(item.status),
                not item.noted,
                -item.severity,
            ),
        )
    )
