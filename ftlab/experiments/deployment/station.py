"""The shape of a station: a model that has travelled, held against the live one."""

import abc
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ftlab.executions.difference import compare
from ftlab.executions.pairs import Pair, evaluating
from ftlab.experiments.deployment.answers import answered, first_other
from ftlab.experiments.deployment.trip import Trip
from ftlab.experiments.deployment.variants import explained
from ftlab.experiments.deployment.weights import (
    Reason,
    Weight,
    changed_settings,
    differing,
)
from ftlab.experiments.experiment import Relation, said
from ftlab.records.difference import Differences
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome


class Station(Relation, abc.ABC):
    """A place on the way out of the door, at which the model must be the same."""

    @abc.abstractmethod
    def run(self, trip: Trip) -> Outcome:
        """Hold what arrives there against the live model.

        Raises
        ------
        NotApplicableError
            The model does not come by here.
        """

    def cannot_be_loaded(self, error: Exception, fix: str = "") -> Outcome:
        """Say that nothing arrives."""
        reason = " ".join(str(error).split())[:240]
        says = f"it cannot be loaded: {type(error).__name__}: {reason}"
        if isinstance(error, KeyError):
            says = f"it cannot be loaded: the files have no {reason}"
        return self.outcome("broken", says, **({"fix": fix} if fix else {}))

    def against(
        self,
        trip: Trip,
        again: Any,
        *,
        rewritten: bool = False,
        files: Reason | None = None,
    ) -> Outcome:
        """Hold a model against the live one: weights, logits, answers.

        Parameters
        ----------
        rewritten
            Whether its weights were computed, and rounded once more.
        files
            What its files lack, or hold in vain.
        """
        weights = differing(trip.model, again)
        settings = changed_settings(trip.model, again)
        if not all(each.fits for each in weights):
            return self.outcome("broken", **_told(weights, settings, files))
        theirs = logits_of(trip, again)  # first: some layers set up what they keep
        found = _compared(trip, again, rewritten=rewritten)
        mine, real = logits_of(trip, trip.model), trip.live.batch["attention_mask"] != 0
        measured = distances(mine[real], theirs[real])
        more: dict[str, Any] = {
            "evidence": measured | {"outputs over floor": found.outcome},
            "differences": found,
        }
        if found.equal and not weights:
            return self._answers(trip, again, settings, found, more)
        told = _told(weights, settings, files, found)
        if not found.equal:
            variant = explained(trip.model, lambda: logits_of(trip, trip.model), theirs)
            if variant is not None:
                told["says"] += f"; it answers as the live model {variant.words}"
                told.setdefault("fix", variant.fix)
        return self.outcome("broken", **told, **more)

    def _answers(
        self,
        trip: Trip,
        again: Any,
        settings: list[Reason],
        found: Differences,
        more: dict[str, Any],
    ) -> Outcome:
        """Compare where two models of equal logits stop."""
        answers = answered(again, [each.ids for each in trip.prompts], trip.tokens)
        ends = [each for each in settings if "eos_token_id" in each.words]
        for prompt, mine, theirs in zip(
            trip.prompts, trip.answers, answers, strict=False
        ):
            at = first_other(mine, theirs)
            if at >= 0 and settings:  # else the logits are equal, and rounding chose
                because = (ends or settings)[0]
                says = (
                    f"the logits are equal, and the answers to {prompt.words} part at "
                    f"token {at + 1}{_stops(mine.ended, theirs.ended)}; {because.words}"
                )
                told = {"cause": because.cause, "fix": because.fix}
                return self.outcome("broken", says, **told, **more)
        if ends:
            told = {"cause": ends[0].cause, "fix": ends[0].fix}
            return self.outcome("broken", ends[0].words, **told, **more)
        says = f"outputs at {found.outcome:.3g} x the noise floor"
        if answers:
            says += f", the same answers to {_prompts(len(answers))}"
        return self.outcome("holds", says, **more)


def _told(
    weights: list[Weight],
    settings: list[Reason],
    files: Reason | None,
    found: Differences | None = None,
) -> dict[str, Any]:
    """Name the first tensor that is another, or the code that makes one."""
    says, places = [], []
    reason = next(iter(settings), None)
    if weights:
        reason = weights[0].how
        says.append(f"{weights[0].name} {reason.words}{_likewise(weights)}")
        places = [Place("param", each.name) for each in weights]
        if found is not None and found.equal:
            says.append("these prompts do not reach it: the outputs are equal")
    elif found is not None:
        born = [each for each in found.born if each.changes is not False]
        says.append(said(found, born))
        places = [Place("module", b.module or "the model") for b in born]
    says += [each.words for each in (*filter(None, [files]), *settings[:2])]
    told = {"says": "; ".join(says), "places": tuple(places)}
    reason = files if files is not None and files.cause else reason
    if reason is not None and reason.cause:
        told["cause"] = reason.cause
        if reason.fix:
            told["fix"] = reason.fix
    return told


def _prompts(many: int) -> str:
    return f"{many} prompt{'s' * (many != 1)}"


def _stops(mine: bool, theirs: bool) -> str:
    if mine and not theirs:
        return ", where the live model stops and this one goes on"
    if theirs and not mine:
        return ", where this one stops and the live model goes on"
    return ""


def _likewise(weights: list[Weight]) -> str:
    alike = sum(each.how.words == weights[0].how.words for each in weights[1:])
    others = len(weights) - 1 - alike
    said = f", likewise {alike} more" if alike else ""
    return said + (f", and {others} differ otherwise" if others else "")


def logits_of(trip: Trip, model: Any) -> torch.Tensor:
    """Return a model's logits, shape (prompts, positions, vocabulary)."""
    with evaluating(model):
        return replace(trip.live, model=model).logits(trip.live.batch).float()


def _compared(trip: Trip, again: Any, *, rewritten: bool) -> Differences:
    a, b = (
        trip.live.side(model=model, settings=partial(evaluating, model))
        for model in (trip.model, again)
    )
    names = ("the live model", "the one that arrives")
    pair = Pair(a, b, names, None, backward=False, rewritten=rewritten)
    return compare(pair)


def distances(mine: torch.Tensor, theirs: torch.Tensor) -> dict[str, float | int | str]:
    """Return how far two distributions of the next token are apart, by token.

    Parameters
    ----------
    mine, theirs
        Logits, shape (tokens, vocabulary); rows for new tokens may be missing.
    """
    known = min(mine.shape[-1], theirs.shape[-1])
    a, b = (each[:, :known].double().log_softmax(-1) for each in (mine, theirs))
    kl = (a.exp() * (a - b)).sum(-1).clamp(min=0)
    alike = int((a.argmax(-1) == b.argmax(-1)).sum())
    return {
        "KL (nats)": float(kl.max()),
        "likeliest token": f"{alike} of {len(a)}",
    }


def mean_divergence(mine: torch.Tensor, theirs: torch.Tensor) -> float:
    """Return the KL divergence of ``theirs`` from ``mine`` in nats, mean of tokens."""
    a, b = (each.double().log_softmax(-1) for each in (mine, theirs))
    return float((a.exp() * (a - b)).sum(-1).mean())
