"""Values as Python has them, of numpy, pandas and torch."""

from typing import Any


def plain(value: Any) -> Any:
    """Return an array, a tensor or a numpy number as lists or a number of Python's.

    What is none of these comes back as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.data.rows.plain import plain
    >>> plain(np.arange(2)), plain(np.int8(7)), plain("text")
    ([0, 1], 7, 'text')
    """
    if isinstance(value, type) or not hasattr(value, "tolist"):
        return value
    return value.tolist()
