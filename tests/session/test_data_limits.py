"""Where a training cuts rows off."""

from types import SimpleNamespace

import pytest

from ftlab.records.errors import BadValueError
from ftlab.session.data_limits import limit_of


def test_what_is_asked_goes_before_what_the_tokenizer_says():
    tokenizer = SimpleNamespace(model_max_length=512)
    assert limit_of(64, tokenizer) == (64, "max_length")
    assert limit_of(None, tokenizer) == (512, "the tokenizer's model_max_length")
    assert limit_of(None, SimpleNamespace(model_max_length=10**30)) == (0, "")
    assert limit_of(None, SimpleNamespace(model_max_length=True)) == (0, "")


@pytest.mark.parametrize("given", [0, -1, True, "8", 8.0])
def test_other_limits_are_refused(given):
    with pytest.raises(BadValueError, match="allowed are 1 and more"):
        limit_of(given, None)
