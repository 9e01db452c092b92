/* emu_cost.c: the emulator's cost table: its default, a file in its place, and the bill of a call. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "emu_state.h"
#include "text.h"

#define FILE_LIMIT_BYTES 16384
#define CHUNK_BYTES (UINT64_C(2) << 20)
#define DRAWN_LIMIT_NS UINT64_C(100000000000)

enum {
#define SEAM_EMU_COST(call, fixed, mapping, per_2mib, source) ROW_OF_##call,
#include "emu_costs.def"
#undef SEAM_EMU_COST
	ROW_COUNT
};
_Static_assert((int)ROW_COUNT == (int)SEAM_DRV_COUNT, "every call of driver.def has a row in emu_costs.def");

void seam__emu_costs_default(struct seam_emu_cost costs[SEAM_DRV_COUNT])
{
#define SEAM_EMU_COST(call, fixed, mapping, per_2mib, source) \
	costs[SEAM_DRV_##call] = (struct seam_emu_cost){fixed, mapping, per_2mib};
#include "emu_costs.def"
#undef SEAM_EMU_COST
}

/* xorshift64*: the same on every machine. */
static uint64_t draw(struct emu *e)
{
	if (e->drawn == 0)
		e->drawn = e->config.drawn_copies;
	e->drawn ^= e->drawn >> 12;
	e->drawn ^= e->drawn << 25;
	e->drawn ^= e->drawn >> 27;
	return e->drawn * UINT64_C(0x2545F4914F6CDD1D) >> 11;
}

uint64_t seam__emu_costs_copy(struct emu *e, enum seam_drv_call call, uint64_t bytes)
{
	if (e->config.drawn_copies == 0)
		return (uint64_t)((double)bytes / (double)CHUNK_BYTES * (double)e->costs[call].per_2mib_ns);
	return draw(e) % 2 == 0 ? 0 : draw(e) % DRAWN_LIMIT_NS;
}

uint64_t seam__emu_costs_bill(struct emu *e, enum seam_drv_call call, int cu)
{
	const struct seam_emu_cost *cost = &e->costs[call];
	uint64_t ns = cost->fixed_ns;
	/* A copy's part per 2 MiB is the device's time, not the caller's. */
	if (cu == 0 && seam__driver_call_class(call) != SEAM_DRV_COPY)
		ns += cost->per_mapping_ns * e->billed_mappings +
			(uint64_t)((double)cost->per_2mib_ns * ((double)e->billed_bytes / (double)CHUNK_BYTES));
	e->billed_mappings = 0;
	e->billed_bytes = 0;
	return ns;
}

static int find_call(const char *name, size_t length)
{
	for (int call = 0; call < SEAM_DRV_COUNT; call++) {
		const char *candidate = seam__driver_call_name((enum seam_drv_call)call);
		if (strlen(candidate) == length && memcmp(candidate, name, length) == 0)
			return call;
	}
	return -1;
}

/* A number of at most 12 digits, so that sums of costs do not overflow; *at moves behind it. */
static bool read_number(const char **at, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *from = *at + strspn(*at, " \t");
	size_t digits = strspn(from, "0123456789");
	if (digits == 0 || digits > 12)
		return false;
	for (size_t i = 0; i < digits; i++)
		number = number * 10 + (uint64_t)(from[i] - '0');
	*at = from + digits;
	*ret_number = number;
	return true;
}

static bool read_line(struct emu *e, const char *line)
{
	struct seam_emu_cost cost;
	line += strspn(line, " \t");
	if (*line == '\0' || *line == '#')
		return true;
	size_t length = strcspn(line, " \t");
	int call = find_call(line, length);
	line += length;
	if (call < 0 || !read_number(&line, &cost.fixed_ns) || !read_number(&line, &cost.per_mapping_ns) ||
		!read_number(&line, &cost.per_2mib_ns))
		return false;
	line += strspn(line, " \t\r");
	if (*line != '\0' && *line != '#')
		return false;
	e->costs[call] = cost;
	return true;
}

/* The whole file, or -1. Why not stdio: it allocates. */
static ssize_t read_file(const char *path, char *buffer, size_t size)
{
	size_t filled = 0;
	ssize_t got = -1;
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	do {
		got = read(file, buffer + filled, size - filled);
		if (got > 0)
			filled += (size_t)got;
	} while ((got > 0 && filled < size) || (got < 0 && errno == EINTR));
	(void)close(file);
	return got < 0 ? -1 : (ssize_t)filled;
}

enum seam_rc seam__emu_costs_load(struct emu *e, char *error, size_t error_bytes)
{
	char text[FILE_LIMIT_BYTES];
	const char *path = e->config.cost_file;
	seam__emu_costs_default(e->costs);
	if (path == NULL)
		return SEAM_OK;
	ssize_t length = read_file(path, text, sizeof(text));
	if (length < 0) {
		seam__text_line(error, error_bytes, "%s: cannot be read", path);
		return SEAM_IO;
	}
	if ((size_t)length == sizeof(text) || memchr(text, '\0', (size_t)length) != NULL) {
		seam__text_line(error, error_bytes, "%s: not a table of driver costs", path);
		return SEAM_FORMAT;
	}
	text[length] = '\0';
	int number = 1;
	for (char *line = text; line != NULL; number++) {
		char *end = strchr(line, '\n');
		if (end != NULL)
			*end = '\0';
		if (!read_line(e, line)) {
			seam__text_line(error, error_bytes, "%s:%d: expected: call fixed_ns per_mapping_ns per_2mib_ns",
				path, number);
			return SEAM_FORMAT;
		}
		line = end != NULL ? end + 1 : NULL;
	}
	return SEAM_OK;
}
