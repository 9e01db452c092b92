/* fault.c: for N = 1, 2, ... the Nth call of one class fails, in the same random script, until none does any more.
 *
 * After the failure everything goes on: the oracle compares after every operation (I7), later operations succeed, and
 * after the end nothing is left on the device or of the metadata (I11: seam_pool_destroy() asserts the latter). fault
 * ROW KIND [SEED [OPERATIONS]].
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "meta.h"
#include "model.h"
#include "opts.h"
#include "planned.h"

#define MIB (UINT64_C(1) << 20)

static const struct model_row rows[] = {
	{"plain", "capacity_bytes:64M,mapping_limit:64", 256 * MIB, 12 * MIB, 3,
		MODEL_BUDGETS | MODEL_FLAGS | MODEL_DEATHS},
	{"wait", "capacity_bytes:64M,reuse:wait,verify_streams:1", 256 * MIB, 12 * MIB, 3, MODEL_DEATHS | MODEL_SUDDEN},
	{"private", "capacity_bytes:96M", 256 * MIB, 12 * MIB, 3, MODEL_PRIVATE | MODEL_CAPTURE},
	{"plan", "capacity_bytes:96M,plan:inline,record_limit_bytes:512K,deterministic:1,chunk_bytes:2M", 256 * MIB,
		3 * MIB, 2, MODEL_PLAN | MODEL_SHORT},
	{"real", "capacity_bytes:64M", 128 * MIB, 6 * MIB, 2, MODEL_CONTENT},
};

struct kind {
	const char *name;
	struct model_fault fault;
};

static const struct kind kinds[] = {
	{"memory", {.classes = 1u << SEAM_DRV_MEMORY, .code = SEAM_CU_UNKNOWN}},
	{"no_memory", {.classes = 1u << SEAM_DRV_MEMORY, .code = SEAM_CU_OUT_OF_MEMORY}},
	{"event", {.classes = 1u << SEAM_DRV_EVENT, .code = SEAM_CU_UNKNOWN}},
	{"query", {.classes = 1u << SEAM_DRV_QUERY, .code = SEAM_CU_UNKNOWN}},
	{"metadata", {.metadata = true}},
};

static struct model model; /* large */
static uint64_t nth;
static uint64_t adoptions; /* of all runs */

static void say_where(const char *expression, const char *file, int line)
{
	fprintf(stderr, "%s:%d: internal check failed: call %" PRIu64 " fails, operation %" PRIu64 " (%s): %s\n", file,
		line, nth, model.op, model.doing, expression);
}

/* True if all is well; *ret_fired: there was an nth call. */
static bool run(
	const struct model_row *row, const struct kind *kind, uint64_t seed, uint64_t operations, bool *ret_fired)
{
	struct model_fault fault = kind->fault;
	fault.left = nth;
	if (model_open(&model, row, seed, 1, &fault)) {
		while (model.op < operations && !model_failed(&model))
			model_step(&model);
	}
	*ret_fired = model.fault.fired;
	adoptions += model.pool != NULL ? model.pool->runtime->counts.adoptions : 0;
	model_close(&model);
	if (model_failed(&model))
		fprintf(stderr, "%s %s seed %" PRIu64 ": call %" PRIu64 " fails: %s\n", row->name, kind->name, seed,
			nth, model.failure);
	return !model_failed(&model);
}

/* The nth driver call of a pool's creation fails. */
static bool run_creation(bool *ret_fired)
{
	struct seam_driver *driver = NULL;
	struct seam_config config;
	const struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK};
	if (seam__opts_resolve(NULL, NULL, NULL, 0, &config) != SEAM_OK ||
		seam__emu_create(&emu, NULL, 0, &driver) != SEAM_OK)
		return false;
	seam__driver_fail_at(driver, nth, UINT64_MAX, SEAM_CU_UNKNOWN);
	struct seam_pool *pool = NULL;
	enum seam_rc rc = seam__pool_create_on(driver, &config, &pool);
	*ret_fired = atomic_load(&driver->injected) != 0;
	bool well = (rc == SEAM_OK) == (pool != NULL);
	seam_pool_destroy(pool);
	seam__driver_destroy(driver);
	return well;
}

static int run_all(const struct model_row *row, const struct kind *kind, uint64_t seed, uint64_t operations)
{
	bool fired = true;
	for (nth = 1; fired; nth++) {
		if (!run(row, kind, seed, operations, &fired))
			return 1;
	}
	printf("%s %s: %" PRIu64 " failures\n", row->name, kind->name, nth - 2);
	if (nth < 10) {
		fprintf(stderr, "the script makes next to no such call\n");
		return 1;
	}
	if ((row->features & MODEL_PLAN) != 0 && adoptions < nth) {
		fprintf(stderr, "next to no plan came into use\n");
		return 1;
	}
	fired = true;
	for (nth = 1; fired; nth++) {
		if (!run_creation(&fired)) {
			fprintf(stderr, "creation: call %" PRIu64 " fails\n", nth);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct model_row *row = NULL;
	const struct kind *kind = NULL;
	for (size_t i = 0; argc > 2 && i < sizeof rows / sizeof rows[0]; i++)
		row = strcmp(rows[i].name, argv[1]) == 0 ? &rows[i] : row;
	for (size_t i = 0; argc > 2 && i < sizeof kinds / sizeof kinds[0]; i++)
		kind = strcmp(kinds[i].name, argv[2]) == 0 ? &kinds[i] : kind;
	if (row == NULL || kind == NULL) {
		fprintf(stderr, "usage: fault ROW KIND [SEED [OPERATIONS]]\n");
		return 2;
	}
	seam__check_set_hook(say_where);
	return run_all(
		row, kind, argc > 3 ? strtoull(argv[3], NULL, 10) : 1, argc > 4 ? strtoull(argv[4], NULL, 10) : 120);
}
