import contextlib
import math
import types

import pytest
import torch

from ftlab.faults.builders import tiny
from ftlab.probes.loss.logits import POSITIONS, Logits, describe, sampled
from ftlab.probes.taps.forward import innermost
from tests.models import batches, tiny_lora
from tests.probes.moments_of import Bench, finished, values_of
from tests.probes.recording import Recording


def measured(model, batch, call):
    """Values of one step that ``call`` makes a loss of."""
    bench, probe = Bench(model), Logits()
    with contextlib.ExitStack() as stack:
        for handle in probe.attach(bench.subject):
            stack.callback(handle.remove)
        probe.on_batch(bench.moment(), batch)
        call()
        return values_of(finished(probe.on_gradients(bench.moment())))


def oracle(rows):
    """Entropy and top probability in float64, one row after the other."""
    probabilities = [row.double().softmax(0) for row in rows]
    entropies = [-(p * p.log()).sum().item() for p in probabilities]
    tops = [p.max().item() for p in probabilities]
    return sum(entropies) / len(rows), sum(tops) / len(rows)


def test_the_logits_of_a_model_are_described():
    model, batch = tiny_lora(), next(batches(1, length=6))
    outputs = []
    values = measured(model, batch, lambda: outputs.append(model(**batch).logits))
    logits = outputs[0].detach()[:, :-1]  # the last position has no next token
    assert len(logits.flatten(0, 1)) < POSITIONS
    rows = logits.flatten(0, 1)
    entropy, top = oracle(rows)
    assert values["entropy"] == pytest.approx(entropy, rel=0.02)
    assert values["top_probability"] == pytest.approx(top, rel=0.05)
    assert values["vocabulary"] == logits.shape[-1]
    assert 0 < values["logit_max"] <= outputs[0].abs().max().item()
    spread = (rows.amax(1) - rows.mean(1)).mean().item()
    assert values["logit_spread"] == pytest.approx(spread, rel=0.05)


def test_only_positions_that_count_are_looked_at():
    logits = torch.zeros(2, 300, 4)
    logits[:, :290, 0] = 50.0
    counted = torch.zeros(2, 300, dtype=torch.bool)
    counted[:, 290:] = True
    assert describe(sampled(logits, counted))[2].item() == pytest.approx(math.log(4))
    assert describe(sampled(logits, ~counted))[3].item() == pytest.approx(1.0)


def test_without_any_label_nothing_is_known():
    logits = torch.zeros(2, 3, 4)
    assert describe(sampled(logits, torch.zeros(2, 3, dtype=torch.bool))).isnan().all()


@pytest.mark.parametrize("mask", [-torch.inf, torch.finfo(torch.float32).min, -1e9])
def test_masked_tokens_are_left_out(mask):
    rows = torch.tensor([[1.0, 3.0, mask]])
    largest, spread, entropy, _ = describe(rows).tolist()
    assert (largest, spread) == (3.0, 1.0)
    assert entropy == pytest.approx(oracle(rows[:, :2])[0], rel=1e-5)


def test_the_head_tells_where_the_model_gives_a_loss_only():
    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = tiny.llama()

        def get_output_embeddings(self):
            return self.inner.lm_head

        def forward(self, **batch):
            return types.SimpleNamespace(loss=self.inner(**batch).loss)

    model, batch = Wrapped(), next(batches(1))
    values = measured(model, batch, lambda: model(**batch))
    assert values["vocabulary"] == 128
    assert 0 < values["entropy"] <= math.log(128)


def test_a_loss_without_logits_is_not_measured():
    model, batch = torch.nn.Linear(4, 1), {"input": torch.ones(2, 4)}
    assert measured(model, batch, lambda: model(batch["input"])) == {}


def test_micro_batches_are_averaged_and_the_largest_logit_counts():
    model = tiny_lora()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    two = list(batches(2))
    rows = []
    for group in (two[:1], two[1:], two):
        probes = [Logits()]
        with Recording(model, optimizer, probes=probes) as recording:
            for batch in group:
                model(**batch).loss.backward()
            optimizer.step()
        rows.append(recording.steps[0].values)
    one, other, both = rows
    mean = (one["entropy"] + other["entropy"]) / 2
    assert both["entropy"] == pytest.approx(mean)
    assert both["logit_max"] == max(one["logit_max"], other["logit_max"])


def test_nothing_stays_on_the_model_or_alive():
    model, batch = tiny_lora(), next(batches(1))
    bench, probe = Bench(model), Logits()
    probe.on_batch(bench.moment(), batch)
    output = model(**batch)
    assert not any(module._forward_hooks for module in model.modules())
    probe.on_gradients(bench.moment())
    probe.on_close(bench.moment())
    kept = [each for each in vars(probe).values() if isinstance(each, torch.Tensor)]
    assert not kept
    assert not probe._seen
    assert output.logits is not None


def test_what_a_forward_raises_is_the_users_own_error():
    model, batch = tiny_lora(), next(batches(1))
    bench, probe = Bench(model), Logits()
    probe.on_batch(bench.moment(), batch)
    users = innermost(model).register_forward_hook(lambda *_: None)
    with pytest.raises(IndexError, match="out of range"):
        model(input_ids=batch["input_ids"] + 10**6)
    users.remove()
    probe.on_batch(bench.moment(), batch)
    model(**batch)
    assert not any(module._forward_hooks for module in model.modules())
