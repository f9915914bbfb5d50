"""A bank of adapters on one live model: each request gets the one it asks for.

Who calls whom: `Bank.answer` passes a request through a `Gate`, which lets `Mounted`
activate an adapter only while no request of another is under way. Loading and deleting
pass through it alone.
"""

import hashlib
import math
import statistics
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, nullcontext
from typing import Any

import torch

from ftlab.executions.pairs import evaluating
from ftlab.laboratory.gate import Gate
from ftlab.laboratory.mounting import Mounted
from ftlab.records.adapter_swap import Arm, Arms
from ftlab.records.errors import BadValueError

KEPT = 4096
"""Latest requests of each adapter of which times are kept."""
_NOT_GIVEN: Any = object()


class Bank:
    """Adapters on one live model, and requests of several threads to them.

    Parameters
    ----------
    model
        A PeftModel, or a base without adapters.
    shares
        By adapter (``None``: the base alone), the part of all keys that it answers.
    salt
        Makes the arms of one experiment independent of those of another.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        shares: Mapping[str | None, float] | None = None,
        salt: str = "",
    ) -> None:
        self.shares = shares or {}
        self.salt = salt
        self._closed = False
        self._stack = ExitStack()
        self._stack.enter_context(evaluating(model))
        try:
            self._mounted = self._stack.enter_context(Mounted(model))
        except BaseException:
            self._stack.close()
            raise
        self._gate = Gate(self._switch)
        self._prompts = threading.Lock()
        self._counting = threading.Lock()
        self._requests: dict[str | None, list[int]] = defaultdict(lambda: [0, 0])
        self._times: dict[str | None, deque[tuple[float, float]]] = defaultdict(
            lambda: deque(maxlen=KEPT)
        )

    @property
    def shares(self) -> dict[str | None, float]:
        """By adapter, the part of all keys that it answers; may be set anew.

        Keys stay with the first one when its share grows.
        """
        return self._shares

    @shares.setter
    def shares(self, given: Mapping[str | None, float]) -> None:
        self._shares = _checked(given)

    @property
    def names(self) -> tuple[str, ...]:
        """Adapters that requests can ask for."""
        return tuple(self._mounted.names)

    def load(self, name: str, source: Any) -> None:
        """Load an adapter, as soon as no request is under way."""
        self._refuse(None)
        with self._gate.alone():
            self._mounted.load(name, source)

    def delete(self, name: str) -> None:
        """Delete an adapter that was loaded here, when no request is under way."""
        if self._shares.get(name):
            msg = (
                f"{name!r} answers {self._shares[name]:.0%} of the keys; set "
                "bank.shares without it before it is deleted."
            )
            raise BadValueError(msg)
        with self._gate.alone():
            self._mounted.delete(name)

    def close(self) -> None:
        """Wait for the requests under way, and put the model back as it was."""
        self._closed = True
        with self._gate.alone():
            self._stack.close()

    def route(self, key: str | int | bytes) -> str | None:
        """Return the adapter that answers a key: always the same one of it."""
        if not self._shares:
            msg = "the bank has no shares; set bank.shares = {'a': 0.9, 'b': 0.1}."
            raise BadValueError(msg)
        if isinstance(key, bool) or not isinstance(key, str | int | bytes):
            msg = f"key is a {type(key).__name__}; pass a user's name or number."
            raise BadValueError(msg)
        told = key if isinstance(key, bytes) else str(key).encode()
        found = hashlib.blake2b(self.salt.encode() + b"\0" + told, digest_size=8)
        place, end = int.from_bytes(found.digest()) / 2**64, 0.0
        for name, share in self._shares.items():
            end += share
            if place < end:
                return name
        return next(name for name in reversed(self._shares) if self._shares[name])

    def answer(self, adapter: str | None, call: Callable[[Any], Any]) -> Any:
        """Run ``call`` on the model while that adapter is active."""
        self._refuse(adapter)
        began = 0.0
        try:
            with self._gate.passing(adapter) as waited, torch.no_grad():
                self._refuse(adapter)  # it may have gone meanwhile
                began = time.perf_counter()
                output = call(self._mounted.model)
                self._count(adapter, waited, time.perf_counter() - began)
                return output
        except BaseException:
            if began:
                with self._counting:
                    self._requests[adapter][1] += 1
            raise

    def chosen(self, adapter: Any = _NOT_GIVEN, key: Any = None) -> str | None:
        """Return the adapter that a request names, or that its key has."""
        if (adapter is _NOT_GIVEN) == (key is None):
            msg = "pass adapter=name (None: the base alone), or key=user."
            raise BadValueError(msg)
        named: str | None = self.route(key) if adapter is _NOT_GIVEN else adapter
        return named

    def __call__(
        self, batch: Mapping[str, Any], *, adapter: Any = _NOT_GIVEN, key: Any = None
    ) -> Any:
        """Return what the model returns for a batch, with one adapter.

        Parameters
        ----------
        batch
            Keyword arguments of the model.
        adapter
            Its name; ``None`` for the base alone.
        key
            In the place of ``adapter``: whom the shares give an adapter.
        """
        return self.answer(
            self.chosen(adapter, key), lambda model: model(**dict(batch))
        )

    def generate(
        self, *, adapter: Any = _NOT_GIVEN, key: Any = None, **arguments: Any
    ) -> Any:
        """Return what ``model.generate(**arguments)`` returns, with one adapter."""

        def call(model: Any) -> Any:
            # PEFT changes methods of the model while it generates behind a prompt
            with self._prompts if self._mounted.has_prompts else nullcontext():
                return model.generate(**arguments)

        return self.answer(self.chosen(adapter, key), call)

    def counted(self) -> Arms:
        """Return what requests took until now."""
        with self._counting:
            counts = {name: tuple(n) for name, n in self._requests.items()}
            times = {name: list(each) for name, each in self._times.items()}
        names = dict.fromkeys([*self._shares, *self.names, *counts])
        arms = (
            _arm(name, self._shares.get(name), counts.get(name, (0, 0)), times)
            for name in names
        )
        return Arms(tuple(arms), self._gate.switches)

    def _switch(self, name: str | None) -> None:
        if name is None:
            self._mounted.off()
        elif name in self._mounted.names:
            self._mounted.activate(name)

    def _count(self, adapter: str | None, waited: float, took: float) -> None:
        with self._counting:
            self._requests[adapter][0] += 1
            self._times[adapter].append((waited, took))

    def _refuse(self, adapter: Any) -> None:
        if self._closed:
            msg = "the bank is closed, its model as before; make another AdapterBank."
            raise BadValueError(msg)
        if adapter is not None and adapter not in self.names:
            known = ", ".join(self.names) or "none"
            msg = (
                f"the bank has no adapter {adapter!r}; it has {known}. Load it: "
                f"bank.load({adapter!r}, folder)."
            )
            raise BadValueError(msg)


def _checked(shares: Any) -> dict[str | None, float]:
    if not isinstance(shares, Mapping) or not all(
        isinstance(v, int | float) and math.isfinite(v) and v >= 0
        for v in shares.values()
    ):
        msg = f"shares={shares!r}: pass numbers by adapter: {{'a': 0.9, 'b': 0.1}}."
        raise BadValueError(msg)
    total = math.fsum(shares.values())
    if shares and abs(total - 1) > 1e-6:
        msg = f"shares add up to {total:.6g}; they must add up to 1."
        raise BadValueError(msg)
    return dict(shares)


def _arm(
    name: str | None,
    share: float | None,
    counts: Iterable[int],
    times: Mapping[str | None, list[tuple[float, float]]],
) -> Arm:
    done, failed = counts
    pairs = times.get(name) or [(math.nan, math.nan)]
    waited, took = (sorted(each) for each in zip(*pairs, strict=True))
    return Arm(
        name or "",
        math.nan if share is None else share,
        done,
        failed,
        statistics.median(waited),
        waited[-1],
        statistics.median(took),
        took[min(int(0.95 * len(took)), len(took) - 1)],
    )
