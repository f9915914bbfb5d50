import math

import pytest
import torch
from torch.nn import functional

from ftlab.faults.builders import tiny
from ftlab.faults.builders.zoo import t5
from ftlab.probes.loss.loss_inputs import LossInputs
from ftlab.records.step import Block
from tests.models import batches, tiny_lora
from tests.probes.recording import Recording


def measured(loss_of, model=None, batch=None):
    """Columns and meta of the first term at step 0."""
    model = tiny_lora() if model is None else model
    batch = next(batches(1)) if batch is None else batch
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=0.0)
    with Recording(model, optimizer, probes=[LossInputs()]) as recording:
        loss_of(model, batch).backward()
        optimizer.step()
    blocks = [each for each in recording.records if isinstance(each, Block)]
    names = [each for each in recording.names.values() if each.table == "losses"]
    if not blocks:
        return {}, {}
    columns = {name: float(values[0]) for name, values in blocks[0].values.items()}
    return columns, dict(names[0].meta)


def logits_of(model, batch):
    return model(input_ids=batch["input_ids"]).logits


def offsets(columns):
    names = ("before", "same", "next", "after")
    return [columns[f"label_{name}"] for name in names]


def unshifted(model, batch):
    logits = logits_of(model, batch)
    return functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())


def late(model, batch):
    logits, labels = logits_of(model, batch)[:, 1:], batch["labels"][:, :-1]
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def by_class_first(model, batch):
    logits, labels = logits_of(model, batch)[:, :-1], batch["labels"][:, 1:]
    return functional.cross_entropy(logits.transpose(1, 2), labels)


@pytest.mark.parametrize(
    ("loss_of", "shares"),
    [
        (lambda model, batch: model(**batch).loss, [0, 0, 1, 0]),
        (by_class_first, [0, 0, 1, 0]),
        (unshifted, [0, 1, 0, 0]),
        (late, [1, 0, 0, 0]),
    ],
)
def test_labels_are_compared_with_the_tokens_around(loss_of, shares):
    columns, meta = measured(loss_of)
    assert offsets(columns) == shares
    assert meta["causal"] is True


@pytest.mark.parametrize(("by", "shares"), [(0, [0, 1, 0, 0]), (1, [0, 0, 1, 0])])
def test_a_decoder_s_labels_are_compared_with_what_it_reads(by, shares):
    batch = next(batches(1))
    ids = batch["labels"].roll(by, 1)
    given = {"input_ids": batch["labels"].flip(1), "decoder_input_ids": ids}
    batch = given | {"labels": batch["labels"]}
    columns, _ = measured(lambda model, batch: model(**batch).loss, t5(), batch)
    assert [round(each, 1) for each in offsets(columns)] == shares


def test_a_decoder_that_makes_its_inputs_is_not_compared():
    columns, _ = measured(lambda model, batch: model(**batch).loss, t5())
    assert all(math.isnan(each) for each in offsets(columns))


def test_labels_that_do_not_count_are_left_out():
    batch = next(batches(1))
    batch["labels"][:, 3:] = -100
    columns, _ = measured(lambda model, batch: model(**batch).loss, batch=batch)
    assert offsets(columns) == [0, 0, 1, 0]


def test_picked_positions_are_not_compared():
    def some(model, batch):
        picked = batch["labels"] % 2 == 0
        return functional.cross_entropy(
            logits_of(model, batch)[picked], batch["labels"][picked]
        )

    columns, _ = measured(some)
    assert all(math.isnan(each) for each in offsets(columns))
    assert columns["token_loss"] > 0


def test_the_sample_s_loss_and_entropy_are_those_of_the_loss():
    losses = []

    def scaled(model, batch):
        logits = logits_of(model, batch)
        losses.extend(tiny.token_loss(x, batch).item() for x in (logits * 9, logits))
        return tiny.token_loss(logits * 9, batch)

    batch = next(batches(1, size=2, length=9))
    columns, meta = measured(scaled, batch=batch)
    assert columns["token_loss"] == pytest.approx(losses[0], rel=1e-4)
    assert columns["plain_loss"] == pytest.approx(losses[1], rel=1e-4)
    assert columns["log_total"] < 1e-4
    assert (meta["factor"], meta["factor_op"]) == (9.0, "mul")
    assert str(meta["head"]).endswith("lm_head")


def test_the_loss_of_the_inputs_is_measured_beside_that_of_the_labels():
    batch = next(batches(1, size=2, length=9))
    columns, _ = measured(lambda model, batch: model(**batch).loss, batch=batch)
    assert columns["input_loss"] == columns["token_loss"]
    other = batch | {"labels": batch["labels"].flip(1)}
    foreign, _ = measured(lambda model, batch: model(**batch).loss, batch=other)
    assert foreign["input_loss"] == columns["input_loss"]
    assert foreign["token_loss"] != columns["token_loss"]


def test_a_likelihood_of_scores_is_far_from_one():
    def likelihood(model, batch):
        logits, labels = logits_of(model, batch)[:, :-1], batch["labels"][:, 1:]
        return functional.nll_loss(logits.transpose(1, 2), labels)

    columns, meta = measured(likelihood)
    assert columns["log_total"] > 4
    assert meta["normalised"] is False


def test_without_a_cross_entropy_nothing_is_measured():
    assert measured(lambda m, b: logits_of(m, b).square().mean()) == ({}, {})


def test_nothing_stays_alive_and_gradients_are_the_same():
    def gradients(probes):
        model, batch = tiny_lora(), next(batches(1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with Recording(model, optimizer, probes=probes):
            model(**batch).loss.backward()
            optimizer.step()
            held = [each for probe in probes for each in vars(probe).values()]
            assert not any(isinstance(each, torch.Tensor) for each in held[1:])
        return [p.grad for p in model.parameters() if p.grad is not None]

    plain, watched = gradients([]), gradients([LossInputs()])
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))


def heads_of(dtype=torch.float32):
    model, batch = tiny.llama(), next(batches(1))
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype is torch.bfloat16):
        return measured(lambda m, b: m(**b).loss, model, batch)[1]["head"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_head_is_named_also_under_autocast(dtype):
    assert heads_of(dtype) == "lm_head"


def test_scores_that_two_outputs_make_have_no_head():
    model = torch.nn.Sequential(torch.nn.Linear(6, 4, bias=False))

    def similar(model, batch):
        one, other = model(batch["x"]), model(batch["x"].flip(0))
        return functional.cross_entropy(one @ other.T / 0.01, torch.arange(4))

    _, meta = measured(similar, model, {"x": torch.rand(4, 6)})
    assert meta["factor"] == pytest.approx(100)
    assert meta["head"] == ""


def of_a_pair(made):
    model = torch.nn.Sequential(torch.nn.Linear(6, 4, bias=False))

    def similar(model, batch):
        one, other = made(model(batch["x"])), made(model(batch["x"].flip(0)))
        return functional.cross_entropy((one @ other.T * 0.07).T, torch.arange(4))

    return measured(similar, model, {"x": torch.rand(4, 6)})[0]["off_unit"]


def test_the_lengths_of_vectors_whose_products_are_scores_are_measured():
    assert of_a_pair(lambda x: functional.normalize(x, dim=-1)) < 1e-6
    assert of_a_pair(lambda x: 3 * functional.normalize(x, dim=-1)) == pytest.approx(2)


def test_labels_whose_class_weighs_nothing_are_counted():
    labels = torch.tensor([0, 1, 2, 2, -100])
    weight = torch.tensor([1.0, 0.0, 2.0])

    def weighed(model, batch):
        return functional.cross_entropy(model(batch["x"]), labels, weight=weight)

    model = torch.nn.Sequential(torch.nn.Linear(6, 3))
    columns, _ = measured(weighed, model, {"x": torch.rand(5, 6)})
    assert columns["weightless"] == 0.25


@pytest.mark.parametrize("dimension", [-1, 1])
def test_the_sums_of_what_a_divergence_compares_with_are_measured(dimension):
    wanted = torch.rand(2, 3, 5).softmax(dimension)

    def off(target):
        def apart(model, batch):
            made = model(batch["x"]).log_softmax(dimension)
            return functional.kl_div(made, target, reduction="sum")

        model = torch.nn.Sequential(torch.nn.Linear(6, 5))
        return measured(apart, model, {"x": torch.rand(2, 3, 6)})[0]["off_total"]

    assert off(wanted) < 1e-6
    assert off(4 * wanted) > 0.5
