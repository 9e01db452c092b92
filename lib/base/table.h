/* table.h: a table of text cells, written with aligned columns for people or as Markdown.
 *
 * Cells are filled row by row, then the whole table is written: widths are known only at the end. The first row is the
 * heading. A column in which every cell but the heading is a number (digits first, maybe a unit behind) or "-" stands
 * right-aligned, and so does every column from `right_from` on.
 * Not here: colours, and knowledge of the terminal's width. One thread at a time.
 */
#ifndef SEAM_BASE_TABLE_H
#define SEAM_BASE_TABLE_H

#include <stddef.h>

#include "text.h"

enum seam_table_form { SEAM_TABLE_PLAIN, SEAM_TABLE_MARKDOWN };

struct seam_table {
	struct seam_meta *meta;
	size_t columns;
	size_t right_from; /* set by the caller after init; 0: by content alone */
	char **cells;      /* row after row; each a zero-terminated string of its own in `meta` */
	size_t cell_count;
	size_t cell_capacity;
	enum seam_rc rc; /* SEAM_OK or SEAM_OOM_META; sticky */
};

/* columns: at least 1. Allocates nothing yet. */
void seam__table_init(struct seam_table *table, struct seam_meta *meta, size_t columns);
void seam__table_fini(struct seam_table *table);

/* The next cell, at most 255 bytes (the rest is cut). */
__attribute__((format(printf, 2, 3))) void seam__table_cell(struct seam_table *table, const char *format, ...);

/* Every row must be complete. Errors: SEAM_OOM_META, and those of the text. */
SEAM_MUST_USE enum seam_rc seam__table_write(
	const struct seam_table *table, enum seam_table_form form, struct seam_text *text);

const char *seam__table_check(const struct seam_table *table);

#endif
