"""What was let go of, and what is still held."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StillHeld:
    """A storage that something else holds.

    Attributes
    ----------
    path
        Who, as one would write it in Python.
    name
        What it was in the model.
    bytes
        Its size.
    """

    path: str
    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Released:
    """What releasing a model has done.

    Attributes
    ----------
    model
        Its class.
    bytes, freed
        Of its storages, gradients and optimizer state, before, and of those, gone.
    before, after
        What the allocator counted: on CUDA of the device, else of the C library.
    done
        What else was let go of, and how many.
    held
        What is left, and by whom, the largest first.
    """

    model: str
    bytes: int
    freed: int
    before: float
    after: float
    done: tuple[str, ...]
    held: tuple[StillHeld, ...]
