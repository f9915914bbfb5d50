"""Prompts answered while a model is trained: what is kept, and what stays the same."""

import contextlib
import copy
from pathlib import Path
from typing import Any

import accelerate
import peft
import pytest
import torch
import transformers
from accelerate.state import AcceleratorState

import ftlab
from ftlab.faults.builders.blocks import four_bit
from ftlab.faults.builders.chats import sized, tokenizer
from ftlab.faults.builders.tiny import trainable
from ftlab.probes.behaviour.answers import pieces, repetition
from ftlab.records.errors import BadValueError
from tests.models import update

PROMPT = "where do boats carry bread"
CHAT = [
    {"role": "user", "content": PROMPT},
    {"role": "assistant", "content": "to towns that never sleep"},
]


def adapted(model: Any = None) -> Any:
    torch.manual_seed(0)
    model = sized(tokenizer()) if model is None else model
    config = peft.LoraConfig(
        r=8, lora_dropout=0.1, target_modules="all-linear", modules_to_save=["lm_head"]
    )
    return peft.get_peft_model(model, config)


def rows(words: Any) -> dict[str, torch.Tensor]:
    text = words.apply_chat_template(CHAT, tokenize=False)
    given = words([text], return_tensors="pt", add_special_tokens=False)
    return {**given, "labels": given["input_ids"].clone()}


def trained(model: Any, words: Any, steps: int, **asked: Any) -> Any:
    """Train with dropout, and return the watch, the losses and a random number."""
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    torch.manual_seed(1)
    losses = []
    with ftlab.watch(model, optimizer, tokenizer=words, **asked) as watch:
        for _ in range(steps):
            loss = model(**rows(words)).loss
            update(loss, optimizer)
            losses.append(loss.item())
    return watch, losses, torch.rand(1)


def test_what_is_learned_is_said_with_the_adapter_alone() -> None:
    words = tokenizer()
    watch, _, _ = trained(
        adapted(), words, 61, prompts=[CHAT[:1]], prompt_interval=20, budget=None
    )
    table = watch.samples.table()
    assert table.step.tolist() == [0, 20, 40, 60]
    last = table.iloc[-1]
    assert "to towns that never sleep" in last.text
    assert last.ended
    assert last.prompt == PROMPT
    assert "to towns that never sleep" not in last.plain
    assert last.parted >= 0
    assert table.plain.nunique() == 1
    assert "all ended by themselves" in repr(watch.samples)


def test_divergence_and_end_are_those_of_plain_forwards() -> None:
    words = tokenizer()
    model = adapted()
    asked = {"prompts": [CHAT[:1]], "prompt_interval": 20, "budget": None}
    trained(model, words, 20, **asked)
    optimizer = torch.optim.SGD(trainable(model), lr=1e-6)
    with ftlab.watch(model, optimizer, tokenizer=words, **asked) as watch:
        model(**rows(words)).loss.backward()
        optimizer.step()
    (event,) = [each for each in watch.run.events if each.kind == "answers"]
    (answer,) = event.detail["answers"]
    given = words.apply_chat_template(CHAT[:1], add_generation_prompt=True)
    given = given if isinstance(given, list) else given["input_ids"]
    ids = torch.tensor([[*given, *answer["tokens"]]])
    model.eval()
    with torch.no_grad(), model.disable_adapter():
        base = model(input_ids=ids).logits[0, len(given) - 1 : -1].softmax(-1)
    with torch.no_grad():
        on = model(input_ids=ids).logits[0, len(given) - 1 : -1].softmax(-1)
    nats = torch.nn.functional.kl_div(base.log(), on, reduction="none").sum(-1)
    assert answer["nats"] == pytest.approx(nats.tolist(), rel=1e-3, abs=1e-5)
    assert max(answer["nats"]) > 0.1
    end = model.generation_config.eos_token_id
    assert answer["end"] == pytest.approx(float(on[:, end].max()), rel=1e-4)
    assert "".join(answer["pieces"]).split() == answer["text"].split()
    (said,) = watch.samples.summary
    assert said.nats == pytest.approx(float(nats.mean()), rel=1e-3)
    assert "furthest from the model without it at" in repr(watch.samples)
    assert "1 prompt at 1 step" in watch.dashboard.details.lines()["samples"]


@pytest.mark.parametrize("base", ["float32", "4bit"])
def test_training_is_bit_equal(base: str) -> None:
    words = tokenizer()
    ends = []
    for asked in ({}, {"prompts": [PROMPT], "prompt_interval": 3, "budget": None}):
        plain = sized(words)
        model = adapted(four_bit(plain) if base == "4bit" else plain)
        modes = [module.training for module in model.modules()]
        config = copy.deepcopy(vars(model.generation_config))
        watch, losses, drawn = trained(model, words, 7, **asked)
        assert modes == [module.training for module in model.modules()]
        assert vars(model.generation_config) == config
        weights = {n: p.detach().clone() for n, p in model.named_parameters()}
        ends.append((losses, drawn, weights, [r.op for r in watch.run.ledger]))
    assert ends[0][0] == ends[1][0]
    assert torch.equal(ends[0][1], ends[1][1])
    assert all(torch.equal(p, ends[1][2][n]) for n, p in ends[0][2].items())
    assert ends[0][3] == ends[1][3]


def test_a_trainer_is_asked_with_its_own_tokenizer(tmp_path: Path) -> None:
    words = tokenizer()
    ends = []
    for prompts in ([], [PROMPT, CHAT[:1]]):
        model = adapted()
        args = transformers.TrainingArguments(
            tmp_path / str(len(prompts)), max_steps=5, use_cpu=True, report_to=[],
            per_device_train_batch_size=1, disable_tqdm=True, save_strategy="no",
        )  # fmt: skip
        data = [{k: v[0] for k, v in rows(words).items()}] * 8
        trainer = transformers.Trainer(
            model, args, train_dataset=data, processing_class=words
        )
        watch = ftlab.watch(
            trainer,
            prompts=prompts,
            prompt_interval=4,
            budget=None,
            run_dir=tmp_path / f"run{len(prompts)}",
        )
        trainer.train()
        watch.detach()
        ends.append({n: p.detach().clone() for n, p in model.named_parameters()})
    assert all(torch.equal(p, ends[1][n]) for n, p in ends[0].items())
    assert watch.samples.table().step.tolist() == [0, 0, 4, 4]
    again = ftlab.open_run(tmp_path / "run2").samples
    names = ["step", "prompt", "tokens", "ended", "repetition", "parted"]
    assert again.table()[names].equals(watch.samples.table()[names])
    assert len(again.figure().axes) == 3


def test_the_budget_makes_them_rarer_and_their_cost_is_told() -> None:
    words = tokenizer()
    asked = {"prompts": [PROMPT] * 4, "prompt_interval": 1}
    watch, _, _ = trained(adapted(), words, 40, **asked)
    steps = watch.samples.table().step.unique()
    assert 1 <= len(steps) < 20
    assert watch.run.meta["measured"]["answers"]["ms"] > 0


def test_the_repetition_of_what_is_trained_is_kept() -> None:
    words = tokenizer()
    model = adapted()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    labels = torch.tensor([[-100, -100] + [7] * 12, [-100] * 6 + list(range(20, 28))])
    asked = {"prompts": [PROMPT], "tokenizer": words, "budget": None}
    with ftlab.watch(model, optimizer, **asked) as watch:
        model(input_ids=labels.clamp(min=1), labels=labels).loss.backward()
        optimizer.step()
    (event,) = [each for each in watch.run.events if each.kind == "answers"]
    assert event.detail["trained"] == pytest.approx((8 / 9 + 0) / 2)


def test_a_base_that_is_trained_too_is_asked_again() -> None:
    words = tokenizer()
    model = adapted()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("original_module" not in name)
    asked = {"prompts": [CHAT[:1]], "prompt_interval": 20, "budget": None}
    watch, _, _ = trained(model, words, 41, **asked)
    assert watch.samples.table().plain.nunique() > 1


def test_two_optimizers_make_one_step() -> None:
    words = tokenizer()
    model = adapted()
    weights = trainable(model)
    pair = [torch.optim.SGD(part, 0.1) for part in (weights[:3], weights[3:])]
    asked = {"prompts": [PROMPT], "tokenizer": words, "budget": None}
    with ftlab.watch(model, pair, prompt_interval=1, **asked) as watch:
        for _ in range(2):
            model(**rows(words)).loss.backward()
            for each in pair:
                each.step()
                each.zero_grad()
    assert watch.samples.table().step.tolist() == [0, 1]


def test_a_full_fine_tune_has_no_answers_without_its_adapter() -> None:
    words = tokenizer()
    torch.manual_seed(0)
    watch, _, _ = trained(sized(words), words, 2, prompts=[PROMPT], budget=None)
    table = watch.samples.table()
    assert table.parted.tolist() == [-2]
    assert table.nats.isna().all()
    assert watch.samples.figure().axes


def test_what_repeats_itself_is_told() -> None:
    assert repetition([1, 2, 3, 4] * 3) == pytest.approx(5 / 9)
    assert repetition([1, 2]) == 0


def test_a_prompt_that_cannot_be_asked_leaves_the_others_be() -> None:
    words = tokenizer()
    words.chat_template = None
    model = adapted()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    prompts = [CHAT[:1], PROMPT, ""]
    asked = {"tokenizer": words, "budget": None, "prompt_interval": 1}
    batch = rows(tokenizer())
    with ftlab.watch(model, optimizer, prompts=prompts, **asked) as watch:
        for _ in range(3):
            model(**batch).loss.backward()
            optimizer.step()
    assert watch.samples.table().prompt.tolist() == [PROMPT] * 3
    said = [line for line in repr(watch.samples).splitlines() if "not ans" in line]
    assert len(said) == 1
    assert "prompt 2 has no token; begin it with one, as BOS is" in said[0]
    with ftlab.watch(model, optimizer, prompts=prompts[:1], **asked) as watch:
        model(**batch).loss.backward()
        optimizer.step()
    assert "prompt 0: ValueError: Cannot use chat template" in repr(watch.samples)


def test_a_model_that_fails_to_answer_says_why_and_is_trained_on() -> None:
    words = tokenizer()
    model = adapted()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    asked = {"tokenizer": words, "budget": None, "prompt_interval": 1}
    base = model.base_model.model
    base.generate = lambda **_: (_ for _ in ()).throw(RuntimeError("not today"))
    with ftlab.watch(model, optimizer, prompts=[PROMPT], **asked) as watch:
        for _ in range(3):
            model(**rows(words)).loss.backward()
            optimizer.step()
    assert "are not answered: RuntimeError: not today" in repr(watch.samples)
    assert len(watch.run.steps) == 3
    assert model.training


def test_pieces_keep_their_spaces() -> None:
    words = tokenizer()
    ids = words("to towns that never sleep")["input_ids"]
    assert "".join(pieces(words, ids)) == words.decode(ids)
    assert " towns" in pieces(words, ids)


def test_a_model_that_does_not_generate_is_noted_once() -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    asked = {"prompts": [PROMPT], "tokenizer": tokenizer(), "budget": None}
    with ftlab.watch(model, optimizer, prompt_interval=1, **asked) as watch:
        for _ in range(3):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    notes = [e.message for e in watch.run.events if e.kind == "note"]
    assert [note for note in notes if "has no generate()" in note] == [
        "prompts are not answered: Linear has no generate()"
    ]
    assert "no prompt was answered" in repr(watch.samples)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"prompts": "hello"}, "is one text"),
        ({"prompts": ["hello"]}, "needs a tokenizer"),
        ({"prompts": ["hello"], "prompt_interval": 0}, "0"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked: Any, words: str) -> None:
    model = torch.nn.Linear(2, 1)
    with pytest.raises(BadValueError, match=words):
        ftlab.watch(model, **asked)


@pytest.mark.parametrize("when", ["while", "before"])
def test_training_in_mixed_precision_is_bit_equal(when: str) -> None:
    words = tokenizer()
    ends = []
    for asks in (False, True):
        AcceleratorState._reset_state(reset_partial_state=True)
        accelerator = accelerate.Accelerator(mixed_precision="bf16", cpu=True)
        model = adapted()
        optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
        model, optimizer = accelerator.prepare(model, optimizer)
        torch.manual_seed(1)
        asked = {"prompts": [PROMPT], "prompt_interval": 1, "budget": None}
        if asks and when == "before":
            ftlab.masks(model, rows(words))
        watched = asks and when == "while"
        losses = []
        with (
            ftlab.watch(model, optimizer, tokenizer=words, **asked)
            if watched
            else contextlib.nullcontext()
        ):
            for _ in range(4):
                loss = model(**rows(words)).loss
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
        ends.append(losses)
        AcceleratorState._reset_state(reset_partial_state=True)
    assert ends[0] == ends[1]
    assert len(set(ends[0])) == 4
