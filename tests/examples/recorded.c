/* recorded.c: a program that says what it does, and leaves a recording of it: seam_trace_save(), and SEAM_TRACE at
 * exit.
 *
 *   cc recorded.c $(pkg-config --cflags --libs seam) -o recorded SEAM_CONF=backend:emu SEAM_TRACE=whole.seamtrace
 *   ./recorded early.seamtrace && seam replay whole.seamtrace
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <seam/seam.h>

#define LAYERS 6
#define STEPS 4
#define MIB(n) ((uint64_t)(n) << 20)

static void check(const char *what, enum seam_rc rc)
{
	if (rc == SEAM_OK)
		return;
	fprintf(stderr, "recorded: %s: %s\n", what, seam_rc_text(rc));
	exit(1);
}

static void *ask(struct seam_pool *pool, uint64_t bytes)
{
	void *block = NULL;
	check("seam_alloc", seam_alloc(pool, bytes, NULL, &block));
	return block;
}

/* One iteration of a training program: activations live until their layer's backward pass. */
static void train(struct seam_pool *pool, uint64_t step)
{
	void *activations[LAYERS];
	check("seam_phase_begin", seam_phase_begin(pool, "forward"));
	for (int i = 0; i < LAYERS; i++) {
		activations[i] = ask(pool, MIB(4 + i));
		check("seam_dynamic_begin",
			seam_dynamic_begin(pool)); /* how many tokens an expert gets depends on the data */
		seam_free(pool, ask(pool, MIB(1) + 4096 * (step * 7 + (uint64_t)i) % 13));
		check("seam_dynamic_end", seam_dynamic_end(pool));
	}
	check("seam_phase_end", seam_phase_end(pool, "forward"));
	check("seam_phase_begin", seam_phase_begin(pool, "backward"));
	for (int i = LAYERS; i-- > 0;) {
		void *gradient = ask(pool, MIB(4 + i));
		seam_free(pool, activations[i]);
		seam_free(pool, gradient);
	}
	check("seam_phase_end", seam_phase_end(pool, "backward"));
	check("seam_step", seam_step(pool));
}

int main(int argc, char **argv)
{
	char error[200] = "";
	struct seam_pool *pool;
	enum seam_rc rc = seam_pool_create(0, NULL, error, sizeof error, &pool);
	check(error, rc);
	(void)ask(pool, MIB(100)); /* weights: they are never freed */
	for (uint64_t step = 0; step < STEPS; step++) {
		train(pool, step);
		if (step == 1 && argc > 1)
			check(error, seam_trace_save(pool, argv[1], error, sizeof error));
	}
	return 0; /* the pool lives: what SEAM_TRACE asks for is written now */
}
