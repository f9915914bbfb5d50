"""The view of LoRA's spectra: how many directions each update uses, over the steps."""

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from ftlab.records.name_words import listed
from ftlab.records.names import NameRecord
from ftlab.records.places import place_of
from ftlab.runlog.spectra import Spectra, spectra_of
from ftlab.views.adapters.heat import blocks_of, draw_heat
from ftlab.views.drawn import Axes, Canvas
from ftlab.views.layers.lora_summary import RAW_STEPS
from ftlab.views.style import count
from ftlab.views.view import Rows, RunView

NAMED = 3
"""Pairs that a line of text names."""
GROUPS = 6
LATEST = 512
"""Steps that hold a measurement of every pair, also of large ranks."""


class SpectraView(RunView[Spectra]):
    """How the energy of each LoRA update is spread over its directions, over the steps.

    The energy of an update is the sum of the squared singular values of B A. One that
    has 90 % of it in 2 of 16 directions would be nearly the same matrix at rank 2.
    Whether it would be as good is what ``ftlab.adapters(model, batch, ranks=(2,))``
    measures; an update that needs all of its directions may have use for more.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.names import NameRecord
    >>> from ftlab.records.step import Block, StepRecord
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.layers.spectra import SpectraView
    >>> run = Run()
    >>> meta = {"role": "lora_pair", "module": "model.layers.0.mlp.up_proj", "r": 4}
    >>> run.append(NameRecord(0, "adapters", "up", "adapter", "layers.0", meta=meta))
    >>> values = {"ba_l2": 2.0, "rank_90": 2.0, "beyond_1": 0.3, "beyond_2": 0.02}
    >>> values = {name: np.float32([value]) for name, value in values.items()}
    >>> run.append(Block("adapters", 0, np.zeros(1, np.int32), values))
    >>> run.append(StepRecord(0, time=0.0))
    >>> SpectraView(run)
    Ranks in use: 90 % of the updates' energy is in 2 of 4 directions (step 0)
      2 of 4: layers.0.mlp.up
    """

    title = "Ranks in use"

    def headline(self) -> str:
        """Say how many directions the updates used in the latest measurement."""
        run = self._run
        return _headline(spectra_of(run.window(max(run.last_step - LATEST, 0))))

    def _stamp(self) -> Hashable:
        return id(self._run), self._run.last_step, len(self._run.names("adapters"))

    def _summarise(self) -> Spectra:
        return spectra_of(self._run, 64 if self._run.last_step > RAW_STEPS else 1)

    def _table(self, summary: Spectra) -> Rows:
        needed = summary.needed
        at, pair = np.nonzero(~np.isnan(needed))
        records = [summary.pairs[each] for each in pair]
        return {
            "step": summary.steps[at],
            "place": [_place(each) for each in records],
            "adapter": [each.meta.get("adapter", "") for each in records],
            "r": summary.ranks[pair],
            "needed": needed[at, pair].astype(int),
            **{
                f"beyond_{cut}": summary.beyond[index, at, pair]
                for index, cut in enumerate(summary.cuts)
            },
        }

    def size_of(self, summary: Spectra) -> tuple[float, float]:
        """Give each block a row."""
        rows = blocks_of([_place(each) for each in summary.pairs])
        return 9.6, min(1.9 + 0.22 * max(rows, 3), 9.0)

    def draw_on(self, figure: Canvas, summary: Spectra) -> None:
        """Draw the energy by direction over the steps, and the ranks needed last."""
        figure.suptitle(_headline(summary), fontsize=9, x=0.01, ha="left")
        latest = _latest(summary)
        if not np.isfinite(latest).any():
            return
        left, right = figure.subplots(1, 2)
        _draw_bands(left, summary)
        draw_heat(
            right,
            [_place(each) for each in summary.pairs],
            latest.tolist(),
            f"directions that hold 90 % of the energy, r {_span(summary.ranks)}",
            words=lambda value: f"{value:.0f}",
            most=float(summary.ranks.max()),
        )

    def _text(self, summary: Spectra) -> str:
        nothing = "the spectrum of no LoRA pair was recorded"
        lines = [f"{self.title}: {_headline(summary) or nothing}"]
        latest = _latest(summary)
        groups: dict[tuple[int, int], list[str]] = {}
        order = np.argsort(latest / np.maximum(summary.ranks, 1), kind="stable")
        for at in (int(each) for each in order if np.isfinite(latest[each])):
            key = int(latest[at]), int(summary.ranks[at])
            groups.setdefault(key, []).append(_place(summary.pairs[at]))
        for (used, rank), places in list(groups.items())[:GROUPS]:
            lines.append(f"  {used} of {rank}: {listed(places, NAMED)}")
        return "\n".join(lines)


def _headline(summary: Spectra) -> str:
    latest = _latest(summary)
    known = np.isfinite(latest)
    if not known.any():
        return "no spectrum of a LoRA update was taken yet" if summary.pairs else ""
    used, ranks = latest[known], summary.ranks[known]
    full = int((used >= ranks).sum())
    said = f"90 % of the updates' energy is in {_span(used)} of {_span(ranks)} "
    said += f"directions (step {int(summary.steps[-1])}"
    if len(used) > 1:
        said += f", {count(len(used), 'layer')}, median {np.median(used):.0f}"
    return said + (f"; {full} use all" if full and len(used) > 1 else "") + ")"


def _latest(summary: Spectra) -> NDArray[np.float64]:
    """Return what each pair needed when it was last measured."""
    needed = summary.needed
    if not len(needed):
        return np.full(len(summary.pairs), np.nan)
    known = ~np.isnan(needed)
    last = len(needed) - 1 - known[::-1].argmax(0)
    found: NDArray[np.float64] = needed[last, np.arange(needed.shape[1])]
    return found


def _span(values: NDArray[np.generic]) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"


def _place(pair: NameRecord) -> str:
    return place_of(str(pair.meta.get("module", pair.name)))


def _draw_bands(axis: Axes, summary: Spectra) -> None:
    """Stack the mean shares of the energy in the first direction, the second, ..."""
    from matplotlib import colormaps

    known = ~np.isnan(summary.beyond)
    with np.errstate(invalid="ignore"):  # of a damaged column nothing is known
        beyond = np.nansum(summary.beyond, axis=2) / known.sum(axis=2)
    bounds = [1, *summary.cuts]
    edges = np.concatenate([np.ones((1, len(summary.steps))), beyond])
    parts = [*(edges[:-1] - edges[1:]), edges[-1]]
    colours = colormaps["viridis"](np.linspace(0.1, 0.95, len(parts)))
    for index, part in enumerate(parts):
        first = 1 if index == 0 else bounds[index] + 1
        last = [*summary.cuts, int(summary.ranks.max())][index]
        label = _nth(last) if first == last else f"{_nth(first)} to {_nth(last)}"
        below = np.sum(parts[:index], axis=0) if index else np.zeros(len(part))
        axis.fill_between(
            summary.steps,
            below,
            below + part,
            color=colours[index],
            label=label,
            linewidth=0,
            step="mid" if len(summary.steps) > 1 else None,
        )
    axis.set_ylim(0, 1)
    axis.set_title("share of the energy by direction (mean)", fontsize=8.5, loc="left")
    axis.set_xlabel("step", fontsize=8)
    axis.tick_params(labelsize=7)
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axis.legend(fontsize=7, title="direction", title_fontsize=7, loc="lower right")


def _nth(place: int) -> str:
    """Write 1st, 2nd, 3rd and so on."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{place}{'th' if 10 < place % 100 < 14 else ends.get(place % 10, 'th')}"
