import numpy as np
import pytest

from ftlab.views.charts.columns import Columns
from ftlab.views.charts.columns_widget import ColumnsWidget
from ftlab.views.front_end import front_end


class Front:
    """What columns.js does with snaps and messages, in Python."""

    def __init__(self, widget):
        self.matrix, self.epoch = None, -1
        self.load(widget.snap)

    def load(self, snap):
        head = np.frombuffer(snap[:32], np.int32)
        self.epoch, self.rows, self.cols, self.start, self.stride = head[:5].tolist()
        self.matrix = np.frombuffer(snap[32:], np.float32).reshape(-1, self.rows).copy()

    def take(self, message, buffers):
        if (message["t"], message["epoch"]) != ("columns", self.epoch):
            return
        block = np.frombuffer(buffers[0], np.float32).reshape(-1, message["rows"])
        end = message["at"] + len(block)
        missing = max(0, end - len(self.matrix))
        self.matrix = np.pad(self.matrix, ((0, missing), (0, 0)))
        self.matrix[message["at"] : end] = block


def plain(values):
    return np.ascontiguousarray(values, np.float32)


@pytest.fixture
def widget(monkeypatch):
    columns = Columns(2, capacity=8)
    made = ColumnsWidget(columns, plain, {"kind": "test"}, [{"row": "a"}, {"row": "b"}])
    made.front = Front(made)
    monkeypatch.setattr(
        made, "send", lambda message, buffers: made.front.take(message, buffers)
    )
    made.observe(lambda change: made.front.load(change.new), "snap")
    made._snap_due = float("inf")
    yield made
    made.close()


def test_pushing_sends_nothing_and_flushing_sends_new_columns_once(widget):
    widget.push(0, [1, 2])
    widget.push(1, [3, 4])
    assert widget.messages == 0
    widget.flush()
    assert (widget.messages, widget.message_bytes) == (1, 16)
    widget.flush()
    assert widget.messages == 1
    assert widget.front.matrix.tolist() == [[1, 2], [3, 4]]


def test_the_front_end_is_equal_after_pooling_and_more_columns(widget):
    for step in range(40):
        widget.push(step, [step, -step])
        widget.flush()
        front, columns = widget.front, widget.columns
        assert np.array_equal(front.matrix, columns.values)
        assert (front.start, front.stride) == (columns.start, columns.stride)


def test_a_message_from_before_the_pooling_is_not_mixed_in(widget):
    late = {"t": "columns", "epoch": widget.front.epoch, "at": 0, "rows": 2}
    for step in range(9):
        widget.push(step, [step, step])
    widget.flush()
    before = widget.front.matrix.copy()
    widget.front.take(late, [plain([[99, 99]]).tobytes()])
    assert np.array_equal(widget.front.matrix, before)


def test_settling_makes_a_page_whole_that_missed_messages(widget):
    widget.push(0, [1, 2])
    widget.flush()
    widget.front.matrix[:] = -1
    widget.settle()
    assert widget.front.matrix.tolist() == [[1, 2]]


def test_settling_sends_nothing_when_nothing_was_sent(widget):
    before = widget.snap
    widget.settle()
    assert widget.snap is before


def test_other_columns_take_the_place_of_the_first(widget):
    columns = Columns(3, capacity=8)
    columns.put(0, [1, 2, 3])
    widget.replace(columns, plain, [{"row": name} for name in "abc"])
    assert widget.front.matrix.tolist() == [[1, 2, 3]]
    assert len(widget.rows) == 3


def test_remarks_are_sent_only_when_they_differ(widget):
    seen = []
    widget.observe(lambda change: seen.append(change.new), "notes")
    widget.say(["one"])
    widget.say(("one",))
    assert seen == [["one"]]


def test_the_text_form_has_no_address(widget):
    assert repr(widget) == "<ftlab columns widget>"


def test_front_ends_are_one_module_with_one_default_export():
    for last in ("charts/heat.js", "charts/lines.js"):
        module = front_end("charts/columns.js", "charts/chart.js", last)
        assert module.count("export default") == 1
        assert "import " not in module.replace("important", "")
