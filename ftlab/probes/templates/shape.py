"""How a template opens and ends turns, learnt from a few short conversations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ftlab.probes.templates.borders import Controls, border, known_opening
from ftlab.probes.templates.worker import Chat, renderer
from ftlab.records.rendering import Refusal, RenderedText

QUESTIONS = ("Qorvex amblin tu?", "Zinthal pomer ki?")
ANSWERS = ("Mubrick sanded lo.", "Velquin hartop ba.")
SYSTEM = "Drasken obeyed fi."
RESULT = "Yultrin 7421"
"""Texts that occur in no template."""
MOMENT = datetime(2024, 2, 3, 4, 5, 6)
FUNCTION = {
    "type": "function",
    "function": {
        "name": "krandle",
        "description": "Trellick of a place.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string", "description": "Wexford."}},
            "required": ["place"],
        },
    },
}
CALL: dict[str, Any] = {
    "id": "a1b2c3d4e",
    "type": "function",
    "function": {"name": "krandle", "arguments": {"place": "Glistow"}},
}


def user(text: str) -> dict[str, Any]:
    """Return a question."""
    return {"role": "user", "content": text}


def assistant(text: str, **more: Any) -> dict[str, Any]:
    """Return an answer."""
    return {"role": "assistant", "content": text, **more}


CALLING: list[dict[str, Any]] = [
    user(QUESTIONS[0]),
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {
        "role": "tool",
        "name": "krandle",
        "tool_call_id": CALL["id"],
        "content": RESULT,
    },
    assistant(ANSWERS[1]),
]
TURNS = [user(QUESTIONS[0]), assistant(ANSWERS[0])]
TURNS += [user(QUESTIONS[1]), assistant(ANSWERS[1])]


@dataclass(frozen=True, slots=True)
class Source:
    """A template, and what it is given with every conversation."""

    template: str
    variables: Mapping[str, Any]
    controls: Controls
    tools: Sequence[Any] | None = None
    documents: Sequence[Any] | None = None


@dataclass(slots=True)
class Shape:
    """What stands around the texts of messages; see `TemplateFacts` for the names.

    Attributes
    ----------
    form
        How messages have to be given to this template: of ``"list content"``,
        ``"tools"`` and ``"system"``; what nothing is needed of is not in it.
    said
        By what was tried, the rendering or the refusal.
    unasked
        A generation prompt that is written without being asked for.
    """

    form: tuple[str, ...] = ()
    said: dict[str, RenderedText | Refusal] = field(default_factory=dict)
    beginning: str = ""
    openings: dict[str, str] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    last_ends: dict[str, str] = field(default_factory=dict)
    generation_prompt: str = ""
    unasked: str = ""

    def text(self, name: str) -> str | None:
        """Return a rendering; ``None`` where it was refused."""
        found = self.said.get(name)
        return found.text if isinstance(found, RenderedText) else None

    def asked(self, tail: str) -> str:
        """Return what closes a turn, without the prompt that nobody asked for."""
        return tail.removesuffix(self.unasked) if self.unasked else tail


TRIED: dict[str, Chat] = {
    "question": Chat(TURNS[:1]),
    "prompt": Chat(TURNS[:1], add_generation_prompt=True),
    "answer": Chat(TURNS[:2]),
    "two questions": Chat(TURNS[:3]),
    "second prompt": Chat(TURNS[:3], add_generation_prompt=True),
    "conversation": Chat(TURNS),
    "system": Chat([{"role": "system", "content": SYSTEM}, *TURNS[:3]]),
    "system question": Chat([{"role": "system", "content": SYSTEM}, *TURNS[:1]]),
    "call": Chat(CALLING[:2], [FUNCTION]),
    "result": Chat(CALLING[:3], [FUNCTION]),
    "tool calls": Chat(CALLING, [FUNCTION]),
}
FORMS: tuple[tuple[str, ...], ...] = (
    (),
    ("list content",),
    ("system",),
    ("tools",),
    ("system", "list content"),
    ("tools", "list content"),
)


def shape_of(source: Source) -> Shape:
    """Render the short conversations, and find the borders of their turns."""
    shape = Shape()
    for form in FORMS:
        shape = Shape(form, ask(source, TRIED, form))
        refused = [r for r in shape.said.values() if isinstance(r, Refusal)]
        if shape.text("answer") is not None and _holds_texts(shape):
            _learn(shape, source.controls)
            return shape
        if any(
            r.kind in ("time", "memory", "size", "syntax", "worker") for r in refused
        ):
            break
    if form:
        shape = Shape((), ask(source, TRIED, ()))
    return shape


def ask(
    source: Source,
    chats: Mapping[str, Chat],
    form: tuple[str, ...] = (),
    moment: datetime = MOMENT,
) -> dict[str, RenderedText | Refusal]:
    """Render chats by name, in the form that the template needs."""
    given = [in_form(chat, form, source) for chat in chats.values()]
    answers = renderer().render_all(source.template, given, moment)
    return dict(zip(chats, answers, strict=True))


def in_form(chat: Chat, form: tuple[str, ...], source: Source) -> Chat:
    """Return a chat as a template needs it."""
    messages = list(chat.messages)
    if "system" in form and messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": SYSTEM})
    if "list content" in form:
        messages = [_with_list(each) for each in messages]
    tools = chat.tools or source.tools
    return Chat(
        messages,
        tools or ([FUNCTION] if "tools" in form else None),
        chat.documents or source.documents,
        chat.add_generation_prompt,
        {**source.variables, **(chat.variables or {})},
    )


def _with_list(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if not isinstance(content, str):
        return dict(message)
    return {**message, "content": [{"type": "text", "text": content}]}


def _holds_texts(shape: Shape) -> bool:
    text = shape.text("answer") or ""
    return QUESTIONS[0] in text and ANSWERS[0] in text and "'text':" not in text


def _learn(shape: Shape, controls: Controls) -> None:
    asked, answered = QUESTIONS[0], ANSWERS[0]
    whole = shape.text("conversation") or shape.text("answer") or ""
    before = whole.partition(asked)[0]
    question = shape.text("question")
    stopped = None if question is None else _after(question, asked)
    if stopped is not None:
        shape.last_ends["user"] = stopped
    _learn_prompt(shape, controls, stopped, before)
    shape.last_ends["assistant"] = last = _after(shape.text("answer") or "", answered)
    shape.openings["user"] = before
    if shape.text("conversation") is not None:
        gap = _between(whole, answered, QUESTIONS[1])
        place = border(gap, last, before, controls, before)
        known = known_opening(gap, before, controls) or 0
        end, opening = gap[:place], gap[max(place, known) :]
        shape.ends["assistant"], shape.openings["user"] = end, opening
        if opening and before.endswith(opening):
            shape.beginning = before[: -len(opening)]
        _learn_unasked(shape, last, end)
    _learn_answer(shape, _between(whole, asked, answered), controls, before)
    _learn_system(shape)
    _learn_tools(shape, controls)


def _learn_prompt(
    shape: Shape, controls: Controls, tail: str | None, first: str
) -> None:
    prompt = shape.text("prompt")
    if prompt is not None:
        after = _after(prompt, QUESTIONS[0])
        place = border(after, tail or "", None, controls, first)
        shape.generation_prompt = after[place:]


def _learn_unasked(shape: Shape, last: str, end: str) -> None:
    """Tell an end from a generation prompt that is written without being asked for."""
    same = shape.text("prompt") == shape.text("question")
    if same and end and last.startswith(end) and len(last) > len(end):
        shape.last_ends["assistant"] = end
        shape.unasked = shape.generation_prompt = last[len(end) :]
        shape.last_ends["user"] = shape.asked(shape.last_ends["user"])


def _learn_answer(shape: Shape, gap: str, controls: Controls, first: str) -> None:
    stopped = shape.last_ends.get("user")
    opening = shape.generation_prompt if stopped is None else None
    place = border(gap, stopped, opening, controls, first)
    shape.ends["user"], shape.openings["assistant"] = gap[:place], gap[place:]


def _learn_system(shape: Shape) -> None:
    text = shape.text("system") or shape.text("system question")
    if text is None or not 0 <= text.find(SYSTEM) < text.find(QUESTIONS[0]):
        return
    before, gap = text.partition(SYSTEM)[0], _between(text, SYSTEM, QUESTIONS[0])
    opening = shape.openings["user"]
    if opening and gap.endswith(opening):
        shape.ends["system"] = gap[: -len(opening)]
        shape.openings["system"] = _opening_like(opening, before)
    elif not opening or not before.endswith(opening):
        shape.ends["system"] = gap
        shape.openings["system"] = before


def _opening_like(opening: str, before: str) -> str:
    """Find the opening of a system turn: a user's with another role, or all of it."""
    alike = opening.replace("user", "system").replace("User", "System")
    place = before.find(alike)
    return alike if alike != opening and place >= 0 else before


def _learn_tools(shape: Shape, controls: Controls) -> None:
    text, result = shape.text("tool calls"), shape.text("result")
    if text is None or RESULT not in text or ANSWERS[1] not in text:
        return
    tail = None if result is None else shape.asked(_after(result, RESULT))
    if tail is not None:
        shape.last_ends["tool"] = tail
    gap = _between(text, RESULT, ANSWERS[1])
    known = shape.openings["assistant"] or None
    place = border(gap, tail, known, controls, shape.beginning)
    shape.ends["tool"] = gap[:place]
    called, last = shape.text("call"), CALL["function"]["arguments"]["place"]
    if called is not None and last in called:
        gap = _between(text, last, RESULT)
        place = border(gap, shape.asked(_after(called, last)), None, controls)
        shape.openings["tool"] = gap[place:]
    elif called is not None and text.startswith(called):
        shape.openings["tool"] = text[len(called) :].partition(RESULT)[0]


def _after(text: str, what: str) -> str:
    """Return what follows the last place of a text; ``""`` where it is not there."""
    return text.rpartition(what)[2] if what in text else ""


def _between(text: str, left: str, right: str) -> str:
    rest = text.partition(left)[2]
    return rest.partition(right)[0] if right in rest else ""
