#!/bin/bash
# cppcheck over everything that runs in user space. It does not know __VA_OPT__, nor the macros of
# libbpf's headers: the two macros that matter are told to it.
set -u
cd "$(dirname "$0")/../.." || exit 1

command -v cppcheck >/dev/null || { echo "cppcheck is not installed"; exit 77; }
exec cppcheck -q -j "$(nproc)" --enable=warning,portability --inline-suppr --std=c11 \
	-D"__$(uname -m)__" -Iexporter -I. \
	-Ulog_at '-Dlog_at(level, msg, ...)=log_emit(level, msg, 0)' \
	'-DLIBBPF_OPTS(type, name, ...)=struct type name = {__VA_ARGS__}' \
	--suppress=shiftNegativeLHS --error-exitcode=1 exporter tests/victims tests/kernels
