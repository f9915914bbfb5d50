"""`ftlab.prove` as a user calls it: what it answers, and that it changes nothing."""

import copy
import re

import pytest
import torch

import ftlab
from ftlab.experiments.registry import all_experiments
from ftlab.experiments.row_order import RowOrder
from ftlab.records.errors import BadValueError, UnknownNameError
from tests.experiments.set_ups import after, around, llama, lora, padded, trainable
from tests.models import Rows
from tests.session.preflight.test_unchanged import _traces, everything, nothing
from tests.session.scenarios import (
    LOOPS,
    TRAINERS,
    feed,
    seed,
    sft_trainer,
    state_of,
    trainer,
)


def proved(loop, **more):
    return ftlab.prove(loop.model, optimizer=loop.optimizer, batch=feed()[3], **more)


def hooks(model):
    return [
        [len(held) for name, held in vars(module).items() if name.endswith("_hooks")]
        for module in model.modules()
    ]


def train(name, check):
    """Two steps, what ``check`` does, and four steps more."""
    seed()
    loop = LOOPS[name]()
    seed()
    losses = [loop.step(batch).item() for batch in feed()[:2]]
    before = everything(loop.model, loop.optimizer, losses), hooks(loop.model)
    check(loop)
    assert before == (everything(loop.model, loop.optimizer, losses), hooks(loop.model))
    losses += [loop.step(batch).item() for batch in feed()[2:]]
    return everything(loop.model, loop.optimizer, losses)


def unbroken(loop):
    proof = proved(loop)
    assert proof.ok, proof
    assert proof["deterministic"].state == "holds"


QUICK = ("checkpointing",)


@pytest.mark.parametrize(
    "name",
    [
        n if n in QUICK else pytest.param(n, marks=pytest.mark.slow)
        for n in LOOPS
        if n not in ("four_bit", "parametrized")
    ],
)
def test_a_loop_is_healthy_and_goes_on_bit_equal(name):
    assert train(name, unbroken) == train(name, nothing)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four_bit", "parametrized"])
def test_a_loop_with_weights_of_another_kind_goes_on_bit_equal(name):
    assert train(name, proved) == train(name, nothing)


def _trained(make, check):
    seed()
    each = make()
    seed()
    before = _traces(each), hooks(each.model)
    if check:
        proof = ftlab.prove(each)
        assert proof.ok, proof
        assert proof["resumed"].state == "holds"
        assert (_traces(each), hooks(each.model)) == before
    each.train()
    losses = [entry["loss"] for entry in each.state.log_history if "loss" in entry]
    return state_of(each.model, each.optimizer, losses)


@pytest.mark.parametrize(
    "name",
    [
        n if n == "accumulation" else pytest.param(n, marks=pytest.mark.slow)
        for n in TRAINERS
    ],
)
def test_a_trainer_is_healthy_and_trains_bit_equal(name):
    def make():
        return trainer(**TRAINERS[name])

    assert _trained(make, True) == _trained(make, False)


@pytest.mark.slow
def test_a_trl_trainer_is_healthy_and_trains_bit_equal():
    assert _trained(sft_trainer, True) == _trained(sft_trainer, False)


def test_an_optimizer_without_state_has_none_afterwards():
    model = lora()
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-3)
    proof = ftlab.prove(model, optimizer=optimizer, batch=padded(), only="update-rule")
    assert proof[0].state == "holds"
    assert not optimizer.state
    assert all(p.grad is None for p in model.parameters())


def test_a_dataset_that_counts_and_a_batch_stay_as_they_are():
    class Counts(Rows):
        reads = 0

        def __getitem__(self, index):
            self.reads += 1
            return super().__getitem__(index)

    each = trainer()
    each.train_dataset = Counts(8)
    ftlab.prove(each, only="reported-loss")
    assert each.train_dataset.reads == 0
    batch = padded()
    before = copy.deepcopy(batch)
    ftlab.prove(llama(), batch=batch, only=["row-alone", "label-influence"])
    assert all(torch.equal(batch[name], before[name]) for name in before)


def spoiling(error):
    """Return an experiment's run that writes everywhere and then raises."""

    def run(self, live):
        live.model.train()
        for parameter in live.model.parameters():
            parameter.data.add_(1)
            if parameter.requires_grad:
                parameter.grad = torch.ones_like(parameter)
        for each in live.optimizers:
            each.step()
        torch.rand(3)
        raise error

    return run


def test_what_raises_is_told_and_undone(monkeypatch):
    monkeypatch.setattr(RowOrder, "run", spoiling(ValueError("odd\nvery odd")))

    def check(loop):
        outcome, after_it = proved(loop, only=["row-order", "deterministic"])
        assert outcome.state == "cannot be decided"
        assert outcome.says.startswith("it raised ValueError: ")
        assert "very odd" not in outcome.says
        assert after_it.state == "holds"

    assert train("dropout", check) == train("dropout", nothing)


def test_an_interrupt_keeps_what_is_known_and_undoes_the_rest(monkeypatch):
    monkeypatch.setattr(RowOrder, "run", spoiling(KeyboardInterrupt()))

    def check(loop):
        proof = proved(loop, only=["reported-loss", "row-order", "deterministic"])
        assert [each.state for each in proof] == ["holds", *["cannot be decided"] * 2]
        assert proof["row-order"].says == "interrupted before it was tried"

    assert train("dropout", check) == train("dropout", nothing)


def test_a_fault_is_found_among_all_experiments():
    model = around(llama(), "model.layers.1.mlp", after(lambda h: h - h.mean(1, True)))
    proof = ftlab.prove(model, batch=padded(lengths=(12, 9)))
    assert not proof.ok
    broken = {each.name for each in proof.broken}
    assert {"row-alone", "label-influence"} <= broken
    assert {finding.name for finding in proof.findings} == broken


def test_experiments_are_chosen_by_name_or_code():
    model, batch = llama(), padded()
    proof = ftlab.prove(model, batch=batch, only=["EXP006", "reported-loss"])
    assert [each.name for each in proof] == ["label-influence", "reported-loss"]
    assert [each.code for each in ftlab.prove(model, batch=batch, only="EXP005")] == [
        "EXP005"
    ]
    names = [each.name for each in all_experiments() if each.default]
    linear = ftlab.prove(torch.nn.Linear(2, 1), batch={"input": torch.ones(3, 2)})
    assert [each.name for each in linear] == names
    assert linear.ok


def test_batches_come_from_a_list_or_a_loader_that_stays_where_it_is():
    generator = torch.Generator().manual_seed(0)
    rows = Rows(8)
    loader = torch.utils.data.DataLoader(
        rows, batch_size=2, shuffle=True, generator=generator
    )
    before = generator.get_state()
    for batches in (loader, [padded()]):
        proof = ftlab.prove(model=llama(), batches=batches, only="reported-loss")
        assert proof[0].state == "holds"
    assert torch.equal(generator.get_state(), before)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"target": {}},
            r"was given a dict; pass a trainer, or prove\(model=model, optimizer=",
        ),
        ({"target": llama()}, r"prove\(\) has no batch; pass one .* batch=next\("),
        (
            {"target": llama(), "batch": {}, "batches": []},
            r"was given batch= and batches=; pass the one",
        ),
        (
            {"target": llama(), "batches": iter([padded()])},
            r"batches is a list_iterator, which prove would exhaust; pass the DataLo",
        ),
        ({"target": llama(), "batches": []}, r"there is no batch: .* Pass batch=,"),
        (
            {"target": llama(), "batch": torch.ones(2)},
            r"batch is a Tensor; it must be a dictionary",
        ),
        (
            {"target": llama(), "batch": padded(), "only": "row-alon"},
            r"only='row-alon': there is no such experiment. There are row-alone \(EXP0",
        ),
        (
            {"target": llama(), "batch": {"input": torch.ones(2)}},
            r"LlamaForCausalLM cannot be called with the batch \(.*Pass what it is cal",
        ),
    ],
)
def test_what_cannot_be_proved_is_refused_with_a_way_out(given, words):
    with pytest.raises(BadValueError, match=words):
        ftlab.prove(**given)


def test_where_two_executions_part_is_shown():
    proof = ftlab.prove(llama(), batch=padded(), only=["row-alone", "reported-loss"])
    assert "row 2 alone" in repr(proof.diff("row-alone"))
    with pytest.raises(UnknownNameError, match="reported-loss compares no modules"):
        proof.diff("reported-loss")


def watched(loop, prove):
    """Records of six steps, with a proof after the third or without."""
    watch = ftlab.watch(loop.model, loop.optimizer, interval=1, budget=None)
    for at, batch in enumerate(feed()[:6]):
        loop.step(batch)
        if prove and at == 2:
            assert proved(loop).ok
    watch.detach()
    steps = watch.run.steps
    measured = re.compile("rss|.*_bytes|cpu_wait|time|.*second")
    names = [name for name in steps.columns if not measured.match(name)]
    told = {name: steps[name].tolist() for name in names}
    events = [
        each.message
        for each in watch.run.events
        if each.kind not in ("finding", "time")
    ]
    return told, [(row.step, row.op) for row in watch.run.ledger], events


def test_a_watch_hears_nothing_of_a_proof():
    loops = []
    for prove in (False, True):
        seed()
        loops.append(watched(LOOPS["full_fine_tuning"](), prove))
    assert repr(loops[0]) == repr(loops[1])


def test_a_watched_run_has_the_findings_and_what_follows_from_them():
    case = ftlab.faults.load("labels-not-shifted").build(fixed=False)

    def loss(model, batch):
        logits = model(input_ids=batch["input_ids"]).logits
        labels = batch["labels"].reshape(-1)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels)

    with ftlab.watch(case.model, case.optimizer) as watch:
        case.run(6)
        alone = {each.code: each for each in watch.findings}
        proof = ftlab.prove(
            case.model, loss=loss, batch=case.batches[0], only="reported-loss"
        )
        found = {each.code: each for each in watch.findings}
    assert alone["NUM014"].follows == ""
    assert found["EXP005"].message == proof["reported-loss"].says
    assert found["EXP005"].first_step == 5
    assert found["NUM014"].follows == "EXP005"
