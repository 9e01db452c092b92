/* table.c: aligned columns. */
#include "table.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "meta.h"

#define CELL_BYTES 256

void seam__table_init(struct seam_table *table, struct seam_meta *meta, size_t columns)
{
	SEAM_ASSERT(columns > 0);
	*table = (struct seam_table){.meta = meta, .columns = columns};
}

void seam__table_fini(struct seam_table *table)
{
	for (size_t i = 0; i < table->cell_count; i++)
		seam__meta_free(table->meta, table->cells[i], strlen(table->cells[i]) + 1);
	seam__meta_free(table->meta, table->cells, table->cell_capacity * sizeof(table->cells[0]));
	seam__table_init(table, table->meta, table->columns);
}

static bool make_room(struct seam_table *table)
{
	if (table->cell_count < table->cell_capacity)
		return true;
	size_t capacity = table->cell_capacity == 0 ? 64 : table->cell_capacity * 2;
	char **cells = seam__meta_resize(
		table->meta, table->cells, table->cell_capacity * sizeof(cells[0]), capacity * sizeof(cells[0]));
	if (cells == NULL)
		return false;
	table->cells = cells;
	table->cell_capacity = capacity;
	return true;
}

void seam__table_cell(struct seam_table *table, const char *format, ...)
{
	char content[CELL_BYTES];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(content, sizeof(content), format, arguments);
	va_end(arguments);
	if (length < 0)
		content[0] = '\0';
	if (table->rc != SEAM_OK)
		return;
	size_t bytes = strlen(content) + 1;
	char *cell = make_room(table) ? seam__meta_alloc(table->meta, bytes) : NULL;
	if (cell == NULL) {
		table->rc = SEAM_OOM_META;
		return;
	}
	memcpy(cell, content, bytes);
	table->cells[table->cell_count++] = cell;
}

/* Characters, not bytes: continuation bytes of UTF-8 take no column. */
static size_t cell_width(const char *cell)
{
	size_t width = 0;
	for (; *cell != '\0'; cell++)
		width += ((unsigned char)*cell & 0xc0) != 0x80;
	return width;
}

static size_t column_width(const struct seam_table *table, size_t column)
{
	size_t width = 0;
	for (size_t i = column; i < table->cell_count; i += table->columns) {
		size_t now = cell_width(table->cells[i]);
		width = now > width ? now : width;
	}
	return width;
}

static bool is_number(const char *cell)
{
	if (strcmp(cell, "-") == 0)
		return true;
	cell += *cell == '-' || *cell == '+';
	return *cell >= '0' && *cell <= '9';
}

static bool is_right_aligned(const struct seam_table *table, size_t column)
{
	if (table->right_from != 0 && column >= table->right_from)
		return true;
	for (size_t i = column + table->columns; i < table->cell_count; i += table->columns) {
		if (!is_number(table->cells[i]))
			return false;
	}
	return table->cell_count > table->columns;
}

static void write_rule(const struct seam_table *table, struct seam_text *text)
{
	seam__text_puts(text, "|");
	for (size_t column = 0; column < table->columns; column++)
		seam__text_puts(text, is_right_aligned(table, column) ? " ---: |" : " --- |");
	seam__text_puts(text, "\n");
}

static void write_markdown_cell(const char *cell, struct seam_text *text)
{
	for (; *cell != '\0'; cell++) {
		if (*cell == '|')
			seam__text_puts(text, "\\");
		seam__text_add(text, cell, 1);
	}
}

static void write_markdown(const struct seam_table *table, struct seam_text *text)
{
	for (size_t i = 0; i < table->cell_count; i++) {
		seam__text_puts(text, i % table->columns == 0 ? "| " : " ");
		write_markdown_cell(table->cells[i], text);
		seam__text_puts(text, (i + 1) % table->columns == 0 ? " |\n" : " |");
		if (i + 1 == table->columns)
			write_rule(table, text);
	}
}

static void write_plain(const struct seam_table *table, const size_t *widths, struct seam_text *text)
{
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t column = i % table->columns;
		bool last = column + 1 == table->columns;
		size_t blanks = widths[column] - cell_width(table->cells[i]);
		bool right = is_right_aligned(table, column);
		if (right)
			seam__text_fill(text, ' ', blanks);
		seam__text_puts(text, table->cells[i]);
		if (!right && !last)
			seam__text_fill(text, ' ', blanks);
		seam__text_puts(text, last ? "\n" : "  ");
	}
}

enum seam_rc seam__table_write(const struct seam_table *table, enum seam_table_form form, struct seam_text *text)
{
	if (table->rc != SEAM_OK)
		return table->rc;
	SEAM_VERIFY(table->cell_count % table->columns == 0);
	if (form == SEAM_TABLE_MARKDOWN) {
		write_markdown(table, text);
		return seam__text_rc(text);
	}
	size_t *widths = seam__meta_array(table->meta, table->columns, sizeof(widths[0]));
	if (widths == NULL)
		return SEAM_OOM_META;
	for (size_t column = 0; column < table->columns; column++)
		widths[column] = column_width(table, column);
	write_plain(table, widths, text);
	seam__meta_free(table->meta, widths, table->columns * sizeof(widths[0]));
	return seam__text_rc(text);
}

const char *seam__table_check(const struct seam_table *table)
{
	if (table->cell_count > table->cell_capacity)
		return "more cells than room";
	for (size_t i = 0; i < table->cell_count; i++) {
		if (table->cells[i] == NULL)
			return "a cell without text";
	}
	return NULL;
}
