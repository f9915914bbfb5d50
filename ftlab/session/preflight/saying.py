"""How a check says what it found: one item of a checklist, whichever way it ends."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ftlab.records.checklist import CheckItem, Layer
from ftlab.records.finding import Place, PlaceKind, Severity

Items = Iterator[CheckItem]


@dataclass(frozen=True, slots=True)
class Check:
    """One check of one layer: makes its item, whichever way it ends."""

    layer: Layer
    name: str

    def passed(self, says: str, **evidence: float | int | str) -> CheckItem:
        """Say what was seen."""
        return CheckItem(self.layer, self.name, "passed", says, _readable(evidence))

    def not_checked(self, why: str, fix: str) -> CheckItem:
        """Say what was missing, and what to hand over."""
        return CheckItem(self.layer, self.name, "not checked", why, fix=fix)

    def noted(self, fault: "Fault", **evidence: float | int | str) -> CheckItem:
        """Say what is well as long as it is meant so."""
        item = self.failed(fault, **evidence)
        return dataclasses.replace(item, status="passed", severity=Severity.INFO)

    def failed(self, fault: "Fault", **evidence: float | int | str) -> CheckItem:
        """Say what is wrong."""
        return CheckItem(
            layer=self.layer,
            name=self.name,
            status="failed",
            says=fault.says,
            evidence=_readable(evidence),
            cause=fault.cause,
            fix=fault.fix,
            code=fault.code,
            places=tuple(Place(kind, name) for kind, name in fault.places),
            severity=fault.severity,
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, why, what to do and where; ``code`` of a rule that tells more."""

    says: str
    cause: str
    fix: str
    places: Sequence[tuple[PlaceKind, str]] = field(default_factory=tuple)
    severity: Severity = Severity.ERROR
    code: str = ""


def _readable(
    evidence: Mapping[str, float | int | str],
) -> dict[str, float | int | str]:
    return {name.replace("_", " "): value for name, value in evidence.items()}
