# SPDX-License-Identifier: MIT
"""Figures: the same rows give the same bytes, gaps are gaps, and what must not be drawn together is refused."""

import math
import os
import subprocess
import sys

import numpy
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

import plots  # noqa: E402
from lib import derived, experiment, tables, trace  # noqa: E402
from lib.command import UserError  # noqa: E402
from plots import bars, columns, garbage, lines, percentiles, scaling, series, style, timeline, traces, variants  # noqa: E402

SPEC = {"kind": "lines", "x": "threads", "y": "ops_per_s", "panels": "allocator", "source": "panel"}
TABLE = {"kind": "scaling", "x": "threads", "y": "ops_per_s", "panels": "allocator", "baseline": "rwlock"}


@pytest.fixture(name="read_scaling")
def load_read_scaling():
    return experiment.load(os.path.join(ROOT, "experiments", "olc-read-scaling.ini"))


def make_rows(**changes):
    """Rows of two series at 1, 2 and 4 threads under two allocators, 5 repeats; changes: column → function of the row."""
    rows = []
    for name, reclaimer in (("rwlock", "immediate"), ("olc", "ebr")):
        for allocator in ("glibc", "jemalloc"):
            for threads in (1, 2, 4):
                for repeat in range(5):
                    rate = (30e6 * threads if name == "olc" else 20e6 / threads) * (1 + repeat / 100)
                    rows.append({"series": name, "trial": f"allocator={allocator} threads={threads}", "status": "ok",
                                 "reclaimer": reclaimer, "policy": "batch", "allocator": allocator, "threads": str(threads),
                                 "ops_per_s": str(rate), "trace": "", "fence": "full", "sound": "1",
                                 "repeat_index": str(repeat)})
    for row in rows:
        for column, change in changes.items():
            row[column] = change(row)
    return rows


def fail_at(name, threads):
    def status(row):
        return "crash:SIGSEGV" if (row["series"], row["threads"]) == (name, threads) else "ok"

    def rate(row):
        return "" if status(row) != "ok" else row["ops_per_s"]

    return {"status": status, "ops_per_s": rate}


def test_the_same_rows_give_the_same_bytes_whatever_the_environment(read_scaling, tmp_path):
    rows = make_rows()
    paths = []
    for turn in ("a", "b"):
        with style.styled():
            paths.append(style.save(lines.draw(rows, SPEC, read_scaling, []), str(tmp_path / turn)))
            paths[-1] += style.save(scaling.draw(rows, TABLE, read_scaling, []), str(tmp_path / (turn + "-table")))
        rows = rows[::-1]
    for first, second in zip(*paths):
        with open(first, "rb") as a, open(second, "rb") as b:
            assert a.read() == b.read(), first


def test_another_process_and_a_users_settings_give_the_same_bytes(read_scaling, tmp_path):
    program = (f"import sys; sys.path[:0] = [{ROOT!r}, {ROOT + '/scripts'!r}, {ROOT + '/tests'!r}]\n"
               "import test_plots as t\n"
               "e = t.experiment.load(sys.argv[1])\n"
               "with t.style.styled():\n"
               "    t.style.save(t.lines.draw(t.make_rows(), t.SPEC, e, []), sys.argv[2])\n")
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\nsavefig.dpi: 30\nbackend: svg\n")
    for turn, more in (("a", {}), ("b", {"MATPLOTLIBRC": str(tmp_path), "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo",
                                         "SOURCE_DATE_EPOCH": "1000000000"})):
        subprocess.run([sys.executable, "-c", program, read_scaling.path, str(tmp_path / turn)], check=True,
                       env={**os.environ, **more})
    for kind in (".png", ".svg"):
        assert (tmp_path / ("a" + kind)).read_bytes() == (tmp_path / ("b" + kind)).read_bytes()


def test_failures_are_gaps_with_a_note_and_never_zeros(read_scaling):
    rows = make_rows(**fail_at("olc", "2"))
    line = [found for found in series.lines(rows, "threads", "ops_per_s", ["rwlock", "olc"]) if found.label == "olc"][0]
    assert line.xs == [1, 2, 4] and math.isnan(line.medians()[1]) and min(line.samples[0]) > 0
    notes = series.failure_notes(rows, "threads", "ops_per_s", "allocator")
    assert notes == ["olc at threads 2, glibc: 5 of 5 crash:SIGSEGV", "olc at threads 2, jemalloc: 5 of 5 crash:SIGSEGV"]
    with style.styled():
        drawn = lines.draw(rows, SPEC, read_scaling, [])
    words = [text.get_text() for text in drawn.findobj(lambda a: hasattr(a, "get_text"))]
    assert "failed" in words and any("crash:SIGSEGV" in word for word in words)
    made = scaling.table_of(rows, TABLE, read_scaling)
    assert ["glibc", "2", "10.2 ±2%", "–", "0.50×", "–", "–"] in made.rows


def test_the_number_of_samples_and_their_spread_are_drawn(read_scaling):
    with style.styled():
        drawn = lines.draw(make_rows(), SPEC, read_scaling, [])
    words = [text.get_text() for text in drawn.findobj(lambda a: hasattr(a, "get_text"))]
    assert any("n = 5" in word for word in words)
    dots = [len(found.get_offsets()) for ax in drawn.axes for found in ax.collections if hasattr(found, "get_sizes")
            and len(found.get_sizes()) == 1]
    assert dots.count(15) == 4  # two series in two panels, 3 points of 5 samples


def test_traced_trials_are_not_drawn():
    rows = make_rows(trace=lambda row: "t.trace" if row["repeat_index"] == "4" else "")
    assert [len(samples) for samples in series.lines(rows[:15], "threads", "ops_per_s", ["rwlock"])[0].samples] == [4] * 3
    assert "12 traced or timed trials are not drawn" in series.failure_notes(rows, "threads", "ops_per_s")


def test_kinds_of_fence_are_not_mixed_in_a_figure(read_scaling):
    rows = make_rows(fence=lambda row: "full" if row["threads"] == "1" else "membarrier")
    for draw, spec in ((lines.draw, SPEC), (scaling.draw, TABLE)):
        with pytest.raises(UserError, match="full and membarrier"):
            draw(rows, spec, read_scaling, [])


def test_unsound_series_are_marked():
    rows = make_rows(sound=lambda row: "0" if row["series"] == "olc" else "1")
    assert [line.label for line in series.lines(rows, "threads", "ops_per_s", ["rwlock", "olc"])] == ["rwlock",
                                                                                                     "olc (unsound)"]


def test_series_that_would_look_the_same_are_refused():
    with pytest.raises(UserError, match="look the same"):
        series.lines(make_rows(reclaimer=lambda row: "ebr"), "threads", "ops_per_s", ["rwlock", "olc"])


def test_schemes_keep_their_look_and_none_is_taken_twice():
    pairs = list(style.SCHEMES.values())
    assert len(set(pairs)) == len(pairs) and len({marker for _, marker in pairs}) == len(pairs)
    new = style.look("brand_new", "batch")
    assert new == style.look("brand_new", "batch") and (new["color"], new["marker"]) not in pairs
    assert style.look("ebr", "amortized:4")["linestyle"] == style.look("ebr", "amortized")["linestyle"] != "-"


def test_blocks_look_like_their_structure_and_swap_like_its_reclaimer():
    every = list(style.SCHEMES.values()) + list(style.BLOCKS.values())
    assert len(set(every)) == len(every) and len({marker for _, marker in every}) == len(every)
    assert len({colour for colour, _ in style.BLOCKS.values()} - {c for c, _ in style.SCHEMES.values()}) == len(style.BLOCKS)
    row = {"reclaimer": "immediate", "policy": "batch", "block": "16384"}
    names = (*style.BLOCKS, "new_block", "newer_block", *(f"{word}_block" for word in "abcdef"))
    looks = [style.look(style.scheme({**row, "structure": name}), "batch", names) for name in names]
    assert len({look["color"] for look in looks}) == len(looks)
    many = [f"block_{i}" for i in range(40)]
    assert len({tuple(style.look(name, "batch", many).values()) for name in many}) == len(many)
    assert style.scheme({**row, "structure": "swap_block", "reclaimer": "ebr"}) == "ebr"
    # A set has no length of a block: its looks stay its reclaimer's.
    assert style.scheme({**row, "structure": "new_block", "block": ""}) == "immediate"


def test_blocks_under_several_reclaimers_look_like_those():
    swap, copy = ([(name, reclaimer) for reclaimer in ("debra", "ebr")] for name in ("swap_block", "a_swap_block"))
    locked = ("locked_swap_block", "ebr")
    assert list(style.schemes(swap + [locked]).values()) == ["debra", "ebr", "locked_swap_block"]
    assert style.schemes(copy) == {copy[0]: "debra", copy[1]: "ebr"}
    # The first keeps the look; the other has one of its own.
    assert style.schemes(swap + copy[1:])[copy[1]] == "a_swap_block"
    assert list(style.schemes(swap + copy).values()) == ["debra", "ebr", "a_swap_block debra", "a_swap_block ebr"]
    assert style.schemes([locked, ("locked_swap_block", "debra")])[locked] == "ebr"
    rows = block_rows(series=lambda row: row["series"] + row["readers"], structure=lambda row: {
        "swap50": "a_swap_block", "swap2": "swap_block"}.get(row["series"], row["structure"]))
    found = series.lines(rows, "readers", "reads_per_s", ["swap2", "swap50"])
    assert [line.label for line in found] == ["swap2 debra", "swap2 ebr", "swap50 debra", "swap50 ebr"]
    assert len({line.look["color"] for line in found}) == 4


def test_axes_come_from_column_names_with_units():
    assert style.axis("ops_per_s", "M") == "M ops/s"
    assert style.axis("rss_peak_bytes", "M") == "rss peak in M bytes"
    assert style.axis("p99_ns") == "p99 in ns" and style.axis("write_p99_ns", "k") == "write p99 in µs"
    assert [style.number(value) for value in (1, 50, 500, 1e4, 16384, 2 ** 20, 1e6, 1500)] == [
        "1", "50", "500", "10 k", "16 Ki", "1 Mi", "1 M", "1500"]
    assert [style.duration(ns) for ns in (7, 20000, 1.5e6, 2e9)] == ["7 ns", "20 µs", "1.5 ms", "2 s"]
    assert style.axis("threads") == "threads"
    assert style.axis("block") == "elements" and style.axis("reads_per_s", "k") == "k scans/s"
    assert [style.quantity(value) for value in (0.5, 20, 20000, 1e6)] == ["0.5", "20", "20 k", "1 M"]
    assert style.scale(154.5e6) == (1e6, "M") and style.scale(0) == (1.0, "")


def test_the_table_stands_beside_the_articles_own_figures(read_scaling):
    made = scaling.table_of(make_rows(), TABLE, read_scaling)
    assert made.header[2:] == ["rwlock M ops/s", "olc M ops/s", "rwlock scaling", "olc scaling", "olc ÷ rwlock"]
    article = [row for row in made.rows if row and row[0].startswith("article")]
    assert article[0][1:] == ["1", "23.1", "32.4", "1.00×", "1.00×", "1.40"]
    assert article[3][1:] == ["8", "6.0", "154.5", "0.26×", "4.77×", "25.8"]
    ours = [row for row in made.rows if row and row[:2] == ["glibc", "4"]][0]
    assert ours[2:6] == ["5.1 ±2%", "122.4 ±2%", "0.25×", "4.00×"] and ours[6].startswith("24.0 [")
    with style.styled():
        words = [text.get_text() for text in scaling.draw(make_rows(), TABLE, read_scaling, []).findobj(
            lambda a: hasattr(a, "get_text"))]
    assert "25.8" in words


def test_a_table_is_text_and_html():
    made = tables.Table("A < B", ["name", "n"], [["x", "1"], None, ["long", "22"]])
    assert made.text().splitlines() == ["A < B", "name   n", "----  --", "x      1", "----  --", "long  22"]
    assert "A &lt; B" in made.html() and made.html().count("<tbody>") == 2


def test_figures_are_rehearsed_before_anything_is_measured(read_scaling):
    planned = [{**row, "status": "", "ops_per_s": ""} for row in make_rows()]
    plots.rehearse(read_scaling, planned)
    read_scaling.figures["table"]["baseline"] = "oak"
    with pytest.raises(UserError, match="oak"):
        plots.rehearse(read_scaling, planned)


BARS = {"kind": "bars", "x": "threads", "y": "ops_per_s", "panels": "allocator", "source": "panel"}


def words_of(drawn):
    return [text.get_text() for text in drawn.findobj(lambda a: hasattr(a, "get_text"))]


def heights(ax):
    return [round(bar.get_height(), 3) for container in ax.containers for bar in container]


def test_bars_are_medians_with_all_samples_and_gaps_where_trials_failed(read_scaling):
    rows = make_rows(**fail_at("olc", "2"))
    with style.styled():
        drawn = bars.draw(rows, BARS, read_scaling, [])
    glibc, _, article = drawn.axes
    assert [h for h in heights(glibc) if not math.isnan(h)] == [20.4, 10.2, 5.1, 30.6, 122.4] and len(heights(glibc)) == 6
    assert glibc.get_xticks().tolist() == [0, 1, 2]
    assert sum(len(found.get_offsets()) for found in glibc.collections if hasattr(found, "get_sizes")) == 25
    assert heights(article)[:4] == [23.1, 12.5, 6.6, 6.0]
    words = words_of(drawn)
    assert "failed" in words and "article (Apple M2)" in words and any("n = 5" in word for word in words)
    assert any("crash:SIGSEGV" in word for word in words) and any("(full)" in word for word in words)


def test_bars_on_a_logarithmic_axis_begin_above_zero(read_scaling):
    with style.styled():
        drawn = bars.draw(make_rows(), {**BARS, "log": "yes"}, read_scaling, [])
    assert drawn.axes[0].get_yscale() == "log" and drawn.axes[0].get_ylim()[0] == pytest.approx(2.5)


def test_bars_tell_policies_apart_by_their_hatch():
    batch, amortized, other = (style.fill("debra", policy) for policy in ("batch", "amortized:4", "ebr"))
    assert batch["facecolor"] == amortized["facecolor"]
    assert len({batch["hatch"], amortized["hatch"], other["hatch"]}) == 3
    assert amortized == style.fill("debra", "amortized")


def write_trace(path, threads, lines, dropped=0):
    lines = [f"{thread} 0 1000000000 window 0" for thread in range(threads)] + lines
    path.write_text(f"# reclaimbench trace version=1 threads={threads} events={len(lines)} dropped={dropped} "
                    "long_free_threshold_ns=100000\n# thread begin_ns duration_ns event value\n" + "\n".join(lines) + "\n")
    return str(path)


# Two threads free for 0.3 s each and overlap for 0.1 s; the epoch ends at 0.4 and 0.8; what lies outside is cut off.
SMALL = ["0 -1000 0 epoch 1", "0 100000000 300000000 batch_free 10", "1 300000000 300000000 batch_free 10",
         "0 150000000 0 garbage 5", "1 400000000 0 epoch 2", "1 410000000 0 garbage 7", "0 500000000 0 garbage 9",
         "0 800000000 0 epoch 3", "1 900000000 0 garbage 0", "1 950000000 200000000 long_free 0", "0 5 5 comet 12"]


def traced_row(path, series_="a", repeat=0, **more):
    return {"series": series_, "trial": "oversubscribe=yes threads=2", "status": "ok", "reclaimer": "debra", "policy": "batch",
            "repeat_index": str(repeat), "threads": "2", "trace": path, "time_free": "0", "fence": "full", "sound": "1", **more}


@pytest.fixture(name="one_series")
def make_one_series():
    return experiment.Experiment("x.ini", "x", "quick", "Does it?", series={"a": {}, "b": {}})


def test_a_trace_is_read_by_the_names_of_its_events(tmp_path):
    found = trace.read(write_trace(tmp_path / "t", 2, SMALL))
    assert (found.threads, found.dropped, found.end, found.thread_time) == (2, 0, 1, 2)
    assert found.events("batch_free").begin.tolist() == [0.1, 0.3] and len(found.events("epoch")) == 2
    assert found.share("batch_free") == pytest.approx(0.3) and found.share("long_free") == pytest.approx(0.025)
    assert found.overlap("batch_free") == pytest.approx(0.6 / 0.5) and found.overlap("token") is None
    assert len(found.events("nothing")) == 0


def test_garbage_of_an_epoch_is_what_each_thread_told_last(tmp_path):
    epochs, times, nodes = traces.garbage(trace.read(write_trace(tmp_path / "t", 2, SMALL)))
    # From 0.4 to 0.8 thread 0 told 9, thread 1 told 7; from 0.8 on thread 1 has told 0.
    assert epochs.tolist() == [1, 2] and times.tolist() == [0.4, 0.8] and nodes.tolist() == [16, 9]
    # An epoch that ends before the last thread has begun is not counted.
    late = (tmp_path / "t").read_text().replace("1 0 1000000000 window 0", "1 500000000 500000000 window 0")
    (tmp_path / "t").write_text(late)
    assert [column.tolist() for column in traces.garbage(trace.read(tmp_path / "t"))] == [[1], [0.8], [9]]


def test_threads_within_a_box_are_averaged_over_columns(tmp_path):
    found = trace.read(write_trace(tmp_path / "t", 2, SMALL)).events("batch_free")
    edges, many = traces.busy(found, 0, 1, 10)
    assert len(edges) == 11 and [round(value, 6) for value in many] == [0, 1, 1, 2, 1, 1, 0, 0, 0, 0]


def test_boxes_that_one_pixel_holds_are_joined_and_others_are_not():
    events = trace.Events(*(numpy.array(column) for column in ([0, 0, 1, 0], [0.0, 0.11, 0.12, 0.5], [0.1, 0.2, 0.3, 0.6],
                                                               [1, 1, 1, 1])))
    thread, begin, end, part, count = traces.merged(events, 0.02)
    assert part.tolist() == pytest.approx([0.19 / 0.2, 1, 1]) and count.tolist() == [2, 1, 1]
    assert thread.tolist() == [0, 0, 1] and begin.tolist() == [0, 0.5, 0.12] and end.tolist() == [0.2, 0.6, 0.3]


def test_claims_read_nothing_from_a_trace_with_holes(tmp_path):
    rows = trace.derive([traced_row(write_trace(tmp_path / "t", 2, SMALL)),
                         traced_row(write_trace(tmp_path / "u", 2, SMALL, dropped=3)), traced_row(str(tmp_path / "missing")),
                         traced_row("")])
    assert [row["batch_free_share"] for row in rows] == ["0.3", "", "", ""]
    assert [row["batch_free_overlap"] for row in rows] == ["1.2", "", "", ""]
    assert [row["trace_dropped"] for row in rows] == ["0", "3", "", ""]


TIMELINE = {"kind": "timeline", "garbage": "yes", "dots": "epoch token"}


def test_a_timeline_draws_the_first_repeat_that_is_ok_and_says_so(tmp_path, one_series):
    rows = [traced_row("", repeat=0, status="timeout"), traced_row(write_trace(tmp_path / "t", 2, SMALL), repeat=1),
            traced_row(str(tmp_path / "missing"), repeat=2)]
    with style.styled():
        drawn = timeline.draw(rows, TIMELINE, one_series, ["a note"])
    words = "\n".join(words_of(drawn))
    assert "a, 2 threads: repeat_index 1 of 3 repeats" in words and "single frees from 100 µs on" in words and "a note" in words
    assert "30 % of thread time in 2 batch frees, 2 epochs" in words and "were dropped" not in words and "(quick)" in words
    summary, lanes, below = drawn.axes
    assert len(lanes.collections[0].get_paths()) == 2 and len(lanes.collections[1].get_offsets()) == 2
    assert summary.get_xlim() == below.get_xlim() == (0, 1)


def test_dropped_events_are_a_warning_in_the_figure(tmp_path, one_series):
    row = traced_row(write_trace(tmp_path / "t", 2, SMALL, dropped=17))
    with style.styled():
        for kind, spec in ((timeline, TIMELINE), (garbage, {"kind": "garbage"})):
            found = [text for text in kind.draw([row], spec, one_series, []).findobj(lambda a: hasattr(a, "get_text"))
                     if "17 events were dropped" in text.get_text()]
            assert len(found) == 1 and found[0].get_color() == style.WARNING_COLOUR


def test_empty_windows_and_missing_traces_are_told_and_not_drawn(tmp_path, one_series):
    rows = [traced_row(write_trace(tmp_path / "t", 2, [])), traced_row(str(tmp_path / "missing"), "b")]
    with style.styled():
        for kind, spec in ((timeline, TIMELINE), (garbage, {"kind": "garbage"})):
            words = "\n".join(words_of(kind.draw(rows, spec, one_series, [])))
            assert "a, 2 threads: repeat_index 0 of 1 repeats, 2 events, 0 dropped" in words
            assert "b, 2 threads: the trace of repeat_index 0 is missing or not whole" in words
            assert "no trial" not in words and "0 epochs" in words
            assert "no traced trial" in "\n".join(words_of(kind.draw([traced_row("", status="")], spec, one_series, [])))


def test_a_timeline_can_be_a_part_of_the_window(tmp_path, one_series):
    row = traced_row(write_trace(tmp_path / "t", 2, SMALL))
    with style.styled():
        drawn = timeline.draw([row], {"kind": "timeline", "from": "0.45", "to": "0.7"}, one_series, [])
        assert drawn.axes[1].get_xlim() == (0.45, 0.7) and len(drawn.axes[1].collections[0].get_paths()) == 1
        for wrong in ({"from": "1", "to": "0.5"}, {"from": "noon"}):
            with pytest.raises(UserError, match="from"):
                timeline.draw([row], {"kind": "timeline", **wrong}, one_series, [])


def test_the_same_trace_gives_the_same_bytes(tmp_path, one_series):
    rows = [traced_row(write_trace(tmp_path / "t", 2, SMALL)), traced_row(write_trace(tmp_path / "u", 2, SMALL[:5]), "b")]
    for turn in ("1", "2"):
        with style.styled():
            style.save(timeline.draw(rows, TIMELINE, one_series, []), str(tmp_path / ("line" + turn)))
            style.save(garbage.draw(rows, {"kind": "garbage"}, one_series, []), str(tmp_path / ("garbage" + turn)))
        rows = rows[::-1]
    for name in ("line", "garbage"):
        for kind in (".png", ".svg"):
            assert (tmp_path / (name + "1" + kind)).read_bytes() == (tmp_path / (name + "2" + kind)).read_bytes()


def test_a_large_trace_becomes_no_more_boxes_than_there_are_pixels(tmp_path, one_series):
    lines = [f"{i % 192} {i * 9990} 5000 batch_free 4" for i in range(100000)] + [f"{i % 192} {i * 99900} 0 epoch {i}"
                                                                                  for i in range(10000)]
    row = traced_row(write_trace(tmp_path / "t", 192, lines))
    with style.styled():
        drawn = timeline.draw([row], TIMELINE, one_series, [])
        paths = style.save(drawn, str(tmp_path / "large"))
    assert os.path.getsize(paths[1]) < 2_000_000
    many = trace.Events(numpy.zeros(200000, int), numpy.arange(200000) / 2e5, numpy.arange(200000) / 2e5 + 1e-6,
                        numpy.zeros(200000))
    assert len(traces.merged(many, 1 / 1400)[0]) == 1


COLUMNS = {"kind": "columns", "by": "policy threads",
           "columns": "\nM ops/s: ops_per_s / 1000000\nflushes per 1,000 frees: flushes / freed * 1000\nµs in free: free_ns / 1000"}


def column_rows():
    rows = []
    for policy, flushes in (("batch", 50), ("amortized", 10)):
        for repeat in range(3):
            for timed in ("0", "1"):
                rows.append({"series": "timed" if timed == "1" else "plain", "trial": policy, "status": "ok", "policy": policy,
                             "threads": "16", "ops_per_s": str(2e6 + repeat * 1e5 - 1e6 * (timed == "1")), "freed": "1000",
                             "flushes": str(flushes + 9000 * (timed == "1")), "free_ns": "5000" if timed == "1" else "",
                             "trace": "", "time_free": timed, "fence": "full", "repeat_index": str(repeat)})
    return rows


def test_a_table_of_columns_never_mixes_plain_and_instrumented_trials(one_series):
    made = columns.table_of(column_rows(), COLUMNS, one_series)
    assert made.header == ["policy", "threads", "M ops/s", "flushes per 1,000 frees", "µs in free†"]
    assert made.rows[0] == ["amortized", "16", "2.10 ±5%", "10.0 ±0%", "5.00 ±0%"] and made.rows[2][3] == "50.0 ±0%"
    with style.styled():
        words = words_of(columns.draw(column_rows(), COLUMNS, one_series, []))
    assert any("† from traced or timed trials" in word for word in words)


def test_columns_that_cannot_be_told_are_empty_and_mistakes_are_named(one_series):
    rows = [{**row, "freed": "0"} for row in column_rows()]
    assert columns.table_of(rows, COLUMNS, one_series).rows[0][3] == "–"
    for wrong in ({"by": "colour"}, {"columns": "x: ops_per_year"}, {"columns": "ops_per_s"}, {"columns": "x: freed +"}):
        with pytest.raises(UserError, match="correct x.ini"):
            columns.table_of(rows, {**COLUMNS, **wrong}, one_series)


def test_a_spread_beyond_the_median_is_told_as_a_range():
    assert [series.spread(values, "{:.0f}".format) for values in ([9, 10, 11], [5, 5, 15], [5, 5, 16], [1, 10, 450], [7], [0, 0, 3], [0, 0])] == [
        " ±10%", " ±100%", " (5–16)", " (1–450)", "", " (0–3)", ""]


def test_a_figure_may_be_about_some_series(read_scaling):
    rows = make_rows()
    assert {row["series"] for row in plots.rows_of({"series": "olc"}, rows)} == {"olc"} and plots.rows_of({}, rows) == rows
    read_scaling.figures["throughput"]["series"] = "oak"
    with pytest.raises(UserError, match="oak"):
        plots.load(read_scaling)
    read_scaling.figures["throughput"]["series"] = "olc[threads"
    with pytest.raises(UserError, match="NAME.COLUMN=WORD."):
        plots.load(read_scaling)
    some = plots.rows_of({"series": "olc[threads=1,allocator=glibc] rwlock[threads=4]"}, rows)
    assert {(row["series"], row["threads"], row["allocator"]) for row in some} == {
        ("olc", "1", "glibc"), ("rwlock", "4", "glibc"), ("rwlock", "4", "jemalloc")}
    read_scaling.figures["throughput"]["series"] = "olc[colour=red]"
    with pytest.raises(UserError, match="found colour"):
        plots.rehearse(read_scaling, rows)


@pytest.fixture(name="blocks")
def make_blocks():
    found = experiment.load(os.path.join(ROOT, "experiments", "block-read-mostly.ini"))
    found.series = {"plain": {}, **found.series}
    return found


PERCENTS = {"p50": 1, "p95": 2, "p99": 4, "p999": 9, "p9999": 30}


def block_rows(**changes):
    """plain, rwlock, and swap under two reclaimers, with 2 and 50 readers, 3 repeats; percentiles at multiples of the median."""
    rows = []
    for name, structure, reclaimer, scan in (("plain", "plain_block", "immediate", 16000), ("swap", "swap_block", "ebr", 20000),
                                             ("swap", "swap_block", "debra", 25000), ("rwlock", "rwlock_block", "immediate", 2e5)):
        for readers in ("2", "50"):
            for repeat in range(3):
                scan_ns, write_ns = scan * (1 + repeat / 100), 5e4 * (1 + repeat)
                rows.append({"series": name, "trial": f"readers={readers} {reclaimer}", "status": "ok", "structure": structure,
                             "reclaimer": reclaimer, "policy": "batch", "block": "16384", "readers": readers, "sound": "1",
                             "trace": "", "fence": "full", "repeat_index": str(repeat), "reads_per_s": str(2e9 / scan_ns),
                             "latency_samples": "50000" if name != "rwlock" else "5000", "writes": "500", "appends": "0",
                             **{f"{percent}_ns": str(scan_ns * times) for percent, times in PERCENTS.items()},
                             **{f"write_{percent}_ns": str(write_ns * times) for percent, times in PERCENTS.items()}})
    for row in rows:
        for column, change in changes.items():
            row[column] = change(row)
    return rows


CURVES = {"kind": "percentiles", "panels": "readers", "source": "latency"}


def curve_of(drawn, label):
    (found,) = [line for line in drawn.axes[0].get_lines() if line.get_label() == label]
    return [round(x) for x in found.get_xdata()], [round(y) for y in found.get_ydata()]


def test_percentiles_are_medians_over_repeats_as_far_as_there_are_samples(blocks):
    with style.styled():
        drawn = percentiles.draw(block_rows(), CURVES, blocks, ["a note"])
    assert [ax.get_title() for ax in drawn.axes] == ["readers 2", "readers 50"]
    assert drawn.axes[0].get_xscale() == drawn.axes[0].get_yscale() == "log"
    times = list(PERCENTS.values())
    assert curve_of(drawn, "swap ebr") == ([2, 20, 100, 1000, 10000], [20200 * t for t in times])
    # 5,000 samples cannot tell the 99.99th percentile.
    assert curve_of(drawn, "rwlock") == ([2, 20, 100, 1000], [202000 * t for t in times[:4]])
    band = drawn.axes[0].collections[0].get_paths()[0].get_extents()
    assert (round(band.y0), round(band.y1)) == (16000, 16000 * 1.02 * 30)
    words = words_of(drawn)
    assert any("n = 3" in word and "a note" in word and "hollow: article" in word for word in words)
    assert "99.99" in words and "service time" in words


def test_percentiles_of_the_article_are_hollow_markers_in_the_colour_of_the_series(blocks):
    one = [row for row in block_rows() if row["reclaimer"] != "debra"]
    with style.styled():
        drawn = percentiles.draw(one, CURVES, blocks, [])
    two, fifty = ({line.get_color(): line for line in ax.get_lines() if line.get_markerfacecolor() == "white"} for ax in drawn.axes)
    # The article had 50 readers.
    assert not two and set(fifty) == {style.BLOCKS["rwlock_block"][0], style.SCHEMES["ebr"][0]}
    assert fifty[style.SCHEMES["ebr"][0]].get_ydata().tolist() == [22400, 49800, 242000]
    with style.styled():
        alone = percentiles.draw([row for row in one if row["readers"] == "2"], CURVES, blocks, [])
    assert not any("hollow" in word for word in words_of(alone))
    blocks.sources["latency"].where = {"colour": "red"}
    with pytest.raises(UserError, match="found colour"):
        percentiles.draw(one, CURVES, blocks, [])
    for wrong in ({"source": "throughput"}, {"prefix": "write"}, {"prefix": "oak"}):
        with pytest.raises(UserError, match="block-read-mostly"):
            percentiles.draw(one, {**CURVES, **wrong}, blocks, [])


def test_percentiles_of_writes_need_samples_of_writes(blocks):
    with style.styled():
        drawn = percentiles.draw(block_rows(), {"kind": "percentiles", "prefix": "write", "panels": "readers"}, blocks, [])
    # 500 writes: up to the 99th, and so is the axis.
    assert drawn.axes[0].get_xlim()[1] < 1000
    assert curve_of(drawn, "rwlock") == ([2, 20, 100], [100000, 200000, 400000])
    assert "response time of writes" in words_of(drawn)


def test_a_panel_of_percentiles_has_one_point_of_a_series(blocks):
    with pytest.raises(UserError, match="wanted one point for plain in a panel, found 2"):
        percentiles.draw(block_rows(), {"kind": "percentiles"}, blocks, [])
    with pytest.raises(UserError, match="wanted one point for plain in a panel, found 2"):
        variants.draw(block_rows(), {"kind": "variants", "y": "reads_per_s"}, blocks, [])


def failing(column):
    def change(row):
        failed = row["series"] == "rwlock" and row["readers"] == "50"
        return {"status": "timeout" if failed else "ok"}.get(column, "" if failed else row[column])
    return change


def test_variants_are_bars_with_names_values_and_ratios(blocks):
    rows = block_rows(status=failing("status"), reads_per_s=failing("reads_per_s"))
    with style.styled():
        drawn = variants.draw(rows, {"kind": "variants", "y": "reads_per_s", "panels": "readers", "baseline": "plain"}, blocks, [])
    left, right = drawn.axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["plain", "rwlock", "swap debra", "swap ebr"]
    assert [round(bar.get_width(), 1) for bars_ in left.containers for bar in bars_] == [123.8, 9.9, 79.2, 99.0]
    assert len(right.containers) == 3
    words = words_of(drawn)
    assert "99  0.80×" in words and "failed" in words and any("rwlock at readers 50: 3 of 3 timeout" in word for word in words)
    assert len({bar.get_facecolor() for bars_ in left.containers for bar in bars_}) == 4
    with style.styled():
        drawn = variants.draw(rows, {"kind": "variants", "y": "reads_per_s", "panels": "readers", "log": "yes"}, blocks, [])
    assert drawn.axes[0].get_xscale() == "log" and not any("×" in word for word in words_of(drawn))


def test_a_group_for_each_number_of_readers_and_a_bar_for_each_variant(blocks):
    with style.styled():
        drawn = bars.draw([row for row in block_rows() if row["reclaimer"] != "debra"],
                          {"kind": "bars", "x": "readers", "y": "reads_per_s", "source": "panel"}, blocks, [])
    ours, article = drawn.axes
    assert [label.get_text() for label in ours.get_xticklabels()] == ["2", "50"] and len(heights(ours)) == 6
    assert [label.get_text() for label in article.get_xticklabels()] == ["50"] and heights(article) == [15.93, 229.07]
    assert article.get_title() == "article"


def test_sweeps_may_be_on_logarithmic_axes(blocks):
    rows = block_rows(block=lambda row: {"2": "256", "50": "1048576"}[row["readers"]])
    with style.styled():
        drawn = lines.draw(rows, {"kind": "lines", "x": "block", "y": "reads_per_s", "log": "x y"}, blocks, [])
        plain = lines.draw(rows, {"kind": "lines", "x": "block", "y": "reads_per_s"}, blocks, [])
    (ax,) = drawn.axes
    assert ax.get_xscale() == ax.get_yscale() == "log" and plain.axes[0].get_xscale() == "linear"
    assert {label.get_text() for label in ax.get_xticklabels()} == {"256", "1 Mi"} and ax.get_ylabel() == "scans/s"
    drawn.canvas.draw()
    assert "100 k" in {label.get_text() for label in ax.get_yticklabels()}
    assert {line.get_label() for line in ax.get_lines()} >= {"plain", "swap ebr", "swap debra", "rwlock"}


def test_panels_may_be_of_several_columns():
    rows = block_rows(write_rate=lambda row: "1e+06" if row["reclaimer"] == "ebr" else "500")
    assert [(title, len(part)) for title, part in series.panels(rows, "readers write_rate")] == [
        ("readers 2, write rate 500", 9), ("readers 2, write rate 1 M", 3), ("readers 50, write rate 500", 9),
        ("readers 50, write rate 1 M", 3)]
    assert [title for title, _ in series.panels(rows, "reclaimer")] == ["debra", "ebr", "immediate"]
    assert series.panels(rows, None) == [("", rows)] and series.panels([], "readers") == [("", [])]


def test_figures_of_blocks_have_the_same_bytes_in_any_order(blocks, tmp_path):
    rows = block_rows()
    for turn in ("1", "2"):
        with style.styled():
            for name, kind, spec in (("curves", percentiles, CURVES),
                                     ("variants", variants, {"kind": "variants", "y": "reads_per_s", "panels": "readers"})):
                style.save(kind.draw(rows, spec, blocks, []), str(tmp_path / (name + turn)))
        rows = rows[::-1]
    for name in ("curves", "variants"):
        for suffix in (".png", ".svg"):
            assert (tmp_path / (name + "1" + suffix)).read_bytes() == (tmp_path / (name + "2" + suffix)).read_bytes()


def test_elements_a_second_are_derived_from_scans():
    scans = {**block_rows()[0], "reads_per_s": "1000", "final_keys": "16384"}
    rows = derived.fill([scans, {**scans, "final_keys": "16385"}, {"status": "ok", "reads_per_s": "", "block": "16384"}, {"status": "ok"}])
    assert [row["elements_per_s"] for row in rows] == ["1.6384e+07", "", "", ""]


def test_the_share_of_writes_that_were_done_needs_writes_that_were_due():
    due = [("400", "500"), ("0", "0"), ("", ""), ("0", "4")]
    rows = derived.fill([{**block_rows()[0], "writes": done, "writes_wanted": wanted} for done, wanted in due])
    assert [row["writes_done_share"] for row in rows] == ["0.8", "", "", "0"]
