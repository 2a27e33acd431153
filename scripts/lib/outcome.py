# SPDX-License-Identifier: MIT
"""From trials.csv to what a person reads: figures, tables, answers to the claims, warnings; on the terminal and as one HTML
file that needs nothing beside it."""

import base64
import html
import os
from dataclasses import dataclass

import plots
from lib import claims, command, machine, tables
from lib import rows as table
from lib.command import UserError
from plots import style

SPREAD_LIMIT = 0.2
CSS = """
body { font: 15px/1.45 sans-serif; max-width: 76em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px } caption { text-align: left; font-weight: bold }
td, th { padding: 2px 10px; text-align: right } .prose { text-align: left }
thead, tbody { border-bottom: 1px solid #999 } img { max-width: 100%; display: block; margin: 1em 0 }
.wide td { text-align: left; vertical-align: top } pre { background: #f4f4f4; padding: 1em; overflow: auto }
"""


@dataclass
class Outcome:
    images: list  # paths, PNG and SVG of each figure
    tables: list
    verdicts: list
    failures: list
    warnings: list


def build(experiment, results):
    rows, left_out = results.measured(), results.state()["left_out"]
    found = Outcome([], [], [], _failures(rows), _warnings(experiment, results, rows))
    modules = plots.load(experiment)
    with style.styled():
        for name, module in modules.items():
            try:
                _figure(found, name, module, experiment, results, rows, [f"left out: {line}" for line in left_out])
            except UserError as error:
                found.warnings.append(f"no figure {name}: {error}")
    for claim in experiment.claims:
        found.verdicts += claims.answer(claim, rows, lambda name: _elsewhere(name, results))
    _write_report(experiment, results, found, rows, left_out)
    return found


def _figure(found, name, module, experiment, results, rows, notes):
    spec = experiment.figures[name]
    rows = plots.rows_of(spec, rows)
    drawn = module.draw(rows, spec, experiment, notes)
    found.images += style.save(drawn, results.path(name))
    made = module.table_of(rows, spec, experiment)
    if made:
        found.tables.append(made)


def _elsewhere(name, results):
    """Rows of another experiment that may be set against ours, or why not."""
    other = type(results)(os.path.join(os.path.dirname(results.folder), name))
    state, ours = other.state(), results.state()
    if state is None:
        return f"needs the results of {name}: run it first"
    for key, what in (("mode", "in another mode (quick, full or paper)"), ("binary_sha256", "with another driver")):
        if state.get(key) != ours[key]:
            return f"{name} was measured {what}: run it again with --fresh"
    return other.measured()


def _failures(rows):
    return [f"{row['status']}: {row['trial']} (series {row['series']}, repeat {row['repeat_index']}): {row['message']}"
            for row in rows if not table.is_ok(row)]


def _warnings(experiment, results, rows):
    """What was seen, why it matters, what to try."""
    lines = []
    points = {}
    for row in rows:
        points.setdefault((row["series"], row["trial"]), []).append(row)
    for column in sorted({spec["y"] for spec in experiment.figures.values() if "y" in spec}):
        wide = [(text, table.values(part, column)) for (_, text), part in points.items()]
        wide = [text for text, values in wide if values and max(values) - min(values) > SPREAD_LIMIT * max(values)]
        if wide:
            lines.append(f"{column} differs by more than {SPREAD_LIMIT:.0%} between repeats at {len(wide)} of {len(points)} "
                         f"points (the first: {wide[0]}): medians are uncertain; try a quieter machine, longer trials or "
                         "more repeats")
    for flag in sorted({flag for row in rows for flag in (row.get("flags") or "").split(";") if flag}):
        marked = [row["trial"] for row in rows if flag in (row.get("flags") or "").split(";")]
        lines.append(f"the driver flags {len(marked)} of {len(rows)} trials as {flag} (the first: {marked[0]}): their numbers "
                     "are doubtful; docs/row.md tells what the flag means")
    broken = [row["trace"] for row in rows if row.get("trace") and table.is_ok(row) and row.get("trace_dropped") == ""]
    if broken:
        lines.append(f"{len(broken)} of {len(rows)} traces are missing or not whole (the first: {broken[0]}): no figure and no claim "
                     "has them; put them back or measure again with --fresh")
    lost = [row for row in rows if (table.number(row, "trace_dropped") or 0) > 0]
    if lost:
        lines.append(f"{len(lost)} of {len(rows)} traces dropped events (the first: {lost[0]['trial']}): their timelines have holes "
                     "and no claim is read from them; give a larger trace-events")
    if any(row.get("sound") == "0" for row in rows):
        lines.append("rows with sound = 0 ran a reclaimer that may free what is still read: their speed proves nothing")
    record = results.machine() or {"runs": [], "facts": None}
    for run in record["runs"]:
        if "after" in run:
            lines += machine.disturbances(run["before"], run["after"], os.cpu_count() or 1)
    if record["facts"]:
        lines += [item.line() for item in machine.advice(record["facts"]) if not item.good and item.known]
    return lines


def verdict_table(verdicts):
    def words(verdict):
        where = ", ".join(f"{word}" for word in verdict.group.values())
        value = "" if verdict.value is None else f"{verdict.value:.3g}"
        interval = "" if verdict.low is None else f"[{verdict.low:.3g}, {verdict.high:.3g}]"
        answer = verdict.answer + (f": {verdict.reason}" if verdict.reason else "")
        return [verdict.claim.name, where, value, interval, str(verdict.samples or ""), verdict.claim.holds_text,
                verdict.claim.source, answer]

    header = ["claim", "", "here", "95 % interval", "n", "holds if", "source", "answer"]
    return tables.Table("Claims", header, [words(verdict) for verdict in verdicts], prose=[0, 1, 5, 6, 7])


def say(experiment, results, found):
    """The result on the terminal."""
    print(f"\n{experiment.question}")
    for made in found.tables:
        print("\n" + made.text())
    if found.verdicts:
        print("\n" + verdict_table(found.verdicts).text())
        for claim in experiment.claims:
            print(f"  {claim.name}: {claim.says}")
    for title, lines in (("Failed trials", found.failures), ("Warnings", found.warnings)):
        if lines:
            print(f"\n{title}")
            print("\n".join(f"  {line}" for line in lines))
    print("\nFigures and results")
    for path in found.images + [results.path("report.html"), results.trials]:
        print(f"  {command.short(path)}")


def summary(found, results):
    """One line: how the trials ended and what became of the claims."""
    total, answers = len(results.rows()), [verdict.answer for verdict in found.verdicts]
    counted = [f"{answers.count(answer)} {answer}" for answer in (claims.HOLDS, claims.FAILS, claims.UNTESTED)
               if answer in answers]
    return f"{total - len(found.failures)} of {total} trials ok; claims: {', '.join(counted)}"


def _write_report(experiment, results, found, rows, left_out):
    parts = [f"<h1>{html.escape(experiment.name)} ({experiment.mode})</h1>",
             f"<p><b>Question.</b> {html.escape(experiment.question)}</p>",
             f"<p><b>Expected.</b> {html.escape(experiment.expected)}</p>"]
    if found.verdicts:
        parts.append("<h2>Claims</h2>" + verdict_table(found.verdicts).html())
        parts.append(_list([f"{claim.name}: {claim.says} — {claim.value}"
                            + (f"; testable where {claim.testable_text}" if claim.testable_text else "")
                            for claim in experiment.claims]))
    parts.append("<h2>Results</h2>")
    for path in found.images:
        if path.endswith(".svg"):
            with open(path, "rb") as file:
                data = base64.b64encode(file.read()).decode()
            parts.append(f'<img alt="{html.escape(os.path.basename(path))}" src="data:image/svg+xml;base64,{data}">')
    parts += [made.html() for made in found.tables]
    for title, lines in (("Failed trials", found.failures), ("Warnings", found.warnings), ("Left out", left_out)):
        parts.append(f"<h2>{title}</h2>" + (_list(lines) if lines else "<p>none</p>"))
    parts.append("<h2>Machine and driver</h2>" + _facts(results.machine() or {}, rows))
    with open(experiment.path, encoding="utf-8") as file:
        text = file.read()
    again = f"scripts/run {command.short(experiment.path)}{'' if experiment.mode == 'full' else ' --' + experiment.mode} --fresh"
    parts.append(f"<h2>The experiment file</h2><p>Measure again: <code>{html.escape(again)}</code></p>"
                 f"<pre>{html.escape(text)}</pre>")
    page = (f"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{html.escape(experiment.name)}</title>"
            f"<style>{CSS}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n")
    with open(results.path("report.html"), "w", encoding="utf-8") as file:
        file.write(page)


def _list(lines):
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"


def _facts(record, rows):
    """The machine, the allocators, and every column that had one value in all trials."""
    good = [row for row in rows if table.is_ok(row)]
    columns = [column for column in (good[0] if good else ()) if column not in table.RUNNER_COLUMNS]
    shown = dict(record.get("facts", {}))
    proofs = [column for column in columns if column.startswith("allocator")]
    for words in sorted({tuple(row[column] for column in proofs) for row in good}):
        shown[f"allocator {words[0]}"] = ", ".join(f"{c.partition('_')[2]} {w}" for c, w in zip(proofs[1:], words[1:]) if w)
    for column in columns:
        words = {row[column] for row in good}
        if len(words) == 1 and words != {""} and column not in proofs:
            shown[column] = words.pop()
    body = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape('unknown' if value is None else str(value))}</td></tr>"
                   for name, value in shown.items())
    return f'<table class="wide"><tbody>{body}</tbody></table>' + _list(record.get("notes", []))
