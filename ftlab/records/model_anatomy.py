"""What a model is made of, module by module, and what a Trainer sees of it."""

from dataclasses import dataclass, field
from typing import Literal

SeenState = Literal["fails", "costs", "noted", "works", "not checked"]


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that somebody has hung on a module or on one of its parameters.

    Attributes
    ----------
    kind
        When it is called, such as ``"forward hook"``.
    function, at
        What it is called, and the file and line where it begins.
    by
        The package that it comes from.
    """

    kind: str
    function: str
    at: str
    by: str


@dataclass(frozen=True, slots=True)
class Tie:
    """A parameter that other modules have as well: its name here, and the others."""

    name: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """One module.

    Attributes
    ----------
    path
        As ``named_modules`` has it, ``""`` for the model.
    kind
        Its class.
    own
        Elements of its own parameters, those packed into few bits counted as weights.
    parameters, trainable, bytes
        With all that is below; a tensor with several names is counted once. Bytes are
        those of parameters and buffers, with the scales of few bits.
    dtypes, devices
        Of its own parameters and buffers, most elements first.
    stored
        Bytes of all that is below by how it is stored, such as ``"bfloat16"``.
    quantised
        How its weights are kept in few bits; empty where they are not.
    adapters
        Name, state and settings of each adapter on it.
    hooks
        What others have hung on it; what ftlab itself has is left out.
    ties
        Parameters that are other modules' too.
    checkpointed
        Whether it is computed again in backward, in words; empty where it is not.
    wraps
        What it is as a wrapper, in words; empty where it is none.
    left
        What it was to be and is not, such as ``"bfloat16, asked for in 4 bits"``.
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
    hooks: tuple[Hook, ...] = ()
    ties: tuple[Tie, ...] = ()
    checkpointed: str = ""
    wraps: str = ""
    left: str = ""
    same_as: str = ""
    children: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A wrapper, or several alike: the first one's path, class, and what it does."""

    path: str
    kind: str
    says: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that a Trainer decides by what it is given.

    Attributes
    ----------
    what
        What it is about, in a word or two.
    sees
        What it reads, and what comes out.
    means
        What follows from it.
    bytes
        What that costs: in memory, or on disk for each checkpoint.
    fix
        What to do.
    """

    state: SeenState
    what: str
    sees: str
    means: str = ""
    bytes: int = 0
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Unquantised:
    """A linear layer of a model that was to be in few bits, and is in floating point.

    Attributes
    ----------
    bits
        Asked for.
    bytes, predicted
        What its weight takes, and what it would in few bits, by the formula.
    measured
        The same from the bytes by weight of the layers that are in few bits; 0 where
        there is none.
    skipped
        Why, where the configuration says so; empty where it was asked for.
    """

    path: str
    dtype: str
    bits: int
    weights: int
    bytes: int
    predicted: int
    measured: int
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class ModelAnatomy:
    """A model.

    Attributes
    ----------
    modules
        The model first, each before what is within it.
    placed
        By device of ``hf_device_map``: the entries there, and their bytes.
    sizes
        Bytes that training takes, predicted: ``"weights"``, ``"gradients"``,
        ``"AdamW's two moments"``, ``"each checkpoint"``.
    versions
        Of what the Trainer's decisions were read in.
    """

    modules: tuple[ModuleFacts, ...]
    wrappers: tuple[Wrapper, ...] = ()
    seen: tuple[Seen, ...] = ()
    unquantised: tuple[Unquantised, ...] = ()
    placed: dict[str, tuple[tuple[str, ...], int]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    versions: str = ""


@dataclass(frozen=True, slots=True)
class TensorValues:
    """What is in one tensor, or why that cannot be said.

    Attributes
    ----------
    shape, dtype
        As it is kept; ``read_as`` says how its values were read.
    edges, counts
        The histogram of its finite values.
    """

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
    edges: tuple[float, float] = (0.0, 0.0)
    counts: tuple[int, ...] = ()
