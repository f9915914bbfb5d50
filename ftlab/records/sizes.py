"""How bytes are written."""


def size(quantity: float) -> str:
    """Write bytes with a unit.

    Examples
    --------
    >>> from ftlab.records.sizes import size
    >>> size(1.5 * 2**30), size(2048)
    ('1.5 GiB', '2 KiB')
    >>> size(1023), size(1010 * 2**20)
    ('0.999 KiB', '0.986 GiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(quantity) < 999.5:
            return f"{quantity:.3g} {unit}"
        quantity /= 1024
    return f"{quantity:.3g} PiB"
