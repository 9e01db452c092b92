/* slab.c: pages of equal objects with one list of free ones. */
#include "slab.h"

#include "check.h"
#include "meta.h"

#if defined(__SANITIZE_ADDRESS__)
#define POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONS 1
#endif
#endif

#ifdef POISONS
#include <sanitizer/asan_interface.h>
#define POISON(pointer, bytes) ASAN_POISON_MEMORY_REGION(pointer, bytes)
#define UNPOISON(pointer, bytes) ASAN_UNPOISON_MEMORY_REGION(pointer, bytes)
#else
#define POISON(pointer, bytes) ((void)(pointer))
#define UNPOISON(pointer, bytes) ((void)(pointer))
#endif

#define PAGE_BYTES ((size_t)65536)
#define OBJECT_ALIGNMENT ((size_t)16)
#define LINE_BYTES ((size_t)64) /* a multiple of it apart are larger objects, so that their lines are alike */

/* Head of a slab: a line, with the objects behind it. */
struct seam_slab_page {
	struct seam_slab_page *next;
	unsigned char unused[64 - sizeof(void *)];
};

/* What a free object holds. */
struct seam_slab_object {
	struct seam_slab_object *next;
};

_Static_assert(sizeof(struct seam_slab_page) == LINE_BYTES, "objects behind the head are as aligned as it is");

static unsigned char *page_objects(const struct seam_slab_page *page)
{
	return (unsigned char *)(uintptr_t)page + sizeof(*page);
}

void seam__slab_init(struct seam_slab *slab, struct seam_meta *meta, size_t object_bytes)
{
	SEAM_ASSERT(object_bytes > 0 && object_bytes <= PAGE_BYTES / 2);
	const size_t alignment = object_bytes > LINE_BYTES ? LINE_BYTES : OBJECT_ALIGNMENT;
	const size_t rounded_bytes = (object_bytes + alignment - 1) & ~(alignment - 1);
	*slab = (struct seam_slab){
		.meta = meta,
		.object_bytes = rounded_bytes,
		.page_objects = (uint32_t)((PAGE_BYTES - sizeof(struct seam_slab_page)) / rounded_bytes),
	};
}

uint64_t seam__slab_fini(struct seam_slab *slab)
{
	uint64_t lost_objects = slab->live_objects;
	struct seam_slab_page *page = slab->pages;
	while (page != NULL) {
		struct seam_slab_page *next = page->next;
		UNPOISON(page, PAGE_BYTES);
		seam__meta_free(slab->meta, page, PAGE_BYTES);
		page = next;
	}
	seam__slab_init(slab, slab->meta, slab->object_bytes);
	return lost_objects;
}

/* Hands the fresh rest of the newest page to the free list, and puts a new page in its place. */
static bool grow(struct seam_slab *slab)
{
	struct seam_slab_page *page = seam__meta_alloc(slab->meta, PAGE_BYTES);
	if (page == NULL)
		return false;
	while (slab->fresh_left > 0) {
		slab->fresh_left--;
		struct seam_slab_object *object =
			(void *)(page_objects(slab->pages) + slab->fresh_left * slab->object_bytes);
		UNPOISON(object, sizeof(*object));
		object->next = slab->freed;
		slab->freed = object;
		POISON(object, slab->object_bytes);
	}
	page->next = slab->pages;
	slab->pages = page;
	slab->fresh_left = slab->page_objects;
	slab->free_objects += slab->page_objects;
	POISON(page_objects(page), PAGE_BYTES - sizeof(*page));
	return true;
}

static void *take(struct seam_slab *slab)
{
	void *object;
	if (slab->freed != NULL) {
		UNPOISON(slab->freed, slab->object_bytes);
		object = slab->freed;
		slab->freed = slab->freed->next;
	} else {
		SEAM_VERIFY(slab->fresh_left > 0);
		slab->fresh_left--;
		object = page_objects(slab->pages) + slab->fresh_left * slab->object_bytes;
		UNPOISON(object, slab->object_bytes);
	}
	slab->free_objects--;
	slab->live_objects++;
	return object;
}

void *seam__slab_get(struct seam_slab *slab)
{
	if (slab->free_objects == slab->reserved_objects && !grow(slab))
		return NULL;
	return take(slab);
}

enum seam_rc seam__slab_reserve(struct seam_slab *slab, uint64_t count)
{
	while (slab->free_objects - slab->reserved_objects < count) {
		if (!grow(slab))
			return SEAM_OOM_META;
	}
	slab->reserved_objects += count;
	return SEAM_OK;
}

void *seam__slab_get_reserved(struct seam_slab *slab)
{
	SEAM_VERIFY(slab->reserved_objects > 0);
	slab->reserved_objects--;
	return take(slab);
}

void seam__slab_unreserve(struct seam_slab *slab, uint64_t count)
{
	SEAM_VERIFY(slab->reserved_objects >= count);
	slab->reserved_objects -= count;
}

void seam__slab_put(struct seam_slab *slab, void *object)
{
	if (object == NULL)
		return;
	SEAM_VERIFY(slab->live_objects > 0);
	struct seam_slab_object *freed = object;
	freed->next = slab->freed;
	slab->freed = freed;
	POISON(freed, slab->object_bytes);
	slab->live_objects--;
	slab->free_objects++;
}

static bool is_object(const struct seam_slab *slab, const void *object)
{
	uintptr_t address = (uintptr_t)object;
	for (const struct seam_slab_page *page = slab->pages; page != NULL; page = page->next) {
		uintptr_t first = (uintptr_t)page_objects(page);
		if (address >= first && address < first + slab->page_objects * slab->object_bytes)
			return (address - first) % slab->object_bytes == 0;
	}
	return false;
}

const char *seam__slab_check(const struct seam_slab *slab)
{
	uint64_t page_count = 0;
	for (const struct seam_slab_page *page = slab->pages; page != NULL; page = page->next)
		page_count++;
	if (slab->free_objects + slab->live_objects != page_count * slab->page_objects)
		return "SL1 free + live";
	if (slab->reserved_objects > slab->free_objects)
		return "SL2 reserved <= free";
	uint64_t seen = slab->fresh_left;
	const struct seam_slab_object *object = slab->freed;
	while (object != NULL) {
		if (seen++ > slab->free_objects || !is_object(slab, object))
			return "SL3 free objects lie in slabs";
		/* A free object is poisoned; only this reader and take() may look into it. */
		UNPOISON(object, sizeof(*object));
		const struct seam_slab_object *next = object->next;
		POISON(object, sizeof(*object));
		object = next;
	}
	return seen == slab->free_objects ? NULL : "SL1 free objects counted";
}
