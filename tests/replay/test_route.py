"""Where a command leads in a step of a few hand-made operations."""

import pytest

from ftlab.records.errors import BadValueError, UnknownNameError
from ftlab.replay.control import Command
from ftlab.replay.route import check_pattern, destination
from ftlab.replay.tracing.site import Site


def site(index, place):
    phase = "backward" if place.startswith("<") else "forward"
    module = place.removeprefix("<") or None
    return Site(index, "op", phase, module, "", "", "")


PLACES = ["0.mlp", "0.mlp", "1.mlp", "1.attn", "1.mlp"]
PLACES += ["<", "<1.mlp", "<1.mlp", "<0.mlp"]
SITES = [site(index, place) for index, place in enumerate(PLACES)]


@pytest.mark.parametrize(
    ("start", "verb", "unit", "count", "end"),
    [
        (0, "step", "op", 3, 3),
        (7, "step", "op", 9, 9),
        (1, "back", "op", 9, 0),
        (0, "step", "module", 1, 2),
        (0, "step", "module", 2, 3),
        (4, "back", "module", 1, 3),
        (0, "step", "1.mlp", 1, 2),
        (2, "step", "1.mlp", 1, 4),
        (0, "step", "*.attn", 1, 3),
        (0, "step", "backward", 1, 5),
        (0, "step", "backward 1.mlp", 1, 6),
        (0, "step", "backward ?.mlp", 1, 6),
        (6, "step", "1.mlp", 1, 9),
        (8, "back", "1.mlp", 1, 6),
        (6, "back", "1.mlp", 2, 2),
        (3, "step", "micro-batch", 1, 9),
        (3, "back", "micro-batch", 1, 0),
        (3, "step", "optimizer step", 1, 9),
    ],
)
def test_a_command_leads_to_an_operation(start, verb, unit, count, end):
    assert destination(SITES, start, Command(verb, unit, count)) == end


def test_a_pattern_that_matches_nothing_is_refused_with_what_is_near():
    with pytest.raises(UnknownNameError, match=r"to='1.mpl'.*'1.mlp'"):
        check_pattern(SITES, Command("step", "1.mpl"))
    for unit in ("op", "module", "micro-batch", "1.mlp", "backward"):
        check_pattern(SITES, Command("step", unit))


@pytest.mark.parametrize("text", ["stop", "resume now", "", "stepping"])
def test_what_is_no_command_is_refused(text):
    with pytest.raises(BadValueError, match="no command"):
        Command.parse(text)


def test_commands_are_read_from_text():
    assert Command.parse("back") == Command("back", "op")
    assert Command.parse(" step  optimizer  step") == Command("step", "optimizer step")
