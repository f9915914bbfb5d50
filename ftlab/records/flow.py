"""How the gradient of a loss flows through a model."""

from dataclasses import dataclass
from typing import Literal

StopKind = Literal[
    "no_grad",
    "detach",
    "data",
    "python",
    "integer",
    "new tensor",
    "checkpoint",
    "function",
    "operation",
]
"""What stops a gradient: gradients are off, ``detach``, ``.data``, values that leave
torch (``item``, ``numpy``), indices and integers, a new tensor made of the values, a
reentrant checkpoint none of whose inputs requires a gradient, a custom function, or any
other operation without a derivative."""


@dataclass(frozen=True, slots=True)
class FlowStop:
    """A place at which values go on to the loss and no gradient comes back.

    Attributes
    ----------
    kind
        What stops it.
    op
        The operation: ``"Tensor.detach"``.
    line, library_line
        Source lines: the user's own, ``""`` where it has none, and the innermost
        outside torch.
    modules
        Paths of the modules in which it runs, ``""`` for the model itself or none.
    blocks
        Those blocks of the model that the modules are in.
    parameters
        Trained parameters that no gradient reaches because of it; of one that is no
        cut, those behind it, which are reached by other ways.
    """

    kind: StopKind
    op: str
    line: str
    library_line: str
    modules: tuple[str, ...]
    blocks: tuple[str, ...]
    parameters: tuple[str, ...]

    @property
    def where(self) -> str:
        """The line that says most: the innermost, and the user's if it is another."""
        if not self.line or self.line == self.library_line:
            return self.library_line or "a line that is not known"
        return f"{self.library_line}, called from {self.line}"


@dataclass(frozen=True, slots=True)
class FlowZero:
    """Parameters to which a gradient comes that is exactly 0, or none although asked.

    Attributes
    ----------
    op, line, module
        The operation whose backward gets a gradient and hands on zeros, where known.
    parameters
        Their names.
    zeros
        Name of a trained parameter that follows, which is still zero and gets a
        gradient, where that is the reason.
    none
        Whether backward hands on no gradient at all.
    """

    op: str
    line: str
    module: str
    parameters: tuple[str, ...]
    zeros: str = ""
    none: bool = False


@dataclass(frozen=True, slots=True)
class FlowBlock:
    """One block of the model, or a module outside of all blocks.

    Attributes
    ----------
    name
        Its path, as short as tells it apart.
    trained, reached
        Trained parameters that it holds, and those that a gradient reaches.
    arrives
        L2 norm of the gradient that arrives at what it puts out; NaN where unknown.
    parameters
        L2 norm of the gradients of its own parameters.
    names
        Its trained parameters.
    """

    name: str
    trained: int
    reached: int
    arrives: float
    parameters: float
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """Gradient that one block hands back to another.

    Attributes
    ----------
    source, target
        Names of blocks; the source is nearer to the loss.
    norm
        L2 norm of what is handed on.
    """

    source: str
    target: str
    norm: float


@dataclass(frozen=True, slots=True)
class Flow:
    """The flow of one loss.

    Attributes
    ----------
    loss
        Its value.
    trained
        Number of trained parameters (tensors) of the model.
    blocks
        From the loss to the input.
    edges
        Between blocks.
    cuts
        What keeps gradients from parameters.
    sides
        Stops that keep a gradient from no parameter: all are reached by other ways.
    zeros
        Gradients that are exactly 0 or that backward does not hand on.
    unused
        Trained parameters on which the loss does not depend.
    unexplained
        Trained parameters without a gradient whose way is not known.
    failed
        What backward raised; empty where it came through.
    notes
        What could not be seen, and why.
    """

    loss: float
    trained: int
    blocks: tuple[FlowBlock, ...] = ()
    edges: tuple[FlowEdge, ...] = ()
    cuts: tuple[FlowStop, ...] = ()
    sides: tuple[FlowStop, ...] = ()
    zeros: tuple[FlowZero, ...] = ()
    unused: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    failed: str = ""
    notes: tuple[str, ...] = ()

    @property
    def reached(self) -> int:
        """How many trained parameters a gradient reaches."""
        return sum(each.reached for each in self.blocks)

    @property
    def ok(self) -> bool:
        """Whether something is reached, nothing cut off, and no zero lacks a reason."""
        lost = [each for each in self.zeros if not each.zeros]
        wrong = self.cuts or self.unexplained or lost or self.failed
        return self.reached > 0 and not wrong
