"""Which operand made the trouble, in cases planted in real training code."""

import pytest
import torch

from benchmarks.anomalies.registry import list_cases
from ftlab.replay.tracing.trouble import is_copy, is_creation, troublemaker
from tests.replay.test_planted import old, run

ATEN = torch.ops.aten
CASES = {case.id: case for case in list_cases()}


PLANTED = {
    "zero-token-count": ("aten.sum.default", "batch 'answer'"),
    "zero-norm-in-a-contrastive-loss": (
        "aten.linalg_vector_norm.default",
        "batch 'anchor'",
    ),
    "label-outside-the-vocabulary": ("aten.sum.dim_IntList", "batch 'labels'"),
    "row-without-a-key": ("aten.masked_fill.Scalar", "batch 'visible'"),
    "infinite-reward": ("batch 'reward'", "batch 'reward'"),
    "norm-of-dead-queries": (
        "aten.add.Tensor",
        "parameter model.layers.1.self_attn.q_proj.weight",
    ),
    "all-labels-ignored": ("aten.clone.default", "batch 'labels'"),
    "balance-of-no-tokens": ("aten.add.Tensor", "batch 'attention_mask'"),
    "dora-on-a-pruned-neuron": ("aten.linalg_vector_norm.default", "aten.add.Tensor"),
    "norm-of-padding": ("aten.add.Tensor", "aten.embedding.default"),
    "norm-of-equal-values": ("aten.add.Tensor", "aten.add.Tensor"),
    "epsilon-underflow": ("aten.add_.Tensor", "aten.zeros_like.default"),
    "variance-overflow-in-fp16": (
        "gradient of model.norm.weight",
        "gradient of model.norm.weight",
    ),
    "learning-rate-beyond-float32": (
        "gradient of lm_head.weight",
        "gradient of lm_head.weight",
    ),
}


@pytest.mark.skipif(old, reason="the cases quote transformers 5")
@pytest.mark.parametrize("planted", PLANTED)
def test_the_chain_leads_from_the_trouble_to_where_it_began(planted):
    report = run(CASES[planted].build())
    links = [link.site.op if link.site else link.name for link in report.chain]
    assert (links[0], links[-1]) == PLANTED[planted]


def test_a_healthy_result_has_no_troublemaker():
    call = (torch.ones(2), torch.ones(2)), {}
    assert troublemaker(ATEN.div.Tensor, call, torch.ones(2)) is None


def test_of_tensors_that_are_treated_together_the_broken_one_counts():
    divisors = [torch.ones(1), torch.zeros(1)]
    call = ([torch.ones(1), torch.ones(1)], divisors), {}
    made = ATEN._foreach_div.List(*call[0])
    assert troublemaker(ATEN._foreach_div.List, call, made) is divisors[1]


def test_copies_and_creations_are_known():
    assert is_copy(ATEN._to_copy.default)
    assert not is_copy(ATEN.mul.Tensor)
    assert is_creation(ATEN.full.default)
    assert not is_creation(ATEN.mul.Tensor)
