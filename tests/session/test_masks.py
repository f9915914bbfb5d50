"""`ftlab.masks` says what a batch's tokens attend to, and stays quiet where it may."""

import copy
import random

import numpy as np
import pytest
import torch
from transformers import Trainer, TrainingArguments

import ftlab
from ftlab.records.errors import BadValueError
from tests.models import tiny_llama, update
from tests.probes.attention import tiny
from tests.probes.tokens import vocabularies

DOCUMENTS = (10, 6, 8)
POSITIONS = torch.cat([torch.arange(n) for n in DOCUMENTS])[None]
WRONG = 188 / 300
"""Pairs of 24 x 25 / 2 that lie between documents."""


def ids(rows=1, length=24):
    made = torch.Generator().manual_seed(1)
    return torch.randint(3, 60, (rows, length), generator=made)


def illegal(*given, **asked):
    return float(ftlab.masks(*given, **asked).table()["illegal"].max())


class Counted(torch.utils.data.Dataset):
    """Rows that depend on how many were given out."""

    def __init__(self):
        self.calls = 0

    def __len__(self):
        return 4

    def __getitem__(self, index):
        self.calls += 1
        row = torch.full((8,), 4 + self.calls)
        return {"input_ids": row, "labels": row.clone()}


def test_a_dataset_that_counts_is_left_as_it_was(tmp_path):
    rows = Counted()
    options = TrainingArguments(str(tmp_path), report_to=[], use_cpu=True)
    trainer = Trainer(tiny_llama(), options, train_dataset=rows)
    before = random.getstate()
    assert ftlab.masks(trainer).table() is not None
    assert rows.calls == 0
    assert random.getstate() == before


def test_rows_that_are_given_once_are_not_taken_from_the_training(tmp_path):
    rows = Counted()
    rows.source = iter(range(4))
    options = TrainingArguments(str(tmp_path), report_to=[], use_cpu=True)
    trainer = Trainer(tiny_llama(), options, train_dataset=rows)
    with pytest.raises(BadValueError, match=r"take rows away.*batch=\.\.\."):
        ftlab.masks(trainer)
    assert next(rows.source) == 0


def test_buffers_that_a_forward_writes_to_are_put_back():
    model = tiny_llama()

    def count(module, *_):
        module.seen += 1
        random.random()

    model.model.embed_tokens.register_buffer("seen", torch.zeros(()))
    model.model.embed_tokens.register_forward_hook(count)
    before = random.getstate()
    ftlab.masks(model, {"input_ids": ids()})
    assert model.model.embed_tokens.seen == 0
    assert random.getstate() == before


def test_ones_over_a_packed_row_let_documents_see_each_other():
    model = tiny.llama()
    ones = {"attention_mask": torch.ones(1, 24, dtype=torch.long)}
    packed = {"input_ids": ids(), "position_ids": POSITIONS, "use_cache": False}
    view = ftlab.masks(model, {**packed, **ones})
    assert view.table()["illegal"].iloc[0] == pytest.approx(WRONG)
    first = view.table().iloc[0]
    assert (first["fault"], first["query"], first["key"]) == (
        "sees another sample",
        10,
        0,
    )
    assert "tried: without attention_mask" in repr(view)
    assert illegal(model, packed) == 0


def test_a_cache_keeps_position_ids_from_telling_documents():
    model = tiny.llama().eval()
    packed = {"input_ids": ids(), "position_ids": POSITIONS}
    assert model.config.use_cache
    assert illegal(model, packed) == pytest.approx(WRONG)
    assert "tried: with use_cache=False" in repr(ftlab.masks(model, packed))


def test_documents_without_a_reset_are_told_by_their_bos():
    row = ids()
    row[0, [0, 10, 16]] = 1
    view = ftlab.masks(tiny.llama(), {"input_ids": row})
    assert view.table()["illegal"].iloc[0] == pytest.approx(WRONG)
    assert "position_ids that restart" in repr(view)


def test_left_padding_without_a_mask_is_seen():
    row = ids()
    row[0, :4] = 0
    view = ftlab.masks(tiny.llama(), {"input_ids": row})
    first = view.table().iloc[0]
    assert (first["fault"], first["query"], first["key"]) == ("sees padding", 4, 0)
    assert first["padding"] == 4


class Quiet:
    """Healthy batches that look like faults."""

    @staticmethod
    def left_padding():
        batch = {"input_ids": ids(2), "attention_mask": torch.ones(2, 24).long()}
        batch["input_ids"][0, :4] = batch["attention_mask"][0, :4] = 0
        return tiny.llama(), batch

    @staticmethod
    def right_padding_without_a_mask():
        batch = {"input_ids": ids(2)}
        batch["input_ids"][0, -4:] = 0
        batch["labels"] = batch["input_ids"].masked_fill(batch["input_ids"] == 0, -100)
        return tiny.llama(), batch

    @staticmethod
    def an_eos_after_each_turn():
        row = ids()
        row[0, [5, 11, 17]] = 2
        return tiny.llama(), {"input_ids": row}

    @staticmethod
    def a_sliding_window():
        return tiny.gemma(), {"input_ids": ids()}

    @staticmethod
    def chunks():
        return tiny.chunked(), {"input_ids": ids()}

    @staticmethod
    def both_ways():
        return tiny.bert(), {"input_ids": ids()}

    @staticmethod
    def an_encoder_and_a_decoder():
        labels = ids(length=6)
        labels[0, 4:] = -100
        return tiny.t5(), {"input_ids": ids(), "labels": labels}

    @staticmethod
    def a_prefix_both_ways():
        seen = torch.ones(24, 24).tril().bool()
        seen[:8, :8] = True
        labels = ids()
        labels[0, :8] = -100
        mask = seen[None, None]
        return tiny.llama(), {
            "input_ids": ids(),
            "attention_mask": mask,
            "labels": labels,
        }


@pytest.mark.parametrize("case", [n for n in vars(Quiet) if not n.startswith("_")])
def test_stays_quiet_on_what_is_healthy(case):
    model, batch = getattr(Quiet, case)()
    table = ftlab.masks(model, batch).table()
    assert (table["illegal"] == 0).all()
    assert (table["does not see what it should"] == 0).all()


@pytest.mark.parametrize("kind", ["prefix", "prompt"])
def test_virtual_tokens_in_front_are_no_fault(kind):
    import peft

    made = {"prefix": peft.PrefixTuningConfig, "prompt": peft.PromptTuningConfig}
    config = made[kind](task_type="CAUSAL_LM", num_virtual_tokens=4)
    batch = {"input_ids": ids(2), "attention_mask": torch.ones(2, 24).long()}
    batch["input_ids"][0, :4] = batch["attention_mask"][0, :4] = 0
    batch["labels"] = batch["input_ids"]
    view = ftlab.masks(peft.get_peft_model(tiny.llama(), config), batch)
    assert view.summary.keys == 28
    assert (view.table()["illegal"] == 0).all()
    assert (view.table()["does not see what it should"] == 0).all()


def test_a_trained_token_seen_early_is_a_fault():
    batch = {"input_ids": ids(), "labels": ids()}
    batch["attention_mask"] = torch.ones(1, 1, 24, 24).bool()
    table = ftlab.masks(tiny.llama(), batch).table()
    assert table["sees future tokens"].iloc[0] == pytest.approx(276 / 576)
    assert illegal(tiny.llama(), batch, causal=False) == 0


def test_a_bool_mask_hides_nothing_from_eager_attention():
    """Added to the scores as 0 and 1; the logits of earlier tokens prove it."""
    mask = torch.ones(24, 24).tril().bool()[None, None]
    batch = {"input_ids": ids(), "attention_mask": mask}
    for how, leaks in (("eager", True), ("sdpa", False)):
        model = tiny.llama(attn_implementation=how).eval()
        other = {**batch, "input_ids": batch["input_ids"].clone()}
        other["input_ids"][0, -1] = 3
        with torch.no_grad():
            moved = (model(**batch).logits != model(**other).logits)[0, 0].any()
        assert bool(moved) == leaks
        assert (illegal(model, batch) > 0) == leaks


def test_what_must_be_seen_and_is_not():
    """Position ids that jump make transformers take one document for two."""
    jump = torch.tensor([[*range(10), *range(12, 26)]])
    batch = {"input_ids": ids(), "position_ids": jump, "use_cache": False}
    table = ftlab.masks(tiny.llama(), batch).table()
    assert table["does not see what it should"].iloc[0] == pytest.approx(140 / 300)
    assert table["illegal"].iloc[0] == 0


def test_flash_attention_is_read_without_running_it():
    model = tiny.llama()
    packed = {"input_ids": ids(), "position_ids": POSITIONS}
    assert illegal(model, packed, implementation="flash_attention_2") == 0
    two = {name: each.expand(2, -1) for name, each in packed.items()}
    found = illegal(model, two, implementation="flash_attention_2")
    assert found == pytest.approx(WRONG)
    assert model.config._attn_implementation == "sdpa"


def test_a_configuration_is_enough():
    config = tiny.gemma().config
    table = ftlab.masks(batch={"input_ids": ids()}, config=config).table()
    assert set(table["kind"]) == {"sliding", "full"}
    assert (table["illegal"] == 0).all()


def test_blocks_in_a_mask_of_one_s_own_are_right():
    seen = torch.ones(24, 24).tril().bool()[None, None]
    seen[..., 10:, :10] = False
    table = ftlab.masks(
        tiny.llama(), {"input_ids": ids(), "attention_mask": seen}
    ).table()
    assert table["does not see what it should"].iloc[0] == 0
    assert table["illegal"].iloc[0] == 0


def test_a_mask_of_floats_hides_what_is_zero():
    mask = torch.ones(1, 24)
    mask[0, 20:] = 0
    given = {"input_ids": ids(), "attention_mask": mask}
    one, other = (
        ftlab.masks(tiny.llama(), given | {"attention_mask": each}).table()
        for each in (mask, mask.long())
    )
    assert one.equals(other)
    assert one["does not see what it should"].iloc[0] == 0


def test_turns_that_end_with_eos_are_no_documents():
    chat = vocabularies.byte_level()
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    rows = chat.apply_chat_template(talk * 2, return_dict=True)["input_ids"]
    batch = {"input_ids": torch.tensor([rows])}
    model = tiny_llama(vocab_size=len(chat))
    assert "row 0: 1 document\n" in repr(ftlab.masks(model, batch, tokenizer=chat))
    plain = copy.deepcopy(chat)
    plain.chat_template = None
    assert "may be 5 documents" in repr(ftlab.masks(model, batch, tokenizer=plain))


def test_a_bare_table_of_ids_is_a_batch():
    assert illegal(tiny.llama(), ids()) == 0


@pytest.mark.parametrize("given", [(), (3,), (tiny.llama,), ("model",)])
def test_says_what_to_pass(given):
    with pytest.raises(BadValueError, match="pass a model and a batch"):
        ftlab.masks(*given)


def test_hooks_of_a_watch_do_not_hear_the_forward(tmp_path):
    model = tiny.llama()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = {"input_ids": ids(), "labels": ids()}

    def columns(folder, look):
        torch.manual_seed(0)
        with ftlab.watch(model, optimizer, run_dir=folder) as watch:
            for _ in range(3):
                if look:
                    ftlab.masks(model, batch)
                update(model(**batch).loss, optimizer)
            kinds = [each.kind for each in watch.run.events if each.kind != "time"]
            return kinds, watch.run.last_step

    state = {name: each.clone() for name, each in model.state_dict().items()}
    bare = columns(tmp_path / "bare", False)
    weights = {name: each.clone() for name, each in model.state_dict().items()}
    model.load_state_dict(state)
    assert columns(tmp_path / "looked", True) == bare
    for name, each in model.state_dict().items():
        np.testing.assert_array_equal(each, weights[name])


def trainer_of(folder, **settings):
    from transformers import DataCollatorWithFlattening, Trainer, TrainingArguments

    rows = [{"input_ids": ids(length=n)[0].tolist()} for n in (4, 6, 5, 7)]
    rows = [{**row, "labels": row["input_ids"]} for row in rows]
    args = TrainingArguments(
        folder,
        per_device_train_batch_size=2,
        max_steps=3,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        seed=0,
    )
    torch.manual_seed(0)
    model = tiny.llama(use_cache=False)
    collator = DataCollatorWithFlattening()
    return Trainer(model, args, train_dataset=rows, data_collator=collator, **settings)


def test_a_trainer_gives_its_first_batch_and_trains_as_before(tmp_path):
    bare, looked = (trainer_of(str(tmp_path / name)) for name in ("bare", "looked"))
    looked.model.eval()
    state = torch.get_rng_state()
    view = ftlab.masks(looked)
    assert torch.equal(torch.get_rng_state(), state)
    assert not looked.model.training
    assert not looked.accelerator._dataloaders
    assert view.summary.documents[0].count == 2
    assert (view.table()["illegal"] == 0).all()
    for trainer in (bare, looked):
        torch.set_rng_state(state)
        trainer.train()
    for one, other in zip(
        bare.model.parameters(), looked.model.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_a_trainer_with_a_mask_of_ones_is_seen(tmp_path):
    trainer = trainer_of(str(tmp_path))
    flatten = trainer.data_collator
    trainer.data_collator = lambda rows: {
        **(batch := flatten(rows)),
        "attention_mask": torch.ones_like(batch["input_ids"]),
    }
    assert illegal(trainer) > 0.4


def test_a_paused_step_is_looked_at(tmp_path):
    trainer = trainer_of(str(tmp_path))
    with torch.no_grad():
        trainer.model.model.layers[1].mlp.gate_proj.weight[0, 0] = float("nan")
    with ftlab.debug(trainer) as debugger:
        report = repr(debugger.run())
        view = ftlab.masks(debugger)
        assert view.summary.documents[0].count == 2
        assert (view.table()["illegal"] == 0).all()
        assert (debugger.state, repr(debugger.where)) == ("paused", report)


def test_autocast_and_its_cache_are_left_as_they_are():
    """Leaving the outermost autocast empties the cache of every thread."""
    model = tiny.llama()
    with torch.autocast("cpu", torch.bfloat16):
        assert illegal(model, {"input_ids": ids()}) == 0
        assert torch.is_autocast_cache_enabled()
        assert torch.autocast_increment_nesting() == 2
        torch.autocast_decrement_nesting()


def masked(*shape):
    mask = torch.ones(shape, dtype=torch.long)
    return {"input_ids": torch.ones(1, 4).long(), "attention_mask": mask}


@pytest.mark.parametrize(
    ("batch", "asked", "said"),
    [
        ({"input_ids": torch.rand(1, 3)}, {}, "could not be called.*RuntimeError"),
        ({"input_ids": torch.zeros(1, 0, dtype=torch.long)}, {}, "could not be called"),
        ({"input_ids": [[5, 6], [7]]}, {}, r"no table of numbers.*collator\(rows\)"),
        ({"input_ids": [[5, 6]]}, {"implementation": "fast"}, "'fast'.*eager, flash"),
        ({"input_ids": torch.ones(3).long()}, {}, r"\(3,\).*ids\[None\]"),
        (masked(1, 4, 4), {}, r"\(1, 4, 4\).*custom mask"),
        (masked(1, 1, 2, 4), {}, r"\(1, 1, 2, 4\).*must be \(1, 4\)"),
        (masked(1, 5), {}, r"\(1, 5\).*must be \(1, 4\)"),
        (masked(1, 1, 4, 4), {}, r"int64.*mask.bool"),
        ((torch.ones(1, 4),), {}, "a tuple; it must be a mapping"),
        (ids(), {"causal": "x"}, "causal='x'; allowed"),
        (ids(), {"max_length": -5}, "max_length=-5; pass"),
        (ids(), {"max_length": "x"}, "max_length='x'; pass"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(batch, asked, said):
    with pytest.raises(BadValueError, match=said):
        ftlab.masks(tiny_llama(), batch, **asked)


def test_a_configuration_is_no_name():
    with pytest.raises(BadValueError, match=r"config is a str.*model.config"):
        ftlab.masks(batch={"input_ids": ids()}, config="llama")
