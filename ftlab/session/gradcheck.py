"""`ftlab.gradcheck`: whether a backward is the derivative of its forward."""

from collections.abc import Mapping
from typing import Any

from ftlab.laboratory.derivatives import derivatives
from ftlab.records.errors import BadValueError
from ftlab.views.layers.derivatives import DerivativesView


def gradcheck(function: Any, inputs: Any) -> DerivativesView:
    """Compare what backward says with what the values say, and tell why they differ.

    Inputs, parameters, and the modules and tensors that a function names or closes over
    are copied to float64, and each call has the same random numbers; nothing of yours
    changes. Where the function itself casts to fewer bits, values are taken without
    these casts, and backward may differ by what the dtype allows.

    The derivative by each input and parameter is taken by backward, and from values at
    a small distance on both sides. Of large tensors 64 elements are tried. Inputs that
    are no floating-point tensors are passed as they are.

    Parameters
    ----------
    function
        A function, the ``apply`` of a ``torch.autograd.Function``, or a module.
    inputs
        What it is called with: a tensor, a tuple or list of arguments, or a dictionary
        of keywords.

    Returns
    -------
    DerivativesView
        For each input whether it agrees, the element that differs most with both
        values, and the likeliest reason: sign, factor, dimensions exchanged, another
        input's gradient, a missing term, few bits, a kink.

    Raises
    ------
    BadValueError
        It cannot be called, or not in float64.

    Examples
    --------
    >>> import torch
    >>> import ftlab
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * x**2
    >>> ftlab.gradcheck(Cube.apply, torch.tensor([1.0, 2.0]))
    Gradient check of Cube: 1 of 1 wrong
      input 0: it is 0.3333 times what it must be
        output [1] by element [1]: backward 4, values 12
        Look for a sum in place of a mean, a factor of the power or of the scale.
    """
    if not callable(function):
        msg = (
            f"function is a {type(function).__name__}, which cannot be called; pass a "
            "function, a module or the apply of a torch.autograd.Function."
        )
        raise BadValueError(msg)
    named: Mapping[str, Any] = inputs if isinstance(inputs, Mapping) else {}
    given = inputs if isinstance(inputs, tuple | list) else (inputs,)
    return DerivativesView(derivatives(function, () if named else given, named))
