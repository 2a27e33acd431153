# SPDX-License-Identifier: MIT
"""Figures: the same rows give the same bytes, gaps are gaps, and what must not be drawn together is refused."""

import math
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

import plots  # noqa: E402
from lib import experiment, tables  # noqa: E402
from lib.command import UserError  # noqa: E402
from plots import lines, scaling, series, style  # noqa: E402

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
    notes = series.failure_notes(rows, "threads", "allocator")
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
    assert "12 traced trials are not drawn" in series.failure_notes(rows, "threads")


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


def test_axes_come_from_column_names_with_units():
    assert style.axis("ops_per_s", "M") == "M ops/s"
    assert style.axis("rss_peak_bytes", "M") == "rss peak in M bytes"
    assert style.axis("p99_ns") == "p99 in ns"
    assert style.axis("threads") == "threads"
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
