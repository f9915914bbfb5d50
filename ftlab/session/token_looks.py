"""What `ftlab.tokens` gives: a token view that knows where its rows are from."""

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab.probes.templates.serving import answers_in, serving_of
from ftlab.probes.tokens.dataset_rows import of_rows
from ftlab.probes.tokens.ends import ends_of
from ftlab.probes.tokens.repair import repaired
from ftlab.probes.tokens.rows import read_batch
from ftlab.probes.tokens.sources import (
    conversations,
    facts_of,
    of_messages,
    of_trainer,
)
from ftlab.records.errors import BadValueError, NotPausedError, NotReplayableError
from ftlab.records.template import Refusal, ServedTurn, TemplateFacts
from ftlab.records.token_ends import EndReport, Repaired
from ftlab.records.token_row import TokenBatch
from ftlab.rules.report import Report
from ftlab.session.template_sources import as_texts, comparisons
from ftlab.session.token_findings import finding_lines, findings_of
from ftlab.views.findings.findings import FindingsView
from ftlab.views.tokens.side_by_side import SideBySideView
from ftlab.views.tokens.tokens import TokenView
from ftlab.views.tokens.tokens_summary import TokenSummary

if TYPE_CHECKING:
    from ftlab.records.blame import Blame
    from ftlab.session.debugging.debugger import Debugger


class Tokens(TokenView):
    r"""A token view, and what else is known of its rows.

    Parameters
    ----------
    read
        The rows.
    facts
        Of the chat template; ``None`` where there is none.
    given, tokenizer, model
        The batch that the rows were read from, for a repair, and what it is for.
    prompt
        The first row as it is served, up to its last answer.

    Attributes
    ----------
    facts
        What the chat template does; ``print("\n".join(view.facts.words))``.
    """

    def __init__(
        self,
        read: TokenBatch,
        facts: TemplateFacts | None = None,
        given: Mapping[str, Any] | None = None,
        tokenizer: Any = None,
        prompt: TokenBatch | None = None,
        model: Any = None,
    ) -> None:
        super().__init__(read)
        self._model = model
        self._prompt = prompt
        self.facts = facts
        self._read = read
        self._given = given
        self._tokenizer = tokenizer

    @property
    def ends(self) -> EndReport:
        """Where BOS and EOS stand, whether ends are trained, and what stops a text."""
        return ends_of(self._read, self.facts)

    @functools.cached_property
    def findings(self) -> FindingsView:
        """What the rules about data say of these rows, worst first.

        A sample in a place is the number of its row; ``ftlab.explain(code)`` tells of a
        rule. Rules that need a training to look at say nothing here.
        """
        made = findings_of(
            self._read, self._tokenizer, self._model, self.facts, self._given
        )
        return FindingsView(Report(made))

    def _summarise(self) -> TokenSummary:
        return replace(super()._summarise(), faults=finding_lines(tuple(self.findings)))

    @property
    def side_by_side(self) -> SideBySideView:
        """The rows beside each other; with ``serving=True``, trained beside served.

        Raises
        ------
        BadValueError
            There is one row only.
        """
        if self._prompt is not None:
            both = {"training": self._read.rows[0], "serving": self._prompt.rows[0]}
            known = {**self._prompt.pieces, **self._read.pieces}
            special, said = self._read.special, self._read.remarks
            return SideBySideView(
                both, known, serving=True, special=special, remarks=said
            )
        rows = {row.source: row for row in self._read.rows}
        if len(rows) < 2:
            msg = (
                "There is one row; side_by_side goes with several templates, "
                "ftlab.tokens(tokenizer, messages, template={name: template}), or with "
                "serving=True."
            )
            raise BadValueError(msg)
        return SideBySideView(
            rows,
            self._read.pieces,
            special=self._read.special,
            remarks=self._read.remarks,
        )

    def repair(self) -> Repaired:
        """Return the batch with its ends put right, and what to change in the code.

        The batch that was given is not changed.

        Raises
        ------
        BadValueError
            These rows are from no batch.
        """
        if self._given is None:
            msg = (
                "These rows are from no batch: repair() goes with "
                "ftlab.tokens(batch=..., tokenizer=...), and with a trainer's first "
                "batch. ends says what is wrong with these."
            )
            raise BadValueError(msg)
        return repaired(self._given, self._tokenizer, facts=self.facts)


def look_at_batch(batch: Any, tokenizer: Any, model: Any = None) -> Tokens:
    """Look at what a data loader yields."""
    facts = facts_of(tokenizer, model)
    read = read_batch(batch, tokenizer, facts=facts)
    return Tokens(read, facts, batch, tokenizer, model=model)


def look_at_trainer(trainer: Any, count: int, tokenizer: Any = None) -> Tokens:
    """Look at a trainer's first batches, and leave no trace in its training."""
    read, batches, facts = of_trainer(trainer, count, tokenizer)
    known = tokenizer or getattr(trainer, "processing_class", None)
    single = batches[0] if len(batches) == 1 else None
    return Tokens(read, facts, single, known, model=getattr(trainer, "model", None))


def look_at_rows(rows: Any, tokenizer: Any, count: int, template: Any) -> Tokens:
    """Look at the first rows of a dataset."""
    read = of_rows(rows, tokenizer, count, template=template)
    return Tokens(read, facts_of(tokenizer), tokenizer=tokenizer)


def look_at_messages(
    tokenizer: Any, messages: Any, model: Any, settings: Mapping[str, Any]
) -> Tokens:
    """Look at conversations, in one template or in several."""
    if messages is None:
        msg = (
            "tokens() was given a tokenizer; it needs messages too: "
            'ftlab.tokens(tokenizer, [{"role": "user", "content": "Hi"}]).'
        )
        raise BadValueError(msg)
    asked = dict(settings)
    serving = asked.pop("serving", False)
    given = asked.get("template")
    asked["template"] = as_texts(given)
    read = of_messages(tokenizer, messages, **asked)
    said = comparisons(given, asked["template"], tokenizer)
    if serving:
        said += _served(tokenizer, messages, asked)
    read = replace(read, remarks=(*read.remarks, *said))
    single = None if isinstance(tokenizer, Mapping) else tokenizer
    template = asked.get("template")
    one = single is not None and not isinstance(template, Mapping)
    facts = facts_of(single, model, template) if one else None
    prompt = _prompt(single, messages, asked) if serving and one else None
    return Tokens(read, facts, tokenizer=single, prompt=prompt, model=model)


def _prompt(
    tokenizer: Any, messages: Any, asked: Mapping[str, Any]
) -> TokenBatch | None:
    """Render what is served for the last answer of a single conversation."""
    talks = conversations(messages)
    answers = [at for at, m in enumerate(talks[0]) if m.get("role") == "assistant"]
    if len(talks) > 1 or not answers or not answers[-1]:
        return None
    before = talks[0][: answers[-1]]
    return of_messages(tokenizer, before, **{**asked, "add_generation_prompt": True})


def _served(tokenizer: Any, messages: Any, asked: Mapping[str, Any]) -> list[str]:
    """Say for each answer whether it is served as it was trained."""
    others = {k: v for k, v in asked.items() if k != "add_generation_prompt"}
    template = others.pop("template", None)
    named = tokenizer if isinstance(tokenizer, Mapping) else {"": tokenizer}
    ways = template if isinstance(template, Mapping) else {"": template}
    said = []
    for name, each in named.items():
        for other, way in ways.items():
            for number, talk in enumerate(conversations(messages)):
                found = serving_of(each, talk, template=way, **others)
                turns = _compared(found, len(answers_in(talk)))
                where = [name, other, f"conversation {number}" if number else ""]
                place = ", ".join(filter(None, where))
                said += [f"{place}: {turn}" if place else turn for turn in turns]
    return said


def _compared(found: tuple[ServedTurn, ...] | Refusal, answers: int) -> list[str]:
    """Say how answers are served, and how many of them were not looked at."""
    if isinstance(found, Refusal):
        return [str(found)]
    rest = [f"{len(found)} of {answers} answers were compared"]
    return [*map(str, found), *(rest if len(found) < answers else [])]


def look_at_step(
    debugger: "Debugger", tokenizer: Any = None, *, losses: bool
) -> Tokens:
    """Look at the batch of a paused step."""
    if debugger.state != "paused":
        msg = (
            f"tokens: the run is {debugger.state}, not paused; run() it to an anomaly, "
            "or interrupt() it."
        )
        raise NotPausedError(msg)
    model, given, trainer = debugger.under_way()
    known = tokenizer or getattr(trainer, "processing_class", None)
    batch = _mapping_in(given)
    if batch is None:
        msg = (
            f"The step was called with {type(given).__name__}, which holds no "
            "input_ids: ftlab.tokens(batch=..., tokenizer=...) looks at a batch."
        )
        raise BadValueError(msg)
    facts = facts_of(known, model)
    read = read_batch(batch, known, facts=facts)
    if losses:
        read = with_losses(read, debugger)
    return Tokens(read, facts, batch, known, model=model)


def _mapping_in(given: Any, depth: int = 3) -> Mapping[str, Any] | None:
    """Find the batch among the arguments of a step."""
    if isinstance(given, Mapping) and any("input_ids" in str(key) for key in given):
        return given
    inner = given.values() if isinstance(given, Mapping) else given
    if not depth or not isinstance(given, Mapping | list | tuple):
        return None
    found = (_mapping_in(each, depth - 1) for each in inner)
    return next((each for each in found if each is not None), None)


def with_losses(read: TokenBatch, debugger: "Debugger") -> TokenBatch:
    """Execute a paused step once more, and give each token its loss."""
    try:
        blame: Blame = debugger.blame().summary
    except NotReplayableError as error:
        return replace(read, remarks=(*read.remarks, f"no loss per token: {error}"))
    known = np.asarray(blame.losses, np.float32)
    rows = []
    for at, row in enumerate(read.rows):
        own = np.full(len(row.ids), np.nan, np.float32)
        if at < len(known):
            width = min(len(own), known.shape[1])
            own[:width] = known[at, :width]
        rows.append(replace(row, losses=own))
    return replace(read, rows=tuple(rows))
