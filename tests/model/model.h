/* model.h: random operations on one pool over the emulated device, each compared with what a naive oracle knows.
 *
 * The oracle shares nothing with the engine: which bytes of which physical handle a live block uses is read from the
 * emulator's page tables (struct emu_mapping), once when the block is made and again in every check. Order between
 * streams is judged by the emulator, to which every launch of the model tells what it touches.
 *
 * Everything follows from the seed, and all checks are made after every operation.
 */
#ifndef SEAM_TESTS_MODEL_H
#define SEAM_TESTS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/seam.h>
#include <seam/stats.h>

#include "emu.h"
#include "planned.h"
#include "pool.h"
#include "tree.h"

#define MODEL_STREAMS 4u
#define MODEL_LIVE 4096u
#define MODEL_PRIVATES 4u /* ids 1..4; the first two serve captures on the stream of the same number */
#define MODEL_GRAPH_RANGES 32u
#define MODEL_GHOSTS 6u
#define MODEL_KEPT 64u      /* blocks of a checkpoint */
#define MODEL_PLAN_LIVE 60u /* about so many blocks are live at most in rows with programs */
#define MODEL_SLOTS 60u     /* most requests of a program's iteration */
#define MODEL_PROGRAMS 3u
#define MODEL_RESIDENTS 6u
#define MODEL_PLANS 3u

/* What a row of the table lets happen. */
enum model_feature {
	MODEL_PRIVATE = 1,       /* private pools */
	MODEL_CAPTURE = 2,       /* stream captures and their replays (needs MODEL_PRIVATE) */
	MODEL_WATCHED = 4,       /* captures outside private pools (needs watch_captures) */
	MODEL_DEATHS = 8,        /* streams are destroyed, with notice, and made anew under the same handle */
	MODEL_CONTENT = 16,      /* real memory: live blocks hold their patterns */
	MODEL_TIGHT_GROWTH = 32, /* one stream and no budget: I5 can be computed */
	MODEL_BUDGETS = 64,      /* a request may fail for want of mappings or addresses */
	MODEL_LEGACY = 128,      /* stream 0 is the legacy default stream and the others synchronise with it */
	MODEL_FLAGS = 256,       /* contiguous, no-stitch and no-wait requests */
	MODEL_SUDDEN = 512,      /* streams are destroyed without notice (needs verify_streams) */
	MODEL_PLAN = 1024,  /* periodic programs besides, and plans learned, used and dropped (needs plan:inline) */
	MODEL_SHORT = 2048, /* the programs have few requests */
	MODEL_PRICE = 4096, /* stitching is too dear half of the time */
};

struct model_row {
	const char *name;
	const char *conf; /* as in SEAM_CONF */
	uint64_t device_bytes;
	uint64_t largest_bytes; /* of a request */
	unsigned streams;
	unsigned features;
};

/* A physical handle that the oracle knows. */
struct model_phys;
SEAM_TREE_HEAD(model_physes, struct model_phys);

/* Bytes of a physical handle that a live block uses. */
struct model_piece {
	RB_ENTRY(model_piece) by_begin;
	struct model_phys *phys;
	uint64_t begin, end;
};
SEAM_TREE_HEAD(model_pieces, struct model_piece);

struct model_phys {
	RB_ENTRY(model_phys) by_id;
	uint64_t id;
	uint64_t private_id; /* whose blocks it held last; 0: common */
	uint32_t pieces;
	struct model_pieces tree;
};

struct model_block {
	void *ptr;
	uint64_t id; /* from 1; of no other block, ever */
	bool of_program;
	uint64_t bytes; /* rounded up */
	uint64_t requested_bytes;
	uint64_t private_id;
	unsigned stream;
	bool orphan; /* its stream is gone */
	bool captured;
	unsigned uses;  /* bit per stream that it was recorded for */
	uint32_t value; /* the pattern it holds; 0: none */
	struct model_piece *pieces;
	uint32_t piece_count;
};

/* What a captured graph touched: its replay touches it again. */
struct model_graph {
	struct seam_emu_range ranges[MODEL_GRAPH_RANGES];
	unsigned count;
};

/* One request of a program's iteration. */
struct model_slot {
	uint64_t bytes;
	unsigned stream, thread;
	unsigned lag;     /* so many iterations later than the next free it is freed */
	bool dynamic;     /* its size is another one each time */
	uint64_t held[3]; /* ids of blocks, the oldest first */
	unsigned held_count;
};

struct model_act {
	unsigned slot;
	bool is_free;
};

/* Repeats itself, but for its noise. */
struct model_program {
	struct model_slot slots[MODEL_SLOTS];
	struct model_act acts[2 * MODEL_SLOTS];
	unsigned slot_count, act_count, at;
	unsigned noise;  /* of 1000 acts so many are not as they should be */
	unsigned others; /* of 1000 operations so many are not the program's */
	bool marks;      /* it calls seam_step() */
	bool begun;
	uint64_t residents[MODEL_RESIDENTS]; /* ids */
};

/* What was live in a private pool. */
struct model_checkpoint {
	bool kept;
	struct model_block blocks[MODEL_KEPT];
	uint32_t count;
};

struct model_private {
	uint64_t references;
	struct model_graph graph; /* of the newest capture */
	struct model_checkpoint checkpoint;
};

/* One failure to come, among the calls that the pool makes: the model's own calls to the device are left alone. */
struct model_fault {
	uint64_t left;    /* the so manieth call from now fails; 0: none */
	bool metadata;    /* allocations of metadata, not calls of the driver */
	uint64_t classes; /* of the driver's calls: bit per enum seam_drv_class */
	int code;
	bool fired;
};

struct model {
	const struct model_row *row;
	struct model_fault fault;
	struct seam_driver *driver;
	struct seam_pool *pool;
	uint64_t random;
	uint64_t op;
	const char *doing;
	char failure[400]; /* "" while all is well */
	uint64_t streams[MODEL_STREAMS];
	struct seam_event events[MODEL_STREAMS];
	bool capturing[MODEL_STREAMS];
	unsigned captures;                       /* of these */
	uint64_t capture_private[MODEL_STREAMS]; /* valid while capturing: 0 for one outside private pools */
	bool shrinking;                          /* frees outnumber allocations for a while */
	struct model_block live[MODEL_LIVE];
	uint32_t live_count;
	struct model_block ghosts[MODEL_GHOSTS]; /* freed, but captured in the common memory: never used again */
	uint32_t ghost_count;
	struct model_private privates[MODEL_PRIVATES + 1];
	bool routed; /* requests on the last stream go to private pool 3 */
	struct model_physes physes;
	uint64_t live_bytes, live_requested_bytes, allocs, frees;
	uint64_t placements; /* a hash of every block's view and offset: for I8 */
	uint64_t slowness;   /* kernels take this many times as long */
	uint64_t ooms, refusals;
	uint64_t restored; /* blocks that no request was served with */
	uint64_t ids;      /* of blocks, so far */
	struct model_program programs[MODEL_PROGRAMS];
	unsigned program;                     /* the one that runs */
	unsigned iterations;                  /* so many are left of it */
	struct seam_plan *plans[MODEL_PLANS]; /* made earlier, from what was recorded then; NULL: none */
	struct seam_engine_counts counts;     /* of the pool, before it was closed */
	struct seam_planned_counts plan_block;
	uint64_t plans_made;
	uint64_t firsts; /* requests made while a plan expected its first ones */
};

/* A device and a pool as the row wants them. Kernels take `slowness` times as long. fault: NULL, or what is to fail.
 * False: model->failure says why. */
bool model_open(struct model *model, const struct model_row *row, uint64_t seed, uint64_t slowness,
	const struct model_fault *fault);

/* Frees and destroys everything; what is left then is a failure (I11). */
void model_close(struct model *model);

/* One random operation, then all checks. */
void model_step(struct model *model);

/* One request, and all that is to be said about its outcome. Returns the block's id, 0 if there is none. */
uint64_t model_ask(struct model *model, struct seam_request *request, unsigned stream);

/* Frees live[index]. */
void model_free_at(struct model *model, uint32_t index);

/* ---- programs and plans (program.c) ---- */

/* An operation of a row with MODEL_PLAN. False: it is to be one as in other rows. */
bool model_plan_step(struct model *model);

/* Plans that were kept go. */
void model_plan_close(struct model *model);

/* Around every call of the API. disarm: whether the fault fired in between; then the call may have failed. */
void model_arm(struct model *model);
bool model_disarm(struct model *model);

/* Notes the first failure. */
__attribute__((format(printf, 2, 3))) void model_fail(struct model *model, const char *format, ...);

static inline bool model_failed(const struct model *model)
{
	return model->failure[0] != '\0';
}

uint64_t model_random(struct model *model, uint64_t below);

static inline bool model_one_in(struct model *model, uint64_t n)
{
	return model_random(model, n) == 0;
}

/* ---- the device's side (work.c) ---- */

/* Work submitted to stream `to` from now on starts after what `from` has. */
void model_order(struct model *model, unsigned from, unsigned to);

/* A kernel on the block's own stream, behind all other uses, that writes all of it. */
void model_launch(struct model *model, struct model_block *block);

/* The block is recorded for another stream, and read there. */
void model_use_elsewhere(struct model *model, struct model_block *block, unsigned stream);

/* Whether the block still holds its pattern. */
void model_check_content(struct model *model, const struct model_block *block);

void model_sync(struct model *model, unsigned stream);
void model_capture_begin(struct model *model, unsigned stream);
void model_capture_end(struct model *model, unsigned stream);
void model_replay(struct model *model, unsigned stream);

/* Drops a reference to a private pool. */
void model_release(struct model *model, uint64_t id);

/* The stream goes, with notice or without; another takes its place. */
void model_kill_stream(struct model *model, unsigned stream);

/* ---- checkpoints of private pools (checkpoint.c) ---- */

/* Writes down what is live in the private pool. */
void model_checkpoint(struct model *model, uint64_t id);

/* The pool goes back to it. What a capture used must be there. */
void model_restore(struct model *model, uint64_t id);

/* The stream is gone, and with it the checkpoints that have blocks on it. */
void model_forget_stream(struct model *model, unsigned stream);

/* ---- the oracle (oracle.c) ---- */

/* A block was handed out: nobody else may have a byte of it. */
void model_enter(struct model *model, struct model_block *block);

/* It is free. */
void model_leave(struct model *model, struct model_block *block);

/* Private pool `id` is gone: its memory is common. */
void model_join(struct model *model, uint64_t id);

/* Bytes of chunks of one private pool (0: the common memory) in which nothing is live. released: only what a trim
 * releases, which is not what plans count on. */
uint64_t model_whole_bytes(const struct model *model, uint64_t private_id, bool released);

/* A request of `bytes` was refused although everything was allowed: was there really no memory? */
void model_judge_refusal(struct model *model, uint64_t bytes, uint64_t private_id);

/* A request was refused for want of mappings: was everything given up that nobody uses? */
void model_judge_shortage(struct model *model);

/* Accounts and the judge: after every operation. */
void model_check_accounts(struct model *model);

/* Every structure, and every live block's pages. */
void model_check_all(struct model *model);

void model_forget_all(struct model *model);

#endif
