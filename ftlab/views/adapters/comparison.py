"""Two checkpoints side by side: how far apart their modules are, and at what angle."""

import textwrap
from collections.abc import Iterator

import numpy as np

from ftlab.records.adapter_comparison import AdapterComparison, ComparedModule
from ftlab.records.name_words import listed
from ftlab.records.printable import harmless
from ftlab.records.sizes import size
from ftlab.views.adapters.heat import blocks_of, draw_heat, share_words
from ftlab.views.drawn import Canvas
from ftlab.views.executions.difference import DifferenceView
from ftlab.views.style import count, number
from ftlab.views.view import Rows, View

SHOWN = 4
"""Names or settings of one kind that the text has."""


class ComparisonView(View["AdapterComparison"]):
    """Two checkpoints, adapters or models, as a sentence, two heatmaps and a table.

    Attributes
    ----------
    comparison
        All that was measured.
    difference
        Where the two part when they are executed; ``None`` without a batch.
    tokenizers
        Parts in which the tokenizers beside them differ.
    not_executed
        Why the two could not be executed; ``""`` where they were, or were not asked to.

    Examples
    --------
    >>> from ftlab.records.adapter_comparison import AdapterComparison, ComparedModule
    >>> from ftlab.views.adapters.comparison import ComparisonView
    >>> one = ComparedModule("h.0.q", "layers.0.q", "update", (1.0, 2.0), 1.5, 0.7)
    >>> ComparisonView(AdapterComparison(("a", "b"), (8, 8), (one,), ((), ()), (), ()))
    a and b: 1 of 1 module differs, most layers.0.q: by 75% of its size
      updates of b are 2 x as large as those of a (median); mean cosine 0.7
    """

    title = "Comparison"

    def __init__(
        self,
        comparison: AdapterComparison,
        difference: DifferenceView | None = None,
        tokenizers: tuple[str, ...] = (),
        not_executed: str = "",
    ) -> None:
        super().__init__(comparison)
        self.comparison = comparison
        self.difference = difference
        self.tokenizers = tokenizers
        self.not_executed = not_executed

    @property
    def different(self) -> tuple[ComparedModule, ...]:
        """Modules that are not equal, the most different first."""
        found = [each for each in self.comparison.modules if each.distance != 0]
        return tuple(sorted(found, key=_badness))

    @property
    def equal(self) -> bool:
        """Whether all weights and settings are the same."""
        one = self.comparison
        apart = (one.alone[0], one.alone[1], one.reshaped, one.settings)
        return not (self.different or any(apart) or self.tokenizers)

    def headline(self) -> str:
        """Say in one line how far they are apart."""
        return str(harmless(next(self._lines())))

    def _table(self, summary: AdapterComparison) -> Rows:
        return [
            {
                "place": each.place,
                "name": each.name,
                "kind": each.kind,
                "norm_a": each.norms[0],
                "norm_b": each.norms[1],
                "distance": each.distance,
                "relative": each.relative,
                "cosine": each.cosine,
                "overlap": each.overlap,
                "rank_a": each.ranks[0] or None,
                "rank_b": each.ranks[1] or None,
            }
            for each in summary.modules
        ]

    def _text(self, summary: AdapterComparison) -> str:
        lines = list(self._lines())
        if self.difference is not None:
            lines += ["executed: " + line for line in repr(self.difference).split("\n")]
        if self.not_executed:
            lines.append(f"not executed: {self.not_executed}")
        return "\n  ".join(lines)

    def _summed_up(self) -> str:
        apart, total = self.different, count(len(self.comparison.modules), "module")
        if self.equal:
            return f" are equal: {total}"
        if not self.comparison.modules:
            return " have no module in common"
        if not apart:
            return f": {total} in common, with the same values in all"
        verb, most = "differs" if len(apart) == 1 else "differ", apart[0]
        far = f"by {share_words(most.relative)} of its size"
        if not np.isfinite(most.relative):
            far = "NaN or infinity on one side"
        return f": {len(apart)} of {total} {verb}, most {most.place}: {far}"

    def _lines(self) -> Iterator[str]:
        one, apart = self.comparison, self.different
        a, b = one.sides
        yield f"{a} and {b}" + self._summed_up()
        updates = [e for e in apart if e.kind == "update" and np.isfinite(e.cosine)]
        if updates:
            ratio = float(np.median([e.norms[1] / e.norms[0] for e in updates]))
            cosine = float(np.mean([e.cosine for e in updates]))
            yield (
                f"updates of {b} are {number(ratio)} x as large as those of {a} "
                f"(median); mean cosine {number(cosine)}"
            )
        yield from self._kinds()

    def _kinds(self) -> Iterator[str]:
        """Say what differs beside the values."""
        one = self.comparison
        if one.sizes[0] != one.sizes[1]:
            yield "sizes: " + " and ".join(map(size, one.sizes))
        for side, names in zip(one.sides, one.alone, strict=True):
            if names:
                yield f"{side} alone has {listed(names, SHOWN)}"
        if one.reshaped:
            kinds = [f"{name} ({left}, {right})" for name, left, right in one.reshaped]
            yield f"other in kind: {listed(kinds, SHOWN)}"
        if one.settings:
            said = [
                f"{key} {_short(x)} -> {_short(y)}" for _, key, x, y in one.settings
            ]
            yield f"settings: {listed(said, SHOWN)}"
        if self.tokenizers:
            yield f"the tokenizers differ in {listed(self.tokenizers, SHOWN)}"

    def size_of(self, summary: AdapterComparison) -> tuple[float, float]:
        """Give each block a row."""
        rows = blocks_of([each.place for each in summary.modules])
        return 9.6, min(2.0 + 0.22 * max(rows, 3), 9.0)

    def draw_on(self, figure: Canvas, summary: AdapterComparison) -> None:
        """Draw distance and angle by block and place."""
        figure.suptitle(
            "\n".join(textwrap.wrap(self.headline(), 110)),
            fontsize=9,
            x=0.01,
            ha="left",
        )
        shown = [e for e in summary.modules if e.distance] or list(summary.modules)
        places = [each.place for each in shown]
        left, right = figure.subplots(1, 2, squeeze=False)[0]
        draw_heat(
            left,
            places,
            [each.relative for each in shown],
            "distance, of the larger one's size",
            words=share_words,
        )
        angles = [float(np.degrees(np.arccos(each.cosine))) for each in shown]
        draw_heat(
            right,
            places,
            angles,
            "angle between both",
            words=lambda v: f"{v:.0f}°",
            most=90.0,
        )


def _badness(each: ComparedModule) -> tuple[bool, float]:
    finite = bool(np.isfinite(each.relative))
    return finite, -each.relative if finite else 0.0


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
