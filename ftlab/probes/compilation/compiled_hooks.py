"""When hooks may be put on or taken off, where graphs were made that look at them.

By default Dynamo makes a new graph where it looks at hooks and they have changed, eight
times at most. Under ``torch.compiler.set_stance("fail_on_recompile")``, or with
``skip_guard_eval_unsafe``, it raises in the user's training instead.
"""

from typing import ClassVar

import torch

from ftlab.probes.dynamo_private import graphs_look_at, graphs_made, refuses_to_compile
from ftlab.probes.taps.forward import innermost
from ftlab.records.handle import HandleStack

OPTIMIZER = "_global_optimizer_"
"""Begins the names of torch's own hooks on optimizer steps."""

MODULE = ("_forward_pre_hooks", "_forward_hooks")
"""Where a module keeps its hooks."""

ASIDE = (
    "ftlab does not watch this training: torch.compiler's stance refuses to compile "
    "anything anew, an optimizer's step is compiled already, and its next call would "
    "raise because of ftlab's hooks. Call ftlab.watch before the first compiled step, "
    "or set_stance() after the first steps that are watched."
)


def in_a_graph(model: torch.nn.Module) -> bool:
    """Tell whether a graph was made across modules with hooks, of this model's class.

    A compiled function of the user's has the hooks of the model in its graph. More of
    them would change it.
    """
    return graphs_look_at(*MODULE, at=type(innermost(model)))


class HooksInGraphs(HandleStack):
    """The hooks of a watch, which stay on where taking them off would raise.

    That is so where a graph was made while they were on. What is left is taken off
    with the next ones, whoever's they are.
    """

    _left: ClassVar[list["HooksInGraphs"]] = []

    def __init__(self) -> None:
        super().__init__()
        self._before = graphs_made()

    def remove(self) -> None:
        """Take them off, if that is possible now."""
        if self._in_use():
            self._left.append(self)
        else:
            super().remove()

    @classmethod
    def take_off_what_is_left(cls) -> None:
        """Try again, where something was left."""
        left = cls._left[:]
        cls._left.clear()
        for each in left:
            each.remove()

    def _in_use(self) -> bool:
        changed = refuses_to_compile() and graphs_made() != self._before
        return changed and graphs_look_at(OPTIMIZER, *MODULE)


def may_attach() -> bool:
    """Tell whether the hooks of a watch may be put on now."""
    return not (refuses_to_compile() and graphs_look_at(OPTIMIZER))
