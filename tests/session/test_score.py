"""Recording and judging a case in memory."""

from ftlab.faults.registry import load
from ftlab.session.score import judge, record, score_faults


def test_judging_twice_gives_the_same_report():
    fault = load("optimizer-before-peft")
    reports = [judge(fault.build(fixed=False), fault.steps) for _ in range(2)]
    assert reports[0] == reports[1]


def test_recording_changes_no_number():
    fault = load("lora-b-frozen")
    alone = fault.build(fixed=True)
    recorded = fault.build(fixed=True)
    run = record(recorded, 5)
    assert alone.run(5) == recorded.losses
    assert run.steps["loss"].tolist() == recorded.losses


def test_the_interval_sets_how_often_adapters_are_measured():
    case = load("lora-b-frozen").build(fixed=True)
    steps = record(case, 9, interval=7).matrix("b_l2", "adapters").measured().steps
    assert steps.tolist() == [0, 1, 2, 3, 4, 7]


def test_facts_are_read_before_the_run_and_when_they_change():
    import torch

    case = load("lora-b-frozen").build(fixed=True)
    inner = case.step

    def step(batch):
        if len(case.losses) == 2:
            extra = torch.nn.Parameter(torch.zeros(1))
            case.optimizer.add_param_group({"params": [extra]})
        return inner(batch)

    case.step = step
    history = record(case, 4).facts_history
    counts = [len(facts.optimizers[0]["foreign"]) for facts in history]
    assert counts[0] == 0
    assert counts[-1] == 1


def test_an_area_is_scored_with_the_healthy_runs_that_look_like_it(monkeypatch):
    asked = {}

    def board(faults, healthy, **_):
        asked.update(faults={f.area for f in faults}, healthy=list(healthy))

    monkeypatch.setattr("ftlab.session.score.score", board)
    score_faults(area="data")
    assert asked["faults"] == {"data"}
    named = {each.id for each in asked["healthy"]}
    assert "eos-as-padding" in named
    assert all(
        any(code.startswith("DAT") for code in each.looks_like)
        for each in asked["healthy"]
    )
    score_faults()
    assert named < {each.id for each in asked["healthy"]}
