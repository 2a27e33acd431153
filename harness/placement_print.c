/* SPDX-License-Identifier: MIT */
/* A plan as text: lines for people and grep, one word for the row. */
#include "placement.h"

#include "error.h"
#include "placement_state.h"

#include <stdarg.h>

/* A list of numbers under construction, in which the last run is still open. */
struct list {
    char *at;
    size_t left;
    const char *separator;
    int first, last;
};

static void append(struct list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(struct list *list, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(list->at, list->left, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= list->left)
        fail(STATUS_INVARIANT, "wanted room for a whole list of units, found a buffer that is too small: report this");
    list->at += length;
    list->left -= (size_t)length;
}

static void close_run(struct list *list)
{
    if (list->first < 0)
        return;
    append(list, "%s%d", list->separator, list->first);
    if (list->last != list->first)
        append(list, "-%d", list->last);
    list->separator = ",";
}

static void add(struct list *list, int unit)
{
    if (list->first < 0 || unit != list->last + 1) {
        close_run(list);
        list->first = unit;
    }
    list->last = unit;
}

static struct list open_list(char *buffer, size_t size)
{
    struct list list = {.at = buffer, .left = size, .separator = "", .first = -1};
    append(&list, "%s", "");
    return list;
}

void unit_set_format(const struct unit_set *set, char *buffer, size_t size)
{
    struct list list = open_list(buffer, size);
    for (int unit = 0; unit < MOST_UNITS; unit++)
        if (unit_set_has(set, unit))
            add(&list, unit);
    close_run(&list);
}

void placement_format(const struct placement *p, char *buffer, size_t size)
{
    struct list list = open_list(buffer, size);
    if (p->plan == NULL) {
        append(&list, "any");
        return;
    }
    for (unsigned t = 0; t < p->threads; t++)
        add(&list, p->plan[t]->os);
    close_run(&list);
}

static void print_place(const struct placement *p, const struct unit *unit, FILE *out)
{
    if (unit == NULL) {
        fputs("unit any\n", out);
        return;
    }
    fprintf(out, "unit %d core %u socket %u node %d", unit->os, unit->core, unit->socket, unit->node);
    if (p->kinds > 1)
        fprintf(out, " kind %d", unit->kind);
    fputc('\n', out);
}

void placement_print(const struct placement *p, FILE *out)
{
    fprintf(out, "sockets %u cores %u units %u nodes %u", p->sockets, p->cores, p->units, p->nodes);
    if (p->kinds > 1)
        fprintf(out, " kinds %u", p->kinds);
    fprintf(out, " order %s threads %u oversubscribed %s\n", p->order, p->threads, p->oversubscribed ? "yes" : "no");
    for (unsigned t = 0; t < p->threads; t++) {
        fprintf(out, "thread %u -> ", t);
        print_place(p, p->plan ? p->plan[t] : NULL, out);
    }
    fputs("helper -> ", out);
    print_place(p, p->helper, out);
}
