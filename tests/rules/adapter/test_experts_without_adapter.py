"""ADP013."""

import pytest

from ftlab.faults.builders.tiny import fused_experts, llama, lora
from ftlab.rules.adapter.experts_without_adapter import ExpertsWithoutAdapter
from tests.runs import RunBuilder, only, places, report_by
from tests.versions import older_than
from tests.wired import findings

EXPERTS = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]


def check(model):
    return findings(ExpertsWithoutAdapter(), model)


def test_names_of_dense_layers_do_not_reach_experts():
    model = lora(fused_experts(), target_modules=["q_proj", "gate_proj", "up_proj"])
    finding = only(check(model), place="config target_modules")
    assert finding.evidence["share_of_blocks"] == pytest.approx(16 / 17, abs=1e-3)
    assert "param base_model.model.model.layers.1.mlp.experts.down_proj" in places(
        finding
    )
    assert "mlp.experts.down_proj" in finding.fix


def test_the_attention_alone_is_a_choice():
    assert check(lora(fused_experts(), target_modules=["q_proj", "v_proj"])) == ()


def test_adapted_experts_are_quiet():
    targets = ["q_proj", "gate_proj"]
    model = lora(fused_experts(), target_modules=targets, target_parameters=EXPERTS)
    assert check(model) == ()


@pytest.mark.skipif(
    older_than("transformers", "5"), reason="Mixtral keeps its experts as layers"
)
def test_all_linear_reaches_the_experts_of_a_mixtral():
    assert check(lora(fused_experts(), target_modules="all-linear")) == ()


def test_a_dense_model_has_no_experts():
    assert check(lora(llama(), target_modules="all-linear")) == ()


@pytest.mark.parametrize(("share", "found"), [(0.49, 0), (0.5, 1)])
def test_experts_must_be_most_of_the_blocks(share, found):
    common = {"count": 2, "names": ["x"]}
    linear = {"pattern": "h.#.q", "kind": "linear", "adapted": 2, "share": 1 - share}
    experts = {"pattern": "h.#.w", "kind": "experts", "adapted": 0, "share": share}
    asked = {"target_modules": {"q": 2, "squeeze": 2}}
    adapter = {"layers": 2, "asked": asked}
    facts = {
        "adapters": {"default": adapter},
        "blocks": [linear | common, experts | common],
    }
    builder = RunBuilder().facts(model={"adapters": facts})
    report = report_by(ExpertsWithoutAdapter(), builder.run)
    assert len(report.findings) == found


def test_the_attention_alone_may_be_targeted_by_all_of_its_names():
    names = ["q_proj", "k_proj", "v_proj", "o_proj"]
    assert check(lora(fused_experts(), target_modules=names)) == ()
