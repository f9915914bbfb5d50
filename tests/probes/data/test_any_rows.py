"""Rows of any shape are looked at, and none of them stops the scan."""

from hypothesis import HealthCheck, example, given, settings, strategies as st

from ftlab.probes.data.rows.formats import PAIRS
from ftlab.probes.data.rows.parts import ROLES
from ftlab.session.data import data
from tests.probes.tokens import vocabularies

TEXTS = st.text(st.characters(codec=None), max_size=40) | st.sampled_from(
    ["<|im_end|>", "a\u200bb", "Ã©", "```", "", " ", "queue=x", "\ud83d", "é" * 70]
)
KEYS = st.sampled_from(["role", "content", "a", "text", "answer_start", "en"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(sorted(ROLES)) | VALUES, "content": TEXTS | VALUES}
    ),
    max_size=4,
)
OTHERS = ("messages", "conversations", "chosen", "rejected", "text", "label", "tools")
COLUMNS = st.sampled_from([*OTHERS, *sorted({name for pair in PAIRS for name in pair})])
ROWS = st.dictionaries(COLUMNS, TEXTS | MESSAGES | VALUES, max_size=4) | VALUES


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ROWS, min_size=1, max_size=6))
@example([[None, {"role": "", "a": True}]])
@example([{"label": "", "messages": ""}])
def test_rows_of_any_shape_are_looked_at(rows):
    whole = [*rows, {"text": "one that is understood"}]
    report = data(whole, vocabularies.byte_level(), max_length=20)
    assert report.summary.rows == len(whole)
    assert set(report.kept()) <= set(range(len(whole)))
    assert repr(report).isprintable() or "\n" in repr(report)
    assert "\x1b" not in repr(report)
    assert "<script" not in report.widget().value
