"""The automatic responses of one debugger, and when they are due."""

import time
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from ftlab.records.by_id import ById
from ftlab.replay.breakpoints.breakpoint import Breakpoint, is_step
from ftlab.replay.responses.response import Response


class Responses:
    """A list that shows itself; made by `Debugger.respond`.

    Attributes
    ----------
    told
        Called with what a response has done: the step, the response and the words.
    digest
        Returns the digest of the run's tokenizer, ``""`` without one.
    snapshot
        Writes a snapshot of a stop and returns its folder.
    float32
        The steps that run without autocast.
    """

    def __init__(self) -> None:
        self.told: Callable[[int, Response, str], None] = lambda *_: None
        self.digest: Callable[[], str] = str
        self.snapshot: Callable[[Any], Any] = lambda _: ""
        self.float32 = range(0)
        self._kept: list[Response] = []
        self._scales: ById[Any, float] = ById()
        self.forget()

    def forget(self) -> None:
        """Begin a new run."""
        self.float32 = range(0)
        self._began = time.monotonic()
        self._given_at: dict[Response, float] = {}
        self._last_step = -1
        self._first_digest = ""
        for response in self:
            response.calm()

    def add(self, response: Response) -> Response:
        """Keep a response until it is removed."""
        response._remove = self._take_out  # noqa: SLF001  its own field, set by its keeper
        self._kept.append(response)
        return response

    def to(self, *triggers: str, point: Breakpoint | None = None) -> Response | None:
        """Return the first response that is due now that something has happened."""
        meant = [each for each in self if each.means(triggers, point)]
        due = [each for each in meant if each.counts()]
        # What waits for the third time in a row is meant then, whatever stands first.
        chosen = max(due, key=lambda response: response.times, default=None)
        if chosen is not None:
            chosen.calm()
            chosen.given += 1
        return chosen

    def calm(self, *triggers: str) -> None:
        """Note that something has not happened this time."""
        for response in self:
            if response.trigger in triggers:
                response.calm()

    def calm_points(self, met: Container[Breakpoint]) -> None:
        """Note that no breakpoints but these were met this time."""
        for response in self:
            if isinstance(response.to, Breakpoint) and response.to not in met:
                response.calm()

    def before(self, step: int, scalers: Iterable[Any]) -> Response | None:
        """Return the response that is due where a step begins."""
        if not self._kept or step == self._last_step:
            return None
        self._last_step = step
        checks = (
            lambda: self._after_unscale(scalers),
            lambda: self._with_tokenizer(),
            lambda: self._at(step),
            self._by_time,
        )
        found = (check() for check in checks)
        return next((response for response in found if response is not None), None)

    def _after_unscale(self, scalers: Iterable[Any]) -> Response | None:
        if not self._any("failed unscale"):
            return None
        failed = False
        for scaler in scalers:
            scale = float(scaler.get_scale())
            failed |= scale < self._scales.get(scaler, 0.0)
            self._scales[scaler] = scale
        if failed:
            return self.to("failed unscale")
        self.calm("failed unscale")
        return None

    def _with_tokenizer(self) -> Response | None:
        if not self._any("tokenizer change"):
            return None
        now = self.digest()
        self._first_digest = self._first_digest or now
        for response in self:
            expected = response.digest or self._first_digest
            if response.means(("tokenizer change",), None) and now != expected:
                return self.to("tokenizer change")
        return None

    def _at(self, step: int) -> Response | None:
        for response in self:
            if response.at is None or not response.means(("step",), None):
                continue
            if is_step(response.at, step):
                response.given += 1
                return response
        return None

    def _by_time(self) -> Response | None:
        now = time.monotonic()
        for response in self:
            if not response.means(("time",), None) or response.seconds is None:
                continue
            if now - self._given_at.get(response, self._began) >= response.seconds:
                self._given_at[response] = now
                response.given += 1
                return response
        return None

    def _any(self, trigger: str) -> bool:
        return any(response.means((trigger,), None) for response in self)

    def _take_out(self, response: Response) -> None:
        self._kept = [each for each in self._kept if each is not response]

    def __iter__(self) -> Iterator[Response]:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, index: Any) -> Any:
        return self._kept[index]

    def __repr__(self) -> str:
        if not self._kept:
            return "no automatic responses; respond(to, by) sets one"
        return "\n".join(f"{i} {each!r}" for i, each in enumerate(self._kept))
