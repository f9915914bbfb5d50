"""The shape of a rule."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.rule import (
    MAX_PLACES,
    Rule,
    needs_column,
    needs_facts,
    needs_operations,
    needs_step_values,
    needs_steps_if_recorded,
    only_of,
)
from tests.runs import RunBuilder, healthy_lora


class Any(Rule):
    code, name, since, status, requires = "AAA001", "any", "0.1.0", "stable", ()

    def check(self, run):
        return iter(())


def test_a_column_is_there_once_it_was_measured():
    need = needs_column("a_l2", "norms", "watch", table="adapters")
    assert not need.present(RunBuilder().step().run)
    assert need.present(healthy_lora(2).run)


def test_a_step_value_is_there_once_it_was_known():
    need = needs_step_values("tokens", "tokens", "watch")
    builder = RunBuilder().step()
    assert not need.present(builder.run)
    assert need.present(builder.step(values={"tokens": 3.0}).run)


def test_a_rule_is_left_out_of_runs_whose_steps_have_no_such_column():
    need = needs_steps_if_recorded("tokens", "tokens", "watch")
    builder = RunBuilder()
    assert not need.absent(builder.run)
    assert need.absent(builder.step().run)
    assert not need.absent(builder.step(values={"tokens": float("nan")}).run)


def test_a_need_of_one_kind_of_run_leaves_a_rule_out_of_others():
    need = needs_operations("backward", "a backward", "let it run")
    assert not need.absent(RunBuilder().step().run)
    assert only_of(lambda _: False, need).absent(RunBuilder().step().run)


def test_a_learning_rate_is_there_once_an_optimizer_was_seen():
    need = needs_step_values("lr", "rates", "pass the optimizer")
    builder = RunBuilder().step(lr=())
    assert not need.present(builder.run)
    assert need.present(builder.step(lr=(1e-3,)).run)


def test_facts_and_operations():
    run = healthy_lora(1).run
    assert needs_facts("optimizers", "o", "r").present(run)
    assert not needs_facts("versions", "v", "r").present(run)
    assert needs_operations("scheduler_step", "s", "r").present(run)
    assert not needs_operations("clip", "c", "r").present(run)


def test_the_first_unmet_need_is_told():
    rule = Any()
    rule.requires = (
        needs_facts("optimizers", "the groups", "pass the optimizer"),
        needs_facts("model", "the model", "pass the model"),
    )
    entry = rule.missing(RunBuilder().run)
    assert entry.reason == "the run does not contain the groups"
    assert entry.record == "pass the optimizer"
    assert rule.missing(healthy_lora(1).run) is None


def test_a_finding_keeps_a_limited_number_of_places():
    finding = Any().finding(
        Severity.INFO,
        "message",
        cause="c",
        fix="f",
        places=[Place("param", str(number)) for number in range(MAX_PLACES + 1)],
        steps=(3, 7),
        evidence={"threshold": 1},
        healthy="h",
    )
    assert len(finding.places) == MAX_PLACES
    assert (finding.code, finding.name) == ("AAA001", "any")
    assert (finding.first_step, finding.last_step) == (3, 7)
