import functools

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import trainable
from ftlab.records.errors import FtlabWarning
from tests.models import batches, tiny_lora
from tests.replay.blaming.preference import paused
from tests.session.probing import ATTENTION, norm, together, watched_model
from tests.session.scenarios import trainer


@pytest.fixture
def watched(tmp_path):
    with watched_model(tmp_path) as parts:
        yield parts


def plain_outputs(model, step, end):
    """Norms of the attentions' first outputs, by plain hooks of torch."""
    found = {}

    def keep(path, module, args, kwargs, output):
        if end == "post":
            found[f"{path}.post"] = output[0].detach().norm().item()
        elif end == "pre":
            found[f"{path}.pre"] = kwargs["hidden_states"].detach().norm().item()
        else:
            output[0].register_hook(
                lambda grad: found.__setitem__(f"{path}.grad", float(grad.norm()))
            )

    handles = [
        module.register_forward_hook(functools.partial(keep, path), with_kwargs=True)
        for path, module in model.named_modules()
        if path.endswith("self_attn")
    ]
    step()
    for handle in handles:
        handle.remove()
    return found


@pytest.mark.parametrize("end", ["pre", "post", "grad"])
def test_values_are_what_plain_hooks_see(watched, end):
    watch, model, step = watched
    handle = watch.probe(f"layers.*.self_attn.{end}", norm)
    expected = plain_outputs(model, step, end)
    values = handle.values.loc[0].to_dict()
    assert len(values) == 2
    assert values == pytest.approx(expected)


def test_gradients_of_parameters_are_accumulated_and_before_clipping(watched):
    watch, model, _ = watched
    handle = watch.probe("layers.0.*lora_B.*.weight.grad", norm)
    optimizer = torch.optim.SGD(trainable(model), lr=0.1)
    for batch in batches(2):
        model(**batch).loss.backward()
    expected = {
        f"{name}.grad": float(p.grad.norm())
        for name, p in model.named_parameters()
        if "layers.0" in name and "lora_B" in name
    }
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    optimizer.step()
    watch.detach()
    assert handle.places == len(expected) == 3
    assert handle.values.loc[0].to_dict() == pytest.approx(expected)


def test_micro_batches_are_averaged_and_counted(watched):
    watch, model, step = watched
    watch.probe("batch", lambda found: len(found["input_ids"]), name="rows")
    for size in (2, 4, 6):
        model(**next(batches(1, size=size))).loss.backward()
    step()
    row = {
        c: watch.run.matrix(c, table="user").values for c in ("value", "low", "high")
    }
    assert row == {"value": 4.0, "low": 2.0, "high": 6.0}
    assert watch.run.matrix("calls", table="user").values == 4.0


def test_evaluations_are_not_seen(watched):
    watch, model, step = watched
    handle = watch.probe(ATTENTION, norm)
    step()
    with torch.no_grad():
        model(**next(batches(1)))
    step()
    calls = watch.run.matrix("calls", table="user").values
    assert calls.tolist() == [[1, 1], [1, 1]]
    assert len(handle.values) == 2


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("end", ["pre", "post", "grad"])
def test_a_checkpoint_that_computes_again_is_not_counted_twice(watched, reentrant, end):
    watch, model, step = watched
    watch.probe(f"q_proj.{end}", norm)
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    model.enable_input_require_grads()
    passes = []
    inner = model.base_model.model.model.layers[0].self_attn.q_proj
    inner.register_forward_hook(lambda *_: passes.append(1))
    step()
    assert len(passes) == 2
    assert watch.run.matrix("calls", table="user").values.tolist() == [[1, 1]]


def test_a_function_that_writes_is_stopped_before_it_does(watched):
    watch, _, step = watched
    bad = watch.probe("mlp.post", lambda x: x.mul_(0), name="bad")
    good = watch.probe("mlp.post", norm)
    with pytest.warns(
        FtlabWarning, match=r"'bad' at .*mlp.post' was taken off"
    ) as told:
        step()
    assert len(told) == 1
    step()
    assert bad.enabled is False
    assert "aten.mul_ would write" in bad.error
    assert "taken off" in repr(bad)
    assert (good.values > 0).all(axis=None)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: torch.relu_(x),
        lambda x: x[0].zero_(),
        lambda x: torch.add(x, 1, out=x),
        lambda x: x.copy_(x),
        lambda x: torch._foreach_zero_([x]),
        lambda x: x.data.fill_(3),
    ],
)
def test_every_way_to_write_is_stopped(watched, write):
    watch, model, step = watched
    watch.probe("mlp.post", write)
    with torch.no_grad():
        before = model(**next(batches(1))).logits
    seen = []
    handle = model.register_forward_hook(lambda *found: seen.append(found[2].logits))
    with pytest.warns(FtlabWarning, match="would write"):
        step()
    handle.remove()
    assert torch.equal(seen[0], before)


def test_a_function_that_writes_to_a_weight_is_stopped(watched):
    watch, model, step = watched
    weight = next(model.parameters())
    before = weight.clone()
    watch.probe("mlp.post", lambda _: weight.zero_())
    with pytest.warns(FtlabWarning, match="would write to a parameter"):
        step()
    assert torch.equal(weight, before)


def test_a_function_may_write_to_what_is_its_own(watched):
    watch, _, step = watched
    smooth = torch.zeros(())

    def average(tensor):
        return smooth.mul_(0.5).add_(tensor.mean())

    handle = watch.probe("layers.0.mlp.post", average)
    step()
    step()
    first, second = handle.values.iloc[:, 0]
    assert first != second
    assert not handle.error


def test_a_function_that_raises_is_named_and_training_goes_on(watched):
    watch, _, step = watched
    handle = watch.probe("mlp.post", lambda _: 1 / 0, name="oops")
    with pytest.warns(FtlabWarning, match="'oops'.*ZeroDivisionError") as told:
        step()
    step()
    assert len(told) == 1
    assert handle.state == "taken off: ZeroDivisionError: division by zero"
    assert len(watch.run.steps) == 2


@pytest.mark.parametrize("wrong", [[1.0], "many", torch.ones(2), 1j, {"a": [1]}])
def test_a_wrong_return_value_is_named(watched, wrong):
    watch, _, step = watched
    watch.probe("mlp.post", lambda _: wrong)
    with pytest.warns(FtlabWarning, match="a probe returns a number"):
        step()


def test_none_is_not_logged_and_nan_is(watched):
    watch, _, step = watched
    nothing = watch.probe("mlp.post", lambda _: None)
    bad = watch.probe("layers.0.mlp.post", lambda x: x.sum() * float("nan"), name="bad")
    step()
    assert nothing.values.empty
    assert bad.values.isna().to_numpy().tolist() == [[True]]


def test_a_dict_gives_a_row_for_each_key(watched):
    watch, model, step = watched
    handle = watch.probe(
        "layers.0.mlp.post", lambda x: {"low": x.min(), "size": x.numel(), 3: True}
    )
    step()
    values = handle.values.loc[0]
    place = "base_model.model.model.layers.0.mlp.post"
    assert list(values.index) == [f"{place} low", f"{place} size", f"{place} 3"]
    assert values.iloc[1] == 4 * 16 * model.config.hidden_size
    assert values.iloc[2] == 1.0


def test_a_module_that_the_function_runs_is_not_seen(watched):
    watch, model, step = watched
    head = model.base_model.model.lm_head
    watch.probe("lm_head.post", lambda x: head(x.new_ones(1, head.in_features)).sum())
    step()
    assert watch.run.matrix("calls", table="user").values.tolist() == [[1.0]]


@pytest.mark.parametrize("fused", [True, False])
def test_gradients_under_a_scaler_are_in_true_scale(tmp_path, fused):
    model = tiny_lora().train()
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-3, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with ftlab.watch(
        model, optimizer, scaler=scaler, run_dir=tmp_path / "run"
    ) as watch:
        total = watch.probe("gradients", together)
        single = watch.probe("layers.0.*q_proj*lora_B*weight.grad", norm)
        for batch in batches(3):
            scaler.scale(model(**batch).loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    run = watch.run
    assert total.values["gradients"].to_numpy() == pytest.approx(
        run.steps["grad_norm"], rel=1e-4
    )
    names = {f"{record.name}.grad": row for row, record in run.names().items()}
    matrix = run.matrix("grad_l2")
    column = matrix.ids.tolist().index(names[single.values.columns[0]])
    assert single.values.iloc[:, 0].to_numpy() == pytest.approx(
        matrix.values[:, column], rel=1e-4
    )


def test_a_step_that_a_debugger_repeats_is_seen_once(tmp_path):
    built = trainer(max_steps=3)
    with (
        ftlab.watch(built, run_dir=tmp_path / "run") as watch,
        paused(built, at=1) as dbg,
    ):
        handles = [watch.probe(f"mlp.{end}", norm) for end in ("pre", "post", "grad")]
        dbg.run()
        dbg.blame()
        assert dbg.resume().state == "finished"
    assert [handle.error for handle in handles] == ["", "", ""]
    calls = watch.run.matrix("calls", table="user").values
    assert calls.shape == (3, 6)
    assert (calls == 1).all()
