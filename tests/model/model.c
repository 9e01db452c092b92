/* model.c: the table of configurations, and the program that runs one row: model ROW [SEED [OPERATIONS]].
 *
 * Exit status 1 and a line with the seed and the number of the operation, when something is broken.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model.h"
#include "learner.h"
#include "planned.h"

#define MIB (UINT64_C(1) << 20)

static const struct model_row rows[] = {
	{"one_stream", "capacity_bytes:384M,stitch:growth", 1024 * MIB, 32 * MIB, 1, MODEL_TIGHT_GROWTH},
	{"price", "capacity_bytes:768M", 1024 * MIB, 32 * MIB, 1, MODEL_TIGHT_GROWTH | MODEL_PRICE},
	{"streams", "capacity_bytes:256M", 1024 * MIB, 24 * MIB, 4, 0},
	{"small_device", "chunk_bytes:2M", 160 * MIB, 16 * MIB, 3, MODEL_FLAGS},
	{"flags", "capacity_bytes:320M", 1024 * MIB, 24 * MIB, 2, MODEL_FLAGS},
	{"wait", "capacity_bytes:256M,reuse:wait", 1024 * MIB, 24 * MIB, 4, 0},
	{"own", "capacity_bytes:256M,reuse:own,stitch:oom", 1024 * MIB, 24 * MIB, 4, 0},
	{"price_streams", "capacity_bytes:320M,chunk_bytes:4M", 1024 * MIB, 32 * MIB, 2, MODEL_FLAGS | MODEL_PRICE},
	{"budget", "capacity_bytes:200M,mapping_limit:140", 1024 * MIB, 24 * MIB, 3, MODEL_BUDGETS},
	{"addresses", "capacity_bytes:200M,address_limit_bytes:600M,fragmentation_limit_bytes:4M", 256 * MIB, 24 * MIB,
		2, MODEL_BUDGETS | MODEL_FLAGS},
	{"price_budget", "capacity_bytes:200M,mapping_limit:130", 1024 * MIB, 24 * MIB, 3,
		MODEL_BUDGETS | MODEL_FLAGS | MODEL_PRICE},
	{"late_budget", "capacity_bytes:200M,stitch:oom,mapping_limit:120,reuse:wait", 1024 * MIB, 24 * MIB, 4,
		MODEL_BUDGETS | MODEL_FLAGS | MODEL_DEATHS},
	{"private_budget", "capacity_bytes:256M,mapping_limit:140,chunk_bytes:4M", 1024 * MIB, 16 * MIB, 4,
		MODEL_PRIVATE | MODEL_CAPTURE | MODEL_BUDGETS | MODEL_FLAGS},
	{"private", "capacity_bytes:384M", 1024 * MIB, 16 * MIB, 4, MODEL_PRIVATE | MODEL_CAPTURE},
	{"watched", "capacity_bytes:384M,watch_captures:1", 1024 * MIB, 16 * MIB, 3,
		MODEL_PRIVATE | MODEL_CAPTURE | MODEL_WATCHED},
	{"deaths", "capacity_bytes:256M", 1024 * MIB, 24 * MIB, 4, MODEL_DEATHS},
	{"sudden", "capacity_bytes:256M,verify_streams:1,reuse:wait", 1024 * MIB, 24 * MIB, 3,
		MODEL_DEATHS | MODEL_SUDDEN},
	{"legacy", "capacity_bytes:256M", 1024 * MIB, 24 * MIB, 3, MODEL_LEGACY},
	{"real", "capacity_bytes:96M", 256 * MIB, 4 * MIB, 3, MODEL_CONTENT},
	{"plan", "capacity_bytes:384M,plan:inline,record_limit_bytes:512K,chunk_bytes:2M", 1024 * MIB, 12 * MIB, 3,
		MODEL_PLAN},
	{"plan_short", "capacity_bytes:160M,plan:inline,record_limit_bytes:512K", 1024 * MIB, 12 * MIB, 2,
		MODEL_PLAN | MODEL_FLAGS | MODEL_DEATHS},
	{"plan_budget",
		"capacity_bytes:256M,plan:inline,record_limit_bytes:512K,mapping_limit:200,address_limit_bytes:1500M,chunk_bytes:2M",
		1024 * MIB, 8 * MIB, 2, MODEL_PLAN | MODEL_BUDGETS},
	{"plan_private", "capacity_bytes:320M,plan:inline,record_limit_bytes:512K,watch_captures:1", 1024 * MIB,
		8 * MIB, 4, MODEL_PLAN | MODEL_PRIVATE | MODEL_CAPTURE | MODEL_WATCHED},
	{"plan_wait", "capacity_bytes:256M,plan:inline,record_limit_bytes:512K,reuse:wait,verify_streams:1", 1024 * MIB,
		8 * MIB, 4, MODEL_PLAN | MODEL_DEATHS | MODEL_SUDDEN},
	{"plan_real", "capacity_bytes:128M,plan:inline,record_limit_bytes:512K", 256 * MIB, 3 * MIB, 3,
		MODEL_PLAN | MODEL_CONTENT},
	{"deterministic", "capacity_bytes:256M,deterministic:1", 1024 * MIB, 24 * MIB, 3, 0},
};

static struct model model; /* large */

static void say_where(const char *expression, const char *file, int line)
{
	fprintf(stderr, "%s:%d: internal check failed in operation %" PRIu64 " (%s): %s\n", file, line, model.op,
		model.doing, expression);
}

#define PAID_OPERATIONS 2048u

/* The program departs from its plans too often to earn what they cost: half of the time they cost nothing. */
static void pay_account(void)
{
	struct seam_runtime *runtime = model.pool->runtime;
	if ((model.row->features & MODEL_PLAN) == 0 || model.op / PAID_OPERATIONS % 2 != 0)
		return;
	runtime->account.steps = SEAM_FIRST_STEPS;
	if (runtime->open)
		LIST_FIRST(&runtime->active_plans)->price_steps = 0;
}

/* Random requests do not come near the price: it is due half of the time. */
static void owe_price(void)
{
	if ((model.row->features & MODEL_PRICE) != 0)
		model.pool->engine.price.owed = model.op / PAID_OPERATIONS % 2 == 0 ? UINT64_MAX / 2 : 0;
}

static bool run(const struct model_row *row, uint64_t seed, uint64_t operations, uint64_t slowness)
{
	if (model_open(&model, row, seed, slowness, NULL)) {
		while (model.op < operations && !model_failed(&model)) {
			pay_account();
			owe_price();
			model_step(&model);
		}
		model.counts = model.pool->engine.counts;
		model.plan_block = model.pool->runtime->counts;
		model.plans_made = model.pool->learner->plans;
	}
	model_close(&model);
	return !model_failed(&model);
}

static void report_counts(const struct model_row *row, uint64_t operations)
{
	const struct seam_engine_counts *counts = &model.counts;
	printf("%s: %" PRIu64 " operations, %" PRIu64 " allocations (s1 %" PRIu64 ", s1r %" PRIu64 ", s2 %" PRIu64
	       ", s3 %" PRIu64 ", s4 %" PRIu64 "), %" PRIu64 " refused, %" PRIu64 " restored, %" PRIu64
	       " views given up\n",
		row->name, operations, model.allocs, counts->s1, counts->s1r, counts->s2, counts->s3, counts->s4,
		model.refusals, model.restored, counts->stitch_frees);
	if ((row->features & MODEL_PLAN) == 0)
		return;
	const struct seam_planned_counts *plan_block = &model.plan_block;
	printf("plans: %" PRIu64 " made, %" PRIu64 " hits of %" PRIu64 ", %" PRIu64 " adopted, %" PRIu64
	       " dropped, %" PRIu64 " lent, %" PRIu64 " collected, %" PRIu64 " borrowed, %" PRIu64 " switches, %" PRIu64
	       " first requests; misses:",
		model.plans_made, plan_block->hits, plan_block->requests, plan_block->adoptions, plan_block->drops,
		plan_block->lends, plan_block->collects, plan_block->borrows, plan_block->switches, model.firsts);
#define SEAM_MISS(name, text) printf(" " #name " %" PRIu64, plan_block->misses[SEAM_MISS_##name]);
#include "misses.def"
#undef SEAM_MISS
	printf("\n");
}

#define SERVED_SHARE 40u /* of the operations: more requests than one in so many must have been served by plans */

/* A row that never stitched, or never ran out of memory, tested little; so did one whose plans served little. */
static bool saw_all_states(void)
{
	const struct seam_engine_counts *counts = &model.counts;
	const struct seam_planned_counts *plan_block = &model.plan_block;
	if ((model.row->features & MODEL_PLAN) != 0)
		return plan_block->hits > model.op / SERVED_SHARE && plan_block->drops != 0 && model.firsts != 0;
	if ((model.row->features & MODEL_CAPTURE) != 0 && model.restored == 0)
		return false;
	return counts->s1 != 0 && counts->s1r != 0 && counts->s2 != 0 && counts->s3 != 0 && counts->s4 != 0 &&
		counts->s5 != 0;
}

static int run_row(const struct model_row *row, uint64_t seed, uint64_t operations)
{
	if (run(row, seed, operations, 1)) {
		report_counts(row, operations);
		if (operations >= 10000 && !saw_all_states()) {
			fprintf(stderr, "%s seed %" PRIu64 ": some state was never reached\n", row->name, seed);
			return 1;
		}
		uint64_t placements = model.placements;
		bool deterministic = strstr(row->conf, "deterministic:1") != NULL;
		if (!deterministic || (run(row, seed, operations, 7) && model.placements == placements))
			return 0;
		fprintf(stderr, "%s seed %" PRIu64 ": I8: slower kernels, other placements\n", row->name, seed);
		return 1;
	}
	fprintf(stderr, "%s seed %" PRIu64 ", operation %" PRIu64 ": %s\n", row->name, seed, model.op, model.failure);
	return 1;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	uint64_t operations = argc > 3 ? strtoull(argv[3], NULL, 10) : 20000;
	seam__check_set_hook(say_where);
	int status = -1;
	for (size_t i = 0; argc > 1 && i < sizeof rows / sizeof rows[0]; i++) {
		if (strcmp(rows[i].name, argv[1]) == 0)
			status = run_row(&rows[i], seed, operations);
	}
	if (status >= 0)
		return status;
	fprintf(stderr, "usage: model ROW [SEED [OPERATIONS]], ROW one of:");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		fprintf(stderr, " %s", rows[i].name);
	fprintf(stderr, "\n");
	return 2;
}
