# SPDX-License-Identifier: MIT
"""Never a row for an allocator that is not running: every installed one is proven, every unusable one refused with one line."""
import csv
import hashlib
import io
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("RECLAIMBENCH", ROOT / "build" / "reclaimbench"))
STUBS = ROOT / "tests" / "stubs"
TRIAL = ["--structure=noop", "--reclaimer=leak", "--policy=batch", "--threads=1", "--ops=1000", "--csv=-"]
COUNTERS = ["alloc_flushes", "alloc_lock_ops", "alloc_lock_waits", "alloc_lock_wait_ns"]
# The catalogue is the folder.
CATALOGUE = ["glibc"] + sorted(path.stem for path in (ROOT / "allocators").glob("*.c") if path.stem != "glibc")


def run(*options, **environment):
    clean = {name: value for name, value in os.environ.items()
             if not re.match("(LD_|MALLOC_|MIMALLOC_|TCMALLOC_|GLIBC_TUNABLES)", name)}
    return subprocess.run([BINARY, *options], capture_output=True, text=True, timeout=60, check=False, env=clean | environment)


def row_of(found):
    assert (found.returncode, found.stderr) == (0, "")
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert len(rows) == 1
    return rows[0]


def trial(allocator, *options, **environment):
    return run(*TRIAL, *options, f"--allocator={allocator}", **environment)


def refused(found, *says):
    assert found.returncode == 2, found
    assert found.stdout == "", "a row for an allocator that is not running"
    lines = found.stderr.splitlines()
    assert len(lines) == 1, found.stderr
    assert re.fullmatch(r"reclaimbench: \w+: wanted .+, found .+: do .+", lines[0])
    for words in says:
        assert words in lines[0]


def build(path, *flags, source="stub.c", needs=None):
    # What it needs is found beside it.
    libraries = ["-Wl,--no-as-needed", needs, "-Wl,-rpath,$ORIGIN"] if needs else []
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-O1", "-fno-builtin", "-Wall", "-Wextra", "-Werror", *flags,
                    f"-Wl,-soname,{path.name}", STUBS / source, "-o", path, *libraries], check=True)
    return path


@pytest.fixture(scope="module")
def installed():
    found = run("--list=allocators")
    assert (found.returncode, found.stderr) == (0, "")
    return found.stdout


def skip_unless_installed(name):
    found = trial(name)
    if found.returncode == 2 and "apt-get install" in found.stderr:
        refused(found, name)
        pytest.skip(found.stderr.strip())


def test_list_names_the_catalogue(installed):
    words = installed.replace(",", " ").split()
    assert [word for word in words if word in CATALOGUE] == CATALOGUE


@pytest.mark.parametrize("name", CATALOGUE)
def test_installed_allocator_is_proven(name):
    skip_unless_installed(name)
    row = row_of(trial(name))
    path = pathlib.Path(row["allocator_path"])
    assert row["status"] == "ok"
    assert row["allocator"] == name
    assert re.match(r"\d+\.\d+", row["allocator_version"])
    assert path.is_absolute() and path == path.resolve()
    assert row["allocator_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    assert f"Build ID: {row['allocator_build_id']}" in notes


@pytest.mark.parametrize("name", CATALOGUE)
def test_counters_are_measured_or_empty(name):
    skip_unless_installed(name)
    row = row_of(trial(name))
    # noop allocates nothing, and the harness nothing from the allocator under test: not one lock in the window.
    assert [row[column] for column in COUNTERS] == (["0"] * 4 if name == "jemalloc" else [""] * 4)


@pytest.mark.parametrize("name, environment, option", [
    ("jemalloc", {"MALLOC_CONF": "narenas:3,tcache:false"}, "narenas=3 tcache=false"),
    ("mimalloc", {"MIMALLOC_MAX_ERRORS": "7"}, "max_errors=7"),
    ("tcmalloc", {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": "67108864"}, "max_total_thread_cache_bytes=67108864"),
    ("glibc", {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=3"}, "tcache_count=3"),
])
def test_options_in_force_are_recorded(name, environment, option):
    skip_unless_installed(name)
    assert option in row_of(trial(name, **environment))["allocator_options"]


@pytest.mark.parametrize("name, environment, says", [
    ("mimalloc", {"MIMALLOC_MAX_ERROR": "7"}, "max_error"),
    ("tcmalloc", {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": "1"}, "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES"),
    ("tcmalloc", {"TCMALLOC_NOTHING": "1"}, "no such option"),
    ("glibc", {"GLIBC_TUNABLES": "glibc.malloc.tcache_counts=3"}, "tcache_counts"),
])
def test_ignored_option_is_refused(name, environment, says):
    skip_unless_installed(name)
    refused(trial(name, **environment), says)


def test_option_ignored_by_jemalloc_is_refused():
    skip_unless_installed("jemalloc")
    found = trial("jemalloc", MALLOC_CONF="tcahe:false")
    # jemalloc says so itself, on a line of its own, and goes on.
    own = "\n".join(line for line in found.stderr.splitlines() if not line.startswith("<jemalloc>"))
    refused(subprocess.CompletedProcess(found.args, found.returncode, found.stdout, own), "tcahe")


def test_path_to_any_shared_object(tmp_path):
    stub = build(tmp_path / "libstub.so")
    row = row_of(trial(stub))
    assert (row["allocator"], row["allocator_path"], row["allocator_version"]) == (str(stub), str(stub.resolve()), "")
    assert row["allocator_sha256"] == hashlib.sha256(stub.read_bytes()).hexdigest()
    assert [row[column] for column in COUNTERS] == [""] * 4


def test_relative_path_and_symlink(tmp_path):
    stub = build(tmp_path / "libstub.so")
    (tmp_path / "link.so").symlink_to(stub)
    row = row_of(trial(os.path.relpath(tmp_path / "link.so")))
    assert row["allocator_path"] == str(stub.resolve())


def test_path_of_a_known_allocator_is_recognised():
    skip_unless_installed("jemalloc")
    by_name = row_of(trial("jemalloc"))
    by_path = row_of(trial(by_name["allocator_path"]))
    assert by_path["allocator"] == by_name["allocator_path"]
    for column in ["allocator_version", "allocator_options", "allocator_sha256", *COUNTERS]:
        assert by_path[column] == by_name[column]


def test_structure_runs_on_a_stub(tmp_path):
    stub = build(tmp_path / "libstub.so")
    row = row_of(run("--structure=hm_list", "--reclaimer=debra", "--policy=batch", "--threads=1", "--ops=10000", "--keys=64", "--insert=50", "--remove=50", "--batch-size=16",
                     "--csv=-", f"--allocator={stub}"))
    assert row["status"] == "ok" and int(row["freed"]) > 0


def test_missing_file():
    refused(trial("/nonexistent/libmalloc.so"), "/nonexistent/libmalloc.so", "No such file")


def test_unknown_name():
    refused(trial("jemaloc"), "do you mean jemalloc?")


def test_no_malloc_inside(tmp_path):
    refused(trial(build(tmp_path / "libnothing.so", source="nothing.c")), "malloc", "libc.so")


@pytest.mark.parametrize("flag, function", [
    ("-DNO_ALIGNED_ALLOC", "aligned_alloc"),
    ("-DNO_ALIGNED", "posix_memalign"),
    ("-DNO_PLAIN", "malloc"),
])
def test_incomplete_family(tmp_path, flag, function):
    refused(trial(build(tmp_path / "libpart.so", flag)), f"{function} ", "libpart.so", "libc.so")


def test_family_split_over_two_objects(tmp_path):
    aligned = build(tmp_path / "libaligned.so", "-DNO_PLAIN")
    refused(trial(build(tmp_path / "libplain.so", "-DNO_ALIGNED", needs=aligned)), "posix_memalign in ", "libplain.so")


@pytest.mark.parametrize("flag, says", [
    ("-DMISALIGNED", "posix_memalign"),
    ("-DSMALL", "usable"),
    ("-DDIRTY", "calloc"),
])
def test_family_that_does_not_work(tmp_path, flag, says):
    refused(trial(build(tmp_path / "libbroken.so", flag)), says)


def test_impostor_of_a_known_name(tmp_path):
    build(tmp_path / "libjemalloc.so.2")
    refused(trial("jemalloc", LD_LIBRARY_PATH=str(tmp_path)), "does not answer as one")


def test_name_goes_through_the_loaders_search(tmp_path):
    build(tmp_path / "libtcmalloc_minimal.so.4", "-DANSWERS")
    row = row_of(trial("tcmalloc", LD_LIBRARY_PATH=str(tmp_path)))
    assert (row["allocator_version"], row["allocator_path"]) == ("47.11stub", str((tmp_path / "libtcmalloc_minimal.so.4").resolve()))


def test_not_elf(tmp_path):
    text = tmp_path / "libtext.so"
    text.write_text("not a shared object\n" * 100)
    refused(trial(text), "invalid ELF header")


def test_truncated(tmp_path):
    stub = build(tmp_path / "libstub.so")
    stub.write_bytes(stub.read_bytes()[:40])
    refused(trial(stub), "cannot be preloaded")


def test_other_architecture(tmp_path):
    stub = build(tmp_path / "libstub.so")
    image = bytearray(stub.read_bytes())
    image[18:20] = (2).to_bytes(2, "little")  # e_machine: SPARC
    stub.write_bytes(image)
    refused(trial(stub), "cannot be preloaded")


def test_missing_dependency(tmp_path):
    aligned = build(tmp_path / "libaligned.so", "-DNO_PLAIN")
    plain = build(tmp_path / "libplain.so", "-DNO_ALIGNED", needs=aligned)
    aligned.unlink()
    refused(trial(plain), "libaligned.so, which it needs, is missing")


def test_directory(tmp_path):
    refused(trial(f"{tmp_path}/"), "cannot be preloaded")


def test_path_that_ld_preload_cannot_hold(tmp_path):
    stub = build(tmp_path / "libstub.so")
    refused(trial(stub.rename(tmp_path / "lib stub.so")), "blank")


def test_preload_of_the_user_is_refused_unless_it_is_the_allocator(tmp_path):
    stub = build(tmp_path / "libstub.so")
    other = build(tmp_path / "libnothing.so", source="nothing.c")
    refused(trial("glibc", LD_PRELOAD=str(stub)), "LD_PRELOAD", "unset LD_PRELOAD")
    refused(trial("glibc", LD_PRELOAD=str(other)), "unset LD_PRELOAD")
    refused(trial(stub, LD_PRELOAD=f"{stub}:{other}"), "unset LD_PRELOAD")
    assert row_of(trial(stub, LD_PRELOAD=str(stub)))["allocator_path"] == str(stub.resolve())
