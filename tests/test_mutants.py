# SPDX-License-Identifier: MIT
"""The oracles prove something only if they catch what is broken on purpose: each file in mutants/ breaks one line, and must be caught.

A mutant names the file, the old and the new text (compared word by word, so that a formatter cannot make it rot) and, in further
sections, every oracle that must catch it: by what it says, by a crash or by never ending. The source as it is must pass the same."""
import configparser
import pathlib
import platform
import re
import shutil
import subprocess

import pytest

import build
from test_oracles import crowded

ATTEMPTS = 6
# Both threads must run at once, at the right moment: on a busy machine that is rare.
BUSY_ATTEMPTS = 25
# What is broken on purpose may look odd to the compiler.
QUIET = "-w"
SECONDS = {"check": ["--seconds=1"], "asan": ["--ops=100000"], "tsan": ["--ops=30000"]}


def read(path):
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.read(path)
    return parsed


MUTANTS = {path.stem: read(path) for path in sorted((build.ROOT / "tests" / "mutants").glob("*.ini"))}
CASES = [(name, section) for name, parsed in MUTANTS.items() for section in parsed.sections() if section != "mutant"]


def tree(tmp_path_factory, name):
    """With one more reclaimer: like every plug-in, it is there when its file is."""
    copy = build.copy_tree(tmp_path_factory.mktemp(name))
    shutil.copy(build.ROOT / "tests" / "mutants" / "hazard.h", copy / "reclaimers")
    return copy


@pytest.fixture(scope="module", name="clean")
def fixture_clean(tmp_path_factory):
    return tree(tmp_path_factory, "clean")


@pytest.fixture(scope="module", name="broken")
def fixture_broken(tmp_path_factory):
    return tree(tmp_path_factory, "broken")


def mutate(text, mutant):
    """Exactly one place may have the old text."""
    pattern = r"\s+".join(re.escape(word) for word in mutant["old"].split())
    found = list(re.finditer(pattern, text))
    assert len(found) == 1, f"the old text is there {len(found)} times: adapt the mutant"
    return text[:found[0].start()] + mutant["new"] + text[found[0].end():]


def combination_of(word):
    return build.Combination(*word.split("-"))


# Each oracle: runs(tree, word, section) gives one attempt after the other.

def trial(tree, word, section):
    variant = section.get("variant", "check")
    combination = combination_of(word)
    folder = f"build-{variant}"
    # Linked anew from whatever is compiled already: make does not see that the combination is another one.
    (tree / folder / "reclaimbench").unlink(missing_ok=True)
    program = build.binary(folder, f"VARIANT={variant}", f"CFLAGS=-g1 {QUIET}", build.SMALL_NODES, *combination.restrict(), tree=tree)
    (combination,) = build.combinations(program)
    length = SECONDS[variant] if combination.kind == "set" else ["--seconds=1"]
    for attempt in range(ATTEMPTS):
        yield build.run([program, *crowded(combination), *combination.options(), *length, f"--seed={attempt + 1}"], timeout=20)


def of_program(source, *arguments, attempts=ATTEMPTS):
    """Small programs, given the attempt's number."""
    def runs(tree, word, section):
        program = build.program(source, tree / pathlib.Path(source).stem, *combination_of(word).defines(), *build.SMALL, QUIET, tree=tree,
                                variant=section.get("variant", "check"))
        for attempt in range(attempts):
            yield build.run([program, *(word for argument in arguments for word in argument.format(seed=attempt + 1, **section).split())])
    return runs


def assembly(tree, machine, section):
    """Of a function of one combination, or of the probe."""
    foreign = [] if machine == platform.machine() else [f"CC={build.CROSS}"]
    command = build.compiler("CFLAGS=", *foreign, tree=tree)
    combination = combination_of(section.get("combination", "olc_bptree-ebr-batch"))
    source = "harness/combo.c" if "combination" in section else build.ROOT / "tests" / "litmus" / "probe.c"
    done = subprocess.run([*command, *combination.defines(), "-S", "-o", "-", source], cwd=tree, capture_output=True, text=True, check=True)
    body = re.search(rf"^{section['function']}[.\w]*:(.*?)\.size\s+{section['function']}", done.stdout, re.S | re.M)[1]
    found = re.search(section["wants"], body, re.S)
    yield subprocess.CompletedProcess(command, 0 if found else 1, body, f"{section['function']} lacks {section['wants']}")


ORACLES = {
    "trial": trial,
    "interleave": of_program("litmus/interleave.c", "{seed}"),
    "store_buffer": of_program("litmus/store_buffer.c", "{test}", "2", "{fence}", attempts=BUSY_ATTEMPTS),
    "late_stores": of_program("litmus/late_stores.c", "1", attempts=BUSY_ATTEMPTS),
    "ring": of_program("litmus/ring.c", "{seed}", attempts=BUSY_ATTEMPTS),
    "receipt": of_program("litmus/receipt.c", "{wants}", attempts=1),
    "scx_steps": of_program("litmus/scx_steps.c", "{seed}"),
    "schedule": of_program("litmus/schedule.c", "{seed}", "{scheme}", "500"),
    "avl_scan": of_program("litmus/avl_scan.c", attempts=1),
    "rest": of_program("litmus/rest.c", "4000", "{seed}"),
    "switched": of_program("linearize/switched.c", "3000", "4", "{seed}", "20", attempts=BUSY_ATTEMPTS),
    "model": of_program("model/model.c", "200000", "60", "{seed}"),
    "linearize": of_program("linearize/linearize.c", "1500", "4", "{seed}", "2", attempts=BUSY_ATTEMPTS),
    "assembly": assembly,
}


def skip_reason(title):
    kind, *rest = title.split()
    if kind in ("store_buffer", "late_stores") and build.CPUS < 2:
        return "a store buffer is seen by another processor only; this machine gives one"
    if kind != "assembly" or rest == [platform.machine()] or (rest == ["aarch64"] and shutil.which(build.CROSS)):
        return None
    return f"this machine has no compiler for {rest[0]}"


def caught(done, section):
    """A hang and a crash speak for themselves."""
    if done.returncode == 0:
        return False
    if done.returncode is not None and done.returncode >= 0:
        assert re.search(section.get("says", "."), done.stderr), done.stderr
    return True


@pytest.mark.parametrize("name, title", CASES, ids=lambda value: value.replace(" ", "-"))
def test_caught(name, title, clean, broken):
    reason = skip_reason(title)
    if reason:
        pytest.skip(reason)
    mutant, section = MUTANTS[name]["mutant"], MUTANTS[name][title]
    runs = ORACLES[title.split()[0]]
    place = broken / mutant["file"]
    original = place.read_text()
    for word in section.get("combinations", title.split()[-1]).split():
        sound = next(runs(clean, word, section))
        if sound.returncode == 2:
            pytest.skip(sound.stderr)
        assert sound.returncode == 0, f"the source as it is must pass: {sound.stderr}"
        place.write_text(mutate(original, mutant))
        try:
            assert any(caught(done, section) for done in runs(broken, word, section)), f"{word} survived: {mutant['why']}"
        finally:
            place.write_text(original)


def test_hazard_pointers_are_refused_where_readers_walk_through_unlinked_nodes(clean):
    """A scheme that protects single nodes does not protect what hangs on an unlinked one."""
    program = build.binary("build-refusal", "STRUCTURES=abtree hm_list", "RECLAIMERS=hazard", "POLICIES=batch", tree=clean)
    assert [each.structure for each in build.combinations(program)] == ["hm_list"]
    done = build.run([program, "--structure=abtree", "--reclaimer=hazard", "--keys=100", "--ops=10"])
    assert done.returncode == 2 and "follows links out of unlinked nodes" in done.stderr


@pytest.mark.parametrize("structure", ["swap_block", "locked_swap_block"])
def test_hazard_pointers_protect_a_block_element_by_element(clean, structure):
    """Each value is found in a record that is never unlinked: publishing and reading again is all that it takes."""
    program = build.binary("build-check", "VARIANT=check", f"CFLAGS=-g1 {QUIET}", f"STRUCTURES={structure}", "RECLAIMERS=hazard",
                           "POLICIES=batch", tree=clean)
    (combination,) = build.combinations(program)
    done = build.run([program, *crowded(combination), *combination.options(), "--seconds=0.5"])
    assert (done.returncode, done.stderr) == (0, "")


def test_each_mutant_has_an_oracle():
    assert {name for name, _ in CASES} == set(MUTANTS)
    assert {title.split()[0] for _, title in CASES} == set(ORACLES)


def test_each_mutant_is_documented():
    listed = re.findall(r"^\| `([\w-]+)` \|", (build.ROOT / "docs" / "proof.md").read_text(), re.M)
    assert listed == list(MUTANTS)
