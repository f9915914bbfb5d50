"""Beginnings and ends of rows: what is wrong, and what puts it right."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import DataCollatorForLanguageModeling

from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.ends import ends_of
from ftlab.probes.tokens.repair import repaired
from ftlab.probes.tokens.rows import read_batch
from ftlab.records.errors import BadValueError
from tests.probes.tokens import vocabularies
from tests.probes.tokens.trainings import GENERATION, talks


def made(template=vocabularies.CHATML, **special):
    tokenizer = vocabularies.byte_level()
    tokenizer.chat_template = template
    for name, value in special.items():
        setattr(tokenizer, name, value)
    return tokenizer, survey(tokenizer)


def encoded(tokenizer, count=3, **settings):
    texts = [
        tokenizer.apply_chat_template(row["messages"], tokenize=False, **settings)
        for row in talks(count)
    ]
    return [{"input_ids": tokenizer(each)["input_ids"]} for each in texts]


def collated(tokenizer, rows):
    return DataCollatorForLanguageModeling(tokenizer, mlm=False)(rows)


def test_ends_that_a_pad_token_took_out_are_named_and_put_back():
    tokenizer, facts = made(pad_token="<|im_end|>")
    batch = collated(tokenizer, encoded(tokenizer))
    before = {name: value.clone() for name, value in batch.items()}
    report = ends_of(read_batch(batch, tokenizer, facts=facts), facts)
    assert all(row.answers[0].end_trained is False for row in report.rows)
    found = repaired(batch, tokenizer, facts=facts)
    assert all(torch.equal(batch[name], before[name]) for name in before)
    again = ends_of(read_batch(found.batch, tokenizer, facts=facts), facts)
    assert all(row.answers[0].end_trained for row in again.rows)
    assert (found.batch["labels"][batch["attention_mask"] == 0] == -100).all()
    assert "PAD is EOS" in found.advice[0]
    assert len(found.changes) == 3


def test_healthy_rows_have_no_words_and_are_not_changed():
    tokenizer, facts = made()
    batch = collated(tokenizer, encoded(tokenizer))
    report = ends_of(read_batch(batch, tokenizer, facts=facts), facts)
    assert [row.words for row in report.rows] == [()] * 3
    assert report.written == {tokenizer.eos_token_id: 3}
    assert report.unheard == ()
    found = repaired(batch, tokenizer, facts=facts)
    assert found.changes == found.advice == ()
    assert found.batch["labels"] is batch["labels"]


@pytest.mark.parametrize("padding_side", ["left", "right"])
def test_a_doubled_bos_is_left_out(padding_side):
    tokenizer, facts = made("{{ bos_token }}" + vocabularies.CHATML)
    bos = tokenizer.bos_token_id
    rows = encoded(tokenizer)
    rows = [{"input_ids": [bos, *each["input_ids"]]} for each in rows]
    tokenizer.padding_side = padding_side
    batch = collated(tokenizer, rows)
    report = ends_of(read_batch(batch, tokenizer, facts=facts), facts)
    assert all(len(row.doubled_bos) == 1 for row in report.rows)
    found = repaired(batch, tokenizer, facts=facts)
    mask = found.batch["attention_mask"].bool()
    for at, row in enumerate(encoded(tokenizer)):
        assert found.batch["input_ids"][at][mask[at]].tolist() == row["input_ids"]
    assert (found.batch["labels"][~mask] == -100).all()
    assert (found.batch["input_ids"][~mask] == tokenizer.pad_token_id).all()
    again = ends_of(read_batch(found.batch, tokenizer, facts=facts), facts)
    assert [row.words for row in again.rows] == [()] * 3


def test_padding_that_is_attended_to_or_trained_is_taken_out():
    tokenizer, facts = made()
    batch = collated(tokenizer, encoded(tokenizer))
    right = batch["attention_mask"].clone()
    labels = batch["labels"].clone()
    pad = tokenizer.pad_token_id
    batch["attention_mask"] = torch.ones_like(right)
    found = repaired(batch, tokenizer, facts=facts)
    assert torch.equal(found.batch["attention_mask"], right)
    del batch["attention_mask"]
    found = repaired(batch, tokenizer, facts=facts)
    assert torch.equal(found.batch["attention_mask"], right)
    batch["attention_mask"] = right
    batch["labels"] = torch.where(right == 0, pad, labels)
    assert torch.equal(repaired(batch, tokenizer).batch["labels"], labels)


def test_a_row_that_was_cut_before_its_first_answer_opens_no_other_one():
    tokenizer = vocabularies.byte_level()
    asked = [{"role": "user", "content": "Name a prime number."}]
    rows = tokenizer.apply_chat_template(
        asked, add_generation_prompt=True, return_dict=True
    )["input_ids"]
    batch = {"input_ids": [rows], "labels": [rows]}
    facts = survey(tokenizer)
    report = ends_of(read_batch(batch, tokenizer, facts=facts), facts)
    assert report.rows[0].generation_prompt is None
    assert repaired(batch, tokenizer, facts=facts).changes == ()


def test_the_opening_of_an_answer_in_training_is_named_and_not_trained():
    tokenizer, facts = made()
    rows = encoded(tokenizer, add_generation_prompt=True)
    batch = collated(tokenizer, rows)
    report = ends_of(read_batch(batch, tokenizer, facts=facts), facts)
    assert all(row.generation_prompt is not None for row in report.rows)
    found = repaired(batch, tokenizer, facts=facts)
    again = ends_of(read_batch(found.batch, tokenizer, facts=facts), facts)
    assert all(row.generation_prompt is None for row in again.rows)
    assert "Render rows for training with add_generation_prompt=False." in found.advice


def test_answers_without_an_end_and_answers_that_were_cut():
    unended = (
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + m['content'] }}"
        "{% endfor %}"
    )
    tokenizer, facts = made(unended)
    batch = collated(tokenizer, encoded(tokenizer))
    report = ends_of(read_batch(batch, tokenizer, facts=facts), facts)
    assert all(row.answers[-1].terminator is None for row in report.rows)
    tokenizer, facts = made()
    rows = [{"input_ids": each["input_ids"][:-3]} for each in encoded(tokenizer)]
    report = ends_of(
        read_batch(collated(tokenizer, rows), tokenizer, facts=facts), facts
    )
    assert all(row.answers[-1].cut for row in report.rows)
    assert "where the row ends" in report.rows[0].words[0]
    found = repaired(collated(tokenizer, rows), tokenizer, facts=facts)
    assert "raise max_length" in found.advice[0]


def test_marks_that_leave_the_end_out_are_named_as_the_cause():
    template = GENERATION.replace(
        "{{ m['content'] + '<|im_end|>' }}{% endgeneration %}",
        "{{ m['content'] }}{% endgeneration %}{{ '<|im_end|>' }}",
    )
    tokenizer, facts = made(template)
    encodings = tokenizer.apply_chat_template(
        talks(1)[0]["messages"],
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    batch = {
        "input_ids": [encodings["input_ids"]],
        "assistant_masks": [encodings["assistant_masks"]],
    }
    report = ends_of(read_batch(batch, tokenizer, facts=facts), facts)
    assert report.rows[0].answers[0].end_trained is False
    assert facts.marks_cover_end is False
    ids = torch.tensor(batch["input_ids"])
    mask = torch.tensor(batch["assistant_masks"]).bool()
    full = {"input_ids": ids, "labels": ids.masked_fill(~mask, -100)}
    found = repaired(full, tokenizer, facts=facts)
    assert "endgeneration" in found.advice[0]
    assert found.batch["labels"][0][report.rows[0].answers[0].terminator] >= 0


def test_an_end_at_which_no_generation_stops_is_said():
    tokenizer, _ = made()
    other = tokenizer.convert_tokens_to_ids("<|bos|>")
    model = SimpleNamespace(
        config=SimpleNamespace(eos_token_id=other),
        generation_config=SimpleNamespace(eos_token_id=other),
    )
    facts = survey(tokenizer, model)
    batch = collated(tokenizer, encoded(tokenizer))
    report = ends_of(read_batch(batch, tokenizer, facts=facts), facts)
    assert report.generation_stops == (other,)
    assert report.unheard == (tokenizer.eos_token_id,)
    assert "no generation would stop at <|im_end|>" in str(report)
    found = repaired(batch, tokenizer, facts=facts)
    eos = tokenizer.eos_token_id
    assert found.advice == (f"model.generation_config.eos_token_id = [{other}, {eos}]",)


def test_packed_conversations_without_a_border_are_named():
    tokenizer, facts = made("{{ bos_token }}" + vocabularies.CHATML)
    both = [i for each in encoded(tokenizer, 2) for i in each["input_ids"]]
    first = len(encoded(tokenizer, 1)[0]["input_ids"])
    batch = {"input_ids": [both], "labels": [both]}
    report = ends_of(read_batch(batch, tokenizer, facts=facts), facts)
    assert report.rows[0].joined == (first + 1,)
    places = [*range(first), *range(len(both) - first)]
    batch["position_ids"] = [places]
    report = ends_of(read_batch(batch, tokenizer, facts=facts), facts)
    assert report.rows[0].joined == ()


def test_without_turns_the_last_token_of_each_document_counts():
    known = SimpleNamespace(
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        convert_ids_to_tokens=lambda ids: [f"t{i}" for i in ids],
        decode=lambda ids: "".join(f"t{i}" for i in ids),
    )
    ids = [[1, 5, 2, 6, 2, 0], [1, 5, 6, 7, 0, 0]]
    batch = {"input_ids": ids, "labels": [[5] * 6] * 2}
    report = ends_of(read_batch(batch, known))
    assert report.rows[0].inner_eos == (2,)
    assert report.rows[0].answers[0].terminator == 4
    assert report.rows[1].answers[0].terminator is None
    assert report.rows[0].bos == (0,)
    prompts = {"input_ids": ids, "attention_mask": [[1] * 6] * 2}
    assert ends_of(read_batch(prompts, known)).rows[1].words == ()
    assert report.rows[0].eos == (2, 4)
    lists = repaired(batch, known)
    assert lists.batch["attention_mask"] == [[1] * 5 + [0], [1] * 4 + [0] * 2]
    assert batch["labels"] == [[5] * 6] * 2
    arrays = {name: np.array(value) for name, value in batch.items()}
    assert repaired(arrays, known).batch["labels"].tolist()[0][5] == -100
    with pytest.raises(BadValueError, match="holds input_ids"):
        repaired({"labels": [[1]]})
