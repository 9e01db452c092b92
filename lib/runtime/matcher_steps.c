/* matcher_steps.c: where in the period the program says that its iterations end; see matcher.h.
 *
 * Where a cursor is in step a mark is where the plan has one: it is noted. A period may be of several iterations (of a
 * plan that was given), and has several then. An iteration that was cut short is in step too, up to its mark; but the
 * next request is not what is expected there then, and is looked for behind the marks (tracker.h). Where it is
 * known that the period is one iteration none is noted, and the cursor goes there at once.
 *
 * Not here: which slot the next request is (tracker.h).
 */
#include "matcher_state.h"

#include "bits.h"

void seam__loaded_begins_at_mark(struct seam_loaded_plan *loaded)
{
	loaded->marks = (struct seam_marks){.count = 1, .at = {loaded->lifetimes[0].begin}, .all = true};
}

static bool is_known(const struct seam_marks *marks, uint32_t position)
{
	for (uint32_t i = marks->count; i-- > 0;) {
		if (marks->at[i] == position)
			return true;
	}
	return false;
}

static void note(struct seam_marks *marks, uint32_t position)
{
	if (marks->count < SEAM_MARKS)
		marks->at[marks->count++] = position;
}

/* Where it is next: in the frontier's repetition, unless it lies so far behind the frontier that the next one must be
 * meant.
 */
static uint64_t next_at(const struct seam_loaded_plan *loaded, uint32_t mark)
{
	return seam__loaded_near(loaded, mark, loaded->frontier.at, loaded->positions / SEAM_BACK_SHARE);
}

void seam__matcher_step(struct seam_matcher *matcher)
{
	seam__matcher_succeed(matcher);
	struct seam_loaded_plan *loaded = matcher->now;
	const struct seam_cursor *speaker = matcher->cursor;
	if (loaded == NULL || speaker == NULL)
		return;
	struct seam_marks *marks = &loaded->marks;
	for (uint32_t l = 0; l < loaded->cursor_count; l++)
		loaded->cursors[l].stepped = loaded->cursors[l].history.heard;
	const uint32_t begin = speaker->next->begin;
	if (!marks->all) {
		if (speaker->debt == 0 && !is_known(marks, begin))
			note(marks, begin);
		return;
	}
	/* A cursor that came there behind the frontier, by a place that it was in before, would be taken for lost at
	 * its next request. */
	const uint64_t at = next_at(loaded, marks->at[0]);
	if (speaker->debt == 0 && begin == marks->at[0] && speaker->base + begin >= at)
		return;
	for (uint32_t l = 0; l < loaded->cursor_count; l++) {
		struct seam_cursor *cursor = &loaded->cursors[l];
		if (cursor == speaker || cursor->debt != 0 ||
			cursor->base + cursor->next->begin + loaded->positions / SEAM_BACK_SHARE < at)
			seam__cursor_put(loaded, cursor, at);
	}
	matcher->counts.resyncs++;
}

void seam__matcher_start_slot(struct seam_matcher *matcher, uint32_t slot)
{
	struct seam_loaded_plan *loaded = matcher->now;
	if (loaded == NULL || slot >= loaded->slots)
		return;
	const uint64_t at = next_at(loaded, loaded->lifetimes[slot].begin);
	seam__cursors_put(loaded, at);
}
