#!/bin/sh
# rules_notice.sh RULES_SH: each rule of rules.sh notices a file that breaks it. A small tree with one fault at a time.
set -u
rules=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
count=0
failed=0

make_tree() {
	rm -rf "${tree:?}"/* "$tree/.git"
	for folder in include/seam lib/base lib/trace vmm pools stitch fallback lib/plan/solve lib/plan/exact lib/plan/format lib/core tools; do
		mkdir -p "$tree/$folder"
		echo x >"$tree/$folder/README.md"
		name=$(echo "$folder" | tr / _)
		printf '/* %s.h: a header. */\n' "$name" >"$tree/$folder/$name.h"
	done
}

# notices WHAT RULE_NUMBER NAME: that rule must fail now, and must name what breaks it.
notices() {
	output=$(sh "$rules" "$tree" "$2")
	count=$((count + 1))
	if printf '%s\n' "$output" | grep -q "^not ok $2 " && printf '%s\n' "$output" | grep -qF "# $3"; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		printf '%s\n' "$output" | sed 's/^/# /'
		failed=1
	fi
}

# expect WHAT RULE_NUMBER FILE LINE: with LINE in FILE, that rule must notice.
expect() {
	make_tree
	printf '/* %s: a file. */\n%s\n' "$(basename "$3")" "$4" >"$tree/$3"
	notices "$1" "$2" "$3"
}

# accept WHAT FILE LINE: no rule may mind it.
accept() {
	make_tree
	printf '/* %s: a file. */\n%s\n' "$(basename "$2")" "$3" >"$tree/$2"
	output=$(sh "$rules" "$tree")
	count=$((count + 1))
	if printf '%s\n' "$output" | grep -q '^not ok'; then
		echo "not ok $count - $1"
		printf '%s\n' "$output" | sed 's/^/# /'
		failed=1
	else
		echo "ok $count - $1"
	fi
}

accept 'stitch may use pools' stitch/a.c '#include "pools.h"'
accept 'core may use fallback' lib/core/a.c '#include "fallback.h"'
accept 'everyone may use the public headers' vmm/a.c '#include <seam/include_seam.h>'
accept 'tools may use everything' tools/a.c '#include "stitch.h"'
accept 'a comment may speak of malloc(3), printf("x") and //' pools/a.c '/* not malloc(1), printf("x") */ /* a//b */'
accept 'a string may speak of them too' pools/a.c 'const char *t = "free(it) // exit(1)";'
accept 'names that only end so' pools/a.c 'int n = snprintf(b, 1, f) + meta_free(p) + x->free(p);'
accept 'secure_getenv in the library' vmm/a.c 'const char *t = secure_getenv("SEAM_CONF");'
accept 'exact search may use what solvers are' lib/plan/exact/a.c '#include "lib_plan_solve.h"'
accept 'core may use the format of plans' lib/core/a.c '#include "lib_plan_format.h"'
expect 'what solvers are may not use one of them' 1 lib/plan/solve/a.c '#include "lib_plan_exact.h"'
expect 'core may not use solvers' 1 lib/core/a.c '#include "lib_plan_solve.h"'
expect 'pools may not use stitch' 1 pools/a.c '#include "stitch.h"'
expect 'fallback may not use pools' 1 fallback/a.c '#include "pools.h"'
expect 'base may use nothing' 1 lib/base/a.c '#include "lib_trace.h"'
expect 'the library may not use tools' 1 lib/core/a.c '#include "tools.h"'
expect 'reaching out with ..' 1 vmm/a.c '#include "../pools/pools.h"'
expect 'a header that is not there' 1 vmm/a.c '#include "nowhere.h"'
expect 'a public header that is not there' 1 vmm/a.c '#include <seam/nowhere.h>'
expect 'a public header with CUDA' 1 include/seam/a.h '#include <cuda.h>'
expect 'jemalloc outside meta.c' 1 vmm/a.c '#include "seam_je.h"'
expect 'jansson in the library' 1 lib/trace/a.c '#include <jansson.h>'
expect 'malloc in the library' 3 stitch/a.c 'void *p = malloc(3);'
expect 'strdup behind a comment' 3 stitch/a.c '/* why */ p = strdup("x");'
expect 'printf in the library' 4 fallback/a.c 'printf("x");'
expect 'stderr in the library' 4 fallback/a.c 'fprintf(stderr, "x");'
expect 'exit in the library' 4 vmm/a.c 'if (x) exit(1);'
expect 'getenv in the library' 10 lib/core/a.c 'const char *t = getenv("SEAM_CONF");'
expect 'std::getenv in the library' 10 vmm/a.cpp 'const char *t = std::getenv("SEAM_CONF");'
expect 'the whole environment' 10 vmm/a.c 'char **e = environ;'
expect 'a // comment' 6 vmm/a.c 'int x; // why'
expect 'something left to do' 6 vmm/a.c 'int TODO;'
expect 'a planner that reads the clock on the wall' 11 lib/plan/solve/a.c 'while (seam__clock_ns() < until) go_on();'
expect 'a file that is too long' 7 vmm/a.c "$(yes 'int x;' | head -501)"

expect 'an invariant that nobody defines' 13 vmm/a.c '/* keeps I99 */'
expect 'a check of what nobody defines' 13 vmm/a.c 'const char *check(void) { return "Z9 it is broken"; }'

make_tree
printf '/* a.h: a file.\n *\n * Invariants\n *   Z1  it is so\n */\n' >"$tree/vmm/a.h"
printf '/* b.h: a file. Invariants: Y1 it was so; Z1 it is not so. */\n' >"$tree/pools/b.h"
notices 'one code of two invariants' 13 'Z1 is defined in pools/b.h and in vmm/a.h'

make_tree
printf '/* a.h: a file. */\nstruct seam_a {\n' >"$tree/vmm/a.h"
printf '/* b.c: a file. */\nstruct seam_a {\n' >"$tree/pools/b.c"
notices 'a tag of two meanings' 12 'defined twice: struct seam_a'

expect 'a tag with two lines' 12 vmm/a.c 'struct seam__a *a;'

make_tree
mv "$tree/pools/pools.h" "$tree/vmm/pools.h"
cp "$tree/vmm/pools.h" "$tree/stitch/pools.h"
notices 'two headers of one name' 2 'twice: pools.h'

make_tree
echo 'int x;' >"$tree/vmm/a.c"
notices 'a file that does not say what it is' 8 'vmm/a.c'

make_tree
rm "$tree/pools/README.md"
notices 'a folder that does not say what it is' 9 'pools'

make_tree
mkdir -p "$tree/docs"
echo 'see /home/somebody/seam' >"$tree/docs/a.md"
git -C "$tree" init -q && git -C "$tree" add -A
notices 'a path of a developer machine' 5 'docs/a.md'

echo "1..$count"
exit $failed
