/* tree.h: ordered intrusive trees (red-black), from libbsd.
 *
 * An entry is a field of the user's structure; a tree allocates nothing. RB_NFIND finds the least element that is not
 * less: best fit in an order by (size, address). RB_GENERATE_STATIC of libbsd does not compile here, hence this form.
 *
 *   SEAM_TREE_HEAD(by_size, struct block);                  declares struct by_size
 *   SEAM_TREE_GENERATE(by_size, block, size_link, compare)  its functions, static inline
 *   RB_INIT RB_INSERT RB_REMOVE RB_FIND RB_NFIND RB_MIN RB_MAX RB_NEXT RB_PREV RB_FOREACH: as in tree(3bsd)
 */
#ifndef SEAM_BASE_TREE_H
#define SEAM_BASE_TREE_H

#include <bsd/sys/tree.h>

#define SEAM_TREE_HEAD(tree, type) \
	struct tree {              \
		type *rbh_root;    \
	}

#define SEAM_TREE_GENERATE(tree, tag, link, compare)                                           \
	RB_PROTOTYPE_INTERNAL(tree, tag, link, compare, __attribute__((unused)) static inline) \
	RB_GENERATE_INTERNAL(tree, tag, link, compare, __attribute__((unused)) static inline)

#endif
