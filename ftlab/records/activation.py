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
        The block's; ``"input"`` for what the first one is given.
    outliers
        Share of the values beyond 6 standard deviations.
    growth
        RMS over that of the block before.
    alike
        Share of the energy that all tokens have in common.
    units, dead, saturated
        Of its MLP behind the activation; the share that is off, or at a bound, for
        every token.
    entropy
        Of the attention, over that of an even one, averaged over heads and tokens.
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
    """What is wrong with modules or parameters; an ``"info"`` is no fault."""

    component: str
    places: tuple[str, ...]
    said: str
    fix: str = ""
    severity: PartSeverity = "error"


@dataclass(frozen=True, slots=True)
class ParameterStart:
    """A parameter's values, the std that its class draws, and whether it is untrained.

    ``prescribed`` is 0 where the class has a constant, NaN where that is not known.
    """

    name: str
    std: float
    mean: float
    prescribed: float = _NAN
    untrained: bool = False


@dataclass(frozen=True, slots=True)
class ActivationLook:
    """All of one look; ``parts`` counts modules that a check was run on."""

    model: str
    tokens: int
    blocks: tuple[BlockActivations, ...]
    faults: tuple[PartFault, ...] = ()
    parameters: tuple[ParameterStart, ...] = ()
    parts: tuple[tuple[str, int], ...] = ()
    unchecked: tuple[str, ...] = ()
