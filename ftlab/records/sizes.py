"""How bytes are written."""


def size(quantity: float) -> str:
    """Write bytes with a unit.

    Examples
    --------
    >>> from ftlab.records.sizes import size
    >>> size(1.5 * 2**30), size(2048)
    ('1.5 GiB', '2 KiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(quantity) < 1024:
            return f"{quantity:.3g} {unit}"
        quantity /= 1024
    return f"{quantity:.3g} PiB"
