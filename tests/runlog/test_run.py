import threading

import numpy as np
import pytest

from ftlab.records.errors import BadValueError, UnknownNameError
from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.names import NameRecord
from ftlab.records.step import Evaluation, LedgerEntry, StepRecord
from ftlab.runlog.codec import finding_event
from ftlab.runlog.run import Run
from tests.runlog.sample import block, check, filled, grad


def finding(first, last, message="text"):
    return Finding(
        "GRD001",
        "vanishing-gradient",
        Severity.WARNING,
        message,
        "cause",
        "fix",
        (Place("param", "a"),),
        first,
        last,
    )


def test_an_empty_run_answers_everything_with_nothing():
    run = Run()
    assert run.last_step == -1
    assert len(run.steps) == 0
    assert run.tables() == ()
    assert run.matrix("grad_l2").shape == (0, 0)
    assert run.matrix("a_l2", "adapters", resolution=64).shape == (0, 0)
    assert run.facts == Facts()
    assert run.findings == []
    assert run.names() == {}
    assert run.ledger_of(0) == []
    assert not run.refresh()


def test_keeps_not_measured_apart_from_nan_in_steps():
    run = Run()
    run.append(StepRecord(0, 0.0, loss=None))
    run.append(StepRecord(1, 0.0, loss=float("nan"), trainer_step=1, skipped=True))
    assert np.isnan(run.steps["loss"]).all()
    assert run.steps.known("loss").tolist() == [False, True]
    assert run.steps["skipped"].tolist() == [False, True]
    assert run.steps.known("trainer_step").tolist() == [False, True]


def test_keeps_not_measured_apart_from_nan_in_tables():
    run = Run()
    run.append(block(0, grad_l2=[1, np.nan, 3]))
    run.append(block(1, weight_l2=[1, 2, 3]))
    matrix = run.matrix("grad_l2")
    assert matrix.known.tolist() == [[True] * 3, [False] * 3]
    assert matrix.nonfinite.tolist() == [[0, 1, 0], [0, 0, 0]]
    assert matrix.measured().steps.tolist() == [0]


def test_a_parameter_without_gradient_has_no_known_gradient():
    run = Run()
    nan = float("nan")
    run.append(block(0, has_grad=[1, 0, 1], grad_l2=[nan, nan, 1], weight_l2=[1, 2, 3]))
    assert run.matrix("grad_l2").known.tolist() == [[True, False, True]]
    assert run.matrix("weight_l2").known.all()
    rolled = run.matrix("grad_l2", resolution=64)
    assert rolled.known.tolist() == [[True, False, True]]
    assert rolled.nonfinite.tolist() == [[1, 0, 0]]


def test_rows_may_appear_and_go_and_come_from_several_probes():
    run = Run()
    run.append(block(0, [4, 2], grad_l2=[1, 2]))
    run.append(block(1, [2, 4], grad_l2=[3, 4]))
    run.append(block(1, [7], grad_l2=[5]))
    run.append(block(2, [7], grad_l2=[6]))
    matrix = run.matrix("grad_l2")
    nan = np.nan
    assert matrix.ids.tolist() == [2, 4, 7]
    np.testing.assert_array_equal(
        matrix.values, [[2, 1, nan], [3, 4, 5], [nan, nan, 6]]
    )
    rolled = run.matrix("grad_l2", resolution=64)
    np.testing.assert_array_equal(rolled.low, [[2, 1, 5]])
    np.testing.assert_array_equal(rolled.values, [[2.5, 2.5, 5.5]])


def test_the_first_step_too_is_invisible_while_probes_write_it():
    run = Run(meta={"config": {"probes": ["gradients"]}, "ended": None})
    run.append(block(0, grad_l2=[1, 2, 3]))
    assert run.last_step == -1
    run.append(StepRecord(0, 0.0, 2.5))
    assert run.last_step == 0


def test_a_run_that_ended_within_its_first_step_shows_what_there_is():
    run = Run(meta={"config": {"probes": ["gradients"]}, "ended": "failed"})
    run.append(block(0, grad_l2=[1, 2, 3]))
    assert run.last_step == 0


def test_a_step_is_invisible_until_its_own_row_is_there():
    run = filled(3)
    run.append(block(3, grad_l2=grad(3)))
    run.append(LedgerEntry(3, 0, "forward"))
    check(run, 3)
    assert run.ledger[-1].step == 2
    run.append(StepRecord(3, 103.0, loss=0.5, lr=(0.1,), values={"tokens": 8}))
    assert run.matrix("grad_l2").steps.tolist() == [0, 1, 2, 3]
    assert run.ledger[-1].step == 3


def test_reads_rolled_up_windows_by_the_plain_definition():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(5000, 3)).astype(np.float32)
    data[rng.random(data.shape) < 0.01] = np.inf
    data[64:128, 1] = np.nan
    run = Run()
    for step, line in enumerate(data):
        run.append(block(step, grad_l2=line))
    for span in (64, 4096):
        matrix = run.matrix("grad_l2", resolution=span)
        assert matrix.steps.tolist() == list(range(0, 5000, span))
        for line, start in enumerate(matrix.steps):
            for row in range(3):
                part = data[start : start + span, row]
                finite = part[np.isfinite(part)]
                assert matrix.nonfinite[line, row] == len(part) - len(finite)
                if len(finite):
                    wanted = finite.min(), finite.max(), finite.mean(dtype=float)
                else:
                    wanted = (np.nan,) * 3
                found = (matrix.low, matrix.high, matrix.values)
                np.testing.assert_allclose(
                    [entry[line, row] for entry in found], wanted, atol=1e-5
                )


def test_memory_stays_within_its_budget_and_keeps_roll_ups():
    run = Run(budget=100_000)
    whole = Run()
    ids = np.arange(50)
    for step in range(3000):
        for target in (run, whole):
            target.append(block(step, ids, grad_l2=ids + step))
    table = run._store.tables["tensors"]
    held = sum(part.nbytes for part in (*table.chunks, *table.fine, *table.coarse))
    assert held < 130_000
    assert run.matrix("grad_l2").steps[0] > 0
    np.testing.assert_array_equal(
        run.matrix("grad_l2", resolution=64).high[-20:],
        whole.matrix("grad_l2", resolution=64).high[-20:],
    )


def test_windows_hold_still_and_are_cut_at_their_bounds():
    run = filled(100)
    view, cut = run.window(0), run.window(10, 20)
    run.append(StepRecord(100, 0.0))
    run.append(Facts(step=50, training={"changed": True}))
    check(view, 100)
    assert cut.steps.step.tolist() == list(range(10, 20))
    assert cut.matrix("grad_l2").steps.tolist() == list(range(10, 20))
    assert cut.last_step == 19
    assert cut.facts == Facts()
    assert run.window(60).facts.training == {"changed": True}
    assert cut.window(0, 12).steps.step.tolist() == [10, 11]
    assert cut.ledger_of(9) == []
    assert {entry.step for entry in cut.ledger} == set(range(10, 20))


def test_the_latest_name_of_an_id_holds():
    run = Run()
    run.append(NameRecord(0, "tensors", "a", "param", "head"))
    run.append(NameRecord(1, "adapters", "b", "adapter", "head"))
    run.append(
        NameRecord(0, "tensors", "a", "param", "head", trainable=False, since_step=5)
    )
    assert not run.names()[0].trainable
    assert run.window(0, 5).names() == {}
    for step in range(6):
        run.append(StepRecord(step, 0.0))
    assert run.window(0, 5).names()[0].trainable
    assert list(run.names("adapters")) == [1]


def test_findings_of_one_place_are_one_finding():
    run = Run()
    for step in range(30):
        run.append(StepRecord(step, 0.0))
    run.append(finding_event(finding(5, 6, "old"), 0.0))
    run.append(finding_event(finding(8, 20, "new"), 0.0))
    run.append(Event("note", 3, 0.0, "something else"))
    assert run.findings == [finding(5, 20, "new")]
    assert run.window(0, 10).findings == [finding(5, 6, "old")]


def test_evaluations_are_kept_in_order():
    run = filled(4)
    results = [Evaluation(step, 0.0, {"loss": step}) for step in (1, 3)]
    for result in results:
        run.append(result)
    assert run.evaluations == results
    assert run.window(0, 2).evaluations == results[:1]


def test_steps_must_increase():
    run = filled(2)
    with pytest.raises(BadValueError, match="Step 1 was appended after step 1"):
        run.append(StepRecord(1, 0.0))
    with pytest.raises(BadValueError, match="block of step 0 came after step 1"):
        run.append(block(0, grad_l2=grad(0)))
    check(run, 2)


def test_columns_and_ids_must_fit():
    with pytest.raises(BadValueError, match=r"'grad_l2'.*\(2,\).*\(3,\)"):
        Run().append(block(0, grad_l2=[1, 2]))


def test_a_mistyped_name_lists_the_near_ones():
    run = filled(1)
    with pytest.raises(UnknownNameError, match="'weight_l2'"):
        run.matrix("weigth_l2")
    with pytest.raises(UnknownNameError, match="near ones are 'tensors'"):
        run.matrix("grad_l2", "tensor")
    with pytest.raises(UnknownNameError, match="near ones are 'tokens'"):
        run.steps["token"]
    assert not run.steps.known("rss").any()
    assert not run.matrix("moment1_l2").known.any()
    with pytest.raises(
        BadValueError, match="resolution is 10; allowed are 1, 64, 4096"
    ):
        run.matrix("grad_l2", resolution=10)


def test_readers_on_other_threads_see_whole_steps_only():
    run, wrong, done = Run(), [], threading.Event()

    def read():
        while not done.is_set():
            view = run.window(0)
            steps, matrix = view.steps, view.matrix("grad_l2")
            if steps.step.tolist() != matrix.steps.tolist() and len(steps):
                wrong.append((len(steps), len(matrix.steps)))
            if not (matrix.values == matrix.steps[:, None]).all():
                wrong.append(matrix)

    run.append(block(0, grad_l2=[0, 0, 0]))
    run.append(StepRecord(0, 0.0))
    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for step in range(1, 1500):
        run.append(block(step, grad_l2=[step] * 3))
        run.append(StepRecord(step, 0.0))
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_lr_has_a_column_for_each_group_that_was_ever_there():
    run = Run()
    run.append(StepRecord(0, 0.0, lr=(0.1,)))
    run.append(StepRecord(1, 0.0, lr=(0.1, 0.2)))
    np.testing.assert_array_equal(run.steps["lr"], [[0.1, np.nan], [0.1, 0.2]])
    assert run.steps.known("lr").tolist() == [[True, False], [True, True]]


def test_what_was_read_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        filled(1).steps["loss"][0] = 1


def test_an_operation_after_the_last_row_is_late_and_is_seen():
    run = Run()
    run.append(LedgerEntry(0, 0, "step"))
    run.append(StepRecord(0, 0.0))
    assert run.late == 0
    run.append(LedgerEntry(0, 1, "save"))
    assert run.late == 1
    assert [entry.op for entry in run.window(0).ledger] == ["step", "save"]


def test_a_run_without_a_step_shows_what_was_done_and_no_step_under_way():
    run = Run()
    run.append(LedgerEntry(0, 0, "forward"))
    run.append(LedgerEntry(-1, 0, "save"))
    assert [entry.op for entry in run.ledger] == ["save"]
    assert run.late == 1


def test_what_is_told_of_a_step_that_never_ended_is_late_and_is_seen():
    run = Run()
    run.append(StepRecord(0, 0.0))
    run.append(Event("batch", 0, 0.0, "odd", {"unfinished": False}))
    assert run.late == 0
    run.append(Event("batch", 0, 0.0, "odd", {"unfinished": True}))
    assert run.late == 1
    assert [event.kind for event in run.window(0).events] == ["batch", "batch"]
