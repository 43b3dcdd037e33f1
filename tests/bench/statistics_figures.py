#!/usr/bin/env python3
"""Computes tests/bench/statistics_figures.json once, with SciPy, NumPy and definitions written out.

    python3 tests/bench/statistics_figures.py > tests/bench/statistics_figures.json

The tests compare collbench's own functions with the figures to 1e-9. What SciPy does not have
(Hodges-Lehmann intervals, Holm, the energy statistic) is computed here from its definition, by
another way than the one under test: intervals by inverting SciPy's test at every shift.
"""
import itertools
import json
import math
import sys

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20261121)


def interval(candidates, rejected, tail):
    """The outermost candidate shifts between which no shift is rejected at `tail`."""
    shifts = np.sort(candidates)
    gaps = [(a + b) / 2 for a, b in zip(shifts, shifts[1:])]
    kept = [i for i, gap in enumerate(gaps) if not rejected(gap, tail)]
    outer = not rejected(shifts[0] - 1, tail), not rejected(shifts[-1] + 1, tail)
    low = None if outer[0] else shifts[kept[0]]
    high = None if outer[1] else shifts[kept[-1] + 1]
    return low, high


def two_samples(first, second, method, tied=False):
    greater = stats.mannwhitneyu(second, first, alternative="greater", method=method)
    less = stats.mannwhitneyu(second, first, alternative="less", method=method)
    differences = [b - a for a, b in itertools.product(first, second)]
    figures = {
        "first": first, "second": second, "statistic": greater.statistic,
        "p_greater": greater.pvalue, "p_less": less.pvalue, "exact": method == "exact",
        "shift": float(np.median(differences)),
    }
    if tied:
        figures |= tied_two_samples(first, second)
    if method == "exact":
        def rejected(shift, tail):
            moved = [b - shift for b in second]
            return min(stats.mannwhitneyu(moved, first, alternative=way, method="exact").pvalue
                       for way in ("greater", "less")) <= tail
        if len(differences) <= 300:  # SciPy takes minutes for more
            figures["low"], figures["high"] = interval(differences, rejected, 0.025)
        margin = 0.3
        figures["margin"] = margin
        figures["equivalence_p"] = max(
            stats.mannwhitneyu(second, [a - margin for a in first], alternative="greater",
                               method="exact").pvalue,
            stats.mannwhitneyu(second, [a + margin for a in first], alternative="less",
                               method="exact").pvalue)
    return figures


def tied_two_samples(first, second):
    """All choices of places for `second` are as likely, and the ranks of equal values are their
    mean; SciPy has no exact chances where there are any."""
    ordered = sorted(first + second)
    doubled = {v: 2 * ordered.index(v) + ordered.count(v) + 1 for v in ordered}
    ways = {(0, 0): 1}  # by how many were chosen, and the sum of their doubled ranks
    for value in ordered:
        more = {(k + 1, w + doubled[value]): n for (k, w), n in ways.items() if k < len(second)}
        ways = {key: ways.get(key, 0) + more.get(key, 0) for key in set(ways) | set(more)}
    at = sum(doubled[v] for v in second)
    every = math.comb(len(ordered), len(second))
    sums = {w: n for (k, w), n in ways.items() if k == len(second)}
    return {"p_greater": sum(n for w, n in sums.items() if w >= at) / every,
            "p_less": sum(n for w, n in sums.items() if w <= at) / every, "exact": True}


def tied_signed_ranks(differences):
    """All choices of signs are as likely, and the ranks of equal sizes are their mean; SciPy has no
    exact chances where there are any."""
    sizes = sorted(abs(d) for d in differences)
    doubled = [2 * sizes.index(abs(d)) + sizes.count(abs(d)) + 1 for d in differences]
    ways = {0: 1}  # by the sum of the doubled ranks that count
    for rank in doubled:
        ways = {w: ways.get(w, 0) + ways.get(w - rank, 0)
                for w in set(ways) | {w + rank for w in ways}}
    at = sum(rank for rank, d in zip(doubled, differences) if d > 0)
    every = 2 ** len(doubled)
    return {"p_greater": sum(n for w, n in ways.items() if w >= at) / every,
            "p_less": sum(n for w, n in ways.items() if w <= at) / every, "statistic": at / 2}


def signed_ranks(differences, tied=False):
    figures = {"differences": differences, "exact": True}
    if tied:
        figures |= tied_signed_ranks(differences)
    else:
        for way in ("greater", "less"):
            test = stats.wilcoxon(differences, alternative=way, mode="exact")
            figures["p_" + way] = test.pvalue
            figures["statistic"] = test.statistic
    means = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(differences, 2)]
    figures["shift"] = float(np.median(means))
    if not tied:
        def rejected(shift, tail):
            moved = [d - shift for d in differences]
            return min(stats.wilcoxon(moved, alternative=a, mode="exact").pvalue
                       for a in ("greater", "less")) <= tail
        figures["low"], figures["high"] = interval(means, rejected, 0.025)
    return figures


def holm(p):
    """Rejected at alpha as long as the k-th smallest of m is at most alpha / (m - k)."""
    ordered = sorted(p)
    return [max(min(1.0, (len(p) - k) * q) for k, q in enumerate(ordered[:ordered.index(x) + 1]))
            for x in p]


def energy(series, split):
    """Szekely and Rizzo's statistic between the two parts, by its definition."""
    left, right = series[:split], series[split:]
    n, m = len(left), len(right)
    between = sum(abs(a - b) for a in left for b in right) * 2 / (n * m)
    within = sum(abs(a - b) for a, b in itertools.combinations(left, 2)) / math.comb(n, 2)
    within += sum(abs(a - b) for a, b in itertools.combinations(right, 2)) / math.comb(m, 2)
    return n * m / (n + m) * (between - within)


def series_figures(series):
    splits = range(3, len(series) - 2)
    values = {k: energy(series, k) for k in splits}
    best = max(values, key=values.get)
    return {"series": series, "energy": [values[k] for k in splits], "first_split": 3,
            "best": best,
            "p": stats.ttest_ind(series[:best], series[best:], equal_var=True).pvalue}


def rounded(n, scale=1.0, shift=0.0, digits=None):
    values = rng.lognormal(sigma=0.2, size=n) * scale + shift
    return [round(float(v), digits) if digits is not None else float(v) for v in values]


sizes = [(1, 1), (3, 5), (10, 10), (20, 10), (8, 30), (40, 40), (60, 60)]
figures = {
    "made_with": f"scipy {scipy.__version__}, numpy {np.__version__}",
    "mann_whitney": [two_samples(rounded(n), rounded(m, 1.1), "exact") for n, m in sizes]
    + [two_samples(rounded(n, digits=1), rounded(m, 1.1, digits=1), "asymptotic",
                   tied=True)
       for n, m in ((10, 10), (20, 12))]
    + [two_samples(rounded(70), rounded(80, 1.02), "asymptotic")],
    "wilcoxon": [signed_ranks([a - b for a, b in zip(rounded(n, 1.1), rounded(n))])
                 for n in (2, 6, 10, 25)]
    + [signed_ranks([round(a - b, 1) or 0.3 for a, b in zip(rounded(30, 1.1), rounded(30))],
                    tied=True)],
    "holm": [{"p": p, "adjusted": holm(p)} for p in (
        [0.01], [0.04, 0.01, 0.03], [0.001, 0.5, 0.2, 0.004, 0.9, 0.0125],
        [float(v) for v in rng.uniform(size=12) ** 3])],
    "quantile": [{"values": v, "part": q, "value": float(np.quantile(v, q))}
                 for v in (rounded(1), rounded(7), rounded(10)) for q in (0, 0.25, 0.5, 0.95, 1)],
    "normal": [{"z": z, "p": float(stats.norm.cdf(z))} for z in (-6, -2.5, -0.3, 0, 1.96, 4)],
    "student": [{"t": t, "df": df, "p": float(2 * stats.t.sf(abs(t), df))}
                for t in (0.1, 1, 2.5, 8, -40) for df in (1, 2, 7, 58, 300)],
    "changes": [series_figures(rounded(12) + rounded(9, 1.5)),
                series_figures(rounded(30) + rounded(30, 1.1)), series_figures(rounded(10))],
}
json.dump(figures, sys.stdout, indent=1, allow_nan=False,
          default=lambda value: value.item())
print()
