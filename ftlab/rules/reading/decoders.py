"""What a decoder is given first, for the rules about encoder-decoders."""

from ftlab.rules.rule import Need
from ftlab.runlog.run import Run


def seen(run: Run) -> bool:
    """Tell whether the first ids of a decoder are known."""
    return any(event.kind == "decoder" for event in run.whole.events)


NEEDS = Need("what a decoder is given", "ftlab.watch(...) of an encoder-decoder", seen)


def row_name(micro_batch: int, row: int) -> str:
    """Name a row of a step as places do.

    Examples
    --------
    >>> from ftlab.rules.reading.decoders import row_name
    >>> row_name(0, 3), row_name(1, 3)
    ('3', '3 of micro-batch 1')
    """
    return f"{row} of micro-batch {micro_batch}" if micro_batch else str(row)
