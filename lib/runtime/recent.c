/* recent.c: whether a plan knows what the program asked for lately; see recent.h. */
#include "recent.h"

#include "bits.h"
#include "matcher_state.h"

#define LATELY 512u   /* requests: what the program does now */
#define LOOKED_AT 64u /* so few show what an iteration is like */

#define TABLE 128u /* places for them, a power of two */

/* A size on a stream that was asked for; times 0: none. */
struct asked {
	uint64_t blocks, stream;
	uint32_t times;
	bool known; /* the loaded plan has it */
	bool open;  /* it has dynamic requests on the stream */
};

/* The entry of such requests, or where it would be. */
static struct asked *find(struct asked *table, uint64_t blocks, uint64_t stream)
{
	uint32_t at = (uint32_t)((blocks ^ stream << 7) * UINT64_C(0x9E3779B97F4A7C15) >> 32) % TABLE;
	while (table[at].times != 0 && (table[at].blocks != blocks || table[at].stream != stream))
		at = (at + 1) % TABLE;
	return &table[at];
}

static void note_open(struct asked *table, uint64_t stream)
{
	for (uint32_t i = 0; i < TABLE; i++)
		table[i].open |= table[i].stream == stream;
}

/* Notes which requests a cursor expects. */
static void note_cursor(struct asked *table, const struct seam_cursor *cursor)
{
	bool open = false;
	for (uint32_t c = 0; c < cursor->count; c++) {
		if (cursor->first[c].bytes == 0)
			open = true;
		else
			find(table, seam__bits_div_up(cursor->first[c].bytes, SEAM_PLANNED_BYTES), cursor->stream)
				->known = true;
	}
	if (open)
		note_open(table, cursor->stream);
}

bool seam__recent_fits(const struct seam_recent *recent, const struct seam_loaded_plan *loaded)
{
	const uint64_t there = seam__bits_min(seam__bits_min(recent->count, LATELY), loaded->slots);
	const uint64_t stride = seam__bits_div_up(there, LOOKED_AT);
	struct asked table[TABLE] = {{0}};
	uint32_t known = 0, unknown = 0;
	for (uint64_t back = 1; back <= there; back += stride) {
		const uint64_t at = (recent->count - back) % SEAM_RECENT;
		const uint64_t blocks = seam__bits_div_up(recent->asked[at].bytes, SEAM_PLANNED_BYTES);
		struct asked *asked = find(table, blocks, recent->asked[at].stream);
		*asked =
			(struct asked){.blocks = blocks, .stream = recent->asked[at].stream, .times = asked->times + 1};
	}
	for (uint32_t l = 0; l < loaded->cursor_count; l++)
		note_cursor(table, &loaded->cursors[l]);
	for (uint32_t i = 0; i < TABLE; i++) {
		known += table[i].known ? table[i].times : 0;
		unknown += table[i].known || table[i].open ? 0 : table[i].times;
	}
	return known >= 3 * unknown;
}

void seam__recent_tell(
	const struct seam_recent *recent, const struct seam_loaded_plan *loaded, struct seam_matcher *matcher)
{
	const uint64_t slots = loaded->slots;
	if (slots > seam__bits_min(recent->count, SEAM_RECENT))
		return;
	for (uint64_t back = 2 * slots; back != 0; back--) {
		const struct seam_asked *asked = &recent->asked[(recent->count - 1 - (back - 1) % slots) % SEAM_RECENT];
		if (asked->plain)
			seam__matcher_hear(matcher,
				&(struct seam_match_ask){asked->bytes, asked->stream, asked->thread, asked->dynamic});
	}
}
