"""What a model is made of, module by module, and what a Trainer sees of it."""

from dataclasses import dataclass, field
from typing import Literal

SeenState = Literal["fails", "costs", "not checked", "noted", "works"]


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """One module.

    Attributes
    ----------
    path, kind
        As ``named_modules`` has it, ``""`` for the model; its class.
    own
        Elements of its own parameters, those packed into few bits counted as weights.
    parameters, trainable, bytes
        With all that is below, a tensor with several names once. Bytes are those of
        parameters and buffers, with the scales of few bits.
    dtypes, devices
        Of its own parameters and buffers, most elements first.
    stored
        Bytes of all that is below by how it is stored, such as ``"bfloat16"``.
    quantised, adapters, hooks, ties, checkpointed, wraps
        In words; empty where there is nothing to say.
    left
        What it was to be and is not, such as ``"bfloat16: asked for in 4 bits"``.
    same_as
        Path at which the same module stands already: it is listed once.
    children
        Names and indices of the modules within it.
    """

    path: str
    kind: str
    own: int = 0
    parameters: int = 0
    trainable: int = 0
    bytes: int = 0
    dtypes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    stored: tuple[tuple[str, int], ...] = ()
    quantised: str = ""
    adapters: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()
    checkpointed: str = ""
    wraps: str = ""
    left: str = ""
    same_as: str = ""
    children: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that a Trainer decides by what it ``sees``, and what that ``means``.

    It costs so many bytes, in memory or in each checkpoint, and ``fix`` mends it.
    """

    state: SeenState
    what: str
    sees: str
    means: str = ""
    bytes: int = 0
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Unquantised:
    """A linear layer in floating point, of a model that was to be in few bits.

    It would take so many bytes, ``predicted`` by the formula and ``measured`` by those
    of each weight in the layers that are in few bits (0 where there is none). The entry
    of the configuration by which it is ``skipped`` is empty where it was asked for.
    """

    path: str
    dtype: str
    bits: int
    bytes: int
    predicted: int
    measured: int
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class ModelAnatomy:
    """A model.

    The model is the first of its modules. ``placed`` has the entries of
    ``hf_device_map`` by device, and their bytes; ``sizes`` what training takes.
    """

    modules: tuple[ModuleFacts, ...]
    seen: tuple[Seen, ...] = ()
    unquantised: tuple[Unquantised, ...] = ()
    placed: dict[str, tuple[tuple[str, ...], int]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    versions: str = ""


@dataclass(frozen=True, slots=True)
class TensorValues:
    """What is in one tensor; ``counts`` are its histogram, from ``low`` to ``high``."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    read_as: str = ""
    missing: str = ""
    mean: float = float("nan")
    std: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    zeros: float = float("nan")
    non_finite: int = 0
    counts: tuple[int, ...] = ()
