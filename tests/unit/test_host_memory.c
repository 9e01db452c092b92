/* test_host_memory.c: what control groups leave, read from folders made for the purpose. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_memory.h"

#define GI (UINT64_C(1) << 30)
#define FILES 10

struct file {
	const char *path, *content;
};

struct row {
	const char *name;
	struct file files[FILES];
	uint64_t most_bytes, limit_bytes, room_bytes;
};

#define MACHINE                                                                 \
	{                                                                       \
		"/proc/meminfo", "MemTotal:       8388608 kB\nMemFree:  1 kB\n" \
	}
#define NONE UINT64_MAX

static const struct row rows[] = {
	{"nothing can be read", {{NULL, NULL}}, NONE, NONE, NONE},
	{"no groups", {MACHINE}, 8 * GI, NONE, NONE},
	{"version 2, the group itself",
		{MACHINE, {"/proc/self/cgroup", "0::/a/b\n"}, {"/sys/fs/cgroup/a/b/memory.max", "4294967296\n"},
			{"/sys/fs/cgroup/a/b/memory.current", "1073741824\n"}},
		4 * GI, 4 * GI, 3 * GI},
	{"cached files go when memory is short",
		{MACHINE, {"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/memory.max", "4294967296\n"},
			{"/sys/fs/cgroup/a/memory.current", "4294967296\n"},
			{"/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 1073741824\nactive_file 1073741824\n"}},
		4 * GI, 4 * GI, 2 * GI},
	{"a group above leaves less",
		{MACHINE, {"/proc/self/cgroup", "0::/a/b\n"}, {"/sys/fs/cgroup/a/b/memory.max", "4294967296\n"},
			{"/sys/fs/cgroup/a/b/memory.current", "0\n"}, {"/sys/fs/cgroup/a/memory.max", "5368709120\n"},
			{"/sys/fs/cgroup/a/memory.current", "4294967296\n"}},
		4 * GI, 5 * GI, 1 * GI},
	{"in a container the path is the host's",
		{MACHINE, {"/proc/self/cgroup", "0::/../../elsewhere\n"}, {"/sys/fs/cgroup/memory.max", "2147483648\n"},
			{"/sys/fs/cgroup/memory.current", "1073741824\n"}},
		2 * GI, 2 * GI, 1 * GI},
	{"max is no limit",
		{MACHINE, {"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/memory.max", "max\n"},
			{"/sys/fs/cgroup/memory.current", "9\n"}},
		8 * GI, NONE, NONE},
	{"version 1",
		{MACHINE, {"/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/a\n0::/y\n"},
			{"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "3221225472\n"},
			{"/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "2147483648\n"},
			{"/sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 1073741824\n"},
			{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
			{"/sys/fs/cgroup/memory/memory.usage_in_bytes", "4\n"}},
		3 * GI, 3 * GI, 2 * GI},
	{"more is held than is allowed",
		{MACHINE, {"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/memory.max", "1073741824\n"},
			{"/sys/fs/cgroup/memory.current", "2147483648\n"}},
		1 * GI, 1 * GI, 0},
	{"what cannot be understood limits nothing",
		{{"/proc/meminfo", "MemTotal: many kB\n"}, {"/proc/self/cgroup", "\n:\nmemory\n0:\n4:memory\n"},
			{"/sys/fs/cgroup/memory.max", "\n"}},
		NONE, NONE, NONE},
};

static void write_at(const char *root, const struct file *file)
{
	char path[PATH_MAX];
	(void)snprintf(path, sizeof path, "%s%s", root, file->path);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	FILE *out = fopen(path, "we");
	cr_assert_not_null(out, "%s", path);
	cr_assert_geq(fputs(file->content, out), 0);
	cr_assert_eq(fclose(out), 0);
}

Test(host_memory, is_what_the_files_say)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char root[] = "/tmp/seam-host-memory-XXXXXX", command[PATH_MAX];
		cr_assert_not_null(mkdtemp(root));
		for (size_t f = 0; f < FILES && rows[i].files[f].path != NULL; f++)
			write_at(root, &rows[i].files[f]);
		struct seam_host_memory memory;
		seam__host_memory_get(root, &memory);
		cr_expect_eq(memory.most_bytes, rows[i].most_bytes, "row: %s", rows[i].name);
		cr_expect_eq(memory.limit_bytes, rows[i].limit_bytes, "row: %s", rows[i].name);
		cr_expect_eq(memory.room_bytes, rows[i].room_bytes, "row: %s", rows[i].name);
		(void)snprintf(command, sizeof command, "rm -rf %s", root);
		cr_assert_eq(system(command), 0);
	}
}

Test(host_memory, of_this_machine_is_not_more_than_it_has)
{
	struct seam_host_memory memory;
	seam__host_memory_get("", &memory);
	cr_expect_leq(memory.most_bytes, (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
	cr_expect(memory.room_bytes <= memory.limit_bytes);
}
