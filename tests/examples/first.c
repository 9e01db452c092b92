/* first.c: the least that a program does with Seam: make a pool, ask for memory, give it back, look at the figures.
 *
 *   cc first.c $(pkg-config --cflags --libs seam) -o first && SEAM_CONF=backend:emu ./first
 *
 * Without SEAM_CONF it uses the first GPU.
 */
#include <inttypes.h>
#include <stdio.h>

#include <seam/seam.h>
#include <seam/stats.h>

#define MIB(n) ((uint64_t)(n) << 20)

static int fail(const char *what, enum seam_rc rc)
{
	fprintf(stderr, "first: %s: %s\n", what, seam_rc_text(rc));
	return 1;
}

int main(void)
{
	char error[200] = "";
	struct seam_pool *pool;
	enum seam_rc rc = seam_pool_create(0, NULL, error, sizeof error, &pool);
	if (rc != SEAM_OK)
		return fail(error, rc);

	/* Every second block goes: what is free then is scattered. */
	void *stream = NULL; /* a CUstream or cudaStream_t; NULL is the default stream */
	void *blocks[16], *large;
	for (int i = 0; i < 16; i++) {
		rc = seam_alloc(pool, MIB(4), stream, &blocks[i]);
		if (rc != SEAM_OK)
			return fail("seam_alloc", rc);
	}
	for (int i = 0; i < 16; i += 2)
		seam_free(pool, blocks[i]);

	/* No free piece is that large, and still nothing more is taken from the device: the pieces are stitched. */
	rc = seam_alloc(pool, MIB(24), stream, &large);
	if (rc != SEAM_OK)
		return fail("seam_alloc", rc);

	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	rc = seam_stats_get(pool, &stats);
	if (rc != SEAM_OK)
		return fail("seam_stats_get", rc);
	printf("live %" PRIu64 " MiB, reserved %" PRIu64 " MiB, stitched %" PRIu64 " MiB\n", stats.live_bytes >> 20,
		stats.reserved_bytes >> 20, stats.stitched_bytes >> 20);

	seam_free(pool, large);
	for (int i = 1; i < 16; i += 2)
		seam_free(pool, blocks[i]);
	seam_pool_destroy(pool);
	return stats.reserved_bytes == MIB(64) && stats.stitched_bytes == MIB(24) ? 0 : 1;
}
