/* trace_story.h: a trace as text, one word an event, so that a test shows all of it in a line.
 *
 * A word: kind, id, size after ':', stream after '@' and pool after '%' unless 0, 'r' for a resident, 'd' for a
 * dynamic one, micro-batch after '#' and thread after '^' unless 0, time after '='
 * when asked for, module in brackets. Segments' ids are shown in hexadecimal. Phases: '<' and '>' with the name.
 */
#ifndef SEAM_TRACE_STORY_H
#define SEAM_TRACE_STORY_H

#include <stdbool.h>

#include <seam/trace.h>

/* malloc()ed. */
char *trace_story(const struct seam_trace *trace, bool with_times);

#endif
