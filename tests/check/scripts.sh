#!/bin/bash
# Every script parses; with shellcheck and pyflakes where they are installed, more than that.
set -u
cd "$(dirname "$0")/../.." || exit 1

status=0
mapfile -t shells < <(find deploy tests .ci -name '*.sh' -o -path .ci/run | sort)
for script in "${shells[@]}"; do
	bash -n "$script" || status=1
done
for script in deploy/deb/{postinst,prerm,postrm}; do
	sh -n "$script" || status=1
done
if command -v shellcheck >/dev/null; then
	shellcheck "${shells[@]}" || status=1
fi
mapfile -t pythons < <(find tests deploy dashboards -name '*.py' | sort)
/usr/bin/python3 - "${pythons[@]}" <<'PY' || status=1
import ast, sys
for path in sys.argv[1:]:
    ast.parse(open(path, encoding="utf-8").read(), path)
PY
exit $status
