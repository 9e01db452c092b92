/* trace_words.h: a trace out of a line of words, for tests that work examples out by hand.
 *
 *   +a100    allocates block a of 100 bytes       +a100@2  on stream 2
 *   -a       frees it
 *   >a@2     block a is used on stream 2
 *   !e@1     records event e on stream 1          ?e@2     stream 2 waits for it
 *   (7@2     from here what stream 2 asks for comes from private pool 7    )7@2     no longer
 *   ~7       private pool 7 is released
 *   |        a step ends
 * Blocks and events are one letter each; streams with private pools are one digit; time is the number of the word.
 */
#ifndef TEST_TRACE_WORDS_H
#define TEST_TRACE_WORDS_H

#include <seam/trace.h>

/* Fails the test where the words make no valid trace. To be freed with seam_trace_free(). */
struct seam_trace *trace_words(const char *words);

#endif
