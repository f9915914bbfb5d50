"""ADP058."""

import math

import pytest

from ftlab.records.step import Evaluation
from ftlab.rules.adapter.metric_direction_reversed import MetricDirectionReversed
from tests.runs import RunBuilder, found_by, only

LOSSES = (2.0, 1.5, 1.0)
ASKED = {
    "load_best_model_at_end": True,
    "metric_for_best_model": "perplexity",
    "greater_is_better": True,
}


def check(args, relation=None):
    builder = RunBuilder().facts(
        model={"class": "LlamaForCausalLM"}, training={"args": ASKED | args}
    )
    for step, loss in enumerate(LOSSES if relation else ()):
        builder.step()
        key = f"eval_{args.get('metric_for_best_model', 'perplexity')}"
        metrics = {"eval_loss": loss, key: relation(loss)}
        builder.run.append(Evaluation(step, 0.0, metrics))
    return found_by(MetricDirectionReversed(), builder.run)


def test_the_greatest_perplexity_is_looked_for():
    finding = only(check({}), "warning", "config greater_is_better")
    assert "smaller is better: as its name says" in finding.message


def test_the_smallest_accuracy_is_looked_for():
    asked = {"metric_for_best_model": "eval_accuracy", "greater_is_better": False}
    (finding,) = check(asked)
    assert "greater_is_better=True" in finding.fix


def test_a_name_of_ones_own_is_told_by_its_values():
    (finding,) = check({"metric_for_best_model": "surprise"}, math.exp)
    assert finding.evidence["reason"] == "computed"
    assert "eval_surprise (7.389 of 3)" in finding.message


@pytest.mark.parametrize(
    ("asked", "relation"),
    [
        ({"greater_is_better": False}, math.exp),
        ({"load_best_model_at_end": False}, math.exp),
        ({"metric_for_best_model": "bleu"}, lambda loss: 30 * loss),
        ({"metric_for_best_model": "inverse_perplexity"}, lambda loss: math.exp(-loss)),
        ({"metric_for_best_model": "wer"}, lambda loss: -loss / 10),
        ({"metric_for_best_model": "surprise"}, lambda loss: 10 * loss),
    ],
)
def test_what_is_right_or_unknown_or_chosen_by_nobody_is_fine(asked, relation):
    assert check(asked, relation) == ()


def test_saving_the_best_alone_chooses_by_it_too():
    asked = {"load_best_model_at_end": False, "save_strategy": "best"}
    assert len(check(asked)) == 1
