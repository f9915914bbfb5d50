"""Where a training cuts rows off."""

from typing import Any

from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.records.errors import BadValueError

NO_LIMIT = 10_000_000
"""What a tokenizer without a limit says is more than this."""


def limit_of(max_length: int | None, tokenizer: Any) -> tuple[int, str]:
    """Return the limit in tokens, and who says so; ``0, ""`` where nobody does.

    Raises
    ------
    BadValueError
        It is no number of tokens.

    Examples
    --------
    >>> from ftlab.session.data_limits import limit_of
    >>> limit_of(2048, None), limit_of(None, None)
    ((2048, 'max_length'), (0, ''))
    """
    if max_length is not None:
        if type(max_length) is not int or max_length < 1:
            msg = f"max_length={max_length!r}; allowed are 1 and more, in tokens."
            raise BadValueError(msg)
        return max_length, "max_length"
    own = getattr(text_tokenizer(tokenizer), "model_max_length", None)
    if type(own) is int and 0 < own < NO_LIMIT:
        return own, "the tokenizer's model_max_length"
    return 0, ""
