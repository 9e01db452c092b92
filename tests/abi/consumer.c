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

int main(void)
{
	struct seam_config config;
	char error[200] = "";
	seam_config_init(&config);
	if (config.size != sizeof(config) || config.version != SEAM_CONFIG_VERSION)
		return fail("the library has another struct seam_config than the header");
	if (seam_config_parse(&config, "chunk_bytes:32M", error) != SEAM_OK || config.chunk_bytes != 32u << 20)
		return fail("a good configuration is refused");
	if (seam_config_parse(&config, "nonsense:1", error) != SEAM_CONF || strstr(error, "nonsense") == NULL)
		return fail("a bad configuration is not refused by name");
	if (strcmp(seam_rc_name(SEAM_CONF), "SEAM_CONF") != 0)
		return fail("a result code has another name");
	if (sizeof(struct seam_trace_event) != 56 || sizeof(struct seam_trace_header) != 64)
		return fail("the trace format has changed");
	printf("consumer: ok\n");
	return 0;
}
