"""What becomes of messages in a template: dropped, stripped, printed as a repr."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from ftlab.probes.templates.borders import common
from ftlab.probes.templates.shape import (
    ANSWERS,
    FUNCTION,
    QUESTIONS,
    RESULT,
    SYSTEM,
    TURNS,
    Shape,
    assistant,
    user,
)
from ftlab.probes.templates.worker import Chat
from ftlab.records.rendering import Refusal, RenderedText

THOUGHTS = ("Norquil thimbled.", "Ebbering passot.")
SPACES = ("  ", " \n")
ROLES = ("system", "user", "assistant")
_PLACE = "Glistow"
_THINKING = [
    user(QUESTIONS[0]),
    assistant(ANSWERS[0], reasoning_content=THOUGHTS[0]),
    user(QUESTIONS[1]),
    assistant(ANSWERS[1], reasoning_content=THOUGHTS[1]),
]
_TAGGED = [
    user(QUESTIONS[0]),
    assistant(f"<think>\n{THOUGHTS[0]}\n</think>\n\n{ANSWERS[0]}"),
    user(QUESTIONS[1]),
    assistant(f"<think>\n{THOUGHTS[1]}\n</think>\n\n{ANSWERS[1]}"),
]


def _system(text: str = SYSTEM) -> dict[str, Any]:
    return {"role": "system", "content": text}


def _listed(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _spaced(text: str) -> str:
    return f"{SPACES[0]}{text}{SPACES[1]}"


PROBES: dict[str, Chat] = {
    "system answer": Chat([_system(), *TURNS[:2]]),
    "system within": Chat([*TURNS[:2], _system(), TURNS[2]]),
    "developer": Chat([{"role": "developer", "content": SYSTEM}, *TURNS[:2]]),
    "reasoning": Chat(_THINKING),
    "thinking": Chat(_TAGGED),
    "tools": Chat(TURNS[:2], [FUNCTION]),
    "two user turns": Chat([TURNS[0], TURNS[2], TURNS[1]]),
    "two answers": Chat([*TURNS[:2], TURNS[3]]),
    "answer first": Chat([TURNS[1], TURNS[2]]),
    "list content": Chat(
        [
            {"role": "user", "content": _listed(QUESTIONS[0])},
            {"role": "assistant", "content": _listed(ANSWERS[0])},
        ]
    ),
    "whitespace": Chat([user(_spaced(QUESTIONS[0])), assistant(_spaced(ANSWERS[0]))]),
    "system whitespace": Chat([_system(_spaced(SYSTEM)), *TURNS[:2]]),
}
LATER = {"answer": Chat(TURNS[:2]), "system answer": PROBES["system answer"]}
AGAIN = {f"{number} times": Chat(TURNS[:2]) for number in range(4)}
"""Four more of the same: of two texts that are drawn, one comes 5 times in 1 of 16."""
TURN_TAKING = ("two user turns", "two answers", "answer first")


class Said:
    """What a template has answered to the conversations above."""

    ANOTHER: ClassVar = datetime(2031, 11, 17, 18, 29, 50)

    def __init__(
        self, shape: Shape, rendered: Mapping[str, RenderedText | Refusal]
    ) -> None:
        self.rendered = dict(rendered)
        self._shape = shape

    def _text(self, name: str) -> str | None:
        found = self.rendered.get(name, self._shape.said.get(name))
        return found.text if isinstance(found, RenderedText) else None

    def _lacks(self, name: str, what: str) -> bool:
        text = self._text(name)
        return text is not None and what not in text

    def drops(self) -> tuple[str, ...]:
        """Return what is given and not written, as `TemplateFacts` names it."""
        asked = self._lacks("system question", SYSTEM)
        answered = self._lacks("system answer", SYSTEM)
        first, second = (self._lacks("reasoning", each) for each in THOUGHTS)
        tagged, last = (self._lacks("thinking", each) for each in THOUGHTS)
        called = self._text("call") or self._text("tool calls")
        found = {
            "system": answered and asked,
            "system once answered": answered and not asked,
            "reasoning": first and second,
            "reasoning in history": (first and not second) or (tagged and not last),
            "tool calls": called is not None and _PLACE not in called,
            "tool results": self._lacks("tool calls", RESULT),
            "tools": self._lacks("tools", "Trellick"),
            "list content": self._lacks("list content", QUESTIONS[0]),
        }
        return tuple(name for name, lost in found.items() if lost)

    def reasoning_end(self) -> str:
        """Return what stands between the reasoning of a last answer and its text."""
        for name in ("reasoning", "thinking"):
            text = self._text(name) or ""
            before, _, rest = text.rpartition(THOUGHTS[1])
            if before and ANSWERS[1] in rest:
                return rest.partition(ANSWERS[1])[0]
        return ""

    def reprs(self) -> tuple[str, ...]:
        """Return what is printed as Python writes lists and dictionaries."""
        listed, called = self._text("list content"), self._text("tool calls")
        found = {
            "list content": listed is not None and "'text':" in listed,
            "tool calls": called is not None and f"'place': '{_PLACE}'" in called,
        }
        return tuple(name for name, printed in found.items() if printed)

    def trims(self) -> tuple[str, ...]:
        """Return the roles whose texts lose outer whitespace."""
        texts = zip(ROLES, (SYSTEM, QUESTIONS[0], ANSWERS[0]), strict=True)
        return tuple(role for role, text in texts if self._trimmed(role, text))

    def _trimmed(self, role: str, text: str) -> bool:
        written = self._text(f"{role} whitespace" if role == "system" else "whitespace")
        return written is not None and text in written and _spaced(text) not in written

    def unsettled(self, again: Mapping[str, RenderedText | Refusal]) -> bool:
        """Say whether one of the same conversations is another text."""
        return any(each != self._shape.said["answer"] for each in again.values())

    def alternation(self) -> bool:
        """Say whether two turns of the same role are refused."""
        refused = [self.rendered[name] for name in TURN_TAKING]
        return any(isinstance(each, Refusal) for each in refused[:2])

    def system_first(self) -> bool:
        """Say whether a system message is refused where it is not the first."""
        within = isinstance(self.rendered["system within"], Refusal)
        return within and self._text("system answer") is not None

    def date(self, later: Mapping[str, RenderedText | Refusal]) -> str:
        """Return the stretch that is another one at another time."""
        for name, then in later.items():
            now = self._text(name)
            if now is None or isinstance(then, Refusal) or then.text == now:
                continue
            left = common(now, then.text)
            right = common(now[left:][::-1], then.text[left:][::-1])
            return _whole(now, left, len(now) - right)
        return ""


def _whole(text: str, start: int, end: int) -> str:
    """Widen a stretch to whole words and numbers."""
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return text[start:end]
