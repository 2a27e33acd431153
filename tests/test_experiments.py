# SPDX-License-Identifier: MIT
"""Every file in experiments/ parses, asks and answers something, and is accepted by the driver."""

import glob
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DRIVER = os.path.join(ROOT, "build", "reclaimbench")
EXPERIMENTS = sorted(glob.glob(os.path.join(ROOT, "experiments", "*.ini")))
sys.path[:0] = [os.path.join(ROOT, "scripts")]

from lib import experiment  # noqa: E402
from lib.command import UserError  # noqa: E402


@pytest.mark.parametrize("quick", [[], ["--quick"]], ids=["full", "quick"])
@pytest.mark.parametrize("path", EXPERIMENTS, ids=os.path.basename)
def test_every_experiment_is_accepted_by_the_driver(path, quick):
    if not os.path.exists(DRIVER):
        pytest.skip("build/reclaimbench is not built: run make")
    done = subprocess.run([os.path.join(ROOT, "scripts", "run"), path, "--check", *quick], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", EXPERIMENTS, ids=os.path.basename)
def test_every_experiment_parses(path):
    for quick in (False, True):
        found = experiment.load(path, quick)
        assert found.question and found.expected and found.claims and found.figures


def test_there_are_experiments():
    assert len(EXPERIMENTS) >= 2
    with pytest.raises(UserError):
        experiment.load(os.path.join(ROOT, "README"))
