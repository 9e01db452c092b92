/* idmap.c: see idmap.h. */
#include "idmap.h"

#include "hash.h"

struct seam_idmap_entry {
	uint64_t key;
	uint64_t values[2];
	UT_hash_handle hh;
};

void seam__idmap_init(struct seam_idmap *map)
{
	map->head = NULL;
	map->count = 0;
	seam__slab_init(&map->slab, seam__meta_process(), sizeof(struct seam_idmap_entry));
}

void seam__idmap_fini(struct seam_idmap *map)
{
	struct seam_meta *hash_meta = seam__meta_process();
	HASH_CLEAR(hh, map->head);
	map->count = 0;
	(void)seam__slab_fini(&map->slab); /* the entries still in it were the table's */
}

static struct seam_idmap_entry *find(const struct seam_idmap *map, uint64_t key)
{
	struct seam_idmap_entry *entry = NULL;
	HASH_FIND(hh, map->head, &key, sizeof(key), entry);
	return entry;
}

uint64_t *seam__idmap_find(const struct seam_idmap *map, uint64_t key)
{
	struct seam_idmap_entry *entry = find(map, key);
	return entry == NULL ? NULL : entry->values;
}

static struct seam_idmap_entry *add(struct seam_idmap *map, uint64_t key)
{
	struct seam_meta *hash_meta = seam__meta_process();
	bool hash_failed = false;
	struct seam_idmap_entry *entry = seam__slab_get(&map->slab);
	if (entry == NULL)
		return NULL;
	*entry = (struct seam_idmap_entry){.key = key};
	HASH_ADD(hh, map->head, key, sizeof(entry->key), entry);
	if (hash_failed) {
		seam__slab_put(&map->slab, entry);
		return NULL;
	}
	map->count++;
	return entry;
}

enum seam_rc seam__idmap_put(struct seam_idmap *map, uint64_t key, uint64_t **ret_values)
{
	struct seam_idmap_entry *entry = find(map, key);
	if (entry == NULL)
		entry = add(map, key);
	if (entry == NULL)
		return SEAM_OOM_META;
	*ret_values = entry->values;
	return SEAM_OK;
}

enum seam_rc seam__idmap_set(struct seam_idmap *map, uint64_t key, uint64_t value)
{
	uint64_t *values;
	enum seam_rc rc = seam__idmap_put(map, key, &values);
	if (rc == SEAM_OK)
		values[0] = value;
	return rc;
}

enum seam_rc seam__idmap_number(struct seam_idmap *map, uint64_t key, uint32_t *ret_number)
{
	uint64_t *values;
	enum seam_rc rc = seam__idmap_put(map, key, &values);
	if (rc != SEAM_OK)
		return rc;
	if (values[0] == 0)
		values[0] = map->count;
	*ret_number = (uint32_t)values[0] - 1;
	return SEAM_OK;
}

void seam__idmap_remove(struct seam_idmap *map, uint64_t key)
{
	struct seam_meta *hash_meta = seam__meta_process();
	struct seam_idmap_entry *entry = find(map, key);
	if (entry == NULL)
		return;
	HASH_DEL(map->head, entry);
	map->count--;
	seam__slab_put(&map->slab, entry);
}

const char *seam__idmap_check(const struct seam_idmap *map)
{
	if (HASH_COUNT(map->head) != map->count)
		return "idmap: the count is the table's";
	if (map->slab.live_objects != map->count)
		return "idmap: every entry is in the table";
	return seam__slab_check(&map->slab);
}
