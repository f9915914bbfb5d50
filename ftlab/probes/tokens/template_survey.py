"""What a tokenizer's chat template does, found out while training goes on.

Who calls whom: `TemplateSurvey` starts a thread that lets the worker process render; it
reads a copy of the tokenizer's settings, and never the tokenizer, which belongs to the
thread that trains. There `TemplateSurvey.facts` asks the tokenizer itself, for some
milliseconds, about what has been rendered: however slow a template or a machine is,
training waits for neither.
"""

import contextlib
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from ftlab.probes.templates.spans import source_of
from ftlab.probes.templates.survey import Tried, try_out
from ftlab.records.rendering import Refusal
from ftlab.records.template import TemplateFacts


class TemplateSurvey:
    """The facts of one tokenizer's template, when they are there.

    Parameters
    ----------
    tokenizer
        A tokenizer or a processor, with a chat template or without.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._tried: Tried | None = None
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
        """Return the facts; ``None`` where the template is refused."""
        tried, self._tried = self._tried, None
        if tried is not None:
            with left_as_it_was(self._tokenizer):
                self._facts = tried.facts(self._tokenizer)
        return self._facts

    def _try(self) -> None:
        with contextlib.suppress(Exception):  # there are no facts then
            source = source_of(self._copy)
            if isinstance(source, Refusal):
                return
            tried = try_out(source)
            if tried.shape.openings:
                self._tried = tried


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
