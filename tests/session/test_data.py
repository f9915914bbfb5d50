"""`ftlab.data` over datasets as people have them: faulty, healthy and hostile."""

import json
import random
import signal
import unicodedata

import pytest
from datasets import Dataset, DatasetDict, IterableDataset
from transformers import PreTrainedTokenizer

import ftlab
from ftlab.records.errors import BadValueError, UnknownNameError
from ftlab.rules.dataset_issues import row_kinds
from ftlab.session import data as session_data
from tests.probes.tokens import vocabularies

TOKENIZER = vocabularies.byte_level()
SUBJECTS = ["river", "prime", "poem", "engine", "violin", "glacier", "recipe", "orbit"]


def sentence(numbers, size=12):
    made = "".join(numbers.choice("abcdefghiklmnoprstuw ") for _ in range(size * 6))
    return f"{numbers.choice(SUBJECTS).title()} {' '.join(made.split())}."


def chat(count=40, seed=0):
    numbers = random.Random(seed)
    return [
        {
            "messages": [
                {"role": "user", "content": f"Tell me: {sentence(numbers)}"},
                {"role": "assistant", "content": sentence(numbers)},
            ]
        }
        for _ in range(count)
    ]


LONG_ANSWER = (
    "It is so because the river took the bridge away, and nobody built it anew. "
)


def kinds(report):
    return {issue.name: issue.severity.label for issue in report.summary.issues}


def scanned(rows, tokenizer=TOKENIZER, **settings):
    return ftlab.data(rows, tokenizer, **settings)


def answered(rows, at, text):
    rows[at]["messages"][1]["content"] = text
    return rows


def asked(rows, at, text):
    rows[at]["messages"][0]["content"] = text
    return rows


def labelled():
    queues = ["billing", "shipping", "refund", "other"]
    for at in range(24):
        label = queues[at % 4]
        text = f"Mail {at}: {sentence(random.Random(at))} [ticket {at}, queue={label}]"
        yield {"prompt": text, "completion": label}


FAULTS = {
    "empty-answer": lambda: answered(chat(), 2, " \n"),
    "unfinished-answer": lambda: answered(
        chat(), 2, "It goes on for a while, as it should, and then it stops and the"
    ),
    "duplicate-row": lambda: chat() + chat(2),
    "near-duplicate": lambda: (
        chat()
        + [
            {
                "messages": [
                    m | {"content": m["content"].upper().replace(" ", "  ")}
                    for m in row["messages"]
                ]
            }
            for row in chat(4)
        ]
    ),
    "roles-out-of-order": lambda: [
        {"messages": answered(chat(1), 0, 3 * LONG_ANSWER)[0]["messages"][::-1]},
        *chat(30, 1),
    ],
    "broken-encoding": lambda: answered(
        chat(), 1, "Il a déjà l\u2019été".encode().decode("cp1252", "replace")
    ),
    "invisible-character": lambda: asked(chat(), 0, "zero\u200bwidth"),
    "decomposed-letters": lambda: asked(
        chat(), 0, unicodedata.normalize("NFD", "Le café est fermé à Genève")
    ),
    "special-token-in-content": lambda: asked(chat(), 0, "Say <|im_end|> please."),
    "label-in-prompt": lambda: list(labelled()),
    "malformed-messages": lambda: [{"messages": json.dumps(chat(1))}, *chat(30)],
    "role-mark-in-content": lambda: [
        {"instruction": "Rewrite:\n### Response:\nbar", "output": "A rewritten one."},
        *(
            {"instruction": sentence(random.Random(at)), "output": "Yes."}
            for at in range(9)
        ),
    ],
    "half-character": lambda: asked(chat(), 0, "cut \ud83d"),
    "question-without-answer": lambda: [
        {"messages": chat(1)[0]["messages"][:1]},
        *chat(30, 1),
    ],
    "unknown-role": lambda: [
        {"messages": [{"role": "asistant", "content": "a"}]},
        *chat(30),
    ],
    "unknown-columns": lambda: [{"a": 1}, *chat(30)],
    "equal-pair": lambda: [
        {"prompt": f"{at}?", "chosen": f"{at}!", "rejected": f"{at % 9}!"}
        for at in range(12)
    ],
    "prompt-in-completion": lambda: [
        {"prompt": f"{at} {row}", "completion": f"{at} {row} And so on."}
        for at in range(9)
        for row in [sentence(random.Random(at))]
    ],
    "missing-end-mark": lambda: [
        {"text": sentence(random.Random(at)) + ("<|im_end|>" if at else "")}
        for at in range(20)
    ],
    "special-token-in-text": lambda: [
        {"prompt": f"{at}{'<|bos|>' if at == 3 else ''}?", "completion": f"{at}!"}
        for at in range(20)
    ],
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_nothing_else(name):
    report = scanned(FAULTS[name]())
    beside = {"equal-pair": {"near-duplicate"}}.get(name, set())
    assert set(kinds(report)) - beside == {name}
    issue = next(i for i in report.summary.issues if i.name == name)
    assert report.rows(name)[0] == issue.spots[0].row


def test_a_fault_of_the_vocabulary_is_found():
    rows = answered(chat(), 4, "\u0d9e\ua4ea\u0d9e")
    report = scanned(rows, vocabularies.unigram())
    assert report.rows("unknown-tokens").tolist() == [4]


def several_answers():
    numbers = random.Random(0)
    for at in range(40):
        prompt = f"Tell me about {SUBJECTS[at % 4]} in a few words, please."
        yield {"prompt": prompt, "completion": sentence(numbers)}


def questions_on_texts():
    numbers = random.Random(0)
    for at in range(40):
        context = " ".join(sentence(numbers) for _ in range(5))
        words = context.split()
        start = numbers.randrange(len(words) - 3)
        yield {
            "prompt": f"Context: {context}\nQuestion {at}: which words?",
            "completion": " ".join(words[start : start + 3]),
        }


def yes_and_no():
    numbers = random.Random(0)
    for _ in range(200):
        prompt = f"Answer yes or no. {sentence(numbers)}"
        yield {"prompt": prompt, "completion": numbers.choice(["yes", "no"])}


def classes():
    numbers = random.Random(0)
    frame = "Classify the mail. Labels: billing, shipping, refund, other.\n" * 5
    for _ in range(200):
        label = numbers.choice(["billing", "shipping", "refund", "other"])
        yield {"prompt": f"{frame}Text: {sentence(numbers)}", "completion": label}


def scripts():
    for at, line in enumerate(vocabularies.LINES * 3):
        text = f"{line} {at} 👩‍👩‍👧‍👦 می‌خواهم क्‍ष"
        yield {"prompt": f"Say it again, {at}: {line}", "completion": text}


def programs():
    for at in range(30):
        body = "\n".join(f"    x{n} = {n} << {at}  # <b>" for n in range(at % 7 + 3))
        fenced = f"Here:\n```python\ndef f{at}():\n{body}\n```"
        yield {"instruction": f"Write function {at}", "input": "", "output": fenced}


def tables():
    for at in range(30):
        lines = "\n".join(f"| {n} | {n * at} | é |" for n in range(6))
        yield {
            "prompt": f"A table of {at}.",
            "completion": f"| a | b | c |\n|---|\n{lines}",
        }


def tools():
    numbers = random.Random(0)
    for at in range(20):
        call = {"function": {"name": "add", "arguments": {"a": at}}}
        yield {
            "messages": [
                {"role": "system", "content": "You add numbers."},
                {"role": "user", "content": f"Add {at}: {sentence(numbers)}"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "content": str(at)},
                {"role": "assistant", "content": f"It is {at}."},
            ],
            "tools": [{"type": "function"}],
        }


def preferences():
    numbers = random.Random(0)
    for _ in range(30):
        yield {
            "prompt": sentence(numbers),
            "chosen": sentence(numbers),
            "rejected": sentence(numbers),
        }


def prompts():
    numbers = random.Random(0)
    for _ in range(30):
        yield {
            "prompt": [{"role": "user", "content": sentence(numbers)}],
            "answer": "7",
        }


def questions_alone():
    return ({"messages": row["messages"][:1]} for row in chat())


def rendered():
    for row in chat():
        yield {"text": TOKENIZER.apply_chat_template(row["messages"], tokenize=False)}


def greetings():
    hello = {"role": "assistant", "content": "Hello, stranger."}
    return ({"messages": [hello, *row["messages"]]} for row in chat())


def lines_of_a_text():
    for at in range(30):
        yield {"text": f" = Title {at} = \n" if at % 3 else f"{at} words. \n"}


def instructions_on_texts():
    numbers = random.Random(0)
    for _ in range(30):
        yield {
            "instruction": "Summarise this, please.",
            "context": sentence(numbers, 40),
            "response": "A story.",
        }


def turn_by_turn():
    numbers = random.Random(0)
    for _ in range(4):
        talk = []
        for _ in range(12):
            talk.append({"role": "user", "content": sentence(numbers)})
            talk.append({"role": "assistant", "content": sentence(numbers)})
            yield {"messages": list(talk)}


HEALTHY = [
    turn_by_turn,
    lines_of_a_text,
    instructions_on_texts,
    chat,
    several_answers,
    questions_on_texts,
    yes_and_no,
    classes,
    scripts,
    programs,
    tables,
    tools,
    preferences,
    prompts,
    questions_alone,
    rendered,
    greetings,
]


@pytest.mark.parametrize("rows", HEALTHY)
def test_is_silent_on_healthy_data(rows):
    report = scanned(list(rows()), max_length=5000)
    assert kinds(report) == {}
    assert report.ok
    assert repr(report).splitlines()[0].endswith(": nothing found")


def test_what_is_cut_off_is_told():
    report = scanned(chat(), max_length=50)
    lengths = report.summary.lengths
    assert (lengths.limit, lengths.limit_from) == (50, "max_length")
    assert lengths.above == 40
    assert set(kinds(report)) <= {"answer-cut-off", "answer-cut-away"}
    assert "max_length 50 cuts 40 rows" in repr(report)


def test_lengths_are_those_of_the_template():
    report = scanned(chat())
    rendered = [
        len(TOKENIZER.apply_chat_template(row["messages"], return_dict=True).input_ids)
        for row in chat()
    ]
    assert report.summary.lengths.total == sum(rendered)
    assert report.summary.lengths.error == 0


def test_the_limit_of_the_tokenizer_is_taken():
    class Limited:
        model_max_length = 7
        convert_ids_to_tokens = TOKENIZER.convert_ids_to_tokens

        def __call__(self, *args, **kwargs):
            return TOKENIZER(*args, **kwargs)

    report = scanned([{"text": "a longer text than that, by far"}], Limited())
    assert report.summary.lengths.limit_from == "the tokenizer's model_max_length"


def test_evaluation_rows_in_the_training_are_found():
    report = scanned(chat(), evaluation=chat(2) + chat(5, seed=9))
    (issue,) = report.summary.issues
    assert (issue.name, issue.rows) == ("leaked-evaluation-row", 2)
    assert "2 of 7 rows of the evaluation data" in issue.message


def test_evaluation_rows_that_are_almost_in_the_training_are_found():
    near = [
        {"messages": [m | {"content": m["content"].upper()} for m in row["messages"]]}
        for row in chat(3)
    ]
    report = scanned(chat(), evaluation=near + chat(5, seed=9))
    (issue,) = report.summary.issues
    assert report.rows("leaked-evaluation-row").tolist() == [0, 1, 2]
    assert "3 of 8 rows of the evaluation data" in issue.message
    says = [spot.says for spot in issue.spots]
    assert says == [
        f"100% the same as row {at} of the evaluation data" for at in range(3)
    ]


def test_rows_that_are_almost_in_the_evaluation_are_told_as_such():
    held = chat(20, seed=9)
    for at, row in enumerate(held):
        row["messages"][0]["content"] += sentence(random.Random(at), size=60)
    near = [json.loads(json.dumps(row)) for row in held[:2]]
    for row in near:
        asked = row["messages"][0]
        asked["content"] = asked["content"].replace("Tell", "Show")
    report = scanned(chat() + near, evaluation=held)
    assert kinds(report) == {"almost-evaluation-row": "warning"}
    assert report.rows("almost-evaluation-row").tolist() == [40, 41]
    (issue,) = report.summary.issues
    assert "2 of 20 rows of the evaluation data (10 %)" in issue.message
    assert "% the same as row 0 of the evaluation data" in issue.spots[0].says


def test_the_other_splits_are_the_evaluation_data():
    splits = DatasetDict(
        train=Dataset.from_list(chat()), test=Dataset.from_list(chat(3))
    )
    assert scanned(splits).rows("leaked-evaluation-row").tolist() == [0, 1, 2]
    with pytest.raises(BadValueError, match=r"contains test, but no train.*\['test'\]"):
        scanned(DatasetDict(test=splits["test"]))


def test_a_streamed_dataset_is_looked_at_and_not_used_up():
    rows = IterableDataset.from_generator(lambda: iter(chat()))
    assert scanned(rows).summary.rows == 40
    assert len(list(rows)) == 40


def test_looking_draws_no_random_numbers():
    before = random.getstate()
    scanned(chat())
    assert random.getstate() == before


@pytest.mark.parametrize(
    ("rows", "settings", "said"),
    [
        ([], {}, "has no rows"),
        ([{"a": 1}, {"a": 2}], {}, "No row is recognised: the row holds a"),
        (
            [{"a": "b", "c": "d"}],
            {},
            "holds a, c. .*completion.* dataset.rename_columns",
        ),
        (chat(), {"max_length": 0}, "max_length=0; allowed are 1 and more"),
        (chat(), {"max_length": 2.5}, "max_length=2.5; allowed"),
        (chat(), {"tokenizer": 7}, "of type int; pass one of"),
    ],
)
def test_what_cannot_be_looked_at_is_said(rows, settings, said):
    known = {"tokenizer": TOKENIZER} | settings
    with pytest.raises(BadValueError, match=said):
        ftlab.data(rows, **known)


def test_rows_without_faults_are_kept():
    rows = answered(chat() + chat(2), 5, "")
    report = scanned(rows)
    assert report.kept().tolist() == [at for at in range(40) if at != 5]
    assert len(report.kept("duplicate-row")) == 40
    assert len(report.kept([])) == 42
    assert report.rows("duplicate-row").tolist() == [40, 41]
    assert report.rows("near-duplicate").tolist() == []
    with pytest.raises(UnknownNameError, match="near ones are 'duplicate-row'"):
        report.kept("duplicate-rows")
    with pytest.raises(BadValueError, match="drop=5; pass names"):
        report.kept(5)
    with pytest.raises(BadValueError, match="pass its name"):
        report.rows(["duplicate-row"])


def test_a_filtered_copy_is_written_and_the_file_stays(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps(row) for row in answered(chat(), 5, "")]
    path.write_text("\n".join([*lines, "{broken", lines[0]]))
    before = path.read_bytes()
    report = scanned(path)
    assert report.filtered(tmp_path / "new.jsonl") == 39
    assert (tmp_path / "new.jsonl").read_text().splitlines() == lines[:5] + lines[6:]
    assert kinds(scanned(tmp_path / "new.jsonl")) == {}
    assert path.read_bytes() == before
    path.write_text(lines[0])
    with pytest.raises(BadValueError, match="has changed since it was scanned"):
        report.filtered(tmp_path / "other.jsonl")


class Interrupting:
    """Rows whose reading is interrupted as Ctrl-C does it."""

    def __len__(self):
        return 100

    def __getitem__(self, at):
        if at == 30:
            signal.raise_signal(signal.SIGINT)
        return chat(40)[at % 40] if at < 40 else chat(1, seed=at)[0]


def test_an_interrupt_gives_what_was_read_until_then(tmp_path):
    report = scanned(Interrupting())
    assert (report.summary.rows, report.summary.complete) == (31, False)
    assert "31 rows (messages 31); stopped before the end" in repr(report)
    assert sum(report.summary.lengths.rows) == 31
    with pytest.raises(BadValueError, match="stopped before the end"):
        report.filtered(tmp_path / "new.jsonl")


def test_a_hostile_file_is_named_line_by_line_and_the_rest_is_read(tmp_path):
    path = tmp_path / "rows.jsonl"
    good = [json.dumps(row).encode() for row in chat(5)]
    hostile = [
        b'{"messages": "' + b"x" * (50 << 20) + b'"}',
        b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}',
        b"[" * 50_000,
        b'["a"]',
        b"7",
        b"null",
        b'{"messages": {"role": "user"}}',
        b'{"messages": [[[[]]]]}',
        b'{"messages": [{"role": 5, "content": {"a": {}}}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "text"}, 7]}]}',
        b"\x00\x01\x02",
        good[1][:-1] + b', "tools": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"text": ' + b"[" * 900 + b"]" * 900 + b"}",
    ]
    path.write_bytes(b"\n".join([*good, *hostile, *good[:1]]))
    report = scanned(path)
    assert report.summary.rows == 19
    assert report.rows("unreadable-row").tolist() == [5, 6, 7, 15]
    spots = {i.name: i.spots for i in report.summary.issues}
    assert [spot.place for spot in spots["unreadable-row"]] == [
        "line 6",
        "line 7",
        "line 8",
        "line 16",
    ]
    assert report.rows("malformed-messages").tolist() == [8, 9, 11, 12, 13, 14]
    assert report.rows("unknown-columns").tolist() == [10, 17]
    assert report.rows("duplicate-row").tolist() == [18]
    assert not report.ok


def test_blank_lines_of_a_text_are_a_note_and_no_copies():
    report = scanned([{"text": "" if at % 2 else f"{at}"} for at in range(20)])
    assert kinds(report) == {"empty-text": "info"}
    assert report.ok


def test_names_of_faults_are_known():
    assert set(FAULTS) <= set(row_kinds())


@pytest.mark.parametrize("shown", [True, False])
def test_a_bar_is_shown_where_it_is_asked_for(capsys, shown):
    scanned(chat(), progress=shown)
    assert ("scanning" in capsys.readouterr().err) == shown


class Changing:
    """A tokenizer at whose first sight of the rows somebody else changes them."""

    model_max_length = 10**30

    def __init__(self, change):
        self.change = change
        self.convert_ids_to_tokens = TOKENIZER.convert_ids_to_tokens

    def __call__(self, texts, **settings):
        if len(texts) > 1 and self.change is not None:
            self.change()
            self.change = None
        return TOKENIZER(texts, **settings)


def test_a_file_that_changes_under_the_scan_is_named_and_not_copied(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, chat())))
    other = tmp_path / "other.jsonl"
    other.write_bytes(path.read_bytes())
    report = scanned(path, Changing(lambda: other.replace(path)))
    assert report.summary.changed == ("rows.jsonl",)
    assert "rows.jsonl changed while it was read" in repr(report)
    assert not report.ok
    with pytest.raises(BadValueError, match=r"rows\.jsonl changed while it was read"):
        report.filtered(tmp_path / "new.jsonl")


def test_a_list_that_grows_under_the_scan_or_after_it_is_not_copied(tmp_path):
    rows = chat()
    grown = scanned(rows, Changing(lambda: rows.append(chat(1, seed=3)[0])))
    assert grown.summary.changed == ("the dataset",)
    report = scanned(rows)
    assert report.summary.changed == ()
    rows.insert(0, {"text": "another row"})
    with pytest.raises(BadValueError, match="has changed since it was scanned"):
        report.filtered(tmp_path / "new.jsonl")


def test_a_file_that_changes_under_the_copy_leaves_no_copy(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, chat())))
    report = scanned(path)
    monkeypatch.setattr(
        session_data, "write_copy", changing(session_data.write_copy, path)
    )
    with pytest.raises(BadValueError, match="has changed since it was scanned"):
        report.filtered(tmp_path / "new.jsonl")
    assert [each.name for each in tmp_path.iterdir()] == ["rows.jsonl"]


def changing(write, path):
    """Change the file while it is copied."""

    def changed(sources, target, left_out, *given):
        def look(row):
            if row == 3:
                path.write_bytes(path.read_bytes() + b"\n")
            return left_out(row)

        return write(sources, target, look, *given)

    return changed


class Refusing(PreTrainedTokenizer):
    """A tokenizer in Python that one text is too much for."""

    vocab_size = 1

    def get_vocab(self):
        return {"a": 0}

    def _tokenize(self, text):
        if "boo" in text:
            msg = "no boo\x1b[2J"
            raise RuntimeError(msg)
        return text.split()

    def _convert_token_to_id(self, _):
        return 0

    def _convert_id_to_token(self, _):
        return "a"


class Never(Refusing):
    """One that every text is too much for."""

    def _tokenize(self, text):
        return super()._tokenize(f"boo {text}")


def test_a_text_at_which_the_tokenizer_raises_is_named_and_the_rest_is_counted():
    rows = [{"text": f"some words {at}"} for at in range(9)]
    report = scanned([*rows, {"text": "boo here"}], Refusing())
    assert report.summary.lengths.total == 27
    (said,) = (each for each in report.summary.not_checked if "tokens of" in each)
    assert said == (
        r"tokens of 1 rows: row 9: the tokenizer raised RuntimeError: no boo\x1b[2J"
    )


@pytest.mark.parametrize(
    ("tokenizer", "said"),
    [
        (Refusing, "The tokenizer is the class Refusing; pass one of"),
        ("text".split, "of type builtin_function_or_method; pass one of"),
        (lambda texts, **_: texts, "of type function; pass one of"),
        (Never(), "raised RuntimeError at its first text: no boo"),
    ],
)
def test_what_is_no_tokenizer_is_said(tokenizer, said):
    with pytest.raises(BadValueError, match=said):
        scanned(chat(), tokenizer)


def test_a_folder_of_splits_is_read_as_the_splits_are(tmp_path):
    DatasetDict(
        train=Dataset.from_list(chat()), test=Dataset.from_list(chat(3))
    ).save_to_disk(str(tmp_path / "saved"))
    report = scanned(tmp_path / "saved")
    assert (report.summary.rows, report.summary.name) == (40, "saved")
    assert report.rows("leaked-evaluation-row").tolist() == [0, 1, 2]
    assert scanned(chat(), evaluation=tmp_path / "saved").rows(
        "leaked-evaluation-row"
    ).tolist() == list(range(40))
