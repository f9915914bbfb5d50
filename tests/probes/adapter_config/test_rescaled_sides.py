from ftlab.faults.builders.methods import rescaled
from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.adapter_config.adapter_facts import adapter_facts


def sides(model):
    return adapter_facts(model)["adapters"]["default"]["rescaled"]


def test_each_layer_is_on_one_side():
    found = sides(rescaled())
    assert found["at_input"]["names"] == [
        f"base_model.model.model.layers.{layer}.mlp.down_proj" for layer in (0, 1)
    ]
    assert found["at_output"]["count"] == 4
    # The values of grouped queries are narrower than the hidden state.
    assert all("v_proj" in name for name in found["narrowing"]["names"])
    assert found["as_by_default"] is True


def test_a_pattern_that_matches_nothing_leaves_all_at_the_output():
    found = sides(rescaled(feedforward_modules=".*nothing"))
    assert found["at_input"]["count"] == 0
    assert found["narrowing"]["count"] == 4
    assert found["as_by_default"] is False


def test_peft_s_own_choice_for_a_kind_of_model():
    from peft import IA3Config, get_peft_model

    model = get_peft_model(llama(), IA3Config(task_type="CAUSAL_LM"))
    assert sides(model)["as_by_default"] is True


def test_other_methods_have_none():
    assert sides(lora()) == {}


def test_an_empty_list_is_not_what_peft_does_by_default():
    assert sides(rescaled(feedforward_modules=[]))["as_by_default"] is False
