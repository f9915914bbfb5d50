"""The renderer: a warm process that runs chat templates within limits."""

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ftlab.probes.templates.inputs import NotPlainError, plain
from ftlab.probes.templates.process import OTHERS, Limits, Process, StoppedError
from ftlab.records.rendering import Refusal, RenderedText


@dataclass(frozen=True, slots=True)
class Chat:
    """One conversation to be rendered, and what its template is given beside it."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Any] | None = None
    documents: Sequence[Mapping[str, Any]] | None = None
    add_generation_prompt: bool = False
    variables: Mapping[str, Any] | None = None


class Renderer:
    """Renders chat templates in a process of its own, which is replaced when it dies.

    Examples
    --------
    >>> from ftlab.probes.templates.worker import renderer
    >>> question = [{"role": "user", "content": "Why?"}]
    >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    >>> renderer().render(template, [question])
    [RenderedText(text='<user>Why?', generation=())]
    >>> renderer().render("{{ raise_exception('no') }}", [question])
    [Refusal(kind='raised', words='raised "no"')]
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._worker: Process | None = None
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def start(self) -> None:
        """Start the process, without waiting until it is warm."""
        with self._ours():
            self._living()

    def close(self) -> None:
        """End the process; the next rendering starts another one."""
        if self._owner == os.getpid():
            with self._lock:
                self._drop()

    def render(
        self,
        template: Any,
        conversations: Sequence[Sequence[Mapping[str, Any]]],
        *,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        variables: Mapping[str, Any] | None = None,
    ) -> list[RenderedText | Refusal]:
        """Render each conversation with the template.

        A function among the tools is described as transformers describes it.
        """
        chats = [
            Chat(each, tools, documents, add_generation_prompt, variables)
            for each in conversations
        ]
        return self.render_all(template, chats)

    def render_all(
        self, template: Any, chats: Sequence[Chat], clock: datetime | None = None
    ) -> list[RenderedText | Refusal]:
        """Render chats that differ in more than their messages, at a given time."""
        refusal = self._unfit(template)
        if refusal is not None:
            return [refusal] * len(chats)
        sent: list[dict[str, Any] | Refusal] = [_as_plain(chat) for chat in chats]
        with self._ours():
            answers = self._ask(
                template, [s for s in sent if isinstance(s, dict)], clock
            )
        return [each if isinstance(each, Refusal) else next(answers) for each in sent]

    def _unfit(self, template: Any) -> Refusal | None:
        if not isinstance(template, str):
            kind = type(template).__name__
            return Refusal("input", f"a template is a text, and this is a {kind}")
        if len(template) > self.limits.template:
            return Refusal(
                "size",
                f"it has {len(template):,} characters; more than "
                f"{self.limits.template:,} are not rendered",
            )
        return None

    @contextlib.contextmanager
    def _ours(self) -> Iterator[None]:
        """Hold the lock; a fork of the process that made it begins anew."""
        if self._owner != os.getpid():
            self._lock, self._worker = threading.Lock(), None
            self._owner = os.getpid()
        with self._lock:
            yield

    def _ask(
        self, template: str, chats: list[dict[str, Any]], clock: datetime | None
    ) -> Iterator[RenderedText | Refusal]:
        """Return an answer to each chat."""
        request = {
            "template": template,
            "conversations": chats,
            "clock": clock.isoformat() if clock else None,
            "seconds": self.limits.seconds * OTHERS,
            "characters": self.limits.characters,
        }
        return iter(self._answers(request, len(chats)) if chats else [])

    def _answers(
        self, request: dict[str, Any], count: int
    ) -> list[RenderedText | Refusal]:
        """Ask the process; what it did not come to is refused with what stopped it."""
        done: list[RenderedText | Refusal] = []
        try:
            worker = self._living()
            worker.warm_up()
            worker.send(request)
            for _ in range(count):
                done.append(worker.receive(self.limits))
        except StoppedError as stopped:
            self._drop()
            with contextlib.suppress(StoppedError):
                self._living()  # warms up while the answer is read
            return done + [stopped.refusal] * (count - len(done))
        except BaseException:
            self._drop()  # interrupted in the middle of an answer
            raise
        if any(isinstance(each, Refusal) and each.kind == "memory" for each in done):
            self._drop()
        return done

    def _living(self) -> Process:
        if self._worker is None or not self._worker.alive:
            self._drop()
            self._worker = Process(self.limits)
        return self._worker

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None


def renderer() -> Renderer:
    """Return the renderer that this process shares."""
    return _SHARED


def _as_plain(chat: Chat) -> dict[str, Any] | Refusal:
    try:
        return {
            "messages": plain(list(chat.messages), "messages"),
            "tools": plain(chat.tools, "tools"),
            "documents": plain(chat.documents, "documents"),
            "prompt": bool(chat.add_generation_prompt),
            "variables": plain(dict(chat.variables or {}), "variables"),
        }
    except NotPlainError as error:
        return Refusal("input", str(error))


_SHARED = Renderer()
atexit.register(_SHARED.close)
