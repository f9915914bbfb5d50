"""What a tool costs before an anomaly, and what naming one costs.

The model is that of ``benchmarks/twin.py``: 8 layers, hidden size 512. All figures
are medians of CPU time, in multiples of the bare step that ran right before. Naming is
timed from the anomalous batch to the tool's answer: that step itself is part of it.
"""

import contextlib
import io
import itertools
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from benchmarks.anomalies.case import Batch, Live
from benchmarks.naming import lens
from benchmarks.naming.tools import TOOLS
from benchmarks.twin import Twin, batch

PLACES = ("forward, first layer", "forward, last layer", "backward", "optimizer")
KINDS = ("lora", "full")
WARM = 2
Costs = list[dict[str, Any]]


class Sick(Twin):
    """The twin of overhead's, in which an anomaly can be switched on."""

    def __init__(self, kind: str, place: str) -> None:
        super().__init__(kind)
        self._good = torch.ones(())
        self._place = place
        layers = self._layers()
        hook: Callable[..., Any] = self._in_backward
        if place.startswith("forward"):
            hook = self._in_forward
        if place != "optimizer":
            at = layers[0] if "first" in place else layers[-1]
            at.mlp.register_forward_hook(hook)

    def break_down(self) -> None:
        """Plant the anomaly: the next step is ill."""
        self._good.zero_()
        if self._place == "optimizer":
            self.optimizer.param_groups[0]["weight_decay"] = float("inf")

    def _layers(self) -> Any:
        names = dict(self.model.named_modules())
        return next(m for n, m in names.items() if n.endswith("model.layers"))

    def _in_forward(self, _module: Any, _args: Any, output: torch.Tensor) -> Any:
        return output * (self._good / self._good)

    def _in_backward(self, _module: Any, _args: Any, output: torch.Tensor) -> Any:
        return output + (output * 0 + self._good).sqrt()


class Feed:
    """Batches that are timed: bare steps of a twin between those of the tool."""

    def __init__(self, sick: Sick, kind: str, count: int, anomalous: bool) -> None:
        self._sick, self._plain = sick, Twin(kind)
        self._count, self._anomalous = count, anomalous
        self.bare: list[float] = []
        self.armed: list[float] = []
        self.began = 0.0

    def __iter__(self) -> Iterator[Batch]:
        for index in range(self._count + WARM):
            if index:
                self.armed.append(time.process_time() - self.began)
            before = time.process_time()
            self._plain.step(batch(index))
            self.bare.append(time.process_time() - before)
            if self._anomalous and index == self._count + WARM - 1:
                self._sick.break_down()
            self.began = time.process_time()
            yield batch(index)

    def ratios(self) -> list[float]:
        """Give what armed steps cost over the bare steps before them."""
        pairs = zip(self.armed[WARM:], self.bare[WARM:], strict=False)
        return [armed / bare for armed, bare in pairs]


def measure(tools: Sequence[str], repeats: int) -> Costs:
    """Measure arming and naming for each kind of training."""
    found: Costs = []
    for kind, tool in itertools.product(KINDS, tools):
        found.append(_armed(tool, kind, 4 * repeats))
        print(written(found[-1]), flush=True)
        for place in PLACES:
            found.append(_named(tool, kind, place, repeats))
            print(written(found[-1]), flush=True)
    return found


def written(cost: dict[str, Any]) -> str:
    """Write one figure."""
    words = (
        f"{cost['kind']:5} {cost['tool']:23} {cost['what']:21} {cost['times']:6.2f} x"
    )
    return words + ("" if cost["named"] else "  (not named)")


def rows(costs: Costs) -> list[list[str]]:
    """Make a table: a row for each kind and tool, a column for each figure."""
    columns = list(dict.fromkeys(cost["what"] for cost in costs))
    table = [["kind", "tool", *columns]]
    for kind, tool in dict.fromkeys((cost["kind"], cost["tool"]) for cost in costs):
        own = {c["what"]: c for c in costs if (c["kind"], c["tool"]) == (kind, tool)}
        cells = [
            f"{own[what]['times']:.2f}" if own[what]["named"] else "not named"
            for what in columns
        ]
        table.append([kind, tool, *cells])
    return table


def _armed(tool: str, kind: str, count: int) -> dict[str, Any]:
    sick = Sick(kind, PLACES[0])
    feed = Feed(sick, kind, count, anomalous=False)
    _use(tool, sick, feed)
    times = statistics.median(feed.ratios())
    return {"kind": kind, "tool": tool, "what": "armed", "times": times, "named": True}


def _named(tool: str, kind: str, place: str, repeats: int) -> dict[str, Any]:
    ratios, named = [], True
    for _ in range(repeats):
        sick = Sick(kind, place)
        feed = Feed(sick, kind, 2, anomalous=True)
        claim = _use(tool, sick, feed)
        spent = time.process_time() - feed.began
        named = named and claim is not None and claim.phase == place.partition(",")[0]
        ratios.append(spent / statistics.median(feed.bare[1:]))
    times = statistics.median(ratios)
    return {"kind": kind, "tool": tool, "what": place, "times": times, "named": named}


def _use(tool: str, sick: Sick, feed: Feed) -> Any:
    """Run a tool; TorchLens is asked about each batch before its step."""
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Tools take batches one by one; that it is no list matters to none of them.
        live = Live(sick.model, sick.optimizer, sick.step, feed)  # type: ignore[arg-type]
        if tool != "TorchLens":
            return TOOLS[tool](live)
        claim = None
        module = lens.Loss(sick.model, lens.until_backward(sick.step))
        for data in feed:
            claim = lens.ask(module, data)
            if claim:
                return claim
            sick.step(data)
        return claim
