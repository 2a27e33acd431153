# SPDX-License-Identifier: MIT
"""What the documentation names exists: columns, options, files."""
import itertools
import re

import pytest

import driver

ROOT = driver.ROOT
PAGES = sorted(itertools.chain(ROOT.glob("*.md"), *(ROOT.glob(f"{folder}/*.md") for folder in
                                                    ("docs", "experiments", "allocators", "structures", "reclaimers", "tests"))))
ELSEWHERE = {"--list-tunables": "glibc's loader"}
OURS = ("build/reclaimbench", "reclaimbench", "scripts/", "tests/multisocket/run")


def page_id(path):
    return str(path.relative_to(ROOT))


def described_columns():
    """The names in the first cell of each line of row.md's tables."""
    for line in (ROOT / "docs" / "row.md").read_text().splitlines():
        if line.startswith("| `"):
            yield from re.findall("`([a-z0-9_]+)`", line.split("|")[1])


def test_every_column_is_described_in_order():
    assert list(described_columns()) == list(driver.checked())


def known_options():
    """Of the driver by its --help, of each script by its own text: scripts are short and have no second parser."""
    known = {f"--{name}" for name in driver.help_options()} | set(ELSEWHERE)
    for script in [*ROOT.glob("scripts/*"), ROOT / "tests" / "multisocket" / "run"]:
        if script.is_file() and script.read_bytes().startswith(b"#!"):
            known |= set(re.findall(r"--[a-z][a-z-]+", script.read_text()))
    return known


def foreign(line, option):
    """An option of somebody else's command: that command stands before it in the same code."""
    holding = [code for code in re.findall("`([^`]+)`", line) or [line.strip()] if option in code]
    return bool(holding) and not any(code.startswith("-") or any(word in code for word in OURS) for code in holding)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_named_options_exist(page):
    known = known_options()
    wrong = [f"{number}: {option}" for number, line in enumerate(page.read_text().splitlines(), 1)
             for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", line)
             if option not in known and not foreign(line, option)]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_named_files_exist(page):
    """Paths in code spans: those that begin with one of our folders, without a placeholder in capitals."""
    folders = "|".join(sorted(path.name for path in ROOT.iterdir() if path.is_dir() and not re.match(r"build|results|\.", path.name)))
    named = set(re.findall(rf"`((?:{folders})/[\w./-]*)`", page.read_text()))
    wrong = [name for name in named if not re.search("[A-Z]{2}", name) and not (ROOT / name).exists()]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_named_tests_exist(page):
    """`tests/test_x.py::test_y`, and `tests/unit/test_x.c: case` for what a C program calls its cases."""
    text = page.read_text()
    wrong = [f"{name}::{case}" for name, case in re.findall(r"`(tests/\w+\.py)::(\w+)`", text)
             if not re.search(rf"^def {case}\(", (ROOT / name).read_text(), re.M)]
    wrong += [f"{name}: {case}" for name, case in re.findall(r"`(tests/unit/\w+\.c): (\w+)`", text)
              if f"cmocka_unit_test({case})" not in (ROOT / name).read_text()]
    assert wrong == []


def test_each_point_about_the_artifact_has_a_test():
    points = re.findall(r"^\| (\d+)\. .*\|([^|]*)\|$", (ROOT / "docs" / "paper-artifact.md").read_text(), re.M)
    assert [int(number) for number, _ in points] == list(range(1, 15))
    # What compares hazard slots does not exist yet.
    assert [number for number, tests in points if "`tests/" not in tests] == ["11"]
