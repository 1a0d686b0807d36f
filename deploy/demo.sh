#!/bin/bash
# `make run`: the demo program and the exporter measuring it, until Ctrl-C.
#
#     deploy/demo.sh BUILD_DIR
#
# Prints the address to open. When either of the two ends, the other is ended as well.
set -u

BUILD=$(realpath "${1:?build folder}")
ROOT=$(dirname "$(dirname "$(realpath "$0")")")
PORT=10435
LOG=$BUILD/demo.log
demo='' exporter=''

say()
{
	printf '%s\n' "$*"
}

# End the two processes that we started, politely, and wait for them.
stop()
{
	local pid
	trap '' INT TERM
	for pid in $exporter $demo; do
		kill -TERM "$pid" 2>/dev/null
	done
	for pid in $exporter $demo; do
		wait "$pid" 2>/dev/null
	done
}

fail()
{
	say "demo: $*" >&2
	[ -s "$LOG" ] && tail -n 20 "$LOG" >&2
	stop
	exit 1
}

taken()
{
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# The address that the exporter says it listens on, as the last part of its log line.
port_in_log()
{
	sed -n 's/.*address="\{0,1\}[^ "]*:\([0-9]\{1,5\}\)"\{0,1\}\( .*\)\{0,1\}$/\1/p' "$LOG" | head -n 1
}

# 200 once the probes are attached.
is_ready()
{
	local status
	exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
	printf 'GET /-/ready HTTP/1.0\r\n\r\n' >&3
	IFS= read -r -t 2 status <&3
	exec 3>&-
	[[ $status == *' 200 '* ]]
} 2>/dev/null

[ "$(id -u)" -eq 0 ] || { say "demo: attaching probes needs root: sudo make run" >&2; exit 1; }

trap 'stop; say ""; say "stopped"; exit 0' INT TERM HUP
sed "s|@DEMO@|$BUILD/victims/demo|" "$ROOT/config/demo.yaml.in" >"$BUILD/demo.yaml"
listen=:$PORT
if taken $PORT; then
	say "port $PORT is taken: using another"
	listen=:0
fi

# Sessions of their own: Ctrl-C reaches this script alone, which then ends them in order. Should
# the script be killed, the kernel ends them.
alone='setsid setpriv --pdeathsig TERM'
$alone "$BUILD/victims/demo" >/dev/null &
demo=$!
$alone "$BUILD/uprobe_exporter" --config.file="$BUILD/demo.yaml" --web.listen-address="$listen" 2>"$LOG" &
exporter=$!

for ((tries = 0; ; tries++)); do
	kill -0 "$exporter" 2>/dev/null || fail "the exporter ended:"
	port=$(port_in_log)
	[ -n "$port" ] && is_ready "$port" && break
	[ $tries -lt 150 ] || fail "the exporter is not ready after 30 s:"
	sleep 0.2
done

say "The exporter measures the demo program (pid $demo). Open"
say ""
say "    http://localhost:$port/metrics"
say ""
say "or: curl -s http://localhost:$port/metrics | grep uprobe_function_duration_seconds_count"
say "Its log is $LOG. Ctrl-C ends both."

# Not `wait -n`: it misses a child that ended just before.
while kill -0 "$demo" 2>/dev/null && kill -0 "$exporter" 2>/dev/null; do
	sleep 0.5 &
	wait $!
done
fail "one of the two ended by itself:"
