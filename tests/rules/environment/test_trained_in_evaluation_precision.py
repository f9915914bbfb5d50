"""ENV006."""

import pytest

from ftlab.rules.environment.trained_in_evaluation_precision import (
    TrainedInEvaluationPrecision,
)
from tests.rules.environment.trainers import found
from tests.runs import only

HALF = {"dtypes": ["bfloat16"], "config_dtype": "float32"}
LOADED = {"dtypes": ["bfloat16"], "config_dtype": "bfloat16"}
ASKED = {"bf16_full_eval": True}


def check(made, before, asked=ASKED):
    parts = {"made": made, "before": {"evaluated": True} | before, "asked": asked}
    return found(TrainedInEvaluationPrecision(), **parts)


@pytest.mark.parametrize(
    ("made", "before"),
    [(HALF, {}), (LOADED, {"dtypes": ["float32"]})],
)
def test_an_evaluation_has_cast_what_is_trained(made, before):
    only(check(made, before), "warning", "config bf16_full_eval")


@pytest.mark.parametrize(
    ("made", "before", "asked"),
    [
        (HALF, {"evaluated": False}, ASKED),
        (HALF, {}, {}),
        (LOADED, {"dtypes": ["bfloat16"]}, ASKED),
        (LOADED, {}, ASKED),
        ({"dtypes": ["float32"], "config_dtype": "float32"}, {}, ASKED),
    ],
)
def test_what_was_loaded_so_or_never_evaluated_is_left_in_peace(made, before, asked):
    assert check(made, before, asked) == ()
