"""MOD005: hooks that compiled graphs run without."""

from ftlab.rules.model.hook_not_in_graph import HookNotInGraph
from tests.runs import RunBuilder, found_by, places


def run(ignored):
    facts = {"modules": [""], "graphs": 1, "ignored_hooks": ignored}
    builder = RunBuilder().facts(model={"class": "Toy", "compilation": facts}).step()
    return found_by(HookNotInGraph(), builder.run)


def test_is_quiet_where_every_hook_is_in_the_graph():
    assert run({}) == ()


def test_names_the_module_and_the_kind():
    (found,) = run({"m.embed": "forward hook"})
    assert places(found) == ["module m.embed", "call torch.compile"]
    assert "forward hook" in found.message
