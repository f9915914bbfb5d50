"""Source lines name the user's code and the library's."""

import numpy as np
import torch

from ftlab.replay.tracing.site import shown, source_lines


def test_the_users_line_is_the_innermost_outside_packages():
    user, library = source_lines()
    assert user == library
    assert "test_site.py" in user
    assert user.endswith("test_the_users_line_is_the_innermost_outside_packages")


def test_a_library_that_the_user_calls_is_named_apart():
    # np.vectorize calls straight from NumPy's own code, with no line of ours within.
    user, library = np.vectorize(source_lines, otypes=[object, object])()
    assert "test_site.py" in str(user)
    assert str(library).startswith("numpy/")


def test_a_cells_file_isshown_without_its_process_number():
    assert shown("/tmp/ipykernel_812/3391.py", 12, "<module>") == "<cell>:12 <module>"
    packages = torch.__path__[0].removesuffix("/torch")
    assert shown(f"{packages}/peft/x.py", 3, "f") == "peft/x.py:3 f"
