from dataclasses import replace

import numpy as np
import pytest

import ftlab
from ftlab.probes.tokens.rows import read_batch
from ftlab.records.errors import BadValueError
from ftlab.records.token_row import Piece, TokenBatch, TokenRow
from ftlab.views.tokens.token_grid import tokens_html
from ftlab.views.tokens.token_widget import TokenWidget
from ftlab.views.tokens.tokens import TokenView

PIECES = ["<pad>", "<s>", "</s>", "Ġhi", "Ċ", "<script>alert(1)</script>", "â"]
TEXTS = ["<pad>", "<s>", "</s>", " hi", "\n", "<script>alert(1)</script>", "\ufffd"]


def view_of(given, tokenizer=None):
    return TokenView(read_batch(given, tokenizer))


class Tokenizer:
    bos_token_id, eos_token_id, pad_token_id = 1, 2, 0

    def convert_ids_to_tokens(self, ids):
        return [PIECES[one] for one in ids]

    def decode(self, ids):
        return "".join(TEXTS[one] for one in ids)


def batch(**others):
    made = {
        "input_ids": [[1, 3, 4, 2, 0, 0], [1, 3, 3, 5, 3, 2]],
        "attention_mask": [[1, 1, 1, 1, 0, 0], [1] * 6],
        "labels": [[-100, -100, 4, 2, -100, -100], [-100, -100, -100, 5, 3, -100]],
    }
    return made | others


def test_text_describes_each_sample():
    assert repr(view_of(batch(), Tokenizer())) == (
        "Tokens: 2 samples, 12 tokens, 2 padding\n"
        "sample 0: 4 tokens, 2 padding right, trained on 2, BOS at 0, EOS at 3, "
        "EOS is trained\n"
        "sample 1: 6 tokens, trained on 2, BOS at 0, EOS at 5, EOS is not trained"
    )


def test_each_position_learns_the_token_after_it():
    table = view_of(batch(), Tokenizer()).table()
    first = table[table["sample"] == 0]
    assert first["text"].tolist() == ["<s>", "·hi", "↵", "</s>", "<pad>", "<pad>"]
    assert first["trained"].tolist() == [False, False, True, True, False, False]
    assert first["learns"].tolist() == ["", "↵", "</s>", "", "", ""]
    assert first["eos"].tolist() == [False, False, False, True, False, False]
    assert first["pad"].tolist() == [False] * 4 + [True] * 2
    assert first["label"].tolist() == [-100, -100, 4, 2, -100, -100]


class Tensor:
    """A stand-in for what views may not import: it only knows ``tolist``."""

    def __init__(self, values):
        self._values = values
        self.shape = np.shape(values)

    def tolist(self):
        return self._values


@pytest.mark.parametrize(
    "convert",
    [
        Tensor,
        np.asarray,
        lambda value: np.asarray(value, np.int32),
        lambda value: [np.asarray(row) for row in value],
        lambda value: tuple(tuple(row) for row in value),
    ],
)
def test_tensors_arrays_and_lists_give_the_same(convert):
    converted = {name: convert(value) for name, value in batch().items()}
    expected = view_of(batch(), Tokenizer()).table()
    assert view_of(converted, Tokenizer()).table().equals(expected)


def test_masks_of_bool_and_float_are_read():
    for kind in (bool, float, np.uint8):
        mask = np.asarray(batch()["attention_mask"], kind)
        view = view_of(batch(attention_mask=mask), Tokenizer())
        assert view.table().equals(view_of(batch(), Tokenizer()).table())


def test_a_real_tensor_works():
    torch = pytest.importorskip("torch")
    converted = {name: torch.tensor(value) for name, value in batch().items()}
    view = view_of(converted, Tokenizer())
    assert view.table().equals(view_of(batch(), Tokenizer()).table())


def test_one_sample_without_a_batch_axis_is_one_row():
    view = view_of({"input_ids": [1, 3, 2]}, Tokenizer())
    assert repr(view).startswith("Tokens: 1 sample, 3 tokens")
    assert "attention_mask not in the batch" in repr(view)
    assert "no labels per token" in repr(view)


def test_labels_of_a_classifier_are_not_taken_for_tokens():
    view = view_of(batch(labels=np.array([0, 1])), Tokenizer())
    assert "labels of shape (2,) does not go by token" in repr(view)
    assert not view.table()["trained"].any()
    four = np.ones((2, 1, 6, 6))
    view = view_of(batch(attention_mask=four), Tokenizer())
    assert "attention_mask of shape (2, 1, 6, 6) does not go by token" in repr(view)


def test_padding_is_found_without_a_mask_but_not_where_pad_is_eos():
    ids = {"input_ids": [[0, 0, 1, 3, 2]]}
    assert view_of(ids, Tokenizer()).summary.samples[0].side == "left"

    class Shared(Tokenizer):
        eos_token_id = 0

    assert view_of(ids, Shared()).summary.samples[0].padding.sum() == 0
    table = view_of(ids, Shared()).table()
    assert table["eos"].tolist() == table["pad"].tolist() == [True] * 2 + [False] * 3


def test_a_trained_token_outside_attention_is_shown_as_odd():
    odd = batch(attention_mask=[[1, 1, 1, 0, 0, 0], [1] * 6])
    mark = 'class="ftlab-tok ftlab-odd"'
    assert tokens_html(view_of(odd, Tokenizer()).summary).count(mark) == 1
    assert mark not in tokens_html(view_of(batch(), Tokenizer()).summary)


def test_packed_sequences_are_counted():
    places = [[0, 1, 0, 1, 0, 0], [0, 1, 2, 0, 1, 2]]
    samples = view_of(batch(position_ids=places), Tokenizer()).summary.samples
    assert [one.segments for one in samples] == [2, 2]


def test_tokens_are_text_and_never_markup():
    page = tokens_html(view_of(batch(), Tokenizer()).summary)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "</s>" not in page.replace("</span>", "").replace("</style>", "")


def test_a_part_of_a_character_shows_its_piece():
    table = view_of({"input_ids": [[6]]}, Tokenizer()).table()
    assert table["text"].tolist() == ["â"]


def test_an_id_outside_the_vocabulary_is_shown():
    table = view_of({"input_ids": [[1, 999]]}, Tokenizer()).table()
    assert table["text"].tolist()[1] == "? id 999 is not in the tokenizer"


def test_long_batches_are_cut_in_the_grid_but_not_in_the_table():
    view = view_of({"input_ids": [[3] * 600] * 20}, Tokenizer())
    page = tokens_html(view.summary)
    assert "and 88 more tokens: .table() has them" in page
    assert "and 12 more samples: .table() has them" in page
    assert len(view.table()) == 12000
    assert "... and 12 more samples in .table()" in repr(view)


def test_empty_and_ragged_batches_are_no_error():
    empty = repr(view_of({"input_ids": []}))
    assert empty.startswith("Tokens: 0 samples, 0 tokens, 0 padding")
    assert view_of({"input_ids": []}).figure().axes
    ragged = view_of({"input_ids": [[1, 3], [1]]}, Tokenizer())
    assert len(ragged.table()) == 3
    assert ragged.figure().axes


def test_a_batch_of_something_else_is_refused_with_the_call_that_works():
    with pytest.raises(BadValueError, match="it holds pixel_values"):
        view_of({"pixel_values": [[1]]})
    with pytest.raises(BadValueError, match="must hold token ids in rows"):
        view_of({"input_ids": "text"})
    with pytest.raises(BadValueError, match="must hold token ids in rows"):
        view_of({"input_ids": np.zeros((1, 2, 3))})


def test_a_processor_gives_its_tokenizer():
    class Processor:
        tokenizer = Tokenizer()

    assert (
        view_of(batch(), Processor())
        .table()
        .equals(view_of(batch(), Tokenizer()).table())
    )


def test_a_page_without_widgets_gets_the_escaped_grid():
    view = view_of(batch(), Tokenizer())
    with ftlab.options.scoped(widgets="image"):
        widget = view.widget()
        assert "ftlab-tok" in widget.value
        assert "<script" not in widget.value
        widget.close()
    with ftlab.options.scoped(widgets="static"):
        data, _ = view._repr_mimebundle_()
        assert set(data) == {"text/plain", "text/html"}
        assert "&lt;script&gt;" in data["text/html"]
    with ftlab.options.scoped(widgets="anywidget"):
        data, _ = view_of(batch(), Tokenizer())._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in data
        assert "image/png" in data


def test_what_is_wrong_stands_above_the_rows_in_every_form():
    class Ill(TokenView):
        def _summarise(self):
            return replace(super()._summarise(), faults=("DAT9 $ill: <b>x</b>",))

    row = TokenRow(np.array([5, 6]))
    view = Ill(TokenBatch((row,), {5: Piece("a", "a"), 6: Piece("b", "b")}))
    assert repr(view).splitlines()[1] == "DAT9 $ill: <b>x</b>"
    page = tokens_html(view.summary)
    assert page.index("DAT9 $ill: &lt;b&gt;") < page.index("sample 0")
    (axes,) = view.figure().axes
    assert r"DAT9 \$ill" in axes.get_title(loc="left")
    assert TokenWidget(view.summary).spec["faults"] == ["DAT9 $ill: <b>x</b>"]
