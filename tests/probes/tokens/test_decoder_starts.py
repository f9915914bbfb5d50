"""What decoders are given first."""

import pytest
import torch
import transformers

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.tiny import adamw, llama
from ftlab.faults.builders.zoo import t5
from ftlab.probes.schedule import DENSE
from ftlab.probes.tokens.decoder_starts import DecoderStarts, start_of
from ftlab.records.event import Event
from tests.models import update
from tests.probes.recording import Recording

IDS = torch.arange(3, 9).repeat(2, 1)
PAD, EOS, LANGUAGE = 1, 2, 9


def told(model, batches, **settings):
    optimizer = adamw(model)
    with Recording(model, optimizer, probes=[DecoderStarts()], **settings) as recording:
        for batch in batches:
            update(model(**batch).loss, optimizer)
    return [each for each in recording.records if isinstance(each, Event)]


def labels(*row):
    return {"input_ids": IDS, "labels": torch.tensor([row, row])}


def test_a_model_puts_its_start_in_front_of_labels():
    (right, wrong) = told(t5(), [labels(5, 6, 2), labels(0, 5, 6, 2)])
    assert right.detail["rows"] == [[0, 0, 0, 5], [0, 1, 0, 5]]
    assert wrong.detail["rows"] == [[0, 0, 0, 0], [0, 1, 0, 0]]


def test_what_somebody_gives_the_decoder_is_read_as_it_is():
    batch = labels(5, 6, 2) | {"decoder_input_ids": torch.tensor([[7, 7, 5]] * 2)}
    (event,) = told(t5(), [batch])
    assert event.detail["rows"][0] == [0, 0, 7, 7]


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("Bart", [0, 5, 6, EOS]),
        ("MBart", [5, 6, EOS, LANGUAGE]),
        ("MBart", [LANGUAGE, 5, 6, EOS]),
        ("M2M100", [LANGUAGE, 5, 6, EOS]),
    ],
)
def test_answers_that_begin_with_bos_or_a_language_have_one_start(kind, row):
    size = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
    size |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    size |= {"encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "vocab_size": 64}
    ids = {"pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": EOS}
    config = getattr(transformers, f"{kind}Config")(**size, **ids)
    model = getattr(transformers, f"{kind}ForConditionalGeneration")(config)
    (event,) = told(model, [labels(*row)])
    first, second = event.detail["rows"][0][2:]
    assert first != second


def test_pieces_of_the_first_ids_are_kept():
    made = tokenizer()
    model = t5(vocab_size=len(made))
    (event,) = told(model, [labels(5, 6, 2)], tokenizer=made)
    assert event.detail["pieces"]["5"] == made.convert_ids_to_tokens(5)


def test_first_steps_are_looked_at_and_then_few_and_rows_are_limited():
    batch = labels(5, 6, 2)
    many = {name: values.repeat(20, 1) for name, values in batch.items()}
    events = told(t5(), [many] * (DENSE + 2))
    assert [each.step for each in events] == [*range(DENSE)]
    assert len(events[0].detail["rows"]) == DecoderStarts.rows


def test_nothing_is_told_of_a_decoder_alone_and_no_hook_stays():
    assert told(llama(), [{"input_ids": IDS, "labels": IDS}]) == []
    model = t5()
    optimizer = adamw(model)
    with Recording(model, optimizer, probes=[DecoderStarts()]):
        model(**labels(5, 6, 2)).loss.backward()
        optimizer.step()
        assert not model.get_decoder()._forward_pre_hooks


def test_a_decoder_that_is_given_vectors_is_passed_over():
    vectors = torch.zeros(2, 3, t5().config.d_model)
    batch = labels(5, 6, 2) | {"decoder_inputs_embeds": vectors}
    assert told(t5(), [batch]) == []
    assert told(t5(), [labels(5)]) == []


def test_the_id_that_a_generation_begins_with_is_known():
    model = t5(decoder_start_token_id=0)
    assert start_of(model) == 0
    model.generation_config.decoder_start_token_id = 7
    assert start_of(model) == 7
    assert start_of(torch.nn.Linear(2, 2)) == -1
