"""What a chat template does to a conversation, found by rendering it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ftlab.records.rendering import Refusal
from ftlab.records.template_comparison import Difference
from ftlab.records.template_words import DROPPED, short


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    r"""What one chat template does, and what one tokenizer makes of it.

    Attributes
    ----------
    digest
        SHA-256 of the template's text, the first 16 digits; ``""`` without one.
    refused
        Why not even one question could be rendered; ``None`` where it could.
    refusals
        By what was tried (``"system"``, ``"two user turns"``, ``"tool calls"``, ...)
        what the template said to it.
    beginning
        What stands before the first turn of a conversation without a system message:
        BOS, and a system text of its own.
    form
        How messages have to be given: of ``"list content"``, ``"tools"``, ``"system"``
        (needed in every conversation).
    openings
        By role, what stands before a message's text within a conversation.
    ends
        By role, what stands behind it, up to the next turn's opening.
    last_ends
        By role, what stands behind it where the conversation ends there.
    opening_ids, end_ids, last_end_ids
        The same in tokens, cut from a whole rendering: tokens that hold a character of
        something else are left out. Empty where the tokenizer gives no offsets.
    terminator, terminator_ids
        ``last_ends["assistant"]`` and its ids; ``""`` where nothing ends an answer.
    stops
        Ids at which a generation would end: by ``"template"`` (the first control token
        of the terminator), ``"history"`` (the same within a conversation),
        ``"tokenizer"``, ``"config"`` and ``"generation_config"``.
    generation_prompt
        What ``add_generation_prompt=True`` adds to a question.
    unasked_prompt
        Whether it is added without being asked for as well, also behind an answer.
    prompt_difference
        Where a prompt with it is no beginning of the training text: left is what is
        served, right what is trained. ``None`` where it is one.
    history_difference
        Where the first answer is written in another way once more turns follow: left
        is the short conversation, right the long one. ``None`` where it is kept.
    unsettled
        Whether a conversation is not the same text each time; what depends on the text
        is then not told.
    system_text, system_kept
        A system text of its own, for conversations without one; and whether that stands
        in a turn beside a system message as well.
    date
        The stretch that another clock changes; ``""`` where none does.
    drops
        What it leaves out without a word, of `template_words.DROPPED`.
    reasoning_end
        What it writes between the reasoning and the text of a last answer.
    reprs
        What it prints as Python would: of ``"list content"``, ``"tool calls"``.
    trims
        Roles whose text it strips of outer whitespace.
    alternation, system_first
        Whether user and assistant have to take turns, and a system message be first.
    generation_marks
        Whether it marks answers with ``{% generation %}``.
    marks_cover_end
        Whether those marks hold the first control token of the terminator; ``None``
        without marks or terminator.
    pieces
        By control string of its openings and ends, the number of tokens that it is.
    swallowed
        By control string, the white space that the template writes beside it and that
        the tokenizer takes away with it (``rstrip`` or ``lstrip`` of an added token).
    repeats_bos
        Whether the text begins with the BOS that the tokenizer adds by itself.
    """

    digest: str = ""
    refused: Refusal | None = None
    refusals: Mapping[str, str] = field(default_factory=dict)
    form: tuple[str, ...] = ()
    beginning: str = ""
    openings: Mapping[str, str] = field(default_factory=dict)
    ends: Mapping[str, str] = field(default_factory=dict)
    last_ends: Mapping[str, str] = field(default_factory=dict)
    opening_ids: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    end_ids: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    last_end_ids: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    stops: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    generation_prompt: str = ""
    unasked_prompt: bool = False
    unsettled: bool = False
    prompt_difference: Difference | None = None
    history_difference: Difference | None = None
    system_text: str = ""
    system_kept: bool = False
    date: str = ""
    drops: tuple[str, ...] = ()
    reasoning_end: str = ""
    reprs: tuple[str, ...] = ()
    trims: tuple[str, ...] = ()
    alternation: bool = False
    system_first: bool = False
    generation_marks: bool = False
    marks_cover_end: bool | None = None
    pieces: Mapping[str, int] = field(default_factory=dict)
    swallowed: Mapping[str, str] = field(default_factory=dict)
    repeats_bos: bool = False

    @property
    def terminator(self) -> str:
        """What stands behind a final answer."""
        return self.last_ends.get("assistant", "")

    @property
    def terminator_ids(self) -> tuple[int, ...]:
        """The ids of the terminator."""
        return self.last_end_ids.get("assistant", ())

    @property
    def words(self) -> tuple[str, ...]:
        r"""Say in sentences what a person who trains with it must know.

        Examples
        --------
        >>> from ftlab.records.template import TemplateFacts
        >>> for line in TemplateFacts(digest="0", openings={"user": "<u>"}).words:
        ...     print(line)
        nothing ends the last answer: a model trained on it does not learn to stop
        """
        if self.refused is not None:
            return (str(self.refused),)
        return tuple(_words_of(self))

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads: dictionaries, lists, texts and numbers.

        Examples
        --------
        >>> from ftlab.records.template import TemplateFacts
        >>> facts = TemplateFacts(openings={"user": "<u>"}, stops={"template": (2,)})
        >>> TemplateFacts.from_json(facts.as_json()) == facts
        True
        """
        return {
            name: _plain(value) if isinstance(value, Mapping) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "TemplateFacts":
        """Return the facts that `as_json` wrote; what is not known of them is empty."""
        known = {each.name for each in fields(cls)}
        return cls(**{k: _restored(k, v) for k, v in read.items() if k in known})


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in value.items()}


def _restored(name: str, value: Any) -> Any:
    if name == "refused" and value is not None:
        return Refusal(**value)
    if name.endswith("_difference") and value is not None:
        return Difference(**value)
    if isinstance(value, Mapping):
        return {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _words_of(facts: TemplateFacts) -> Iterator[str]:
    """Yield a sentence for each thing worth knowing, without a full stop."""
    yield from _ends(facts)
    yield from _contents(facts)
    yield from _differences(facts)
    yield from _vocabulary(facts)


def _ends(facts: TemplateFacts) -> Iterator[str]:
    terminator = facts.terminator
    within = facts.ends.get("assistant", terminator)
    if not terminator.strip():
        behind = f" but {terminator!r}" if terminator else ""
        others = f" ({short(within)} ends those before it)" if within.strip() else ""
        yield (
            f"nothing{behind} ends the last answer{others}: a model trained on it does "
            "not learn to stop"
        )
    elif terminator != terminator.rstrip():
        space = terminator[len(terminator.rstrip()) :]
        yield f"{space!r} stands behind the end of the last answer"
    if terminator.strip() and within.strip() != terminator.strip():
        yield (
            f"answers end with {short(within)} where turns follow, and with "
            f"{short(terminator)} at the end"
        )
    if facts.unasked_prompt:
        yield (
            f"the generation prompt {short(facts.generation_prompt)} is written "
            "behind finished answers too"
        )


def _contents(facts: TemplateFacts) -> Iterator[str]:
    if facts.system_text:
        beside = ", beside a system message too" if facts.system_kept else ""
        yield f"a system text of its own is added: {short(facts.system_text)}{beside}"
    if facts.date:
        yield f"the date of the day is written, in the form of {short(facts.date)}"
    for what in facts.drops:
        yield f"{DROPPED.get(what, what + ' are')} left out without a word"
    for what in facts.reprs:
        yield f"{what} printed in the notation of Python"
    if facts.trims:
        roles = ", ".join(facts.trims)
        yield f"outer whitespace is stripped from the texts of {roles}"
    if facts.alternation:
        yield "user and assistant have to take turns"
    if facts.system_first:
        yield "a system message has to be the first"


def _differences(facts: TemplateFacts) -> Iterator[str]:
    prompt, history = facts.prompt_difference, facts.history_difference
    if facts.unsettled:
        yield (
            "a conversation is another text each time it is written, so that what is "
            "served is not what was trained"
        )
    if prompt is not None:
        yield (
            "a prompt is no beginning of the training text: served "
            f"{short(prompt.left)}, trained {short(prompt.right)}"
        )
    if history is not None:
        yield (
            f"an answer is written in another way once turns follow: first "
            f"{short(history.left)}, then {short(history.right)}"
        )
    if facts.marks_cover_end is False:
        yield "what it marks as generated stops before the token that ends an answer"


def _vocabulary(facts: TemplateFacts) -> Iterator[str]:
    broken = {text: count for text, count in facts.pieces.items() if count > 1}
    if broken:
        listed = ", ".join(
            f"{text!r} ({count} pieces)" for text, count in broken.items()
        )
        yield f"no tokens of this vocabulary: {listed}"
    for text, space in facts.swallowed.items():
        yield f"the tokenizer takes {space!r} away beside {text!r}"
    if facts.repeats_bos:
        yield "it begins with BOS, which the tokenizer adds once more to a plain text"
