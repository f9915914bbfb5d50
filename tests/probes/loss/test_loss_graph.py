import pytest
import torch

from ftlab.probes.loss.loss_graph import NODES, means_from_graph, means_from_output
from tests.models import batches, tiny_llama


def expected(model, batch):
    """Mean loss and number of labels of each sample, one by one."""
    rows = []
    for index in range(len(batch["labels"])):
        logits = model(input_ids=batch["input_ids"][index : index + 1]).logits[0, :-1]
        labels = batch["labels"][index, 1:]
        one = torch.nn.functional.cross_entropy(logits, labels)
        rows.append((float(one), int((labels != -100).sum())))
    return rows


def found(means):
    return list(zip(means.losses.tolist(), means.counts.tolist(), strict=True))


def uneven():
    batch = next(batches(1))
    batch["labels"] = batch["labels"].clone()
    batch["labels"][1, :9] = -100
    return batch


@pytest.mark.parametrize("scale", [1.0, 128.0])
def test_agrees_with_each_sample_alone(scale):
    model, batch = tiny_llama(), uneven()
    loss = model(**batch).loss * scale / 2
    for one, other in zip(
        found(means_from_graph([loss], 4)), expected(model, batch), strict=True
    ):
        assert one == pytest.approx(other, rel=1e-5)


def test_a_loss_by_hand_and_one_with_classes_second_are_seen():
    model, batch = tiny_llama(), uneven()
    logits, labels = model(**batch).logits[:, :-1], batch["labels"][:, 1:]
    by_hand = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    second = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels)
    for loss in (by_hand, second):
        means = found(means_from_graph([loss], 4))
        for one, other in zip(means, expected(model, batch), strict=True):
            assert one == pytest.approx(other, rel=1e-5)


def test_a_sample_without_a_label_has_none():
    logits = torch.randn(4, 3, requires_grad=True)
    labels = torch.tensor([0, 1, -100, -100])
    means = means_from_graph([torch.nn.functional.cross_entropy(logits, labels)], 2)
    assert means.counts.tolist() == [2, 0]
    assert means.losses.isnan().tolist() == [False, True]


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: x.square().sum(),
        lambda x: x.detach().sum(),
        lambda x: torch.nn.functional.cross_entropy(x[:3], torch.zeros(3).long()),
    ],
    ids=["no cross entropy", "no graph", "other samples"],
)
def test_what_cannot_be_told_is_left(loss):
    assert means_from_graph([loss(torch.randn(4, 3, requires_grad=True))], 2) is None


def test_somebody_s_hooks_on_saved_tensors_are_not_called():
    called = []

    def unpack(tensor):
        called.append(1)
        return tensor

    logits = torch.randn(4, 3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        loss = torch.nn.functional.cross_entropy(logits, torch.zeros(4).long())
    assert means_from_graph([loss], 2) is None
    assert called == []


def test_the_search_ends():
    loss = torch.nn.functional.cross_entropy(
        torch.randn(4, 3, requires_grad=True), torch.zeros(4).long()
    )
    for _ in range(NODES):
        loss = loss * 1.0
    assert means_from_graph([loss], 2) is None


def test_log_probabilities_of_a_fused_head_are_taken():
    logs = torch.tensor([[-1.0, -3.0], [-5.0, 0.0]], requires_grad=True) * 1.0
    mask = torch.tensor([[True, True], [True, False]])
    output = type("Output", (), {"log_probs": logs, "label_mask": mask})()
    assert found(means_from_output(output, 2)) == [(2.0, 2), (5.0, 1)]
    assert means_from_output(output, 3) is None
    assert means_from_output((logs,), 2) is None
