/* SPDX-License-Identifier: MIT */
/* Which thread gets which unit. An order is a sort of the allowed units, and the plan takes them from the front. */
#include "placement.h"

#include "error.h"
#include "meta.h"
#include "placement_state.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Far beyond any machine, near enough that a typing error does not become a fork bomb. */
enum { MOST_THREADS = 65536 };

static int rising(unsigned a, unsigned b)
{
    return (a > b) - (a < b);
}

/* Cores of a socket, faster kinds first. Core numbers go through a socket's dies and caches one after the other. */
static int by_core(const struct unit *a, const struct unit *b)
{
    if (a->kind != b->kind)
        return a->kind > b->kind ? -1 : 1;
    return rising(a->core, b->core);
}

static int by_socket(const struct unit *a, const struct unit *b)
{
    int order = rising(a->socket, b->socket);
    return order ? order : by_core(a, b);
}

static int compare_fill(const void *a, const void *b)
{
    const struct unit *left = a, *right = b;
    int order = by_socket(left, right);
    return order ? order : rising(left->sibling, right->sibling);
}

/* The entry of an order under construction: rank says how many units of the same socket and sibling number come
 * earlier. Round over sockets means to sort by it, and it stays even where a hole or a cgroup leaves sockets with
 * unequal cores. */
struct candidate {
    const struct unit *unit;
    unsigned rank;
};

static int compare_cores(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    int order = rising(left->unit->sibling, right->unit->sibling);
    return order ? order : by_socket(left->unit, right->unit);
}

static int compare_scatter(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    int order = rising(left->unit->sibling, right->unit->sibling);
    if (order == 0)
        order = rising(left->rank, right->rank);
    return order ? order : rising(left->unit->socket, right->unit->socket);
}

void placement_sort(struct placement *p)
{
    qsort(p->unit, p->units, sizeof *p->unit, compare_fill);
}

static bool number(const char **text, unsigned long most, unsigned long *value)
{
    char *end;
    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    *value = strtoul(*text, &end, 10);
    *text = end;
    return errno == 0 && *value <= most;
}

static unsigned units_beside_first(const struct placement *p, bool whole_socket)
{
    unsigned count = 0;
    for (unsigned i = 0; i < p->units; i++)
        count += p->unit[i].socket == p->unit[0].socket && (whole_socket || p->unit[i].core == p->unit[0].core);
    return count;
}

unsigned placement_threads(const struct placement *p, const char *option, const char *word)
{
    if (strcmp(word, "core") == 0)
        return units_beside_first(p, false);
    if (strcmp(word, "socket") == 0)
        return units_beside_first(p, true);
    if (strcmp(word, "all") == 0)
        return p->units;
    const char *rest = word;
    unsigned long value;
    if (number(&rest, MOST_THREADS, &value) && value > 0) {
        if (*rest == '\0')
            return (unsigned)value;
        if (strcmp(rest, "x") == 0 && value * p->units <= MOST_THREADS)
            return (unsigned)value * p->units;
    }
    fail(STATUS_USAGE,
         "wanted a number from 1 to %d, core, socket, all or 2x, 3x ... (times all %u units) for --%s, found '%s': "
         "choose one",
         MOST_THREADS, p->units, option, word);
}

/* Fills order with the units that the word names and returns how many. */
static unsigned order_sorted(const struct placement *p, const char *word, const struct unit **order)
{
    struct candidate *candidate = meta_alloc(p->units * sizeof *candidate);
    for (unsigned i = 0; i < p->units; i++) {
        candidate[i].unit = &p->unit[i];
        for (unsigned earlier = 0; earlier < i; earlier++)
            candidate[i].rank +=
                p->unit[earlier].socket == p->unit[i].socket && p->unit[earlier].sibling == p->unit[i].sibling;
    }
    if (strcmp(word, "cores") == 0)
        qsort(candidate, p->units, sizeof *candidate, compare_cores);
    else if (strcmp(word, "scatter") == 0)
        qsort(candidate, p->units, sizeof *candidate, compare_scatter);
    else if (strcmp(word, "fill") != 0)
        fail(STATUS_USAGE, "wanted fill, cores, scatter, none or list:UNITS for --pin, found '%s': choose one", word);
    for (unsigned i = 0; i < p->units; i++)
        order[i] = candidate[i].unit;
    return p->units;
}

static const struct unit *allowed_unit(const struct placement *p, const char *word, unsigned long os)
{
    for (unsigned i = 0; i < p->units; i++)
        if ((unsigned long)p->unit[i].os == os)
            return &p->unit[i];
    char list[PLACEMENT_FORMAT_BYTES(MOST_UNITS)];
    unit_set_format(&p->allowed, list, sizeof list);
    fail(STATUS_USAGE,
         "wanted units out of the allowed %s for --pin=%s, found unit %lu: leave it out or widen the allowed set", list,
         word, os);
}

static void list_append(const struct unit **order, unsigned *count, const struct unit *unit, const char *word,
                        bool oversubscribe)
{
    for (unsigned i = 0; !oversubscribe && i < *count; i++)
        if (order[i] == unit)
            fail(STATUS_USAGE,
                 "wanted each unit once in --pin=%s, found unit %d twice: name it once or add --oversubscribe", word,
                 unit->os);
    if (*count == MOST_THREADS)
        fail(STATUS_USAGE, "wanted at most %d units in --pin=list:, found more: shorten the list", MOST_THREADS);
    order[(*count)++] = unit;
}

static unsigned order_listed(const struct placement *p, const char *word, const struct unit **order, bool oversubscribe)
{
    unsigned count = 0;
    const char *rest = word + strlen("list:");
    for (char separator = ','; separator == ','; separator = *rest++) {
        unsigned long first = 0, last;
        bool good = number(&rest, MOST_UNITS - 1, &first);
        last = first;
        if (good && *rest == '-') {
            rest++;
            good = number(&rest, MOST_UNITS - 1, &last) && last >= first;
        }
        if (!good || (*rest != ',' && *rest != '\0'))
            fail(STATUS_USAGE,
                 "wanted --pin=list: with units and rising ranges such as list:0,2-5, found '%s': correct it", word);
        for (unsigned long os = first; os <= last; os++)
            list_append(order, &count, allowed_unit(p, word, os), word, oversubscribe);
    }
    return count;
}

static bool planned(const struct placement *p, const struct unit *unit, bool whole_core)
{
    for (unsigned t = 0; t < p->threads; t++)
        if (p->plan[t] == unit || (whole_core && p->plan[t]->core == unit->core))
            return true;
    return false;
}

/* The last in the order of `fill`: farthest from where plans begin, and on a hybrid a slow core. */
static const struct unit *free_unit(const struct placement *p, bool whole_core)
{
    for (unsigned i = p->units; i-- > 0;)
        if (!planned(p, &p->unit[i], whole_core))
            return &p->unit[i];
    return NULL;
}

static void check_enough(const char *order, unsigned threads, unsigned available, bool oversubscribe)
{
    if (threads > available && !oversubscribe)
        fail(
            STATUS_USAGE,
            "wanted %u threads on the units of --pin=%s, found %u units: use at most %u threads or add --oversubscribe",
            threads, order, available, available);
}

static bool any_shared(const struct placement *p)
{
    struct unit_set seen = {0};
    for (unsigned t = 0; t < p->threads; t++) {
        if (unit_set_has(&seen, p->plan[t]->os))
            return true;
        unit_set_add(&seen, p->plan[t]->os);
    }
    return false;
}

void placement_plan(struct placement *p, const char *order, unsigned threads, unsigned guests, bool oversubscribe)
{
    p->order = order;
    p->threads = threads;
    p->plan = NULL;
    p->helper = NULL;
    if (strcmp(order, "none") == 0) {
        check_enough(order, threads - guests, p->units, oversubscribe);
        p->oversubscribed = threads > p->units;
        return;
    }
    const struct unit **ordered = meta_alloc(MOST_THREADS * sizeof(struct unit *));
    bool listed = strncmp(order, "list:", strlen("list:")) == 0;
    unsigned available = listed ? order_listed(p, order, ordered, oversubscribe) : order_sorted(p, order, ordered);
    check_enough(order, threads - guests, available, oversubscribe);
    p->plan = meta_alloc(threads * sizeof *p->plan);
    for (unsigned t = 0; t < threads; t++)
        p->plan[t] = ordered[t % available];
    p->oversubscribed = any_shared(p);
    p->helper = free_unit(p, true);
    if (p->helper == NULL)
        p->helper = free_unit(p, false);
}

bool placement_oversubscribed(const struct placement *p)
{
    return p->oversubscribed;
}

int placement_unit(const struct placement *p, unsigned thread)
{
    return p->plan ? p->plan[thread]->os : -1;
}

int placement_helper_unit(const struct placement *p)
{
    return p->helper ? p->helper->os : -1;
}
