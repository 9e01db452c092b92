/* host_memory.c: /proc/meminfo and the memory controller of control groups, read. See host_memory.h. */
#include "host_memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bits.h"

#define LINE_BYTES 512
#define GROUPS "/sys/fs/cgroup"

/* The two versions of the controller: where a group lies, and what its files are called. */
struct version {
	const char *folder; /* below it: the group's path */
	const char *limit, *used;
	const char *files[2]; /* lines of memory.stat: cached files, which go when memory is short */
};

static const struct version version_1 = {GROUPS "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	{"total_active_file", "total_inactive_file"}};
static const struct version version_2 = {GROUPS, "memory.max", "memory.current", {"active_file", "inactive_file"}};

static FILE *open_at(const char *root, const char *folder, const char *path, const char *name)
{
	char full[PATH_MAX];
	int length = snprintf(full, sizeof full, "%s%s%s%s", root, folder, path, name);
	return length > 0 && (size_t)length < sizeof full ? fopen(full, "re") : NULL;
}

/* The number behind `name` in a file of lines "name number"; name "": the file's first word. False: none is there. */
static bool read_number(FILE *file, const char *name, uint64_t *ret_value)
{
	char line[LINE_BYTES];
	const size_t length = strlen(name);
	bool found = false;
	while (!found && fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, name, length) == 0 && (length == 0 || strchr(" :\t", line[length]) != NULL))
			found = sscanf(line + length, length == 0 ? "%" SCNu64 : "%*[: \t]%" SCNu64, ret_value) == 1;
	(void)fclose(file);
	return found;
}

static bool read_at(const char *root, const struct version *version, const char *path, const char *file,
	const char *name, uint64_t *ret_value)
{
	char slashed[LINE_BYTES];
	int length = snprintf(slashed, sizeof slashed, "%s/", path);
	FILE *opened =
		length > 0 && (size_t)length < sizeof slashed ? open_at(root, version->folder, slashed, file) : NULL;
	return opened != NULL && read_number(opened, name, ret_value);
}

/* One group. A limit of "max", or above every machine, is none. */
static void look_at(const char *root, const struct version *version, const char *path, struct seam_host_memory *memory)
{
	uint64_t limit_bytes = 0, used_bytes = 0;
	if (!read_at(root, version, path, version->limit, "", &limit_bytes) ||
		!read_at(root, version, path, version->used, "", &used_bytes) || limit_bytes >= INT64_MAX / 2)
		return;
	for (int i = 0; i < 2; i++) {
		uint64_t file_bytes = 0;
		if (read_at(root, version, path, "memory.stat", version->files[i], &file_bytes))
			used_bytes -= seam__bits_min(used_bytes, file_bytes);
	}
	memory->most_bytes = seam__bits_min(memory->most_bytes, limit_bytes);
	const uint64_t room_bytes = limit_bytes - seam__bits_min(limit_bytes, used_bytes);
	if (room_bytes < memory->room_bytes) {
		memory->room_bytes = room_bytes;
		memory->limit_bytes = limit_bytes;
	}
}

/* The group and those above it, the topmost included: in a container the path may be of the host's tree, of which only
 * the container's own part is there, at the top. */
static void climb(const char *root, const struct version *version, char *path, struct seam_host_memory *memory)
{
	path[strcspn(path, "\n")] = '\0';
	for (char *slash; (slash = strrchr(path, '/')) != NULL; *slash = '\0')
		look_at(root, version, path, memory);
	look_at(root, version, "", memory);
}

/* The path behind the second colon of "4:memory:/path"; of version 2 there is one line, "0::/path". NULL: of another
 * controller. */
static char *path_of(char *line, const struct version **ret_version)
{
	char *controllers = strchr(line, ':');
	char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
	if (path == NULL)
		return NULL;
	*path++ = '\0';
	const bool unified = controllers[1] == '\0';
	*ret_version = unified ? &version_2 : &version_1;
	return unified || strstr(controllers, "memory") != NULL ? path : NULL;
}

void seam__host_memory_get(const char *root, struct seam_host_memory *ret_memory)
{
	uint64_t kilobytes = 0;
	*ret_memory = (struct seam_host_memory){UINT64_MAX, UINT64_MAX, UINT64_MAX};
	FILE *file = open_at(root, "/proc", "/meminfo", "");
	if (file != NULL && read_number(file, "MemTotal", &kilobytes) && kilobytes < UINT64_MAX / 1024)
		ret_memory->most_bytes = kilobytes * 1024;
	file = open_at(root, "/proc", "/self/cgroup", "");
	if (file == NULL)
		return;
	char line[LINE_BYTES];
	while (fgets(line, sizeof line, file) != NULL) {
		const struct version *version = NULL;
		char *path = path_of(line, &version);
		if (path != NULL)
			climb(root, version, path, ret_memory);
	}
	(void)fclose(file);
}
