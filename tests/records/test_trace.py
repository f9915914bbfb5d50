import math

from ftlab.records.trace import Trace, TracedLink, TracedOp, tensor_words


def test_places_are_named_as_a_reader_would():
    assert TracedOp(0, "op", module="mlp", module_class="MLP").place == "mlp (MLP)"
    assert TracedOp(0, "op", module="", module_class="Llama").place == "Llama"
    assert TracedOp(0, "op").place == "no module (the step's own code)"
    assert TracedOp(0, "op", phase="optimizer", parameter="w").place == "w"
    assert TracedOp(0, "op", phase="optimizer").place == "the optimizer's step"


def test_the_line_to_read_is_the_library_s_within_modules_and_optimizers():
    lines = {"user_line": "train.py:1", "library_line": "model.py:2"}
    assert TracedOp(0, "op", **lines).line == "train.py:1"
    assert TracedOp(0, "op", module="mlp", **lines).line == "model.py:2"
    assert TracedOp(0, "op", phase="optimizer", **lines).line == "model.py:2"
    assert TracedOp(0, "op", module="mlp", user_line="train.py:1").line == "train.py:1"


def test_words_of_a_tensor_say_what_was_counted():
    def words(**values):
        return tensor_words(TracedOp(0, "op", dtype="float16", shape=(2,), **values))

    assert words(low=-0.0, high=1.0) == "float16[2], 0 to 1"
    assert words(nans=3, infs=1000) == "float16[2], 3 NaN, 1,000 Inf"
    assert words(nans=-1) == "float16[2], NaN"
    assert words(low=math.inf, high=math.inf, infs=2) == "float16[2], 2 Inf"
    assert tensor_words(TracedLink(-1, "in batch 'x'")) == ""


def test_a_title_says_what_happened_and_when():
    assert Trace(173, 1, (), headline="born.").title == "Step 173, micro-batch 1: born."
