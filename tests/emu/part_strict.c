/* part_strict.c: memory that the CPU cannot touch (SEAM_EMU_STRICT), beside memory that it can.
 *
 * A random program of copies, fills and kernels is compared with a model of its bytes, in both modes: the model is an
 * array per handle and shares nothing with the emulator.
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "emu_state.h"
#include "emu_test.h"
#include "tap.h"

#define PAGE UINT64_C(4096)
#define CHUNK (2 * PAGE) /* both pages are edges: new memory is poisoned all over */
#define CHUNKS 8
#define VIEW (CHUNKS * CHUNK) /* several pieces of what the emulator moves at once */
#define POISON 0xd5

static const char *const names[] = {[SEAM_EMU_REAL] = "real", [SEAM_EMU_STRICT] = "strict"};

static struct seam_driver *open_small(enum seam_emu_memory memory)
{
	return open_emu(
		&(struct seam_emu_config){.memory = memory, .granularity_bytes = CHUNK, .capacity_bytes = 64 * CHUNK});
}

/* ---- what the CPU can touch ---- */

/* Memory on the host that the device can use, too, and the host if it is let. */
static uint64_t map_host(struct seam_driver *d, bool let)
{
	const struct seam_phys_props on_host = {.where = {.kind = SEAM_AT_HOST_NUMA}};
	const struct seam_access both[2] = {read_write, {.where = on_host.where, .mode = SEAM_ACCESS_READWRITE}};
	struct seam_phys phys = {0};
	uint64_t va = 0;
	MUST(seam__drv_address_reserve(d, CHUNK, 0, 0, &va));
	MUST(seam__drv_mem_create(d, CHUNK, &on_host, &phys));
	MUST(seam__drv_mem_map(d, va, CHUNK, 0, phys, 0));
	MUST(seam__drv_mem_set_access(d, va, CHUNK, both, let ? 2 : 1));
	return va;
}

static void check_touches(enum seam_emu_memory memory)
{
	struct seam_driver *d = open_small(memory);
	const int device = memory == SEAM_EMU_STRICT ? SIGSEGV : 0;
	void *locked = NULL;
	uint64_t direct = 0;
	uint64_t va = 0;
	struct seam_phys phys = {0};
	MUST(seam__drv_host_alloc(d, CHUNK, &locked));
	MUST(seam__drv_direct_alloc(d, CHUNK, &direct));
	MUST(seam__drv_address_reserve(d, 2 * CHUNK, 0, 0, &va));
	MUST(seam__drv_mem_create(d, CHUNK, &plain, &phys));
	MUST(seam__drv_mem_map(d, va, CHUNK, 0, phys, 0));
	MUST(seam__drv_mem_set_access(d, va, CHUNK, &read_write, 1));
	const struct {
		const char *name;
		uint64_t va;
		int ends; /* by which signal */
	} rows[] = {
		{"mapped memory of a device", va, device},
		{"its last byte", va + CHUNK - 1, device},
		{"a plain allocation", direct, device},
		{"host memory that only the device was let to", map_host(d, false), device},
		{"host memory that the host was let to", map_host(d, true), 0},
		{"page-locked memory", (uint64_t)(uintptr_t)locked, 0},
		{"reserved addresses", va + CHUNK, SIGSEGV},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int write = 0; write < 2; write++) {
			int ended = touch(rows[i].va, write != 0);
			ok(ended == rows[i].ends, "%s: a %s of %s ends by signal %d: %d", names[memory],
				write ? "store" : "load", rows[i].name, rows[i].ends, ended);
		}
	}
	MUST(seam__drv_mem_unmap(d, va, CHUNK));
	ok(touch(va, false) == SIGSEGV, "%s: unmapped memory cannot be touched", names[memory]);
	close_emu(d);
}

/* ---- memory of the host's node ---- */

static int create_on_host(struct seam_driver *d, struct seam_phys *ret_phys)
{
	const struct seam_phys_props on_host = {.where = {.kind = SEAM_AT_HOST_NUMA}};
	return seam__drv_mem_create(d, CHUNK, &on_host, ret_phys);
}

static void check_host_lacks(void)
{
	const struct seam_access cpu = {.where = {.kind = SEAM_AT_HOST_NUMA}, .mode = SEAM_ACCESS_READWRITE};
	struct seam_driver *d =
		open_emu(&(struct seam_emu_config){.granularity_bytes = CHUNK, .host = SEAM_EMU_HOST_NONE});
	struct seam_phys phys = {0};
	int64_t supported = 7;
	MUST(seam__drv_attribute(d, SEAM_ATTR_HOST_VMM_SUPPORTED, &supported));
	ok(supported == 0 && create_on_host(d, &phys) == SEAM_CU_NOT_SUPPORTED, "none: it is not created");
	close_emu(d);
	d = open_emu(&(struct seam_emu_config){.granularity_bytes = CHUNK, .host = SEAM_EMU_HOST_NO_CPU});
	MUST(seam__drv_attribute(d, SEAM_ATTR_HOST_VMM_SUPPORTED, &supported));
	const uint64_t va = map_host(d, false);
	ok(supported == 1 && seam__drv_mem_set_access(d, va, CHUNK, &cpu, 1) == SEAM_CU_NOT_SUPPORTED,
		"no_cpu: the CPU is not let in");
	close_emu(d);
	for (int as_device = 0; as_device < 2; as_device++) {
		bool host = as_device != 0;
		d = open_emu(&(struct seam_emu_config){.granularity_bytes = CHUNK,
			.host = as_device != 0 ? SEAM_EMU_HOST_AS_DEVICE : SEAM_EMU_HOST_WHOLE});
		MUST(seam__drv_is_host(d, map_host(d, true), &host));
		ok(host == (as_device == 0), "it is %s", as_device != 0 ? "a device's" : "the host's");
		close_emu(d);
	}
}

/* Its copies are judged, and it stays while one is pending. */
static void check_host_copies(enum seam_emu_memory memory)
{
	struct seam_driver *d = open_emu(&(struct seam_emu_config){
		.memory = memory, .granularity_bytes = CHUNK, .capacity_bytes = 64 * CHUNK, .lenient = true});
	uint64_t host = map_host(d, true), direct = 0;
	const uint64_t streams[2] = {make_stream(d, SEAM_STREAM_NONBLOCKING), make_stream(d, SEAM_STREAM_NONBLOCKING)};
	void *pointer = (void *)(uintptr_t)host;
	MUST(seam__drv_direct_alloc(d, CHUNK, &direct));
	MUST(seam__drv_copy_to_device(d, direct, pointer, CHUNK, streams[0]));
	ok(seam__emu_violations_all(d) == 0, "%s: a copy of it is nothing wrong", names[memory]);
	MUST(seam__drv_copy_to_host(d, pointer, direct, CHUNK, streams[1]));
	ok(seam__emu_violations(d, SEAM_EMU_RACE) != 0, "%s: two copies without an edge are a race", names[memory]);
	seam__emu_clear_violations(d);
	MUST(seam__drv_mem_unmap(d, host, CHUNK));
	ok(seam__emu_violations(d, SEAM_EMU_UNMAP_PENDING) == 1, "%s: it is unmapped under a copy", names[memory]);
	seam__emu_clear_violations(d);
	close_emu(d);
}

/* ---- what work finds there ---- */

struct world {
	struct seam_driver *d;
	uint64_t views[2]; /* the second shows the same handles, imported, the other way round */
	struct seam_phys handles[CHUNKS];
	unsigned char bytes[CHUNKS][CHUNK]; /* the model: of each handle */
	int shown[CHUNKS];                  /* which handle is at a place of the first view */
	uint32_t random;
	unsigned char host[VIEW];
	uint64_t wrong;
};

static uint64_t draw(struct world *w, uint64_t below)
{
	w->random = w->random * 1664525 + 1013904223;
	return (w->random >> 8) % below;
}

/* A part of a view that is not empty. */
static uint64_t draw_range(struct world *w, uint64_t *ret_begin)
{
	*ret_begin = draw(w, VIEW);
	return 1 + draw(w, VIEW - *ret_begin);
}

static unsigned char *model_at(struct world *w, int view, uint64_t offset)
{
	uint64_t place = offset / CHUNK;
	int handle = w->shown[view == 0 ? place : CHUNKS - 1 - place];
	return &w->bytes[handle][offset % CHUNK];
}

static void show(struct world *w)
{
	struct seam_driver *d = w->d;
	for (uint64_t i = 0; i < CHUNKS; i++) {
		struct seam_phys phys = {0};
		int descriptor = -1;
		MUST(seam__drv_mem_map(d, w->views[0] + i * CHUNK, CHUNK, 0, w->handles[w->shown[i]], 0));
		MUST(seam__drv_mem_export(d, w->handles[w->shown[i]], SEAM_HANDLE_POSIX_FD, &descriptor));
		MUST(seam__drv_mem_import(d, SEAM_HANDLE_POSIX_FD, &descriptor, &phys));
		(void)close(descriptor);
		MUST(seam__drv_mem_map(d, w->views[1] + (CHUNKS - 1 - i) * CHUNK, CHUNK, 0, phys, 0));
		MUST(seam__drv_mem_release(d, phys));
	}
	for (int view = 0; view < 2; view++)
		MUST(seam__drv_mem_set_access(d, w->views[view], VIEW, &read_write, 1));
}

static struct world *open_world(enum seam_emu_memory memory)
{
	static struct world world; /* one at a time */
	struct world *w = &world;
	const struct seam_phys_props shareable = {.where = plain.where, .handle_types = SEAM_HANDLE_POSIX_FD};
	*w = (struct world){.d = open_small(memory), .random = 7};
	struct seam_driver *d = w->d;
	memset(w->bytes, POISON, sizeof(w->bytes));
	for (int view = 0; view < 2; view++)
		MUST(seam__drv_address_reserve(d, VIEW, 0, 0, &w->views[view]));
	for (int i = 0; i < CHUNKS; i++) {
		MUST(seam__drv_mem_create(d, CHUNK, &shareable, &w->handles[i]));
		w->shown[i] = i;
	}
	show(w);
	return w;
}

/* Other handles at the same addresses; the bytes are the handles'. */
static void remap(struct world *w)
{
	struct seam_driver *d = w->d;
	MUST(seam__drv_stream_sync(d, 0));
	for (int view = 0; view < 2; view++)
		MUST(seam__drv_mem_unmap(d, w->views[view], VIEW));
	for (uint64_t i = CHUNKS - 1; i > 0; i--) {
		uint64_t other = draw(w, i + 1);
		int handle = w->shown[i];
		w->shown[i] = w->shown[other];
		w->shown[other] = handle;
	}
	show(w);
}

static void copy_in(struct world *w, int view)
{
	struct seam_driver *d = w->d;
	uint64_t begin;
	uint64_t bytes = draw_range(w, &begin);
	for (uint64_t i = 0; i < bytes; i++) {
		w->host[i] = (unsigned char)draw(w, 256);
		*model_at(w, view, begin + i) = w->host[i];
	}
	MUST(seam__drv_copy_to_device(d, w->views[view] + begin, w->host, bytes, 0));
	MUST(seam__drv_stream_sync(d, 0));
}

/* By a fill of words, or by a kernel, whose ranges need not be words. */
static void fill(struct world *w, int view, bool by_kernel)
{
	struct seam_driver *d = w->d;
	uint32_t value = (uint32_t)draw(w, UINT32_MAX) | 1;
	uint64_t begin;
	uint64_t bytes = draw_range(w, &begin);
	if (!by_kernel) {
		begin -= begin % 4;
		bytes -= bytes % 4;
	}
	for (uint64_t i = 0; i < bytes; i++)
		*model_at(w, view, begin + i) = (unsigned char)(value >> 8 * (i % 4));
	const struct seam_emu_range range = {.va = w->views[view] + begin, .bytes = bytes, .write = true};
	if (by_kernel)
		MUST(seam__emu_launch(d, 0, &range, 1, 10, value));
	else
		MUST(seam__drv_fill32(d, range.va, value, bytes / 4, 0));
}

/* The ranges may overlap: then as by memmove(). */
static void copy_on_device(struct world *w, int view)
{
	struct seam_driver *d = w->d;
	uint64_t to;
	uint64_t bytes = draw_range(w, &to);
	uint64_t from = draw(w, VIEW - bytes + 1);
	for (uint64_t i = 0; i < bytes; i++)
		w->host[i] = *model_at(w, view, from + i);
	for (uint64_t i = 0; i < bytes; i++)
		*model_at(w, view, to + i) = w->host[i];
	MUST(seam__drv_copy_on_device(d, w->views[view] + to, w->views[view] + from, bytes, 0));
}

static void compare(struct world *w, int view)
{
	struct seam_driver *d = w->d;
	uint64_t begin;
	uint64_t bytes = draw_range(w, &begin);
	memset(w->host, 0, sizeof(w->host));
	MUST(seam__drv_copy_to_host(d, w->host + 0, w->views[view] + begin, bytes, 0));
	MUST(seam__drv_stream_sync(d, 0));
	for (uint64_t i = 0; i < bytes; i++)
		w->wrong += w->host[i] != *model_at(w, view, begin + i);
	if (bytes < VIEW)
		w->wrong += w->host[bytes] != 0; /* nothing behind what was asked for */
}

static void check_bytes(enum seam_emu_memory memory)
{
	struct world *w = open_world(memory);
	compare(w, 0);
	for (int step = 0; step < 400; step++) {
		int view = (int)draw(w, 2);
		switch (draw(w, 5)) {
		case 0:
			copy_in(w, view);
			break;
		case 1:
			fill(w, view, false);
			break;
		case 2:
			fill(w, view, true);
			break;
		case 3:
			copy_on_device(w, view);
			break;
		default:
			remap(w);
		}
		compare(w, (int)draw(w, 2));
	}
	ok(w->wrong == 0 && seam__emu_violations_all(w->d) == 0, "%s: %llu bytes are not as in the model (%s)",
		names[memory], (unsigned long long)w->wrong, seam__emu_violation_text(w->d));
	close_emu(w->d);
}

/* ---- failures ---- */

/* What a copy is told whose host side is the device's memory: the CPU's mistake as a value. */
static void check_host_side(void)
{
	struct seam_driver *d = open_small(SEAM_EMU_STRICT);
	uint64_t va = 0;
	uint64_t other = 0;
	MUST(seam__drv_direct_alloc(d, CHUNK, &va));
	MUST(seam__drv_direct_alloc(d, CHUNK, &other));
	for (int to_host = 0; to_host < 2; to_host++) {
		void *at = (void *)(uintptr_t)other;
		int cu = to_host ? seam__drv_copy_to_host(d, at, va, CHUNK, 0)
				 : seam__drv_copy_to_device(d, va, at, CHUNK, 0);
		ok(cu == 0 && seam__drv_stream_sync(d, 0) == SEAM_CU_ILLEGAL_ADDRESS &&
				seam__emu_violations(d, SEAM_EMU_ACCESS_HOST) == 1 && seam__emu_violations_all(d) == 1,
			"a copy %s a device address as its host side is flagged: %s", to_host ? "to" : "from",
			seam__emu_violation_text(d));
		seam__emu_clear_violations(d);
	}
	close_emu(d);
}

enum act { ACT_COPY_IN, ACT_FILL, ACT_KERNEL, ACT_ON_DEVICE, ACT_COPY_OUT, ACTS };

static int act(struct world *w, enum act what)
{
	struct seam_driver *d = w->d;
	const struct seam_emu_range range = {.va = w->views[0], .bytes = VIEW, .write = true};
	switch (what) {
	case ACT_COPY_IN:
		return seam__drv_copy_to_device(d, range.va, w->host, VIEW, 0);
	case ACT_FILL:
		return seam__drv_fill32(d, range.va, 3, VIEW / 4, 0);
	case ACT_KERNEL:
		return seam__emu_launch(d, 0, &range, 1, 10, 3);
	case ACT_ON_DEVICE: /* within the view: reads as far as it writes */
		return seam__drv_copy_on_device(d, range.va, range.va + CHUNK, VIEW - CHUNK, 0);
	default:
		return seam__drv_copy_to_host(d, w->host, range.va, VIEW, 0);
	}
}

/* The host's file lets nothing happen behind `limit` (of writes), or ends there (for reads). */
static void limit_file(const struct world *w, bool reads, uint64_t limit)
{
	struct rlimit now;
	if (reads && ftruncate(seam__emu_of(w->d)->memfd, (off_t)limit) != 0)
		ok(false, "the file is cut");
	if (!reads && getrlimit(RLIMIT_FSIZE, &now) == 0) {
		now.rlim_cur = limit == 0 ? now.rlim_max : limit;
		if (setrlimit(RLIMIT_FSIZE, &now) != 0)
			ok(false, "a limit is set");
	}
}

/* The work fails at every page of what it touches, one after the other. The file's first bytes are the view's. */
static void check_failures(enum act what)
{
	bool reads = what == ACT_COPY_OUT;
	uint64_t told = 0;
	uint64_t flagged = 0;
	uint64_t whole = 0;
	struct world *w = open_world(SEAM_EMU_STRICT);
	uint64_t touched = what == ACT_ON_DEVICE ? VIEW - CHUNK : VIEW;
	for (uint64_t at = PAGE; at < touched; at += PAGE) {
		limit_file(w, reads, at);
		int cu = act(w, what);
		told += cu == 0 && seam__drv_stream_sync(w->d, 0) == SEAM_CU_ILLEGAL_ADDRESS;
		limit_file(w, reads, 0);
		flagged += seam__emu_violations(w->d, SEAM_EMU_ACCESS_FAILED) == 1 &&
			seam__emu_violations_all(w->d) == 1 && seam__emu_check(w->d) == NULL;
		seam__emu_clear_violations(w->d);
	}
	if (reads) /* cut for good: what stood there is gone */
		limit_file(w, true, UINT64_C(1) << 44);
	whole += act(w, what) == 0 && seam__drv_stream_sync(w->d, 0) == 0 && seam__emu_violations_all(w->d) == 0;
	uint64_t steps = touched / PAGE - 1;
	ok(told == steps && flagged == steps && whole == 1,
		"work %d that the host fails at any of %llu pages says so: %llu told, %llu flagged; and it works then: %llu",
		(int)what, (unsigned long long)steps, (unsigned long long)told, (unsigned long long)flagged,
		(unsigned long long)whole);
	close_emu(w->d);
}

void part_strict(void)
{
	for (int memory = SEAM_EMU_REAL; memory <= SEAM_EMU_STRICT; memory++) {
		check_touches((enum seam_emu_memory)memory);
		check_bytes((enum seam_emu_memory)memory);
		check_host_copies((enum seam_emu_memory)memory);
	}
	check_host_lacks();
	check_host_side();
	void (*before)(int) = signal(SIGXFSZ, SIG_IGN); /* else a write beyond the limit ends the process */
	for (int what = 0; what < ACTS; what++)
		check_failures((enum act)what);
	(void)signal(SIGXFSZ, before);
}
