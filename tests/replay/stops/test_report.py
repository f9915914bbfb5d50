"""The text of a report is fixed: notebooks compare it."""

from ftlab.replay.stops.report import Link, PauseReport, TensorFacts
from ftlab.replay.stops.spans import TokenSpan
from ftlab.replay.tracing.site import Site

FORWARD = Site(
    12, "aten.sqrt.default", "forward", "layers.1.mlp", "LlamaMLP", "mine.py:3 f", ""
)
BACKWARD = Site(
    40,
    "aten.div.Tensor",
    "backward",
    "layers.1.mlp",
    "LlamaMLP",
    "mine.py:9 step",
    "trainer.py:1 g",
    "SqrtBackward0",
    FORWARD,
)


def test_a_report_of_an_anomaly():
    report = PauseReport(
        "paused",
        "anomaly",
        step=3,
        micro_batch=1,
        what="nan",
        kind="backward",
        site=BACKWARD,
        operations=50,
        inputs=(TensorFacts("self", "float32", (2, 3), 0.0, 0.0),),
        outputs=(TensorFacts("", "float32", (2, 3), None, None, nans=6),),
        spans=(TokenSpan(1, 4, 6, "of the"), TokenSpan(2)),
        chain=(
            Link(TensorFacts("", "float32", (2, 3), 0.0, 0.0), FORWARD),
            Link(TensorFacts("", "int64", (2,), 0, 7), None, "batch 'labels'"),
        ),
        parameters=("a", "b", "c", "d"),
        loss=2.34567,
        cause="the derivative of sqrt is infinite at 0.",
    )
    assert repr(report) == (
        "Paused at step 3, micro-batch 1, before the weights change: NaN first "
        "appeared in backward, in layers.1.mlp (LlamaMLP).\n"
        "  cause     the derivative of sqrt is infinite at 0.\n"
        "  op        aten.div.Tensor, backward, node SqrtBackward0, 40 of 50\n"
        "  module    layers.1.mlp (LlamaMLP)\n"
        "  forward   aten.sqrt.default, 12, at mine.py:3 f\n"
        "  line      mine.py:9 step\n"
        "  library   trainer.py:1 g\n"
        "  input     self: float32[2, 3], 0 to 0\n"
        "  output    float32[2, 3], 6 NaN\n"
        "  tokens    sample 1, tokens 4-5 'of the'; sample 2\n"
        "  from      float32[2, 3], 0 to 0 by aten.sqrt.default 12, layers.1.mlp "
        "(LlamaMLP), mine.py:3 f\n"
        "  from      int64[2], 0 to 7 in batch 'labels'\n"
        "  loss      2.35\n"
        "  gradients non-finite in a, b, c and 1 more\n"
        "  next      resume() takes this step as it is: fix the cause and back() "
        "first, or abort()"
    )


def test_a_stop_that_is_no_anomaly_and_the_end_of_a_run():
    assert repr(PauseReport("paused", "interrupt", step=1)) == (
        "Paused at step 1, micro-batch 0, at the end of the micro-batch (interrupt)."
    )
    assert repr(PauseReport("finished", step=1)) == (
        "The run is finished, after 1 optimizer step."
    )


def test_what_was_there_before_is_named():
    report = PauseReport(
        "paused", "anomaly", what="inf", kind="parameter", name="w", site=FORWARD
    )
    assert report.headline().endswith("Inf was already in parameter w.")
    unknown = PauseReport(
        "paused", "anomaly", what="nan", kind="unknown", replayable=False
    )
    assert "before the weights" not in unknown.headline()
    assert unknown.headline().endswith("NaN was seen, but not where it first appeared.")
