"""Fixed prompts, answered every so many steps with the adapter on and off.

The model is in evaluation meanwhile, greedy, and as it was afterwards: random numbers,
modes and buffers are put back, and neither a watch nor a debugger hears the forwards.
"""

import contextlib
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import holders
from ftlab.probes.adapter.switched_off import without_adapters
from ftlab.probes.attention.undisturbed import undisturbed
from ftlab.probes.behaviour.greedy import apart, greedy, likeliest, parted, said
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.quantisation.four_bit import never_packed
from ftlab.probes.schedule import Seldom
from ftlab.probes.subject import Subject
from ftlab.records import replaying
from ftlab.records.attributes import attribute_of
from ftlab.records.event import Event
from ftlab.records.handle import Handle

ROWS = 8
"""Rows of a batch whose repetition is counted."""
GRAM = 4
"""Tokens in a row that count as repeated where they come again."""

Prompt = str | Sequence[Mapping[str, str]]


_Answer = tuple[dict[str, Any], torch.Tensor | None]


class Answers(Probe):
    """Let the model answer prompts, and keep what it says.

    Parameters
    ----------
    prompts
        Texts, or conversations that a chat template is put around.
    interval
        Steps from one time to the next; more where the watch's budget asks for it.
    tokens
        Length at which an answer is cut off.
    """

    def __init__(
        self, prompts: Sequence[Prompt], interval: int = 100, tokens: int = 32
    ) -> None:
        self._prompts = tuple(prompts)
        self._tokens = tokens
        self.schedule = Seldom(interval)
        self._tokenizer: Any = None
        self._plain: list[dict[str, Any]] | None = None
        self._trained: float | None = None
        self._refused = False

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Take the run's tokenizer; what the base answers is asked anew."""
        self._tokenizer, self._plain = subject.tokenizer, None
        return ()

    def on_batch(self, moment: Moment, inputs: dict[str, Any]) -> Iterable[Reading]:
        """See how much the rows repeat themselves that are trained in this step."""
        rows = inputs.get("labels", inputs.get("input_ids"))
        if isinstance(rows, torch.Tensor) and rows.dim() == 2:
            trained = ([e for e in row if e >= 0] for row in rows[:ROWS].tolist())
            self._trained = statistics.median(map(repetition, trained))
        return ()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Answer all prompts, with the adapter and without: once for each step.

        At step 0 nothing has been trained yet.
        """
        model: Any = moment.subject.model
        if self._tokenizer is None:
            return self._not(moment.step, "no tokenizer is known; pass tokenizer=")
        if not hasattr(model, "generate"):
            return self._not(moment.step, f"{type(model).__name__} has no generate()")
        began = time.perf_counter()
        given, refused = self._given()
        if not given:
            return self._not(moment.step, refused)
        try:
            with _asked(model):
                asked = [self._answer(model, ids) for ids in given.values()]
                self._beside_the_base(model, [*given.values()], asked)
        except Exception as error:  # noqa: BLE001  a model of its own kind; told
            return self._not(moment.step, f"{type(error).__name__}: {str(error)[:160]}")
        answers = [answer for answer, _ in asked]
        for answer, at in zip(answers, given, strict=True):
            answer["prompt"] = _last_words(self._prompts[at])
        seconds = time.perf_counter() - began
        detail = {"answers": answers, "seconds": seconds, "trained": self._trained}
        says = f"{len(answers)} prompts answered in {seconds:.2f} s"
        told = [_told(Event("answers", moment.step, time.time(), says, detail))]
        if refused and not self._refused:
            told += self._not(moment.step, refused)
            self.rests, self._refused = False, True
        return told

    def _not(self, step: int, why: str) -> list[Reading]:
        """Tell why prompts are not answered, and rest."""
        self.rests = True
        says = f"prompts are not answered: {why}"
        return [_told(Event("note", step, time.time(), says))]

    def _given(self) -> tuple[dict[int, list[int]], str]:
        """Return the ids of the prompts that have some, and why another has none."""
        given, refused = {}, ""
        for at, prompt in enumerate(self._prompts):
            try:
                ids = self._ids(prompt)
                if not ids:
                    refused = f"prompt {at} has no token; begin it with one, as BOS is"
                else:
                    given[at] = ids
            except Exception as error:  # noqa: BLE001  a tokenizer's own; told
                refused = f"prompt {at}: {type(error).__name__}: {str(error)[:160]}"
        return given, refused

    def _beside_the_base(
        self, model: Any, given: Sequence[Sequence[int]], asked: Sequence[_Answer]
    ) -> None:
        """Note what is said without the adapter, and how far each token is from it."""
        if any(attribute_of(m, "merged", False) is True for m in model.modules()):
            return  # PEFT unmerges for good what is switched off
        with without_adapters(model) as off:
            if not off:
                return
            if self._plain is None:
                self._plain = [self._answer(model, each)[0] for each in given]
            for ids, (answer, on) in zip(given, asked, strict=True):
                answer["nats"] = apart(on, said(model, ids, answer["tokens"]))
        for (answer, _), base in zip(asked, self._plain, strict=True):
            answer["plain"] = base["text"]
            answer["plain_end"] = base["end"]
            answer["plain_repetition"] = base["repetition"]
            answer["parted"] = parted(answer["tokens"], base["tokens"])
        adapters = {name for each in holders(model) for name in each.configs}
        trained = (n for n, p in model.named_parameters() if p.requires_grad)
        if not all(adapters & set(name.split(".")) for name in trained):
            self._plain = None  # the base is trained too: it is asked again

    def _answer(self, model: Any, given: Sequence[int]) -> _Answer:
        """Return an answer, and the log-probabilities at its tokens."""
        pad = getattr(self._tokenizer, "pad_token_id", None) or 0
        new = greedy(model, given, self._tokens, pad)
        ends, logs = _ends_of(model), said(model, given, new)
        answer = {
            "text": self._tokenizer.decode(new),
            "pieces": pieces(self._tokenizer, new),
            "tokens": new,
            "limit": self._tokens,
            "ended": bool(new) and new[-1] in ends,
            "end": likeliest(logs, ends),
            "repetition": repetition(new),
        }
        return answer, logs

    def _ids(self, prompt: Prompt) -> list[int]:
        if isinstance(prompt, str):
            return list(self._tokenizer(prompt)["input_ids"])
        found = self._tokenizer.apply_chat_template(
            list(prompt), add_generation_prompt=True, return_dict=True
        )
        return list(found["input_ids"])


def repetition(tokens: Sequence[int]) -> float:
    """Return the share of runs of `GRAM` tokens that have been there before.

    Examples
    --------
    >>> from ftlab.probes.behaviour.answers import repetition
    >>> repetition([1, 2, 3, 4, 5]), repetition([7] * 12)
    (0.0, 0.8888888888888888)
    """
    runs = [tuple(tokens[at : at + GRAM]) for at in range(len(tokens) - GRAM + 1)]
    return (len(runs) - len(set(runs))) / len(runs) if runs else 0.0


@contextlib.contextmanager
def _asked(model: torch.nn.Module) -> Iterator[None]:
    """Put a model into evaluation, to be asked, and leave it as it was."""
    config = attribute_of(model, "generation_config")
    before = dict(vars(config)) if config is not None else {}
    with replaying.marked(), undisturbed(model), never_packed(model):
        model.eval()
        try:
            yield
        finally:
            if config is not None:
                vars(config).clear()
                vars(config).update(before)


def pieces(tokenizer: Any, tokens: Sequence[int]) -> list[str]:
    """Return what each token adds to a text, its spaces included."""
    found, text = [], ""
    for at in range(len(tokens)):
        longer = tokenizer.decode(tokens[: at + 1])
        fits = longer.startswith(text)
        found.append(longer[len(text) :] if fits else tokenizer.decode(tokens[at]))
        text = longer
    return found


def _last_words(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else prompt[-1]["content"]


def _told(event: Event) -> Reading:
    return Reading(torch.zeros(1), lambda _: [event])


def _ends_of(model: Any) -> set[int]:
    config = attribute_of(model, "generation_config")
    end = getattr(config, "eos_token_id", None)
    return set(end if isinstance(end, list) else [end]) - {None}
