"""`ftlab.release`: a model's memory is given back, and what still holds on is named."""

from typing import Any

from ftlab.laboratory.memory.release import released
from ftlab.records.errors import BadValueError
from ftlab.session.given_models import model_of
from ftlab.session.observation import is_watched
from ftlab.views.memory.release import ReleaseView


def release(model: Any) -> ReleaseView:
    """Free what a model holds, and say what still holds on, by name.

    Gradients, the state that optimizers have for its parameters, hooks, the storages of
    parameters and buffers, and a notebook's ``Out`` and ``_`` that hold it are let go
    of; then Python collects, and CUDA's cache and the C library's free memory are given
    back. Nothing is taken from others: what a list, a state dict, a view of a tensor
    or another model holds stays as it is, and is named.

    Parameters
    ----------
    model
        A model, or a trainer that has one. It cannot be used afterwards: calling,
        watching or saving it raises ``ReleasedError``.

    Returns
    -------
    ReleaseView
        `ReleaseView.released` has the bytes before and after, and each holder.

    Raises
    ------
    BadValueError
        Something else was passed, or the model is being watched.

    Examples
    --------
    >>> import ftlab
    >>> from ftlab.faults.builders.tiny import llama
    >>> model = llama()
    >>> best = model.lm_head.weight.detach()
    >>> ftlab.release(model).released.freed
    329024
    >>> model()
    Traceback (most recent call last):
    ...
    ftlab.records.errors.ReleasedError: this LlamaForCausalLM was released by \
ftlab.release, and has no weights any more; build or load it again.
    """
    chosen = model_of(model, "model", "release(model)")
    if is_watched(chosen):
        msg = (
            f"this {type(chosen).__name__} is being watched; call detach() on the "
            "watch first, then ftlab.release(model)."
        )
        raise BadValueError(msg)
    return ReleaseView(released(chosen))
