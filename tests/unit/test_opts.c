/* test_opts.c: SEAM_CONF: what is accepted, what is refused and how, precedence, and the rendered tables. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "meta.h"
#include "opts.h"

static struct seam_config parsed(const char *text)
{
	struct seam_config config;
	char error[SEAM_OPTS_LINE_BYTES] = "";
	seam_config_init(&config);
	cr_assert_eq(seam_config_parse(&config, text, error, sizeof error), SEAM_OK, "'%s': %s", text, error);
	return config;
}

Test(opts, every_option_reads_back_its_own_default)
{
	const struct seam_option *option;
	for (size_t i = 0; (option = seam__opts_get(i)) != NULL; i++) {
		char value[SEAM_OPTS_VALUE_BYTES];
		char text[100];
		seam__opts_format(option, option->default_value, value);
		snprintf(text, sizeof(text), "%s:%s", option->name, value);
		struct seam_config config = parsed(text);
		cr_assert_eq(seam__opts_value(option, &config), option->default_value, "%s", text);
		cr_assert_eq(seam__opts_find(option->name), option, "%s", option->name);
		cr_assert(option->default_value == 0 ||
				(option->default_value >= option->least && option->default_value <= option->most),
			"%s", option->name);
	}
}

Test(opts, every_option_keeps_its_range)
{
	const struct seam_option *option;
	for (size_t i = 0; (option = seam__opts_get(i)) != NULL; i++) {
		const uint64_t bad[] = {option->least > 1 ? option->least - 1 : option->most + 1, option->most + 1};
		for (size_t k = 0; k < 2 && option->type != SEAM_OPTION_TYPE_CHOICE; k++) {
			struct seam_config config;
			struct seam_config result;
			char text[100];
			char error[SEAM_OPTS_LINE_BYTES] = "";
			seam_config_init(&config);
			snprintf(text, sizeof(text), "%s:%llu", option->name, (unsigned long long)bad[k]);
			cr_assert_eq(seam_config_parse(&config, text, error, sizeof error), SEAM_CONF, "%s", text);
			cr_assert_not_null(strstr(error, option->name), "%s: %s", text, error);
			memcpy((char *)&config + option->offset, &bad[k], sizeof(bad[k]));
			cr_assert_eq(seam__opts_resolve(&config, NULL, error, sizeof error, &result), SEAM_CONF,
				"%s in the struct", text);
			cr_assert_not_null(strstr(error, option->name), "%s: %s", text, error);
		}
	}
}

Test(opts, values_are_understood)
{
	static const struct {
		const char *text;
		const char *option;
		uint64_t value;
	} rows[] = {
		{"chunk_bytes:2M", "chunk_bytes", UINT64_C(2) << 20},
		{"chunk_bytes:32m", "chunk_bytes", UINT64_C(32) << 20},
		{"chunk_bytes:4096K", "chunk_bytes", UINT64_C(4) << 20},
		{"chunk_bytes:1GiB", "chunk_bytes", UINT64_C(1) << 30},
		{"chunk_bytes:2097152B", "chunk_bytes", UINT64_C(2) << 20},
		{"capacity_bytes:1T", "capacity_bytes", UINT64_C(1) << 40},
		{" capacity_bytes : 5 ", "capacity_bytes", 5},
		{"capacity_bytes:5,capacity_bytes:6", "capacity_bytes", 6},
		{"mapping_limit:64", "mapping_limit", 64},
		{"deterministic:1", "deterministic", 1},
		{"deterministic:on", "deterministic", 1},
		{"deterministic:true", "deterministic", 1},
		{"deterministic:no", "deterministic", 0},
		{"backend:emu_book", "backend", 3},
		{"backend:emu", "backend", 2},
		{"backend:auto", "backend", 0},
		{",,stitch:oom,", "stitch", 2},
		{"", "stitch", 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_config config = parsed(rows[i].text);
		uint64_t value = seam__opts_value(seam__opts_find(rows[i].option), &config);
		cr_assert_eq(value, rows[i].value, "'%s'", rows[i].text);
	}
}

Test(opts, nonsense_is_refused_by_name_and_changes_nothing)
{
	static const struct {
		const char *text;
		const char *named; /* must be in the error */
	} rows[] = {
		{"nonsense:1", "nonsense"},
		{"chunk_byte:2M", "chunk_byte"},
		{"chunk_bytes", "key:value"},
		{"chunk_bytes:", "not a size"},
		{"chunk_bytes:M", "not a size"},
		{"chunk_bytes:2X", "not a size"},
		{"chunk_bytes:2MM", "not a size"},
		{"chunk_bytes:-2M", "not a size"},
		{"chunk_bytes:2 M x", "not a size"},
		{"chunk_bytes:99999999999999999999", "not a size"},
		{"chunk_bytes:18446744073709551615T", "not a size"},
		{"chunk_bytes:3M", "multiple of 2M"},
		{"chunk_bytes:4G", "from 0 to 2G"},
		{"mapping_limit:10M", "not a number"},
		{"deterministic:2", "neither 0 nor 1"},
		{"backend:emulator", "auto|cuda|emu|emu_book"},
		{"backend:em", "auto|cuda|emu|emu_book"},
		{"backend:", "auto|cuda|emu|emu_book"},
		{"capacity_bytes:7,bad\nline:1", "bad?line"},
		{"capacity_bytes:7;deterministic:1", "not a size"},
		{":", "no such option"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1",
			"aaa...'"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_config config;
		struct seam_config before;
		char error[SEAM_OPTS_LINE_BYTES] = "";
		seam_config_init(&config);
		config.capacity_bytes = 42;
		before = config;
		cr_assert_eq(
			seam_config_parse(&config, rows[i].text, error, sizeof error), SEAM_CONF, "'%s'", rows[i].text);
		cr_assert_not_null(strstr(error, rows[i].named), "'%s' says: %s", rows[i].text, error);
		cr_assert_null(strchr(error, '\n'), "'%s'", rows[i].text);
		cr_assert_eq(
			memcmp(&config, &before, sizeof(config)), 0, "'%s' changed the configuration", rows[i].text);
		cr_assert_eq(seam_config_parse(&config, rows[i].text, NULL, 0), SEAM_CONF,
			"'%s' without an error buffer", rows[i].text);
	}
}

Test(opts, struct_over_environment_over_default)
{
	struct seam_config given;
	struct seam_config result;
	seam_config_init(&given);
	given.chunk_bytes = UINT64_C(4) << 20;
	cr_assert_eq(seam__opts_resolve(&given, "chunk_bytes:8M,mapping_limit:100", NULL, 0, &result), SEAM_OK);
	cr_assert_eq(result.chunk_bytes, UINT64_C(4) << 20);
	cr_assert_eq(result.mapping_limit, 100);
	cr_assert_eq(result.small_bytes, seam__opts_find("small_bytes")->default_value);
	cr_assert_eq(result.size, sizeof(result));
	cr_assert_eq(seam__opts_resolve(NULL, NULL, NULL, 0, &result), SEAM_OK);
	cr_assert_eq(result.chunk_bytes, seam__opts_find("chunk_bytes")->default_value);
}

Test(opts, other_versions_of_the_struct)
{
	struct seam_config given;
	struct seam_config result;
	char error[SEAM_OPTS_LINE_BYTES] = "";
	seam_config_init(&given);
	given.host_capacity_bytes = 1 << 20;
	given.deterministic = 1;
	given.size = (uint32_t)offsetof(struct seam_config, host_capacity_bytes);
	cr_assert_eq(seam__opts_resolve(&given, NULL, error, sizeof error, &result), SEAM_OK,
		"an older, shorter struct is fine");
	cr_assert_eq(result.deterministic, 1);
	cr_assert_eq(result.host_capacity_bytes, 0, "what lies behind its size is not read");
	given.size = sizeof(given) + 8;
	cr_assert_eq(seam__opts_resolve(&given, NULL, error, sizeof error, &result), SEAM_VERSION);
	cr_assert_neq(error[0], '\0');
	given.size = 4;
	cr_assert_eq(seam__opts_resolve(&given, NULL, error, sizeof error, &result), SEAM_VERSION);
	given.size = sizeof(given);
	given.version = 99;
	cr_assert_eq(seam__opts_resolve(&given, NULL, error, sizeof error, &result), SEAM_VERSION);
	cr_assert_eq(seam_config_parse(&given, "deterministic:1", error, sizeof error), SEAM_VERSION);
	cr_assert_eq(seam_config_parse(NULL, "deterministic:1", error, sizeof error), SEAM_INVALID);
}

Test(opts, a_choice_out_of_range_in_the_struct)
{
	struct seam_config given;
	struct seam_config result;
	char error[SEAM_OPTS_LINE_BYTES] = "";
	char value[SEAM_OPTS_VALUE_BYTES];
	seam_config_init(&given);
	given.backend = 4;
	cr_assert_eq(seam__opts_resolve(&given, NULL, error, sizeof error, &result), SEAM_CONF);
	cr_assert_not_null(strstr(error, "backend"));
	cr_assert_str_eq(seam__opts_format(seam__opts_find("backend"), 4, value), "?");
	cr_assert_str_eq(seam__opts_format(seam__opts_find("backend"), 3, value), "emu_book");
	cr_assert_str_eq(seam__opts_format(seam__opts_find("backend"), UINT64_MAX, value), "?");
}

Test(opts, help_and_markdown_name_every_option)
{
	struct seam_meta *meta = seam__meta_create(0);
	struct seam_text help;
	struct seam_text markdown[2];
	seam__text_init(&help, meta);
	seam__text_init(&markdown[SEAM_OPTION_FOR_USER], meta);
	seam__text_init(&markdown[SEAM_OPTION_FOR_EXPERIMENT], meta);
	seam__opts_write_help(&help);
	cr_assert_eq(seam__text_rc(&help), SEAM_OK);
	for (unsigned who = 0; who < 2; who++)
		cr_assert_eq(seam__opts_write_markdown(meta, (enum seam_option_for)who, &markdown[who]), SEAM_OK);
	cr_assert_not_null(strstr(seam__text_string(&help), "For experiments:"));
	const struct seam_option *option;
	for (size_t i = 0; (option = seam__opts_get(i)) != NULL; i++) {
		cr_assert_not_null(strstr(seam__text_string(&help), option->name), "%s", option->name);
		cr_assert_not_null(strstr(seam__text_string(&help), option->text), "%s", option->name);
		const char *table = seam__text_string(&markdown[option->who]);
		const char *other = seam__text_string(&markdown[1 - option->who]);
		char key[64];
		(void)snprintf(key, sizeof key, "| `%s` |", option->name);
		cr_assert_not_null(strstr(table, key), "%s", option->name);
		cr_assert_null(strstr(other, key), "%s is in one table only", option->name);
		cr_assert_not_null(strstr(table, option->text), "%s: the text is cut", option->name);
	}
	seam__text_fini(&help);
	seam__text_fini(&markdown[0]);
	seam__text_fini(&markdown[1]);
	cr_assert_eq(seam__meta_destroy(meta), 0);
}
