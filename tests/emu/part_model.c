/* part_model.c: random memory calls, many of them wrong, against a naive oracle: a table of pages and a table of
 * handles.
 *
 * The oracle knows only the contract. A failure names the seed and the step.
 */
#include <string.h>

#include "emu_state.h"
#include "emu_test.h"
#include "meta.h"
#include "tap.h"

#define PAGES 64
#define HANDLES 24
#define CAPACITY 40
#define CEILING 12
#define STEPS 300000

struct page {
	uint32_t reservation; /* number of it, or 0 */
	uint32_t mapping;     /* number of it, or 0 */
	uint32_t handle;      /* valid while mapped: index */
	enum seam_access_mode mode;
	bool granted;
};

struct handle {
	uint64_t id; /* 0: none */
	uint64_t pages;
	uint64_t references;
	uint64_t mappings;
};

struct model {
	struct seam_driver *d;
	bool lax;
	uint64_t base;
	uint32_t random;
	uint32_t last_number;
	uint64_t used;
	uint64_t granted; /* mappings */
	struct page page[PAGES];
	struct handle handle[HANDLES];
	unsigned long long refused;
};

static uint32_t pick(struct model *m, uint32_t limit)
{
	m->random = m->random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(m->random >> 4) * limit >> 28);
}

/* Pages of the reservation or mapping that begins at `first`; 0 if none begins there. */
static uint64_t length_of(const struct model *m, uint64_t first, bool mapping)
{
	uint64_t n = 0;
	uint32_t number = mapping ? m->page[first].mapping : m->page[first].reservation;
	if (number == 0 ||
		(first > 0 && (mapping ? m->page[first - 1].mapping : m->page[first - 1].reservation) == number))
		return 0;
	while (first + n < PAGES && (mapping ? m->page[first + n].mapping : m->page[first + n].reservation) == number)
		n++;
	return n;
}

static bool is_free(const struct model *m, uint64_t first, uint64_t n)
{
	for (uint64_t i = first; i < first + n; i++) {
		if (i >= PAGES || m->page[i].reservation != 0)
			return false;
	}
	return true;
}

static bool do_reserve(struct model *m)
{
	uint64_t n = pick(m, 10);
	uint64_t hint = pick(m, PAGES);
	uint64_t va = 0;
	bool fits = false;
	for (uint64_t i = 0; i < PAGES; i++)
		fits |= n != 0 && is_free(m, i, n);
	int cu = seam__drv_address_reserve(m->d, n * G, 0, m->base + hint * G, &va);
	m->refused += cu != 0;
	if (n == 0)
		return cu == SEAM_CU_INVALID_VALUE;
	if (!fits)
		return cu == SEAM_CU_OUT_OF_MEMORY;
	uint64_t first = (va - m->base) / G;
	if (cu != 0 || !is_free(m, first, n) || (is_free(m, hint, n) && first != hint))
		return false;
	m->last_number++;
	for (uint64_t i = first; i < first + n; i++)
		m->page[i] = (struct page){.reservation = m->last_number};
	return true;
}

static bool do_free(struct model *m)
{
	uint64_t first = pick(m, PAGES);
	uint64_t n = length_of(m, first, false);
	uint64_t asked = n == 0 || pick(m, 8) == 0 ? pick(m, 10) : n;
	bool allowed = n != 0 && asked == n;
	for (uint64_t i = first; i < first + n; i++)
		allowed &= m->page[i].mapping == 0;
	int cu = seam__drv_address_free(m->d, m->base + first * G, asked * G);
	m->refused += cu != 0;
	if (!allowed)
		return cu == SEAM_CU_INVALID_VALUE;
	memset(&m->page[first], 0, n * sizeof(m->page[0]));
	return cu == 0;
}

static bool do_create(struct model *m)
{
	struct handle *handle = &m->handle[pick(m, HANDLES)];
	struct seam_phys phys = {0};
	uint64_t n = pick(m, 6);
	if (handle->id != 0)
		return true;
	int cu = seam__drv_mem_create(m->d, n * G, &plain, &phys);
	m->refused += cu != 0;
	if (n == 0)
		return cu == SEAM_CU_INVALID_VALUE;
	if (m->used + n > CAPACITY)
		return cu == SEAM_CU_OUT_OF_MEMORY;
	*handle = (struct handle){.id = phys.id, .pages = n, .references = 1};
	m->used += n;
	return cu == 0 && phys.id != 0;
}

/* Memory dies with its last reference and mapping. */
static void settle(struct model *m, struct handle *handle)
{
	if (handle->references != 0 || handle->mappings != 0)
		return;
	m->used -= handle->pages;
	*handle = (struct handle){0};
}

static bool do_release(struct model *m)
{
	struct handle *handle = &m->handle[pick(m, HANDLES)];
	if (handle->references == 0)
		return true; /* undefined in CUDA: not asked */
	int cu = seam__drv_mem_release(m->d, (struct seam_phys){handle->id});
	handle->references--;
	settle(m, handle);
	return cu == 0;
}

static bool do_retain(struct model *m)
{
	struct seam_phys phys = {0};
	uint64_t at = pick(m, PAGES);
	const struct page *page = &m->page[at];
	int cu = seam__drv_mem_retain(m->d, m->base + at * G + pick(m, 1000), &phys);
	m->refused += cu != 0;
	if (page->mapping == 0)
		return cu == SEAM_CU_INVALID_VALUE;
	m->handle[page->handle].references++;
	return cu == 0 && phys.id == m->handle[page->handle].id;
}

static bool do_map(struct model *m)
{
	uint32_t index = pick(m, HANDLES);
	struct handle *handle = &m->handle[index];
	uint64_t first = pick(m, PAGES);
	uint64_t n = pick(m, 8) == 0 ? pick(m, 7) : handle->pages;
	uint64_t offset = pick(m, 30) == 0 ? G : 0;
	bool part = handle->references != 0 && n != 0 && (n != handle->pages || offset != 0);
	bool allowed = handle->references != 0 && n == handle->pages && offset == 0;
	for (uint64_t i = first; i < first + n && allowed; i++)
		allowed = i < PAGES && m->page[i].reservation != 0 && m->page[i].mapping == 0 &&
			(m->lax || m->page[i].reservation == m->page[first].reservation);
	int cu = seam__drv_mem_map(m->d, m->base + first * G, n * G, offset, (struct seam_phys){handle->id}, 0);
	m->refused += cu != 0;
	if (!allowed)
		return cu == (part ? SEAM_CU_NOT_SUPPORTED : SEAM_CU_INVALID_VALUE);
	m->last_number++;
	for (uint64_t i = first; i < first + n; i++) {
		m->page[i].mapping = m->last_number;
		m->page[i].handle = index;
		m->page[i].mode = SEAM_ACCESS_NONE;
		m->page[i].granted = false;
	}
	handle->mappings++;
	return cu == 0;
}

/* A range that often is one or several whole mappings. */
static void pick_range(struct model *m, uint64_t *first, uint64_t *n)
{
	*first = pick(m, PAGES);
	*n = 0;
	for (uint32_t mappings = 1 + pick(m, 3); mappings > 0 && *first + *n < PAGES; mappings--)
		*n += length_of(m, *first + *n, true);
	if (*n == 0 || pick(m, 8) == 0)
		*n = pick(m, 8);
}

/* Whole mappings of one reservation without a gap. Counts them. */
static bool is_whole(const struct model *m, uint64_t first, uint64_t n, uint64_t *ret_fresh)
{
	uint64_t at = first;
	*ret_fresh = 0;
	while (at < first + n) {
		uint64_t length = at < PAGES ? length_of(m, at, true) : 0;
		if (length == 0 || at + length > first + n || m->page[at].reservation != m->page[first].reservation)
			return false;
		*ret_fresh += !m->page[at].granted;
		at += length;
	}
	return n != 0;
}

/* Reserved space, and no mapping lies partly in it. */
static bool cuts_none(const struct model *m, uint64_t first, uint64_t n)
{
	uint64_t end = first + n;
	if (n == 0)
		return false;
	for (uint64_t i = first; i < end; i++) {
		if (i >= PAGES || m->page[i].reservation == 0)
			return false;
	}
	bool begins = first == 0 || m->page[first].mapping == 0 || m->page[first].mapping != m->page[first - 1].mapping;
	bool ends = end == PAGES || m->page[end].mapping == 0 || m->page[end].mapping != m->page[end - 1].mapping;
	return begins && ends;
}

static bool do_unmap(struct model *m)
{
	uint64_t first, n, fresh;
	pick_range(m, &first, &n);
	bool allowed = m->lax ? cuts_none(m, first, n) : is_whole(m, first, n, &fresh);
	int cu = seam__drv_mem_unmap(m->d, m->base + first * G, n * G);
	m->refused += cu != 0;
	if (!allowed)
		return cu == SEAM_CU_INVALID_VALUE;
	for (uint64_t at = first; at < first + n;) {
		uint64_t length = length_of(m, at, true);
		if (length == 0) { /* a hole */
			at++;
			continue;
		}
		struct handle *handle = &m->handle[m->page[at].handle];
		m->granted -= m->page[at].granted;
		for (uint64_t i = at; i < at + length; i++)
			m->page[i] = (struct page){.reservation = m->page[i].reservation};
		handle->mappings--;
		settle(m, handle);
		at += length;
	}
	return cu == 0;
}

static bool do_access(struct model *m)
{
	static const enum seam_access_mode modes[] = {SEAM_ACCESS_NONE, SEAM_ACCESS_READ, SEAM_ACCESS_READWRITE};
	uint64_t first, n, fresh;
	pick_range(m, &first, &n);
	bool allowed = is_whole(m, first, n, &fresh);
	const struct seam_access access = {.where = plain.where, .mode = modes[pick(m, 3)]};
	int cu = seam__drv_mem_set_access(m->d, m->base + first * G, n * G, &access, 1);
	m->refused += cu != 0;
	if (!allowed)
		return cu == SEAM_CU_INVALID_VALUE;
	if (m->granted + fresh > CEILING)
		return cu == SEAM_CU_OUT_OF_MEMORY;
	m->granted += fresh;
	for (uint64_t i = first; i < first + n; i++) {
		m->page[i].granted = true;
		m->page[i].mode = access.mode;
	}
	return cu == 0;
}

static bool do_query(struct model *m)
{
	uint64_t at = pick(m, PAGES);
	enum seam_access_mode mode = SEAM_ACCESS_NONE;
	uint64_t free_bytes = 0;
	uint64_t total_bytes = 0;
	int cu = seam__drv_mem_get_access(m->d, m->base + at * G, &plain.where, &mode);
	if (m->page[at].mapping == 0 ? cu != SEAM_CU_INVALID_VALUE : cu != 0 || mode != m->page[at].mode)
		return false;
	cu = seam__drv_mem_info(m->d, &free_bytes, &total_bytes);
	return cu == 0 && free_bytes == (CAPACITY - m->used) * G;
}

void part_model(void)
{
	static bool (*const steps[])(struct model *) = {do_reserve, do_free, do_create, do_release, do_retain, do_map,
		do_map, do_map, do_unmap, do_access, do_access, do_query};
	struct seam_emu_config config = {.memory = SEAM_EMU_BOOK,
		.capacity_bytes = CAPACITY * G,
		.mapping_ceiling = CEILING,
		.address_space_bytes = PAGES * G};
	for (uint32_t seed = 1; seed <= 6; seed++) {
		config.lax = seed > 4;
		struct model m = {.d = open_emu(&config), .random = seed, .lax = config.lax};
		must(m.d, seam__drv_address_reserve(m.d, PAGES * G, 0, 0, &m.base), "reserve", __LINE__);
		must(m.d, seam__drv_address_free(m.d, m.base, PAGES * G), "free", __LINE__);
		const char *broken = NULL;
		bool right = true;
		int step = 0;
		for (; step < STEPS && right && broken == NULL; step++) {
			right = steps[pick(&m, sizeof(steps) / sizeof(steps[0]))](&m);
			if (step % 100 == 0)
				broken = seam__emu_check(m.d);
		}
		ok(right && broken == NULL, "seed %u: step %d agrees with the oracle (%s)", seed, step,
			broken != NULL ? broken : "no invariant is broken");
		ok(m.refused > STEPS / 10 && m.refused < STEPS, "seed %u: right and wrong calls: %llu refused", seed,
			m.refused);
		ok(seam__emu_violations_all(m.d) == 0, "seed %u: wrong arguments are no violations", seed);
		close_emu(m.d);
	}
}

/* A bit of everything that allocates. Results are of no interest: what works works, what fails must have done nothing.
 */
static void use_everything(struct seam_driver *d)
{
	uint64_t va = 0;
	uint64_t streams[20];
	uint64_t direct = 0;
	void *host = NULL;
	struct seam_phys phys = {0};
	struct seam_event events[3] = {{0}};
	int failures = seam__drv_direct_alloc(d, 64 * G, &direct) != 0;
	failures += seam__drv_host_alloc(d, 4096, &host) != 0;
	failures += seam__drv_address_reserve(d, 8 * G, 0, 0, &va) != 0;
	failures += seam__drv_mem_create(d, G, &plain, &phys) != 0;
	for (uint64_t i = 0; i < 8; i++)
		failures += seam__drv_mem_map(d, va + i * G, G, 0, phys, 0) != 0;
	failures += seam__drv_mem_set_access(d, va, 8 * G, &read_write, 1) != 0;
	for (int i = 0; i < 3; i++)
		failures += seam__drv_event_create(d, &events[i]) != 0;
	for (int i = 0; i < 20; i++) {
		streams[i] = SEAM_STREAM_DEFAULT;
		failures += seam__drv_stream_create(
				    d, i % 2 != 0 ? SEAM_STREAM_BLOCKING : SEAM_STREAM_NONBLOCKING, &streams[i]) != 0;
	}
	for (uint64_t i = 0; i < 40 && direct != 0; i++) {
		failures += launch(d, streams[i % 20], direct + i * G, G + i * 512, i % 3 == 0, 100) != 0;
		failures += host != NULL &&
			seam__drv_copy_to_device(d, direct + i * G, (char *)host + i * 48, 64, streams[i % 20]) != 0;
		failures += seam__drv_event_record(d, events[i % 3], streams[i % 20]) != 0;
		failures += seam__drv_stream_wait_event(d, streams[(i + 1) % 20], events[i % 3]) != 0;
	}
	failures += seam__drv_stream_sync(d, SEAM_STREAM_DEFAULT) != 0;
	failures += seam__drv_stream_query(d, streams[3]) != 0;
	failures += seam__drv_device_sync(d) != 0;
	(void)failures;
}

void part_metadata(void)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_BOOK, .lenient = true};
	uint64_t n = 1;
	const char *broken = NULL;
	for (bool fired = true; fired && broken == NULL && n < 1000; n++) {
		struct seam_driver *d = open_emu(&config);
		struct seam_meta *meta = seam__emu_of(d)->meta;
		seam__meta_fail_at(meta, n);
		use_everything(d);
		fired = seam__meta_fail_left(meta) == 0;
		broken = seam__emu_check(d);
		seam__driver_destroy(d); /* aborts on a leak */
	}
	ok(broken == NULL, "no failed allocation breaks an invariant (%s)", broken != NULL ? broken : "none is broken");
	ok(n > 10 && n < 1000, "%llu allocations have failed", (unsigned long long)n - 2);
}
