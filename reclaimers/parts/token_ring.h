/* SPDX-License-Identifier: MIT */
/* What the Token-EBR schemes share: the ring, its one token, and two limbo bags per thread. A scheme that includes this file
 * defines token_received(): in which order it frees what is safe and gives the token on.
 *
 * The threads form a ring in the order of their numbers. A thread that finds the token before an operation has a receipt: its
 * previous bag is safe, its current bag becomes the previous one, and the token goes to the next thread that is online.
 * Who waits or sleeps is offline and is passed over. Who goes offline with the token gives it on first; with nobody else
 * online it is parked in the gate, and the next one to arrive takes it.
 *
 * One token. It is in a state that says HERE, in a gate that says PARKED, or in the hands of the one thread that took it
 * from there: a state is overwritten by its own thread only while it says HERE, and PARKED is cleared by one arrival's CAS
 * (1). It leaves those hands by one CAS that succeeds, to a state (3) or to the gate (7), or back to the own state.
 *    No token waits in the gate while somebody is online. An arrival says ONLINE first and passes the gate (1) then. Before
 * the parker looks round it reads the gate (2); what passed the gate before that, it finds ONLINE, or OFFLINE again. What
 * passed later has changed the gate, and (7) fails; what passes after (7) finds PARKED.
 *
 * A bag is safe one receipt after it became the previous one. Let thread H unlink node n before its receipt A, and let B be
 * its next. In between the token goes past every other thread R, in the order of the ring: a hop looks at each thread
 * between giver and receiver, and parking at all. Everything is ordered along the token: (3) or (7) releases, (4) or (1)
 * acquires.
 *  - R received it and gave it on, both between two operations. What R read before happens before B. What it reads later
 *    happens after A, and so after the unlink.
 *  - R was passed over: it was found OFFLINE (6) behind (2). Its operations before that happen before (5), which (6) acquires,
 *    and so before B. Its next operation comes after an arrival (1), which changes the gate later than (2) did: an
 *    earlier one would have shown its ONLINE to the look behind (2). Both are read-modify-writes of one word, so that (2)
 *    happens before (1): R sees the unlink.
 *  - A thread that is alone remembers the gate at which it found everybody OFFLINE. As long as (2) reads the same, nobody
 *    has arrived, and the look need not be repeated.
 * After the unlink n cannot be reached from the structure. Every node that R comes to was reachable at some moment since its
 * operation began, as the links of an unlinked node do not change: so R does not come to n (SMR_WALK_UNLINKED).
 *    Leaving and joining changes no bag: what a thread retired before it left waits for the same two receipts, and
 * between these the token has gone past all others as above, whether it came on from a neighbour or from the gate.
 *
 * Operations announce nothing, so there is nothing to order against their reads, and no fence on entry: all reads of an
 * operation lie between two ticks of its thread, and only there the token moves through it. That is also the weakness: a
 * thread that stops inside an operation, or is not scheduled, stops the ring.
 * Source: Kim, Brown and Singh, "Are Your Epochs Too Epic? Batch Free Can Be Harmful", PPoPP 2024. */
#include "race.h"

/* HERE + i: thread i gave it, so that the receiver knows when the token has gone round. */
enum { TOKEN_OFFLINE, TOKEN_ONLINE, TOKEN_HERE };

/* The gate counts arrivals in the bits above. */
#define GATE_PARKED  ((uint64_t)1)
#define GATE_ARRIVAL ((uint64_t)2)

struct token_slot {
    line_pair_align _Atomic unsigned state;
};

struct smr_header {
};

struct smr_shared {
    line_pair_align _Atomic uint64_t gate;
    line_pair_align _Atomic uint64_t rounds;   /* written by who has the token */
    line_pair_align struct token_slot **slots; /* of all threads */
    struct smr_parameters parameters;
};

struct smr_thread {
    struct fp_thread fp;
    struct smr_shared *shared;
    struct token_slot slot; /* the only part that others look at, on lines of its own */
    unsigned index;
    uint64_t alone_gate; /* not 0: at this gate it found nobody else online */
    struct bag current;  /* retired since the last receipt */
    struct bag previous; /* retired between the last two */
};

/* The scheme's: called with the token here; it calls token_receive, and token_pass once. */
static void token_received(struct smr_thread *t);

inlined void smr_init(struct smr_shared *shared, const struct smr_parameters *parameters)
{
    shared->parameters = *parameters;
    shared->slots = meta_alloc(parameters->threads * sizeof *shared->slots);
    store_relaxed(&shared->gate, GATE_PARKED);
}

inlined void smr_thread_init(struct smr_thread *t, struct smr_shared *shared, unsigned index)
{
    t->shared = shared;
    t->index = index;
    shared->slots[index] = &t->slot;
    fp_init(&t->fp, &shared->parameters);
}

inlined uint64_t smr_epoch(struct smr_shared *shared)
{
    return load_relaxed(&shared->rounds);
}

/* ---- the token ---- */

inlined bool token_here(struct smr_thread *t)
{
    return load_acquire(&t->slot.state) >= TOKEN_HERE; /* (4) */
}

/* Takes the token into the hands; the bag that is returned is safe. */
inlined struct bag token_receive(struct smr_thread *t)
{
    struct bag safe = t->previous;
    unsigned giver = load_relaxed(&t->slot.state) - TOKEN_HERE;
    store_relaxed(&t->slot.state, TOKEN_ONLINE);
    trace_instant(&t->fp.account, TRACE_GARBAGE, t->fp.account.retired - t->fp.account.released);
    if (giver >= t->index) {
        store_relaxed(&t->shared->rounds, load_relaxed(&t->shared->rounds) + 1);
        trace_instant(&t->fp.account, TRACE_EPOCH, load_relaxed(&t->shared->rounds));
    }
    t->previous = t->current;
    t->current = (struct bag){0};
    return safe;
}

/* (3) Release: all that happened along the token's way belongs to the receiver's past. False, with acquire (6): it went
 * offline. */
inlined bool token_hand(struct smr_thread *t, unsigned other)
{
    unsigned online = TOKEN_ONLINE;
    if (!cas_acq_rel(&t->shared->slots[other]->state, &online, TOKEN_HERE + t->index))
        return false;
    trace_instant(&t->fp.account, TRACE_TOKEN, other);
    return true;
}

inlined unsigned token_behind(struct smr_thread *t, unsigned index)
{
    return index + 1 == t->shared->parameters.threads ? 0 : index + 1;
}

/* Gives the token out of the hands. False: nobody else is online. */
static noinline bool token_give(struct smr_thread *t)
{
    unsigned next = token_behind(t, t->index);
    if (!t->alone_gate && next != t->index && token_hand(t, next))
        return true;
    uint64_t gate = fetch_add_acq_rel(&t->shared->gate, 0); /* (2) */
    if (gate == t->alone_gate)
        return false;
    race_window();
    for (unsigned other = next; other != t->index; other = token_behind(t, other))
        if (load_acquire(&t->shared->slots[other]->state) == TOKEN_ONLINE && /* (6) */
            token_hand(t, other)) {
            t->alone_gate = 0;
            return true;
        }
    t->alone_gate = gate;
    return false;
}

/* Gives it on; to the own state if there is nobody else. */
inlined void token_pass(struct smr_thread *t)
{
    if (!token_give(t))
        store_relaxed(&t->slot.state, TOKEN_HERE + t->index);
}

/* Alone and without garbage there is nothing to do until somebody arrives. */
static noinline void token_found(struct smr_thread *t)
{
    if (!t->current.nodes && !t->previous.nodes && load_relaxed(&t->shared->gate) == t->alone_gate)
        return;
    token_received(t);
}

/* ---- the calls ---- */

static noinline void smr_online(struct smr_thread *t)
{
    uint64_t gate = load_relaxed(&t->shared->gate);
    store_release(&t->slot.state, TOKEN_ONLINE);
    race_window();
    while (!cas_acq_rel(&t->shared->gate, &gate, (gate & ~GATE_PARKED) + GATE_ARRIVAL)) /* (1) */
        ;
    if (gate & GATE_PARKED)
        store_relaxed(&t->slot.state, TOKEN_HERE + t->index);
}

static noinline void smr_offline(struct smr_thread *t)
{
    unsigned online = TOKEN_ONLINE;
    if (cas_acq_rel(&t->slot.state, &online, TOKEN_OFFLINE)) /* (5) */
        return;
    /* The token is here, or came this moment. */
    store_release(&t->slot.state, TOKEN_OFFLINE); /* (5) */
    while (!token_give(t)) {
        uint64_t gate = t->alone_gate;
        race_window();
        if (cas_acq_rel(&t->shared->gate, &gate, gate | GATE_PARKED)) /* (7) */
            return;
    }
}

inlined void smr_tick(struct smr_thread *t)
{
    if (unlikely(token_here(t)))
        token_found(t);
    fp_tick(&t->fp);
}

inlined void smr_op_begin(struct smr_thread *t)
{
    (void)t;
}

inlined void smr_op_end(struct smr_thread *t)
{
    (void)t;
}

inlined void smr_retire(struct smr_thread *t, unsigned kind, void *node)
{
    account_retire(&t->fp.account);
    bag_push(&t->current, &t->fp.account, (uintptr_t)node | kind);
}

inlined uint64_t smr_held(struct smr_thread *t)
{
    return fp_held(&t->fp) + t->current.nodes + t->previous.nodes;
}

static noinline void smr_drain(struct smr_thread *t)
{
    fp_release(&t->fp, &t->previous);
    fp_release(&t->fp, &t->current);
    fp_drain(&t->fp);
}

#include "plain_protect.h"
