"""RTP006, served: what the server answers is what the live model says.

## What must hold
A server of OpenAI's protocol reads the tokens that training used, predicts the next
ones with the live model's probabilities, up to what rounding moves them, and stops
where the live model does.

## Why
A second BOS, another chat template, an adapter that was not loaded, a head that a
server does not take, another RoPE scaling or another end: the files are right, and the
answers are not. Servers start without a word of it.

## When it does not apply
Without ``served=``. A server that tells neither tokens nor log-probabilities (as
``transformers serve``) is judged by its count of the prompt's tokens, its greedy answer
and its end.

## What to try
``bits=4`` where the server runs weights of 4 bits: these move probabilities, and more
than a fault may.

## References
- OpenAI, "API reference", completions and chat
"""

from collections.abc import Sequence
from typing import Any

import torch

from ftlab.executions.pairs import evaluating
from ftlab.executions.side import NotApplicableError
from ftlab.executions.stations import ends_of
from ftlab.experiments.deployment.answers import answered
from ftlab.experiments.deployment.client import Client, RefusedError, Reply
from ftlab.experiments.deployment.outside import (
    OVER,
    Distance,
    Seen,
    distance,
    known_of,
    why,
)
from ftlab.experiments.deployment.readings import (
    Reading,
    Vocabulary,
    answer_ids,
    readings,
    seen_in,
)
from ftlab.experiments.deployment.saved_tokenizer import first_other, piece
from ftlab.experiments.deployment.station import Station
from ftlab.experiments.deployment.trip import Prompt, Trip
from ftlab.experiments.deployment.variants import variants
from ftlab.records.outcome import Outcome, State


class Served(Station):
    """The live model, and a server's."""

    code = "RTP006"
    name = "served"
    relation = "the server reads, predicts and stops as the live model does"
    cause = "The server runs another model, reads other tokens, or ends elsewhere."
    fix = "Serve the folder that passed the stations before, with its own tokenizer."

    def run(self, trip: Trip) -> Outcome:
        """Ask the server every prompt."""
        if trip.served is None:
            msg = "no served= address was passed"
            raise NotApplicableError(msg)
        client = Client(trip.served, trip.served_name)
        try:
            replies = [client.ask(each.given, trip.tokens) for each in trip.prompts]
        except RefusedError as error:
            return self.outcome("broken", f"the server refuses a prompt: {error}")
        return _Judge(self, trip, client, replies).outcome()


class _Judge:
    """Finds the first thing in which a server's answers are not the live ones."""

    def __init__(
        self, station: Served, trip: Trip, client: Client, replies: list[Reply]
    ) -> None:
        self._station = station
        self._trip = trip
        self._client = client
        self._replies = replies
        self._vocabulary = Vocabulary(trip.tokenizer)
        self._evidence: dict[str, float | int | str] = {}

    def outcome(self) -> Outcome:
        for prompt, reply in zip(self._trip.prompts, self._replies, strict=True):
            says = self._misread(prompt, reply)
            if says:
                return self._broken(says, _READ)
        ids = [prompt.ids for prompt in self._trip.prompts]
        rows, seen = self._seen(ids, self._replies)
        apart = ""
        if seen:
            found = distance(self._trip.model, rows, seen, self._trip.bits)
            apart = self._measured(found)
            if not found.equal:
                return self._unlike(rows, seen, found, apart)
        return self._answers(apart)

    def _broken(self, says: str, fix: str = "") -> Outcome:
        more = {"fix": fix} if fix else {}
        return self._station.outcome("broken", says, evidence=self._evidence, **more)

    def _misread(self, prompt: Prompt, reply: Reply) -> str:
        """Say what is wrong with the tokens that the server has read."""
        tokenizer, ids = self._trip.tokenizer, reply.prompt_ids
        count = len(ids) if ids is not None else reply.prompt_count
        if (
            ids == prompt.ids
            or count is None
            or (ids is None and count == len(prompt.ids))
        ):
            return ""
        says = (
            f"the server reads {count} tokens of {prompt.words}, training's tokenizer "
            f"makes {len(prompt.ids)}"
        )
        ways = [each for each in readings(tokenizer, prompt) if each.words]
        fits = [w for w in ways if (ids or w.ids) == w.ids and len(w.ids) == count]
        if ids is None:
            fits = [way for way in fits if self._answers_alike(way, reply)]
        if fits:
            return f"{says}: {' or '.join(way.words for way in fits)}"
        if ids is not None:
            at = first_other(prompt.ids, list(ids))
            mine, theirs = piece(tokenizer, prompt.ids, at), piece(tokenizer, ids, at)
            says += f"; token {at} is {theirs} there, {mine} by training's"
        return f"{says}: another chat template, or another tokenizer"

    def _answers_alike(self, way: Reading, reply: Reply) -> bool:
        """Say whether the live model answers like the server if it reads like that."""
        rows, seen = self._seen([way.ids], [reply])
        if seen:
            return distance(self._trip.model, rows, seen, self._trip.bits).equal
        (answer,) = answered(self._trip.model, [way.ids], self._trip.tokens)
        return self._text(answer.tokens) == reply.text.strip()

    def _seen(
        self, prompts: Sequence[tuple[int, ...]], replies: Sequence[Reply]
    ) -> tuple[list[tuple[int, ...]], list[Seen]]:
        rows, seen = [], []
        for at, (ids, reply) in enumerate(zip(prompts, replies, strict=True)):
            rows.append((*ids, *answer_ids(self._vocabulary, reply)))
            seen += seen_in(self._vocabulary, reply, at, ids)
        return rows, seen

    def _measured(self, found: Distance) -> str:
        self._evidence |= {"apart (nats)": found.apart, "floor (nats)": found.floor}
        return (
            f"log-probabilities differ by up to {found.apart:.3g} nats, "
            f"{found.apart / max(found.floor, 1e-12):.3g} x what rounding moves"
        )

    def _unlike(
        self, rows: Any, seen: list[Seen], found: Distance, apart: str
    ) -> Outcome:
        """Say why the probabilities are others."""
        variant = why(self._trip.model, rows, seen)
        if variant is not None:
            says = f"the server answers as the live model {variant.words}"
            return self._broken(f"{says}; {apart}", variant.fix)
        if self._right_if_written():
            return self._broken(f"{_TEMPLATE}; {apart}", _READ)
        if self._trip.bits is None and found.apart <= OVER * found.coarse:
            says = f"{apart}: as far as weights of 4 bits would be; pass bits= if so"
            return self._station.outcome(
                "cannot be decided", says, evidence=self._evidence
            )
        return self._broken(apart)

    def _right_if_written(self) -> bool:
        """Say whether the server answers right if it is given the tokens themselves.

        Or the text that the live template makes, where it takes no tokens.
        """
        prompts = [each.ids for each in self._trip.prompts]
        try:
            replies = [self._written(each) for each in prompts]
        except RefusedError:
            return False
        rows, seen = self._seen(prompts, replies)
        if seen:
            return distance(self._trip.model, rows, seen, self._trip.bits).equal
        return all(
            self._text(mine.tokens) == reply.text.strip()
            for mine, reply in zip(self._trip.answers, replies, strict=True)
        )

    def _written(self, ids: tuple[int, ...]) -> Reply:
        try:
            return self._client.ask(list(ids), self._trip.tokens)
        except RefusedError:
            bos = self._trip.tokenizer.bos_token_id
            bare = ids[1:] if ids[:1] == (bos,) else ids  # a server adds it to a text
            text = self._trip.tokenizer.decode(bare)
            return self._client.ask(text, self._trip.tokens)

    def _answers(self, apart: str) -> Outcome:
        """Compare texts and ends."""
        trip = self._trip
        for prompt, mine, reply in zip(
            trip.prompts, trip.answers, self._replies, strict=False
        ):
            text, theirs = self._text(mine.tokens), reply.text.strip()
            longer = reply.ids[: len(mine.tokens)] == mine.tokens != reply.ids
            goes_on = mine.ended and (longer or not reply.stopped)
            if text == theirs and mine.ended == reply.stopped and not goes_on:
                continue
            if theirs.startswith(text) and goes_on:
                end = trip.tokenizer.convert_ids_to_tokens(mine.tokens[-1])
                says = f"the live model ends its answer to {prompt.words} with {end}, "
                return self._broken(f"{says}and the server goes on", _ENDS)
            if text.startswith(theirs) and reply.stopped and text != theirs:
                says = f"the server ends its answer to {prompt.words} early, "
                return self._broken(f"{says}after {theirs[-24:]!r}", _ENDS)
            if text != theirs and not self._tie(prompt, mine.tokens, theirs):
                return self._otherwise(prompt, text, theirs)
        many = len(trip.prompts)
        alike = f"the same answers to {many} prompt{'s' * (many != 1)}"
        says = f"{apart}; {alike}" if apart else f"{alike}; it tells no probabilities"
        state: State = "holds"
        return self._station.outcome(state, says, evidence=self._evidence)

    def _otherwise(self, prompt: Prompt, text: str, theirs: str) -> Outcome:
        says = f"to {prompt.words} the server answers {theirs[:40]!r}, "
        says += f"the live model {text[:40]!r}"
        for variant in variants(self._trip.model):
            with evaluating(self._trip.model), variant.within():
                given = [each.ids for each in self._trip.prompts]
                answers = answered(self._trip.model, given, self._trip.tokens)
            if all(
                self._text(answer.tokens) == reply.text.strip()
                for answer, reply in zip(answers, self._replies, strict=True)
            ):
                return self._broken(
                    f"the server answers as the live model {variant.words}; {says}",
                    variant.fix,
                )
        if not isinstance(prompt.given, str) and self._right_if_written():
            return self._broken(f"{_TEMPLATE}; {says}", _READ)
        return self._broken(says)

    def _tie(self, prompt: Prompt, mine: tuple[int, ...], theirs: str) -> bool:
        """Say whether rounding may choose the token at which two answers part."""
        encoded = self._trip.tokenizer(theirs, add_special_tokens=False)["input_ids"]
        at = first_other(mine, encoded)
        if not 0 <= at < min(len(mine), len(encoded)):
            return False
        rows = [(*prompt.ids, *mine[:at])]
        both = torch.tensor([mine[at], encoded[at]])
        seen = [Seen(0, len(rows[0]) - 1, both, torch.zeros(2))]
        one, other = known_of(self._trip.model, rows, seen)
        floor = distance(self._trip.model, rows, seen, self._trip.bits).floor
        return float(one - other) <= 2 * OVER * floor

    def _text(self, tokens: Sequence[int]) -> str:
        ends = ends_of(self._trip.model)
        kept = [token for token in tokens if token not in ends]
        text: str = self._trip.tokenizer.decode(kept, skip_special_tokens=True)
        return text.strip()


_READ = (
    "Serve with the tokenizer and chat template of training, and let one of template "
    "and tokenizer add BOS."
)
_TEMPLATE = (
    "the server's model is the live one, and it reads the prompt otherwise: another "
    "chat template"
)
_ENDS = "Serve with the generation_config of training (eos_token_id), or pass stop=."
