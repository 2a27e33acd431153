# SPDX-License-Identifier: MIT
"""Each structure against a plain model, one million random operations: every answer, and what is left at the end."""
import re

import pytest

import build

# A tree of several levels in both: small nodes in a checking build, the nodes and searches that are measured in the other.
SHAPES = {"small": ("check", build.SMALL, 300), "measured": ("optimised", [], 20000)}
LIST_KEYS = 60


def structures():
    """Under a reclaimer that frees and under one that does not; what holds no nodes has nothing to compare."""
    return [each for each in build.combinations(build.binary("build"))
            if each.kind == "set" and each.has_nodes and each.reclaimer in ("ebr", "leak") and each.policy == "batch"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("pair", structures(), ids=str)
def test_model(pair, shape, tmp_path):
    variant, sizes, keys = SHAPES[shape]
    program = build.program("model/model.c", tmp_path / "model", *pair.defines(), *sizes, variant=variant)
    done = build.run([program, "1000000", str(LIST_KEYS if pair.structure == "hm_list" else keys), "1"])
    assert done.returncode == 0, done.stderr
    assert int(re.search(r"(\d+) retired", done.stdout)[1]) > 100
