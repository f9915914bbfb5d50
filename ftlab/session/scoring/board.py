"""The score of the gallery: all grades, and what they add up to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ftlab.faults.fault import Fault, Healthy
from ftlab.faults.variation import Variation
from ftlab.rules.rule import Rule
from ftlab.session.scoring.grade import Grade, Quiet, grade, watch_healthy
from ftlab.session.scoring.text import HEAD, line

if TYPE_CHECKING:
    import pandas as pd

Tell = Callable[[Grade | Quiet], object]


@dataclass(frozen=True, slots=True)
class Score:
    """How well the rules did on the gallery.

    Attributes
    ----------
    grades
        One for each fault and seed.
    healthy
        One for each healthy run and seed.
    """

    grades: tuple[Grade, ...]
    healthy: tuple[Quiet, ...]

    @property
    def recall(self) -> float:
        """Share of the faults that were found."""
        return _share(each.found for each in self.grades)

    @property
    def cause_accuracy(self) -> float:
        """Share of the faults whose cause stands at the top of the report."""
        return _share(each.right_cause for each in self.grades)

    @property
    def location_accuracy(self) -> float:
        """Share of the faults whose first place is the right one."""
        return _share(each.right_place for each in self.grades)

    @property
    def location_anywhere(self) -> float:
        """Share of the faults of which a right place is among those named."""
        return _share(each.any_place for each in self.grades)

    @property
    def false_alarms(self) -> int:
        """Warnings and errors on twins and healthy runs."""
        twins = sum(len(each.twin) for each in self.grades)
        return twins + sum(len(each.alarms) for each in self.healthy)

    @property
    def precision(self) -> float:
        """Share of the faults found among those and everything said wrongly.

        What is said wrongly are the false alarms, and warnings of other rules in a
        run with a fault.
        """
        right = sum(each.found for each in self.grades)
        wrong = sum(len(each.wrong) for each in self.grades) + self.false_alarms
        return right / (right + wrong) if right + wrong else 1.0

    @property
    def perfect(self) -> bool:
        """Whether all is found, with cause and place, and nothing else is said."""
        right = all(each.right_cause and each.right_place for each in self.grades)
        return right and self.precision == 1.0

    def totals(self) -> dict[str, float]:
        """Return the sums by name."""
        return {
            "faults": len(self.grades),
            "recall": self.recall,
            "cause_accuracy": self.cause_accuracy,
            "location_accuracy": self.location_accuracy,
            "location_anywhere": self.location_anywhere,
            "precision": self.precision,
            "false_alarms": self.false_alarms,
            "healthy_runs": len(self.healthy) + len(self.grades),
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold."""
        return {
            "totals": self.totals(),
            "faults": [each.to_json() for each in self.grades],
            "healthy": [each.to_json() for each in self.healthy],
        }

    def table(self) -> "pd.DataFrame":
        """Return the grades as a table, one row for each fault and seed."""
        import pandas as pd

        return pd.DataFrame([each.to_json() for each in self.grades])

    @property
    def totals_text(self) -> str:
        """What all adds up to, in lines."""
        grades, runs = len(self.grades), len(self.healthy) + len(self.grades)
        return "\n".join(
            [
                f"recall            {self.recall:.1%} of {grades}",
                f"right cause       {self.cause_accuracy:.1%}",
                f"right place       {self.location_accuracy:.1%} first, "
                f"{self.location_anywhere:.1%} among those named",
                f"precision         {self.precision:.1%}",
                f"false alarms      {self.false_alarms} on {runs} healthy runs "
                f"({grades} of them twins)",
            ]
        )

    def __repr__(self) -> str:
        rows = [*map(line, self.grades), *map(line, self.healthy)]
        return "\n".join([HEAD, *rows, "", self.totals_text])


def score(
    faults: Iterable[Fault],
    healthy: Iterable[Healthy],
    *,
    rules: Sequence[Rule] | None = None,
    variations: Sequence[Variation],
    budget: float | None = None,
    tell: Tell | None = None,
) -> Score:
    """Run faults and healthy cases in each variation; ``tell`` hears of each one."""
    tell = tell or (lambda _: None)
    healthy = tuple(healthy)
    grades: list[Grade] = []
    quiet: list[Quiet] = []
    for fault in faults:
        for variation in variations:
            grades.append(grade(fault, rules=rules, variation=variation, budget=budget))
            tell(grades[-1])
    for run in healthy:
        for variation in variations:
            quiet.append(
                watch_healthy(run, rules=rules, variation=variation, budget=budget)
            )
            tell(quiet[-1])
    return Score(tuple(grades), tuple(quiet))


def _share(values: Iterable[bool]) -> float:
    counted = list(values)
    return sum(counted) / len(counted) if counted else 1.0
