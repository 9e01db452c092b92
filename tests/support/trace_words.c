/* trace_words.c: reads the words. */
#include "trace_words.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* What a block was allocated with: its free repeats it. */
struct known {
	uint64_t bytes;
	uint64_t stream;
	uint32_t pool;
};

#define STREAMS 10u

struct reader {
	struct known known[256];
	uint32_t pools[STREAMS]; /* per stream: the private pool that is open there, or 0 */
};

static uint64_t stream_in(const char *word)
{
	const char *at = strchr(word, '@');
	return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

/* The beginning, the end or the release of a private pool. */
static struct seam_trace_event pool_event(const char *word, struct reader *reader)
{
	struct seam_trace_event event = {
		.kind = word[0] == '('   ? SEAM_TRACE_POOL_BEGIN
			: word[0] == ')' ? SEAM_TRACE_POOL_END
					 : SEAM_TRACE_POOL_RELEASE,
		.stream = stream_in(word),
		.pool = (uint32_t)strtoul(word + 1, NULL, 10),
	};
	cr_assert_lt(event.stream, STREAMS);
	if (event.kind != SEAM_TRACE_POOL_RELEASE)
		reader->pools[event.stream] = event.kind == SEAM_TRACE_POOL_BEGIN ? event.pool : 0;
	return event;
}

static struct seam_trace_event event_of(const char *word, struct reader *reader)
{
	struct known *known = reader->known;
	unsigned char letter = (unsigned char)word[1];
	struct seam_trace_event event = {.id = letter, .stream = stream_in(word)};
	switch (word[0]) {
	case '+':
		event.kind = SEAM_TRACE_ALLOC;
		event.size = strtoull(word + 2, NULL, 10);
		event.pool = event.stream < STREAMS ? reader->pools[event.stream] : 0;
		known[letter] = (struct known){.bytes = event.size, .stream = event.stream, .pool = event.pool};
		break;
	case '-':
		event.kind = SEAM_TRACE_FREE;
		event.size = known[letter].bytes;
		event.stream = known[letter].stream;
		event.pool = known[letter].pool;
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
	case '(':
	case ')':
	case '~':
		event = pool_event(word, reader);
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
	struct reader reader = {0};
	struct seam_trace_builder *builder;
	cr_assert_eq(seam_trace_builder_create("words", 0, &builder), SEAM_OK);
	char *copy = strdup(words);
	char *rest = copy;
	uint64_t steps = 0;
	uint64_t time_ns = 0;
	for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
		struct seam_trace_event event = event_of(word, &reader);
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
