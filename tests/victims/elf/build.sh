#!/bin/bash
# Build the odd ELF files that the tests of exporter/target/ look at: build.sh FOLDER.
# What needs a tool that may be missing (lld, gold, clang) is left out when it is, and the tests
# that want it say so. Does nothing when everything is newer than the sources.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
exec 9> .lock
flock 9
if [ -e .built ] && [ -z "$(find "$here" -newer .built -print -quit)" ]; then
	exit 0
fi
src=$here
cc="gcc -O2 -g0 -w -I$src"

have() {
	command -v "$1" > /dev/null
}

# ---- the same program, linked in every way
$cc "$src/plain.c" -no-pie -o plain.nopie
$cc "$src/plain.c" -pie -fPIE -o plain.pie
$cc "$src/plain.c" -static -o plain.static
$cc "$src/plain.c" -static-pie -fPIE -o plain.staticpie
$cc "$src/plain.c" -pie -fPIE -rdynamic -o plain.rdynamic
$cc "$src/plain.c" -pie -fPIE -Wl,-z,noseparate-code -o plain.onesegment
$cc "$src/plain.c" -pie -fPIE -ffunction-sections -o plain.sections
cp plain.rdynamic plain.stripped && strip plain.stripped
cp plain.static plain.static.stripped && strip plain.static.stripped
objcopy --only-keep-debug plain.pie plain.debug
chmod 644 plain.rdynamic && cp plain.rdynamic plain.noexec && chmod 755 plain.rdynamic
if have ld.gold; then
	$cc "$src/plain.c" -pie -fPIE -fuse-ld=gold -o plain.gold
fi
if have ld.lld; then
	$cc "$src/plain.c" -pie -fPIE -fuse-ld=lld -o plain.lld
	$cc "$src/plain.c" -no-pie -fuse-ld=lld -o plain.lldnopie
	$cc "$src/plain.c" -pie -fPIE -rdynamic -ffunction-sections -fuse-ld=lld -fno-ipa-icf -Wl,--icf=all -o plain.icf
fi
if have clang; then
	clang -O2 -w -I"$src" "$src/plain.c" -o plain.clang
fi

# ---- names
$cc "$src/twin_a.c" "$src/twin_b.c" -o twins
$cc "$src/labels_main.c" "$src/labels.S" -o labels
$cc "$src/ifunc.c" -o ifunc
cp ifunc ifunc.stripped && strip ifunc.stripped
$cc -rdynamic "$src/ifunc.c" -o ifunc.exported && strip ifunc.exported
$cc "$src/split.c" -o split
g++ -O1 -w "$src/throws.cc" -o throws
$cc -shared -fPIC "$src/versions.c" -Wl,--version-script="$src/versions.map" -o libversions.so
cp libversions.so libversions.stripped.so && strip libversions.stripped.so
$cc "$src/versions_main.c" -ldl -o versions_main
g++ -O1 -g0 -w "$src/overloads.cc" -o overloads

# ---- places
if [ "$(uname -m)" = x86_64 ]; then
	$cc "$src/places_main.c" "$src/places.S" -o places
	cp places places.stripped && strip places.stripped
	$cc "$src/places_main.c" "$src/places.S" -no-pie -o places.nopie
fi

# ---- imports
mkdir -p lib
$cc -shared -fPIC "$src/chain_b.c" -o lib/libchain_b.so
# shellcheck disable=SC2016
$cc -shared -fPIC "$src/chain_a.c" -Llib -Wl,--no-as-needed -lchain_b '-Wl,-rpath,$ORIGIN' -o lib/libchain_a.so
# shellcheck disable=SC2016
$cc "$src/chain_app.c" -Llib -Wl,--no-as-needed -lchain_a -Wl,--unresolved-symbols=ignore-all '-Wl,-rpath,${ORIGIN}/lib' -o chain_app

# ---- evidence
for uses in CANCEL CONTEXT ALTSTACK CO_SWITCH LONGJMP GO_SECTION GO_MAGIC NOTHING SWITCH VLA DLOPEN; do
	$cc -DUSES_$uses "$src/evidence.c" -o "evidence.$uses"
done
$cc -DUSES_THREADS "$src/evidence.c" -o evidence.THREADS
$cc -DUSES_THREADS -DUSES_PTHREAD_EXIT "$src/evidence.c" -o evidence.PTHREAD_EXIT
$cc -DUSES_THREADS -DUSES_THRD_EXIT "$src/evidence.c" -o evidence.THRD_EXIT
$cc -fexceptions -static-libgcc -DUSES_CLEANUP "$src/evidence.c" -o evidence.CLEANUP
$cc -DUSES_THREADS -static "$src/evidence.c" -o evidence.STATIC_THREADS
g++ -O1 -w "$src/throws.cc" -static -o throws.static
g++ -O1 -w "$src/throws.cc" -static-libstdc++ -static-libgcc -s -o throws.hidden
gcc -O2 -w "$src/evidence.c" -c -o evidence.o
gcc evidence.o -Wl,--no-as-needed -lstdc++ -o evidence.NEEDS_CXX
$cc -O0 -DUSES_SWITCH "$src/evidence.c" -o evidence.SWITCH_O0
$cc -DUSES_DLOPEN -DUSES_LONGJMP "$src/evidence.c" -o evidence.DLOPEN_LONGJMP
$cc -DUSES_DLOPEN -DUSES_LONGJMP -DEXPORTS -rdynamic "$src/evidence.c" -o evidence.SERVER
g++ -O1 -g0 -w -shared -fPIC "$src/catches.cc" -o lib/libcleans.so
g++ -O1 -g0 -w -shared -fPIC -DCATCHES "$src/catches.cc" -o lib/libcatches.so
g++ -O1 -g0 -w -shared -fPIC -DCATCHES -static-libstdc++ -static-libgcc "$src/catches.cc" -o lib/libalone.so
$cc -shared -fPIC "$src/takes.c" -o lib/libtakes.so
$cc -shared -fPIC -DSWAPS "$src/takes.c" -o lib/libswaps.so
for lib in cleans catches alone takes swaps; do
	# shellcheck disable=SC2016
	gcc evidence.o -Llib -Wl,--no-as-needed -l$lib '-Wl,-rpath,$ORIGIN/lib' -o evidence.needs_$lib
done

# ---- sites and exits
$cc -shared -fPIC -fcf-protection=none "$src/strategy.c" "$src/strategy.S" -o libstrategy.so
g++ -O1 -w -g0 -shared -fPIC "$src/strategy.cc" -o libstrategycxx.so
gcc -O2 -w -g0 "$src/strategy_go.S" -o strategy.go

# ---- USDT sites
if [ "$(uname -m)" = x86_64 ]; then
	$cc "$src/sdt.c" "$src/sdt_twin.c" -pie -fPIE -o sdt.pie
	$cc "$src/sdt.c" "$src/sdt_twin.c" -no-pie -o sdt.nopie
	$cc "$src/sdt.c" "$src/sdt_twin.c" -static -o sdt.static
	$cc "$src/sdt.c" "$src/sdt_twin.c" -pie -fPIE -Wl,-z,noseparate-code -o sdt.onesegment
	cp sdt.pie sdt.stripped && strip sdt.stripped
	objcopy --remove-section .note.stapsdt sdt.pie sdt.nonotes
	objcopy --remove-section .stapsdt.base sdt.pie sdt.nobase
	$cc -shared -fPIC "$src/sdt.c" -o lib/libsdt.so
	# shellcheck disable=SC2016
	$cc "$src/sdt_app.c" -Llib -lsdt '-Wl,-rpath,$ORIGIN/lib' -o sdt_app
	if have ld.lld; then
		$cc "$src/sdt.c" "$src/sdt_twin.c" -pie -fPIE -fuse-ld=lld -o sdt.lld
	fi
	if have ld.gold; then
		$cc "$src/sdt.c" "$src/sdt_twin.c" -pie -fPIE -fuse-ld=gold -o sdt.gold
	fi
fi

touch .built
