/* SPDX-License-Identifier: MIT */
/* The one option table: parser, --help, "did you mean", ranges, the row's columns and the experiment checker read it.
 */
#ifndef RB_OPTIONS_H
#define RB_OPTIONS_H

#include "compiler.h"

#include <stdio.h>

struct options {
    const char *structure, *reclaimer, *policy, *allocator;
    const char *threads;
    const char *readers;
    uint64_t writers;
    double write_rate, append_rate;
    uint64_t block;
    const char *yield;
    double seconds;
    uint64_t ops;
    double warmup;
    uint64_t keys;
    double insert, remove, scan;
    uint64_t scan_length;
    const char *prefill;
    uint64_t prefill_threads;
    const char *drain;
    const char *distribution;
    const char *pin;
    bool oversubscribe;
    const char *membind;
    const char *rwlock_kind;
    uint64_t batch_size, epoch_frequency, token_check_every;
    uint64_t pad_nodes;
    const char *fence;
    uint64_t sample_every;
    uint64_t seed, repeat_index;
    bool time_free;
    const char *trace;
    uint64_t trace_threshold, trace_events;
    const char *samples;
    uint64_t sample_hz;
    const char *csv;
    bool unsound, force;
    const char *topology;
    bool check, plan_pinning;
    const char *list;
    bool version, help;
};

enum option_type { OPTION_WORD, OPTION_FLAG, OPTION_COUNT, OPTION_NUMBER };

struct option {
    const char *name;
    enum option_type type;
    size_t offset; /* in struct options */
    const char *initial;
    double least, most;     /* counts and numbers */
    const char *choices;    /* words: "a|b"; NULL: anything (checked by whoever reads it) */
    const char *value_name; /* for --help */
    const char *help;
    const char *kind;    /* of structures, "set" or "block"; NULL: it means something with every kind */
    bool column;         /* its effective value is a column of the row, under its name with _ for - */
    bool value_optional; /* --list or --list=csv */
};

extern const struct option option_table[];
extern const size_t option_count;

/* Fills defaults, then argv. Every mistake ends the process with one line and exit status 2. */
void options_parse(struct options *, int argc, char **argv);
/* True if argv named it; for combinations that need to know. */
bool option_given(const char *name);
/* Ends the process if argv named an option that means nothing with structures of this kind. */
void options_check_kind(const char *kind);
/* As it is written to the row. */
void option_print(const struct option *, const struct options *, char *text, size_t size);
void options_help(FILE *);

#endif
