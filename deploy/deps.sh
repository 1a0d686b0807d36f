#!/bin/bash
# Install the Debian packages that building (`build`), building and testing (`test`), measuring
# against other tools (`bench`), or testing on other kernels (`kernels`) needs.
#
#     deploy/deps.sh build|test|bench|kernels [--list]
#
# Asks dpkg what is there, says what it will install, installs only that, and calls no apt at all
# when nothing is missing, so it works offline then. It needs nothing beyond a minimal Debian.
set -eu

# The names are the same in Debian 12 and 13 and Ubuntu 24.04, but for HEADERS. Second column: who
# needs it; third: a command that will do in its place, wherever that is from.
PACKAGES='
binutils             build
clang                build
gcc                  build
libbpf-dev           build
libc6-dev            build
libelf-dev           build
libiberty-dev        build
libmicrohttpd-dev    build
libseccomp-dev       build
libyaml-dev          build
libzydis-dev         build
linux-libc-dev       build
make                 build
pkg-config           build
python3              build
zlib1g-dev           build
clang-format         test
clang-tidy           test
cppcheck             test
curl                 test
debootstrap          test
default-jre-headless test
dpkg-dev             test
g++                  test
golang-go            test
libc6-dbg            test
libclang-rt-dev      test
libcmocka-dev        test
lld                  test
locales              test
llvm                 test
man-db               test
npm                  test    npm
php-cli              test
podman               test
postgresql           test
prometheus           test
python3-yaml         test
runc                 test
rustc                test
strace               test    strace
systemd-container    test
util-linux           test
valgrind             test
HEADERS              bench
bpfcc-tools          bench
bpftrace             bench
g++                  bench
golang-go            bench
libbpf-tools         bench
postgresql           bench
rustc                bench
cpio                 kernels
qemu-system-x86      kernels
'
# Packages that bring a service which nobody asked to have running.
SERVICES='postgresql prometheus'

POLICY=/usr/sbin/policy-rc.d

say()
{
	printf 'deps: %s\n' "$*"
}

# Kernel headers: BCC compiles against them.
headers()
{
	if grep -qs '^ID=ubuntu$' /etc/os-release; then
		echo linux-headers-generic
	else
		echo "linux-headers-$(dpkg --print-architecture 2>/dev/null)"
	fi
}

wanted()
{
	awk -v kind="$1" '$2 == "build" || $2 == kind { print $1 }' <<<"$PACKAGES" |
		sed "s/^HEADERS$/$(headers)/"
}

# Those in whose place a command is there.
stood_in_for()
{
	local package command
	awk 'NF == 3 { print $1, $3 }' <<<"$PACKAGES" | while read -r package command; do
		! command -v "$command" >/dev/null || echo "$package"
	done
}

# What dpkg does not know as installed, one a line. A package may be provided by another name
# (pkgconf provides pkg-config), so those are asked for as well.
missing()
{
	local installed
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' 2>/dev/null |
		sed -n 's/([^)]*)//g; s/,//g; s/^installed //p' | tr ' ' '\n')
	comm -23 <(wanted "$1" | sort -u) <({ printf '%s\n' "$installed"; stood_in_for; } | sort -u)
}

# While we install, no package may start a service. A file that is there already is left alone;
# ours allows everything again as soon as this process is gone, should it ever be left behind.
hold_services()
{
	[ ! -e "$POLICY" ] || return 0
	printf '#!/bin/sh\nkill -0 %d 2>/dev/null && exit 101\nexit 0\n' $$ >"$POLICY"
	chmod 755 "$POLICY"
	trap 'rm -f "$POLICY"' EXIT
	trap 'exit 130' INT TERM HUP
	say "services of the new packages are not started"
}

# A service that came with a package we just installed does not start at the next boot either.
disable_new_services()
{
	local service
	[ -d /run/systemd/system ] || return 0
	for service in $SERVICES; do
		[[ " $* " == *" $service "* ]] || continue
		systemctl disable --quiet "$service" || say "could not disable $service"
	done
}

install()
{
	export DEBIAN_FRONTEND=noninteractive
	hold_services
	apt-get update -q || say "apt-get update had trouble; going on with the lists there are"
	apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
	disable_new_services "$@"
}

main()
{
	local kind=${1:-} list
	[[ $kind == build || $kind == test || $kind == bench || $kind == kernels ]] ||
		{ sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
	mapfile -t list < <(wanted "$kind")
	if [ "${2:-}" = --list ]; then
		printf '%s\n' "${list[@]}"
		return
	fi
	if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
		say "no apt here: install these under the names of your system: ${list[*]}"
		return
	fi
	mapfile -t list < <(missing "$kind")
	[ ${#list[@]} -gt 0 ] || return 0
	say "will install ${list[*]}"
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || { say "run this as root: $0 $kind"; exit 1; }
		exec sudo "$0" "$kind"
	fi
	install "${list[@]}"
	mapfile -t list < <(missing "$kind")
	[ ${#list[@]} -eq 0 ] || { say "still missing: ${list[*]}"; exit 1; }
}

main "$@"
