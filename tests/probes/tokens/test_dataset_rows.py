"""Rows of a dataset, as a tokenizer reads them."""

import pytest

from ftlab.faults.builders.chats import tokenizer
from ftlab.probes.tokens.dataset_rows import of_rows
from ftlab.records.errors import BadValueError


def test_the_row_that_a_template_refuses_is_named():
    refusing = tokenizer()
    refusing.chat_template = (
        "{% for m in messages %}{% if m.role == 'system' %}"
        "{{ raise_exception('no system') }}{% endif %}{{ m.content }}{% endfor %}"
    )
    good = [{"role": "user", "content": "Hi"}]
    rows = [{"messages": good}, {"messages": [{"role": "system", "content": "a"}]}]
    with pytest.raises(BadValueError, match=r"^row 1 of the dataset: .*no system"):
        of_rows(rows, refusing)
