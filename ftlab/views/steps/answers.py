"""What a run's model answered to fixed prompts, step by step."""

from collections.abc import Hashable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ftlab.records.event import Event
from ftlab.records.printable import harmless
from ftlab.views.drawn import Axes, Canvas, DataFrame
from ftlab.views.style import SERIES, number
from ftlab.views.view import RunView

WORDS = 64
"""Characters of an answer that the text shows."""
COLUMNS, PER_WIDTH = 122, 129.0
"""Characters of a line of the figure, and how many would fill its width."""
MOST = 5.0
"""Nats of the darkest colour: what was the likeliest token has less than 1 % then."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes
    ----------
    step, prompt, text
        When, to what, and what was said.
    tokens
        How many it has.
    ended
        Whether a token ended it, and not the limit of its length.
    repetition
        Share of runs of four tokens that had been there before.
    plain
        What is said without the adapter; ``""`` where that is not known.
    parted
        The first token in which both differ, -1 for none; -2 where that is not known.
    end
        The largest probability that a token which ends answers had anywhere in it.
    nats
        KL divergence of the next token from the base's, the mean over its tokens; NaN
        where that is not known.
    """

    step: int
    prompt: str
    text: str
    tokens: int
    ended: bool
    repetition: float
    plain: str
    parted: int
    end: float
    nats: float
    by_token: tuple[tuple[str, float], ...] = field(default=(), repr=False)


class AnswersView(RunView["tuple[Answer, ...]"]):
    """Answers to fixed prompts: the latest ones, and how length and repetition went.

    Examples
    --------
    >>> from ftlab.records.event import Event
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.steps.answers import AnswersView
    >>> run = Run()
    >>> said = {"prompt": "hello", "text": "you", "tokens": [5, 2], "ended": True}
    >>> detail = {"answers": [{**said, "repetition": 0.0}], "seconds": 0.1}
    >>> run.append(Event("answers", 20, 0.0, "", detail))
    >>> AnswersView(run)
    Answers: 1 prompt at 1 step; at step 20 all ended by themselves
      hello
        > you
    """

    title = "Answers"

    def headline(self) -> str:
        """Say how the latest answers ended."""
        return _headline(self.summary) if self.summary else ""

    def _stamp(self) -> Hashable:
        return id(self._run), sum(each.kind == "answers" for each in self._run.events)

    def _summarise(self) -> tuple[Answer, ...]:
        events = [each for each in self._run.events if each.kind == "answers"]
        return tuple(answer for event in events for answer in _answers(event))

    def _table(self, summary: tuple[Answer, ...]) -> DataFrame:
        import pandas as pd

        columns = [each.name for each in fields(Answer) if each.name != "by_token"]
        rows = [[getattr(each, name) for name in columns] for each in summary]
        return pd.DataFrame(rows, columns=columns)

    def size_of(self, summary: tuple[Answer, ...]) -> tuple[float, float]:
        """Give each of the latest answers two lines."""
        return 9.0, 2.5 + 0.42 * len(_latest(summary))

    def draw_on(self, figure: Canvas, summary: tuple[Answer, ...]) -> None:
        """Draw length and repetition over the steps, and the latest answers."""
        figure.suptitle(_headline(summary), fontsize=9, x=0.01, ha="left")
        if not summary:
            return
        latest = _latest(summary)
        upper, lower = figure.subplots(2, 1, height_ratios=[2, 0.4 * len(latest)])
        steps = sorted({each.step for each in summary})
        rows = [[a for a in summary if a.step == step] for step in steps]
        lengths = [float(np.mean([a.tokens for a in row])) for row in rows]
        again = [float(np.mean([a.repetition for a in row])) for row in rows]
        upper.plot(steps, lengths, marker="o", color=SERIES[0], label="tokens (mean)")
        other = upper.twinx()
        other.plot(
            steps, again, marker="s", ls="--", color=SERIES[1], label="repetition"
        )
        other.set_ylim(0, 1)
        upper.set_ylim(bottom=0)
        upper.set_xlabel("step", fontsize=8)
        lines = [*upper.get_lines(), *other.get_lines()]
        upper.legend(lines, [str(line.get_label()) for line in lines], fontsize=7)
        lower.set_axis_off()
        known = any(each.by_token for each in latest)
        if known:
            lower.set_title(
                "latest answers; shade: how far each token's distribution is from that "
                f"without the adapter (white: 0, dark: {MOST:g} nats or more)",
                fontsize=8.5,
                loc="left",
            )
        for at, each in enumerate(latest):
            top = 1 - at / len(latest)
            _write(lower, 0.0, top - 0.25 / len(latest), _short(each.prompt), "0.4")
            _write_answer(lower, top - 0.7 / len(latest), each)

    def _notes(self) -> list[str]:
        """Say why prompts were not answered."""
        notes = (each.message for each in self._run.events if each.kind == "note")
        return [f"  {said}" for said in notes if said.startswith("prompts are not")]

    def _text(self, summary: tuple[Answer, ...]) -> str:
        lines = [f"{self.title}: {_headline(summary)}", *self._notes()]
        for each in _latest(summary):
            lines += [f"  {_short(each.prompt)}", f"    > {_short(each.text)}"]
            if each.parted >= 0:
                same = f" ({each.parted} tokens are the same)" if each.parted else ""
                lines.append(f"    without the adapter{same}: {_short(each.plain)}")
            if each.by_token:
                piece, most = max(each.by_token, key=lambda pair: pair[1])
                lines.append(
                    f"    furthest from the model without it at {_short(piece)!r}: "
                    f"{number(most)} nats"
                )
        return "\n".join(lines)


def _write(axis: Axes, x: float, y: float, text: str, colour: str, **box: Any) -> None:
    shown = text.replace("$", r"\$")  # a dollar sign would be taken for mathematics
    axis.text(
        x,
        y,
        shown,
        fontsize=7.5,
        family="monospace",
        color=colour,
        va="center",
        transform=axis.transAxes,
        bbox={"pad": 0.5, "linewidth": 0, **box} if box else None,
    )


def _write_answer(axis: Axes, y: float, answer: Answer) -> None:
    """Write an answer token by token, each on the colour of its divergence."""
    from matplotlib import colormaps

    if not answer.by_token:
        _write(axis, 0.015, y, "> " + _short(answer.text), "black")
        return
    shades, at = colormaps["Blues"], 0
    for piece, nats in answer.by_token:
        said = str(harmless(piece)).replace("\n", "\\n") or " "
        if at + len(said) > COLUMNS:
            _write(axis, 0.015 + at / PER_WIDTH, y, "...", "black")
            return
        share = min(nats / MOST, 1.0)
        _write(
            axis,
            0.015 + at / PER_WIDTH,
            y,
            said,
            "white" if share > 0.6 else "black",
            facecolor=shades(share),
        )
        at += len(said)


def _answers(event: Event) -> list[Answer]:
    return [
        Answer(
            event.step,
            str(each["prompt"]),
            str(each["text"]),
            len(each["tokens"]),
            bool(each["ended"]),
            float(each["repetition"]),
            str(each.get("plain", "")),
            int(each.get("parted", -2)),
            _number(each.get("end")),
            float(np.mean(each["nats"])) if each.get("nats") else float("nan"),
            tuple(zip(each.get("pieces", ()), each.get("nats", ()), strict=False)),
        )
        for each in event.detail["answers"]
    ]


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _latest(summary: tuple[Answer, ...]) -> list[Answer]:
    last = max((each.step for each in summary), default=0)
    return [each for each in summary if each.step == last]


def _headline(summary: tuple[Answer, ...]) -> str:
    if not summary:
        return "no prompt was answered; ftlab.watch(..., prompts=[...]) asks some"
    latest = _latest(summary)
    steps = len({each.step for each in summary})
    ended = sum(each.ended for each in latest)
    how = f"{ended} of {len(latest)} ended by themselves"
    if ended in (0, len(latest)):
        how = ("all" if ended else "none") + " ended by themselves"
    empty = sum(each.ended and each.tokens == 1 for each in latest)
    how += f", {empty} at once, without a word" if empty else ""
    looping = sum(each.repetition > 0.5 for each in latest)
    more = f", {looping} mostly repeat themselves" if looping else ""
    return (
        f"{len(latest)} prompt{'s' * (len(latest) != 1)} at {steps} "
        f"step{'s' * (steps != 1)}; at step {latest[0].step} {how}{more}"
    )


def _short(text: str) -> str:
    shown = str(harmless(text)).replace("\n", "\\n")
    return (shown if len(shown) <= WORDS else shown[:WORDS] + "...") or "(nothing)"
