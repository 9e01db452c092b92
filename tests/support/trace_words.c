/* trace_words.c: reads the words. */
#include "trace_words.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* What a block was allocated with: its free repeats it. */
struct known {
	uint64_t bytes;
	uint64_t stream;
};

static uint64_t stream_in(const char *word)
{
	const char *at = strchr(word, '@');
	return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

static struct seam_trace_event event_of(const char *word, struct known *known)
{
	unsigned char letter = (unsigned char)word[1];
	struct seam_trace_event event = {.id = letter, .stream = stream_in(word)};
	switch (word[0]) {
	case '+':
		event.kind = SEAM_TRACE_ALLOC;
		event.size = strtoull(word + 2, NULL, 10);
		known[letter] = (struct known){.bytes = event.size, .stream = event.stream};
		break;
	case '-':
		event.kind = SEAM_TRACE_FREE;
		event.size = known[letter].bytes;
		event.stream = known[letter].stream;
		break;
	case '>':
		event.kind = SEAM_TRACE_RECORD_STREAM;
		break;
	case '!':
		event.kind = SEAM_TRACE_EVENT_RECORD;
		break;
	case '?':
		event.kind = SEAM_TRACE_EVENT_WAIT;
		break;
	case '|':
		event = (struct seam_trace_event){.kind = SEAM_TRACE_STEP};
		break;
	default:
		cr_assert_fail("no such word: %s", word);
	}
	return event;
}

struct seam_trace *trace_words(const char *words)
{
	struct known known[256] = {{0}};
	struct seam_trace_builder *builder;
	cr_assert_eq(seam_trace_builder_create("words", 0, &builder), SEAM_OK);
	char *copy = strdup(words);
	char *rest = copy;
	uint64_t steps = 0;
	uint64_t time_ns = 0;
	for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
		struct seam_trace_event event = event_of(word, known);
		event.time_ns = time_ns++;
		if (event.kind == SEAM_TRACE_STEP)
			event.id = steps++;
		cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
	}
	free(copy);
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(builder);
	return trace;
}
