"""Adapters by layer: what they change, and how much of their rank they use."""

import textwrap
from collections.abc import Iterator, Sequence

import numpy as np

from ftlab.records.adapter_anatomy import AdaptedLayer, AdapterAnatomy
from ftlab.views.adapters.combination import CombinationView
from ftlab.views.adapters.gates import GatesView
from ftlab.views.adapters.heat import blocks_of, draw_heat, share_words
from ftlab.views.adapters.quantisation import QuantisationView
from ftlab.views.adapters.ranks import RanksView
from ftlab.views.drawn import Canvas
from ftlab.views.style import count, number
from ftlab.views.view import Rows, View

SHARE = 0.9
"""Of the energy, the sum of squared singular values: what carries it is in use."""


class AdapterView(View["AdapterAnatomy"]):
    """A model's adapters, as a sentence, a heatmap by block and a table.

    Attributes
    ----------
    anatomy
        All that was measured.
    quantisation
        The base in few bits; ``None`` where it is in floating point.
    ranks
        What smaller ranks would do; ``None`` where that was not asked.
    combinations
        What each way to combine adapters loses; ``None`` where that was not asked.
    gates
        How much each of several adapters counts, of AdapterFusion and X-LoRA; ``None``
        where nothing weighs them, or without a batch.

    Examples
    --------
    >>> from ftlab.records.adapter_anatomy import AdaptedLayer, AdapterAnatomy
    >>> from ftlab.views.adapters.anatomy import AdapterView
    >>> one = AdaptedLayer(
    ...     "h.0.q", "layers.0.q", "a", "IA3", 8, 8, "float32", 2.8, "active", 0.1
    ... )
    >>> AdapterView(AdapterAnatomy((one,), {"a": "IA3"}, {"a": 8}))
    Adapters: a (IA3) on 1 layer, 8 trained parameters, active
      what layers return moves by 10% (median), most at layers.0.q: 10%
    """

    title = "Adapters"

    def __init__(
        self,
        anatomy: AdapterAnatomy,
        quantisation: QuantisationView | None = None,
        ranks: RanksView | None = None,
        combinations: CombinationView | None = None,
    ) -> None:
        super().__init__(anatomy)
        self.anatomy = anatomy
        self.quantisation = quantisation
        self.ranks = ranks
        self.combinations = combinations
        self.gates = GatesView(anatomy.gates) if anatomy.gates else None

    def headline(self) -> str:
        """Say in one line what there is."""
        return repr(self).split("\n")[0].removeprefix("Adapters: ")

    def _table(self, summary: AdapterAnatomy) -> Rows:
        return [
            {
                "place": each.place,
                "name": each.name,
                "adapter": each.adapter,
                "method": each.method,
                "state": each.state,
                "parameters": each.parameters,
                "trainable": each.trainable,
                "dtype": each.dtype,
                "norm": each.norm,
                "effect": each.effect,
                "rank": each.rank or None,
                "effective_rank": each.effective_rank,
                "rank_90": each.rank_of(SHARE) or None,
                "scaling": each.scaling,
                "update_norm": float(np.linalg.norm(each.singular_values))
                if each.singular_values.size
                else float("nan"),
                "weight_norm": each.weight,
                "intruders": None if each.intruders < 0 else each.intruders,
            }
            for each in summary.layers
        ]

    def _text(self, summary: AdapterAnatomy) -> str:
        lines = _lines(summary) if summary.settings else []
        if self.quantisation is not None:
            prepared = self.quantisation.preparation is not None
            said = repr(self.quantisation).split("\n")[: 2 + prepared]
            lines.append(("  " if lines else "") + said[0])
            lines += [f"  {each.strip()}" for each in said[1:]]
        if self.gates is not None:
            lines.append(f"  {self.gates.headline()}")
        if self.ranks is not None:
            lines.append(f"  {self.ranks.headline()}")
            lines += [f"  {line}" for line in self.ranks.suggestion()[:1]]
        if self.combinations is not None:
            lines.append(f"  {self.combinations.headline()}")
        return "\n".join(lines)

    def size_of(self, summary: AdapterAnatomy) -> tuple[float, float]:
        """Give each block a row."""
        if not summary.layers and self.quantisation is not None:
            return self.quantisation.size_of(self.quantisation.layers)
        rows = blocks_of([each.place for each in summary.layers])
        return 9.6, min(2.1 + 0.22 * max(rows, 3), 9.2)

    def draw_on(self, figure: Canvas, summary: AdapterAnatomy) -> None:
        """Draw effects by block and place, and beside them the ranks in use."""
        if not summary.layers and self.quantisation is not None:
            self.quantisation.draw_on(figure, self.quantisation.layers)
            return
        shown = [each for each in summary.layers if np.isfinite(each.effect)]
        said = textwrap.wrap(self.headline(), 110)
        said += [_effect_words(shown)] if shown else []
        figure.suptitle("\n".join(said), fontsize=9, x=0.01, ha="left")
        ranked = [e for e in _in_use(summary.layers) if e.singular_values.size]
        panels = [
            (shown or list(summary.layers), bool(shown), "effect"),
            *([(ranked, True, "rank")] if ranked else []),
        ]
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, (layers, measured, kind) in zip(axes, panels, strict=True):
            most, words = 0.0, share_words
            if kind == "rank":
                values = [float(each.rank_of(SHARE)) for each in layers]
                most = float(max(each.rank for each in layers))
                title = f"directions that carry {SHARE:.0%} of the update, r {most:.0f}"
                words = "{:.0f}".format
            elif measured:
                values = [each.effect for each in layers]
                title = "what a layer returns is moved by"
            else:
                values = [_update_share(each) for each in layers]
                title = "size of the update, of the weight's"
                measured = any(np.isfinite(values))
                if not measured:
                    values = [each.norm for each in layers]
                    title = "norm of the adapter's parameters"
            if not measured:
                words = number
            places = [each.place for each in layers]
            draw_heat(axis, places, values, title, words=words, most=most)


def _lines(anatomy: AdapterAnatomy) -> list[str]:
    lines = []
    for adapter, settings in anatomy.settings.items():
        layers = [each for each in anatomy.layers if each.adapter == adapter]
        states = sorted({each.state for each in layers})
        lines.append(
            f"{adapter} ({settings}) on {count(len(layers), 'layer')}, "
            f"{count(anatomy.shared.get(adapter, 0), 'trained parameter')}, "
            + (" and ".join(states) or "nowhere")
        )
        lines += _scaling_words(layers, settings)
    lines[0] = f"Adapters: {lines[0]}"
    effects = [each for each in anatomy.layers if np.isfinite(each.effect)]
    if effects:
        lines.append("  " + _effect_words(effects))
    if np.isfinite(anatomy.moved):
        lines.append(
            f"  the next token's distribution moves by {number(anatomy.moved)} nats "
            f"(mean KL); the likeliest one is another at {anatomy.turned:.0%}"
        )
    lines += _ill(anatomy)
    ranked = [e for e in _in_use(anatomy.layers) if e.singular_values.sum() > 0]
    if ranked:
        used = [each.rank_of(SHARE) / each.rank for each in ranked if each.rank]
        lines.append(
            f"  {SHARE:.0%} of the update's energy is in "
            f"{np.median(used):.0%} of the rank (median), "
            f"from {min(used):.0%} to {max(used):.0%}"
        )
    strange = [each for each in anatomy.layers if each.intruders >= 0]
    if strange:
        most = max(strange, key=lambda each: each.intruders)
        lines.append(
            f"  {most.intruders} of the ten largest directions at {most.place} are "
            f"new to the base, the most of {count(len(strange), 'layer')} looked at"
        )
    lines += [f"  note: {note}" for note in anatomy.notes[:3]]
    more = len(anatomy.notes) - 3
    return [*lines, f"  and {more} more"] if more > 0 else lines


def _scaling_words(layers: Sequence[AdaptedLayer], settings: str) -> Iterator[str]:
    """Say what alpha and r come to: a factor, and a share of the weights."""
    low = [each for each in layers if each.rank > 0]
    if not low:
        return
    factors = [each.scaling for each in low]
    one = low[int(np.argmax(factors))]
    root = one.rank**0.5
    by_root = "rsLoRA" in settings
    formula, other = "alpha / sqrt(r)", ("alpha / r", one.scaling / root)
    if not by_root:
        formula, other = "alpha / r", ("rsLoRA", one.scaling * root)
    least = min(factors)
    said = f"  B A is multiplied by {number(least)}"
    said += f" to {number(one.scaling)}" if one.scaling > least * (1 + 1e-9) else ""
    said += f" ({formula}; {other[0]} would make it {number(other[1])})"
    shares = [each for each in low if _update_share(each) > 0]
    if shares:
        most = max(shares, key=_update_share)
        median = float(np.median([_update_share(each) for each in shares]))
        said += f": {share_words(median)} of the weight (median), most at {most.place}"
        said += f" ({share_words(_update_share(most))})"
    yield said


def _in_use(layers: Sequence[AdaptedLayer]) -> list[AdaptedLayer]:
    """Return what is active, or all where nothing is."""
    return [each for each in layers if each.state == "active"] or list(layers)


def _update_share(each: AdaptedLayer) -> float:
    if not each.singular_values.size or not each.weight > 0:
        return float("nan")
    return float(np.linalg.norm(each.singular_values)) / each.weight


def _ill(anatomy: AdapterAnatomy) -> list[str]:
    """Say which layers hold what cannot be right: NaN, or an update of 0."""
    lines = []
    infinite = [
        each
        for each in anatomy.layers
        if each.singular_values.size and not np.isfinite(each.singular_values).all()
    ]
    if infinite:
        lines.append(
            f"  NaN or infinity in {count(len(infinite), 'layer')}, first at "
            f"{infinite[0].place}"
        )
    low = [each for each in _in_use(anatomy.layers) if each.singular_values.size]
    still = [each for each in low if not each.singular_values.any()]
    if still:
        lines.append(
            f"  B A is 0 in {len(still)} of {count(len(low), 'layer')}: as before the "
            "first step, they add nothing"
        )
    return lines


def _effect_words(layers: Sequence[AdaptedLayer]) -> str:
    still = [each for each in layers if each.effect == 0]
    if len(still) == len(layers):
        return (
            "they change nothing on this batch: every layer returns what it returns "
            "without them"
        )
    most = max(layers, key=lambda each: each.effect)
    median = float(np.median([each.effect for each in layers]))
    said = (
        f"what layers return moves by {share_words(median)} (median), most at "
        f"{most.place}: {share_words(most.effect)}"
    )
    return said + (f"; not at all in {count(len(still), 'layer')}" if still else "")
