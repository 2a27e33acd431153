# SPDX-License-Identifier: MIT
"""Few samples, no assumption more than needed.

 - A value made of quotients (a claim) gets a t interval on logarithms: with 3 to 10 repeats a bootstrap interval is too
   narrow (resampling three numbers can never look beyond them), and the logarithm of a throughput is near enough to normal.
 - A comparison of two files is about medians: bootstrap interval of their ratio, Mann-Whitney for the p value.
"""

import math

import numpy

CONFIDENCE = 0.95
RESAMPLES = 4000


def student_cdf(t, freedom):
    """P(T <= t), for real degrees of freedom: Simpson's rule over the density. Exact to 1e-6 where we use it."""
    if t == 0:
        return 0.5
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    x = numpy.linspace(0, abs(t), 4001)
    density = numpy.exp(log_scale - (freedom + 1) / 2 * numpy.log1p(x * x / freedom))
    weights = numpy.ones_like(x)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    area = float((density * weights).sum()) * (x[1] - x[0]) / 3
    return 0.5 + math.copysign(area, t)


def student_quantile(p, freedom):
    low, high = 0.0, 2.0
    while student_cdf(high, freedom) < p:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, freedom) < p else (low, middle)
    return high


def quotient_interval(above, below):
    """(value, low, high) of the product of the samples in `above` over that of `below`, each a list of positive numbers.

    Geometric means; Welch's degrees of freedom. One sample alone has no spread: then low is 0 and high is infinite."""
    signed = [(numpy.log(numpy.asarray(s, float)), sign) for group, sign in ((above, 1), (below, -1)) for s in group]
    centre = sum(sign * logs.mean() for logs, sign in signed)
    if any(len(logs) < 2 for logs, _ in signed):
        return math.exp(centre), 0.0, math.inf
    parts = [(logs.var(ddof=1) / len(logs), len(logs) - 1) for logs, _ in signed]
    variance = sum(v for v, _ in parts)
    # Constant columns (a thread count) carry rounding noise only.
    if variance < 1e-24:
        return (math.exp(centre),) * 3
    freedom = variance ** 2 / sum(v * v / f for v, f in parts)
    reach = student_quantile(0.5 + CONFIDENCE / 2, freedom) * math.sqrt(variance)
    return math.exp(centre), math.exp(centre - reach), math.exp(centre + reach)


def mean_interval(samples):
    """(mean, low, high) by Student's t; samples may be 0, as counts are."""
    samples = numpy.asarray(samples, float)
    centre, many = float(samples.mean()), len(samples)
    if many < 2:
        return centre, -math.inf, math.inf
    reach = student_quantile(0.5 + CONFIDENCE / 2, many - 1) * float(samples.std(ddof=1)) / math.sqrt(many)
    return centre, centre - reach, centre + reach


def median_ratio(a, b, seed=1):
    """(ratio, low, high) of median(b) / median(a), percentile bootstrap from a fixed seed."""
    a, b = numpy.asarray(a, float), numpy.asarray(b, float)
    chance = numpy.random.Generator(numpy.random.PCG64(seed))
    many_a = numpy.median(chance.choice(a, (RESAMPLES, len(a))), axis=1)
    many_b = numpy.median(chance.choice(b, (RESAMPLES, len(b))), axis=1)
    tail = 50 * (1 - CONFIDENCE)
    low, high = numpy.percentile(many_b / many_a, [tail, 100 - tail])
    return float(numpy.median(b) / numpy.median(a)), float(low), float(high)


def mann_whitney(a, b):
    """Two-sided p value: exact without ties and up to 20 samples a side, else the normal approximation."""
    a, b = numpy.asarray(a, float), numpy.asarray(b, float)
    u = (a[:, None] < b[None, :]).sum() + 0.5 * (a[:, None] == b[None, :]).sum()
    n, m = len(a), len(b)
    _, ties = numpy.unique(numpy.concatenate([a, b]), return_counts=True)
    if ties.max() == 1 and max(n, m) <= 20:
        counts = _u_distribution(n, m)
        tail = sum(counts[: int(min(u, n * m - u)) + 1])
        return min(1.0, 2 * tail / sum(counts))
    both = n + m
    variance = n * m / 12 * (both + 1 - ((ties ** 3 - ties).sum()) / (both * (both - 1)))
    if variance <= 0:
        return 1.0
    z = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


def _u_distribution(n, m):
    """How many orders of n and m distinct numbers give each U: coefficients of the Gaussian binomial."""
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        # times (1 - q^(m+i)), then divided by (1 - q^i)
        for u in range(n * m, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):
            counts[u] += counts[u - i]
    return counts


def least_p(n, m):
    """The smallest p value that n and m samples can give: with 3 and 3 nothing ever gets below 0.1."""
    return 2 / math.comb(n + m, n)
