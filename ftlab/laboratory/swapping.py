"""Hot swapping, executed: what each operation takes, and whether it changes outputs.

Each adapter is first put on the model alone; what it answers there is what it must
answer ever after, whatever is loaded, activated or deleted beside it.
"""

import hashlib
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import torch

from ftlab.executions.listening import heard_modules
from ftlab.executions.nested import changed
from ftlab.executions.pairs import evaluating, side
from ftlab.executions.side import undisturbed
from ftlab.laboratory.bank import Bank
from ftlab.laboratory.mounting import Mounted
from ftlab.records.adapter_swap import Arms, Swap, Swapped
from ftlab.records.errors import BadValueError
from ftlab.records.places import place_of

PASSES = 200
"""Requests without a call, by which the cost of routing is measured."""


def swapped(
    model: torch.nn.Module,
    adapters: Mapping[str, Any],
    batch: Mapping[str, Any],
    rounds: int,
    requests: tuple[int, int],
) -> Swapped:
    """Do what `ftlab.swap` says; ``requests`` has their number and that of threads."""
    with (
        undisturbed(side(model, batch)),
        evaluating(model),
        torch.no_grad(),
        torch.compiler.set_stance("force_eager"),
    ):
        found = _answer(model, batch)[0]
        with Mounted(model) as mounted:
            trial = _Trial(mounted, batch)
            for name, source in adapters.items():
                trial.alone(name, source)
            for _ in range(rounds):
                trial.together(adapters)
            left = _live_bytes(mounted.model) - trial.nbytes
        restored = _answer(model, batch)[0] == found
        sent = _sent(model, adapters, batch, requests, trial.known)
    known = [(name or "the base", marks) for name, marks in trial.known.items()]
    alike = tuple((a, b) for (a, x), (b, y) in combinations(known, 2) if x == y)
    return Swapped(tuple(trial.swaps()), rounds, alike, left, restored, *sent)


def _answer(model: Any, batch: Mapping[str, Any]) -> tuple[str, float]:
    """Call a model; return a digest of its output, and the seconds it took."""
    began = _now()
    output = model(**batch)
    took = _now() - began
    return _digest(output), took


def _digest(output: Any) -> str:
    """Take a digest of the bits of all tensors in what a model returns."""
    found = hashlib.blake2b(digest_size=16)

    def add(_path: str, tensor: torch.Tensor) -> torch.Tensor:
        bits = tensor.detach().contiguous().cpu().flatten().view(torch.uint8)
        found.update(bits.numpy().data)
        return tensor

    changed(output, add)
    return found.hexdigest()


def _now() -> float:
    """Read the clock when the device has done what it was given."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def _live_bytes(model: torch.nn.Module) -> int:
    """Count the bytes behind parameters and buffers, each once."""
    tensors = [*model.parameters(), *model.buffers()]
    held = [t.untyped_storage() for t in tensors if not t.is_meta]
    return sum({each.data_ptr(): each.nbytes() for each in held}.values())


class _Trial:
    """Does one operation after the other, and holds each answer against what is known.

    Answers are known by the name of the adapter, that of the base by ``None``.
    """

    def __init__(self, mounted: Mounted, batch: Mapping[str, Any]) -> None:
        self.known: dict[str | None, str] = {}
        self.nbytes = _live_bytes(mounted.model)
        self._mounted, self._batch, self._done = mounted, batch, 0
        self._places: dict[str | None, dict[str, str]] = {}
        self._took: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
        self._parted: dict[tuple[str, str], list[Any]] = defaultdict(list)
        mounted.off()
        self._learn(None)
        mounted.on()
        if mounted.own:
            mounted.activate(mounted.own)
            self._learn(mounted.own)

    def alone(self, name: str, source: Any) -> None:
        """See what an adapter answers while no other one of the given is there."""
        self._mounted.load(name, source)
        self._mounted.activate(name)
        self._learn(name)
        self._mounted.delete(name)

    def together(self, adapters: Mapping[str, Any]) -> None:
        """Do all operations with all adapters, which are there together."""
        mounted, active = self._mounted, self._mounted.own
        for name, source in adapters.items():
            # PEFT activates the first adapter of a model by itself
            then = active if mounted.configs else name
            self._do("load", name, partial(mounted.load, name, source), then)
            self._do("activate", name, partial(mounted.activate, name), name)
            self._do("off", name, mounted.off, None)
            self._do("on", name, mounted.on, name)
            active = name
        names = list(adapters)
        for at, name in enumerate(names):
            self._do("activate", name, partial(mounted.activate, name), name)
            rest = next(iter(names[at + 1 :]), mounted.own)
            if rest:
                mounted.activate(rest)
            self._do("delete", name, partial(mounted.delete, name), rest)

    def swaps(self) -> Iterator[Swap]:
        """Yield what the operations took, and how often an answer was another one."""
        for key, took in self._took.items():
            medians = map(statistics.median, zip(*took, strict=True))
            parted = self._parted[key]
            where = (parted or [("", -1)])[0]
            counts: Any = 2 * len(took), len(parted), *where
            yield Swap(*key, *medians, *counts)

    def _do(
        self, operation: str, name: str, act: Callable[[], None], then: str | None
    ) -> None:
        """Time an operation, after which the model must answer as ``then`` does."""
        before, began = self._memory(), _now()
        act()
        took = _now() - began
        grown = [y - x for x, y in zip(before, self._memory(), strict=True)]
        answers = [_answer(self._mounted.model, self._batch) for _ in range(2)]
        for marks, _ in answers:
            if marks != self.known[then]:
                at = self._where(self._places[then]), self._done
                self._parted[operation, name].append(at)
        seconds = [each for _, each in answers]
        self._took[operation, name].append((took, *seconds, *grown))
        self._done += 1

    def _memory(self) -> tuple[int, int]:
        cuda = torch.cuda.memory_allocated() if torch.cuda.is_available() else 0
        return _live_bytes(self._mounted.model), cuda

    def _learn(self, name: str | None) -> None:
        """Keep what the model answers now, which it must answer again."""
        model = self._mounted.model
        self.known[name] = _answer(model, self._batch)[0]
        self._places[name] = self._heard()
        if _answer(model, self._batch)[0] != self.known[name]:
            msg = (
                f"{type(model).__name__} does not answer this batch twice alike, bit "
                "for bit; call torch.use_deterministic_algorithms(True) before."
            )
            raise BadValueError(msg)

    def _heard(self) -> dict[str, str]:
        """Take digests of what all modules return, in the order in which they do."""
        found: dict[str, str] = defaultdict(str)

        def keep(name: str, _module: Any, _args: Any, output: Any) -> None:
            found[name] += _digest(output)

        with ExitStack() as stack:
            for name, module in heard_modules(self._mounted.model):
                handle = module.register_forward_hook(partial(keep, name))
                stack.callback(handle.remove)
            self._mounted.model(**self._batch)
        return found

    def _where(self, known: dict[str, str]) -> str:
        """Name the first place that returns something else than it should."""
        found = self._heard()
        apart = (
            name for name, marks in known.items() if found[name] not in ("", marks)
        )
        return next(map(place_of, apart), "the output")


def _sent(
    model: torch.nn.Module,
    adapters: Mapping[str, Any],
    batch: Mapping[str, Any],
    requests: tuple[int, int],
    known: Mapping[str | None, str],
) -> tuple[Arms, int, int, int, float]:
    """Send requests to all adapters in turn, from several threads at once."""
    count, threads = requests
    if not count:
        return Arms(()), threads, 0, 0, 0.0
    with closing(Bank(model)) as bank:
        for name, source in adapters.items():
            bank.load(name, source)
        asked = [(None, *adapters)[at % (len(adapters) + 1)] for at in range(count)]
        pool = ThreadPoolExecutor(threads)
        try:
            ask = partial(bank.answer, call=lambda model: _answer(model, batch)[0])
            answers = list(pool.map(ask, asked))
        finally:
            pool.shutdown(cancel_futures=True)
        arms = bank.counted()
        stamps: list[float] = []
        for _ in range(PASSES):
            bank.answer(None, lambda _: stamps.append(time.perf_counter()))
        routing = statistics.median(y - x for x, y in pairwise(stamps))
    pairs = zip(asked, answers, strict=True)
    strange = [each for name, each in pairs if each != known[name]]
    wrong = sum(each in known.values() for each in strange)
    return arms, threads, len(strange), wrong, routing
