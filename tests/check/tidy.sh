#!/bin/bash
# clang-tidy with the checks of .clang-tidy over everything that runs in user space.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1

command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed"; exit 77; }
# shellcheck disable=SC2016 # expanded by the inner shell
find exporter tests/unit tests/fuzz tests/victims tests/kernels -name '*.c' | sort |
	xargs -P "$(nproc)" -n 8 sh -c 'clang-tidy --quiet "$@" -- -std=gnu17 -D_GNU_SOURCE \
		-Iexporter -I. "-DVERSION=\"\"" "-DREVISION=\"\"" 2>&1' _ |
	grep -v ' warnings\{0,1\} \(generated\|treated as error\)'
exit "${PIPESTATUS[1]}"
