"""What a decoder is given first, for the rules about encoder-decoders."""

from ftlab.rules.rule import Need, Run


def seen(run: Run) -> bool:
    """Tell whether the first ids of a decoder are known."""
    return any(event.kind == "decoder" for event in run.whole.events)


NEEDS = Need("what a decoder is given", "ftlab.watch(...) of an encoder-decoder", seen)
