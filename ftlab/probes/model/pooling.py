"""Where a classifier on a decoder reads its class: at the last token before padding.

transformers finds that token by its id: the last one that is not
``config.pad_token_id``, whatever the tokenizer pads with.
"""

from typing import Any

from ftlab.probes.taps.forward import innermost
from ftlab.records.attributes import attribute_of

CLASSIFIER = "ForSequenceClassification"


def pooling_pads(model: Any) -> frozenset[int]:
    """Return the id that a classifier takes for padding; empty where it looks for none.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.model.pooling import pooling_pads
    >>> pooling_pads(torch.nn.Linear(2, 2))
    frozenset()
    """
    root = innermost(model)
    unwrap = attribute_of(root, "get_base_model")
    root = unwrap() if callable(unwrap) else root
    pad = getattr(attribute_of(root, "config"), "pad_token_id", None)
    forward = type(root).forward
    while hasattr(forward, "__wrapped__"):
        forward = forward.__wrapped__
    names = getattr(getattr(forward, "__code__", None), "co_names", ())
    reads = CLASSIFIER in type(root).__name__ and "pad_token_id" in names
    return frozenset([pad]) if reads and type(pad) is int else frozenset()
