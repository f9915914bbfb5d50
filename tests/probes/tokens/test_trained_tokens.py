"""Which of the trained tokens the batches have held."""

import pytest

from ftlab.faults.builders.tiny import adamw, batches, llama, lora
from ftlab.probes.tokens.trained_tokens import TrainedTokens
from tests.models import update
from tests.probes.recording import Recording


def counts(model, made):
    optimizer = adamw(model)
    with Recording(model, optimizer, probes=[TrainedTokens()]) as recording:
        for batch in made:
            update(model(**batch).loss, optimizer)
    rows = [each.values for each in recording.steps]
    return [(row.get("tokens_trained"), row.get("tokens_seen")) for row in rows]


def made_of(*tokens):
    """Make one batch for each token; all else is token 3."""
    made = batches(len(tokens), size=1, length=4)
    for batch, token in zip(made, tokens, strict=True):
        for name in ("input_ids", "labels"):
            batch[name].fill_(3)
        batch["input_ids"][0, 1] = token
    return made


def test_tokens_that_come_up_are_counted_from_the_first_step_on():
    model = lora(llama(), trainable_token_indices=[10, 20, 127])
    assert counts(model, made_of(5, 20, 10, 10)) == [(3, 0), (3, 1), (3, 2), (3, 2)]


def test_labels_count_and_ignored_ones_do_not():
    model = lora(llama(), trainable_token_indices=[10])
    (first, second) = made_of(5, 5)
    first["labels"][0, 2] = -100
    second["labels"][0, 2] = 10
    assert counts(model, [first, second]) == [(1, 0), (1, 1)]


@pytest.mark.parametrize("settings", [{}, {"modules_to_save": ["embed_tokens"]}])
def test_a_model_without_rows_of_their_own_is_left_alone(settings):
    assert counts(lora(llama(), **settings), made_of(5)) == [(None, None)]


def test_a_table_that_is_trained_in_whole_is_left_alone():
    model = lora(llama(), trainable_token_indices=[10])
    model.get_output_embeddings().weight.requires_grad_(True)
    assert counts(model, made_of(5)) == [(None, None)]
