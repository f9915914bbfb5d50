"""What each combination type of PEFT's makes of a weighted sum of adapters."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from ftlab.records.adapter_combination import Combination
from ftlab.views.adapters.heat import share_words
from ftlab.views.style import SERIES, number
from ftlab.views.view import View

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from ftlab.records.adapter_combination import Combinations

ROUNDINGS = 32
"""Machine precisions up to which a relative distance is rounding."""


class CombinationView(View["Combinations"]):
    """How far each combination type is from the sum that was asked for.

    Examples
    --------
    >>> from ftlab.records.adapter_combination import Combination, Combinations
    >>> from ftlab.views.adapters.combination import CombinationView
    >>> found = (Combination("svd", 8, 1.0, 0.3), Combination("cat", 16, 1.0, 1e-8))
    >>> CombinationView(Combinations({"a": 0.5, "b": 0.5}, found, float("nan"), 1e-7))
    0.5 x a + 0.5 x b: cat is exact; svd is off by 30%
      svd: rank 8, off by 30% of the sum
      cat: rank 16, exact
    """

    title = "Combination"

    def __init__(self, combinations: Combinations) -> None:
        super().__init__()
        self.combinations = combinations

    @property
    def exact(self) -> tuple[str, ...]:
        """Types that make the sum, but for rounding."""
        most = ROUNDINGS * self.combinations.rounding
        made = self.combinations.combinations
        return tuple(e.kind for e in made if e.relative <= most and not e.lost)

    def headline(self) -> str:
        """Say which types are exact, and how far the best of the others is off."""
        one = self.combinations
        asked = " + ".join(f"{weight:.3g} x {n}" for n, weight in one.weights.items())
        off = [e for e in one.combinations if e.kind not in self.exact and not e.why]
        if not off and not self.exact:
            return f"{asked}: PEFT combines these in no way"
        exact = " and ".join(self.exact) or "no type"
        said = f"{asked}: {exact} is exact"
        if off:
            best = min(off, key=lambda each: (len(each.lost), each.relative))
            said += f"; {best.kind} is off by {share_words(best.relative)}"
            said += f", without {' and '.join(best.lost)}" if best.lost else ""
        return said

    def _stamp(self) -> Hashable:
        return 0

    def _summarise(self) -> Combinations:
        return self.combinations

    def _table(self, summary: Combinations) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(
            {
                "kind": each.kind,
                "place": layer.place,
                "relative": layer.relative,
                "distance": layer.distance,
                "size": layer.size,
                "rank": each.rank,
                "scaling": each.scaling,
                "moved": each.moved,
                "turned": each.turned,
                "seconds": each.seconds,
            }
            for each in summary.combinations
            for layer in each.layers
        )

    def _text(self, summary: Combinations) -> str:
        lines = [self.headline()]
        if math.isfinite(summary.moved):
            moved = number(summary.moved)
            lines.append(f"the sum moves the next token by {moved} nats (mean KL)")
        return "\n  ".join([*lines, *map(self._words, summary.combinations)])

    def _words(self, each: Combination) -> str:
        if each.why:
            return f"{each.kind}: refused by PEFT: {each.why}"
        said = f"{each.kind}: rank {each.rank}, "
        if each.kind in self.exact:
            said += "exact"
        else:
            said += f"off by {share_words(each.relative)} of the sum"
        if each.layers and each.kind not in self.exact:
            worst = max(each.layers, key=lambda layer: layer.relative)
            said += f", most {worst.place}: {share_words(worst.relative)}"
        if math.isfinite(each.moved):
            said += f"; {number(each.moved)} nats from it, another token at "
            said += f"{each.turned:.0%}"
        said += f"; without {' and '.join(each.lost)}" if each.lost else ""
        return said

    def draw_on(self, figure: Figure | SubFigure, summary: Combinations) -> None:
        """Draw how far each type is from the sum, in weights and in next tokens."""
        title = "\n".join(textwrap.wrap(self.headline(), 110))
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
        left, right = figure.subplots(1, 2, squeeze=False, sharey=True)[0]
        made = [each for each in summary.combinations if not each.why]
        kinds = [each.kind for each in made]
        bars = left.barh(kinds, [each.relative for each in made], color=SERIES[0])
        words = [share_words(e.relative) for e in made]
        left.bar_label(bars, words, fontsize=7, padding=2)
        bars = right.barh(kinds, [each.moved for each in made], color=SERIES[1])
        right.bar_label(bars, [number(e.moved) for e in made], fontsize=7, padding=2)
        right.axvline(summary.moved, color="#808080", ls="--", lw=1, label="sum : base")
        right.legend(fontsize=7)
        left.invert_yaxis()
        titles = ("distance from the sum, of its size", "KL from the sum, nats")
        for axis, name in zip((left, right), titles, strict=True):
            axis.set_title(name, fontsize=8.5, loc="left")
            axis.tick_params(labelsize=7)
            axis.margins(x=0.2)
