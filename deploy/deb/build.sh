#!/bin/bash
# `make deb`: pack what `make install PREFIX=/usr DESTDIR=TREE` made into a Debian package.
#
#     deploy/deb/build.sh TREE VERSION OUT_DIR
#
# By hand, not by debhelper: the tree is complete already, and what remains is control data. Prints
# the package's path.
set -eu

TREE=$(realpath "$1") VERSION=$2 OUT=$3
HERE=$(dirname "$(realpath "$0")")
ARCH=$(dpkg --print-architecture)
PACKAGE=$OUT/uprobe-exporter_${VERSION}_$ARCH.deb

# The packages of the libraries, with the versions whose symbols the program uses.
library_depends()
{
	local work
	work=$(mktemp -d)
	mkdir "$work/debian"
	printf 'Source: uprobe-exporter\n\nPackage: uprobe-exporter\nArchitecture: any\n' >"$work/debian/control"
	(cd "$work" && dpkg-shlibdeps -O "$TREE/usr/bin/uprobe_exporter" 2>/dev/null) |
		sed 's/^shlibs:Depends=//'
	rm -rf "$work"
}

write_control()
{
	local depends
	depends=$(library_depends)
	[ -n "$depends" ] || { echo "deb: dpkg-shlibdeps found no library" >&2; exit 1; }
	cat >"$TREE/DEBIAN/control" <<-END
		Package: uprobe-exporter
		Version: $VERSION
		Architecture: $ARCH
		Maintainer: uprobe_exporter developers <root@localhost>
		Section: net
		Priority: optional
		Installed-Size: $(du -sk --exclude=DEBIAN "$TREE" | cut -f1)
		Depends: $depends, init-system-helpers (>= 1.54), systemd
		Description: latency histograms of functions in running programs, for Prometheus
		 Keeps eBPF probes on the entries and exits of functions that a YAML file names,
		 and on USDT probes, counts every call into histograms inside the kernel, and
		 serves them over HTTP. The programs are not recompiled, restarted or edited.
	END
	(cd "$TREE" && find etc -type f -printf '/%p\n' | sort) >"$TREE/DEBIAN/conffiles"
	(cd "$TREE" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$TREE/DEBIAN/md5sums"
}

mkdir -p "$OUT" "$TREE/DEBIAN"
strip --strip-debug "$TREE/usr/bin/uprobe_exporter" # functions keep their names
write_control
install -m 755 "$HERE"/{postinst,prerm,postrm} "$TREE/DEBIAN/"
find "$TREE" -type d -exec chmod 755 {} +
dpkg-deb --root-owner-group -Zxz --build "$TREE" "$PACKAGE" >/dev/null
echo "$PACKAGE"
