import numpy as np

from ftlab.runlog.reader import open_log
from ftlab.runlog.writer import LogWriter
from tests.runlog.sample import block


def test_a_row_without_a_value_is_not_known_in_a_stored_roll_up_either(tmp_path):
    writer = LogWriter.create(tmp_path / "run", config={}, versions={})
    writer.write(block(1, [1], grad_l2=[2], grad_max=[3]))
    writer.write(block(2, [0], grad_l2=[4]))
    writer.write(block(9000, [0], grad_l2=[5]))
    writer.commit()
    writer.close("finished")
    for budget in (0, 2**20):
        run = open_log(tmp_path / "run", budget=budget)
        for span in (64, 4096):
            rolled = run.matrix("grad_max", stop=100, resolution=span)
            assert rolled.known.tolist() == [[False, True]]
            np.testing.assert_array_equal(rolled.high, [[np.nan, 3]])
