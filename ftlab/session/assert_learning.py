"""`ftlab.assert_learning`: fail when a parameter that should learn does not."""

from collections.abc import Iterable
from typing import Any

import torch

from ftlab.probes.model.model_facts import is_compiled
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.probes.tensors.liveness import optimizers_of
from ftlab.records.errors import BadValueError
from ftlab.session.learning import Learning, forget


def assert_learning(model: Any, optimizer: Any = None) -> Learning:
    """Fail when a trainable parameter has not been updated by the last step.

    Call it once per step, at any place of the loop, or put it around a step with
    ``with``. It compares the bits of the parameters, so it holds for compiled models,
    optimizers and steps too, and changes nothing.

    Parameters
    ----------
    model
        The model that is trained; wrapped, compiled or neither.
    optimizer
        The optimizer, or a list of them. By default all optimizers that hold a
        parameter of the model, as found in memory: pass it where time matters.

    Returns
    -------
    Learning
        What was updated and what was excused; a context manager.

    Raises
    ------
    NotLearningError
        Names the parameters that are trainable and stood still, and why. It is an
        `AssertionError`.
    BadValueError
        ``model`` is no module.

    See Also
    --------
    ftlab.watch : Says where a gradient is lost, which rate is 0 and more, as it goes.

    Notes
    -----
    Not counted as standing still: a learning rate of 0 (warm-up), a step that a scaler
    skipped, ``lora_A`` while ``lora_B`` is 0, an expert without tokens, and parameters
    that are new since the last call. Reading the parameters waits for the device.

    Examples
    --------
    >>> import torch
    >>> import ftlab
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> def step(detached):
    ...     hidden = model[0](torch.ones(1, 2))
    ...     model[1](hidden.detach() if detached else hidden).sum().backward()
    ...     optimizer.step()
    ...     optimizer.zero_grad()
    >>> with ftlab.assert_learning(model, optimizer):
    ...     step(detached=False)
    >>> with ftlab.assert_learning(model, optimizer):
    ...     step(detached=True)
    Traceback (most recent call last):
    ...
    ftlab.records.errors.NotLearningError: 2 of 4 trainable parameters of Sequential \
do not learn:
      0.{weight,bias}: nothing tells why, for no gradient is kept
      ftlab.watch(model, optimizer) tells where their gradient is lost.
      Names: 0.weight, 0.bias
    """
    if not isinstance(model, torch.nn.Module):
        msg = (
            f"model must be a torch.nn.Module, found {type(model).__name__}. "
            "Pass the model itself, compiled or not: ftlab.assert_learning(model)."
        )
        raise BadValueError(msg)
    before = forget(model)
    inner, given = innermost(model), _listed(optimizer)
    known = before.optimizers if before is not None else []
    learning = before or Learning(inner, [], compiled=is_compiled(model))
    learning.optimizers = given or known or optimizers_of(inner)
    if before is not None:
        before.check(inner)
    learning.remember()
    return learning


def _listed(optimizer: Any) -> list[Any]:
    if optimizer is None:
        return []
    several: Iterable[Any] = (
        optimizer if isinstance(optimizer, list | tuple) else [optimizer]
    )
    return [unwrapped(each) for each in several]
