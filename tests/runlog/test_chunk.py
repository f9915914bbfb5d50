import numpy as np
import pytest

from ftlab.records.errors import BadValueError
from ftlab.runlog.chunk import SPAN, Chunk, rows_of
from tests.runlog.sample import IDS, block


def chunk_of(*blocks):
    chunk = Chunk(0, IDS)
    for entry in blocks:
        chunk.put(rows_of(entry))
    return chunk


def test_a_column_that_is_seldom_measured_takes_little_memory():
    seldom = chunk_of(*(block(step, often=[1, 2, 3]) for step in range(SPAN)))
    before = seldom.nbytes
    seldom.put(rows_of(block(SPAN - 1, seldom=[1, 2, 3])))
    assert seldom.nbytes - before == 4 * 3 * 4
    piece = seldom.piece("seldom", 0, SPAN)
    assert piece.known.sum() == 3
    np.testing.assert_array_equal(piece.layers[0][-1], [1, 2, 3])


def test_what_is_known_grows_with_the_values():
    blocks = [
        block(step, has_grad=[1, step % 2, 1], grad_l2=[step] * 3) for step in range(20)
    ]
    piece = chunk_of(*blocks).piece("grad_l2", 0, SPAN)
    assert piece.known[:, 1].tolist() == [step % 2 == 1 for step in range(20)]
    assert piece.known[:, [0, 2]].all()
    assert np.isnan(piece.layers[0][0, 1])


def test_gives_no_piece_where_it_has_no_steps():
    assert chunk_of(block(3, a=[1, 2, 3])).piece("a", 4, 60) is None
    assert chunk_of().piece("a", 0, SPAN) is None


def test_refuses_an_earlier_step():
    chunk = chunk_of(block(3, a=[1, 2, 3]))
    with pytest.raises(BadValueError, match="step 2 came after step 3"):
        chunk.put(rows_of(block(2, a=[1, 2, 3])))
