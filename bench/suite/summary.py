"""Turns the figures of all turns into rows with medians and ratios, which are what is kept as JSON."""

import dataclasses
import statistics

from suite import peers as others

LEAST = "node_us_per_acquire"  # of all turns, not the median: a node that waits for its core counts that as work


def summarize(row, results):
    """The figures of a row: {key: {subject, base, ratio, ratio_min, ratio_max}}. Ratios are of runs of the same turn."""
    subject = results.get(row.subject, {})
    base = results.get(row.base, {}) if row.base else None
    figures = {}
    for key in sorted({key for made in subject.values() for key in made}):
        turns = [turn for turn in subject if key in subject[turn]]
        middle = min if key == LEAST else statistics.median
        figure = {"subject": middle(subject[turn][key] for turn in turns)}
        both = [turn for turn in turns if base and key in base.get(turn, {})]
        ratios = [subject[turn][key] / base[turn][key] for turn in both if base[turn][key] > 0]
        if ratios:
            figure["base"] = middle(base[turn][key] for turn in both)
            figure["ratio"] = figure["subject"] / figure["base"] if key == LEAST else statistics.median(ratios)
            figure |= {"ratio_min": min(ratios), "ratio_max": max(ratios)}
        figures[key] = figure
    return figures


def make_row(row, results, skipped):
    made = {"table": row.table, "label": row.label, "against": row.against, "run": dataclasses.asdict(row.subject),
            "figures": summarize(row, results)}
    why = skipped.get(row.subject) or skipped.get(row.base)
    return made | {"skipped": why} if why else made


def make_target(target, results):
    figure = summarize(target.row, results).get(target.figure, {})
    value = figure.get(target.part)
    return {"words": target.words, "sign": target.sign, "target": target.value, "measured": value, "met": is_met(target, value),
            "min": figure.get("ratio_min"), "max": figure.get("ratio_max")}


def is_met(target, value):
    if value is None:
        return None
    return value <= target.value if target.sign == "<=" else value >= target.value


def make_peer_target(target, results, peers):
    """Against the best of the peers, whichever that is."""
    ours, best = summarize(target.row, results).get(target.figure, {}).get("subject"), others.best_rate(peers)
    value = ours / best if ours and best else None
    return {"words": target.words, "sign": target.sign, "target": target.value, "measured": value, "met": is_met(target, value),
            "min": None, "max": None}


def make_target_between(target, peers):
    """One peer against another, of the same run."""
    ours, theirs = (others.rate_of(peers, folder, target.workload) for folder in (target.subject, target.base))
    value = ours / theirs if ours and theirs else None
    return {"words": target.words, "sign": target.sign, "target": target.value, "measured": value, "met": is_met(target, value),
            "min": None, "max": None}


def make_document(about, rows, targets, peer_targets, results, skipped, peers):
    """What is kept of a benchmark."""
    made = [make_peer_target(target, results, peers) if target.part == "best peer" else make_target(target, results)
            for target in targets]
    made += [make_target_between(target, peers) for target in peer_targets]
    return {"machine": about, "rows": [make_row(row, results, skipped) for row in rows], "peers": peers, "targets": made}
