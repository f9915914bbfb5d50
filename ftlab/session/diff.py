"""`ftlab.diff`: two executions that should be equal, and where they part."""

from collections.abc import Mapping
from typing import Any

import torch

from ftlab.executions.difference import compare
from ftlab.executions.pairs import BETWEEN, Pair, pair_between, side
from ftlab.records.errors import BadValueError
from ftlab.rules.words import an
from ftlab.views.executions.difference import DifferenceView


def diff(
    a: Any, b: Any = None, batch: Any = None, *, between: str | None = None
) -> DifferenceView:
    """Execute twice what should come out equal, and say where the two part.

    Both sides are asked, module by module and forward and backward, what they make of
    the same inputs in double precision: what differs there is computed otherwise, and
    not rounded otherwise. Weights, gradients, buffers, modes, hooks and random
    generators are afterwards as they were.

    Parameters
    ----------
    a, b
        Two models that are called with the same batch. Modules are paired by name, with
        what PEFT, DDP and `torch.compile` put before it left out.
    batch
        Keyword arguments of the models: ``next(iter(trainer.get_train_dataloader()))``.
        Gradients are compared where it has labels. With ``between`` it may stand
        second.
    between
        Compare one model under two settings: ``"adapter"`` (on and off),
        ``"attention"`` (in use, and plain), ``"checkpointing"`` (with and without),
        ``"dtype"`` (in use, and float32), ``"merge"`` (adapter merged, and not),
        ``"mode"`` (evaluation and training), ``"padding"`` (a row in its batch, and
        alone).

    Returns
    -------
    DifferenceView
        ``equal``, and ``born``: where the differences are born. ``table()`` has every
        tensor that both sides have, with its distance over the noise floor: what
        rounding alone moves it. Dropout drops nothing meanwhile.

    Raises
    ------
    BadValueError
        Something else was passed, or the setting does not apply to this model.

    Examples
    --------
    >>> import copy, torch, ftlab
    >>> class Model(torch.nn.Sequential):
    ...     def forward(self, x):
    ...         return super().forward(x)
    >>> one = Model(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    >>> other = copy.deepcopy(one)
    >>> ftlab.diff(one, other, {"x": torch.ones(2, 4)}).equal
    True
    >>> _ = other[2].weight.data.mul_(1.5)
    >>> found = ftlab.diff(one, other, {"x": torch.ones(2, 4)})
    >>> found.born[0].module, found.born[0].ops[0], found.born[0].weights
    ('2', 'linear', ('weight',))
    """
    if between is not None:
        batch = b if batch is None else batch
        pair = pair_between(_model(a, "model"), _batch(batch), between)
    else:
        given = _batch(batch)
        sides = (side(_model(a, "a"), given), side(_model(b, "b"), given))
        pair = Pair(*sides, names=("a", "b"))
    return DifferenceView(compare(pair))


def _model(given: Any, name: str) -> torch.nn.Module:
    model = getattr(given, "model", given) if not _is_module(given) else given
    if _is_module(model):
        return model
    if given is None and name == "b":
        ways = ", ".join(f'"{each}"' for each in sorted(BETWEEN))
        msg = (
            "diff(a) has one model: pass another to compare it with, "
            "diff(a, b, batch), or what to compare it between, "
            f"diff(model, batch, between=...): one of {ways}."
        )
        raise BadValueError(msg)
    msg = (
        f"{name} is {an(type(given).__name__)}; it must be a torch.nn.Module, or a "
        "trainer that has one: diff(model, other, batch)."
    )
    raise BadValueError(msg)


def _is_module(given: Any) -> bool:
    return isinstance(given, torch.nn.Module)


def _batch(given: Any) -> Mapping[str, Any]:
    if isinstance(given, Mapping) or hasattr(given, "keys"):
        keys = list(given.keys())  # a BatchEncoding is no Mapping
        return {str(key): given[key] for key in keys}
    msg = (
        f"batch is {an(type(given).__name__)}; it must be a dictionary of what the "
        "model is called with: "
        "diff(a, b, next(iter(trainer.get_train_dataloader())))."
    )
    raise BadValueError(msg)
