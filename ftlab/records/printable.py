"""Text that others wrote, made safe for a terminal."""


def printable(text: str) -> str:
    r"""Write characters that a terminal would obey, or not show, as escapes.

    Names of modules and adapters come from checkpoints and logs of others.

    Examples
    --------
    >>> from ftlab.records.printable import printable
    >>> printable("layers.0.größe")
    'layers.0.größe'
    >>> print(printable("head\x1b[2J"))
    head\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )
