"""What line charts show: panels, their series, and the values of these."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["line", "plan", "dots", "mark", "low", "high"]


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a panel.

    Attributes
    ----------
    row
        The row of the summary that it draws.
    kind
        ``line``, ``plan`` (wide and pale, to lie below a line), ``dots`` (rare
        measurements), ``mark`` (a tick where the value is above 0), ``low`` and
        ``high`` (together a shaded band).
    """

    row: str
    label: str
    colour: str
    kind: Kind = "line"


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: some series on one axis."""

    title: str
    series: tuple[Series, ...]
    log: bool = False
    unit: str = ""
    floor: float | None = None
    """The axis reaches down to it at least."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a lines view draws.

    Attributes
    ----------
    rows
        Row name to the way in which several steps become one column.
    compact
        Small panels side by side on one range, with one key for all.
    stride
        Steps from one measurement to the next.
    """

    rows: Mapping[str, str]
    panels: tuple[Panel, ...]
    compact: bool = False
    stride: int = 1
    minimum: int = 260
    """Narrowest width of a panel in pixels."""


@dataclass(frozen=True, slots=True)
class LinesSummary:
    """Series by column, and a remark per panel.

    Attributes
    ----------
    values
        Float32 of shape ``(columns, rows)``, NaN where nothing was recorded.
    notes
        One per panel, then remarks on the whole.
    data
        What the table holds, exact and by step.
    """

    plan: Plan
    first_steps: NDArray[np.int64]
    stride: int
    values: NDArray[np.float32]
    notes: tuple[str, ...]
    data: Mapping[str, Any] = field(default_factory=dict)

    def row(self, name: str) -> NDArray[np.float32]:
        """Return one series."""
        return self.values[:, list(self.plan.rows).index(name)]


def front_end_panels(plan: Plan) -> list[dict[str, Any]]:
    """Describe the panels to the front end, rows by number."""
    at = {name: index for index, name in enumerate(plan.rows)}
    panels = []
    for panel in plan.panels:
        described = asdict(panel)
        for series in described["series"]:
            series["row"] = at[series["row"]]
        panels.append(described)
    return panels
