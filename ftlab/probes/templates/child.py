"""The process that renders chat templates; `worker` starts it and talks to it.

It is started by its path, knows nothing of ftlab, and reads and writes frames: eight
bytes of length, then JSON. Before it is given a template it has imported transformers
and given up what a template has no need of: more memory, new files and processes.
"""

import contextlib
import datetime
import importlib
import json
import os
import re
import signal
import struct
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

LENGTH = struct.Struct(">Q")
LONGEST_WORDS = 240
"""Characters of a template's own words that are passed on."""
MARKED = re.compile(r"\{\%-?\s*generation\s*-?\%\}")
"""As transformers looks for it, which warns where the marks are asked for in vain."""


def read_frame(stream: BinaryIO, longest: int = sys.maxsize) -> Any:
    """Return the next message; ``None`` at the end of the stream.

    Raises
    ------
    ValueError
        It is longer than ``longest`` bytes.
    """
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    if length > longest:
        msg = f"a message of {length} bytes"
        raise ValueError(msg)
    body = stream.read(length)
    if len(body) < length:
        return None
    return json.loads(body.decode("utf-8", "surrogatepass"))


def write_frame(stream: BinaryIO, message: Any) -> None:
    """Send a message; lone surrogates stay what they are."""
    text = json.dumps(message, ensure_ascii=False)
    body = text.encode("utf-8", "surrogatepass")
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def main() -> None:
    """Render what comes in until the stream ends."""
    incoming, outgoing = _streams()
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    start = read_frame(incoming)
    if start is None:
        return
    sys.path[:] = start["path"]
    watch = threading.Thread(target=_end_with, args=(start["parent"],), daemon=True)
    watch.start()
    from transformers.utils import chat_template_utils as engine

    _warm(engine)
    limit = _limit_memory(start["bytes"])
    _limit_reach()
    write_frame(outgoing, {"ready": os.getpid(), "limited": limit})
    while (request := read_frame(incoming)) is not None:
        for answer in _answers(engine, request):
            write_frame(outgoing, answer)


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes to ourselves: what is printed goes nowhere."""
    if sys.platform == "win32":
        import msvcrt

        for number in (0, 1):
            msvcrt.setmode(number, os.O_BINARY)
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    return incoming, outgoing


def _end_with(parent: int) -> None:
    """End when the parent does, also where a fork of it still holds our pipe."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def _warm(engine: Any) -> None:
    """Import what a rendering imports, and read the time zone."""
    # Jinja imports these only when a template needs them: no file is read later on.
    for name in ("html", "jinja2.constants", "jinja2.debug", "pprint", "random"):
        importlib.import_module(name)

    chat = [{"role": "user", "content": "x"}]
    for body in ("{{ messages | tojson }}{{ strftime_now('%c %Z') }}", "{{ a.b.c }}"):
        with contextlib.suppress(Exception):
            engine.render_jinja_template([chat], chat_template=body)


def _limit_memory(more: int) -> bool:
    """Allow so many bytes beyond what the process has by now."""
    try:
        import resource
        from pathlib import Path

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (ImportError, OSError, ValueError):
        return False  # the worker looks at what the process holds
    return True


def _limit_reach() -> None:
    """Give up opening files and sockets, writing, and starting processes."""
    with contextlib.suppress(ImportError):
        import resource

        for name in ("NOFILE", "FSIZE", "CORE", "NPROC"):
            which = getattr(resource, f"RLIMIT_{name}", None)
            if which is not None:
                with contextlib.suppress(OSError, ValueError):
                    resource.setrlimit(which, (0, 0))


def _limit_time(seconds: float) -> None:
    """Let the system end this process if it computes on, and nobody ends it before."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        used = time.process_time()
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 2, hard))


def _answers(engine: Any, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    clock = request["clock"]
    engine.datetime = _clock_at(clock) if clock else datetime.datetime
    for conversation in request["conversations"]:
        _limit_time(request["seconds"])
        yield _answer(engine, request, conversation)


def _rendered(engine: Any, request: dict[str, Any], chat: Any) -> dict[str, Any]:
    template = request["template"]
    marked = MARKED.search(template) is not None
    texts, generation = engine.render_jinja_template(
        conversations=[chat["messages"]],
        chat_template=template,
        return_assistant_tokens_mask=marked,
        add_generation_prompt=chat["prompt"],
        tools=chat["tools"],
        documents=chat["documents"],
        **chat["variables"],
    )
    if len(texts[0]) > request["characters"]:
        return _refusal("size", f"wrote {len(texts[0]):,} characters")
    return {"text": texts[0], "generation": generation[0] if generation else []}


def _answer(engine: Any, request: dict[str, Any], chat: Any) -> dict[str, Any]:
    """Render, and put into words what stops it."""
    try:
        return _rendered(engine, request, chat)
    except MemoryError:
        return _refusal("memory", "")
    except RecursionError:
        return _refusal(
            "recursion", "calls itself without end, or is nested too deeply"
        )
    except Exception as error:  # noqa: BLE001  of code that nobody has read
        return _refusal(*_words(error))


def _words(error: Exception) -> tuple[str, str]:
    from jinja2 import exceptions

    said = " ".join(str(error)[: 4 * LONGEST_WORDS].split())[:LONGEST_WORDS]
    if isinstance(error, exceptions.TemplateSyntaxError):
        return "syntax", f"syntax error at line {error.lineno}: {said}"
    if isinstance(error, exceptions.SecurityError):
        return "forbidden", f"tried to reach what no template may: {said}"
    if isinstance(error, OverflowError):
        return "forbidden", f"asked for too much: {said}"
    if isinstance(error, exceptions.UndefinedError):
        return "undefined", f"needs what it was not given: {said}"
    if type(error) is exceptions.TemplateError:
        return "raised", f'raised "{said}"'
    return "failed", f"failed with {type(error).__name__}: {said}"


def _refusal(kind: str, words: str) -> dict[str, Any]:
    return {"refusal": kind, "words": words}


def _clock_at(moment: str) -> Any:
    """Return a ``datetime`` whose now is always the same."""

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> "Clock":  # noqa: ARG003  as its base
            return cls.fromisoformat(moment)

    return Clock


if __name__ == "__main__":
    main()
