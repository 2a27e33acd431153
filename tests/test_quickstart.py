# SPDX-License-Identifier: MIT
"""scripts/install-dependencies with a pretended apt, and scripts/quickstart with the stand-in for the driver. The real ones
run in .ci/run."""

import os
import re
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INSTALL = os.path.join(ROOT, "scripts", "install-dependencies")
RELEASES = {  # what apt knows; the rest of the list is the same on both
    "debian": {"libtcmalloc-minimal4", "libmimalloc2.0", "libclang-rt-14-dev"},
    "ubuntu": {"libtcmalloc-minimal4t64", "libmimalloc2.0", "libclang-rt-18-dev"},
    "without mimalloc": {"libtcmalloc-minimal4t64", "libclang-rt-18-dev"},
}
ALTERNATIVES = {"libtcmalloc-minimal4", "libtcmalloc-minimal4t64", "libmimalloc2.0", "libmimalloc3", "libclang-rt-dev",
                "libclang-rt-14-dev", "libclang-rt-18-dev", "hwloc"}


def package_lines():
    with open(os.path.join(ROOT, "scripts", "packages.txt"), encoding="utf-8") as file:
        return [line.split() for line in file if re.match("[a-z]", line)]


class Machine:
    """apt-get, apt-cache and dpkg-query that keep what is installed in a file."""

    def __init__(self, folder, known, installed=()):
        self.folder = folder
        (folder / "known").write_text("\n".join(sorted(known)) + "\n")
        (folder / "installed").write_text("".join(name + "\n" for name in installed))
        self.tool("dpkg-query", 'shift 3; for p; do grep -qxF "$p" HERE/installed && echo "installed=$p"; done; exit 1')
        self.tool("apt-cache", 'grep -qxF "$2" HERE/known || exit 0; echo "$2:"; echo "  Candidate: 1.0"')
        self.tool("apt-get", 'echo "$*" >>HERE/log\n'
                             'for p; do case $p in -*|install|update|DPkg*) ;; *) grep -qxF "$p" HERE/known || exit 100\n'
                             'echo "$p" >>HERE/installed;; esac; done')
        self.tool("sudo", '"$@"')

    def tool(self, name, body):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + body.replace("HERE", str(self.folder)) + "\n")
        path.chmod(0o755)

    def install(self, *arguments):
        path = f"{self.folder}:{os.environ['PATH']}"
        return subprocess.run([INSTALL, *arguments], env={**os.environ, "PATH": path}, capture_output=True, text=True,
                              check=False)

    def installed(self):
        return (self.folder / "installed").read_text().split()

    def log(self):
        return (self.folder / "log").read_text() if (self.folder / "log").exists() else ""


def known_to(release):
    every = {name for line in package_lines() for name in line[2].split("|")} - ALTERNATIVES - {"-"}
    return every | RELEASES[release]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("arguments, sets", [([], {"run"}), (["--test"], {"run", "test"})])
def test_installs_one_name_of_each_line_and_then_nothing(tmp_path, release, arguments, sets):
    machine = Machine(tmp_path, known_to(release))
    done = machine.install(*arguments)
    assert done.returncode == 0, done.stderr
    installed = machine.installed()
    for line in package_lines():
        names = set(line[2].split("|")) & known_to(release)
        expected = 1 if line[0] in sets and names else 0
        assert len([name for name in installed if name in line[2].split("|")]) == expected, line
    assert ("no package libmimalloc2.0|libmimalloc3" in done.stdout) == (release == "without mimalloc")
    before = machine.log()
    again = machine.install(*arguments)
    assert again.returncode == 0 and machine.log() == before
    assert "installing" not in again.stdout


def test_installs_only_what_is_missing(tmp_path):
    known = known_to("debian")
    machine = Machine(tmp_path, known, known - {"make", "libjemalloc2"})
    assert machine.install().returncode == 0
    assert machine.installed()[-2:] == ["make", "libjemalloc2"]


def test_a_package_that_is_needed_and_unknown_fails_with_one_line(tmp_path):
    machine = Machine(tmp_path, known_to("debian") - {"make"})
    done = machine.install()
    assert done.returncode == 1 and "update" in machine.log()
    assert "found that apt failed" in done.stderr


def test_other_distributions_get_names_and_a_clean_stop(tmp_path):
    release = tmp_path / "os-release"
    release.write_text('NAME=Fedora\nPRETTY_NAME="Fedora Linux 40"\n')
    for tool in ("sh", "sed", "awk", "tr", "dirname", "cat"):
        os.symlink(shutil.which(tool), tmp_path / tool)
    done = subprocess.run([INSTALL, "--test"], env={"PATH": str(tmp_path), "OS_RELEASE": str(release)}, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2
    assert "found Fedora Linux 40" in done.stderr and len(done.stderr.splitlines()) == 1
    for tool, name in (("dnf install", "hwloc-devel"), ("pacman -S", "python-tqdm"), ("zypper install", "libcmocka-devel")):
        line = [text for text in done.stdout.splitlines() if tool in text]
        assert len(line) == 1 and name in line[0].split() and "-" not in line[0].split()[4:], line


def test_a_wrong_option_is_refused():
    done = subprocess.run([INSTALL, "--everything"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not shutil.which("apt-cache"), reason="needs apt to ask for the names")
def test_every_line_has_a_name_that_this_release_knows():
    names = {name for line in package_lines() for name in line[2].split("|")}
    done = subprocess.run(["apt-cache", "policy", *names], capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    known = set(re.findall(r"^(\S+):\n  Installed: .*\n  Candidate: [^(]", done.stdout, re.MULTILINE))
    if "make" not in known:
        pytest.skip("apt has no package lists here")
    for line in package_lines():
        assert line[1] == "want" or known & set(line[2].split("|")), line


@pytest.fixture(name="clone")
def make_clone(tmp_path):
    """A copy of the repository whose `make` puts the stand-in where the driver belongs."""
    for name in ("scripts", "plots", "experiments"):
        shutil.copytree(os.path.join(ROOT, name), tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(os.path.join(ROOT, "tests", "fake_reclaimbench"), tmp_path)
    (tmp_path / "Makefile").write_text("build/reclaimbench:\n\tmkdir -p build\n\tcp fake_reclaimbench $@\n")
    (tmp_path / "scripts" / "install-dependencies").write_text("#!/bin/sh\n")
    return tmp_path


def quickstart(clone, **environment):
    return subprocess.run([clone / "scripts" / "quickstart"], cwd="/", env={**os.environ, **environment}, capture_output=True,
                          text=True, check=False)


def test_quickstart_goes_from_a_clone_to_tables_and_figures(clone):
    done = quickstart(clone, FAKE_UNITS="2")
    assert done.returncode == 0, done.stderr + done.stdout
    for number in range(1, 5):
        assert f"== {number} of 4" in done.stdout
    for name in ("olc-read-scaling", "olc-mixed-scaling"):
        for file in ("trials.csv", "report.html", "throughput.png", "throughput.svg", "table.png"):
            assert (clone / "results" / name / file).exists()
            assert f"results/{name}/{file}" in done.stdout
        # 2 series, 1 and 2 threads, 2 allocators, 3 repeats
        assert len((clone / "results" / name / "trials.csv").read_text().splitlines()) == 25
    assert done.stdout.count("olc ÷ rwlock") == 2 and "writes-widen" in done.stdout
    assert "left" in done.stderr and "minutes" in done.stdout


def test_quickstart_can_be_run_again(clone):
    assert quickstart(clone).returncode == 0
    assert quickstart(clone).returncode == 0
    assert (clone / "results" / "olc-read-scaling.1" / "trials.csv").exists()


def test_quickstart_fails_with_its_steps_and_still_shows_all_results(clone):
    done = quickstart(clone, FAKE_RULES='[{"when": {"insert": "0", "threads": "1"}, "do": "crash"}]')
    assert done.returncode == 1 and "crash:SIGSEGV" in done.stdout and "olc-mixed-scaling/throughput.png" in done.stdout
    (clone / "Makefile").write_text("build/reclaimbench: always\n\tfalse\nalways:\n")
    done = quickstart(clone)
    assert done.returncode == 1 and "make failed" in done.stderr
