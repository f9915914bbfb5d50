"""Errors of others, in one line."""


def said_of(error: BaseException) -> str:
    """Return an error's class and the beginning of its message, in one line.

    Examples
    --------
    >>> from ftlab.records.said import said_of
    >>> said_of(ValueError("two  lines" + chr(10) + "of it"))
    'ValueError: two lines of it'
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".rstrip(". ")
