"""What a tokenizer's chat template does, found out while training goes on.

Who calls whom: `TemplateSurvey` starts a thread that lets the worker process render; it
reads a copy of the tokenizer's settings, and never the tokenizer, which belongs to the
thread that trains. There `TemplateSurvey.facts` asks the tokenizer itself, for some
milliseconds, once the thread has shown that the template is quick and does not raise.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from ftlab.probes.templates.survey import survey
from ftlab.records.template import TemplateFacts

QUICK = 0.2
"""Seconds that a further survey may take, for one on the thread that trains."""

TRIES = 3
"""Further surveys: a busy machine makes one slow, a slow template all."""


class TemplateSurvey:
    """The facts of one tokenizer's template, when they are there.

    Parameters
    ----------
    tokenizer
        A tokenizer or a processor, with a chat template or without.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._quick = False
        self._facts: TemplateFacts | None = None
        self._thread: threading.Thread | None = None
        template = getattr(tokenizer, "chat_template", None)
        if isinstance(template, str) and template:
            self._copy = SimpleNamespace(
                chat_template=template,
                special_tokens_map=dict(getattr(tokenizer, "special_tokens_map", {})),
                added_tokens_encoder=dict(
                    getattr(tokenizer, "added_tokens_encoder", {})
                ),
            )
            self._thread = threading.Thread(target=self._try, daemon=True)
            self._thread.start()

    @property
    def wanted(self) -> bool:
        """Whether there is a template."""
        return self._thread is not None

    def ready(self, wait: float = 0.0) -> bool:
        """Tell whether the facts are there; wait for so many seconds at most."""
        if self._thread is None:
            return False
        if wait:
            self._thread.join(wait)
        return not self._thread.is_alive()

    def facts(self) -> TemplateFacts | None:
        """Return the facts; ``None`` where the template is slow, or refused."""
        if self._quick and self._facts is None:
            with left_as_it_was(self._tokenizer):
                self._facts = survey(self._tokenizer)
            self._quick = False
        return self._facts

    def _try(self) -> None:
        try:
            if survey(self._copy).refused is None:
                self._quick = any(self._takes() < QUICK for _ in range(TRIES))
        except Exception:  # noqa: BLE001  there are no facts then
            self._quick = False

    def _takes(self) -> float:
        begin = time.perf_counter()
        survey(self._copy)
        return time.perf_counter() - begin


@contextlib.contextmanager
def left_as_it_was(tokenizer: Any) -> Iterator[None]:
    """Put truncation and padding back, which each call of a fast tokenizer sets."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    backend = getattr(inner, "backend_tokenizer", None)
    truncation = getattr(backend, "truncation", None)
    padding = getattr(backend, "padding", None)
    try:
        yield
    finally:
        if backend is not None and truncation:
            backend.enable_truncation(**truncation)
        if backend is not None and padding:
            backend.enable_padding(**padding)
