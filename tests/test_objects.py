# SPDX-License-Identifier: MIT
"""What the compiler made of a combination: no indirect call, no trace of trace points, no fence that the scheme did not ask for."""
import platform
import re
import shutil
import subprocess

import pytest

import build

X86 = platform.machine() == "x86_64"
on_x86 = pytest.mark.skipif(not X86, reason="the names of these instructions are x86's")
crossing = pytest.mark.skipif(not shutil.which(build.CROSS), reason=f"{build.CROSS} is not installed")
# Through a register or memory; "*0x0(%rip)" with a name behind it is the linker's way to a named function. br and blr: aarch64.
INDIRECT = re.compile(r"\b(?:call|jmp)q?\s+\*(?!0x0\(%rip\).*\n.*GOTPC)|\s(?:br|blr)\s+x")
# An exchange of registers is padding.
FENCE = r"\block\b|mfence|xchg.*\("
OPERATIONS = {"set": {"ds_contains", "ds_insert", "ds_remove", "ds_scan"}, "block": {"ds_scan"}}
TRACE_POINT = re.compile(r"^\s*trace_\w+\(.*\);\n", re.M)


def objects(folder, combinations, tree=build.ROOT):
    paths = {each: f"build/{folder}/combos/{each}.o" for each in combinations}
    build.make("BUILD=build", *paths.values(), tree=tree)
    return {each: tree / path for each, path in paths.items()}


def disassembled(path):
    """With relocations, without the file's name."""
    listing = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    return listing.split("\n", 3)[3]


def function(listing, name):
    """Also where the compiler gave it a suffix for a version of its own."""
    return re.search(rf"^[0-9a-f]+ <{name}(?:\.[^>]*)?>:\n(.*?)(?:\n\n|\Z)", listing, re.S | re.M)[1]


@pytest.fixture(scope="module", name="plain")
def fixture_plain():
    paths = objects("plain", build.combinations(build.binary("build")))
    return {each: disassembled(path) for each, path in paths.items()}


@pytest.fixture(scope="module", name="traced_pairs")
def fixture_traced_pairs():
    """Trace points lie in reclaimers and policies: one structure is enough."""
    return [each for each in build.combinations(build.binary("build")) if each.structure == "hm_list"]


def test_no_indirect_call(plain):
    for combination, listing in plain.items():
        assert not INDIRECT.findall(listing), combination


def test_indirect_calls_are_found():
    assert INDIRECT.search("  10:\tcall   *%rax\n")
    assert INDIRECT.search("  10:\tjmp    *0x0(,%rax,8)\n\t\t\t13: R_X86_64_32S\t.rodata\n")
    assert INDIRECT.search("  10:\tnotrack jmp *%rax\n")
    assert INDIRECT.search("  10:\tblr\tx3\n")
    assert not INDIRECT.search("  10:\tcall   *0x0(%rip)\n\t\t\t12: R_X86_64_GOTPCRELX\tfree-0x4\n")
    assert not INDIRECT.search("  10:\tcall   15 <f+0x15>\n\t\t\t11: R_X86_64_PLT32\tfree-0x4\n")


def test_trace_points_leave_nothing_behind(traced_pairs, plain, tmp_path):
    tree = build.copy_tree(tmp_path)
    deleted = 0
    for header in [*tree.glob("reclaimers/**/*.h"), *tree.glob("structures/**/*.h"), tree / "harness" / "account.h"]:
        text, count = TRACE_POINT.subn("", header.read_text())
        header.write_text(text)
        deleted += count
    assert deleted >= 4
    for combination, path in objects("plain", traced_pairs, tree).items():
        assert disassembled(path) == plain[combination], combination


def test_traced_objects_do_trace(traced_pairs, plain):
    for combination, path in objects("traced", traced_pairs).items():
        listing = disassembled(path)
        assert listing != plain[combination]
        if combination.reclaimer != "leak":
            assert {"trace_batch_begin", "trace_timed_free_begin", "trace_instant"} & set(re.findall(r"\btrace_\w+", listing))
        assert "trace_" not in plain[combination]


@on_x86
def test_no_operation_reads_a_clock(plain):
    """Operations are timed by the loop, now and then; nothing below it may look at a clock."""
    for combination, listing in plain.items():
        bodies = re.findall(r"^[0-9a-f]+ <((?:ds|smr|fp)_\w+)[^>]*>:\n(.*?)(?:\n\n|\Z)", listing, re.S | re.M)
        assert not combination.has_nodes or OPERATIONS[combination.kind] <= {name for name, _ in bodies}, combination
        for name, body in bodies:
            assert not re.search(r"rdtsc|clock_|gettimeofday", body), f"{combination}: {name}"


def test_no_fallback_for_atomics(plain):
    """Every atomic is a word: nothing may go through a library or a lock."""
    for combination, listing in plain.items():
        assert not re.search(r"__atomic_|__sync_|cmpxchg16b", listing), combination


@on_x86
def test_a_lookup_writes_and_fences_nothing(plain):
    lookup = function(plain[build.Combination("olc_bptree", "leak", "batch")], "ds_contains")
    assert "cmp" in lookup
    assert not re.search(FENCE + r"|sfence|lfence|\bcall\b", lookup), lookup


@on_x86
@pytest.mark.parametrize("structure, may_call", [("dgt_bst", set()), ("occ_avl", {"avl_restart", "wait_until_shrunk"})])
def test_a_lookup_in_a_binary_tree_has_the_fence_of_epochs_only(plain, structure, may_call):
    lookup = function(plain[build.Combination(structure, "ebr", "batch")], "ds_contains")
    assert len(re.findall(FENCE + r"|sfence|lfence", lookup)) <= 1, lookup
    assert set(re.findall(r"call\s+\w+ <(\w+)", lookup)) <= may_call, lookup


@on_x86
def test_a_lookup_under_epochs_has_one_fence(plain):
    """The full fence of --fence=full, in the branch that asymmetric fences do not take."""
    lookup = function(plain[build.Combination("olc_bptree", "ebr", "batch")], "ds_contains")
    assert len(re.findall(FENCE, lookup)) <= 1, lookup


@on_x86
@pytest.mark.parametrize("structure, reclaimer, fences", [("plain_block", "leak", 0), ("swap_block", "leak", 0), ("swap_block", "ebr", 1)])
def test_a_scan_loads_each_element_and_fences_none(plain, structure, reclaimer, fences):
    """The bound would be no bound if the compiler had moved its loads out of the loop; and one pin is one fence, not one an element."""
    scan = function(plain[build.Combination(structure, reclaimer, "batch")], "ds_scan")
    assert len(re.findall(FENCE + r"|sfence|lfence", scan)) <= fences, scan
    assert not re.search(r"\bcall\b", scan), scan
    loops = [body for start, body in re.findall(r"^ +([0-9a-f]+):((?:.*\n)+?.*?\bj\w+ +\1\b)", scan, re.M)]
    assert any(len(re.findall(r"\bmov +[^,]*\(", body)) >= 3 for body in loops), "no loop that loads reference, pointer and count: " + scan


@crossing
def test_each_validation_is_fenced_on_aarch64():
    """At least two for a hop and one for the leaf; more where hops are unrolled."""
    defines = build.Combination("olc_bptree", "leak", "batch").defines()
    command = [*build.compiler(f"CC={build.CROSS}"), *defines, "-S", "-o", "-", "harness/combo.c"]
    text = subprocess.run(command, cwd=build.ROOT, capture_output=True, text=True, check=True).stdout
    lookup = re.search(r"^ds_contains:(.*?)\.size\s+ds_contains", text, re.S | re.M)[1]
    assert len(re.findall(r"dmb\s+ishld", lookup)) >= 3
