"""Layer *data*: the tokenizer's chat template can be rendered, and ends its answers."""

from typing import Any

from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.template_survey import left_as_it_was
from ftlab.records.finding import Severity
from ftlab.records.rendering import Refusal
from ftlab.records.template import TemplateFacts
from ftlab.rules.words import listed
from ftlab.session.preflight.saying import Check, Fault, Items
from ftlab.session.preflight.seen import Seen

_TEMPLATE = Check("data", "the chat template renders")

BROKEN = frozenset({"syntax", "time", "memory", "size"})
"""Refusals that no conversation changes; others may be due to what was tried."""


def template_checks(seen: Seen) -> Items:
    """Yield one item, where the tokenizer has a chat template."""
    tokenizer = seen.given.tokenizer
    if not getattr(tokenizer, "chat_template", None):
        return
    with left_as_it_was(tokenizer):
        facts = survey(tokenizer, seen.model)
    yield _refused(facts.refused) if facts.refused else _rendered(facts)


def _refused(refusal: Refusal) -> Any:
    if refusal.kind not in BROKEN:
        return _TEMPLATE.not_checked(
            f"a conversation of a user and an assistant: {refusal}",
            "ftlab.tokens(tokenizer, messages) with messages as it wants them",
        )
    return _TEMPLATE.failed(
        Fault(
            str(refusal),
            cause="tokenizer.apply_chat_template fails the same way, here and wherever "
            "the model is served with this tokenizer.",
            fix="tokenizer.chat_template = the base model's own, then "
            "tokenizer.save_pretrained(...).",
            places=[("config", "chat_template")],
            severity=Severity.WARNING,
        )
    )


def _rendered(facts: TemplateFacts) -> Any:
    end = facts.last_ends.get("assistant", "")
    says = f"an answer ends with {end!r}" if end else "an answer ends with nothing"
    known = listed(list(facts.words), 3)
    return _TEMPLATE.passed(says, **({"to know": known} if known else {}))
