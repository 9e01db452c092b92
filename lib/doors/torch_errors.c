/* torch_errors.c: what PyTorch's pluggable door tells: the newest error, the text of an out-of-memory error, the
 * statistics by number.
 *
 * An out-of-memory text begins with the facts of PyTorch's own, in its words, order and units: programs look for them
 * to know that a smaller batch may do, and read the figures. What Seam has to say follows.
 */
#include "torch_pluggable.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <seam/stats.h>

static pthread_mutex_t told = PTHREAD_MUTEX_INITIALIZER;
static char newest[SEAM_TORCH_LINE_BYTES]; /* told */

void seam__torch_tell(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	pthread_mutex_lock(&told);
	(void)vsnprintf(newest, sizeof newest, format, arguments);
	pthread_mutex_unlock(&told);
	va_end(arguments);
}

size_t seam_torch_error(char *text, size_t text_bytes)
{
	pthread_mutex_lock(&told);
	size_t length = strlen(newest);
	if (text != NULL && text_bytes != 0)
		(void)snprintf(text, text_bytes, "%s", newest);
	pthread_mutex_unlock(&told);
	return length;
}

void seam__torch_fail(void)
{
	char text[SEAM_TORCH_LINE_BYTES];
	(void)seam_torch_error(text, sizeof text);
	seam_torch_throw_error(text);
}

/* A text that grows to the end of its room and no further, but counts on. */
struct words {
	char *text;
	size_t capacity, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct words *words, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	size_t left = words->length < words->capacity ? words->capacity - words->length : 0;
	int added = vsnprintf(left != 0 ? words->text + words->length : NULL, left, format, arguments);
	va_end(arguments);
	if (added > 0)
		words->length += (size_t)added;
}

/* "2.00 GiB", in the units that PyTorch uses: the largest is GiB, and each goes up to 1024. */
static void put_size(struct words *words, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
	unsigned unit = 0;
	double value = (double)bytes;
	for (; value > 1024 && unit < 3; unit++)
		value /= 1024;
	put(words, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
}

/* "2 bytes before, 3 after". */
static void put_sized(struct words *words, const char *before, uint64_t bytes, const char *after)
{
	put(words, "%s", before);
	put_size(words, bytes);
	put(words, "%s", after);
}

static void put_state(struct words *words, struct seam_pool *pool, int device)
{
	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	uint64_t free_bytes = 0, total_bytes = 0;
	if (seam_device_memory(pool, &free_bytes, &total_bytes) == SEAM_OK) {
		put(words, " GPU %d", device);
		put_sized(words, " has a total capacity of ", total_bytes, " of which ");
		put_sized(words, "", free_bytes, " is free.");
	}
	if (seam_stats_get(pool, &stats) == SEAM_OK) {
		put_sized(words, " Of the allocated memory ", stats.live_bytes, " is allocated by PyTorch, and ");
		put_sized(words, "",
			stats.reserved_bytes -
				(stats.live_bytes < stats.reserved_bytes ? stats.live_bytes : stats.reserved_bytes),
			" is reserved by PyTorch but unallocated, all of it by way of Seam.");
	}
}

#define HELP "What would help:\n"

/* The advice of the pool's own report, if the newest out-of-memory is this one. */
static void put_help(struct words *words, struct seam_pool *pool)
{
	char report[SEAM_TORCH_TEXT_BYTES];
	(void)seam_oom_report(pool, report, sizeof report);
	const char *help = strstr(report, HELP);
	if (help != NULL)
		put(words, " %s", help);
	else
		put(words, "\n");
	put(words, "seamalloc.report() and seamalloc.snapshot(path) tell more.");
}

size_t seam_torch_oom_text(int device, uint64_t bytes, char *text, size_t text_bytes)
{
	struct words words = {.text = text, .capacity = text != NULL ? text_bytes : 0};
	struct seam_pool *pool = seam_torch_pool_made(device);
	if (words.capacity != 0)
		text[0] = '\0';
	put_sized(&words, "CUDA out of memory. Tried to allocate ", bytes, ".");
	if (pool == NULL) {
		put(&words, " GPU %d has no memory pool of Seam.", device);
	} else {
		put_state(&words, pool, device);
		put_help(&words, pool);
	}
	return words.length;
}

static bool ran_out(enum seam_rc rc)
{
	return rc == SEAM_OOM_DEVICE || rc == SEAM_OOM_VA || rc == SEAM_MAPPINGS || rc == SEAM_OOM_META;
}

void seam__torch_refuse(struct seam_pool *pool, int device, uint64_t bytes, enum seam_rc rc)
{
	if (ran_out(rc)) {
		char text[SEAM_TORCH_TEXT_BYTES];
		seam__torch_tell("%" PRIu64 " bytes on device %d: %s", bytes, device, seam_rc_text(rc));
		size_t length = seam_torch_oom_text(device, bytes, text, sizeof text);
		if (rc != SEAM_OOM_DEVICE && length < sizeof text)
			(void)snprintf(text + length, sizeof text - length, " (%s)", seam_rc_text(rc));
		seam_torch_throw_oom(text);
		return;
	}
	char driver[SEAM_TORCH_LINE_BYTES / 2] = "";
	if (rc == SEAM_DRIVER)
		(void)seam_driver_error(pool, driver, sizeof driver);
	seam__torch_tell("Seam cannot allocate %" PRIu64 " bytes on device %d: %s%s%s", bytes, device, seam_rc_text(rc),
		driver[0] != '\0' ? ": " : "", driver);
	seam__torch_fail();
}

struct stat {
	const char *name, *kind, *text;
};

static const struct stat table[] = {
#define SEAM_STAT(name, kind, text) {#name, #kind, text},
#include <seam/stats.def>
#undef SEAM_STAT
#define SEAM_PLAN_STAT(name, kind, text) {"plan_" #name, #kind, text},
#include <seam/plan_stats.def>
#undef SEAM_PLAN_STAT
};

#define STATS (sizeof table / sizeof table[0])

enum seam_rc seam_torch_stat(uint32_t index, const char **ret_name, const char **ret_kind, const char **ret_text)
{
	if (index >= STATS)
		return SEAM_NOT_FOUND;
	if (ret_name != NULL)
		*ret_name = table[index].name;
	if (ret_kind != NULL)
		*ret_kind = table[index].kind;
	if (ret_text != NULL)
		*ret_text = table[index].text;
	return SEAM_OK;
}

enum seam_rc seam_torch_stats(int device, uint64_t *ret_values, size_t capacity)
{
	if (ret_values == NULL || device < 0 || device >= SEAM_TORCH_DEVICES)
		return SEAM_INVALID;
	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	struct seam_plan_stats plan = {.size = sizeof plan, .version = SEAM_PLAN_STATS_VERSION};
	struct seam_pool *pool = seam_torch_pool_made(device);
	if (pool != NULL) {
		enum seam_rc rc = seam_stats_get(pool, &stats);
		if (rc == SEAM_OK)
			rc = seam_plan_stats_get(pool, &plan);
		if (rc != SEAM_OK)
			return rc;
	}
	const uint64_t values[STATS] = {
#define SEAM_STAT(name, kind, text) stats.name,
#include <seam/stats.def>
#undef SEAM_STAT
#define SEAM_PLAN_STAT(name, kind, text) plan.name,
#include <seam/plan_stats.def>
#undef SEAM_PLAN_STAT
	};
	memcpy(ret_values, values, sizeof values[0] * (capacity < STATS ? capacity : STATS));
	return SEAM_OK;
}
