"""EXP017, trained-as-served: a conversation is trained as it will be asked.

## What must hold
What ``apply_chat_template(messages, add_generation_prompt=True)`` writes before an
answer is what was trained before it, token by token; and a token that stops a
generation is among those that are trained behind the answer.

## Why
A second BOS, a template that was changed after the data was made, or another opening of
the answer asks the model what it was never trained on. Without a trained end that
generation heeds, it goes on to the last token that it may write.

## When it does not apply
No tokenizer with a chat template; no conversations: rows of the trainer's data with
``messages``, or ``prompt`` and ``completion`` as messages, or ids in which the turns of
the template are found. Of the latter, only BOS and ends are decided. Rows that were cut
are left out.

## What to try
Make training data with the template that serves, tokenise what it wrote with
``add_special_tokens=False``, and put what ends an answer into
``generation_config.eos_token_id``.

## References
- transformers, "Chat templates"
- ftlab, `ftlab.tokens(trainer)`
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.executions.side import NotApplicableError
from ftlab.executions.stations import ends_of
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.probes.tokens.dataset_rows import TALKS
from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.probes.tokens.rows import read_batch
from ftlab.probes.tokens.sources import conversations, facts_of, of_messages
from ftlab.records.errors import BadValueError
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome
from ftlab.records.token_row import TokenRow

SAMPLES = 6
"""Conversations that are looked at."""
ROLES = ("system", "user", "assistant")
"""Who speaks in conversations that are read off ids; one of the first two begins."""
DATES = ("strftime_now", "date_string")
"""What a template writes the day with."""


@dataclass(frozen=True, slots=True)
class _Sample:
    """A conversation as trained, and as served up to its last answer.

    Where it was read off the ids, only what stands from ``sure`` on is no guess.
    """

    trained: NDArray[np.int64]
    labelled: NDArray[np.bool_]
    served: NDArray[np.int64]
    sure: int = 0

    @property
    def parts(self) -> int:
        """Where the two part, -1 where all that is served was trained."""
        length = min(len(self.trained), len(self.served))
        unlike = np.flatnonzero(self.trained[:length] != self.served[:length])
        return int(unlike[0]) if len(unlike) else -1

    @property
    def answer(self) -> list[int]:
        """What is trained of the answer and behind it."""
        start = len(self.served)
        return [int(i) for i in self.trained[start:][self.labelled[start:]]]


class TrainedAsServed(Experiment):
    """Conversations as they are trained, and as they are asked."""

    code = "EXP017"
    name = "trained-as-served"
    cheap = True
    relation = "what is served before an answer was trained before it, and ends it"
    cause = "Training data and generation are not written by the same template."
    fix = (
        "Make training data with the tokenizer's own chat template (tokenise its text "
        "with add_special_tokens=False), and stop where answers end."
    )

    def run(self, live: Live) -> Outcome:
        """Render conversations up to their answers."""
        tokenizer = text_tokenizer(live.tokenizer)
        if not any(
            getattr(t, "chat_template", "") for t in (live.tokenizer, tokenizer)
        ):
            msg = "there is no tokenizer with a chat template; pass tokenizer="
            raise NotApplicableError(msg)
        found = list(_of_dataset(live)) or list(_of_batch(live))
        whole = [s for s in found if len(s.trained) > len(s.served) or s.parts >= 0]
        if not whole:
            msg = "no row is a whole conversation, or its turns are not found"
            raise NotApplicableError(msg)
        apart = [each for each in whole if each.parts >= 0]
        if apart:
            return self._apart(live, whole, apart)
        return self._ends(live, whole)

    def _apart(self, live: Live, whole: list[_Sample], apart: list[_Sample]) -> Outcome:
        """Tell a difference that is no guess, and no matter of one sample's text."""
        tokenizer = text_tokenizer(live.tokenizer)
        bos = getattr(tokenizer, "bos_token_id", None)
        certain = [each for each in apart if _begins_otherwise(each, bos)]
        dated = any(word in str(tokenizer.chat_template) for word in DATES)
        if not dated and not certain:
            known = [each for each in apart if each.parts >= each.sure]
            certain = [each for each in known if each.parts < len(each.served) - 1]
            if len(known) - len(certain) > len(whole) // 2:  # the text merges with it
                certain = known
        if not certain:
            why = "the template writes the day" if dated else "by their texts, perhaps"
            says = f"{len(apart)} of {len(whole)} conversations differ, but {why}"
            return self.outcome("cannot be decided", says)
        first = certain[0]
        trained, served = (
            tokenizer.decode(ids[max(0, first.parts - 2) : first.parts + 3])
            for ids in (first.trained, first.served)
        )
        return self.outcome(
            "broken",
            f"token {first.parts} of {len(certain)} of {len(whole)} conversations is "
            f"another: {trained!r} is trained, {served!r} served",
            places=(Place("config", "tokenizer.chat_template"),),
            evidence={"position": first.parts, "conversations": len(certain)},
        )

    def _ends(self, live: Live, whole: list[_Sample]) -> Outcome:
        """Look for what stops a generation behind the answers."""
        says = f"{len(whole)} conversations are trained as they are served"
        stops = _stops(live)
        taught = [each for each in whole if each.answer]
        if not stops or not taught:
            return self.outcome("holds", f"{says}; nothing is said to stop them")
        unended = [each for each in taught if not stops & set(each.answer)]
        if len(unended) <= len(taught) // 2:
            return self.outcome("holds", f"{says}, and ended by what stops generation")
        if len({len(s.trained) for s in unended if s.labelled[-1]}) == 1:
            says += "; none has an end, but they have one length and may be cut"
            return self.outcome("cannot be decided", says)
        last, _ = Counter(each.answer[-1] for each in unended).most_common(1)[0]
        end, heeded = (
            ", ".join(repr(text_tokenizer(live.tokenizer).decode([i])) for i in ids)
            for ids in ([last], sorted(stops))
        )
        return self.outcome(
            "broken",
            f"{len(unended)} of {len(taught)} trained answers do not hold what stops a "
            f"generation, {heeded}; most end with {end}",
            cause="What ends the trained answers is not what a generation stops at.",
            fix="Train the end of answers, and name it in the generation config.",
            places=(Place("config", "generation_config.eos_token_id"),),
            evidence={"without an end": len(unended), "answers": len(taught)},
        )


def _begins_otherwise(sample: _Sample, bos: int | None) -> bool:
    """Say whether training and serving begin with other numbers of BOS."""
    runs = []
    for ids in (sample.trained, sample.served):
        others = np.flatnonzero(ids != bos)
        runs.append(int(others[0]) if len(others) else len(ids))
    return runs[0] != runs[1] and sample.parts <= min(runs)


def _stops(live: Live) -> set[int]:
    """Return what stops a generation; a trainer adds the tokenizer's EOS to it."""
    own = getattr(text_tokenizer(live.tokenizer), "eos_token_id", None)
    adds = live.trainer is not None and hasattr(live.trainer, "processing_class")
    return ends_of(live.model) | ({own} if adds and own is not None else set())


def _of_dataset(live: Live) -> Iterator[_Sample]:
    """Yield conversations of the trainer's data, collated one by one."""
    rows: Any = getattr(live.trainer, "train_dataset", None)
    if not hasattr(rows, "__getitem__") or not hasattr(rows, "__len__"):
        return
    loader = live.trainer.get_train_dataloader()
    longest = getattr(live.trainer.args, "max_length", None) or np.inf
    for at in range(min(SAMPLES, len(rows))):
        row = rows[at]
        talk = _talk(row) if isinstance(row, Mapping) else None
        if talk is None:
            return
        batch = loader.collate_fn([loader.dataset[at]])
        ids, labelled = _real(read_batch(batch, live.tokenizer).rows[0])
        served = _served(live, talk, row)
        if served is not None and len(ids) < longest:
            yield _Sample(ids, labelled, served)


def _talk(row: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return a row's messages, those of prompt and completion in one list."""
    if row.get("completion") and not isinstance(row["completion"], str):
        prompt = row.get("prompt")
        made: Any = [*prompt, *row["completion"]] if isinstance(prompt, list) else None
    else:
        made = next((row[name] for name in TALKS if row.get(name)), None)
    try:
        return None if made is None else conversations(made)[0]
    except BadValueError:
        return None


def _served(
    live: Live, talk: list[dict[str, Any]], row: Mapping[str, Any]
) -> NDArray[np.int64] | None:
    """Return what is asked for the last answer; nothing where nothing precedes it."""
    answers = [at for at, each in enumerate(talk) if each.get("role") == "assistant"]
    if not answers or not answers[-1]:
        return None
    settings = dict(row.get("chat_template_kwargs") or {})
    if isinstance(row.get("tools"), list):
        settings["tools"] = row["tools"]
    settings["add_generation_prompt"] = True
    try:
        made = of_messages(live.tokenizer, talk[: answers[-1]], **settings)
    except BadValueError:
        return None
    return made.rows[0].ids


def _of_batch(live: Live) -> Iterator[_Sample]:
    """Yield the conversations that the template's turns show in the batch."""
    tokenizer, facts = live.tokenizer, facts_of(live.tokenizer, live.model)
    rows = read_batch(dict(live.batch), tokenizer, facts=facts).rows
    for row in rows[:SAMPLES]:
        said = [t for t in row.turns if t.message >= 0 and t.part == "text"]
        numbers = [turn.message for turn in said]
        packed = row.segments is not None and row.segments.max(initial=0) > 0
        begun = bool(row.turns) and row.turns[0].part in ("added", "header")
        if packed or not begun or not said or numbers != sorted(set(numbers)):
            continue
        if said[0].role not in ROLES[:2] or not {t.role for t in said} <= {*ROLES}:
            continue
        decode = text_tokenizer(tokenizer).decode
        ids = row.ids
        talk = [{"role": t.role, "content": decode(ids[t.start : t.end])} for t in said]
        served = _served(live, talk, {})
        if served is not None:
            ids, labelled = _real(row)
            yield _Sample(ids, labelled, served, _answer_start(row))


def _answer_start(row: TokenRow) -> int:
    """Return where the last answer is opened, counted without padding."""
    answers = [turn for turn in row.turns if turn.role == "assistant"]
    first = next(t for t in answers if t.message == answers[-1].message)
    return int(_seen(row)[: first.start].sum())


def _real(row: TokenRow) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a row's ids without padding, and which of them are trained."""
    return row.ids[_seen(row)], row.trained[_seen(row)]


def _seen(row: TokenRow) -> NDArray[np.bool_]:
    real = np.ones(len(row.ids), dtype=bool)
    return real if row.segments is None else row.segments >= 0
