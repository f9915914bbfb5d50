import threading

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.names import NameRecord
from ftlab.records.step import Evaluation
from ftlab.runlog.reader import open_log
from ftlab.runlog.segment import Limits
from ftlab.runlog.writer import LogWriter
from tests.runlog.sample import block, check, filled, write


def create(path, **limits):
    return LogWriter.create(path, config={}, versions={}, limits=Limits(**limits))


def test_follows_a_run_across_segments_to_its_end(tmp_path):
    writer = create(tmp_path / "run", segment_bytes=10_000)
    run = open_log(tmp_path / "run", follow=True)
    assert run.last_step == -1
    step = 0
    for size in (1, 2, 0, 5, 70, 3, 200, 1, 1):
        write(writer, step, step + size)
        step += size
        assert run.refresh() == (size > 0)
        if step:
            check(run, step)
    writer.close("finished")
    assert run.refresh()
    assert run.meta["ended"] == "finished"
    check(run, step)
    assert not run.refresh()


def test_follows_everything_that_is_no_table(tmp_path):
    writer = create(tmp_path / "run")
    run = open_log(tmp_path / "run", follow=True)
    for step in range(3):
        writer.write(NameRecord(step, "tensors", f"w{step}", "param", "head"))
        writer.write(Facts(step=step, training={"step": step}))
        writer.write(Event("note", step, 0.0, "text"))
        writer.write(Evaluation(step, 0.5, {"loss": step, "nan": 2.0}))
        writer.write(block(step, [5], table=f"table{step}", value=[step]))
        write(writer, step, step + 1)
        assert run.refresh()
        assert len(run.names()) == step + 1
        assert run.facts == Facts(step=step, training={"step": step})
        assert [event.step for event in run.events] == list(range(step + 1))
        assert run.evaluations[-1].metrics == {"loss": step, "nan": 2.0}
        assert f"table{step}" in run.tables()
    writer.close("finished")


def test_a_follower_on_another_thread_never_sees_half_a_step(tmp_path):
    writer = create(tmp_path / "run", segment_bytes=5_000)
    run = open_log(tmp_path / "run", follow=True)
    done, wrong = threading.Event(), []

    def read():
        while not done.is_set():
            run.refresh()
            try:
                if len(run.steps):
                    check(run, len(run.steps))
            except AssertionError as error:
                wrong.append(error)
                return

    reader = threading.Thread(target=read)
    reader.start()
    write(writer, 0, 400)
    done.set()
    reader.join()
    writer.close("finished")
    assert wrong == []
    run.refresh()
    check(run, 400)


def test_a_follower_that_was_away_catches_up_after_thinning(tmp_path):
    writer = create(tmp_path / "run", segment_bytes=10_000, disk_budget=8_000)
    write(writer, 0, 2)
    run = open_log(tmp_path / "run", follow=True)
    write(writer, 2, 800)
    assert run.refresh()
    assert run.last_step == 799
    late = run.matrix("grad_l2", start=700)
    assert late.steps[-1] == 799
    assert (late.values == filled(800).matrix("grad_l2").values[late.steps]).all()
    writer.close("finished")


def test_a_run_of_blocks_alone_is_followed_too(tmp_path):
    writer = create(tmp_path / "run")
    run = open_log(tmp_path / "run", follow=True)
    for step in range(3):
        writer.write(block(step, grad_l2=[1, 2, 3]))
        writer.commit()
        assert run.refresh()
        assert run.last_step == step
    writer.close("finished")


def test_rows_beyond_the_last_step_enter_no_roll_up_yet(tmp_path):
    writer = create(tmp_path / "run")
    write(writer, 0, 100)
    run = open_log(tmp_path / "run", follow=True)
    for step in range(100, 140):
        writer.write(block(step, grad_l2=[1e9] * 3))
    writer.commit()
    run.refresh()
    check(run, 100)
    writer.close("interrupted")
