"""`ftlab.activations`: a model's range through depth, its parts and its start."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ftlab.laboratory.activations.component import C, Check, Of, register, unregister
from ftlab.laboratory.activations.look import look
from ftlab.laboratory.memory.room import room_beside
from ftlab.records.errors import BadValueError
from ftlab.rules.words import an
from ftlab.session.given_models import model_of, on_device
from ftlab.session.preflight.kept import Kept, KeptState, bytes_to_keep
from ftlab.views.layers.activations import ActivationView


class Activations:
    """Run a batch once, and say which part of a model computes something else.

    Call it: ``ftlab.activations(model, batch)``. In a model of transformers, a module
    whose code or settings are not the library's is compared with the library's forward
    on the same weights and inputs; where they differ, known mistakes are tried until
    one gives the same output. Modules of a model's author alone are held to what such a
    part always does. Beside that: range through depth, units that are off, entropy of
    the attention, and parameters that are neither trained nor as their class has them.
    The forward is in evaluation mode, without gradients; nothing of the model changes.

    Parameters
    ----------
    model
        A model, or a trainer that has one.
    batch
        What it is called with: a dictionary, a `BatchEncoding`, a tensor of ids, or a
        tuple of arguments in the forward's order.
    fresh
        The model is said to be untrained: each parameter is then held to what its class
        draws, by chance alone, and B of LoRA to 0.

    Returns
    -------
    ActivationView
        ``.ok``, ``.faults``, ``.table()`` by block, ``.parameters()``, ``.figure()``.

    Raises
    ------
    BadValueError
        The model cannot be called with the batch, or has no values (meta device).

    Examples
    --------
    >>> import torch
    >>> import ftlab
    >>> from ftlab.faults.builders.tiny import batches, llama
    >>> model = llama()
    >>> ftlab.activations(model, batches()[0]).ok
    True
    >>> model.model.layers[1].mlp.act_fn = torch.nn.GELU()
    >>> ftlab.activations(model, batches()[0])  # doctest: +ELLIPSIS
    Activations of LlamaForCausalLM: 1 fault in 64 tokens ...
    """

    def __call__(
        self, model: Any, batch: Any, *, fresh: bool = False
    ) -> ActivationView:
        """Look at a model; see the class."""
        chosen = model_of(model, "model", "activations(model, batch)")
        held = next((n for n, p in chosen.named_parameters() if p.is_meta), None)
        if held is not None:
            msg = (
                f"{held} is on the meta device and has no values; load the weights "
                "first, or model.to_empty(device='cpu') and draw them."
            )
            raise BadValueError(msg)
        given = _batch_of(batch, chosen)
        if any(True for _ in chosen.parameters()):
            given = on_device(given, chosen)
        # copies of weights that a forward may write to, where there is room for them
        room = bytes_to_keep(chosen, ()) < room_beside(chosen) / 2
        kept = KeptState(Kept(chosen, values=room))
        try:
            return ActivationView(look(chosen, given, fresh=bool(fresh)))
        finally:
            kept.restore()

    def register(self, of: Of, name: str = "") -> Callable[[C], C]:
        """Make a function a check of all modules of a class.

        ``of`` is a class, a regular expression of its name, or a function of a site. A
        check is given a `Site`: ``module``, ``input``, ``output`` (first tensors;
        ``args``, ``kwargs``, ``returned`` hold all), ``library`` and ``expected()``
        where transformers has a module for its place, ``close(a, b)`` and
        ``fault(said, fix, severity)``. It yields faults.

        Examples
        --------
        >>> import torch
        >>> import ftlab
        >>> class Halve(torch.nn.Module):
        ...     def forward(self, x):
        ...         return x / 3
        >>> @ftlab.activations.register(Halve)
        ... def halving(site):
        ...     if not site.close(site.output, site.input / 2):
        ...         yield site.fault("it does not halve", "Divide by 2.")
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), Halve())
        >>> found = ftlab.activations(model, torch.ones(2, 4))
        >>> found.faults[0].places, found.faults[0].said
        (('1',), 'it does not halve')
        >>> ftlab.activations.unregister(halving)
        """
        return register(of, name)

    def unregister(self, check: Check) -> None:
        """Take a check out again."""
        unregister(check)


activations = Activations()


def _batch_of(batch: Any, model: Any) -> Mapping[str, Any]:
    """Return keyword arguments, those of positional ones by the forward's names."""
    if hasattr(batch, "keys"):
        return {str(key): batch[key] for key in list(batch.keys())}
    values = batch if isinstance(batch, tuple | list) else (batch,)
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    names = list(inspect.signature(base.forward).parameters)
    tensors = values and all(isinstance(each, torch.Tensor) for each in values)
    if not tensors or len(values) > len(names):
        msg = (
            f"batch is {an(type(batch).__name__)}; pass a dictionary of what the model "
            "is called with, a tensor, or a tuple of tensors in the order of forward "
            f"({', '.join(names[:4])}): activations(model, next(iter(loader)))."
        )
        raise BadValueError(msg)
    return dict(zip(names, values, strict=False))
