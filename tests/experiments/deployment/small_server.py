"""A server of OpenAI's protocol in this process, in the manner of three real ones."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Literal

import torch

from ftlab.experiments.deployment.answers import answered

Manner = Literal["ids", "texts", "bare"]
"""Tells token ids as vLLM does, tokens as text as llama.cpp's Python server does, or
neither, as `transformers serve`."""


@dataclass
class Served:
    """What runs on a server.

    Attributes
    ----------
    reads
        Makes other tokens of a prompt's.
    """

    model: Any
    tokens: Any
    manner: Manner = "ids"
    reads: Callable[[list[int]], list[int]] = field(default=lambda ids: ids)

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answer a request."""
        if self.manner == "bare" and "return_token_ids" in body:
            return 422, {"detail": "Unexpected fields in the request"}
        prompt = body.get("prompt")
        if isinstance(prompt, list):
            if self.manner != "ids":
                return 400, {"detail": "prompt must be a string."}
            ids = prompt
        elif prompt is not None:
            ids = self.reads(self.tokens(prompt)["input_ids"])
        else:
            text = self.tokens.apply_chat_template(
                body["messages"], tokenize=False, add_generation_prompt=True
            )
            made = self.tokens(text, add_special_tokens=False)["input_ids"]
            ids = self.reads(list(made))
        return 200, self._told(ids, body, chat="messages" in body)

    def _told(self, ids: list[int], body: dict[str, Any], *, chat: bool) -> Any:
        (answer,) = answered(self.model, [ids], body["max_tokens"])
        text = self.tokens.decode(answer.tokens, skip_special_tokens=True)
        choice = {"finish_reason": "stop" if answer.ended else "length"}
        choice |= {"message": {"content": text}} if chat else {"text": text}
        told = {"choices": [choice], "usage": {"prompt_tokens": len(ids)}}
        if self.manner != "bare":
            choice["logprobs"] = self._logprobs(ids, answer.tokens, chat=chat)
        if self.manner == "ids":
            choice["token_ids"] = list(answer.tokens)
            told["prompt_token_ids"] = ids
        return told

    def _logprobs(self, ids: list[int], answer: Any, *, chat: bool) -> Any:
        row = torch.tensor([[*ids, *answer]])
        with torch.no_grad():
            values = self.model(row).logits[0, len(ids) - 1 : -1].log_softmax(-1)
        tops = [value.topk(5) for value in values]
        pairs = [
            dict(
                zip(
                    map(self._written, top.indices.tolist()),
                    top.values.tolist(),
                    strict=True,
                )
            )
            for top in tops
        ]
        taken = [self._written(token) for token in answer]
        own = values[range(len(answer)), list(answer)].tolist()
        if not chat:
            return {"tokens": taken, "token_logprobs": own, "top_logprobs": pairs}
        return {
            "content": [
                {
                    "token": token,
                    "logprob": value,
                    "top_logprobs": [
                        {"token": t, "logprob": v} for t, v in pair.items()
                    ],
                }
                for token, value, pair in zip(taken, own, pairs, strict=True)
            ]
        }

    def _written(self, token: int) -> str:
        if self.manner == "ids":
            return f"token_id:{token}"
        text: str = self.tokens.decode([token], skip_special_tokens=True)
        return text


@contextlib.contextmanager
def serving(served: Served) -> Iterator[str]:
    """Serve, and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told = {"data": [{"id": "tiny"}]}
            broken = served.manner == "bare"  # it lists the hub's cache
            self._send(*((500, {}) if broken else (200, told)))

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            self._send(*served.answer(json.loads(self.rfile.read(length))))

        def _send(self, code: int, told: Any) -> None:
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(told).encode())

        def log_message(self, *told: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
