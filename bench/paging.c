/* paging.c: the cost of views of whole chunks, instead of the arenas of some plans, as rows of a Markdown table.
 *
 * Not here: the figures (paged.h).
 */
#include <stdio.h>
#include <string.h>

#include "paged.h"

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static int print_row(const char *path)
{
	struct seam_trace_error error = {0};
	struct seam_paged paged;
	struct seam_plan *plan;
	enum seam_rc rc = seam_plan_read_file(path, &error, &plan);

	if (rc != SEAM_OK) {
		fprintf(stderr, "paging: %s: %s\n", path, error.text);
		return 1;
	}
	rc = seam__paged_init(plan, &paged);
	if (rc == SEAM_OK)
		printf("| %s | %u | %llu | %llu | %llu | %llu |\n", name_of(path), plan->header.lower_bound_chunks,
			(unsigned long long)paged.chunks, (unsigned long long)paged.private_chunks,
			(unsigned long long)paged.size_chunks, (unsigned long long)paged.remapped_chunks);
	else
		fprintf(stderr, "paging: %s: %s\n", path, seam_rc_text(rc));
	seam_plan_free(plan);
	return rc == SEAM_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: paging PLAN...\n");
		return 2;
	}
	printf("| plan | needed | live at once in whole chunks | a view for every request | views by size | remapped in a period at least |\n");
	printf("| --- | ---: | ---: | ---: | ---: | ---: |\n");
	for (int i = 1; i < argc; i++) {
		if (print_row(argv[i]) != 0)
			return 1;
	}
	return 0;
}
