"""Layer data: batches that can be read, and fit the model."""

import pytest
import torch

from ftlab.session.preflight.preflight import preflight
from tests.models import Rows, tiny_llama
from tests.session.preflight.objects import item_of, lora_loop

IDS = "token ids within the vocabulary"
LABELS = "labels to learn from"
RANGE = "labels within the vocabulary"


def changed(name, value, places=(0, 5)):
    """Return a healthy loop's objects with a value put into its batches."""
    given = lora_loop()
    for batch in given["batches"]:
        batch[name][places] = value
    return given


def test_a_healthy_batch_passes():
    items = preflight(**lora_loop())["data"]
    assert {item.status for item in items} == {"passed"}
    assert {item.says for item in items} >= {
        "the first batch holds input_ids int64[4, 16], attention_mask int64[4, 16], "
        "labels int64[4, 16]"
    }


def test_a_token_beyond_the_embedding_is_named():
    item = item_of(IDS, **changed("input_ids", 128))
    assert item.says == "token id 128 is outside the embedding of 128 rows"
    assert [str(place) for place in item.places] == ["data input_ids", "token 128"]


def test_the_last_token_of_the_embedding_is_within_it():
    assert item_of(IDS, **changed("input_ids", 127)).status == "passed"


def test_a_negative_token_is_named():
    assert "token id -1 is" in item_of(IDS, **changed("input_ids", -1)).says


def test_labels_that_are_all_ignored_are_found():
    item = item_of(LABELS, **changed("labels", -100, (slice(None), slice(None))))
    assert item.status == "failed"
    assert item.says.startswith("all 64 labels of the first batch are -100")


def test_the_share_of_labels_and_empty_rows_are_told():
    item = item_of(LABELS, **changed("labels", -100, 0))
    assert item.status == "passed"
    assert item.says == "48 of 64 labels are trained on; 1 row of 4 have none"


@pytest.mark.parametrize("wrong", [128, -1])
def test_a_label_outside_the_vocabulary_is_named(wrong):
    item = item_of(RANGE, **changed("labels", wrong))
    assert item.status == "failed"
    assert f"label {wrong} is neither -100 nor a token" in item.says


def test_float_inputs_that_are_not_finite_are_named():
    pixels = torch.ones(2, 3)
    pixels[1, 2] = torch.inf
    model = torch.nn.Linear(3, 1)
    batch = {"input": pixels, "mask": torch.ones(2, 3)}
    item = item_of("float inputs are finite", model=model, batch=batch)
    assert (item.says, item.places[0].name) == (
        "input holds 1 value that are NaN or infinite",
        "input",
    )


def test_a_collator_that_raises_is_a_failed_item():
    def collate(rows):
        raise KeyError("labels")

    given = {"model": tiny_llama(), "dataset": Rows(4), "collator": collate}
    item = item_of("a batch can be read", **given)
    assert item.says == "reading the first batch raised KeyError: 'labels'"


def test_without_a_batch_it_says_how_to_hand_one_over():
    item = item_of("a batch can be read", model=tiny_llama())
    assert item.status == "not checked"
    assert "batch=batch" in item.fix


class Words:
    """A tokenizer that has a length."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size


@pytest.mark.parametrize(("size", "status"), [(128, "passed"), (129, "failed")])
def test_the_tokenizer_must_fit_the_embedding(size, status):
    item = item_of("tokenizer fits the embedding", **lora_loop(), tokenizer=Words(size))
    assert item.status == status
