"""Loss and time of an adapter that is cut to smaller ranks."""

from ftlab.records.name_words import listed
from ftlab.records.truncated_ranks import RanksByLayer, TruncatedRank, TruncatedRanks
from ftlab.views.drawn import Canvas
from ftlab.views.style import SERIES, count, number
from ftlab.views.view import Rows, View

CLOSE = 0.01
"""Share of what the adapter gains that a smaller rank may lose to be named."""

NAMED = 4
"""Ranks, and layers of each, that the text names."""


class RanksView(View["TruncatedRanks"]):
    """What a smaller rank would do: loss and time against rank.

    Examples
    --------
    >>> from ftlab.records.truncated_ranks import TruncatedRank, TruncatedRanks
    >>> from ftlab.views.adapters.ranks import RanksView
    >>> ranks = [(8, 1.0, 0.04), (2, 1.004, 0.03), (0, 2.0, 0.03)]
    >>> rows = [TruncatedRank(r, loss, s, 1.0) for r, loss, s in ranks]
    >>> RanksView(TruncatedRanks(tuple(rows), 0.03, 8, without=2.0))
    rank 2 of 8 keeps 99 % of what the adapter gains on this batch: loss 1 -> 1.004, \
2 without it
      rank 8: loss 1, 40.0 ms
      rank 2: loss 1.004, 30.0 ms
      rank 0: loss 2, 30.0 ms
      without the adapter, or merged: 30.0 ms
    """

    title = "Ranks"
    headings = ("rank", "loss", "seconds", "kept")

    def __init__(self, ranks: TruncatedRanks) -> None:
        super().__init__(ranks)
        self.ranks = ranks

    @property
    def enough(self) -> TruncatedRank | None:
        """The smallest rank that keeps 99 % of what the adapter gains on the batch."""
        if not self._gained > 0:
            return None
        most = self.ranks.ranks[0].loss + CLOSE * self._gained
        close = [each for each in self.ranks.ranks if each.loss <= most]
        return min(close, key=lambda each: each.rank)

    @property
    def _gained(self) -> float:
        return self.ranks.without - self.ranks.ranks[0].loss

    @property
    def by_layer(self) -> RanksByLayer | None:
        """Ranks by layer that keep 99 % of what the adapter gains on the batch."""
        most = self.ranks.ranks[0].loss + CLOSE * self._gained
        close = (each for each in self.ranks.by_layer if each.loss <= most)
        return next(close, None) if self._gained > 0 else None

    @property
    def patterns(self) -> dict[str, dict[str, float]]:
        """What a `LoraConfig` takes to train with the ranks of `by_layer`.

        ``rank_pattern``, and the ``alpha_pattern`` with which alpha / r stays as it is
        (of rsLoRA, alpha / sqrt(r)). Empty where no ranks by layer keep the gain.
        """
        found = self.by_layer
        layers = [each for each in found.layers if each.enough] if found else []
        if not layers:
            return {}
        return {
            "rank_pattern": {each.name: each.enough for each in layers},
            "alpha_pattern": {each.name: each.alpha for each in layers},
        }

    def headline(self) -> str:
        """Say which rank would do."""
        whole, without, enough = self.ranks.ranks[0], self.ranks.without, self.enough
        if enough is None:
            return (
                f"on this batch the adapter gains nothing: loss {whole.loss:.5g}, "
                f"{without:.5g} without it"
            )
        if enough.rank == self.ranks.rank:
            tried = next(e for e in self.ranks.ranks if e.rank < enough.rank)
            return (
                f"no smaller rank tried keeps 99 % of what the adapter gains on this "
                f"batch: rank {tried.rank} loses {number(tried.loss - whole.loss)} of "
                f"{number(self._gained)}"
            )
        return (
            f"rank {enough.rank} of {self.ranks.rank} keeps 99 % of what the adapter "
            f"gains on this batch: loss {whole.loss:.5g} -> {enough.loss:.5g}, "
            f"{without:.5g} without it"
        )

    def _table(self, summary: TruncatedRanks) -> Rows:
        return summary.ranks

    def _text(self, summary: TruncatedRanks) -> str:
        lines = [self.headline()]
        lines += [
            f"rank {e.rank}: loss {e.loss:.5g}, {1e3 * e.seconds:.1f} ms"
            for e in summary.ranks
        ]
        lines.append(f"without the adapter, or merged: {1e3 * summary.plain:.1f} ms")
        if summary.uncut:
            lines.append(f"{count(summary.uncut, 'pair')} of experts cannot be cut")
        return "\n  ".join([*lines, *self.suggestion()])

    def suggestion(self) -> list[str]:
        """Say which layers could do with less, and which have no rank to spare."""
        found = self.by_layer
        if found is None:
            return []
        if all(each.enough == each.rank for each in found.layers):
            return ["by layer: there is no rank to spare anywhere; more may help"]
        less = [each for each in found.layers if each.enough < each.rank]
        full = [each for each in found.layers if each.enough == each.rank]
        left = sum(each.enough for each in found.layers)
        share = left / max(sum(each.rank for each in found.layers), 1)
        lines = [
            f"by layer: {share:.0%} of the rank keeps {found.share:.1%} of each update,"
            f" loss {found.loss:.5g} (.patterns has it for LoraConfig)"
        ]
        by_rank: dict[tuple[int, int], list[str]] = {}
        for each in sorted(less, key=lambda e: e.enough / e.rank):
            by_rank.setdefault((each.enough, each.rank), []).append(each.place)
        lines += [
            f"  {enough} of {rank}: {listed(places, NAMED)}"
            for (enough, rank), places in list(by_rank.items())[:NAMED]
        ]
        if full:
            lines.append(
                f"  no rank to spare: {listed([e.place for e in full], NAMED)}; here "
                "more may help"
            )
        return lines

    def draw_on(self, figure: Canvas, summary: TruncatedRanks) -> None:
        """Draw loss and time against rank."""
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")
        left, right = figure.subplots(1, 2, squeeze=False)[0]
        ranks = [each.rank for each in summary.ranks]
        losses = [each.loss for each in summary.ranks]
        took = [1e3 * each.seconds for each in summary.ranks]
        left.plot(ranks, losses, marker="o", color=SERIES[0])
        right.plot(ranks, took, marker="o", color=SERIES[1], label="beside the base")
        right.axhline(
            1e3 * summary.plain,
            color=SERIES[2],
            ls="--",
            label="without it, or merged",
        )
        right.set_ylim(bottom=0)
        right.legend(fontsize=7)
        for axis, title in ((left, "loss"), (right, "forward, ms")):
            axis.set_title(title, fontsize=8.5, loc="left")
            axis.set_xlabel("rank", fontsize=8)
            axis.tick_params(labelsize=7)
