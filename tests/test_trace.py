# SPDX-License-Identifier: MIT
"""Traces: the file tells what the row counts, single frees are timed only when asked, nothing is dropped in silence, and what
Perfetto gets is its format."""
import collections
import json
import os
import pathlib
import subprocess

import pytest

import driver
from driver import refused, row, run

EXPORT = driver.ROOT / "scripts" / "trace-to-perfetto"
# Updates without end over few keys: nodes are retired all the time.
CHURN = ["--structure=hm_list", "--keys=64", "--insert=50", "--remove=50"]
TWO = ["--threads=2", "--oversubscribe"]
# One thread and a number of operations: the same events each time.
SAME = [*CHURN, "--warmup=0", "--ops=100000", "--batch-size=16"]
DRIVER = -1

Event = collections.namedtuple("Event", "thread begin duration kind value")


def parse(text):
    first, second, *lines = text.splitlines()
    assert first.startswith("# reclaimbench trace ") and second == "# thread begin_ns duration_ns event value"
    events = [Event(int(thread), int(begin), int(duration), kind, int(value))
              for thread, begin, duration, kind, value in (line.split() for line in lines)]
    return dict(word.split("=") for word in first.split()[3:]), events


def traced(path, *options):
    found = row(*options, f"--trace={path}")
    return found, *parse(path.read_text())


def of(kind, events):
    return [event for event in events if event.kind == kind]


def end(event):
    return event.begin + event.duration


def within(inner, outer):
    return inner.thread == outer.thread and outer.begin <= inner.begin and end(inner) <= end(outer)


# ---- what it tells ----

@pytest.mark.parametrize("reclaimer", ["ebr", "debra"])
def test_trace_tells_what_the_row_counts(tmp_path, reclaimer):
    path = tmp_path / "trace"
    found, facts, events = traced(path, *CHURN, f"--reclaimer={reclaimer}", *TWO, "--warmup=0", "--ops=100000", "--batch-size=256")
    assert (found["trace"], found["trace_threshold"]) == (str(path), "0")
    assert (facts["threads"], facts["dropped"], facts["long_free_threshold_ns"]) == ("2", "0", "0")
    assert int(facts["events"]) == len(events)
    assert sum(event.value for event in of("batch_free", events)) == float(found["freed"]) > 0
    # The row counts from when the last thread has begun; the two clocks agree to less than an epoch or two.
    last = max(event.begin for event in of("window", events))
    from_last = sum(event.begin >= last for event in of("epoch", events))
    assert 0 < from_last <= int(found["epochs"]) + 2 and int(found["epochs"]) <= len(of("epoch", events))
    assert sorted(event.thread for event in of("window", events)) == [0, 1]


def test_trace_says_what_it_shows(tmp_path):
    path = tmp_path / "trace"
    found, facts, _ = traced(path, *SAME, "--policy=amortized:2", "--seed=7", "--repeat-index=3")
    for name in ("structure", "reclaimer", "policy", "allocator", "threads", "seed", "repeat_index", "commit", "clock"):
        assert facts[name] == found[name], name


def test_phases_of_the_trial_stand_before_the_window(tmp_path):
    _, facts, events = traced(tmp_path / "trace", *CHURN, *TWO, "--warmup=0.05", "--seconds=0.1")
    phases = [event for event in events if event.thread == DRIVER]
    assert [phase.kind for phase in phases] == ["prefill", "drain", "warm_up", "drain", "whole_window"]
    assert all(end(before) <= after.begin for before, after in zip(phases, phases[1:]))
    assert int(facts["first_ns"]) == phases[0].begin < 0 == phases[-1].begin
    assert phases[2].duration >= 0.05e9
    kinds = {event.kind for event in events if event.thread != DRIVER}
    assert {"batch_free", "epoch", "garbage", "window"} == kinds
    for event in events:
        # Two clocks: a microsecond between them is nothing.
        assert event.thread == DRIVER or (event.begin >= -1000 and end(event) <= end(phases[-1]) + 1000)


def test_events_stand_in_the_order_of_their_ends(tmp_path):
    _, _, events = traced(tmp_path / "trace", *CHURN, *TWO, "--warmup=0", "--ops=50000", "--batch-size=32", "--trace-threshold=1")
    ends = [end(event) for event in events if "window" not in event.kind]
    # Rounding to nanoseconds, of begin and of duration.
    assert len(ends) > 100 and all(before <= after + 1 for before, after in zip(ends, ends[1:]))


def test_garbage_adds_up_over_threads(tmp_path):
    """The last values of all threads, before each epoch: what docs/traces.md tells to draw. No more than the row's peak."""
    found, _, events = traced(tmp_path / "trace", *CHURN, *TWO, "--warmup=0", "--ops=100000", "--batch-size=64")
    last, totals = {}, []
    for event in events:
        if event.kind == "garbage":
            last[event.thread] = event.value
        elif event.kind == "epoch":
            totals.append(sum(last.values()))
    assert set(last) == {0, 1} and 0 < max(totals) <= float(found["garbage_peak"])


# ---- single frees ----

@pytest.mark.parametrize("policy", ["batch", "amortized"])
def test_every_free_is_an_event_from_one_nanosecond(tmp_path, policy):
    found, _, events = traced(tmp_path / "trace", *SAME, f"--policy={policy}", "--trace-threshold=1")
    frees, batches = of("long_free", events), of("batch_free", events)
    # The counter may be read some instructions early or late: a few frees seem to take less than a nanosecond.
    assert 0.99 * float(found["freed"]) <= len(frees) <= float(found["freed"]) and len(frees) > 1000
    if policy == "amortized":
        assert not batches
    else:
        assert [free for free in frees[:500] if not any(within(free, batch) for batch in batches)] == []


def test_single_frees_are_timed_only_when_asked(tmp_path):
    found, _, events = traced(tmp_path / "trace", *SAME)
    assert not of("long_free", events) and found["free_ns"] == ""
    found, _, events = traced(tmp_path / "timed", *SAME, "--time-free")
    assert not of("long_free", events) and float(found["free_ns"]) > 0


@pytest.mark.parametrize("threshold", [123, 1500, 100000])
def test_threshold_is_in_nanoseconds(tmp_path, threshold):
    """The boundary itself is a unit test's (tests/unit/test_trace.c)."""
    found, facts, events = traced(tmp_path / "trace", *CHURN, "--threads=16", "--oversubscribe", "--warmup=0", "--seconds=0.2",
                                  f"--trace-threshold={threshold}")
    assert facts["long_free_threshold_ns"] == found["trace_threshold"] == str(threshold)
    assert all(event.duration >= threshold for event in of("long_free", events))


# ---- what does not fit ----

def test_dropped_events_are_counted_exactly(tmp_path):
    _, facts, events = traced(tmp_path / "whole", *SAME)
    assert facts["dropped"] == "0"
    recorded = sum(event.thread != DRIVER and event.kind != "window" for event in events)
    for room in (1, 3, recorded - 1, recorded):
        _, facts, events = traced(tmp_path / "part", *SAME, f"--trace-events={room}")
        assert int(facts["dropped"]) == recorded - room
        # The marks of the driver are never dropped: prefill, drain, the window of the thread and of the trial.
        assert int(facts["events"]) == len(events) == room + 4


@pytest.mark.parametrize("options, word", [
    (["--trace=-"], "file of its own"), (["--trace=row.csv"], "file of its own"),
    (["--trace=samples.csv", "--samples=samples.csv"], "file of its own"), (["--trace=absent/trace"], "No such file"),
    (["--trace=."], "Is a directory")], ids=" ".join)
def test_refused_before_the_trial_and_nothing_is_overwritten(tmp_path, options, word):
    rows = tmp_path / "row.csv"
    assert run(*SAME, f"--csv={rows}").returncode == 0
    before = rows.read_bytes()
    refused(run("--seconds=30", *options, "--csv=row.csv", cwd=tmp_path, timeout=20), word)
    assert rows.read_bytes() == before and os.listdir(tmp_path) == ["row.csv"]


def test_full_disk_is_one_line(tmp_path):
    refused(run(*SAME, "--trace=/dev/full", "--csv=row.csv", cwd=tmp_path), "No space left on device")
    assert os.listdir(tmp_path) == []


def test_reader_that_left_is_one_line(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        refused(run(*SAME, f"--trace=/dev/fd/{writer}", "--csv=row.csv", cwd=tmp_path, pass_fds=[writer]), "Broken pipe")
    finally:
        os.close(writer)
    assert os.listdir(tmp_path) == []


# ---- Perfetto ----

def export(*arguments, **settings):
    return subprocess.run([EXPORT, *arguments], capture_output=True, text=True, timeout=60, check=False, **settings)


@pytest.fixture(scope="module", name="sample")
def fixture_sample(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "sample.trace"
    row(*CHURN, *TWO, "--warmup=0.02", "--seconds=0.05", "--batch-size=64", "--trace-threshold=2000", f"--trace={path}")
    return path


def test_export_is_the_trace_event_format(sample, tmp_path):
    facts, events = parse(sample.read_text())
    out = tmp_path / "out.json"
    done = export(sample, "-o", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert os.listdir(tmp_path) == ["out.json"]
    whole = json.loads(out.read_text())
    assert set(whole) == {"displayTimeUnit", "otherData", "traceEvents"} and whole["otherData"] == facts
    for event in whole["traceEvents"]:
        assert {"name", "ph", "pid", "tid"} <= set(event) and event["pid"] == 1
        extra = {"M": {"args"}, "X": {"ts", "dur", "cat"}, "i": {"ts", "s", "cat", "args"}, "C": {"ts", "cat", "args"}}[event["ph"]]
        assert extra <= set(event) <= extra | {"name", "ph", "pid", "tid", "args"}
        assert event["ph"] == "M" or event["ts"] >= 0
        assert event.get("s", "t") == "t" and event.get("dur", 0) >= 0
    drawn = collections.Counter((event["ph"], event["name"]) for event in whole["traceEvents"])
    for kind in ("batch_free", "long_free", "window", "prefill", "drain", "warm_up", "whole_window"):
        assert drawn["X", kind] == len(of(kind, events)), kind
    assert drawn["i", "epoch"] == len(of("epoch", events)) > 0
    assert drawn["C", "garbage of all threads"] == drawn["C", "garbage of thread 0"] + drawn["C", "garbage of thread 1"]
    assert drawn["C", "garbage of all threads"] == len(of("garbage", events)) > 0


def test_export_names_threads_and_what_ran_before_any_event(sample):
    events = json.loads(export(sample).stdout)["traceEvents"]
    count = sum(event["ph"] == "M" for event in events)
    assert all(event["ph"] == "M" for event in events[:count])
    (process,) = [event for event in events if event["name"] == "process_name"]
    assert process["args"]["name"].startswith("hm_list x ebr x batch x glibc, 2 threads, seed 1.0, ")
    named = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert sorted(named.values()) == ["thread 0", "thread 1", "trial"] and 0 not in named
    assert {event["tid"] for event in events} == set(named)


def test_export_keeps_times_values_and_order(sample):
    facts, events = parse(sample.read_text())
    drawn = [event for event in json.loads(export(sample).stdout)["traceEvents"]
             if event["ph"] != "M" and not event["name"].startswith("garbage of thread")]
    assert len(drawn) == len(events)
    total, last = 0, {}
    for event, shown in zip(events, drawn):
        assert shown["ts"] == pytest.approx((event.begin - int(facts["first_ns"])) / 1000, abs=1e-3)
        assert shown["tid"] == event.thread + 2 or event.thread == DRIVER
        if event.kind == "garbage":
            total += event.value - last.get(event.thread, 0)
            last[event.thread] = event.value
            assert shown["args"] == {"nodes": total}
        else:
            assert shown["name"] == event.kind
        if shown["ph"] == "X":
            assert shown["dur"] == event.duration / 1000
        if event.kind in ("batch_free", "epoch"):
            assert list(shown["args"].values()) == [event.value]


HEADER = ("# reclaimbench trace version=1 threads=2 events={events} dropped=5 long_free_threshold_ns=0 first_ns=-1000 clock=tsc structure=s "
          "reclaimer=r policy=p allocator=/my%20lib.so seed=1 repeat_index=0 commit=c\n# thread begin_ns duration_ns event value\n")


def test_export_draws_tokens_and_events_it_does_not_know():
    text = HEADER.format(events=3) + "0 5 0 token 1\n1 6 7 novelty 8\n-1 -1000 4 prefill 0\n"
    whole = json.loads(export("-", input=text).stdout)
    assert whole["otherData"]["allocator"] == "/my lib.so"
    token, novelty, prefill = whole["traceEvents"][-3:]
    assert (token["ph"], token["s"], token["args"], token["tid"]) == ("i", "t", {"receiver": 1}, 2)
    assert (novelty["ph"], novelty["dur"], novelty["args"]) == ("X", 0.007, {"value": 8})
    assert (prefill["ts"], prefill["tid"]) == (0, 1)
    assert "(5 events dropped)" in whole["traceEvents"][0]["args"]["name"]


def refused_export(done, *words):
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("trace-to-perfetto: wanted ") and ", found " in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("text", ["", "status,structure\n", "# reclaimbench trace version=1 threads=2\n", HEADER.replace("version=1", "version=9")],
                         ids=["empty", "a row", "half a header", "another version"])
def test_export_refuses_what_is_no_trace(text):
    refused_export(export("-", input=text), "version 1")


def test_export_refuses_what_is_no_text(tmp_path):
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    refused_export(export(tmp_path / "binary"), "version 1")


@pytest.mark.parametrize("lines, word", [("0 1 2 epoch\n", "line 3"), ("2 1 2 epoch 3\n", "line 3"), ("0 1 2 epoch 3", "line 3"), ("", "promises")],
                         ids=["field missing", "no such thread", "cut off in a line", "cut off between lines"])
def test_export_refuses_half_a_trace_and_leaves_nothing(tmp_path, lines, word):
    out = tmp_path / "out.json"
    refused_export(export("-", "-o", out, input=HEADER.format(events=1) + lines), word)
    assert os.listdir(tmp_path) == []


def test_export_says_what_it_cannot_read_or_write(sample, tmp_path):
    refused_export(export(tmp_path / "absent"), "absent", "No such file")
    refused_export(export(sample, "-o", tmp_path / "absent" / "out.json"), "No such file")
    refused_export(export(sample, "-o", "/dev/full"), "No space left")
    assert pathlib.Path("/dev/full").is_char_device()


def test_export_passes_on_what_it_has_read():
    """What was read comes out while more is awaited: no trace is too long for it."""
    rounds, lines, buffered = 20, 1000, 500
    with subprocess.Popen([EXPORT, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(HEADER.format(events=rounds * lines))
        seen = 0
        for done in range(1, rounds + 1):
            process.stdin.write("0 5 0 epoch 1\n" * lines)
            process.stdin.flush()
            while seen < done * lines - buffered:
                assert process.stdout.readline()
                seen += 1
        rest = process.communicate(timeout=60)[0]
    assert process.returncode == 0 and rest.endswith("\n]}\n")
