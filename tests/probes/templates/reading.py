"""Renderings, facts and refusals of templates, as the tests read them."""

from typing import Any

from ftlab.probes.templates.spans import rendering_of
from ftlab.probes.templates.survey import survey
from ftlab.records.rendering import Refusal
from ftlab.records.template import TemplateFacts
from tests.probes.templates.styles import Special, assistant, user

QUESTION = [user("Why?")]
TALK = [user("Hi"), assistant("Hello"), user("Hello"), assistant("Hi")]


def read(template, messages, **more) -> Any:
    """Render a conversation whose spans cover all of its text, without overlap."""
    rendering = rendering_of(Special(template), messages, **more)
    assert not isinstance(rendering, Refusal), rendering
    covered = [(s.start, s.end) for s in rendering.spans]
    assert covered[0][0] == 0
    assert covered[-1][1] == len(rendering.text)
    assert [a for a, _ in covered[1:]] == [b for _, b in covered[:-1]]
    return rendering


def facts_of(template) -> TemplateFacts:
    """Survey a template with the special tokens of the styles."""
    return survey(Special(template))


def refusal(rendered) -> Refusal:
    """Return the one refusal that was answered."""
    (only,) = rendered
    assert isinstance(only, Refusal), only
    return only
