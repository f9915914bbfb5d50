"""What each combination type of PEFT's makes of a weighted sum of adapters."""

import math

from ftlab.records.adapter_combination import Combination, Combinations
from ftlab.views.adapters.heat import share_words
from ftlab.views.drawn import Canvas
from ftlab.views.style import SERIES, number
from ftlab.views.view import Rows, View


class CombinationView(View["Combinations"]):
    """How far each combination type is from the sum that was asked for.

    Examples
    --------
    >>> from ftlab.records.adapter_combination import Combination, Combinations
    >>> from ftlab.views.adapters.combination import CombinationView
    >>> svd = Combination("svd", 8, 1.0, (("layers.0.q", 0.3, 1.0),))
    >>> cat = Combination("cat", 16, 1.0, (("layers.0.q", 0.0, 1.0),))
    >>> CombinationView(Combinations({"a": 0.5, "b": 2}, (svd, cat), 0.1, ("cat",)))
    0.5 x a + 2 x b: cat is exact; svd, the next, is off by 30%
      svd: rank 8, off by 30% of the sum, most at layers.0.q
      cat: rank 16, exact
    """

    title = "Combination"
    headings = ("kind", "rank", "scaling", "place", "distance", "size")

    def __init__(self, combinations: Combinations) -> None:
        super().__init__(combinations)
        self.combinations = combinations

    def headline(self) -> str:
        """Say which types are exact, and how far the best of the others is off."""
        one, exact = self.combinations, self.combinations.exact
        said = " + ".join(f"{weight:.3g} x {n}" for n, weight in one.weights.items())
        off = [e for e in one.combinations if e.kind not in exact and not e.why]
        said += f": {' and '.join(exact) or 'no type'} is exact"
        if off:
            best = min(off, key=lambda each: (len(each.lost), each.relative))
            said += f"; {best.kind}, the next, is off by {share_words(best.relative)}"
            said += _lost_words(best)
        return said

    def _table(self, summary: Combinations) -> Rows:
        made = [((e.kind, e.rank, e.scaling), e.layers) for e in summary.combinations]
        return [(*kind, *layer) for kind, layers in made for layer in layers]

    def _text(self, summary: Combinations) -> str:
        return "\n  ".join([self.headline(), *map(self._words, summary.combinations)])

    def _words(self, each: Combination) -> str:
        if each.why:
            return f"{each.kind}: refused by PEFT: {each.why}"
        worst, *_ = max(each.layers, key=lambda layer: layer[1] / (layer[2] or 1))
        off = f"off by {share_words(each.relative)} of the sum, most at {worst}"
        said = f"{each.kind}: rank {each.rank}, "
        said += "exact" if each.kind in self.combinations.exact else off
        if math.isfinite(each.moved):
            whole = number(self.combinations.moved)
            said += f"; {number(each.moved)} nats from it, which is {whole} from the "
            said += f"base; another token at {each.turned:.0%}"
        return said + _lost_words(each)

    def draw_on(self, figure: Canvas, summary: Combinations) -> None:
        """Draw how far each type is from the sum, in weights and in next tokens."""
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")
        left, right = figure.subplots(1, 2, squeeze=False, sharey=True)[0]
        made = [each for each in summary.combinations if not each.why]
        apart, moved = ([getattr(e, n) for e in made] for n in ("relative", "moved"))
        for axis, values, words, title in (
            (left, apart, share_words, "distance from the sum, of its size"),
            (right, moved, number, "next token, KL from the sum, nats"),
        ):
            colour = SERIES[axis is right]
            bars = axis.barh([each.kind for each in made], values, color=colour)
            axis.bar_label(bars, list(map(words, values)), fontsize=7, padding=2)
            axis.set_title(title, fontsize=8.5, loc="left")
            axis.tick_params(labelsize=7)
            axis.margins(x=0.2)
        right.axvline(summary.moved, color="#808080", ls="--", label="of the base")
        right.legend(fontsize=7)
        left.invert_yaxis()


def _lost_words(each: Combination) -> str:
    return f", without {' and '.join(each.lost)}" if each.lost else ""
