"""A base in few bits: what was lost where, and which code values carry the weights."""

import textwrap
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ftlab.records.quantisation import Preparation, QuantisedLayer
from ftlab.records.sizes import size
from ftlab.views.adapters.heat import blocks_of, draw_heat, share_words
from ftlab.views.drawn import Axes, Canvas, DataFrame
from ftlab.views.style import SERIES, count, number
from ftlab.views.view import View


class QuantisationView(View["tuple[QuantisedLayer, ...]"]):
    """Layers in few bits, as a sentence, a heatmap, the code book and a table.

    Attributes
    ----------
    layers
        All that was measured.
    preparation
        Whether it is fit to be trained, what is left in full, and what takes memory;
        ``None`` where that was not looked at.

    Examples
    --------
    >>> from ftlab.records.quantisation import QuantisedLayer
    >>> from ftlab.views.adapters.quantisation import QuantisationView
    >>> one = QuantisedLayer(
    ...     "h.0.q", "layers.0.q", "nf4", 64, True, "uint8", "", 4096, 2200, 2200.0
    ... )
    >>> QuantisationView([one])
    1 layer in nf4 (blocks of 64, scales quantised too): 0.0 MiB, 27% of 16 bits
      what was lost is not known without the original: adapters(model, original=...)
    """

    title = "Quantisation"

    def __init__(
        self, layers: Sequence[QuantisedLayer], preparation: Preparation | None = None
    ) -> None:
        super().__init__(tuple(layers))
        self.layers = tuple(layers)
        self.preparation = preparation

    def headline(self) -> str:
        """Say in one line what is in few bits."""
        return _lines(self.layers)[0]

    def _table(self, summary: tuple[QuantisedLayer, ...]) -> DataFrame:
        import pandas as pd

        columns = [
            name
            for name in type(summary[0]).__dataclass_fields__
            if name not in ("code", "used")
        ]
        rows = [tuple(getattr(each, name) for name in columns) for each in summary]
        frame = pd.DataFrame(rows, columns=columns)
        for name in ("given", "computes", "gradients") if self.preparation else ():
            frame[name] = frame["name"].map(getattr(self.preparation, name))
        return frame

    def _text(self, summary: tuple[QuantisedLayer, ...]) -> str:
        lines = _lines(summary)
        if self.preparation is not None:
            lines[2:2] = _prepared(self.preparation, summary)
        return "\n  ".join(lines)

    def size_of(self, summary: tuple[QuantisedLayer, ...]) -> tuple[float, float]:
        """Give each block a row."""
        rows = blocks_of([each.place for each in summary])
        return 9.6, min(2.2 + 0.22 * max(rows, 3), 9.0)

    def draw_on(self, figure: Canvas, summary: tuple[QuantisedLayer, ...]) -> None:
        """Draw what was lost by block and place, and the code book."""
        said = "\n".join(textwrap.wrap(self.headline(), 110))
        figure.suptitle(said, fontsize=9, x=0.01, ha="left")
        left, right = figure.subplots(1, 2, squeeze=False)[0]
        places = [each.place for each in summary]
        if np.isfinite([each.relative for each in summary]).any():
            lost = [each.relative for each in summary]
            title = "lost, of the weight's size"
            draw_heat(left, places, lost, title, words=share_words)
        else:
            spread = [each.spread for each in summary]
            title = "largest scale of a block, of the median one"
            draw_heat(left, places, spread, title, words=lambda v: f"{number(v)}x")
        _draw_code(right, summary)


def _draw_code(axis: Axes, layers: Sequence[QuantisedLayer]) -> None:
    with_code = [each for each in layers if each.code.size]
    if not with_code:
        axis.set_axis_off()
        return
    first = with_code[0]
    alike = [each for each in with_code if each.kind == first.kind]
    weights = np.array([each.weights for each in alike], float)
    used = np.stack([each.used for each in alike])
    shares = (used * weights[:, None]).sum(0) / weights.sum()
    axis.bar(first.code, 100 * shares, width=0.035, color=SERIES[0])
    axis.set_title(
        f"weights at each code value of {first.kind}, %", fontsize=8.5, loc="left"
    )
    axis.set_xlabel("value, of the block's scale", fontsize=8)
    axis.tick_params(labelsize=7)


def _prepared(found: Preparation, layers: Sequence[QuantisedLayer]) -> list[str]:
    verdict = f"not prepared for k-bit training: {'; '.join(found.faults)}"
    if not found.faults:
        verdict = "prepared for k-bit training: norms and head in float32, base frozen"
        if found.gradients:
            first = number(next(iter(found.gradients.values())))
            verdict += (
                f", the gradient reaches all {count(len(found.gradients), 'layer')} "
                f"({first} at the first)"
            )
    kinds = Counter((found.computes[n], found.given[n]) for n in found.given)
    apart = [
        f"{count(n, 'layer')} in {own} given {given}"
        for (own, given), n in kinds.items()
        if own != given
    ]
    nested = "on" if any(each.nested for each in layers) else "off"
    left = dict.fromkeys(found.left)
    more = f" and {len(left) - 4} more" if len(left) > 4 else ""
    parts = [each for each in found.memory if each.predicted]
    known = [each for each in parts if np.isfinite(each.measured)]
    return [
        verdict + (f" ({found.note})" if found.note else ""),
        *([f"computed in another dtype: {', '.join(apart)}"] if apart else []),
        f"not quantised: {', '.join([*left][:4]) or 'nothing'}{more}; "
        f"double quantisation {nested}",
        f"memory: {size(sum(each.predicted for each in known))} predicted, "
        f"{size(sum(each.measured for each in known))} measured ("
        + ", ".join(f"{e.what} {size(e.predicted)}" for e in parts)
        + ")",
    ]


def _lines(layers: Sequence[QuantisedLayer]) -> list[str]:
    kinds = dict.fromkeys(
        (e.kind, e.block if e.kind != "int8" else 0, e.nested) for e in layers
    )
    words = []
    for kind, block, nested in kinds:
        scales = ", scales quantised too" if nested else ""
        words.append(f"{kind} (blocks of {block}{scales})" if block else kind)
    there = sum(each.bytes_there for each in layers)
    plain = 2 * sum(each.weights for each in layers)
    lines = [
        f"{count(len(layers), 'layer')} in {' and '.join(words)}: "
        f"{there / 2**20:,.1f} MiB, {there / plain:.0%} of 16 bits"
    ]
    known = [each for each in layers if np.isfinite(each.relative)]
    if not known:
        lines.append(
            "what was lost is not known without the original: "
            "adapters(model, original=...)"
        )
    else:
        most = max(known, key=lambda each: each.relative)
        median = float(np.median([each.relative for each in known]))
        lines.append(
            f"lost: {share_words(median)} of the weights' size (median), most at "
            f"{most.place}: {share_words(most.relative)}"
        )
        taken = [e.compensated for e in known if np.isfinite(e.compensated)]
        if taken:
            share = float(np.median(taken))
            said = f"the adapter makes up for {share_words(share)} of the squared error"
            if share <= 0:
                said = "the adapter makes up for none of the error"
            lines.append(f"{said} (median)")
    far = [each for each in layers if each.outliers > 0]
    if far:
        most = max(far, key=lambda each: each.spread)
        lines.append(
            f"outlier blocks in {count(len(far), 'layer')}, most at {most.place}: a "
            f"scale {number(most.spread)} x the median"
        )
    return lines
