"""What a class is called in words."""

import re

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def class_words(kind: type, separator: str) -> str:
    """Return the name of a class in lower case, its words apart.

    Examples
    --------
    >>> from ftlab.records.class_names import class_words
    >>> class VanishingGradient: ...
    >>> class_words(VanishingGradient, "-")
    'vanishing-gradient'
    """
    return _WORD.sub(separator, kind.__name__).lower()
