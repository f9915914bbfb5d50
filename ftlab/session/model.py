"""`ftlab.model`: what a model is made of, and what a Trainer sees of it."""

import weakref
from typing import Any

import torch

from ftlab.laboratory.modules.reading import model_anatomy
from ftlab.laboratory.modules.values import values_of
from ftlab.records.errors import BadValueError
from ftlab.records.model_anatomy import TensorValues
from ftlab.views.model.model import ModelView


def model(model: Any) -> ModelView:
    """Show a model's module tree, what stands around it, and what a Trainer sees.

    Blocks that are alike are one line, and those that differ stand out. A click on a
    module reads its weights. Nothing of the model changes, and it is not kept alive.

    Parameters
    ----------
    model
        As you would give it to a Trainer, with all wrappers; or a trainer that has one:
        then what it decides is told for its arguments.

    Returns
    -------
    ModelView
        ``table()`` has a row for each module, ``trainer()`` one for each decision of a
        Trainer, with what it costs in bytes.

    Raises
    ------
    BadValueError
        It is no model.

    Examples
    --------
    >>> import ftlab
    >>> from ftlab.faults.builders.tiny import lora
    >>> ftlab.model(lora()).headline()
    'Model PeftModelForCausalLM: 94 K parameters, 3.58 K learn, 367 KiB (float32)'
    """
    given = model if isinstance(model, torch.nn.Module) else getattr(model, "model", 0)
    if not isinstance(given, torch.nn.Module):
        msg = (
            f"model is of type {type(model).__name__}; it must be a torch.nn.Module, "
            "or a trainer that has one: ftlab.model(trainer.model)."
        )
        raise BadValueError(msg)
    held = weakref.ref(given)

    def values(path: str) -> tuple[TensorValues, ...]:
        live = held()
        if live is None:
            msg = "the model has been deleted; call ftlab.model() on the new one."
            raise BadValueError(msg)
        return values_of(live, path)

    return ModelView(model_anatomy(given, model), values)
