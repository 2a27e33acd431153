# SPDX-License-Identifier: MIT
"""Every test of every C unit program (tests/unit, built by `make unit`), each as a result of its own."""
import functools
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import driver

SOURCES = sorted((driver.ROOT / "tests" / "unit").glob("test_*.c"))


def cases(source):
    """The functions that the source hands to cmocka; the run tells if it has others."""
    return re.findall(r"cmocka_unit_test(?:_\w+)?\(\s*(\w+)", source.read_text())


def variants(source):
    """The flags of each build of it: the usual ones, and those of its VARIANTS comment."""
    more = re.search(r"VARIANTS:(.*?)\*/", source.read_text(), re.DOTALL)
    return [""] + ([" ".join(flags.replace("*", " ").split()) for flags in more.group(1).split("|")] if more else [])


@functools.lru_cache(maxsize=None)
def build(program, flags):
    """The program's path. Variants are builds of their own, so that make never takes one for another."""
    folder = os.environ.get("BUILD", "build") + re.sub(r"[^-A-Za-z0-9]+", "", "".join(flags.split()))
    target = f"{folder}/unit/{program}"
    subprocess.run(["make", "-C", driver.ROOT, f"BUILD={folder}", f"EXTRA_CFLAGS={flags}", target], check=True,
                   stdout=subprocess.DEVNULL)
    return driver.ROOT / target


@functools.lru_cache(maxsize=None)
def results(program, flags, folder):
    """({case: None or (outcome, what it said)}, the program's exit status and last words), after one run of it."""
    path = build(program, flags)
    report = folder / f"{program}{flags}.xml".replace(" ", "")
    done = subprocess.run([path], capture_output=True, text=True, timeout=300, check=False, cwd=driver.ROOT,
                          env={**driver.environment(), "CMOCKA_MESSAGE_OUTPUT": "XML", "CMOCKA_XML_FILE": str(report)})
    found = {}
    if report.exists():
        for case in ElementTree.parse(report).iter("testcase"):
            outcome = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
            found[case.get("name")] = None if outcome is None else (outcome.tag, (outcome.text or "").strip())
    return found, f"exit status {done.returncode}; {(done.stdout + done.stderr)[-2000:]}"


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    return tmp_path_factory.mktemp("units")


BUILDS = [(source, flags) for source in SOURCES for flags in variants(source)]


@pytest.mark.parametrize("program, flags, case",
                         [pytest.param(source.stem, flags, case, id=f"{source.stem}-{case}{flags and ' ' + flags}")
                          for source, flags in BUILDS for case in cases(source)])
def test_unit(program, flags, case, reports):
    found, words = results(program, flags, reports)
    assert case in found, f"{case} did not run: {words}"
    if found[case] is not None:
        outcome, said = found[case]
        if outcome == "skipped":
            reason = re.search("skipped: (.+)", words)
            pytest.skip(said or (reason.group(1) if reason else "skipped by the unit test"))
        pytest.fail(f"{said}\n{words}")


@pytest.mark.parametrize("program, flags", [(source.stem, flags) for source, flags in BUILDS])
def test_unit_program_is_complete(program, flags, reports):
    """It ends well, and has no test that is not listed above."""
    found, words = results(program, flags, reports)
    assert words.startswith("exit status 0;"), words
    assert set(found) == set(cases(driver.ROOT / "tests" / "unit" / f"{program}.c"))
