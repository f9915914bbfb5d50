"""What travels: the live model, its prompts, and where it has been put."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ftlab.experiments.deployment.answers import Answer, answered
from ftlab.experiments.deployment.outside import batch_of
from ftlab.experiments.live import Live

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked.

    Attributes
    ----------
    given
        A text, or the messages of a conversation.
    ids
        Its tokens, by the live tokenizer.
    """

    given: str | Messages
    ids: tuple[int, ...]

    @property
    def words(self) -> str:
        """The prompt in a few words."""
        text = self.given if isinstance(self.given, str) else self.given[-1]["content"]
        return repr(text if len(text) <= 32 else f"{text[:29]}...")


def ids_of(tokenizer: Any, given: str | Messages) -> list[int]:
    """Return the tokens of a text, or of a conversation up to its next answer."""
    if isinstance(given, str):
        return list(tokenizer(given)["input_ids"])
    text = tokenizer.apply_chat_template(
        [dict(each) for each in given], tokenize=False, add_generation_prompt=True
    )
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


@dataclass(frozen=True)
class Trip:
    """A model on its way out of the door.

    Attributes
    ----------
    model, tokenizer
        The live ones.
    prompts
        What it is asked at each station.
    tokens
        How many tokens it answers at most.
    room
        A temporary folder.
    saved, base, merged, exported
        Folders that were made for deployment; where there is none, what a station
        needs is made in ``room``.
    served, served_name
        URL of a server, and what the model is called there.
    bits
        Of the weights that are exported or served; ``None`` for 16 or 32.
    """

    model: Any
    tokenizer: Any
    prompts: tuple[Prompt, ...]
    tokens: int
    room: Path
    saved: Path | None = None
    base: Path | None = None
    merged: Path | None = None
    exported: Path | None = None
    served: str | None = None
    served_name: str | None = None
    bits: int | None = None

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """What the live model answers, greedily; empty where it cannot generate."""
        return answered(self.model, [each.ids for each in self.prompts], self.tokens)

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """Tokens of each prompt and its answer."""
        answers = self.answers or [Answer((), False)] * len(self.prompts)
        return tuple(
            (*prompt.ids, *answer.tokens)
            for prompt, answer in zip(self.prompts, answers, strict=True)
        )

    @cached_property
    def live(self) -> Live:
        """The live model, and a batch of the prompts and its answers."""
        batch = batch_of(self.rows, self.model)
        return Live(self.model, batch, None, tokenizer=self.tokenizer)
