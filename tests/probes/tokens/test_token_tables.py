"""Tables with a row for each token, and which rows PEFT trains beside them."""

import warnings

import torch

from ftlab.faults.builders.tiny import gpt2, llama, lora, own
from ftlab.probes.tokens.token_tables import token_tables


def described(model):
    return [(t.name, t.output, t.tied, t.learnt) for t in token_tables(model)]


def test_an_embedding_and_a_head_of_its_own_are_two_tables():
    assert described(own()) == [
        ("words.weight", False, False, frozenset()),
        ("verdict.weight", True, False, frozenset()),
    ]


def test_a_tied_one_is_one_table():
    ((name, output, tied, _),) = described(gpt2())
    assert (name, output, tied) == ("transformer.wte.weight", False, True)


def test_a_classifier_is_no_output():
    model = own()
    model.verdict = torch.nn.Linear(64, 3)
    assert [name for name, *_ in described(model)] == ["words.weight"]


def test_rows_that_peft_trains_are_known():
    made = lora(llama(), trainable_token_indices=[10, 11])
    words, head = token_tables(made)
    assert words.learnt == {10, 11}
    assert head.learnt == frozenset()
    (tied,) = token_tables(lora(gpt2(), trainable_token_indices=[10, 11]))
    assert tied.learnt == {10, 11}


def test_a_copy_and_an_adapter_train_all_rows():
    for settings in ({"modules_to_save": ["lm_head"]}, {"target_modules": ["lm_head"]}):
        words, head = token_tables(lora(llama(), **settings))
        assert words.learnt == frozenset()
        assert head.learnt is None


def test_a_script_in_the_model_is_no_obstacle():
    model = own()
    head = torch.nn.Sequential(torch.nn.Dropout(0.1), torch.nn.Linear(4, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model.extra = torch.jit.script(head)
    assert described(model) == described(own())
