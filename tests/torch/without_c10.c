/* without_c10.c: a program without libc10.so: what fails is answered, nothing is thrown. */
#include <stdio.h>
#include <stdlib.h>

#include <seam/torch.h>

int main(void)
{
	if (setenv("SEAM_CONF", "backend:emu_book,emu_capacity_bytes:256M", 1) != 0)
		return 1;
	void *ptr = seam_torch_alloc(1000, 0, NULL);
	void *none = seam_torch_alloc((size_t)1 << 40, 0, NULL);
	seam_torch_throw_oom("nobody can catch it");
	seam_torch_throw_error("nobody can catch it");
	if (ptr == NULL || none != NULL || seam_torch_error(NULL, 0) == 0) {
		printf("memory %p, too much memory %p\n", ptr, none);
		return 1;
	}
	seam_torch_free(ptr, 1000, 0, NULL);
	return 0;
}
