"""`ftlab.flow`: which parameters a loss reaches, and what cuts off the others."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ftlab.laboratory.flow.flow import flow_of
from ftlab.laboratory.flow.graph import gradients_apart
from ftlab.laboratory.memory.room import room_beside
from ftlab.records.errors import BadValueError
from ftlab.rules.words import an
from ftlab.session.given_models import on_device
from ftlab.session.integrations.transformers import is_trainer
from ftlab.session.preflight.dry_run import loss_of
from ftlab.session.preflight.failing import NoLossError
from ftlab.session.preflight.kept import Kept, KeptState, bytes_to_keep
from ftlab.session.prove import of_trainer, used_by
from ftlab.views.layers.flow import FlowView

Loss = Callable[[], torch.Tensor]


def flow(loss: Any, model: torch.nn.Module | None = None) -> FlowView:
    """Follow the gradient of a loss back through a model, to every trained parameter.

    Given a function, it is called once with every function of torch listened to, so
    that each place where values lose their graph is known with its line; what is
    compiled runs as plain Python for it. Backward is run once, for the norms. A
    parameter that no gradient reaches for a reason that is not seen is moved, and the
    loss computed again: it is cut off if the loss changes, and unused if not.
    Parameters, gradients, buffers, modes and random state are afterwards what they
    were.

    Parameters
    ----------
    loss
        A function that computes the loss; or the batch, a dictionary that the model is
        called with and returns a loss for; or a trainer, whose first batch is taken;
        or the loss itself, a tensor, which tells what is reached but not where the
        rest is cut off.
    model
        The model; a trainer has its own.

    Returns
    -------
    FlowView
        ``cuts`` with their source lines, zeros, and the norms from block to block.

    Raises
    ------
    BadValueError
        Something else was given, or the function returns no tensor of one element.

    Examples
    --------
    >>> import torch
    >>> import ftlab
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    >>> x = torch.ones(3, 2)
    >>> ftlab.flow(lambda: model(x).mean(), model)
    Gradient flow: the loss reaches all 4 trained parameters
    >>> view = ftlab.flow(lambda: model[1](model[0](x).detach()).mean(), model)
    >>> [cut.op for cut in view.flow.cuts], view.flow.cuts[0].parameters
    (['Tensor.detach'], ('0.weight', '0.bias'))
    """
    if is_trainer(loss):
        return _of_trainer(loss)
    if not isinstance(model, torch.nn.Module):
        msg = (
            f"flow() was given {an(type(model).__name__)} as model; pass the model: "
            "flow(lambda: model(**batch).loss, model)."
        )
        raise BadValueError(msg)
    _refuse_without_values(model)
    if isinstance(loss, torch.Tensor):
        return FlowView(flow_of(model, _one(loss)))
    computed = _computed(loss, model)
    # copies of weights that a forward may write to, where there is room for them
    room = bytes_to_keep(model, ()) < room_beside(model) / 2
    kept = KeptState(Kept(model, functions=(computed,), values=room))
    try:
        return FlowView(_followed(model, computed))
    finally:
        kept.restore()


def _refuse_without_values(model: torch.nn.Module) -> None:
    """Refuse what nothing flows through."""
    if torch.is_inference_mode_enabled():
        msg = (
            "flow() was called in torch.inference_mode(), in which nothing has a "
            "gradient; call it outside."
        )
        raise BadValueError(msg)
    for name, each in model.named_parameters():
        if each.is_meta or torch.nn.parameter.is_lazy(each):
            msg = (
                f"{name} has no values yet: load the weights, or run one forward, and "
                "call flow() again."
            )
            raise BadValueError(msg)


def _computed(loss: Any, model: torch.nn.Module) -> Loss:
    if isinstance(loss, Mapping):
        batch = on_device(loss, model)
        return lambda: _loss_of(model(**batch))
    if callable(loss):
        computed: Loss = loss
        return computed
    msg = (
        f"flow() was given {an(type(loss).__name__)} as loss; pass a function that "
        "computes it, a batch (a dictionary), a trainer, or the loss, a tensor."
    )
    raise BadValueError(msg)


def _loss_of(output: Any) -> torch.Tensor:
    try:
        return loss_of(output)
    except NoLossError as error:
        msg = (
            f"the model returned no loss but {an(type(output).__name__)}; put labels "
            "into the batch, or pass a function: flow(lambda: ..., model)."
        )
        raise BadValueError(msg) from error


def _of_trainer(trainer: Any) -> FlowView:
    given, live_of = of_trainer(trainer, None, None, "flow")
    kept = KeptState(used_by(given))
    try:
        return FlowView(_followed(given.model, live_of().computed))
    finally:
        kept.restore()


def _followed(model: torch.nn.Module, computed: Loss) -> Any:
    # a wrapper of several processes would wait for a backward that never comes
    alone = getattr(model, "no_sync", contextlib.nullcontext)
    with alone(), gradients_apart(list(model.parameters())), _without_updates():
        return flow_of(model, lambda: _unspent(_one(computed()), model))


@contextlib.contextmanager
def _without_updates() -> Iterator[None]:
    """Refuse a function that updates the weights."""

    def refuse(optimizer: Any, *_: Any) -> None:
        msg = (
            f"the function calls {type(optimizer).__name__}.step(); pass one that "
            "computes the loss alone: flow(lambda: model(**batch).loss, model)."
        )
        raise BadValueError(msg)

    handle = register_optimizer_step_pre_hook(refuse)
    try:
        yield
    finally:
        handle.remove()


def _unspent(loss: torch.Tensor, model: torch.nn.Module) -> torch.Tensor:
    """Refuse a loss whose function has run backward already."""
    if any(each.grad is not None for each in model.parameters()):
        msg = (
            "the function calls backward, after which its graph is gone; pass one that "
            "computes the loss alone: flow(lambda: model(**batch).loss, model)."
        )
        raise BadValueError(msg)
    return loss


def _one(loss: Any) -> torch.Tensor:
    if isinstance(loss, torch.Tensor) and loss.numel() == 1:
        return loss
    what = (
        f"a tensor of shape {tuple(loss.shape)}"
        if isinstance(loss, torch.Tensor)
        else an(type(loss).__name__)
    )
    msg = f"the loss is {what}; flow() wants a tensor of one element: loss.mean()."
    raise BadValueError(msg)
