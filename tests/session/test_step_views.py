"""The views of single aspects over real runs, live and opened, of both kinds."""

import numpy as np
import pytest
import torch
from transformers import Trainer, TrainingArguments, get_cosine_schedule_with_warmup

import ftlab
from tests.models import Rows, batches, tiny_lora
from tests.session.scenarios import seed

NAMES = ("schedule", "clipping", "scaler", "updates", "moments", "logits")
LIMIT, STEPS, SKIPPED = 0.02, 12, (5, 6)


def loop(folder):
    """Train with loss scaling, clipping and a cosine with warm-up; two steps skip."""
    model = tiny_lora()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 3, 2 * STEPS)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=4)
    given = {"scheduler": scheduler, "scaler": scaler, "run_dir": folder}
    with ftlab.watch(model, optimizer, interval=2, budget=None, **given) as watch:
        for step, batch in enumerate(batches(STEPS)):
            loss = model(**batch).loss * (float("inf") if step in SKIPPED else 1)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            optimizer.zero_grad()
    return watch


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    seed()
    return loop(tmp_path_factory.mktemp("loop") / "run")


def test_a_loops_schedule_is_as_asked_in_skipped_steps_too(watched):
    view = watched.schedule
    assert view.headline().endswith("at step 11 of 24; as planned")
    table = view.table()
    np.testing.assert_allclose(table["rate"], table["asked"], rtol=1e-4)
    cosine = 0.5 * (1 + np.cos(np.pi * (11 - 3) / (24 - 3)))
    assert table["rate"].to_numpy()[-1] == pytest.approx(1e-3 * cosine, rel=1e-4)


def test_the_scaler_tells_growth_skips_and_tensors(watched):
    first, skips, where = watched.scaler.summary.notes
    assert first == "last 1,024; grew 2 times, backed off 2 times"
    assert skips == "2 of 12 steps skipped (16.7 %), longest run 2, steps 5-6"
    assert where.startswith("Step 6, skipped: 12 of 12 gradients not finite; nearest")
    assert "layers.1.mlp.down_proj.lora_B" in where
    assert set(watched.scaler.table(by="tensor")["step"]) == {5, 6}


def test_clipping_is_norm_against_limit(watched):
    table = watched.clipping.table()
    taken = ~table["step"].isin(SKIPPED)
    assert (table["limit"] == LIMIT).all()
    expected = np.minimum(table["norm"], LIMIT)[taken]
    np.testing.assert_allclose(table["clipped_norm"][taken], expected, rtol=1e-3)
    assert "active in 10 of 12 steps" in watched.clipping.headline()


def test_heatmaps_have_a_column_for_each_measurement(watched):
    for view in (watched.updates, watched.moments):
        assert set(view.table()["layer"]) == {"layers.0", "layers.1"}
        assert view.table()["step"].unique().tolist()[:5] == [0, 1, 2, 3, 4]
    moments = watched.moments.table()
    assert (moments["largest_second_moment"] >= moments["smallest_second_moment"]).all()
    assert watched.updates.table()["update_ratio"].between(0, 1).all()


def test_logits_of_a_fresh_model_are_near_the_uniform_entropy(watched):
    table = watched.logits.table()
    np.testing.assert_allclose(table["entropy"], table["ln_vocabulary"], rtol=0.05)


def test_an_opened_run_shows_the_same(watched):
    opened = ftlab.open_run(watched.run_dir)
    for name in NAMES:
        live, later = getattr(watched, name), getattr(opened, name)
        assert repr(later) == repr(live)
        assert later.headline() == live.headline() != ""
        assert later.table().shape == live.table().shape


def test_a_trainers_schedule_and_clipping_are_seen_and_no_scaler(tmp_path):
    seed()
    built = Trainer(
        model=tiny_lora(),
        args=TrainingArguments(
            output_dir=str(tmp_path / "out"),
            use_cpu=True,
            report_to=[],
            max_steps=8,
            warmup_steps=2,
            lr_scheduler_type="cosine",
            max_grad_norm=0.01,
            learning_rate=1e-3,
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Rows(32),
    )
    with ftlab.watch(built, run_dir=tmp_path / "run") as watch:
        built.train()
    assert watch.schedule.headline().endswith("at step 7 of 8; as planned")
    assert "active in 8 of 8 steps (100 %)" in watch.clipping.headline()
    assert watch.scaler.headline() == ""
    lines = watch.dashboard.details.lines()
    names = ["schedule", "clipping", "updates", "moments", "logits", "spectra"]
    assert list(lines) == names
