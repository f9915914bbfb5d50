"""Asks a server that speaks OpenAI's protocol, and reads what it tells of tokens."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ftlab.records.errors import BadValueError

SECONDS = 120.0
"""How long an answer may take."""
TOP = 5
"""Likeliest tokens that are asked for at each place."""


class Told(NamedTuple):
    """A token as a server writes it: its text, and its id where the server tells."""

    text: str
    id: int | None


@dataclass(frozen=True, slots=True)
class Step:
    """One token of an answer.

    Attributes
    ----------
    token
        The one that was taken.
    top
        Log-probabilities of the likeliest tokens, itself among them.
    """

    token: Told
    top: Mapping[Told, float]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answers.

    Attributes
    ----------
    text
        Of the answer.
    stopped
        Whether a token ended it, and not the limit.
    prompt_ids, prompt_count
        Tokens that the server read, and how many; ``None`` where it does not tell.
    ids
        Tokens of the answer; empty where it does not tell.
    steps
        Log-probabilities, one for each token; empty where it does not tell.
    """

    text: str
    stopped: bool
    prompt_ids: tuple[int, ...] | None = None
    prompt_count: int | None = None
    ids: tuple[int, ...] = ()
    steps: tuple[Step, ...] = ()


class RefusedError(Exception):
    """The server does not take a request; the message is its own."""


class Client:
    """Asks one model of a server.

    Parameters
    ----------
    url
        Of the server, with ``/v1``.
    name
        What the model is called there; by default the first that it lists.
    """

    def __init__(self, url: str, name: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._forget_wants()
        self._guessed = name is None
        self.name = name or self._first()

    def _forget_wants(self) -> None:
        self._chat_wants, self._text_wants = [*_CHAT], [*_TEXT]

    def _first(self) -> str | None:
        try:
            listed = self._send("/models", None).get("data") or [{}]
        except RefusedError:
            return None
        name = listed[0].get("id")
        return None if name is None else str(name)

    def ask(self, prompt: str | Sequence[Any], tokens: int) -> Reply:
        """Answer a text, token ids, or a conversation, greedily.

        Raises
        ------
        RefusedError
            The server does not take such a prompt.
        BadValueError
            Nobody answers there.
        """
        chat = not isinstance(prompt, str) and not isinstance(prompt[0], int)
        body: dict[str, Any] = {"temperature": 0, "max_tokens": tokens}
        if chat:
            conversation: Any = prompt
            body["messages"] = [dict(each) for each in conversation]
        else:
            body["prompt"] = prompt
        path = "/chat/completions" if chat else "/completions"
        while True:
            wants = self._chat_wants if chat else self._text_wants
            named = {} if self.name is None else {"model": self.name}
            try:
                return _read(self._send(path, body | named | wants[0]), chat)
            except RefusedError:
                if len(wants) > 1:
                    wants.pop(0)  # it takes less, and tells less
                elif named and self._guessed:  # `transformers serve` lists the cache
                    self.name = None
                    self._forget_wants()
                else:
                    raise

    def _send(self, path: str, body: Mapping[str, Any] | None) -> Any:
        request = urllib.request.Request(
            f"{self._url}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            msg = f"{error.code}: {error.read(400)!r}"
            raise RefusedError(msg) from error
        except (OSError, ValueError) as error:
            msg = (
                f"served={self._url!r} does not answer as a server of OpenAI's "
                f"protocol ({error}); start it, and pass its address with /v1, such as "
                "http://127.0.0.1:8000/v1."
            )
            raise BadValueError(msg) from error


_IDS = {"return_token_ids": True, "return_tokens_as_token_ids": True}
"""Beyond the protocol; servers that do not know it ignore or refuse it."""
_CHAT: tuple[dict[str, Any], ...] = (
    {"logprobs": True, "top_logprobs": TOP} | _IDS,
    {"logprobs": True, "top_logprobs": TOP},
    {},
)
_TEXT: tuple[dict[str, Any], ...] = ({"logprobs": TOP} | _IDS, {"logprobs": TOP}, {})


def _read(answer: Mapping[str, Any], chat: bool) -> Reply:
    choice = (answer.get("choices") or [{}])[0]
    text = (choice.get("message") or {}).get("content") if chat else choice.get("text")
    told = choice.get("prompt_token_ids") or answer.get("prompt_token_ids")
    return Reply(
        text or "",
        choice.get("finish_reason") == "stop",
        tuple(told) if told else None,
        (answer.get("usage") or {}).get("prompt_tokens"),
        tuple(choice.get("token_ids") or ()),
        tuple(_steps(choice.get("logprobs") or {})),
    )


def _steps(logprobs: Mapping[str, Any]) -> Iterator[Step]:
    """Read the log-probabilities of either form of the protocol."""
    for each in logprobs.get("content") or ():
        top = {_told(o["token"], o.get("id")): o["logprob"] for o in _top(each)}
        own = _told(each["token"], each.get("id"))
        yield Step(own, top | {own: each["logprob"]})
    tokens = logprobs.get("tokens") or ()
    tops = logprobs.get("top_logprobs") or [{}] * len(tokens)
    values = logprobs.get("token_logprobs") or [None] * len(tokens)
    for token, others, value in zip(tokens, tops, values, strict=False):
        top = {_told(other): each for other, each in (others or {}).items()}
        own = _told(token)
        yield Step(own, top if value is None else top | {own: value})


def _top(each: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return each.get("top_logprobs") or ()


def _told(text: str, known: int | None = None) -> Told:
    if text.startswith("token_id:"):
        known = int(text.removeprefix("token_id:"))
    return Told(text, known)
