"""ADP012."""

import pytest
from peft import AdaptionPromptConfig, get_peft_model

from ftlab.faults.builders.many_ways import own_with_ways
from ftlab.faults.builders.methods import rescaled
from ftlab.faults.builders.tiny import fused_experts, gpt2, llama, lora, own
from ftlab.records.finding import Severity
from ftlab.rules.adapter.target_without_match import TargetWithoutMatch
from tests.runs import only, places
from tests.versions import older_than
from tests.wired import findings

ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def check(model):
    return findings(TargetWithoutMatch(), model)


def severities(model):
    return [finding.severity for finding in check(model)]


@pytest.mark.parametrize(
    "targets", [["q_proj", "v_proj"], ALL, "all-linear", r".*\.(q|v|x)_proj"]
)
def test_is_quiet_when_every_entry_matches(targets):
    assert check(lora(llama(), target_modules=targets)) == ()


def test_is_quiet_when_no_layer_is_left_over():
    assert check(lora(llama(), target_modules=[*ALL, "c_attn", "dense", "x"])) == ()


def test_the_target_of_a_prompt_in_attention_is_the_name_of_a_module():
    settings = {"adapter_len": 4, "adapter_layers": 1, "target_modules": "self_attn"}
    assert check(get_peft_model(llama(), AdaptionPromptConfig(**settings))) == ()


@pytest.mark.parametrize("also", ["query_key_value", "c_attn", "Wqkv", "lm_heads"])
def test_a_list_for_many_models_is_only_noted(also):
    wanted = ["q_proj", "v_proj", also] if also != "lm_heads" else ["q_proj", "wte"]
    assert severities(lora(llama(), target_modules=wanted)) == [Severity.INFO]


def test_a_role_that_got_no_adapter_is_a_warning_with_its_layers():
    model = lora(gpt2(), target_modules=["c_attn", "q_proj", "v_proj", "up_proj"])
    finding = only(check(model), "warning", without_match=3)
    assert places(finding)[0] == "config target_modules"
    modules = [name.rpartition(".h.")[2] for name in places(finding)[1:]]
    assert modules == ["0.mlp.c_fc", "1.mlp.c_fc", "0.mlp.c_proj", "1.mlp.c_proj"]


def test_a_misspelled_name_is_compared_with_what_has_no_adapter():
    finding = only(check(lora(llama(), target_modules=["q_proj", "v_porj"])), "warning")
    assert "'v_porj' is spelled almost like 'v_proj'" in finding.cause
    assert all(name.endswith("v_proj") for name in places(finding)[1:])


def test_names_that_nobody_knows_are_a_warning():
    only(check(lora(own(), target_modules=["look", "think"])), "warning")


def test_experts_are_another_rules_matter():
    model = lora(fused_experts(), target_modules=["q_proj", "v_proj", "gate_proj"])
    assert check(model) == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("layers_to_transform", [0, 7]),
        ("rank_pattern", {"^q_proj": 2}),
        ("alpha_pattern", {"q_prj": 2}),
        ("modules_to_save", ["lm_heads"]),
    ],
)
def test_an_entry_of_another_field_that_matches_nothing_is_a_warning(field, value):
    finding = only(check(lora(llama(), **{field: value})), "warning")
    assert str(finding.place) == f"config {field}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("layers_to_transform", [1]),
        ("rank_pattern", {"q_proj": 2, r"layers\.1\.self_attn\.v_proj": 4}),
        ("alpha_pattern", {"self_attn.v_proj": 2}),
        ("modules_to_save", ["lm_head", "embed_tokens"]),
        ("exclude_modules", ["layers.0.self_attn.q_proj"]),
        ("exclude_modules", r".*layers\.0\..*"),
    ],
)
def test_entries_that_match_are_quiet(field, value):
    assert check(lora(llama(), **{field: value})) == ()


def test_heads_that_peft_names_itself_need_not_all_exist():
    from ftlab.faults.builders.heads import classifier

    assert check(lora(classifier(), task_type="SEQ_CLS")) == ()


def test_an_excluded_parent_excludes_none_of_its_children():
    finding = only(check(lora(llama(), exclude_modules=["layers.0"])), layers=2)
    assert str(finding.place) == "config exclude_modules"
    assert len(finding.places) == 3


@pytest.mark.parametrize(
    ("entries", "count"),
    [(["down_proj"], 0), ([], 2), (r".*\.fc2", 2), (["down_proj", "v_proj"], 2)],
)
def test_ia3_that_scales_layers_on_the_wrong_side(entries, count):
    found = check(rescaled(feedforward_modules=entries))
    sides = [
        each.evidence[side] for each in found for side in ("at_output", "at_input")
    ]
    assert sum(sides) == count
    assert [each.severity for each in found] == [Severity.WARNING] * bool(count)
    assert all(str(each.place) == "config feedforward_modules" for each in found)


def test_an_index_that_was_compared_with_the_numbers_of_experts():
    targets = {"target_modules": ["wide", "narrow"], "layers_to_transform": [1]}
    finding = only(check(lora(own_with_ways(), **targets)), "warning")
    assert places(finding)[0] == "config layers_to_transform"
    assert {name.split("tower.")[1][0] for name in places(finding)[1:]} == {"0"}


@pytest.mark.skipif(
    older_than("peft", "0.21"), reason="PEFT 0.20 finds no layers_pattern at the root"
)
def test_a_pattern_names_the_list_whose_indices_are_meant():
    targets = {"target_modules": ["wide", "narrow"], "layers_to_transform": [1]}
    assert check(lora(own_with_ways(), layers_pattern="tower", **targets)) == ()
