# SPDX-License-Identifier: MIT
"""Builds what the proofs run, by the Makefile and with its flags, in folders of their own; and runs it."""
import csv
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ["harness", "structures", "reclaimers", "allocators", "Makefile"]
SMALL = ["-DBPTREE_LEAF_KEYS=4", "-DBPTREE_INNER_KEYS=4", "-DABTREE_MOST=4"]
SMALL_NODES = f"COMBO_FLAGS={' '.join(SMALL)}"
# The structures that these sizes are for.
SIZED = sorted(path.stem for path in (ROOT / "structures").glob("*.h") if re.search('"parts/(ab|bp)tree_', path.read_text()))
CROSS = "aarch64-linux-gnu-gcc"
# What a program that is compiled like combo.c needs of the harness.
HARNESS = ["account", "error", "fence", "meta"]
CPUS = len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Combination:
    structure: str
    reclaimer: str
    policy: str
    has_nodes: bool = True
    fenced: bool = dataclasses.field(default=True, compare=False)
    kind: str = dataclasses.field(default="set", compare=False)
    writers: str = dataclasses.field(default="many", compare=False)
    grows: bool = dataclasses.field(default=False, compare=False)

    def __str__(self):
        return f"{self.structure}-{self.reclaimer}-{self.policy}"

    def restrict(self):
        """For make: build nothing else."""
        return [f"STRUCTURES={self.structure}", f"RECLAIMERS={self.reclaimer}", f"POLICIES={self.policy}"]

    def options(self):
        return [f"--structure={self.structure}", f"--reclaimer={self.reclaimer}", f"--policy={self.policy}"]

    def defines(self):
        return [f"-DDS={self.structure}", f"-DSMR={self.reclaimer}", f"-DFP={self.policy}"]


def make(*arguments, tree=ROOT):
    """The environment of a surrounding make must not reach this one."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(["make", "-s", "-j2", *arguments], cwd=tree, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def binary(folder, *arguments, tree=ROOT):
    make(*arguments, f"BUILD={folder}", f"{folder}/reclaimbench", tree=tree)
    return tree / folder / "reclaimbench"


def combinations(program):
    """The sound ones, by the binary's own list."""
    rows = csv.DictReader(subprocess.run([program, "--list=csv"], capture_output=True, text=True, check=True).stdout.splitlines())
    return [Combination(row["structure"], row["reclaimer"], row["policy"], row["node_bytes"] != "0", row["fenced"] == "1", row["kind"],
                        row["writers"], row["grows"] == "1") for row in rows if not row["refused"]]


def copy_tree(to):
    for name in SOURCES:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, to / name)
    return to


def compiler(*arguments, tree=ROOT):
    """The command that the Makefile compiles combinations with."""
    rule = "print-compiler: ; @echo $(CC) $(ALL_CFLAGS) $(INCLUDES) $(COMBO_FLAGS)"
    return make("--eval", rule, "print-compiler", *arguments, tree=tree).split()


def program(source, out, *defines, tree=ROOT, variant="check"):
    """Compiles one of the C programs beside this file, with the harness it needs."""
    harness = [str(tree / "harness" / f"{name}.c") for name in HARNESS]
    command = [*compiler(f"VARIANT={variant}", tree=tree), *defines, "-o", out, ROOT / "tests" / source, *harness, "-lm", "-lpthread"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def run(command, timeout=60, **environment):
    """Ends what hangs: returncode None."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, env=os.environ | environment)
    except subprocess.TimeoutExpired as expired:
        return subprocess.CompletedProcess(command, None, expired.stdout, f"still running after {timeout} s")
