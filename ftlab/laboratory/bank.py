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
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from typing import Any

import torch

from ftlab.executions.pairs import evaluating
from ftlab.laboratory.gate import Gate
from ftlab.laboratory.mounting import Mounted
from ftlab.records.adapter_swap import Arm, Arms
from ftlab.records.errors import BadValueError

KEPT = 4096  # latest requests of each adapter of which times are kept
_NOT_GIVEN: Any = object()


class Bank:
    """Adapters on one live model, and requests of several threads to them."""

    def __init__(
        self, model: torch.nn.Module, shares: Any = None, salt: str = ""
    ) -> None:
        self.shares = shares or {}
        self._salt, self._closed = salt, False
        with ExitStack() as stack:
            stack.enter_context(evaluating(model))
            self._mounted = stack.enter_context(Mounted(model))
            self._stack = stack.pop_all()
        self._gate = Gate(self._switch)
        self._prompts, self._counting = threading.Lock(), threading.Lock()
        self._done: Counter[tuple[str | None, bool]] = Counter()
        self._times: dict[Any, deque[tuple[float, float]]] = defaultdict(
            lambda: deque(maxlen=KEPT)
        )

    @property
    def shares(self) -> dict[str | None, float]:
        """By adapter, the part of all keys that it answers; may be set anew."""
        return self._shares

    @shares.setter
    def shares(self, given: Any) -> None:
        values = list(given.values()) if isinstance(given, Mapping) else [-1]
        if not all(isinstance(v, int | float) and 0 <= v < math.inf for v in values):
            msg = f"shares={given!r}: pass numbers by adapter: {{'a': 0.9, 'b': 0.1}}."
            raise BadValueError(msg)
        if values and abs(math.fsum(values) - 1) > 1e-6:
            msg = f"shares add up to {math.fsum(values):.6g}; they must add up to 1."
            raise BadValueError(msg)
        self._shares = dict(given)

    @property
    def names(self) -> tuple[str, ...]:
        """Adapters that requests can ask for."""
        return tuple(self._mounted.configs)

    def load(self, name: str, source: Any) -> None:
        """Load an adapter, a folder or a PeftModel's, when no request is under way."""
        self._refuse(None)
        with self._gate.passing():
            self._mounted.load(name, source)

    def delete(self, name: str) -> None:
        """Delete an adapter that was loaded here, when no request is under way."""
        if self._shares.get(name):
            msg = f"{name!r} answers {self._shares[name]:.0%} of the keys; set "
            msg += "bank.shares without it before it is deleted."
            raise BadValueError(msg)
        with self._gate.passing():
            self._mounted.delete(name)

    def close(self) -> None:
        """Wait for the requests under way, and put the model back as it was."""
        self._closed = True
        with self._gate.passing():
            self._stack.close()

    def route(self, key: Any) -> str | None:
        """Return the adapter that answers a key: always the same one of it."""
        arms = [name for name, share in self._shares.items() if share]
        if not arms or not isinstance(key, str | int | bytes):
            msg = f"key={key!r}, shares={self._shares}: pass a user's name or number, "
            msg += "and set bank.shares = {'a': 0.9, 'b': 0.1} before."
            raise BadValueError(msg)
        told = self._salt.encode() + b"\0"
        told += key if isinstance(key, bytes) else str(key).encode()
        digest = hashlib.blake2b(told, digest_size=8).digest()
        place, end = int.from_bytes(digest) / 2**64, 0.0
        for name in arms:
            end += self._shares[name]
            if place < end:
                return name
        return arms[-1]

    def __call__(
        self, batch: Mapping[str, Any], *, adapter: Any = _NOT_GIVEN, key: Any = None
    ) -> Any:
        """Return what the model does for a batch of keyword arguments."""
        name = self._chosen(adapter, key)
        return self.answer(name, lambda model: model(**dict(batch)))

    def generate(
        self, *, adapter: Any = _NOT_GIVEN, key: Any = None, **arguments: Any
    ) -> Any:
        """Return what ``model.generate(**arguments)`` returns, with one adapter."""

        def call(model: Any) -> Any:
            configs = self._mounted.configs.values()
            # PEFT changes methods of the model while it generates behind a prompt
            prompts = any(each.is_prompt_learning for each in configs)
            with self._prompts if prompts else nullcontext():
                return model.generate(**arguments)

        return self.answer(self._chosen(adapter, key), call)

    def answer(self, adapter: str | None, call: Callable[[Any], Any]) -> Any:
        """Run ``call`` on the model while that adapter is active."""
        self._refuse(adapter)
        with self._gate.passing(adapter) as waited, torch.no_grad():
            self._refuse(adapter)  # it may have gone meanwhile
            began, done = time.perf_counter(), False
            try:
                output = call(self._mounted.model)
                done = True
            finally:
                with self._counting:
                    self._done[adapter, done] += 1
                    if done:
                        took = time.perf_counter() - began
                        self._times[adapter].append((waited, took))
            return output

    def counted(self) -> Arms:
        """Return what requests took until now."""
        with self._counting:
            asked = [name for name, _ in self._done]
            names = dict.fromkeys([*self._shares, *self.names, *asked])
            return Arms(tuple(map(self._arm, names)), self._gate.switches)

    def _arm(self, name: str | None) -> Arm:
        pairs = self._times.get(name) or [(math.nan, math.nan)]
        waited, took = zip(*pairs, strict=True)
        middle = statistics.median(waited), max(waited), statistics.median(took)
        counts = self._done[name, True], self._done[name, False]
        return Arm(name or "", self._shares.get(name, math.nan), *counts, *middle)

    def _chosen(self, adapter: Any, key: Any) -> Any:
        if (adapter is _NOT_GIVEN) == (key is None):
            msg = "pass adapter=name (None: the base alone), or key=user."
            raise BadValueError(msg)
        return adapter if key is None else self.route(key)

    def _switch(self, name: str | None) -> None:
        if name is None:
            self._mounted.off()
        elif name in self._mounted.configs:
            self._mounted.activate(name)

    def _refuse(self, adapter: Any) -> None:
        if self._closed:
            msg = "the bank is closed, its model as before; make another AdapterBank."
            raise BadValueError(msg)
        if adapter is not None and adapter not in self.names:
            known = ", ".join(self.names) or "none"
            msg = f"the bank has no adapter {adapter!r}; it has {known}. Load it: "
            msg += f"bank.load({adapter!r}, folder)."
            raise BadValueError(msg)
