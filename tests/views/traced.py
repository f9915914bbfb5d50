"""Traces that are made by hand, so that every number in them is known."""

import math

from ftlab.records.texts import Excerpt, Listing, SampleText
from ftlab.records.trace import Trace, TracedLink, TracedOp

HEADLINE = "Inf first appeared in model.layers.1.mlp (MLP)."


def op(index, module, high, **fields):
    """Return a forward operation of a half-precision model."""
    known = high is not None
    infinite = int(known and math.isinf(high))
    fields = {"low": -high if known else None, "high": high, "infs": infinite} | fields
    kind = "" if module is None else module.rpartition(".")[2].upper()
    fields = {"parents": (index - 1,) if index else (-1,)} | fields
    return TracedOp(
        index,
        fields.pop("op", "aten.mul.Tensor"),
        module=module,
        module_class=kind,
        dtype=fields.pop("dtype", "float16"),
        shape=(2, 3),
        user_line="train.py:7 step",
        library_line="model.py:9 forward",
        **fields,
    )


def back(index, of, **fields):
    """Return the backward operation that belongs to the forward operation ``of``."""
    return op(index, of.module, math.inf, phase="backward", forward=of.index, **fields)


def small_trace():
    """Two layers: the second grows until it overflows; the first one's mask is -inf."""
    forward = [
        op(0, "model.embed", 1.0),
        op(1, "model.layers.0.attn", 0.5, low=-math.inf, infs=4),
        op(2, "model.layers.0.mlp", 2.0),
        op(3, "model.layers.1.attn", 4000.0),
        op(4, "model.layers.1.mlp", 60000.0, op="aten.<b>.default"),
        op(5, "model.layers.1.mlp", math.inf, op="aten.exp.default"),
        op(6, None, None, low=None, nans=1, dtype="float32"),
    ]
    backward = [back(7 + i, each) for i, each in enumerate(reversed(forward[:6]))]
    chain = (
        TracedLink(4, "by <b>mul</b> 4", "float16", (2, 3), -6e4, 6e4),
        TracedLink(-1, "in parameter model.layers.1.w", "float16", (3,), 0.0, 2.0),
    )
    return Trace(
        step=173,
        micro_batch=1,
        ops=(*forward, *backward),
        culprit=5,
        headline=HEADLINE,
        text="the whole report",
        report={
            "cause": "exp(60000) is more than <i>float16</i> holds.",
            "loss": math.nan,
        },
        sources=("batch 'input_ids'",),
        chain=chain,
        batch_text=Listing([SampleText(0, 0, 2, ("<pad>", "cat"), (True, False))]),
        source=Listing([Excerpt("your line", "train.py:7 step", 7, 7, ("x < y",))]),
    )


def deep_trace(layers=80, culprit=71):
    """Eighty layers of one operation each, which grow from the sixtieth on."""
    ops = []
    for layer in range(layers):
        high = 1.0 if layer < 60 else 10.0 ** (layer - 60 + 2.5)
        high = min(high, 50000.0) if layer < culprit else math.inf
        ops.append(op(layer, f"model.layers.{layer}.mlp", high))
    return Trace(0, 0, tuple(ops), culprit=culprit, headline=HEADLINE)


def update_trace():
    """Return an optimizer's step, parameter by parameter."""
    names = [f"model.layers.{layer}.q.weight" for layer in range(4)]
    highs = [1.0, math.inf, 1.0, 1.0]
    ops = [
        op(i, None, high, phase="optimizer", parameter=name, parents=(-1,))
        for i, (name, high) in enumerate(zip(names, highs, strict=True))
    ]
    together = op(4, None, 1.0, phase="optimizer", parents=(0, 1, 2, 3))
    return Trace(
        9, 0, (*ops, together), culprit=1, headline="born", sources=("state step of w",)
    )
