"""ADP030."""

import warnings

import pytest

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, llama, lora
from ftlab.faults.fault import Case
from ftlab.rules.adapter.merge_into_tied_weight import MergeIntoTiedWeight
from ftlab.rules.engine import Engine
from ftlab.session.score import record
from tests.runs import healthy_lora


def report(run):
    return Engine([MergeIntoTiedWeight()]).check(run)


def merging(method, targets, *, tied=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lora(llama(tie_word_embeddings=tied), target_modules=targets)
        optimizer = adamw(model, lr=2e-2)
        step = plain_step(model, optimizer)
        acts = {
            None: None,
            "merge_adapter": lambda: model.merge_adapter(),
            "merge_and_unload": lambda: model.merge_and_unload(),
        }
        case = Case(model, optimizer, batches(), step, afterwards=acts[method])
        return report(record(case, 4))


def test_is_quiet_on_a_healthy_run():
    assert report(healthy_lora().run).findings == ()


@pytest.mark.parametrize("method", ["merge_adapter", "merge_and_unload"])
@pytest.mark.parametrize("target", ["lm_head", "embed_tokens"])
def test_the_other_module_is_named_first(method, target):
    (finding,) = merging(method, ["q_proj", target]).findings
    other = {"lm_head": "embed_tokens", "embed_tokens": "lm_head"}[target]
    assert finding.place.name.endswith(f"{other}.weight")
    assert finding.evidence["change"] > 1
    assert f"call {method}" in map(str, finding.places)


@pytest.mark.parametrize(
    ("method", "targets", "tied"),
    [
        (None, ["q_proj", "lm_head"], True),
        ("merge_adapter", ["q_proj"], True),
        ("merge_adapter", ["q_proj", "lm_head"], False),
    ],
)
def test_is_quiet_without_a_merge_of_a_tied_weight(method, targets, tied):
    assert merging(method, targets, tied=tied).findings == ()
