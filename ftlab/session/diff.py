"""`ftlab.diff`: two executions that should be equal, and where they part."""

from pathlib import Path
from typing import Any

from ftlab.executions.between import differences_between
from ftlab.executions.captures import FILE, read_capture
from ftlab.executions.difference import compare
from ftlab.executions.pairs import Pair
from ftlab.replay.snapshots.folder import MANIFEST
from ftlab.replay.snapshots.load import Stored
from ftlab.session.debugging.snapshot_steps import step_beside
from ftlab.session.given_models import batch_of, model_of, side_of
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
        Two models that are called with the same batch, functions ``f(batch)`` that run
        one each, trainers, or folders of checkpoints. Modules are paired by name, with
        what PEFT, DDP and `torch.compile` put before it left out. In the place of ``a``
        the folder of a `ftlab.capture` may stand, which has its batch, or that of a
        snapshot of the debugger: the step as it was, beside the same step now.
    batch
        Keyword arguments of the models: ``next(iter(trainer.get_train_dataloader()))``.
        Gradients are compared where it has labels. With ``between`` it may stand
        second.
    between
        Compare one model under two settings: ``"adapter"`` (on and off),
        ``"attention"`` (in use, and plain), ``"cache"`` (a row at once, and token by
        token), ``"checkpointing"`` (with and without), ``"compile"`` (compiled, and
        eager; takes a minute), ``"dtype"`` (in use, and float32), ``"merge"`` (adapter
        merged, and not), ``"mode"`` (evaluation and training), ``"packing"`` (a
        document packed, and alone), ``"padding"`` (a row in its batch, and alone).

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
        model = model_of(a, "model")
        return DifferenceView(differences_between(model, batch_of(batch), between))
    if isinstance(a, str | Path) and (Path(a) / FILE).is_file():
        captured = read_capture(Path(a))
        given = captured.batch if batch is None else batch_of(batch)
        pair = Pair(captured, side_of(b, "b", given), (captured.name, "the model"))
    elif isinstance(a, str | Path) and (Path(a) / MANIFEST).is_file():
        pair = step_beside(Stored(Path(a)), model_of(b, "b"))
    else:
        given = batch_of(batch)
        sides = (side_of(a, "a", given), side_of(b, "b", given))
        pair = Pair(*sides, names=("a", "b"))
    return DifferenceView(compare(pair))
