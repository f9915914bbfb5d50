"""What one forward shows of a model: range through depth, and faults of its parts."""

from dataclasses import dataclass
from typing import Literal

PartSeverity = Literal["error", "warning", "info"]
_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class BlockActivations:
    """What one block returns, over the batch's tokens that are no padding.

    Attributes
    ----------
    place
        The block's, as every architecture would name it.
    rms, std, largest
        Root of the mean square, standard deviation, and largest magnitude.
    outliers
        Share of the values beyond 6 standard deviations.
    growth
        RMS over that of the block before.
    alike
        Share of the energy that all tokens have in common.
    units
        Of its MLP behind the activation; 0 where none was seen.
    dead, saturated
        Share of them that are off, or at a bound, for every token; NaN where there are
        no such units.
    entropy
        Of the attention, averaged over heads and tokens, over that of an even one; NaN
        where it was not seen.
    """

    place: str
    rms: float
    std: float
    largest: float
    outliers: float
    growth: float = _NAN
    alike: float = _NAN
    units: int = 0
    dead: float = _NAN
    saturated: float = _NAN
    entropy: float = _NAN


@dataclass(frozen=True, slots=True)
class PartFault:
    """What is wrong with a part of a model.

    Attributes
    ----------
    component
        What kind of part it is, or ``"initialisation"``.
    places
        Paths of the modules or parameters that have it.
    said
        What was measured, and what it must be.
    fix
        What to do.
    severity
        An ``"info"`` is no fault: the part only differs from what was expected.
    """

    component: str
    places: tuple[str, ...]
    said: str
    fix: str = ""
    severity: PartSeverity = "error"


@dataclass(frozen=True, slots=True)
class ParameterStart:
    """The values of a parameter beside those that its class prescribes at the start.

    Attributes
    ----------
    std, mean
        Of its values.
    prescribed
        Standard deviation that its class prescribes; 0 where that is a constant, NaN
        where it is not known.
    untrained
        Whether its values are drawn independently, as none are after some training.
    """

    name: str
    std: float
    mean: float
    prescribed: float = _NAN
    untrained: bool = False


@dataclass(frozen=True, slots=True)
class ActivationLook:
    """All of one look.

    Attributes
    ----------
    tokens
        Of the batch that are no padding.
    parts
        Modules that a check of a component was run on, by component.
    unchecked
        What could not be decided, and why.
    """

    model: str
    tokens: int
    blocks: tuple[BlockActivations, ...]
    faults: tuple[PartFault, ...] = ()
    parameters: tuple[ParameterStart, ...] = ()
    parts: tuple[tuple[str, int], ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(each.severity == "info" for each in self.faults)
