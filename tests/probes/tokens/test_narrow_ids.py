"""What ids have in common that a narrow type has held."""

import numpy as np
import pytest
import torch

from ftlab.faults.builders.stored import texts, tokenizer
from ftlab.probes.tokens.narrow_ids import id_facts
from ftlab.probes.tokens.sample_reading import Columns, samples_in
from ftlab.records.id_facts import IdFacts, Residue

MADE = tokenizer(900)


def held(rows, special=None, made=MADE):
    known = {kind: frozenset(ids) for kind, ids in (special or {}).items()}
    samples = []
    for number, ids in enumerate(rows):
        columns = Columns(np.array(ids))
        (sample,) = samples_in(columns, known, number, 0)
        samples.append((sample, columns.ids))
    return id_facts(samples, known, made)


def stored(kind):
    return [np.array(MADE(t)["input_ids"]).astype(kind).astype(int) for t in texts()]


def rounded(kind):
    rows = (torch.tensor(MADE(t)["input_ids"]) for t in texts())
    return [row.to(kind).long().numpy() for row in rows]


def test_ids_that_fit_are_not_broken():
    facts = held(stored("uint16"))
    assert facts.broken == 0
    assert facts.largest > 256
    assert facts.size == len(MADE)


def test_ids_of_one_byte_do_not_decode():
    facts = held(stored("uint8"))
    assert facts.largest < 256
    assert facts.broken > facts.tokens / 20


def test_a_text_that_was_cut_within_a_character_is_not_broken():
    letters = MADE.backend_tokenizer.pre_tokenizer.pre_tokenize_str("日本")[0][0]
    ids = MADE.convert_tokens_to_ids(list(letters))
    assert held([ids[1:-1]]).broken == 0
    assert held([[*ids[1:], *ids[1:]]]).broken > 0


@pytest.mark.parametrize(
    ("kind", "bits", "other"), [(torch.bfloat16, 8, 11), (torch.float16, 11, 8)]
)
def test_rounded_ids_are_all_held_by_the_type(kind, bits, other):
    ids = torch.arange(3000, 9000, 7)
    facts = held([ids.to(kind).long().tolist()])
    assert facts.beyond[bits] == facts.kept[bits] > 24
    exact = held([ids.tolist()])
    assert exact.kept[bits] < exact.beyond[bits]
    assert (facts.kept[other] == facts.beyond[other]) == (other == 11)


def test_a_type_holds_the_multiples_of_its_spacing():
    facts = held([[256, 258, 514, 2050, 4098]])
    assert facts.beyond == {8: 4, 11: 2}
    assert facts.kept == {8: 1, 11: 1}


def test_what_bfloat16_makes_of_a_text_is_told():
    facts = held(rounded(torch.bfloat16))
    assert facts.beyond[8] == facts.kept[8] > 24


MARKS = {"stop": {70_001}, "bos": {70_000}}
WIDE = tokenizer(900, filled=69_500)


def test_what_16_bits_leave_of_a_mark_is_told_with_its_place():
    end = 70_001 % 65_536
    rows = [[5 + n, end, 7, 8, 9, 10, end] for n in range(4)]
    facts = held(rows, MARKS, WIDE)
    assert facts.residues == (Residue(70_001, end, 4),)
    assert facts.place == (0, 0, 6)


def test_nothing_is_left_of_a_mark_where_an_id_is_greater_or_it_stands_within():
    end = 70_001 % 65_536
    assert held([[5, 6, 70_001], [5, 6, end]], MARKS, WIDE).residues == ()
    assert held([[5, 6, 7, end, 8, 9, 10, 11]], MARKS, WIDE).residues == ()
    assert held([[5, 6, end]], MARKS, MADE).residues == ()


def test_nothing_is_told_of_no_samples_nor_read_by_a_broken_tokenizer():
    class Broken:
        def __len__(self):
            return 900

        def decode(self, ids, **settings):
            raise ValueError(ids)

    assert held([]) is None
    assert held([[5, 6]], made=Broken()).broken == 0
    assert held([[5, 6]], made=None).size == 0


def test_survives_a_file():
    facts = held([[5, 6, 70_001 % 65_536]] * 2, MARKS, WIDE)
    assert facts.residues
    assert IdFacts.from_json(facts.as_json()) == facts
