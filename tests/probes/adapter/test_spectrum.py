import numpy as np
import pytest
import torch

from ftlab.probes.adapter.spectrum import (
    cosine,
    effective_rank,
    energy_beyond,
    gram,
    pack,
    singular_values,
    unpack,
)


def random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def rank_of(a, b):
    """Effective rank by the full product in float64."""
    singular = np.linalg.svd((b.double() @ a.double()).numpy(), compute_uv=False)
    shares = singular[singular > 0] / singular.sum()
    return np.exp(-(shares * np.log(shares)).sum())


def test_gram_matrices_come_with_their_scale_split_off():
    factor = random(3, 4, 50) * 1e-20
    norms, grams = gram(factor)
    wide = factor.double()
    assert torch.allclose(norms, wide.flatten(1).norm(dim=1))
    assert torch.allclose(grams * norms[:, None, None] ** 2, wide @ wide.mT, rtol=1e-9)
    assert torch.allclose(grams.diagonal(dim1=1, dim2=2).sum(1), torch.ones(3).double())


def test_a_factor_of_zeros_has_a_gram_matrix_of_zeros():
    norms, grams = gram(torch.zeros(1, 3, 5))
    assert norms.item() == 0
    assert not grams.any()


def test_cosine_times_norms_is_the_norm_of_the_product():
    a, b = random(2, 4, 30), random(2, 20, 4, seed=1)
    (a_norms, a_grams), (b_norms, b_grams) = gram(a), gram(b.mT)
    size = a_norms * b_norms * cosine(a_grams, b_grams)
    assert torch.allclose(size, (b.double() @ a.double()).flatten(1).norm(dim=1))


@pytest.mark.parametrize("r", [1, 2, 7])
def test_packing_through_float32_keeps_float64(r):
    _, grams = gram(random(3, r, 40))
    flat = pack(grams)
    assert flat.dtype == torch.float32
    assert flat.shape == (3, r * (r + 1))
    assert np.abs(unpack(flat.numpy(), r) - grams.numpy()).max() < 1e-14


@pytest.mark.parametrize("r", [1, 4, 64, 256])
def test_effective_rank_matches_the_full_product(r):
    a, b = random(r, 300), random(280, r, seed=1) * torch.logspace(0, -6, r)
    (_, a_grams), (_, b_grams) = gram(a[None]), gram(b.mT[None])
    packed = [unpack(pack(each).numpy(), r) for each in (a_grams, b_grams)]
    found = singular_values(*packed)
    assert effective_rank(found)[0] == pytest.approx(rank_of(a, b), rel=1e-4)
    full = np.linalg.svd((b.double() @ a.double()).numpy(), compute_uv=False)[:r]
    assert found[0] / found[0, 0] == pytest.approx(full / full[0], abs=1e-6)
    for cut in (each for each in (1, 3, 32) if each < r):
        lost = (full[cut:] ** 2).sum() / (full**2).sum()
        assert energy_beyond(found, cut)[0] == pytest.approx(lost, rel=1e-5, abs=1e-11)


def test_effective_rank_counts_equal_directions():
    eye = np.eye(5)[None]
    assert effective_rank(singular_values(eye, eye))[0] == pytest.approx(5)
    assert energy_beyond(singular_values(eye, eye), 2)[0] == pytest.approx(3 / 5)
    one = np.zeros((1, 5, 5))
    one[0, 2, 2] = 7.0
    assert effective_rank(singular_values(eye, one))[0] == pytest.approx(1)
    assert energy_beyond(singular_values(eye, one), 1)[0] == 0


def test_zero_has_rank_zero_and_non_finite_has_none():
    stack = np.stack([np.eye(3), np.zeros((3, 3)), np.full((3, 3), np.nan)])
    found = singular_values(np.stack([np.eye(3)] * 3), stack)
    ranks, lost = effective_rank(found), energy_beyond(found, 1)
    assert ranks[0] == pytest.approx(3)
    assert ranks[1] == 0
    assert lost[:2] == pytest.approx([2 / 3, 0])
    assert np.isnan(ranks[2])
    assert np.isnan(lost[2])
    assert np.isnan(singular_values(stack[2:], stack[2:])).all()
