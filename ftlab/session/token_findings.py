"""Judges rows that nobody trains on yet by the rules about data."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ftlab.probes.facts import tokenizer_facts
from ftlab.probes.tokens.batch_events import batch_events
from ftlab.probes.tokens.row_events import FIRST, row_events
from ftlab.records.facts import Facts
from ftlab.records.finding import Finding, Severity
from ftlab.records.template import TemplateFacts
from ftlab.records.token_row import TokenBatch
from ftlab.rules.engine import Engine
from ftlab.rules.registry import PREFIXES, all_rules
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run


def findings_of(
    batch: TokenBatch,
    tokenizer: Any = None,
    model: Any = None,
    *,
    facts: TemplateFacts | None = None,
    given: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
) -> tuple[Finding, ...]:
    """Return what the rules about data find in these rows, worst first.

    A sample in a place is the number of its row. ``given`` is the batch that the rows
    were read from, as a model gets it; ``training`` what is known of a training, as
    `Facts.training` has it.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.token_row import TokenBatch, TokenRow
    >>> from ftlab.session.token_findings import findings_of
    >>> findings_of(TokenBatch((TokenRow(np.array([1, 5, 2])),), {}))
    ()
    """
    run = Run()
    known = {"tokenizer": tokenizer_facts(tokenizer)} if tokenizer is not None else {}
    run.append(Facts(training={**known, **(training or {})}))
    for event in row_events(batch, tokenizer, model, facts):
        run.append(event)
    for event in () if given is None else batch_events(given, tokenizer, model):
        run.append(event)
    rules = [each for each in all_rules() if each.code.startswith(PREFIXES["data"])]
    found = Engine(rules).check(run).findings
    first = f"{at_steps(FIRST, FIRST)}: "
    return tuple(
        replace(each, message=each.message.removeprefix(first)) for each in found
    )


def finding_lines(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """Return one line for each finding that is more than information.

    Examples
    --------
    >>> from ftlab.session.token_findings import finding_lines
    >>> finding_lines(())
    ()
    """
    return tuple(
        f"{each.code} {each.name}: {each.message}. Fix: {each.fix}"
        for each in findings
        if each.severity > Severity.INFO
    )
