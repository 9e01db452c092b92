/* offload_log.c SEED: what offload_engine.py was asked for, done by the swap engine on an emulated device whose copies
 * are as early or as late as their edges allow; SEED draws which. Prints the number of violations and the newest one.
 *
 * Lines of standard input: `new M BYTES` memory that a kernel fills, `use M` a kernel reads it, `free M`, `out T M...`,
 * `in T M...`, `wait T`, `drop T`. M and T are names of memory and of tickets, below NAMES.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <seam/seam.h>
#include <seam/swap.h>

#include "emu.h"
#include "opts.h"
#include "pool.h"

#define NAMES 100000
#define PARTS 16
#define KERNEL_NS 50000

static struct seam_driver *driver;
static struct seam_pool *pool;
static struct seam_swap *swap;
static void *memory[NAMES];
static uint64_t sizes[NAMES];
static uint64_t tickets[NAMES];

static void require(bool holds, const char *line)
{
	if (!holds) {
		fprintf(stderr, "offload_log: %s", line);
		exit(1);
	}
}

static void launch(size_t name, bool writes)
{
	struct seam_emu_range range = {(uint64_t)(uintptr_t)memory[name], sizes[name], writes};
	int cu = seam__emu_launch(driver, SEAM_STREAM_DEFAULT, &range, 1, KERNEL_NS, writes ? (uint32_t)name + 1 : 0);
	(void)cu; /* a violation: counted */
}

static enum seam_rc copy(bool is_out, size_t ticket, char *rest)
{
	void *tensors[PARTS];
	uint64_t bytes[PARTS];
	size_t count = 0;
	for (char *word = strtok(rest, " \n"); word != NULL && count < PARTS; word = strtok(NULL, " \n"), count++) {
		size_t name = strtoul(word, NULL, 10) % NAMES;
		tensors[count] = memory[name];
		bytes[count] = sizes[name];
	}
	return is_out ? seam_swap_out(swap, tensors, bytes, count, NULL, &tickets[ticket])
		      : seam_swap_in(swap, tickets[ticket], tensors, count, NULL);
}

static enum seam_rc act(const char *what, size_t name, char *rest)
{
	if (strcmp(what, "new") == 0) {
		sizes[name] = strtoull(rest, NULL, 10);
		enum seam_rc rc = seam_alloc(pool, sizes[name], NULL, &memory[name]);
		if (rc == SEAM_OK)
			launch(name, true);
		return rc;
	}
	if (strcmp(what, "use") == 0) {
		launch(name, false);
		return SEAM_OK;
	}
	if (strcmp(what, "free") == 0)
		return seam_free(pool, memory[name]);
	if (strcmp(what, "wait") == 0)
		return seam_swap_await(swap, tickets[name], NULL);
	if (strcmp(what, "drop") == 0)
		return seam_swap_drop(swap, tickets[name]);
	return copy(strcmp(what, "out") == 0, name, rest);
}

int main(int argc, char **argv)
{
	struct seam_emu_config emu = {.memory = SEAM_EMU_REAL, .capacity_bytes = UINT64_C(1) << 28, .lenient = true};
	struct seam_config config;
	char line[1024];
	char what[8];
	char error[SEAM_OPTS_LINE_BYTES];
	emu.drawn_copies = argc > 1 ? strtoull(argv[1], NULL, 10) + 1 : 1;
	require(seam__emu_create(&emu, error, sizeof error, &driver) == SEAM_OK, "no device\n");
	require(seam__opts_resolve(NULL, NULL, error, sizeof error, &config) == SEAM_OK, "no configuration\n");
	require(seam__pool_create_on(driver, &config, &pool) == SEAM_OK, "no pool\n");
	require(seam_swap_create(pool, &swap) == SEAM_OK, "no engine\n");
	while (fgets(line, sizeof line, stdin) != NULL) {
		size_t name = 0;
		int end = 0;
		char copied[sizeof line];
		memcpy(copied, line, sizeof line);
		require(sscanf(line, "%7s %zu%n", what, &name, &end) == 2 && name < NAMES, copied);
		require(act(what, name, line + end) == SEAM_OK, copied);
	}
	require(seam_swap_check(swap) == NULL, "broken\n");
	seam_swap_destroy(swap);
	printf("%llu %s\n", (unsigned long long)seam__emu_violations_all(driver), seam__emu_violation_text(driver));
	seam_pool_destroy(pool);
	return 0;
}
