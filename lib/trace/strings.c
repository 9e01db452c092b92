/* strings.c: see strings.h. */
#include "strings.h"

#include <stdbool.h>
#include <string.h>

#include "hash.h"

/* One interned string. Holds its own copy: the section moves when it grows. */
struct seam_strings_entry {
	uint32_t offset;
	size_t text_bytes; /* without the final zero */
	UT_hash_handle hh;
	char text[];
};

static size_t entry_bytes(size_t text_bytes)
{
	return sizeof(struct seam_strings_entry) + text_bytes;
}

enum seam_rc seam__strings_init(struct seam_strings *strings)
{
	strings->table = NULL;
	seam__grow_init(&strings->section, sizeof(char));
	return seam__grow_append(&strings->section, "", 1);
}

void seam__strings_fini(struct seam_strings *strings)
{
	struct seam_meta *hash_meta = seam__meta_process();
	struct seam_strings_entry *entry = strings->table;
	HASH_CLEAR(hh, strings->table);
	while (entry != NULL) {
		struct seam_strings_entry *next = entry->hh.next;
		seam__meta_free(seam__meta_process(), entry, entry_bytes(entry->text_bytes));
		entry = next;
	}
	seam__grow_fini(&strings->section);
}

static enum seam_rc append(struct seam_strings *strings, const char *text, size_t text_bytes, uint32_t *ret_offset)
{
	struct seam_meta *hash_meta = seam__meta_process();
	bool hash_failed = false;
	if (text_bytes >= UINT32_MAX - strings->section.count)
		return SEAM_INVALID;
	enum seam_rc rc = seam__grow_reserve(&strings->section, text_bytes + 1);
	if (rc != SEAM_OK)
		return rc;
	struct seam_strings_entry *entry = seam__meta_alloc(seam__meta_process(), entry_bytes(text_bytes));
	if (entry == NULL)
		return SEAM_OOM_META;
	memcpy(entry->text, text, text_bytes);
	entry->text_bytes = text_bytes;
	entry->offset = (uint32_t)strings->section.count;
	HASH_ADD_KEYPTR(hh, strings->table, entry->text, text_bytes, entry);
	if (hash_failed) {
		seam__meta_free(seam__meta_process(), entry, entry_bytes(text_bytes));
		return SEAM_OOM_META;
	}
	rc = seam__grow_append(&strings->section, text, text_bytes + 1); /* cannot fail: reserved above */
	*ret_offset = entry->offset;
	return rc;
}

enum seam_rc seam__strings_intern(struct seam_strings *strings, const char *text, uint32_t *ret_offset)
{
	const size_t text_bytes = strlen(text);
	if (text_bytes == 0) {
		*ret_offset = 0;
		return SEAM_OK;
	}
	struct seam_strings_entry *entry = NULL;
	HASH_FIND(hh, strings->table, text, text_bytes, entry);
	if (entry == NULL)
		return append(strings, text, text_bytes, ret_offset);
	*ret_offset = entry->offset;
	return SEAM_OK;
}
