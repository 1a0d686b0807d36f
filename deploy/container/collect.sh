#!/bin/bash
# Lay out what the image holds: the program, the libraries it is linked to, and what libc looks for.
#
#     deploy/container/collect.sh PROGRAM TREE
set -eu

PROGRAM=$1 TREE=$2

# "NAME => PATH (ADDRESS)", and the loader, which stands by itself
libraries()
{
	ldd "$PROGRAM" | sed -n 's/^.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p'
}

install -D -m 755 "$PROGRAM" "$TREE/usr/bin/uprobe_exporter"
strip --strip-debug "$TREE/usr/bin/uprobe_exporter"
for library in $(libraries); do
	install -D -m 755 "$library" "$TREE$library"
done
mkdir -p "$TREE/etc/uprobe_exporter" "$TREE/tmp"
printf 'root:x:0:0:root:/:/nonexistent\nnobody:x:65534:65534:nobody:/:/nonexistent\n' >"$TREE/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$TREE/etc/group"
printf 'hosts: files dns\n' >"$TREE/etc/nsswitch.conf"
cp -L /etc/os-release "$TREE/etc/os-release" # whose libraries these are, for scanners
sed 's|@BINDIR@|/usr/bin|' deploy/uprobe_exporter.yaml.in >"$TREE/etc/uprobe_exporter/uprobe_exporter.yaml"
