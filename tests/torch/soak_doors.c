/* soak_doors.c: many threads ask PyTorch's door for memory, while private pools are begun, ended and released, caches
 * are emptied, figures are read; in the end nothing is live and nothing is private. Plain C: Criterion cannot start
 * under ThreadSanitizer. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <seam/seam.h>
#include <seam/stats.h>
#include <seam/torch.h>

#define THREADS 4u
#define ROUNDS 3000u
#define SLOTS 40u
#define DEVICES 2

static unsigned rounds = ROUNDS;

static void require(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "soak_doors: %s\n", what);
	abort();
}

static uint64_t next(uint64_t *random, uint64_t below)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*random >> 33) % below;
}

/* A std::function<bool(stream)> as libstdc++ lays it out: it accepts the thread whose mark is stored. */
struct filter {
	void *words[2];
	bool (*manager)(void *to, const void *from, int operation);
	bool (*invoker)(const void *storage, void **stream);
};

static _Thread_local char mark;

static bool manage(void *to, const void *from, int operation)
{
	if (operation == 2)
		*(void **)to = *(void *const *)from;
	return false;
}

static bool is_mine(const void *storage, void **stream)
{
	(void)stream;
	return *(void *const *)storage == &mark;
}

static void use_private(uint64_t *random, uint64_t thread)
{
	const struct filter filter = {.words = {&mark}, .manager = manage, .invoker = is_mine};
	const int device = (int)next(random, DEVICES);
	const struct seam_torch_pool_id id = {0, thread * 8 + next(random, 3) + 1};
	seam_torch_begin_pool(device, id, &filter);
	void *ptr = seam_torch_alloc(1 + next(random, 3 << 20), device, NULL);
	require(ptr != NULL, "no private memory");
	seam_torch_end_pool(device, id);
	seam_torch_free(ptr, 0, device, NULL);
	seam_torch_release_pool(device, id);
}

static void look(uint64_t *random)
{
	uint64_t values[8];
	char text[600];
	const int device = (int)next(random, DEVICES);
	require(seam_torch_stats(device, values, 8) == SEAM_OK, "no figures");
	(void)seam_torch_error(text, sizeof text);
	(void)seam_torch_oom_text(device, 512, text, sizeof text);
	if (next(random, 4) == 0)
		seam_torch_reset();
	void *segment = seam_torch_segment_alloc(2 << 20, device, NULL);
	seam_torch_segment_free(segment, 0, device, NULL);
}

static void *run(void *user)
{
	struct {
		void *ptr;
		int device;
	} slots[SLOTS] = {{NULL, 0}};
	const uint64_t thread = *(const uint64_t *)user;
	uint64_t random = thread + 1;
	for (unsigned i = 0; i < rounds; i++) {
		const uint64_t at = next(&random, SLOTS);
		seam_torch_free(slots[at].ptr, 0, slots[at].device, NULL);
		slots[at].device = (int)next(&random, DEVICES);
		slots[at].ptr = seam_torch_alloc(1 + next(&random, 4 << 20), slots[at].device, NULL);
		require(slots[at].ptr != NULL, "no memory");
		seam_torch_record_stream(slots[at].ptr, NULL);
		if (i % 16 == 0)
			use_private(&random, thread);
		if (i % 64 == 0)
			look(&random);
	}
	for (unsigned at = 0; at < SLOTS; at++)
		seam_torch_free(slots[at].ptr, 0, slots[at].device, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t numbers[THREADS];
	if (argc > 1)
		rounds *= (unsigned)strtoul(argv[1], NULL, 10);
	require(setenv("SEAM_CONF", "backend:emu,emu_capacity_bytes:2G", 1) == 0, "setenv");
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		require(pthread_create(&threads[i], NULL, run, &numbers[i]) == 0, "pthread_create");
	}
	for (unsigned i = 0; i < THREADS; i++)
		require(pthread_join(threads[i], NULL) == 0, "pthread_join");
	for (int device = 0; device < DEVICES; device++) {
		struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
		require(seam_stats_get(seam_torch_pool(device), &stats) == SEAM_OK, "no figures at the end");
		require(stats.live_blocks == 0 && stats.allocs == stats.frees && stats.allocs > rounds,
			"blocks are left");
	}
	require(seam_torch_unknown_frees() == 0, "frees of what is no block");
	return 0;
}
