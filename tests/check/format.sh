#!/bin/bash
# Every C file is as clang-format would write it. Other versions than the one the tree was written
# with differ in small things, so only that one judges.
set -u
cd "$(dirname "$0")/../.." || exit 1

VERSION=14

have=$(clang-format --version 2>/dev/null | grep -o 'version [0-9]*' | tr -dc 0-9)
if [ "$have" != "$VERSION" ]; then
	echo "clang-format ${have:-(none)} here; the tree is formatted by version $VERSION"
	exit 77
fi
find exporter bpf tests -name '*.[ch]' -print0 | sort -z |
	xargs -0 clang-format --dry-run -Werror --ferror-limit=3
