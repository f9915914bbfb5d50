"""Conversations as they are trained, and as they are asked."""

import pytest
import torch

import ftlab
from ftlab.faults.builders.chats import (
    TEMPLATE,
    answers_only,
    chats,
    ids_of,
    labelled,
    padded_by_length,
    reasoned,
    sized,
    supervised_on,
    tokenizer,
    trained_on,
)
from tests.experiments.set_ups import llama, named, padded, tried

OPENED = "<turn>assistant\n{% endif %}"
PLACE = ["tokenizer.chat_template"]
END = ["generation_config.eos_token_id"]


def asked(trainer):
    (outcome,) = ftlab.prove(trainer, only="trained-as-served")
    return outcome


def supervised(made, **settings):
    return supervised_on(
        made, settings.pop("talks", None) or chats(8), **settings
    ).trainer


def on_rows(made, rows):
    return trained_on(made, rows, padded_by_length(made)).trainer


def prompted(talks, **more):
    return [{"prompt": t[:-1], "completion": t[-1:], **more} for t in talks]


def of_several_turns():
    made, talks = reasoned(2)
    return supervised(made, talks=talks)


def of_prompts():
    return supervised(tokenizer(), rows=prompted(chats(8, turns=2)))


def adds_bos():
    made = tokenizer(adds_bos=True)
    return supervised(made)


def of_answers_alone():
    made = tokenizer(eos_token="</s>")
    trainer = supervised(made, assistant_only_loss=True)
    trainer.model.generation_config.eos_token_id = made.convert_tokens_to_ids(
        ["</s>", "</turn>"]
    )
    return trainer


def of_ids():
    made = tokenizer()
    return on_rows(made, answers_only(made, chats(8, turns=2)))


HEALTHY = [of_several_turns, of_prompts, adds_bos, of_answers_alone, of_ids]


@pytest.mark.parametrize("make", HEALTHY)
def test_conversations_are_trained_as_they_are_served(make):
    outcome = asked(make())
    assert outcome.state == "holds", outcome.says
    assert outcome.says.endswith("and ended by what stops generation")


def test_a_loop_with_a_tokenizer_is_read_off_its_batch():
    made = tokenizer()
    batch = padded_by_length(made)(labelled(ids_of(made, chats(3))))
    outcome = tried("trained-as-served", sized(made), dict(batch), tokenizer=made)
    assert outcome.says.startswith("3 conversations are trained as they are served")


def test_it_says_nothing_without_a_template_or_conversations():
    outcome = tried("trained-as-served", llama(), padded())
    assert outcome.says == "there is no tokenizer with a chat template; pass tokenizer="
    made = tokenizer()
    text = on_rows(made, labelled(ids_of(made, ["the year of a river"] * 4)))
    outcome = asked(text)
    assert outcome.state == "does not apply"
    assert outcome.says == "no row is a whole conversation, or its turns are not found"


def cut_before_the_answer(made):
    return supervised(made, max_length=8)


def packed_and_split(made):
    ids = [each for row in ids_of(made, chats(16)) for each in row]
    rows = [ids[at : at + 48] for at in range(7, len(ids) - 48, 48)]
    return on_rows(made, labelled(rows))


@pytest.mark.parametrize("make", [cut_before_the_answer, packed_and_split])
def test_rows_that_were_cut_are_left_out(make):
    outcome = asked(make(tokenizer()))
    assert outcome.state == "does not apply"
    assert outcome.says.startswith("no row is a whole conversation")


def test_answers_that_may_have_been_cut_are_not_told():
    made = tokenizer()
    rows = [row[:24] for row in ids_of(made, chats(8, words=(9, 12)))]
    rows = labelled([row for row in rows if len(row) == 24])
    outcome = asked(on_rows(made, rows))
    assert outcome.state != "broken", outcome.says


@pytest.mark.parametrize("word", ["date_string", "strftime_now"])
def test_a_template_that_writes_the_day_is_not_decided(word):
    trainer = supervised(tokenizer())
    dated = TEMPLATE.replace("<turn>{{", "<turn>Today: {{", 1) + "{# " + word + " #}"
    trainer.processing_class.chat_template = dated
    assert asked(trainer).state == "cannot be decided"


def begins_twice():
    made = tokenizer(adds_bos=True)
    texts = [made.apply_chat_template(each, tokenize=False) for each in chats(8)]
    return on_rows(made, labelled(ids_of(made, texts)))


def begins_twice_in_a_column():
    made = tokenizer(adds_bos=True)
    texts = [made.apply_chat_template(each, tokenize=False) for each in chats(8)]
    ids = ids_of(made, texts)
    pairs = zip(chats(8), ids, strict=True)
    return supervised(made, rows=[{"messages": t, "input_ids": i} for t, i in pairs])


def without_bos():
    made = tokenizer()
    rows = [row[1:] for row in ids_of(made, chats(8))]
    return on_rows(made, labelled(rows))


def template_changed_later():
    trainer = supervised(tokenizer())
    changed = TEMPLATE.replace("{{ m['role'] }}\n", "{{ m['role'] }}:\n")
    trainer.processing_class.chat_template = changed
    return trainer


def system_text_added_later():
    trainer = supervised(tokenizer(), rows=prompted(chats(8)))
    system = "{{ bos_token }}<turn>system\nsmall boats</turn>\n"
    changed = TEMPLATE.replace("{{ bos_token }}", system)
    trainer.processing_class.chat_template = changed
    return trainer


def prompt_opens_more():
    opened = OPENED.replace("{%", "<think>\n{%")
    made = tokenizer(template=TEMPLATE.replace(OPENED, opened))
    return on_rows(made, answers_only(made, chats(8)))


def prompt_merges_with_the_answer():
    spaced = TEMPLATE.replace(OPENED, OPENED.replace("{%", "{{ ' ' }}{%"))
    spaced = spaced.replace("{% generation %}{{", "{% generation %} {{")
    return supervised(tokenizer(template=spaced))


@pytest.mark.parametrize(
    ("make", "position"),
    [
        (begins_twice, 1),
        (begins_twice_in_a_column, 1),
        (without_bos, 0),
        (template_changed_later, 3),
        (system_text_added_later, 2),
        (prompt_opens_more, None),
        (prompt_merges_with_the_answer, None),
    ],
)
def test_what_is_served_otherwise_is_told_by_its_token(make, position):
    outcome = asked(make())
    assert named(outcome) == PLACE
    assert position in (None, outcome.evidence["position"])
    assert " is trained, " in outcome.says


def other_end_heeded():
    return supervised(tokenizer(eos_token="</s>"))


def end_is_not_trained():
    made = tokenizer()
    cut = TEMPLATE.replace("</turn>{% endgeneration %}", "{% endgeneration %}</turn>")
    made.chat_template = cut
    return supervised(made, assistant_only_loss=True)


def template_without_an_end():
    made = tokenizer(template=TEMPLATE.replace("</turn>{% endgen", "{% endgen"))
    return supervised(made)


def end_masked_as_padding():
    from transformers import DataCollatorForLanguageModeling

    made = tokenizer(pad_token="</turn>")
    rows = [{"input_ids": row} for row in ids_of(made, chats(8))]
    collator = DataCollatorForLanguageModeling(made, mlm=False)
    return trained_on(made, rows, collator).trainer


@pytest.mark.parametrize(
    ("make", "end"),
    [
        (other_end_heeded, None),
        (end_is_not_trained, "'.'"),
        (template_without_an_end, None),
        (end_masked_as_padding, None),
    ],
)
def test_answers_without_the_end_that_stops_are_told(make, end):
    outcome = asked(make())
    assert named(outcome) == END
    assert outcome.says.startswith("6 of 6 trained answers do not hold what stops")
    assert outcome.fix.startswith("Train the end of answers")
    assert end is None or outcome.says.endswith(f"most end with {end}")


def test_ids_are_as_they_were_and_the_worker_draws_nothing():
    trainer = supervised(tokenizer())
    before, dice = trainer.train_dataset[0], torch.get_rng_state()
    assert asked(trainer).state == "holds"
    assert trainer.train_dataset[0] == before
    assert torch.equal(torch.get_rng_state(), dice)
