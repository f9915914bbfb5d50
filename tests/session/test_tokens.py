"""`ftlab.tokens` over messages, datasets, batches, trainers and paused steps."""

import numpy as np
import pytest
import torch

import ftlab
from ftlab.faults.registry import load
from ftlab.records.errors import BadValueError, NotPausedError
from tests.probes.tokens import vocabularies
from tests.probes.tokens.trainings import OwnCollator, sft, talks
from tests.session.scenarios import trainer

TALK = talks(1)[0]["messages"]


def rows_of(view):
    return view._read.rows


def test_a_trainer_is_looked_at_and_no_random_number_is_drawn():
    made = trainer()
    before = torch.random.get_rng_state()
    view = ftlab.tokens(made)
    assert torch.equal(before, torch.random.get_rng_state())
    batch = next(iter(made.get_train_dataloader()))
    again = ftlab.tokens(batch=batch, tokenizer=made.processing_class)
    assert len(view.table()) == len(again.table())
    assert len(rows_of(ftlab.tokens(made, count=2))) == 2 * len(rows_of(view))


def test_what_cannot_be_looked_at_is_answered_with_what_can():
    batch = {"input_ids": torch.tensor([[1, 5]])}
    with pytest.raises(BadValueError, match=r"given a dict.*batch=batch"):
        ftlab.tokens(batch)
    splits = {"train": [{"text": "a"}], "test": [{"text": "b"}]}
    with pytest.raises(BadValueError, match=r"train, test.*dataset\['train'\]"):
        ftlab.tokens(splits)
    with pytest.raises(BadValueError, match=r"given an int.*loader"):
        ftlab.tokens(3)
    with pytest.raises(BadValueError, match=r"no batch.*input_ids"):
        ftlab.tokens()
    with pytest.raises(BadValueError, match=r"given template, which needs"):
        ftlab.tokens(batch=batch, template="x")
    with pytest.raises(BadValueError, match="needs messages too"):
        ftlab.tokens(vocabularies.byte_level())


IDS = torch.tensor([[5, 6, 7], [8, 9, 10]])


def test_a_bare_table_of_ids_is_a_batch():
    tokenizer = vocabularies.byte_level()
    for view in (ftlab.tokens(batch=IDS), ftlab.tokens(IDS, tokenizer)):
        assert [row.ids.tolist() for row in rows_of(view)] == IDS.tolist()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"batch": (IDS, IDS)}, r"given a tuple; .*\"labels\": labels"),
        ({"batch": {}}, "an empty batch"),
        ({"batch": {"input_ids": None}}, "holds None as input_ids"),
        ({"batch": {"input_ids": torch.rand(1, 3)}}, "input_ids is of float32"),
        ({"batch": {"input_ids": torch.ones(1, 1, 3).long()}}, r"shape \(1, 1, 3\)"),
        ({"what": [{"text": None}]}, "text=None; drop"),
        ({"what": [{"messages": []}]}, r"messages=\[\]; drop"),
        ({"what": [{"text": "a\ud800b"}]}, "half of a character"),
        ({"what": [{"text": "a"}], "count": 0}, "count=0; allowed are 1"),
        ({"what": [{"text": "a"}], "count": "x"}, "count='x'; allowed are 1"),
    ],
)
def test_what_is_wrong_with_rows_is_said(given, said):
    known = {"tokenizer": vocabularies.byte_level()}
    others = {name: each for name, each in given.items() if name != "what"}
    with pytest.raises(BadValueError, match=said):
        ftlab.tokens(given.get("what"), **known, **others)


@pytest.mark.parametrize(
    ("messages", "settings", "said"),
    [
        ({"messages": TALK}, {}, r"pass row\['messages'\]"),
        ([{"role": "user", "content": None}], {}, "message 0 has no content"),
        ([{"content": "Hi"}], {}, "message 0 has no role"),
        (TALK, {"template": "/nope/here"}, "'/nope/here' is neither a folder"),
    ],
)
def test_what_is_wrong_with_messages_is_said(messages, settings, said):
    with pytest.raises(BadValueError, match=said):
        ftlab.tokens(vocabularies.byte_level(), messages, **settings)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (vocabularies.CHATML.replace("['content']", "['content'] | upper"), "rewrites"),
        ("{# #}", "writes nothing of"),
    ],
)
def test_a_template_without_turns_is_told_as_that(template, said):
    view = ftlab.tokens(vocabularies.byte_level(), TALK, template=template)
    assert f"nobody can tell who speaks: the template {said}" in repr(view)
    assert "could not be rendered" not in "".join(view.facts.words)


def test_ends_are_told_in_lines():
    view = ftlab.tokens(batch=IDS, tokenizer=vocabularies.byte_level())
    assert repr(view.ends).startswith("a generation stops at")


def test_a_watch_is_refused_with_the_call_that_stops_at_a_step():
    watch = ftlab.watch(trainer())
    with pytest.raises(BadValueError, match=r"keeps no batches.*ftlab\.tokens\(dbg\)"):
        ftlab.tokens(watch)
    watch.detach()


def test_messages_that_no_tokenizer_reads_are_refused_in_words():
    tokenizer = vocabularies.byte_level()
    with pytest.raises(BadValueError, match=r"half of a character, U\+D800, at"):
        ftlab.tokens(tokenizer, [{"role": "user", "content": "a\ud800"}])
    endless = {"role": "user", "content": "a"}
    endless["more"] = endless
    with pytest.raises(BadValueError, match="hold themselves"):
        ftlab.tokens(tokenizer, [endless])


def test_of_very_many_answers_some_are_compared_with_what_is_served():
    long = [m for talk in talks(20) for m in talk["messages"]] * 2
    view = ftlab.tokens(vocabularies.byte_level(), long, serving=True)
    assert "32 of 40 answers were compared" in view._read.remarks
    few = ftlab.tokens(vocabularies.byte_level(), long[:20], serving=True)
    assert not any("were compared" in each for each in few._read.remarks)


LAST = vocabularies.CHATML.replace("in messages", "in messages[-2:]")


def test_messages_that_the_template_leaves_out_are_found_in_one_conversation():
    tokenizer = vocabularies.byte_level()
    long = talks(1)[0]["messages"] + talks(2)[1]["messages"]

    def found(**settings):
        view = ftlab.tokens(tokenizer, long, **settings)
        return [f.message for f in view.findings if f.code == "DAT036"]

    assert found() == []
    assert found(template=LAST) == [
        "the user's messages are not in the ids",
        "answers are not in the ids",
    ]


@pytest.mark.parametrize(
    ("fault", "code"),
    [("system-text-for-questions-only", "DAT036"), ("all-answers-cut", "DAT023")],
)
def test_what_a_trainer_was_asked_for_and_given_is_known(fault, code):
    made = load(fault).build(fixed=False).trainer
    assert code in [each.code for each in ftlab.tokens(made).findings]


def test_messages_in_either_order():
    tokenizer = vocabularies.byte_level()
    one = ftlab.tokens(tokenizer, TALK)
    other = ftlab.tokens(TALK, tokenizer)
    named = ftlab.tokens(TALK, tokenizer=tokenizer)
    assert len(one.table()) == len(other.table()) == len(named.table())
    assert [turn.role for turn in rows_of(one)[0].turns] == ["user"] * 3 + [
        "assistant"
    ] * 3
    assert one.ends.rows[0].answers[0].terminator is not None
    with pytest.raises(BadValueError, match="not from a batch"):
        one.repair()


def test_templates_side_by_side_and_what_is_served():
    prompted = vocabularies.CHATML.replace(
        "{{ '<|im_start|>assistant\n' }}", "{{ '<|im_start|>assistant\n<think>' }}"
    )
    assert prompted != vocabularies.CHATML
    view = ftlab.tokens(
        vocabularies.byte_level(),
        TALK,
        template={"same": vocabularies.CHATML, "thinks": prompted},
        serving=True,
    )
    assert [row.source for row in rows_of(view)] == ["same", "thinks"]
    said = view._read.remarks
    assert "same: message 1: served as it was trained" in said
    assert any(each.startswith("thinks: ") and "<think>" in each for each in said)


def test_rows_beside_each_other():
    tokenizer = vocabularies.byte_level()
    templates = {"chat": vocabularies.CHATML, "plain": vocabularies.PLAIN}
    both = ftlab.tokens(tokenizer, TALK, template=templates).side_by_side
    assert list(both.table().columns) == ["stretch", "chat", "plain", "same"]
    served = ftlab.tokens(tokenizer, TALK, serving=True).side_by_side
    assert "training begins with all of serving" in repr(served)
    with pytest.raises(BadValueError, match="There is only one row"):
        _ = ftlab.tokens(tokenizer, TALK).side_by_side


def test_rows_of_a_dataset():
    view = ftlab.tokens(talks(), vocabularies.byte_level(), count=3)
    assert [row.source for row in rows_of(view)] == [
        f"row {at} of the dataset" for at in range(3)
    ]


def test_batches_of_a_loader_are_named_by_batch_and_sample():
    rows = [torch.tensor([5, 6, 7]), torch.tensor([8, 9, 5]), torch.tensor([6, 7, 8])]
    loader = torch.utils.data.DataLoader(
        [{"input_ids": row} for row in rows], batch_size=2
    )
    named = [row.source for row in rows_of(ftlab.tokens(loader))]
    assert named[:2] == ["batch 0, sample 0", "batch 0, sample 1"]


def test_a_batch_is_repaired_and_the_given_one_is_left():
    tokenizer = vocabularies.byte_level()
    tokenizer.pad_token = tokenizer.eos_token
    made = sft(assistant_only_loss=True)
    batch = {name: value.clone() for name, value in ftlab.tokens(made)._given.items()}
    batch["labels"][batch["input_ids"] == tokenizer.eos_token_id] = -100
    kept = batch["labels"].clone()
    view = ftlab.tokens(batch=batch, tokenizer=tokenizer)
    assert all(each.answers[0].end_trained is False for each in view.ends.rows)
    found = view.repair()
    assert torch.equal(batch["labels"], kept)
    again = ftlab.tokens(batch=found.batch, tokenizer=tokenizer)
    assert all(each.answers[0].end_trained for each in again.ends.rows)


def test_a_paused_step_shows_its_batch_and_the_loss_of_each_token():
    made = sft(assistant_only_loss=True)
    dbg = ftlab.debug(made)
    with pytest.raises(NotPausedError, match="the run is new, not paused"):
        ftlab.tokens(dbg)
    step, model = made.compute_loss, made.model

    def pausing(*args, **kwargs):
        if made.state.global_step == 1:
            dbg.interrupt()
        return step(*args, **kwargs)

    made.compute_loss = pausing
    with dbg:
        dbg.run()
        assert dbg.state == "paused"
        view = ftlab.tokens(dbg, losses=True)
        rows = rows_of(view)
        batch = view._given
        with torch.no_grad():
            ids = batch["input_ids"]
            logits = model(ids, attention_mask=batch.get("attention_mask")).logits
            expected = torch.nn.functional.cross_entropy(
                logits[:, :-1].flatten(0, 1).float(),
                batch["labels"][:, 1:].flatten(),
                reduction="none",
            ).view(len(ids), -1)
        for at, row in enumerate(rows):
            trained = row.trained
            trained[0] = False
            assert np.isfinite(row.losses[trained]).all()
            assert np.isnan(row.losses[~trained]).all()
            mine = expected[at].numpy()[trained[1:]]
            assert np.allclose(row.losses[trained], mine, rtol=1e-4)
        assert rows_of(dbg.tokens())[0].losses is None
        dbg.abort()


def test_a_hand_written_step_is_looked_at_too():
    collate = OwnCollator()
    batches = [collate([{"input_ids": [4, 5, 6]}, {"input_ids": [7, 8]}])]
    model = torch.nn.Embedding(64, 2)

    def step(batch):
        loss = model(batch["input_ids"]).sum() * float("nan")
        loss.backward()
        return loss

    with ftlab.debug(step, batches, model=model) as dbg:
        dbg.run()
        assert dbg.state == "paused"
        view = ftlab.tokens(dbg, vocabularies.byte_level())
        assert [row.ids.tolist() for row in rows_of(view)] == [[4, 5, 6], [7, 8, 0]]
        dbg.abort()
