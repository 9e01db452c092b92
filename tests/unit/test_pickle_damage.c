/* test_pickle_damage.c: damaged and hostile pickles: whatever they say, the reader answers in bounded time and memory.
 */
#include "pickle_fixture.h"

/* One of everything. */
static const char mixed[] = "\x80\x04\x95\x82\x00\x00\x00\x00\x00\x00\x00}(\x8c\x01"
			    "a\x94](K\x01M\x01\x02J\x01\x00\x00\x00\x8a\x02\x01\x02\x8b\x01\x00\x00\x00\x05G"
			    "\x00\x00\x00\x00\x00\x00\x00\x00N\x88\x89"
			    "B\x01\x00\x00\x00xC\x01yX\x01\x00\x00\x00ze\x8c\x01"
			    "bh\x00\x85\x94\x8c\x01"
			    "c\x8f(K"
			    "\x01\x90\x8c\x01"
			    "d(K\x01\x91\x8c\x01"
			    "eI12\nL34L\n\x86VA\nS'B'\nF1.5\nN\x87\x8c\x01"
			    "f"
			    "(Nl\x8c\x01g(NNd\x8c\x01h}K\x01K\x02su.";

Test(pickle_damage, every_truncation_is_an_error)
{
	static const char plain[] = "\x80\x04}(\x8c\x01"
				    "a\x94](K\x01M\x01\x02\x8a\x02\x01\x02NeX\x01\0\0\0bI12\nu.";
	struct seam_pickle *whole = read_ok("plain", BYTES(plain));
	seam__pickle_free(whole);
	for (size_t cut = 0; cut < sizeof(plain) - 1; cut++) {
		struct seam_pickle *pickle = NULL;
		char *copy = malloc(cut + 1);
		memcpy(copy, plain, cut);
		copy = realloc(copy, cut == 0 ? 1 : cut);
		cr_assert_eq(seam__pickle_read(copy, cut, NULL, &pickle), SEAM_CORRUPT, "cut at %zu", cut);
		free(copy);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(pickle_damage, no_changed_byte_breaks_the_reader)
{
	char copy[sizeof(mixed)];
	seam__pickle_free(read_ok("unchanged", BYTES(mixed)));
	for (size_t at = 0; at < sizeof(mixed) - 1; at++) {
		for (unsigned byte = 0; byte < 256; byte++) {
			struct seam_pickle *pickle = NULL;
			struct seam_trace_error error = {0};
			memcpy(copy, mixed, sizeof(mixed));
			copy[at] = (char)byte;
			enum seam_rc rc = seam__pickle_read(copy, sizeof(mixed) - 1, &error, &pickle);
			cr_assert_eq(rc == SEAM_OK, pickle != NULL, "byte %zu = %u", at, byte);
			if (pickle != NULL)
				cr_assert_null(seam__pickle_check(pickle), "byte %zu = %u", at, byte);
			else
				cr_assert_neq(error.text[0], '\0', "byte %zu = %u: %s", at, byte, seam_rc_name(rc));
			seam__pickle_free(pickle);
		}
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

/* A list that holds itself, and lists of lists of lists that share their parts: a billion elements in 90 bytes. */
Test(pickle_damage, a_walk_over_shared_parts_ends)
{
	struct seam_pickle *pickle = read_ok("cycle", BYTES("]q\0h\0a."));
	struct seam_pickle_walk walk = seam__pickle_walk_begin(pickle);
	struct seam_pickle_value value = seam__pickle_root(pickle);
	const uint64_t budget = walk.steps_left;
	uint64_t steps = 0;
	for (;;) {
		struct seam_pickle_cursor cursor = seam__pickle_first(pickle, value);
		if (!seam__pickle_next(&walk, &cursor, &value))
			break;
		steps++;
	}
	cr_assert(seam__pickle_walk_is_spent(&walk));
	cr_assert_eq(steps, budget);
	cr_assert_not(seam__pickle_find(&walk, value, "a", &value), "nothing is found without a budget");
	seam__pickle_free(pickle);
}

static uint64_t peak_of_reading(const char *data, size_t bytes, enum seam_rc expected)
{
	struct seam_pickle *pickle = NULL;
	struct seam_meta_stats now;
	seam__meta_reset_peak(seam__meta_process());
	cr_assert_eq(seam__pickle_read(data, bytes, NULL, &pickle), expected);
	seam__pickle_free(pickle);
	seam__meta_get_stats(seam__meta_process(), &now);
	return now.peak_bytes;
}

/* What costs most memory for each byte of the file. */
Test(pickle_damage, memory_is_bounded_by_the_input)
{
	enum { BYTES_OF_INPUT = 1 << 20 };
	static const struct {
		const char *name;
		char fill;
	} rows[] = {{"values", 'N'}, {"tuples in tuples", '\x85'}, {"lists", ']'}, {"marks", '('}, {"copies", '2'},
		{"memo", '\x94'}};
	char *data = malloc(BYTES_OF_INPUT);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(data, rows[i].fill, BYTES_OF_INPUT);
		memcpy(data, "\x80\x04N", 3);
		const uint64_t peak = peak_of_reading(data, BYTES_OF_INPUT, SEAM_CORRUPT);
		cr_assert_lt(
			peak, (uint64_t)BYTES_OF_INPUT * 128, "%s: %llu bytes", rows[i].name, (unsigned long long)peak);
	}
	free(data);
}

Test(pickle_damage, deep_nesting_is_data_like_any_other)
{
	enum { DEPTH = 200000 };
	char *data = malloc(DEPTH + 4);
	memcpy(data, "\x80\x02N", 3);
	memset(data + 3, '\x85', DEPTH);
	data[DEPTH + 3] = '.';
	struct seam_pickle *pickle = read_ok("deep", data, DEPTH + 4);
	seam__pickle_free(pickle);
	free(data);
}

Test(pickle_damage, marks_inside_marks_have_a_limit)
{
	enum { DEPTH = 100000 };
	struct seam_pickle *pickle = NULL;
	struct seam_trace_error error = {0};
	char *data = malloc(DEPTH);
	memset(data, '(', DEPTH);
	cr_assert_eq(seam__pickle_read(data, DEPTH, &error, &pickle), SEAM_CORRUPT);
	cr_assert(strstr(error.text, "MARK") != NULL && strstr(error.text, "deeply") != NULL, "%s", error.text);
	free(data);
}

Test(pickle_damage, every_failed_allocation_is_a_value)
{
	static const char data[] = "\x80\x04}(\x8c\x01"
				   "a\x94](K\x01M\x01\x02NeVb\\u00e9\nI12\nu.";
	struct seam_meta *meta = seam__meta_process();
	bool fired = true;
	for (uint64_t n = 1; fired; n++) {
		struct seam_pickle *pickle = NULL;
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__pickle_read(BYTES(data), NULL, &pickle);
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "failure %llu: %s", (unsigned long long)n,
			seam_rc_name(rc));
		seam__pickle_free(pickle);
		cr_assert_eq(trace_sample_live_bytes(), 0, "failure %llu", (unsigned long long)n);
	}
}
