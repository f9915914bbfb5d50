"""Where two renderings of one conversation go apart."""

from collections.abc import Mapping
from dataclasses import dataclass

from ftlab.records.template_words import short


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place at which two texts, or two rows of ids, go apart.

    Attributes
    ----------
    place
        Characters, or tokens, that are equal before it.
    left, right
        What each goes on with; ``""`` where it ends. Of ids, their text.
    """

    place: int
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class ServedTurn:
    r"""One answer of a conversation: what comes before it in training and at serving.

    Attributes
    ----------
    message
        Number of the answer within the conversation.
    prefix
        Whether the prompt that is served is, token for token, what comes before it.
    place
        Tokens that are equal; characters where there is no tokenizer.
    served, trained
        What each goes on with from there, up to the answer: ``"<think>\\n"`` and
        ``""``.
    merged
        The texts are the same, and a token holds the end of the prompt and the
        beginning of the answer.
    """

    message: int
    prefix: bool
    place: int
    served: str = ""
    trained: str = ""
    merged: bool = False

    def __str__(self) -> str:
        if self.prefix:
            return f"message {self.message}: served as it was trained"
        if self.merged:
            return (
                f"message {self.message}: the token at {self.place} holds the end of "
                "the prompt and the beginning of the answer"
            )
        return (
            f"message {self.message}: from {self.place} on, served "
            f"{short(self.served)}, trained {short(self.trained)}"
        )


@dataclass(frozen=True, slots=True)
class TemplateComparison:
    """Where the texts of two templates go apart, and what they make of conversations.

    ``renderings`` holds, by conversation (``"answer"``, ``"system"``, ...), those that
    differ; a refusal counts as the text of its words.
    """

    text: Difference | None
    renderings: Mapping[str, Difference]
