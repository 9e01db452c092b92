/* test_pickle.c: plain pickles are read, everything else is refused by its opcode.
 *
 * The pickles are written out by hand, opcode by opcode, so that no other reader's idea of the format is tested.
 */
#include "pickle_fixture.h"

struct integer_row {
	const char *name;
	const char *data;
	size_t bytes;
	enum seam_pickle_type type;
	uint64_t value; /* its 64 bits */
};

static const struct integer_row integers[] = {
	{"BININT1", BYTES("\x80\x02K\xff."), SEAM_PICKLE_INT, 255},
	{"BININT2", BYTES("\x80\x02M\x01\x80."), SEAM_PICKLE_INT, 0x8001},
	{"BININT negative", BYTES("\x80\x02J\xfe\xff\xff\xff."), SEAM_PICKLE_INT, UINT64_MAX - 1},
	{"LONG1 empty", BYTES("\x80\x02\x8a\x00."), SEAM_PICKLE_INT, 0},
	{"LONG1 short negative", BYTES("\x80\x02\x8a\x01\xff."), SEAM_PICKLE_INT, UINT64_MAX},
	{"LONG1 40 bits", BYTES("\x80\x02\x8a\x05\x01\x02\x03\x04\x05."), SEAM_PICKLE_INT, 0x0504030201},
	{"LONG1 9 bytes", BYTES("\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."), SEAM_PICKLE_UINT, UINT64_MAX},
	{"LONG1 too large", BYTES("\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x01."), SEAM_PICKLE_BIG, 0},
	{"LONG1 too small", BYTES("\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff."), SEAM_PICKLE_BIG, 0},
	{"LONG1 padded negative", BYTES("\x80\x02\x8a\x09\xfe\xff\xff\xff\xff\xff\xff\xff\xff."), SEAM_PICKLE_INT,
		UINT64_MAX - 1},
	{"LONG4", BYTES("\x80\x02\x8b\x02\x00\x00\x00\x10\x27."), SEAM_PICKLE_INT, 10000},
	{"INT line", BYTES("I-12\n."), SEAM_PICKLE_INT, (uint64_t)-12},
	{"INT line 64 bits", BYTES("I18446744073709551615\n."), SEAM_PICKLE_UINT, UINT64_MAX},
	{"INT line least", BYTES("I-9223372036854775808\n."), SEAM_PICKLE_INT, (uint64_t)INT64_MIN},
	{"INT line beyond", BYTES("I18446744073709551616\n."), SEAM_PICKLE_BIG, 0},
	{"INT true", BYTES("I01\n."), SEAM_PICKLE_BOOL, 1},
	{"INT false", BYTES("I00\n."), SEAM_PICKLE_BOOL, 0},
	{"LONG line", BYTES("L140162331836416L\n."), SEAM_PICKLE_INT, 140162331836416},
	{"NEWTRUE", BYTES("\x80\x02\x88."), SEAM_PICKLE_BOOL, 1},
	{"NEWFALSE", BYTES("\x80\x02\x89."), SEAM_PICKLE_BOOL, 0},
};

Test(pickle, integers)
{
	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
		const struct integer_row *row = &integers[i];
		struct seam_pickle *pickle = read_ok(row->name, row->data, row->bytes);
		struct seam_pickle_value root = seam__pickle_root(pickle);
		cr_assert_eq(seam__pickle_type(pickle, root), row->type, "%s", row->name);
		uint64_t natural = 0;
		int64_t whole = 0;
		const bool is_natural = seam__pickle_get_u64(pickle, root, &natural);
		const bool is_whole = seam__pickle_get_i64(pickle, root, &whole);
		cr_assert_eq(is_whole, row->type == SEAM_PICKLE_INT || row->type == SEAM_PICKLE_BOOL, "%s", row->name);
		if (is_whole)
			cr_assert_eq((uint64_t)whole, row->value, "%s: %lld", row->name, (long long)whole);
		if (is_natural)
			cr_assert_eq(natural, row->value, "%s: %llu", row->name, (unsigned long long)natural);
		cr_assert_eq(is_natural, row->type == SEAM_PICKLE_UINT || (is_whole && whole >= 0), "%s", row->name);
		seam__pickle_free(pickle);
	}
}

struct text_row {
	const char *name;
	const char *data;
	size_t bytes;
	const char *text;
	size_t text_bytes;
};

static const struct text_row texts[] = {
	{"SHORT_BINUNICODE",
		BYTES("\x80\x04\x8c\x03"
		      "abc."),
		BYTES("abc")},
	{"BINUNICODE", BYTES("\x80\x02X\x02\x00\x00\x00\xc3\xa9."), BYTES("\xc3\xa9")},
	{"BINUNICODE8", BYTES("\x80\x04\x8d\x01\x00\x00\x00\x00\x00\x00\x00z."), BYTES("z")},
	{"empty", BYTES("\x80\x04\x8c\x00."), BYTES("")},
	{"SHORT_BINSTRING", BYTES("U\x02hi."), BYTES("hi")},
	{"BINSTRING", BYTES("T\x02\x00\x00\x00hi."), BYTES("hi")},
	{"UNICODE", BYTES("Va\\u00e9\\U0001f600\xe9\\n\n."), BYTES("a\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9\\n")},
	{"STRING", BYTES("S'a\\'b\\\\\\n\\x41\\101\\q'\n."), BYTES("a'b\\\nAA\\q")},
	{"STRING double", BYTES("S\"it's\"\r\n."), BYTES("it's")},
	{"with a zero",
		BYTES("\x80\x04\x8c\x03"
		      "a\0b."),
		BYTES("a\0b")},
};

Test(pickle, texts)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct text_row *row = &texts[i];
		struct seam_pickle *pickle = read_ok(row->name, row->data, row->bytes);
		const char *text;
		size_t bytes;
		cr_assert(seam__pickle_get_text(pickle, seam__pickle_root(pickle), &text, &bytes), "%s", row->name);
		cr_assert_eq(bytes, row->text_bytes, "%s: %zu bytes", row->name, bytes);
		cr_assert(memcmp(text, row->text, bytes) == 0, "%s: %.*s", row->name, (int)bytes, text);
		seam__pickle_free(pickle);
	}
}

struct shape_row {
	const char *name;
	const char *data;
	size_t bytes;
	enum seam_pickle_type type;
	size_t count;
};

static const struct shape_row shapes[] = {
	{"None", BYTES("N."), SEAM_PICKLE_NONE, 0},
	{"BINFLOAT", BYTES("\x80\x02G\x3f\xf0\0\0\0\0\0\0."), SEAM_PICKLE_FLOAT, 0},
	{"FLOAT", BYTES("F-1.5e-07\n."), SEAM_PICKLE_FLOAT, 0},
	{"FLOAT inf", BYTES("F-inf\n."), SEAM_PICKLE_FLOAT, 0},
	{"BINBYTES",
		BYTES("\x80\x03"
		      "B\x03\0\0\0abc."),
		SEAM_PICKLE_BYTES, 3},
	{"SHORT_BINBYTES",
		BYTES("\x80\x03"
		      "C\x01x."),
		SEAM_PICKLE_BYTES, 1},
	{"BINBYTES8", BYTES("\x80\x04\x8e\x01\0\0\0\0\0\0\0x."), SEAM_PICKLE_BYTES, 1},
	{"BYTEARRAY8", BYTES("\x80\x05\x96\x02\0\0\0\0\0\0\0xy."), SEAM_PICKLE_BYTES, 2},
	{"EMPTY_LIST", BYTES("]."), SEAM_PICKLE_LIST, 0},
	{"LIST", BYTES("(I1\nI2\nl."), SEAM_PICKLE_LIST, 2},
	{"APPEND", BYTES("]I1\naI2\naI3\na."), SEAM_PICKLE_LIST, 3},
	{"APPENDS", BYTES("](I1\nI2\nI3\ne(I4\ne."), SEAM_PICKLE_LIST, 4},
	{"APPENDS nothing", BYTES("](e."), SEAM_PICKLE_LIST, 0},
	{"EMPTY_TUPLE", BYTES(")."), SEAM_PICKLE_TUPLE, 0},
	{"TUPLE", BYTES("(I1\nI2\nt."), SEAM_PICKLE_TUPLE, 2},
	{"TUPLE1", BYTES("\x80\x02N\x85."), SEAM_PICKLE_TUPLE, 1},
	{"TUPLE2", BYTES("\x80\x02NN\x86."), SEAM_PICKLE_TUPLE, 2},
	{"TUPLE3", BYTES("\x80\x02NNN\x87."), SEAM_PICKLE_TUPLE, 3},
	{"EMPTY_DICT", BYTES("}."), SEAM_PICKLE_DICT, 0},
	{"DICT", BYTES("(VA\nI1\nVB\nI2\nd."), SEAM_PICKLE_DICT, 2},
	{"SETITEM", BYTES("}VA\nI1\ns."), SEAM_PICKLE_DICT, 1},
	{"SETITEMS", BYTES("}(VA\nI1\nVB\nI2\nu."), SEAM_PICKLE_DICT, 2},
	{"EMPTY_SET", BYTES("\x80\x04\x8f."), SEAM_PICKLE_SET, 0},
	{"ADDITEMS", BYTES("\x80\x04\x8f(K\x01K\x02\x90."), SEAM_PICKLE_SET, 2},
	{"FROZENSET", BYTES("\x80\x04(K\x01K\x02\x91."), SEAM_PICKLE_SET, 2},
	{"POP and DUP", BYTES("](I1\n20e."), SEAM_PICKLE_LIST, 1},
	{"POP_MARK", BYTES("](I1\nI2\n1."), SEAM_PICKLE_LIST, 0},
	{"FRAME", BYTES("\x80\x04\x95\x02\0\0\0\0\0\0\0N."), SEAM_PICKLE_NONE, 0},
};

Test(pickle, shapes)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape_row *row = &shapes[i];
		struct seam_pickle *pickle = read_ok(row->name, row->data, row->bytes);
		struct seam_pickle_value root = seam__pickle_root(pickle);
		cr_assert_eq(seam__pickle_type(pickle, root), row->type, "%s", row->name);
		cr_assert_eq(seam__pickle_count(pickle, root), row->count, "%s", row->name);
		seam__pickle_free(pickle);
	}
}

/* Two lists that grow by turns: their elements lie in several extents. */
Test(pickle, lists_that_grow_by_turns_keep_their_order)
{
	struct seam_pickle *pickle =
		read_ok("turns", BYTES("]q\0]q\1(I0\n100h\0(I1\nI2\ne0h\1(I10\ne0h\0I3\na0h\1I11\na0h\0h\1\x86."));
	struct seam_pickle_walk walk = seam__pickle_walk_begin(pickle);
	struct seam_pickle_cursor both = seam__pickle_first(pickle, seam__pickle_root(pickle));
	static const uint64_t expected[2][3] = {{1, 2, 3}, {10, 11, 0}};
	for (size_t list = 0; list < 2; list++) {
		struct seam_pickle_value value;
		cr_assert(seam__pickle_next(&walk, &both, &value));
		struct seam_pickle_cursor cursor = seam__pickle_first(pickle, value);
		const size_t count = seam__pickle_count(pickle, value);
		cr_assert_eq(count, 3 - list);
		for (size_t i = 0; i < count; i++) {
			struct seam_pickle_value element;
			uint64_t number = 0;
			cr_assert(seam__pickle_next(&walk, &cursor, &element));
			cr_assert(seam__pickle_get_u64(pickle, element, &number));
			cr_assert_eq(number, expected[list][i], "list %zu, element %zu", list, i);
		}
		cr_assert_not(seam__pickle_next(&walk, &cursor, &value));
	}
	seam__pickle_free(pickle);
}

Test(pickle, the_last_of_equal_keys_counts)
{
	struct seam_pickle *pickle = read_ok("keys", BYTES("}(Va\nI1\nVb\nI2\nVa\nI3\nu."));
	struct seam_pickle_walk walk = seam__pickle_walk_begin(pickle);
	struct seam_pickle_value value;
	uint64_t number = 0;
	cr_assert(seam__pickle_find(&walk, seam__pickle_root(pickle), "a", &value));
	cr_assert(seam__pickle_get_u64(pickle, value, &number));
	cr_assert_eq(number, 3);
	cr_assert_not(seam__pickle_find(&walk, seam__pickle_root(pickle), "c", &value));
	cr_assert_not(seam__pickle_find(&walk, value, "a", &value), "an integer has no keys");
	seam__pickle_free(pickle);
}

struct refusal_row {
	const char *name; /* the opcode that the message must name; NULL: any message */
	const char *data;
	size_t bytes;
	enum seam_rc rc;
};

static const struct refusal_row refusals[] = {
	{"GLOBAL", BYTES("cos\nsystem\n(S'echo gone'\ntR."), SEAM_FORMAT},
	{"STACK_GLOBAL", BYTES("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04gone\x85R."), SEAM_FORMAT},
	{"REDUCE", BYTES("N)R."), SEAM_FORMAT},
	{"INST", BYTES("(ios\nsystem\n."), SEAM_FORMAT},
	{"OBJ", BYTES("(No."), SEAM_FORMAT},
	{"NEWOBJ", BYTES("\x80\x02N)\x81."), SEAM_FORMAT},
	{"NEWOBJ_EX", BYTES("\x80\x04N)}\x92."), SEAM_FORMAT},
	{"BUILD", BYTES("NNb."), SEAM_FORMAT},
	{"EXT1", BYTES("\x80\x02\x82\x01."), SEAM_FORMAT},
	{"EXT2", BYTES("\x80\x02\x83\x01\x00."), SEAM_FORMAT},
	{"EXT4", BYTES("\x80\x02\x84\x01\x00\x00\x00."), SEAM_FORMAT},
	{"PERSID", BYTES("Pid\n."), SEAM_FORMAT},
	{"BINPERSID", BYTES("NQ."), SEAM_FORMAT},
	{"NEXT_BUFFER", BYTES("\x80\x05\x97."), SEAM_FORMAT},
	{"READONLY_BUFFER", BYTES("\x80\x05N\x98."), SEAM_FORMAT},
	{"0xfe", BYTES("N\xfe."), SEAM_CORRUPT},
	{"protocol 6", BYTES("\x80\x06N."), SEAM_VERSION},
	{"LONG4", BYTES("\x80\x02\x8b\xff\xff\xff\xff."), SEAM_CORRUPT},
	{"LONG4", BYTES("\x80\x02\x8b\xff\xff\xff\x7f."), SEAM_CORRUPT},
	{"BINUNICODE",
		BYTES("X\xff\xff\xff\xff"
		      "a."),
		SEAM_CORRUPT},
	{"BINUNICODE8",
		BYTES("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
		      "a."),
		SEAM_CORRUPT},
	{"FRAME", BYTES("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN."), SEAM_CORRUPT},
	{"LONG_BINPUT", BYTES("Nr\xff\xff\xff\xff."), SEAM_CORRUPT},
	{"PUT", BYTES("Np-1\n."), SEAM_CORRUPT},
	{"BINGET", BYTES("h\x00."), SEAM_CORRUPT},
	{"BINGET", BYTES("Nq\x01h\x00."), SEAM_CORRUPT},
	{"BINPUT", BYTES("q\x00."), SEAM_CORRUPT},
	{"MEMOIZE", BYTES("\x80\x04\x94."), SEAM_CORRUPT},
	{"POP", BYTES("0."), SEAM_CORRUPT},
	{"DUP", BYTES("2."), SEAM_CORRUPT},
	{"TUPLE2", BYTES("\x80\x02N\x86."), SEAM_CORRUPT},
	{"TUPLE1", BYTES("\x80\x02N(\x85."), SEAM_CORRUPT},
	{"TUPLE", BYTES("t."), SEAM_CORRUPT},
	{"APPEND", BYTES("a."), SEAM_CORRUPT},
	{"APPEND", BYTES(")Na."), SEAM_CORRUPT},
	{"APPENDS", BYTES("}(Ne."), SEAM_CORRUPT},
	{"APPENDS", BYTES("(Ne."), SEAM_CORRUPT},
	{"SETITEMS", BYTES("}(NNNu."), SEAM_CORRUPT},
	{"SETITEM", BYTES("]NNs."), SEAM_CORRUPT},
	{"DICT", BYTES("(Nd."), SEAM_CORRUPT},
	{"ADDITEMS", BYTES("\x80\x04](N\x90."), SEAM_CORRUPT},
	{"INT", BYTES("I1x\n."), SEAM_CORRUPT},
	{"INT", BYTES("I\n."), SEAM_CORRUPT},
	{"LONG", BYTES("L--1L\n."), SEAM_CORRUPT},
	{"FLOAT", BYTES("F1.2.3\n."), SEAM_CORRUPT},
	{"FLOAT", BYTES("Fe5\n."), SEAM_CORRUPT},
	{"STRING", BYTES("S'open\n."), SEAM_CORRUPT},
	{"STRING", BYTES("S'\\x4'\n."), SEAM_CORRUPT},
	{"UNICODE", BYTES("V\\u12\n."), SEAM_CORRUPT},
	{"UNICODE", BYTES("V\\U00110000\n."), SEAM_CORRUPT},
	{"STOP", BYTES("."), SEAM_CORRUPT},
	{"STOP", BYTES("NN."), SEAM_CORRUPT},
	{"STOP", BYTES("(N."), SEAM_CORRUPT},
	{"STOP", BYTES("N.N"), SEAM_CORRUPT},
	{"without STOP", BYTES("N"), SEAM_CORRUPT},
	{"empty", BYTES(""), SEAM_CORRUPT},
};

Test(pickle, refuses_by_the_name_of_the_opcode)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal_row *row = &refusals[i];
		struct seam_pickle *pickle = NULL;
		struct seam_trace_error error = {0};
		enum seam_rc rc = seam__pickle_read(row->data, row->bytes, &error, &pickle);
		cr_assert_eq(rc, row->rc, "row %zu, %s: %s, %s", i, row->name, seam_rc_name(rc), error.text);
		cr_assert_null(pickle);
		cr_assert(strstr(error.text, row->name) != NULL, "row %zu, %s: %s", i, row->name, error.text);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}
