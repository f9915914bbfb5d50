"""MOD022: frames that Dynamo has given up."""

from ftlab.records.names import NameRecord
from ftlab.rules.engine import Engine
from ftlab.rules.model.recompiled_until_the_limit import RecompiledUntilTheLimit
from tests.runs import RunBuilder


def report(*kinds):
    builder = RunBuilder()
    builder.facts(model={"class": "Toy", "compilation": {"modules": [""]}})
    for row, kind in enumerate(kinds):
        meta = {"kind": kind, "guard": "self.calls == 7", "line": "toy.py:3"}
        table = "compilations"
        builder.run.append(
            NameRecord(row, table, "inner", "module", "", meta=meta, since_step=0)
        )
    builder.step()
    return Engine([RecompiledUntilTheLimit()]).check(builder.run).findings


def test_is_quiet_where_no_limit_was_reached():
    assert report() == ()
    assert report("failed") == ()


def test_names_the_module_the_guard_and_its_line():
    (found,) = report("limit")
    assert str(found.place) == "module inner"
    assert "self.calls == 7 (toy.py:3)" in found.message
    assert found.first_step == 0
