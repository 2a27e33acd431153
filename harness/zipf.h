/* SPDX-License-Identifier: MIT */
/* Ranks 0 .. n-1 with the exact Zipf law, P(rank r) proportional to 1 / (r + 1)^theta, for any theta > 0, without a
 * table.
 *
 * Rejection-inversion (Hoermann, Derflinger: "Rejection-inversion to generate variates from monotone discrete
 * distributions", 1996). Let h(x) = x^-theta and H an antiderivative of h. The integers k = 1 .. n stand for the slices
 * [k - 1/2, k + 1/2] under h. h is convex, so slice k has at least the area h(k). Draw u uniformly in the range of H, x
 * = H^-1(u), k = x rounded; then u lies in slice k, and keeping it only where it is in the last h(k) of the slice, u >=
 * H(k + 1/2) - h(k), gives each k a weight of exactly h(k). Slice 1 is cut to h(1) beforehand, so it never rejects. The
 * slack (the part of a slice before that bound) shrinks, measured in x, as k grows; so what is kept for k = 2 by a
 * bound on k - x is kept for all k, and nearly every draw is decided without H: the `squeeze`.
 *
 * n from 1 to 2^53 (ranks are computed as doubles); events rarer than 2^-53 are not told apart. A draw takes one
 * number, seldom two. Nothing allocates or fails; a zipf is only read after zipf_init, so threads share it. Link with
 * -lm. */
#ifndef RB_ZIPF_H
#define RB_ZIPF_H

#include <math.h>

#include "compiler.h"
#include "random.h"

struct zipf {
    uint64_t n;
    double theta;
    double slope;         /* 1 - theta */
    double inverse_slope; /* 1 / slope; unused unless plain */
    bool plain;           /* |slope| is large enough for the textbook form of the inverse, a third faster */
    double low, span;     /* u lies in [low, low + span) */
    double squeeze;       /* k - x at most this: keep without asking H */
};

/* H(x) = (x^(1 - theta) - 1) / (1 - theta), which tends to log x as theta tends to 1; expm1 keeps the digits on the way
 * there. */
inlined double zipf_area(const struct zipf *zipf, double x)
{
    double log_x = log(x);
    double t = zipf->slope * log_x;
    return fabs(t) < 1e-8 ? log_x * (1 + t / 2) : log_x * (expm1(t) / t);
}

inlined double zipf_area_inverse(const struct zipf *zipf, double u)
{
    double t = zipf->slope * u;
    if (zipf->plain)
        return exp(log(1 + t) * zipf->inverse_slope);
    return exp(fabs(t) < 1e-8 ? u * (1 - t / 2) : u * (log1p(t) / t));
}

inlined void zipf_init(struct zipf *zipf, uint64_t n, double theta)
{
    zipf->n = n;
    zipf->theta = theta;
    zipf->slope = 1 - theta;
    /* Rounding 1 + t costs 2^-53 absolutely, so x loses 2^-53 / |slope| relatively: nothing that a rank can show.
     * Nearer to theta = 1 the arguments of log cluster around 1, its slow case, and nothing is won. */
    zipf->plain = fabs(zipf->slope) > 0.05;
    zipf->inverse_slope = 1 / zipf->slope;
    zipf->low = zipf_area(zipf, 1.5) - 1;
    zipf->span = zipf_area(zipf, (double)n + 0.5) - zipf->low;
    zipf->squeeze = 2 - zipf_area_inverse(zipf, zipf_area(zipf, 2.5) - pow(2, -theta));
}

inlined uint64_t zipf_next(const struct zipf *zipf, struct random *random)
{
    for (;;) {
        double u = zipf->low + random_unit(random) * zipf->span;
        double x = zipf_area_inverse(zipf, u);
        /* Rounding may step over either edge of the range by one unit in the last place. */
        double k = fmin(fmax(floor(x + 0.5), 1), (double)zipf->n);
        if (k - x <= zipf->squeeze || u >= zipf_area(zipf, k + 0.5) - pow(k, -zipf->theta))
            return (uint64_t)k - 1;
    }
}

#endif
