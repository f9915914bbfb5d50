"""Messages, rows of a dataset and trainers as rows of tokens."""

import itertools

import pytest
from datasets import Dataset, IterableDataset

from ftlab.probes.tokens.dataset_rows import of_rows
from ftlab.probes.tokens.sources import of_messages, of_trainer
from ftlab.records.errors import BadValueError
from tests.probes.tokens import vocabularies
from tests.probes.tokens.trainings import TRAINERS, talks

TALK = [
    {"role": "user", "content": "Größe 日本?"},
    {"role": "assistant", "content": "one 🙂"},
]


def words(batch, row):
    return [
        (
            turn.role,
            turn.part,
            "".join(
                row.texts.get(at, batch.pieces[int(row.ids[at])].text)
                for at in range(turn.start, turn.end)
            ),
        )
        for turn in row.turns
    ]


@pytest.mark.parametrize(
    "vocabulary",
    [vocabularies.byte_level, vocabularies.byte_fallback, vocabularies.slow],
)
def test_a_conversation_is_tokenised_as_the_tokenizer_does(vocabulary):
    tokenizer = vocabulary()
    made = of_messages(tokenizer, TALK)
    expected = tokenizer.apply_chat_template(TALK, tokenize=True)
    ids = expected["input_ids"] if not isinstance(expected, list) else expected
    assert made.rows[0].ids.tolist() == list(ids)
    found = [(r, p, "".join(t.split())) for r, p, t in words(made, made.rows[0])]
    assert found == [
        ("user", "header", "<|im_start|>user"),
        ("user", "text", "Größe日本?"),
        ("user", "end", "<|im_end|>"),
        ("assistant", "header", "<|im_start|>assistant"),
        ("assistant", "text", "one🙂"),
        ("assistant", "end", "<|im_end|>"),
    ]
    covered = [at for t in made.rows[0].turns for at in range(t.start, t.end)]
    assert covered == list(range(len(ids)))


def test_several_conversations_and_templates_stand_side_by_side():
    templates = {"chat": vocabularies.CHATML, "plain": vocabularies.PLAIN}
    made = of_messages(vocabularies.byte_level(), [TALK, TALK], template=templates)
    assert [row.source for row in made.rows] == [
        "chat, conversation 0",
        "chat, conversation 1",
        "plain, conversation 0",
        "plain, conversation 1",
    ]
    assert "stop" in made.special


def test_tokenizers_of_one_vocabulary_are_shown_together_and_others_refused():
    tokenizer = vocabularies.byte_level()
    made = of_messages({"base": tokenizer, "tuned": tokenizer}, TALK)
    assert [row.source for row in made.rows] == ["base", "tuned"]
    two = {"one": tokenizer, "two": vocabularies.byte_fallback()}
    with pytest.raises(BadValueError, match="vocabularies of their own: id"):
        of_messages(two, [{"role": "user", "content": " ".join(vocabularies.LINES)}])


def test_a_template_that_refuses_is_said_and_the_others_are_shown():
    refusing = "{{ raise_exception('only questions') }}"
    templates = {"good": vocabularies.CHATML, "bad": refusing}
    made = of_messages(vocabularies.byte_level(), TALK, template=templates)
    assert [row.source for row in made.rows] == ["good"]
    assert any("bad" in each and "only questions" in each for each in made.remarks)
    with pytest.raises(BadValueError, match=r"Nothing was rendered.*only questions"):
        of_messages(vocabularies.byte_level(), TALK, template=refusing)


def test_a_generation_prompt_is_shown_where_it_is_asked_for():
    made = of_messages(vocabularies.byte_level(), TALK[:1], add_generation_prompt=True)
    assert made.rows[0].turns[-1].part == "generation prompt"


def test_notations_of_messages_and_none_at_all():
    other = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "one"}]
    made = of_messages(vocabularies.byte_level(), other)
    assert [t.role for t in made.rows[0].turns[:4:3]] == ["user", "assistant"]
    for odd in ("text", 3, [], [[3]]):
        with pytest.raises(BadValueError, match=r"must be a list of|no conversation"):
            of_messages(vocabularies.byte_level(), odd)


@pytest.mark.parametrize(
    "make",
    [
        Dataset.from_list,
        list,
        lambda rows: IterableDataset.from_generator(lambda: iter(rows)),
    ],
)
def test_first_rows_of_a_dataset(make):
    made = of_rows(make(talks()), vocabularies.byte_level(), 3)
    assert [row.source for row in made.rows] == [
        f"row {at} of the dataset" for at in range(3)
    ]
    assert made.rows[0].turns[0].role == "user"


def test_rows_of_each_kind():
    tokenizer = vocabularies.byte_level()
    prompt = {"prompt": "Name one: ", "completion": "seven"}
    made = of_rows([prompt], tokenizer)
    assert [each[::2] for each in words(made, made.rows[0])] == [
        ("user", "Name one: "),
        ("assistant", "seven"),
    ]
    pair = {"prompt": TALK[:1], "chosen": TALK[1:], "rejected": TALK[1:]}
    assert [row.source for row in of_rows([pair], tokenizer).rows] == [
        "row 0 of the dataset, chosen",
        "row 0 of the dataset, rejected",
    ]
    made = of_rows([{"text": "prime 🙂"}, "prime"], tokenizer)
    assert made.rows[0].ids.tolist() == tokenizer("prime 🙂")["input_ids"]
    made = of_rows([{"input_ids": [5, 6], "completion_mask": [0, 1]}], tokenizer)
    assert made.rows[0].labels.tolist() == [-100, 6]
    with pytest.raises(BadValueError, match=r"hold pixels; known are input_ids"):
        of_rows([{"pixels": 1}], tokenizer)
    with pytest.raises(BadValueError, match="no rows"):
        of_rows([], tokenizer)


def test_rows_that_come_once_are_refused_and_not_taken():
    rows = iter(talks())
    with pytest.raises(BadValueError, match="each row once: pass a list"):
        of_rows(rows, vocabularies.byte_level())
    assert next(rows) == talks()[0]


def test_a_shuffling_dataset_goes_on_as_if_nobody_had_looked():
    def draw(row):
        import random

        return {"input_ids": [[random.randrange(50)] for _ in row["input_ids"]]}

    rows = Dataset.from_list([{"input_ids": [1]}] * 4)
    rows.set_transform(draw)
    import random

    random.seed(1)
    expected = [random.random() for _ in range(2)]
    random.seed(1)
    of_rows(rows, None, 2)
    assert [random.random() for _ in range(2)] == expected


@pytest.mark.parametrize("kind", TRAINERS)
def test_a_trainers_batches_are_read(kind):
    made, _, _ = of_trainer(TRAINERS[kind](), 2)
    assert made.rows[0].source == "batch 0, sample 0"
    assert all(row.labels is not None for row in made.rows)
    if kind in ("padding free", "packing bfd"):
        assert max(int(row.segments.max()) for row in made.rows) > 0
    if kind in ("completion only", "assistant only", "padding free"):
        turns = list(itertools.chain(*(row.turns for row in made.rows)))
        assert {turn.role for turn in turns} >= {"user", "assistant"}
    if kind in ("completion only", "assistant only"):
        for row in made.rows:
            for turn in row.turns:
                if turn.role == "user":
                    assert not row.trained[turn.start : turn.end].any()


def test_what_a_template_does_to_a_conversation_is_remarked():
    tokenizer = vocabularies.byte_level()
    turn = "{% for m in messages %}{{ m.role }}: {{ m.content }}"
    tokenizer.chat_template = turn + "<|im_end|>\n{% endfor %}"
    assert of_messages(tokenizer, TALK).remarks == ()
    part = [{"type": "text", "text": "Hi"}]
    listed = of_messages(tokenizer, [{"role": "user", "content": part}]).remarks
    assert any("prints list content in the notation of Python" in r for r in listed)
    end = "{% if not loop.last %}<|im_end|>\n{% endif %}{% endfor %}"
    tokenizer.chat_template = turn + end
    assert any(
        "ends the last answer" in r for r in of_messages(tokenizer, TALK).remarks
    )
    assert of_messages(tokenizer, TALK[:1]).remarks == ()
