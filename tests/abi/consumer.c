/* consumer.c: a program that uses an installed Seam: compiled by installed.sh with what pkg-config says, as C and C++,
 * against the shared and the static library. Uses nothing of the build.
 */
#include <seam/seam.h>
#include <seam/snapshot.h>
#include <seam/stats.h>
#include <seam/trace.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *what)
{
	fprintf(stderr, "consumer: %s\n", what);
	return 1;
}

static int use_a_pool(void)
{
	struct seam_config config;
	struct seam_pool *pool = NULL;
	struct seam_stats stats;
	void *ptr = NULL;
	char error[200] = "";
	seam_config_init(&config);
	if (seam_config_parse(&config, "backend:emu", error, sizeof error) != SEAM_OK)
		return fail(error);
	if (seam_pool_create(0, &config, error, sizeof error, &pool) != SEAM_OK)
		return fail(error);
	memset(&stats, 0, sizeof(stats));
	stats.size = sizeof(stats);
	stats.version = SEAM_STATS_VERSION;
	if (seam_alloc(pool, 3u << 20, NULL, &ptr) != SEAM_OK || seam_stats_get(pool, &stats) != SEAM_OK)
		return fail("a pool does not serve");
	if (stats.live_blocks != 1 || stats.live_bytes != 3u << 20)
		return fail("the figures are wrong");
	if (seam_free(pool, ptr) != SEAM_OK || seam_free(pool, ptr) != SEAM_NOT_FOUND)
		return fail("a block is not freed once");
	seam_pool_destroy(pool);
	return 0;
}

int main(void)
{
	struct seam_config config;
	char error[200] = "";
	seam_config_init(&config);
	if (config.size != sizeof(config) || config.version != SEAM_CONFIG_VERSION)
		return fail("the library has another struct seam_config than the header");
	if (seam_config_parse(&config, "chunk_bytes:32M", error, sizeof error) != SEAM_OK ||
		config.chunk_bytes != 32u << 20)
		return fail("a good configuration is refused");
	if (seam_config_parse(&config, "nonsense:1", error, sizeof error) != SEAM_CONF ||
		strstr(error, "nonsense") == NULL)
		return fail("a bad configuration is not refused by name");
	if (strcmp(seam_rc_name(SEAM_CONF), "SEAM_CONF") != 0)
		return fail("a result code has another name");
	if (sizeof(struct seam_trace_event) != 56 || sizeof(struct seam_trace_header) != 64)
		return fail("the trace format has changed");
	if (use_a_pool() != 0)
		return 1;
	printf("consumer: ok\n");
	return 0;
}
