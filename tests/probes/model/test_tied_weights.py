"""Whether embedding and head are one where the configuration says so."""

from torch import nn

from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.model.tied_weights import untied_weights

BOTH = ["embed_tokens", "lm_head"]


def apart(**settings):
    model = llama(**settings)
    head = model.get_output_embeddings()
    head.weight = nn.Parameter(head.weight.detach().clone())
    return model


def test_a_head_of_its_own_is_named():
    (pair,) = untied_weights(apart(tie_word_embeddings=True))
    assert (pair["input"], pair["output"]) == (
        "model.embed_tokens.weight",
        "lm_head.weight",
    )
    assert (len(pair["trainable"]), pair["copies"]) == (2, "none")


def test_what_is_tied_and_what_says_that_it_is_not_are_fine():
    assert untied_weights(llama(tie_word_embeddings=True)) == []
    assert untied_weights(apart(tie_word_embeddings=False)) == []
    model = apart(tie_word_embeddings=True)
    model.config.tie_word_embeddings = False
    assert untied_weights(model) == []


def test_frozen_copies_have_nothing_trainable():
    (pair,) = untied_weights(lora(apart(tie_word_embeddings=True)))
    assert pair["trainable"] == []


def test_copies_of_both_sides_are_followed():
    model = lora(llama(tie_word_embeddings=True), modules_to_save=BOTH)
    (pair,) = untied_weights(model)
    assert pair["copies"] == "both"
    assert all(".modules_to_save." in name for name in pair["trainable"])


def test_a_copy_of_one_side_is_told():
    model = lora(llama(tie_word_embeddings=True), modules_to_save=["embed_tokens"])
    assert [pair["copies"] for pair in untied_weights(model)] == ["one"]


def test_an_adapter_on_the_head_leaves_the_tie():
    model = lora(llama(tie_word_embeddings=True), target_modules=["lm_head"])
    assert untied_weights(model) == []


def test_tables_of_two_sizes_are_two_on_purpose():
    model = llama(tie_word_embeddings=True)
    model.set_output_embeddings(nn.Linear(64, 7, bias=False))
    assert untied_weights(model) == []
