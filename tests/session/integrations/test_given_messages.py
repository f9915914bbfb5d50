"""What of a dataset's messages is not in its ids."""

from types import SimpleNamespace

import pytest
from datasets import Dataset

from ftlab.faults.builders.chats import REASONING, TEMPLATE, chats, tokenizer
from ftlab.faults.data.chat_templates.healthy_rewritten_by_the_template import _STRIPPED
from ftlab.session.integrations import given_messages
from ftlab.session.integrations.given_messages import ROWS, dropped, left_out

WITHOUT = TEMPLATE.replace(
    "m in messages", "m in messages if m['role'] in ('user', 'assistant')"
)
RULE = {"role": "system", "content": "  light falls \n"}
CALL = {"function": {"name": "look_up", "arguments": {"place": "Zanzibar"}}}
CALLING = [
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "content": 'light on "every stone"\nby noon'},
]


def trainer(talks, template=TEMPLATE, columns=("messages",), **given):
    made = tokenizer(template=template)
    rows = []
    for number, talk in enumerate(talks):
        ids = made.apply_chat_template(talk, return_dict=True)["input_ids"]
        # no two rows of a length, as of rows that were cut
        row = {"input_ids": ids + [made.pad_token_id] * (200 + number - len(ids))}
        rows.append(row | dict(zip(columns, (talk,), strict=False)))
    data = given.pop("data", Dataset.from_list(rows))
    args = SimpleNamespace(max_length=None, **given)
    return SimpleNamespace(train_dataset=data, args=args, processing_class=made)


def found(talks, template=TEMPLATE, **given):
    told = left_out(trainer(talks, template, **given)).get("left_out")
    return None if told is None else [(f["kind"], f["rows"]) for f in told["found"]]


def with_rule(count=4):
    return [[RULE, *talk] for talk in chats(count)]


def test_what_is_written_is_found():
    assert found(with_rule()) == []


def test_a_system_message_is_in_no_row():
    told = left_out(trainer(with_rule(), WITHOUT))["left_out"]
    assert told["rows"] == 4
    (kind,) = told["found"]
    assert kind == {"kind": "system", "rows": 4, "row": 0, "message": 0}


def test_calls_of_tools_and_their_results_are_told_apart():
    talks = [[question, *CALLING, answer] for question, answer in chats(2)]
    assert found(talks) == [("tool calls", 2)]
    assert found(talks, WITHOUT) == [("tool calls", 2), ("tool", 2)]


def test_texts_that_are_stripped_and_escaped_are_written():
    talks = [[RULE, question, CALLING[1], answer] for question, answer in chats(2)]
    assert found(talks, _STRIPPED) == []


def test_a_text_of_which_a_part_is_written_was_rewritten():
    rule = {"role": "system", "content": "small boats carry\nbread and salt to towns"}
    shortened = TEMPLATE.replace(
        "{% else %}{{ m['content'] }}", "{% else %}{{ m['content'].split('\n')[0] }}"
    )
    assert found([[rule, *talk] for talk in chats(2)], shortened) == []


def test_the_reasoning_of_a_last_answer_is_not_written():
    def thoughtful(talk):
        thoughts = ["", "the first year turns", "", "salt never sleeps"]
        pairs = zip(talk, thoughts, strict=True)
        return [{**m, "reasoning_content": thought} for m, thought in pairs]

    talks = list(map(thoughtful, chats(2, turns=2)))
    assert found(talks) == [("reasoning", 2)]
    written = TEMPLATE.replace(
        "{{ m['content'] }}</turn>{% endgeneration %}",
        "{{ m['reasoning_content'] if loop.last }}{{ m['content'] }}</turn>"
        "{% endgeneration %}",
    )
    assert found(talks, written) == []
    assert found(talks, REASONING) == [("reasoning", 2)]


def test_rows_that_were_cut_are_not_looked_at():
    cut = trainer(with_rule(), WITHOUT)
    cut.args.max_length = 202
    assert left_out(cut)["left_out"]["rows"] == 2
    cut.args.max_length = 200
    assert left_out(cut) == {}
    same = trainer(with_rule(), WITHOUT)
    same.train_dataset = same.train_dataset.map(
        lambda row: {"input_ids": row["input_ids"][:200]}
    )
    assert left_out(same) == {}


def test_only_the_first_rows_are_looked_at():
    assert left_out(trainer(with_rule(ROWS + 4)))["left_out"]["rows"] == ROWS


def test_only_so_many_tokens_are_looked_at(monkeypatch):
    monkeypatch.setattr(given_messages, "POSITIONS", 200 + 201)
    assert left_out(trainer(with_rule()))["left_out"]["rows"] == 2


def test_a_prompt_and_its_completion_are_one_conversation():
    made = trainer(with_rule(), WITHOUT)
    rows = [
        {"prompt": row["messages"][:2], "completion": row["messages"][2:]} | row
        for row in made.train_dataset
    ]
    made.train_dataset = Dataset.from_list(rows).remove_columns("messages")
    assert [f["kind"] for f in left_out(made)["left_out"]["found"]] == ["system"]


def test_transforms_of_the_dataset_are_not_called():
    made = trainer(with_rule(), WITHOUT)

    def refuse(rows):
        raise AssertionError

    made.train_dataset.set_transform(refuse)
    assert left_out(made)["left_out"]["found"]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [{"messages": [], "input_ids": [1]}],
        Dataset.from_list([{"input_ids": [1, 2]}]),
        Dataset.from_list([{"messages": "text", "input_ids": [1, 2]}]),
        Dataset.from_list([{"messages": [], "input_ids": []}]),
        Dataset.from_list([{"prompt": "a", "completion": "b", "input_ids": [1]}]),
        Dataset.from_list([]),
    ],
)
def test_other_datasets_tell_nothing(data):
    assert left_out(trainer(chats(1), data=data)) == {}


def test_the_tokenizer_is_left_as_it_was():
    made = trainer(with_rule())
    inner = made.processing_class.backend_tokenizer
    inner.enable_truncation(7)
    left_out(made)
    assert inner.truncation["max_length"] == 7


@pytest.mark.parametrize(("cut", "lost"), [(3, True), (None, False)])
def test_rows_that_trl_drops_are_counted(cut, lost):
    class SFTTrainer(SimpleNamespace):
        """What TRL leaves behind: its own table, filtered."""

    made = Dataset.from_dict({"input_ids": [[1], [2]], "labels": [[-100], [2]]})
    kept = made.filter(lambda row: any(label != -100 for label in row["labels"]))
    trainer = SFTTrainer(train_dataset=kept, args=SimpleNamespace(max_length=cut))
    said = "TRL dropped 1 of 2 rows: cut to max_length=3"
    assert dropped(trainer).startswith(said) is lost
    whole = SFTTrainer(train_dataset=made, args=SimpleNamespace(max_length=cut))
    assert dropped(whole) == ""
