"""A paused debugger for tests of its panel, which only remembers what it was sent."""

from ftlab.records.errors import NotPausedError
from ftlab.records.handle import CallbackHandle
from ftlab.replay.stops.batch_text import SampleText
from ftlab.replay.stops.excerpt import Excerpt, Frame, Listing
from ftlab.replay.stops.histogram import Histogram
from ftlab.replay.stops.report import Link, PauseReport, TensorFacts
from ftlab.replay.tracing.site import Site

SITE = Site(3, "aten.div.Tensor", "forward", "norm", "Norm", "a.py:2 f", "b.py:7 g")
REPORT = PauseReport(
    "paused",
    "anomaly",
    step=12,
    what="nan",
    kind="parameter",
    name="<script>w</script>",
    site=SITE,
    inputs=(TensorFacts("self", "float32", (4, 8), -1.0, 2.0),),
    outputs=(TensorFacts("", "float32", (4, 8), -1.0, 2.0, nans=3),),
    chain=(Link(TensorFacts("", "float16", (8,), 0.0, 6e4), None, "batch <b>x</b>"),),
    cause="The weight held a <b>NaN</b> before the step.",
)


class Commands:
    """Makes the commands of trials, as words."""

    def in_float32(self):
        """Ask in words."""
        return "try in float32"

    def skip_sample(self, *samples):
        """Ask in words."""
        return f"try without {samples}"

    def resume(self, *, with_patch):
        """Ask in words."""
        return f"resume with_patch={with_patch}"


class Controller:
    """A debugger that only remembers what it was sent."""

    commands = Commands()

    source = Listing(
        [Excerpt("your line", "a.py:2 f", 1, 2, ("def f(x):", "    return '<i>' / x"))]
    )
    stack = Listing([Frame("a.py:2 f", "return '<i>' / x", yours=True)])
    batch_text = (SampleText(0, 0, 9, ("<pad>", "cat"), (True, False)),)
    histogram = Histogram((-1.0, 0.0, 2.0), (10, 19), 32, nans=3)

    def __init__(self, state="paused", where=REPORT):
        self.state, self.where, self.sent, self.listeners = state, where, [], []

    def send(self, command):
        """Remember ``command``."""
        if self.state != "paused":
            msg = "Training is not paused."
            raise NotPausedError(msg)
        self.sent.append(command)

    def subscribe(self, listener):
        """Remember ``listener``."""
        self.listeners.append(listener)
        return CallbackHandle(lambda: self.listeners.remove(listener))

    def becomes(self, state):
        """Change the state, as the training thread does."""
        self.state = state
        for listener in self.listeners:
            listener()
