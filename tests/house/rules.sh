#!/bin/sh
# rules.sh ROOT [NUMBER]: the rules of the house that a compiler does not hold, as TAP, one sub-test a rule:
# who may include whom, no heap but the metadata's, no printing, unique header names, no paths of somebody's machine.
# With a number only that rule is looked at.
set -u
root=$1
only=${2:-}
cd "$root" || exit 1

# folder: the folders whose headers it may include besides its own and include/. Nothing points back up.
rules='
lib/base:
lib/trace: lib/base
lib/plan/problem: lib/base
lib/plan/solve: lib/plan/problem lib/base
lib/plan/exact: lib/plan/solve lib/plan/problem lib/base
lib/plan/period: lib/plan/problem lib/trace lib/base
lib/plan/iterations: lib/plan/period lib/trace lib/base
lib/plan/graph: lib/plan/problem lib/trace lib/base
lib/plan/dynamic: lib/plan/period lib/plan/problem lib/trace lib/base
lib/plan/format: lib/trace lib/base
lib/plan/verify: lib/plan/format lib/trace lib/base
lib/plan/make: lib/plan/solve lib/plan/period lib/plan/graph lib/plan/dynamic lib/plan/format lib/plan/problem lib/trace lib/base
vmm: lib/base
pools: vmm lib/base
stitch: pools vmm lib/base
fallback: vmm lib/base
lib/runtime: stitch lib/plan/iterations lib/plan/make lib/plan/format lib/trace pools vmm lib/base
lib/learn: lib/runtime stitch lib/plan/iterations lib/plan/make lib/plan/format lib/trace pools vmm lib/base
lib/core: lib/runtime lib/learn stitch fallback lib/plan/iterations lib/plan/make lib/plan/format lib/trace pools vmm lib/base
lib/fit: lib/base
lib/swap: lib/core stitch pools vmm lib/base
lib/doors:
lib/ghost:
lib/ghost/cuda: lib/ghost vmm lib/base
lib/ghost/cudart: lib/ghost/cuda vmm lib/base
tools: *
bench: *
tests: *
'

library_folders='lib vmm pools stitch fallback'

count=0
failed=0
# rule WHAT FUNCTION: the function prints what breaks the rule.
rule() {
	count=$((count + 1))
	[ -z "$only" ] || [ "$only" = "$count" ] || return 0
	broken=$($2)
	if [ -z "$broken" ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		printf '%s\n' "$broken" | sed 's/^/# /'
		failed=1
	fi
}

# Files of the repository, not of build folders or subprojects that lie in it.
list_files() {
	for folder in "$@"; do
		[ -d "$folder" ] && find "$folder" -path lib/subprojects -prune -o -type f -print
	done | sort
}

sources() {
	list_files "$@" | grep -E '\.(c|h|cpp|def)$'
}

headers=$(sources include lib vmm pools stitch fallback tools bench tests | grep -E '\.(h|def)$')

check_includes() {
	sources include lib vmm pools stitch fallback tools bench tests | xargs grep -nE '^[[:space:]]*#[[:space:]]*include' |
		awk -v rules="$rules" -v headers="$headers" '
		BEGIN {
			n = split(rules, lines, "\n")
			for (i = 1; i <= n; i++) {
				if (split(lines[i], part, ":") < 2) continue
				may[part[1]] = part[2] " "
			}
			n = split(headers, list, "\n")
			for (i = 1; i <= n; i++) {
				name = list[i]; sub(/.*\//, "", name)
				folder = list[i]; sub(/\/[^\/]*$/, "", folder)
				where[name] = where[name] " " folder
				exists[list[i]] = 1
			}
		}
		function owner(folder) {
			while (!(folder in may) && sub(/\/[^\/]*$/, "", folder)) { }
			return folder
		}
		function allowed(from, to,    top) {
			if (from == to || to == "include/seam") return 1
			top = owner(to)
			if (owner(from) == top) return 1
			if (index(may[owner(from)], "*")) return top != "tests" || owner(from) == "tests"
			return index(" " may[owner(from)] " ", " " top " ") > 0
		}
		{
			file = $0; sub(/:.*/, "", file)
			text = $0; sub(/^[^:]*:[0-9]+:/, "", text)
			at = $0; sub(/^[^:]*:/, "", at); sub(/:.*/, "", at)
			folder = file; sub(/\/[^\/]*$/, "", folder)
			place = file ":" at ": "
			if (match(text, /<seam\/[^>]*>/)) {
				if (!(("include/" substr(text, RSTART + 1, RLENGTH - 2)) in exists)) print place "no such public header: " text
				next
			}
			if (match(text, /<[^>]*>/)) {
				name = substr(text, RSTART + 1, RLENGTH - 2)
				if (folder ~ /^include/ && name !~ /^(stdbool|stddef|stdint)\.h$/) print place "a public header needs only C: " name
				if (name ~ /^(cuda|cuda_runtime)/ && folder != "vmm" && folder != "lib/doors" && folder !~ /^(lib\/ghost|bench|tests|tools)/)
					print place "CUDA only in vmm, the doors and the ghost"
				if (name ~ /jemalloc/) print place "jemalloc only through meta.h"
				if (name ~ /^(jansson|zstd|lzma)/ && folder !~ /^(bench|tests|tools)/) print place "only tools may use " name
				next
			}
			if (!match(text, /"[^"]*"/)) { print place "neither <> nor quotes: " text; next }
			name = substr(text, RSTART + 1, RLENGTH - 2)
			if (name ~ /\.\./) { print place "reaches out of its folder: " name; next }
			if (name ~ /\//) { print place "a path in an include: " name; next }
			if (name == "seam_je.h") { if (file != "lib/base/meta.c") print place "jemalloc only in meta.c"; next }
			if (folder ~ /^include/) { print place "a public header includes public ones by <seam/...>"; next }
			if (!(name in where)) { print place "no such header: " name; next }
			m = split(where[name], places, " ")
			good = 0
			for (k = 1; k <= m; k++) good = good || allowed(folder, places[k])
			if (!good) print place folder " may not use" where[name] ": " name
		}'
}

# Names as -I sees them: two headers of one name in folders that can be seen together would hide each other. Public
# headers are seen as <seam/...>.
check_names() {
	printf '%s\n' "$headers" | grep -v -E '^(tests|include)/' | sed 's|.*/||' | sort | uniq -d | sed 's/^/twice: /'
}

# The code without comments and string literals: what is said about malloc is no call of it.
code_of() {
	awk '
	{
		line = $0
		gsub(/\\./, "", line)
		out = ""
		while (line != "") {
			if (in_comment) {
				end = index(line, "*/")
				if (end == 0) { line = ""; break }
				line = substr(line, end + 2); in_comment = 0
				continue
			}
			if (match(line, /"[^"]*"|\047[^\047]*\047|\/\*/)) {
				out = out substr(line, 1, RSTART - 1)
				if (substr(line, RSTART, 2) == "/*") in_comment = 1
				line = substr(line, RSTART + RLENGTH)
			} else { out = out line; line = "" }
		}
		print FILENAME ":" FNR ":" out
	}' "$1"
}

# grep_code PATTERN FILES_TO_SKIP: calls in the library's own code.
grep_code() {
	# shellcheck disable=SC2086 # folders are words
	sources $library_folders | grep -v -E "^($2)\$" | while IFS= read -r file; do
		code_of "$file"
	done | grep -E "$1"
}

# The ghost stands for NVIDIA's libraries, and is no part of Seam's.
check_heap() {
	grep_code '(^|[^A-Za-z0-9_>.])(malloc|calloc|realloc|free|strdup|strndup|asprintf|vasprintf|getline|posix_memalign|aligned_alloc)[[:space:]]*\(' 'lib/base/meta.c|lib/ghost/.*'
}

check_printing() {
	grep_code '(^|[^A-Za-z0-9_>.])(printf|vprintf|puts|putchar|perror|exit|_exit|quick_exit|abort|syslog)[[:space:]]*\(|(^|[^A-Za-z0-9_])(stderr|stdout)([^A-Za-z0-9_]|$)' 'lib/base/check.c'
}

check_environment() {
	grep_code '(^|[^A-Za-z0-9_])(getenv|environ)([^A-Za-z0-9_]|$)' ''
}

check_paths() {
	git ls-files 2>/dev/null | grep -v -E '^(tests/(fuzz/corpus|fixtures)/|bench/(results|traces)/.*\.(zst|json|csv)$|tests/house/rules[a-z_]*\.sh$)' |
		xargs grep -nIE '(^|[^A-Za-z0-9_.])/(work|root|home|Users)/|/tmp/(wt|build|briefs)' 2>/dev/null
}

check_comments() {
	# shellcheck disable=SC2086
	sources include $library_folders tools bench tests | grep -v '\.def$' | while IFS= read -r file; do
		code_of "$file"
	done | grep -E '//|(^|[^A-Z_])(TODO|FIXME|XXX)' | grep -v 'https\?://'
}

check_lengths() {
	# shellcheck disable=SC2086
	sources $library_folders | xargs wc -l | awk '$2 != "total" && $1 > 500 { print $2 ": " $1 " lines" }'
}

check_beginnings() {
	sources include lib vmm pools stitch fallback tools bench tests | while IFS= read -r file; do
		name=$(basename "$file")
		head -1 "$file" | grep -qE "^/\* $name( .*)?:" || echo "$file: does not begin with what it is: /* $name: ..."
	done
}

# What a search finds must not depend on who else has the machine.
check_clocks() {
	library_folders=lib/plan
	grep_code '(^|[^A-Za-z0-9_])(seam__clock_ns|seam__clock_ticks|clock_gettime|gettimeofday|time|clock)[[:space:]]*\(' '-'
}

# Where a name occurs twice a reader takes one for the other. seam__ is for functions that cross files.
check_tags() {
	# shellcheck disable=SC2086
	sources include $library_folders tests bench tools | xargs grep -nE '(struct|union|enum) seam__' | sed 's/$/: a tag begins with seam_/'
	# shellcheck disable=SC2086
	sources include $library_folders | xargs sed -nE 's/^(struct|union|enum) (seam_[a-z0-9_]+) \{.*/\1 \2/p' | sort | uniq -d |
		sed 's/^/defined twice: /'
}

# Where invariants are defined: the code that begins an item, as "*  B1  blocks are ...", "Invariants: M1 pieces are ...; M2
# ..." in comments, "- **I1** ..." or "- P1 ..." in a README. FILE CODE, a line each.
defined_invariants() {
	# shellcheck disable=SC2086
	list_files include $library_folders tools bench | grep -E '\.(c|h|cpp|md)$' | xargs awk '
		function take(code) {
			sub(/^[^A-Z]*/, "", code); sub(/[^A-Z0-9].*/, "", code)
			if (!((FILENAME, code) in seen)) print FILENAME, code
			seen[FILENAME, code] = 1
		}
		FNR == 1 { inside = 0 }
		FILENAME ~ /md$/ { if (match($0, /^- (\*\*)?[A-Z][A-Z]?[0-9]+(\*\*)? [A-Za-z]/)) take(substr($0, RSTART + 2)); next }
		/[Ii]nvariant/ { inside = 1 }
		inside && match($0, /^[ \t]*\*[ \t]+(- )?[A-Z][A-Z]?[0-9]+:?[ \t]+[A-Za-z]/) && !/^[ \t]*\*[ \t]+[A-Z0-9]+ (to|and|of|is|are|or) / { take($0) }
		inside {
			rest = $0
			while (match(rest, /(nvariants?[^:;]*:|nvariants?( \([^)]*\))?|;|\.)[ \t]+[A-Z][A-Z]?[0-9]+:?[ \t]+[A-Za-z]/)) {
				item = substr(rest, RSTART, RLENGTH)
				after = substr(rest, RSTART + RLENGTH - 1)
				match(item, /[A-Z][A-Z]?[0-9]+:?[ \t]+[A-Za-z]$/); item = substr(item, RSTART)
				if (after !~ /^(to|and|of|is|are|or) /) take(item)
				rest = after
			}
		}
		/\*\// { inside = 0 }'
}

# A letter and number is one invariant. What is cited is defined: I1 and so on, which are the whole library's, everywhere; others
# where a check names what is broken.
check_invariants() {
	defined_invariants | sort -k2,2 -k1,1 | awk '{ if ($2 == code) print $2 " is defined in " file " and in " $1; code = $2; file = $1 }'
	# shellcheck disable=SC2086
	{ list_files include $library_folders tools bench | grep -E '\.(c|h|cpp|md|py)$' | xargs grep -noE '(^|[^A-Za-z0-9_])I[0-9]+($|[^A-Za-z0-9_.])' /dev/null |
		sed -E 's/[^A-Za-z0-9_](I[0-9]+)[^0-9]?$/:\1/'
	list_files $library_folders tools bench | grep -E '\.c$' | xargs grep -noE '(return|=|:|\?) "[A-Z][A-Z]?[0-9]+:? [a-z]' /dev/null |
		sed -E 's/:[^:]*"([A-Z]+[0-9]+):? [a-z]$/:\1/'
	} | awk -F: -v defined="$(defined_invariants | awk '{ print $2 }')" '
		BEGIN { n = split(defined, list, "\n"); for (i = 1; i <= n; i++) is[list[i]] = 1 }
		!($NF in is) { print $1 ":" $2 ": cites " $NF ", which nothing defines" }'
}

check_readmes() {
	for folder in lib/base lib/trace lib/plan lib/plan/* lib/runtime lib/learn lib/core lib/swap lib/fit lib/doors lib/ghost vmm pools stitch fallback tools tests bench; do
		[ -d "$folder" ] && [ -n "$(find "$folder" -maxdepth 1 -type f 2>/dev/null)" ] && [ ! -f "$folder/README.md" ] &&
			echo "$folder has no README.md"
	done
}

rule 'includes: each folder sees only what it may use' check_includes
rule 'header names are unique' check_names
rule 'the library takes memory only through meta.h' check_heap
rule 'the library never prints or exits' check_printing
rule 'no paths of a developer machine' check_paths
rule 'comments are /* */, nothing is left to do' check_comments
rule 'no file of the library is over 500 lines' check_lengths
rule 'every file begins with what it is' check_beginnings
rule 'every folder has a README' check_readmes
rule 'the library reads its environment by secure_getenv()' check_environment
rule 'plans are made by the time that the processor gave them' check_clocks
rule 'a tag of the library means one thing' check_tags
rule 'invariants that are cited are defined, in one place' check_invariants
[ -n "$only" ] || echo "1..$count"
exit $failed
