"""Hot swapping, and a bank of adapters: what they take, and whether outputs change."""

import math
import statistics
from collections.abc import Callable, Hashable
from dataclasses import astuple, fields

from ftlab.records.adapter_swap import Arm, Arms, Swap, Swapped
from ftlab.records.sizes import size
from ftlab.views.drawn import Canvas
from ftlab.views.style import SERIES, SEVERITY, count, number
from ftlab.views.view import Rows, View

PANELS = (
    ("seconds", 1e3, "the operation, ms (median)"),
    ("first", 1e3, "the first forward after it, ms"),
    ("nbytes", 1 / 1024, "memory, KiB"),
)


class SwapView(View["Swapped"]):
    """What hot swapping takes, and where it changes what it should not.

    Examples
    --------
    >>> from ftlab.records.adapter_swap import Swap, Swapped
    >>> from ftlab.views.adapters.swap import SwapView
    >>> one = Swap("load", "math", 0.008, 0.003, 0.002, 4096, 0, 6, 2, "layers.0.q")
    >>> SwapView(Swapped((one,), 3, (), 0, True))
    after load of math the model does not answer as it must: first at layers.0.q \
(2 of 6 answers)
      load: 8 ms, the first forward 3 ms, the next 2 ms, 4 KiB
    """

    title = "Hot swap"
    headings = tuple(each.name for each in fields(Swap))

    def __init__(self, swapped: Swapped) -> None:
        super().__init__(swapped)
        self.swapped = swapped

    @property
    def equal(self) -> bool:
        """Whether every answer was what it had to be, and nothing is left."""
        one = self.swapped
        apart = [each for each in one.swaps if each.unequal]
        return one.restored and not (one.left or one.mixed or apart)

    def headline(self) -> str:
        """Say in one line whether all outputs are what they must be."""
        one = self.swapped
        apart = [each for each in one.swaps if each.unequal]
        if apart:
            first = min(apart, key=lambda each: each.since)
            said = f"after {first.operation} of {first.adapter} the model does not "
            said += f"answer as it must: first at {first.where} ({first.unequal} of "
            return said + f"{count(first.checks, 'answer')})"
        if one.mixed:
            return _sent_words(one)
        if not one.restored:
            return "put back as it was found, the model answers something else"
        if one.left:
            return f"{size(one.left)} are left when all adapters are deleted"
        said = count(len({each.adapter for each in one.swaps}), "adapter")
        said += f" swapped in {count(one.rounds, 'round')}: "
        answers = count(sum(each.checks for each in one.swaps), "answer")
        return said + f"{answers}, all as they must be, bit for bit"

    def _table(self, summary: Swapped) -> Rows:
        return map(astuple, summary.swaps)

    def _text(self, summary: Swapped) -> str:
        lines = [self.headline(), *(_words(o, s) for o, s in _by_operation(summary))]
        if summary.sent.switches:
            lines += [_sent_words(summary), *map(_arm_words, summary.sent.arms)]
        for one, other in summary.alike[:3]:
            lines.append(f"note: {one} and {other} answer alike, and cannot be told")
        return "\n  ".join(lines)

    def draw_on(self, figure: Canvas, summary: Swapped) -> None:
        """Draw what operations and the forwards behind them take, and the memory."""
        colour = "black" if self.equal else SEVERITY["error"]
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left", color=colour)
        axes = figure.subplots(1, len(PANELS), squeeze=False, sharey=True)[0]
        done = _by_operation(summary)
        names = [n + " (unequal)" * any(e.unequal for e in of) for n, of in done]
        for axis, (what, scale, title) in zip(axes, PANELS, strict=True):
            values = [scale * _median(what, of) for _, of in done]
            bars = axis.barh(names, values, color=SERIES[0])
            axis.bar_label(bars, list(map(number, values)), fontsize=7, padding=2)
            axis.margins(x=0.2)
            axis.set_title(title, fontsize=8.5, loc="left")
            axis.tick_params(labelsize=7)
        axes[0].invert_yaxis()


def _by_operation(summary: Swapped) -> list[tuple[str, list[Swap]]]:
    names = dict.fromkeys(each.operation for each in summary.swaps)
    return [(n, [e for e in summary.swaps if e.operation == n]) for n in names]


def _words(operation: str, swaps: list[Swap]) -> str:
    names = ("seconds", "first", "second", "nbytes", "cuda")
    seconds, first, second, nbytes, cuda = (_median(name, swaps) for name in names)
    said = f"{operation}: {_ms(seconds)}, the first forward {_ms(first)}, "
    said += f"the next {_ms(second)}" + (f", {size(nbytes)}" if nbytes else "")
    return said + (f", {size(cuda)} on CUDA" if cuda else "")


def _median(name: str, swaps: list[Swap]) -> float:
    return statistics.median(getattr(each, name) for each in swaps)


def _sent_words(one: Swapped) -> str:
    total = sum(each.requests for each in one.sent.arms)
    said = f"{count(total, 'request')} from {count(one.threads, 'thread')} at once: "
    mixed = f"{one.mixed} not as their adapter alone, {one.wrong} as another one"
    said += mixed if one.mixed else "none was answered by a wrong adapter"
    changes = count(one.sent.switches, "change")
    return f"{said}; {changes} of adapter, routing takes {_ms(one.routing)} each"


class BankView(View["Arms"]):
    """What requests to each adapter of a bank took until now, which ``read`` returns.

    Examples
    --------
    >>> from ftlab.records.adapter_swap import Arm, Arms
    >>> from ftlab.views.adapters.swap import BankView
    >>> arms = Arms((Arm("math", 1.0, 3, 0, 0.001, 0.002, 0.02),), 1)
    >>> BankView(lambda: arms)
    3 requests, 1 change of the active adapter
      math (100% of keys): 3 requests, 20 ms each; waited 1 ms, at most 2 ms
    """

    title = "Bank"
    headings = tuple(each.name for each in fields(Arm))

    def __init__(self, read: Callable[[], Arms]) -> None:
        super().__init__()
        self._read = read

    def headline(self) -> str:
        """Say in one line what was asked."""
        return self._text(self.summary).split("\n")[0]

    def _stamp(self) -> Hashable:
        return repr(self._read())

    def _summarise(self) -> Arms:
        return self._read()

    def _table(self, summary: Arms) -> Rows:
        return map(astuple, summary.arms)

    def _text(self, summary: Arms) -> str:
        total = sum(each.requests for each in summary.arms)
        changes = f"{count(summary.switches, 'change')} of the active adapter"
        said = f"{count(total, 'request')}, {changes}"
        return "\n  ".join([said, *map(_arm_words, summary.arms)])

    def draw_on(self, figure: Canvas, summary: Arms) -> None:
        """Draw what a request of each adapter takes."""
        axis = figure.subplots()
        asked = [each for each in summary.arms if each.requests]
        names = [f"{each.adapter or 'the base'} ({each.requests})" for each in asked]
        waits, took = (
            [1e3 * getattr(e, n) for e in asked] for n in ("waited", "seconds")
        )
        axis.barh(names, waits, color=SERIES[1], label="waited")
        axis.barh(names, took, left=waits, color=SERIES[2], label="took")
        axis.set_title(self.headline() + "; ms of each", fontsize=9, loc="left")
        axis.tick_params(labelsize=7)
        axis.legend(fontsize=7)
        axis.invert_yaxis()


def _arm_words(arm: Arm) -> str:
    """Say what requests to one adapter took."""
    said = arm.adapter or "the base"
    said += "" if math.isnan(arm.share) else f" ({100 * arm.share:.3g}% of keys)"
    said += f": {count(arm.requests, 'request')}"
    if arm.requests:
        said += f", {_ms(arm.seconds)} each; waited {_ms(arm.waited)}, at most "
        said += _ms(arm.waited_most)
    return said + (f"; {arm.failed} failed" if arm.failed else "")


def _ms(seconds: float) -> str:
    return f"{number(1e3 * seconds)} ms"
