"""What `ftlab.tokens` gives: a token view that knows where its rows are from."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ftlab.probes.tokens.dataset_rows import of_rows
from ftlab.probes.tokens.ends import ends_of
from ftlab.probes.tokens.repair import repaired
from ftlab.probes.tokens.rows import read_batch
from ftlab.probes.tokens.sources import (
    facts_of,
    of_trainer,
)
from ftlab.records.errors import BadValueError, NotPausedError, NotReplayableError
from ftlab.records.template import TemplateFacts
from ftlab.records.token_ends import EndReport, Repaired
from ftlab.records.token_row import TokenBatch
from ftlab.rules.report import Report
from ftlab.session.arguments import first_given
from ftlab.session.integrations.given_messages import dropped, left_out
from ftlab.session.integrations.transformers import argument_facts
from ftlab.session.token_findings import finding_lines, findings_of
from ftlab.views.findings.findings import FindingsView
from ftlab.views.tokens.side_by_side import SideBySideView
from ftlab.views.tokens.tokens import TokenView
from ftlab.views.tokens.tokens_summary import TokenSummary

if TYPE_CHECKING:
    from ftlab.records.blame import Blame
    from ftlab.views.view import View


class Paused(Protocol):
    """A debugger, as far as its batch is looked at."""

    @property
    def state(self) -> str:
        """``"paused"`` where there is something to look at."""

    def under_way(self) -> tuple[Any, Any, Any]:
        """Return the model, what its step was called with and the trainer, if any."""

    def blame(self) -> "View[Blame]":
        """Return the loss of each token."""


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
    training
        Reads what is known of the training: a trainer's arguments, and what of the
        messages that the rows were made of is not in them.

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
        *,
        prompt: TokenBatch | None = None,
        model: Any = None,
        training: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        super().__init__(read)
        self._training = training
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
            self._read,
            self._tokenizer,
            self._model,
            facts=self.facts,
            given=self._given,
            training=self._training(),
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
                "There is only one row; side_by_side needs several templates, "
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
                "These rows are not from a batch: repair() works with "
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
    if lost := dropped(trainer):
        read = replace(read, remarks=(lost, *read.remarks))
    known = first_given(tokenizer, getattr(trainer, "processing_class", None))
    single = batches[0] if len(batches) == 1 else None
    return Tokens(
        read,
        facts,
        single,
        known,
        model=getattr(trainer, "model", None),
        training=lambda: left_out(trainer) | {"args": argument_facts(trainer.args)},
    )


def look_at_rows(rows: Any, tokenizer: Any, count: int, template: Any) -> Tokens:
    """Look at the first rows of a dataset."""
    read = of_rows(rows, tokenizer, count, template=template)
    return Tokens(read, facts_of(tokenizer), tokenizer=tokenizer)


def look_at_step(debugger: Paused, tokenizer: Any = None, *, losses: bool) -> Tokens:
    """Look at the batch of a paused step."""
    if debugger.state != "paused":
        msg = (
            f"tokens: the run is {debugger.state}, not paused; run() it to an anomaly, "
            "or interrupt() it."
        )
        raise NotPausedError(msg)
    model, given, trainer = debugger.under_way()
    known = first_given(tokenizer, getattr(trainer, "processing_class", None))
    batch = _mapping_in(given)
    if batch is None:
        msg = (
            f"The step was called with {type(given).__name__}, which has no input_ids: "
            "ftlab.tokens(batch=..., tokenizer=...) shows a batch."
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


def with_losses(read: TokenBatch, debugger: Paused) -> TokenBatch:
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
