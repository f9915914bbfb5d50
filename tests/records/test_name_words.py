"""Long names in few words: nothing is claimed that was not named."""

from ftlab.records.name_words import in_words, short_name

LINEAR = [
    *(f"self_attn.{each}_proj" for each in "qkvo"),
    *(f"mlp.{each}_proj" for each in ("gate", "up", "down")),
]


def lora(layers, modules=LINEAR, factors="AB", adapter="default"):
    return [
        f"base_model.model.model.layers.{n}.{module}.lora_{factor}.{adapter}.weight"
        for n in layers
        for module in modules
        for factor in factors
    ]


def test_all_pairs_of_a_model_are_one_pattern_and_their_number():
    assert in_words(lora(range(2))) == "layers.0-1.*.{lora_A,lora_B} (28)"
    assert in_words(lora(range(2), factors="B")) == "layers.0-1.*.lora_B (14)"


def test_one_name_and_few_names_are_written_out():
    assert in_words(lora([3], LINEAR[:1], "B")) == "layers.3.self_attn.q_proj.lora_B"
    assert (
        in_words(lora([0, 1, 4], ["self_attn.q_proj", "self_attn.v_proj"], "A"))
        == "layers.0-1,4.self_attn.{q_proj,v_proj}.lora_A"
    )


def test_a_pattern_that_would_match_more_than_was_named_is_counted():
    names = lora([0], LINEAR[:1], "A") + lora([1], LINEAR[1:2], "A")
    assert in_words(names) == "layers.0-1.self_attn.{q_proj,k_proj}.lora_A (2)"
    assert in_words(lora([0, 2, 4, 6], LINEAR[:1], "A")) == (
        "layers.*.self_attn.q_proj.lora_A (4)"
    )


def test_another_adapter_keeps_its_name():
    assert in_words(lora([0], LINEAR[:1], "A", "second")) == (
        "layers.0.self_attn.q_proj.lora_A.second"
    )


def test_names_outside_layers_are_listed_and_the_rest_is_counted_by_name():
    names = ["model.embed_tokens.weight", "lm_head.weight", *lora(range(2))]
    assert in_words(names) == "embed_tokens.weight, lm_head.weight and 28 more"


def test_modules_and_sequentials_are_understood():
    assert in_words(["base_model.model.model.layers.1"]) == "layers.1"
    assert in_words(["0.weight", "2.weight", "4.weight"]) == "0,2,4.weight"
    assert short_name("model.0.weight") == "model.0.weight"
    assert in_words(["w1", "w2"]) == "w1, w2"
