#!/bin/sh
# test_setup: how tools/setup comes by jemalloc's source, in a copy of what it needs: from the first address, the second,
# apt, and not at all; and which PyTorch it asks for. SOURCE-ROOT is its argument. Nothing is fetched from the network.
set -u
root=$1
"$root/tools/setup" --list >/dev/null 2>&1 || { echo "1..0 # SKIP requirements are missing: tools/setup"; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number=0

report() {
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

# A repository whose wrap names the two addresses given.
make_repository() {
	rm -rf "$folder/repository" "$folder/cache"
	mkdir -p "$folder/repository/tools" "$folder/repository/lib/subprojects" "$folder/cache"
	cp "$root/tools/setup" "$root/tools/common.sh" "$folder/repository/tools"
	cat >"$folder/repository/lib/subprojects/jemalloc.wrap" <<EOF
source_url = $1
source_fallback_url = $2
source_filename = source.tar.bz2
source_hash = $hash
EOF
}

run_setup() {
	SEAM_CACHE=$folder/cache PATH=$folder/bin:$PATH "$folder/repository/tools/setup" >"$folder/out" 2>"$folder/errors"
}

has_source() {
	cmp -s "$folder/source" "$folder/repository/lib/subprojects/packagecache/source.tar.bz2" &&
		cmp -s "$folder/source" "$folder/cache/source.tar.bz2"
}

echo 'the source' >"$folder/source"
echo 'something else' >"$folder/other"
hash=$(sha256sum <"$folder/source" | cut -d' ' -f1)
mkdir "$folder/bin"
printf '#!/bin/sh\nexit 1\n' >"$folder/bin/apt-get"
chmod +x "$folder/bin/apt-get"

echo 1..10
make_repository "file://$folder/source" "file://$folder/none"
run_setup && has_source
report $? "the first address"
: >"$folder/repository/lib/subprojects/packagecache/source.tar.bz2"
run_setup && has_source && ! grep -q fetching "$folder/out"
report $? "a damaged file is replaced by the kept one, without fetching"
make_repository "file://$folder/other" "file://$folder/source"
run_setup && has_source
report $? "the second address, when the first has other bytes"
make_repository "file://$folder/other" "file://$folder/none"
run_setup && [ "$(wc -l <"$folder/errors")" -eq 1 ] && grep -q 'not reachable' "$folder/errors"
report $? "nowhere: one line, and the set-up goes on"
[ ! -e "$folder/repository/lib/subprojects/packagecache/source.tar.bz2" ]
report $? "nowhere: other bytes are not left behind"
cat >"$folder/bin/apt-get" <<EOF
#!/bin/sh
case "\$*" in
*source*jemalloc*) cp "$folder/source" jemalloc_5.3.0.orig.tar.bz2 ;;
esac
EOF
make_repository "file://$folder/none" "file://$folder/none"
run_setup && has_source
report $? "apt's source package"

# PyTorch: a Python that makes environments of one script, which writes down what it is asked.
cat >"$folder/bin/python3" <<EOF
#!/bin/sh
[ "\$1 \$2" = "-m venv" ] || exit 0
mkdir -p "\$3/bin"
printf '#!/bin/sh\necho "\$@" >>"%s/asked"\n' "$folder" | tee "\$3/bin/python" >"\$3/bin/pip"
chmod +x "\$3/bin/python" "\$3/bin/pip"
EOF
chmod +x "$folder/bin/python3"
cp "$root/tools/setup-torch" "$folder/repository/tools"

# asks_for WHAT ENVIRONMENT [VERSION]
asks_for() {
	rm -f "$folder/asked"
	SEAM_VENV='' SEAM_CACHE=$folder/cache HOME=$folder PATH=$folder/bin:$PATH "$folder/repository/tools/setup" --torch ${3:+"$3"} >"$folder/out" 2>"$folder/errors"
	[ -x "$folder/.cache/seam/$2/bin/pip" ] && grep -q "^install .* $1\$" "$folder/asked"
}
asks_for torch venv && asks_for 'torch==2\.11\.\*' venv-2.11 2.11 && asks_for torch==2.9.1 venv-2.9.1 2.9.1
report $? "each version of PyTorch goes to an environment of its own"
asks_for torch venv 2.11
[ $? -eq 1 ] && ! grep -q install "$folder/asked" && grep -q 'is in .*venv-2.11' "$folder/out"
report $? "where it is already nothing is asked for"
for version in 3.1 2 2.x 2.11. foo; do
	HOME=$folder PATH=$folder/bin:$PATH "$folder/repository/tools/setup-torch" $version 2>"$folder/errors" && break
	grep -q "what is '$version'" "$folder/errors" || break
done
[ "$version" = foo ] && grep -q "what is 'foo'" "$folder/errors"
report $? "what is no version of PyTorch 2 is refused"
"$folder/repository/tools/setup" --torch foo 2>"$folder/errors"
[ $? -eq 1 ] && grep -q "unknown option 'foo'" "$folder/errors"
report $? "by both scripts"
