/* secure.c: a program that makes a pool and uses it, and leaves as status how that went. Run by secure.sh, also
 * set-uid. */
#include <stddef.h>

#include <seam/seam.h>

int main(void)
{
	struct seam_config config;
	struct seam_pool *pool = NULL;
	void *ptr = NULL;
	seam_config_init(&config);
	if (seam_config_parse(&config, "backend:emu_book", NULL, 0) != SEAM_OK)
		return 99;
	enum seam_rc rc = seam_pool_create(0, &config, NULL, 0, &pool);
	if (rc == SEAM_OK)
		rc = seam_alloc(pool, 1 << 20, NULL, &ptr);
	seam_pool_destroy(pool);
	return (int)rc;
}
