from ftlab.records.facts import Facts
from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.dashboard.head import duration, head_of, seconds_left


def run_of(steps, **training):
    run = Run()
    run.append(Facts(training=training))
    for step in range(steps):
        values = {"tokens_per_second": 8143.0, "rss": 2.0 * 2**30, "seconds": 0.5}
        run.append(StepRecord(step, 0.0, 1.234, values=values))
    return run


def test_one_line_says_where_the_run_is():
    assert head_of(run_of(10, max_steps=130), "training") == (
        "training  ·  step 9 of 130  ·  loss 1.23  ·  8,140 tokens/s  ·  memory 2 GiB"
        "  ·  1 min 0 s left  ·  no findings"
    )


def test_an_empty_run_has_no_step_and_no_time_left():
    assert head_of(Run(), "") == "no step yet  ·  no findings"


def test_time_left_is_told_only_when_the_end_is_known():
    assert seconds_left(run_of(10)) is None
    assert seconds_left(run_of(10, max_steps=-1)) is None
    assert seconds_left(run_of(10, max_steps=10)) is None
    assert seconds_left(run_of(10, max_steps=14)) == 2.0


def test_durations_have_two_units():
    assert [duration(each) for each in (59, 61, 3600)] == [
        "59 s",
        "1 min 1 s",
        "1 h 0 min",
    ]
