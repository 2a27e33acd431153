# SPDX-License-Identifier: MIT
"""What the proofs share: each variant is built once per session."""
import functools

import pytest

import build


@pytest.fixture(scope="session")
def lane():
    """lane(variant): its binary, with small nodes unless nodes="default"."""
    @functools.cache
    def built(variant, nodes="small"):
        # Where the size is no question the other binary is the same.
        sizes = [build.SMALL_NODES] if nodes == "small" else [f"STRUCTURES={' '.join(build.SIZED)}"]
        return build.binary(f"build-proof-{variant}-{nodes}", f"VARIANT={variant}", "CFLAGS=-g1", *sizes)
    return built


def pytest_generate_tests(metafunc):
    """One test for each sound combination, by the list of the optimised binary; with `fence`, one for each kind of fence that makes a
    difference to it."""
    if "combination" not in metafunc.fixturenames:
        return
    found = build.combinations(build.binary("build"))
    if "fence" in metafunc.fixturenames:
        pairs = [(each, fence) for each in found for fence in (["auto", "full"] if each.fenced else ["auto"])]
        metafunc.parametrize("combination, fence", pairs, ids=str)
    else:
        metafunc.parametrize("combination", found, ids=str)
