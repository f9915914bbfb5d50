import pytest
import torch

from ftlab.session.debugging.debug import debug


class Log(torch.nn.Module):
    def forward(self, values):
        return values.log()


class Tokenizer:
    def decode(self, ids):
        return f"w{ids[0]}"


@pytest.fixture
def paused():
    embedding = torch.nn.Embedding(4, 1)
    with torch.no_grad():
        embedding.weight.copy_(torch.tensor([[1.0], [2.0], [-1.0], [4.0]]))
    model = torch.nn.Sequential(embedding, Log())

    def step(batch):
        model(batch["input_ids"]).mean().backward()

    batch = {"input_ids": torch.tensor([[0, 1, 2], [3, 0, 1]])}
    with debug(step, [batch], model=model, tokenizer=Tokenizer()) as debugger:
        debugger.run()
        yield debugger


def test_source_shows_the_line_that_went_wrong(paused):
    (excerpt,) = paused.source
    assert (
        excerpt.lines[excerpt.marked - excerpt.first] == "        return values.log()"
    )
    assert repr(paused.source).startswith(
        "your line: tests/session/debugging/test_debugger.py:"
    )


def test_the_stack_leads_from_the_step_to_the_operation(paused):
    assert [call.code for call in paused.stack] == [
        'model(batch["input_ids"]).mean().backward()',
        "return values.log()",
    ]


def test_the_histogram_counts_the_output(paused):
    assert (paused.histogram.total, paused.histogram.nans) == (6, 1)
    paused.back()
    assert paused.histogram.nans == 0


def test_the_batchs_text_marks_the_token(paused):
    assert repr(paused.batch_text) == "sample 0: 'w0' 'w1' >'w2'<"


def test_in_backward_the_source_shows_what_made_the_operation(paused):
    paused.step(to="backward 1")
    roles = [(one.role, one.place.split()[-1]) for one in paused.source]
    assert roles == [("forward", "forward"), ("your line", "step")]


def test_after_the_run_there_is_nothing_to_look_at(paused):
    paused.abort()
    assert paused.source == paused.stack == paused.batch_text == ()
    assert paused.histogram is None
