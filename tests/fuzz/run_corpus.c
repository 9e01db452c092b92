/* run_corpus.c: stands in for libFuzzer: runs a fuzz target over every file of a folder, and over every prefix of the
 * short ones.
 *
 * Fails when the folder is missing or empty: a corpus that is not there tests nothing.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIXES_UP_TO_BYTES 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of exactly `size` bytes, so that a sanitizer sees the first byte read beyond. */
static void run_one(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size > 0 ? size : 1);
	if (copy == NULL)
		abort();
	memcpy(copy, data, size);
	(void)LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
		perror(path);
		return 1;
	}
	size_t size = (size_t)ftell(file);
	rewind(file);
	uint8_t *data = malloc(size + 1);
	if (data == NULL || fread(data, 1, size, file) != size) {
		perror(path);
		return 1;
	}
	(void)fclose(file);
	run_one(data, size);
	for (size_t prefix = 0; size <= PREFIXES_UP_TO_BYTES && prefix < size; prefix++)
		run_one(data, prefix);
	free(data);
	return 0;
}

int main(int count, char **arguments)
{
	if (count != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
		return 2;
	}
	DIR *folder = opendir(arguments[1]);
	if (folder == NULL) {
		perror(arguments[1]);
		return 1;
	}
	int files = 0;
	int failures = 0;
	struct dirent *entry;
	while ((entry = readdir(folder)) != NULL) {
		char path[4096];
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", arguments[1], entry->d_name);
		failures += run_file(path);
		files++;
	}
	(void)closedir(folder);
	printf("%d seeds\n", files);
	return files > 0 && failures == 0 ? 0 : 1;
}
