import numpy as np
import pytest

from ftlab.records.finding import Severity
from ftlab.records.step import Evaluation
from ftlab.rules.engine import Engine
from ftlab.rules.numeric.evaluation_loss_rises import EvaluationLossRises
from tests.runs import RunBuilder, only

EVERY = 50


def found(evaluations, losses=None, score=None, **training):
    """Judge a run with an evaluation after every `EVERY` steps, window by window."""
    builder, engine = RunBuilder(), Engine([EvaluationLossRises()])
    builder.facts(training=training)
    count = len(evaluations) * EVERY
    losses = np.linspace(2.0, 0.1, count) if losses is None else losses
    for step in range(count):
        builder.step(loss=float(losses[step]))
        if (step + 1) % EVERY == 0:
            turn = step // EVERY
            metrics = {"eval_loss": float(evaluations[turn])}
            if score is not None:
                metrics["eval_accuracy"] = float(score[turn])
            builder.run.append(Evaluation(step + 1, 0.0, metrics))
            engine.finish(builder.run)
    return engine.report().findings


RISING = [2.0, 1.8, 1.7, 1.75, 1.9, 2.1, 2.3, 2.5, 2.7, 2.9]


def test_a_rise_is_a_warning_and_names_the_turn():
    finding = only(found(RISING), reason="learnt-by-heart")
    assert finding.severity == Severity.WARNING
    assert abs(finding.evidence["since"] - 3 * EVERY) <= EVERY
    assert str(finding.places[0]) == "object eval_loss"


@pytest.mark.parametrize(
    "evaluations", [[2.0 * 0.9**n for n in range(10)], [1.5] * 10, RISING[:5]]
)
def test_what_falls_or_rests_or_was_seldom_evaluated_is_quiet(evaluations):
    assert not found(evaluations)


def test_what_rises_with_the_training_loss_is_another_matter():
    assert not found(RISING, np.linspace(0.1, 2.0, len(RISING) * EVERY))


def test_a_small_rise_is_a_note():
    (finding,) = found([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.04, 1.05, 1.06])
    assert finding.severity == Severity.INFO


def test_where_the_best_is_kept_it_is_a_note():
    finding = only(found(RISING, load_best_model_at_end=True), reason="best-is-kept")
    assert finding.severity == Severity.INFO


def test_where_a_score_is_still_getting_better_it_is_a_note():
    (finding,) = found(RISING, score=np.linspace(0.5, 0.9, len(RISING)))
    assert finding.evidence["reason"] == "score-is-best"
    assert found(RISING, score=np.linspace(0.9, 0.5, 10))[0].severity == (
        Severity.WARNING
    )


def test_a_run_without_evaluations_is_left_out():
    builder = RunBuilder()
    engine = Engine([EvaluationLossRises()])
    assert [each.code for each in engine.check(builder.run).not_checked] == ["NUM025"]
    builder.step()
    report = engine.check(builder.run)
    assert not report.findings
    assert not report.not_checked
