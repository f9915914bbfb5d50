"""Repeats a step to see what each sample adds to its loss and to its gradient.

Who calls whom: `Retrace.visit` lets a `Blaming` execute the step from its capsule. A
`LossCatcher` keeps what the losses over tokens are called with. When the step calls
backward, it is run once for each sample, over the same graph, with the gradient of all
other samples taken out at the logits: the normaliser of the whole batch stays. What the
repetition leaves behind is the capsule's to take back.
"""

import contextlib
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ftlab.records.blame import Blame
from ftlab.records.handle import HandleStack, rebind
from ftlab.replay.blaming.fused import catch_fused, hidden_in
from ftlab.replay.blaming.pairs import SEVERAL, Pairs, pairs_in
from ftlab.replay.blaming.positions import Positions, is_packed
from ftlab.replay.blaming.standing_out import paired, ranked
from ftlab.replay.blaming.token_losses import NONE, LossCatcher, TokenLosses
from ftlab.replay.capsules.capsule import Capsule
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.control import SurveyOver
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.spans import Decode
from ftlab.replay.torch_private import graph_task
from ftlab.replay.tracing.compiled import run_eagerly

Grads = list[torch.Tensor | None]

NO_LOSSES = (
    "blame: the step computes no loss over tokens that torch shows: no cross entropy, "
    "no pick from a log-softmax, and no log-probabilities that a model puts out. A "
    "function with its own backward hides it, such as Liger's kernels."
)
NO_BACKWARD = "Gradients are left out: the step calls no backward for these losses."
WEIGHED = (
    "The step counts some tokens more than others; what is shown is -log p of each, "
    "before that. The gradients are as the step has them."
)
PACKED = "A row holds several packed samples; they are not told apart."
OVERFLOW = "A sample's gradient is not finite."
TWICE = (
    "A sample's gradient that came in more than one backward is left out: the norm of "
    "the sum cannot be told."
)


_BACKWARD = ("tensors", "grad_tensors", "retain_graph", "create_graph")
"""The first parameters of ``torch.autograd.backward``; others may have wrapped it."""


class Blaming:
    """One repetition of a step, taken apart by sample.

    Parameters
    ----------
    report
        The stop that the caller looks from.
    decode
        Turns token ids into text, where a tokenizer is known.

    Attributes
    ----------
    tracer
        What sees the operations.
    error
        What the repetition failed with.
    hidden
        Functions with their own backward, where no loss over tokens was seen.
    """

    def __init__(self, report: PauseReport, decode: Decode | None) -> None:
        self.tracer: LossCatcher | None = None
        self.error: Exception | None = None
        self.hidden: tuple[str, ...] = ()
        self._report = report
        self._decode = decode
        self._trainable: list[torch.nn.Parameter] = []
        self._scalers: Callable[[], Sequence[Any]] = tuple
        self._positions = Positions(())
        self._norms: dict[int, float] = {}
        self._pairs: list[tuple[Pairs, list[float]]] = []
        self._whole: Grads = []
        self._shared: Grads = []
        self._before = self._pending = self._pending_means = 0
        self._notes: dict[str, None] = {}
        self._thread = 0

    def note(self, losses: Sequence[torch.Tensor]) -> None:
        """Take no note of what backward begins from."""

    def after_backward(self) -> None:
        """Do nothing more once backward is over."""

    def run(
        self, execute: Callable[[], Any], capsule: Capsule, insist: Callable[[], bool]
    ) -> None:
        """Execute the step once; what it raises is kept as `error`."""
        self._thread = threading.get_ident()
        self._trainable = [parameter for _, parameter in capsule.trainable]
        self._scalers = lambda: capsule.scalers
        self._positions = Positions((capsule.inputs.args, capsule.inputs.kwargs))
        self.tracer = LossCatcher(insist)
        plain = torch.autograd.backward

        def backward(*args: Any, **kwargs: Any) -> None:
            here = threading.get_ident() == self._thread and graph_task() == -1
            if here:
                named = dict(zip(_BACKWARD, args, strict=False)) | kwargs
                self._take_apart(plain, named)
            else:
                plain(*args, **kwargs)

        handles = HandleStack()
        handles.add(rebind(torch.autograd, "backward", backward))
        handles.add(catch_fused(self.tracer))
        try:
            with contextlib.suppress(SurveyOver), run_eagerly(), self.tracer:
                execute()
        except Exception as error:  # noqa: BLE001  raised again in the caller
            self.error = error
        finally:
            handles.remove()

    def result(self) -> Blame | None:
        """Return what was measured; ``None`` where no loss over tokens was seen."""
        found = self._losses()
        if not found:
            return None
        placed = [self._positions.place(each.targets) for each in found]
        shape = self._positions.count, self._positions.width
        losses, targets = np.full(shape, np.nan), np.full(shape, NONE)
        for each, place in zip(found, placed, strict=True):
            values = each.values.double().flatten().numpy()
            at = (place.samples.flatten().numpy(), place.tokens.flatten().numpy())
            counted = each.targets.flatten().numpy() != NONE
            at, values = (at[0][counted], at[1][counted]), values[counted]
            losses[at] = np.nan_to_num(losses[at], posinf=np.inf) + values
            targets[at] = each.targets.flatten().numpy()[counted]
        gradients = np.array([self._norms.get(i, np.nan) for i in range(shape[0])])
        if not self._norms and NO_BACKWARD not in self._notes:
            self._notes[NO_BACKWARD] = None
        return Blame(
            step=self._report.step,
            micro_batch=self._report.micro_batch,
            losses=losses,
            targets=targets,
            gradients=gradients,
            gradient=self._norm(self._whole) if self._norms else np.nan,
            shared=self._norm(self._shared),
            samples=paired(
                ranked(losses, targets, gradients, self._decode), self._pairs
            ),
            notes=(*self._notes, *self._positions.notes, *self._remarks(found)),
        )

    def _remarks(self, found: Sequence[TokenLosses]) -> list[str]:
        """Say what the numbers are where that is not plain."""
        remarks = []
        if self._pairs:
            remarks += [SEVERAL] if any(each.several for each, _ in self._pairs) else []
        elif any(each.weighs() for each in found):
            remarks.append(WEIGHED)
        if is_packed(self._positions.batch):
            remarks.append(PACKED)
        return remarks

    def _losses(self) -> list[TokenLosses]:
        """Return the losses that backward came through, all if there was none."""
        every = [] if self.tracer is None else self.tracer.losses
        return [each for each in every if each.reached] or every

    # -- backward

    def _take_apart(
        self, plain: Callable[..., None], arguments: dict[str, Any]
    ) -> None:
        """Run one backward for all, to be kept, and before it one for each sample."""
        catcher = self.tracer
        if catcher is None:
            return
        before = [p.grad for p in self._trainable]
        tensors = _listed(arguments.get("tensors"))
        catcher.follow(tensors)
        self.hidden = () if catcher.losses else hidden_in(tensors)
        again = arguments | {"retain_graph": True, "create_graph": False}
        catcher.silent = True
        try:
            samples = self._samples()
            whole = self._gradient(None, plain, again)
            rest = self._gradient(frozenset(), plain, again)
            self._whole = _sum(self._whole, whole)
            self._shared = _sum(self._shared, rest)
            for sample in samples:
                own = self._gradient(frozenset({sample}), plain, again)
                self._add(sample, self._norm(own, rest))
            self._compare(catcher, rest, lambda own: self._gradient(own, plain, again))
        except RuntimeError as error:  # a graph that can be walked but once
            self._notes[f"Gradients are left out: {error}"] = None
            self._norms.clear()
            raise SurveyOver from None
        finally:
            catcher.only, catcher.silent = None, False
            for parameter, grad in zip(self._trainable, before, strict=True):
                parameter.grad = grad
        plain(**arguments)

    def _compare(
        self,
        catcher: LossCatcher,
        rest: Grads,
        gradient: Callable[[frozenset[int]], Grads],
    ) -> None:
        """Take the pairs of this backward apart, if its loss compares two answers."""
        losses, means = catcher.losses[self._before :], catcher.means
        since, self._pending_means = self._pending_means, len(means)
        found = pairs_in(losses, means[since:], self._positions.batch)
        if found is not None:
            norms = [
                self._norm(gradient(frozenset(rows.tolist())), rest)
                for rows in found.rows
            ]
            self._pairs.append((found, norms))

    def _samples(self) -> list[int]:
        """Say which samples the losses since the last backward belong to."""
        catcher = self.tracer
        found: set[int] = set()
        for each in [] if catcher is None else catcher.losses[self._pending :]:
            samples = self._positions.place(each.targets).samples
            whole = samples.reshape(each.rows, -1)
            each.samples = whole[:, 0]
            found |= set(whole.flatten().tolist())
        self._before = self._pending
        self._pending = 0 if catcher is None else len(catcher.losses)
        return sorted(found)

    def _gradient(
        self,
        only: frozenset[int] | None,
        plain: Callable[..., None],
        arguments: dict[str, Any],
    ) -> Grads:
        """Return the gradient of some samples, or of all (``None``)."""
        rng = RngState.take()
        for parameter in self._trainable:
            parameter.grad = None
        if self.tracer is not None:
            self.tracer.only = only
        plain(**arguments)
        rng.restore()
        return [p.grad for p in self._trainable]

    def _norm(self, grads: Grads, without: Grads | None = None) -> float:
        """Measure a gradient in its true size, in float32 at least."""
        squares = 0.0
        others = without or [None] * len(grads)
        for grad, other in zip(grads, others, strict=True):
            if grad is not None:
                own = grad.detach().to(torch.promote_types(grad.dtype, torch.float32))
                own = own if other is None else own - other.to(own.dtype)
                squares += float(torch.linalg.vector_norm(own)) ** 2
        norm: float = squares**0.5
        for scaler in self._scalers():
            norm /= scaler.get_scale() if scaler.is_enabled() else 1.0
        return norm

    def _add(self, sample: int, norm: float) -> None:
        if not math.isfinite(norm):
            self._notes[OVERFLOW] = None
        if sample in self._norms and norm != 0.0:
            self._notes[TWICE] = None
            norm = float("nan")
        self._norms[sample] = norm


def _listed(tensors: Any) -> Sequence[Any]:
    return tensors if isinstance(tensors, list | tuple) else [tensors]


def _sum(total: Grads, more: Grads) -> Grads:
    pairs = zip(total or [None] * len(more), more, strict=True)
    return [a if b is None else b if a is None else a + b for a, b in pairs]
