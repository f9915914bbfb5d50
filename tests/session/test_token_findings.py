"""Rows that nobody trains on yet, judged by the rules about data."""

import pytest
import torch

import ftlab
from ftlab.faults.builders.chats import (
    answers_only,
    chats,
    ids_of,
    labelled,
    sized,
    tokenizer,
)
from ftlab.records.finding import Place, Severity
from tests.session.scenarios import trainer


def batch_of(rows, pad):
    width = max(len(row["input_ids"]) for row in rows)

    def padded(name, by):
        return torch.tensor(
            [row[name] + [by] * (width - len(row[name])) for row in rows]
        )

    ids, labels = padded("input_ids", pad), padded("labels", -100)
    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    mask = (torch.arange(width) < lengths[:, None]).long()
    return {"input_ids": ids, "labels": labels, "attention_mask": mask}


def look(made, rows):
    return ftlab.tokens(batch=batch_of(rows, made.pad_token_id), tokenizer=made)


def doubled(made):
    texts = [made.apply_chat_template(each, tokenize=False) for each in chats(6)]
    return labelled(ids_of(made, texts))


def test_a_batch_is_judged_before_anybody_trains_on_it():
    made = tokenizer(adds_bos=True)
    finding, *_ = look(made, doubled(made)).findings
    assert finding.code == "DAT022"
    assert finding.place == Place("token", "1 of sample 0")
    assert not finding.message.startswith("step")


def test_what_is_found_stands_in_the_text_and_in_the_page():
    made = tokenizer(adds_bos=True)
    view = look(made, doubled(made))
    assert "DAT022 beginning-wrong: " in repr(view)
    with ftlab.options.scoped(widgets="static"):
        page = view._repr_mimebundle_()[0]["text/html"]
    assert "DAT022 beginning-wrong" in page


def test_turns_are_judged_too():
    made = tokenizer()
    made.chat_template = made.chat_template.replace("</turn>{% endgen", "{% endgen")
    made.chat_template = made.chat_template.replace(
        "{% endgeneration %}\n", "{% endgeneration %}</turn>\n"
    )
    found = look(made, answers_only(made, chats(6))).findings
    assert [each.code for each in found] == ["DAT020"]


def test_healthy_answers_have_no_finding():
    made = tokenizer()
    view = look(made, answers_only(made, chats(6)))
    assert not view.findings
    assert "DAT" not in repr(view)


def test_a_trainer_is_judged_by_its_first_batch():
    found = ftlab.tokens(trainer()).findings
    assert all(each.severity is Severity.INFO for each in found)


IDS = torch.tensor([3])
ODD = (
    ("DAT002", "input_ids", lambda batch: batch["input_ids"].index_fill(1, IDS, 9999)),
    ("DAT002", "labels", lambda batch: batch["labels"][:, :-1]),
    ("DAT004", "labels", lambda batch: torch.full_like(batch["labels"], -100)),
    ("DAT007", "attention_mask", lambda batch: 1 - batch["attention_mask"]),
)


@pytest.mark.parametrize(("code", "name", "change"), ODD)
def test_what_a_model_cannot_learn_from_is_named_before_it_tries(code, name, change):
    made = tokenizer()
    batch = batch_of(answers_only(made, chats(6)), made.pad_token_id)
    batch[name] = change(batch)
    view = ftlab.tokens(batch=batch, tokenizer=made, model=sized(made))
    first = view.findings[0]
    assert first.code == code
    assert first.severity >= Severity.WARNING


def test_padding_that_is_attended_is_named_before_anybody_trains():
    made = tokenizer()
    batch = batch_of(answers_only(made, chats(6)), made.pad_token_id)
    batch = {name: value.flip(1) for name, value in batch.items()}
    del batch["attention_mask"]
    view = ftlab.tokens(batch=batch, tokenizer=made, model=sized(made))
    assert "DAT007" in {each.code for each in view.findings}


@pytest.mark.parametrize("labels", [None, torch.zeros(2), torch.zeros(2, 3)])
def test_labels_that_are_not_of_tokens_are_left_alone(labels):
    batch = {"input_ids": torch.tensor([[1, 5, 6, 2], [1, 7, 8, 2]])}
    if labels is not None:
        batch["labels"] = labels
    assert not ftlab.tokens(batch=batch, tokenizer=tokenizer()).findings
