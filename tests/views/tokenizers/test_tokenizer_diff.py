"""A comparison of two tokenizers in words."""

from ftlab.records.fingerprint import Fingerprint, Part, part_of
from ftlab.records.tokenizer_diff import (
    Moved,
    Side,
    TextDifference,
    Token,
    TokenizerDiff,
)
from ftlab.views.tokenizers.tokenizer_diff import TokenizerDiffView


def kept(*, merges=True, **special) -> Fingerprint:
    parts = {"vocabulary": Part(str(len(special)) * 64, 10)}
    parts |= {"merges": Part("0" * 64, 5)} if merges else {}
    return Fingerprint(
        "Own", "tokenizers", parts | {"special tokens": part_of(special)}
    )


ONE, TWO = kept(eos_token="</s>"), kept(eos_token="<e>", pad_token="<p>", merges=False)
SIDES = (
    Side("old", 10, 1, 40, 38, 8, 4, 1, ("<s>",), ()),
    Side("new", 12, 0, 40, 40, 8, 3, 2),
)
DIFFERENCE = TextDifference(
    1, 2, 7, Token(5, " the", 6, 10), Token(None, "", 20, 20), "before the", False
)


def diff(**changes) -> TokenizerDiff:
    values = {
        "texts": 2,
        "equal": 1,
        "differences": (DIFFERENCE,),
        "moved": Moved(2, ((3, "a", "b"), (4, "b", "a")), 0, 1),
        "shifted": {"<p>": (3, 4)},
    }
    return TokenizerDiff(*SIDES, (ONE, TWO), **(values | changes))


def test_text_says_what_differs_and_where():
    assert repr(TokenizerDiffView(diff())) == (
        "Tokenizers: old against new: different ids in 1 of 2 texts, 3 parts differ\n"
        "≠ texts           1 of 2 texts have equal ids\n"
        "                  text 1, character 7: ' the' (5) against the end, in 'before "
        "the'\n"
        "  tokens          10 against 12\n"
        "≠ unknown         10.0% of all tokens against 0.0%\n"
        "≠ coverage        95.0% of all characters against 100.0%\n"
        "≠ whole words     50.0% of all words against 37.5%\n"
        "≠ come back       1 of 2 texts against 2, decoded from their ids\n"
        "≠ around texts    old puts <s> before, new puts nothing around\n"
        "≠ shifted         1 token with a different id\n"
        "                  <p> 3 against 4\n"
        "≠ ids             2 ids for a different piece, 1 id only in new\n"
        "                  3: 'a' against 'b'\n"
        "                  4: 'b' against 'a'\n"
        "≠ vocabulary      10 ids on both sides, different ones\n"
        "≠ merges          5 bytes against nothing\n"
        "≠ special tokens  eos_token '</s>' against '<e>'\n"
        "                  pad_token nothing against '<p>'"
    )


def test_what_is_the_same_is_said_so():
    same = TokenizerDiff(SIDES[0], SIDES[0], (ONE, ONE), texts=2, equal=2)
    view = TokenizerDiffView(same)
    assert view.same
    lines = repr(view).splitlines()
    assert lines[0] == "Tokenizers: old against old: the same"
    assert not any(line.startswith("≠") for line in lines)


def test_parts_may_differ_where_all_ids_are_the_same():
    view = TokenizerDiffView(diff(equal=2, differences=(), moved=None, shifted={}))
    assert not view.same
    head = repr(view).splitlines()[0]
    assert head.endswith("the same ids in all texts, 3 parts differ")


def test_what_is_not_checked_is_told():
    unchecked = TokenizerDiff(
        Side("a"), Side("b"), (ONE, ONE), unchecked=("ids: a kept no vocabulary",)
    )
    assert "? not checked  ids: a kept no vocabulary" in repr(
        TokenizerDiffView(unchecked)
    )


def test_texts_of_the_same_pieces_are_counted_apart():
    alike = TextDifference(
        0, 0, 0, Token(5, "a", 0, 1), Token(6, "a", 0, 1), "a", same_pieces=True
    )
    view = TokenizerDiffView(diff(differences=(alike,)))
    assert "1 more the same pieces with different ids" in repr(view)


def test_the_table_has_a_row_for_each_text_that_differs():
    table = TokenizerDiffView(diff()).table()
    (row,) = table.to_dict("records")
    assert (row["text"], row["character"], row["left"]) == (1, 7, " the")
    assert table["right_id"].isna().all()
    empty = TokenizerDiffView(diff(differences=(), equal=2)).table()
    assert list(empty.columns) == list(table.columns)
    assert len(empty) == 0


def test_switches_that_one_side_alone_has_come_last():
    parts = {"a": False, "b": 1, "c": "x"}, {"b": 3, "d": None, "e": 5}
    prints = [Fingerprint("Own", "python", {"switches": part_of(p)}) for p in parts]
    said = repr(TokenizerDiffView(TokenizerDiff(Side("old"), Side("new"), prints)))
    order = [said.index(f"{each} ") for each in ("b 1", "c 'x'", "e nothing", "a off")]
    assert order == sorted(order)


def test_ids_that_are_drawn_at_each_call_are_told():
    kept = Fingerprint("Own", "python", {"switches": part_of({"legacy": True})})
    sides = Side("old", tokens=3), Side("new", tokens=4)
    diff = TokenizerDiff(*sides, (kept, kept), texts=1, equal=0)
    assert "ids are random at each call" in repr(TokenizerDiffView(diff))
    same = TokenizerDiff(*sides, (kept, kept), texts=1, equal=1)
    assert "drawn at each call" not in repr(TokenizerDiffView(same))
