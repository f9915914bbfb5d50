import copy
import math
import pickle

import pytest
import torch

from ftlab.probes.subject import Subject
from ftlab.probes.tensors.activations import Activations, leaf_like
from ftlab.records.handle import HandleStack
from tests.models import batches, tiny_llama, tiny_lora
from tests.probes.moments_of import Bench, finished, rows_of


@pytest.fixture
def attached():
    """Attach a probe to a model; everything comes off after the test."""
    handles = HandleStack()

    def attach(model):
        probe = Activations()
        for handle in probe.attach(Subject(model)):
            handles.add(handle)
        return probe, Bench(model)

    yield attach
    handles.remove()


def outputs_of(model, batch):
    """Collect every module's output by plain hooks."""
    seen, handles = {}, []
    for path, module in model.named_modules():

        def keep(module, args, output, path=path):
            seen.setdefault(path, []).append(output)

        handles.append(module.register_forward_hook(keep))
    model(**batch)
    for handle in handles:
        handle.remove()
    return seen


def measured(probe, bench, step=0):
    rows = rows_of(finished(probe.on_gradients(bench.moment(step))))
    names = {row: name for (_, name), row in bench.names.items()}
    return {names[row]: values for row, values in rows.items()}


def test_matches_the_outputs_of_every_leaf(attached):
    model, batch = tiny_lora(), next(batches(1))
    expected = outputs_of(model, batch)
    probe, bench = attached(model)
    probe.on_batch(bench.moment(), batch)
    model(**batch)
    rows = measured(probe, bench)
    assert "base_model.model.model.layers.0.self_attn.q_proj" in rows
    assert not any("lora_A" in name or "base_layer" in name for name in rows)
    for name, row in rows.items():
        output = expected[name][0]
        tensor = (output[0] if isinstance(output, tuple) else output).detach().double()
        assert row["act_rms"] == pytest.approx(tensor.square().mean().sqrt().item())
        assert row["act_max"] == pytest.approx(tensor.abs().max().item())


def test_hooks_do_nothing_until_a_due_batch_and_after_its_forward(attached):
    model, batch = tiny_llama(), next(batches(1))
    probe, bench = attached(model)
    model(**batch)
    assert measured(probe, bench) == {}
    probe.on_batch(bench.moment(), batch)
    model(**batch)
    model(**batch)
    rows = measured(probe, bench)
    once = outputs_of(model, batch)["lm_head"][0].detach().double()
    assert rows["lm_head"]["act_rms"] == pytest.approx(
        once.square().mean().sqrt().item()
    )
    probe.on_close(bench.moment())
    assert probe._seen == []


def test_micro_batches_are_one_population(attached):
    model = tiny_llama()
    probe, bench = attached(model)
    tensors = []
    for batch in (*batches(1, size=2), *batches(1, size=3, length=9, seed=5)):
        tensors.append(model(**batch).logits.detach().double().flatten())
        probe.on_batch(bench.moment(), batch)
        model(**batch)
    whole = torch.cat(tensors)
    row = measured(probe, bench)["lm_head"]
    assert row["act_rms"] == pytest.approx(whole.square().mean().sqrt().item())
    assert row["act_max"] == pytest.approx(whole.abs().max().item())


@pytest.mark.parametrize("reentrant", [True, False])
def test_recomputation_is_not_counted(attached, reentrant):
    model, batch = tiny_lora().train(), next(batches(1))
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    model.enable_input_require_grads()
    probe, bench = attached(model)
    calls = []
    inner = model.base_model.model.model.layers[0].self_attn.q_proj
    handle = inner.register_forward_hook(lambda *_: calls.append(1))
    probe.on_batch(bench.moment(), batch)
    model(**batch).loss.backward()
    handle.remove()
    assert len(calls) == 2
    name = "base_model.model.model.layers.0.self_attn.q_proj"
    assert [path for path, _, _ in probe._seen].count(name) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_non_finite_outputs_stay_visible(attached, value):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    probe, bench = attached(model)
    probe.on_batch(bench.moment(), {})
    model(torch.tensor([[1.0, value]]))
    row = measured(probe, bench)["0"]
    assert not math.isfinite(row["act_rms"])
    assert not math.isfinite(row["act_max"])


def test_half_precision_outputs_do_not_overflow(attached):
    model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout(0.0))
    probe, bench = attached(model)
    probe.on_batch(bench.moment(), {})
    model(torch.full((64, 64), 6e4, dtype=torch.float16))
    rows = measured(probe, bench)
    assert set(rows) == {"0"}
    assert rows["0"]["act_rms"] == pytest.approx(6e4, rel=1e-3)


def test_copies_and_pickles_of_a_watched_model_are_inert(attached):
    model, batch = tiny_llama(), next(batches(1))
    probe, bench = attached(model)
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    probe.on_batch(bench.moment(), batch)
    for each in copies:
        each(**batch)
    assert probe._seen == []


def test_an_error_waits_until_the_recorder_can_catch_it(attached, monkeypatch):
    model, batch = tiny_llama(), next(batches(1))
    probe, bench = attached(model)

    def fail(tensor):
        message = "no such operation"
        raise RuntimeError(message)

    monkeypatch.setattr("ftlab.probes.tensors.activations._size", fail)
    probe.on_batch(bench.moment(), batch)
    model(**batch)
    with pytest.raises(RuntimeError, match="no such operation"):
        probe.on_gradients(bench.moment())


def test_a_compiled_model_runs_and_stays_itself(attached):
    model, batch = tiny_llama(), next(batches(1))
    plain = model(**batch).logits
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager")
    probe, bench = attached(compiled)
    probe.on_batch(bench.moment(), batch)
    assert torch.allclose(compiled(**batch).logits, plain, atol=1e-6)
    assert isinstance(measured(probe, bench), dict)


def test_leaves_are_modules_that_compute():
    names = [path for path, _ in leaf_like(tiny_llama())]
    assert "model.embed_tokens" in names
    assert "model.layers.0.mlp.act_fn" in names
    assert "model.layers" not in names


def hooks_of(model):
    return [m for m in model.modules() if m._forward_hooks or m._forward_pre_hooks]


def test_hooks_are_there_for_the_due_forward_only(attached):
    model, batch = tiny_llama(), next(batches(1))
    probe, bench = attached(model)
    assert hooks_of(model) == []
    probe.on_batch(bench.moment(), batch)
    assert len(hooks_of(model)) > 10
    model(**batch)
    assert hooks_of(model) == []


def test_a_forward_that_fails_leaves_no_hooks_on_the_parts(attached):
    model, batch = tiny_llama(), next(batches(1))
    probe, bench = attached(model)
    probe.on_batch(bench.moment(), batch)
    with pytest.raises(IndexError):
        model(input_ids=batch["input_ids"] + 10**6)
    assert hooks_of(model) == [model]  # torch is going through them
    probe.on_gradients(bench.moment())
    assert hooks_of(model) == []


def test_an_encoder_in_eval_mode_gets_no_hooks(attached):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), encoder)
    probe, bench = attached(model)
    for training in (False, True):
        encoder.train(training)
        probe.on_batch(bench.moment(step=int(training)), {})
        hooked = hooks_of(encoder)
        model(torch.ones(2, 3, 8))
        rows = measured(probe, bench, step=int(training))
        assert ("1.layers.0.norm1" in rows) == bool(hooked) == training
        assert "0" in rows


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_scripted_part_is_passed_over(attached):
    script = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 4)))
    model = torch.nn.Sequential(script, torch.nn.Linear(4, 1))
    probe, bench = attached(model)
    probe.on_batch(bench.moment(), {})
    model(torch.ones(2, 4))
    assert set(measured(probe, bench)) == {"1"}


class Mapped(torch.nn.Module):
    """Runs a leaf of its own under vmap."""

    def __init__(self):
        super().__init__()
        self.leaf, self.last = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.last(torch.vmap(self.leaf)(x))


def test_a_module_under_vmap_is_passed_over(attached):
    model = Mapped()
    probe, bench = attached(model)
    probe.on_batch(bench.moment(), {})
    model(torch.ones(2, 4))
    assert set(measured(probe, bench)) == {"last"}
