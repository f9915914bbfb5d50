"""The view of a profile: rows of layers are one, and numbers are of a step."""

from ftlab.views.steps.profile import Profile, ProfileView

PARTS = {
    "layers.0": [4e-3, 0, 0],
    "layers.1": [2e-3, 9e-3, 0],
    "optimizer": [0, 0, 1e-3],
}
TEXT = """\
Profile: 2 steps of the 3 asked for, 8 ms by the clock each; below, ms of a step
              forward  backward  elsewhere   %
layers.* (2)     3.00      4.50       0.00  94
optimizer        0.00      0.00       0.50   6"""


def test_layers_are_folded_in_the_text_and_apart_in_the_table():
    view = ProfileView(lambda: Profile(3, 2, "CPU", 16e-3, PARTS))
    assert str(view) == TEXT
    table = view.table()
    assert list(table.index) == ["layers.1", "layers.0", "optimizer"]
    assert table.loc["layers.1", "share"] == 11 / 16
    assert table.attrs == {"device": "CPU", "total": 16e-3}
    axis = view.figure().axes[0]
    assert [e.get_text() for e in axis.get_yticklabels()] == [
        "optimizer",
        "layers.* (2)",
    ]


def test_what_is_new_is_shown():
    steps = [1]
    view = ProfileView(
        lambda: Profile(2, steps[0], "GPU", 1.0, PARTS), lambda: steps[0]
    )
    assert "1 step of the 2 asked for, 1,000 ms of GPU time" in str(view)
    steps[0] = 2
    assert str(view).startswith("Profile: 2 steps, 500 ms of GPU time each")
