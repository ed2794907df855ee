# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the end-to-end tests share: a temporary folder that goes away, fio under a watchdog, one line for
# each test and one for all. Sourced, not run. Environment:
#
#   BUILD_DIR        the build tree (default: build/release, or the script's first argument)
#   FIO              the fio binary (default: the one in PATH)
#   VSAN_SANITIZER   asan or tsan: BUILD_DIR was built with it, so fio must preload its library
#   TMPDIR           where the temporary folder is made
#   KEEP=1           leave the temporary folder there
set -u -o pipefail
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD_DIR=$(realpath -m "${1:-${BUILD_DIR:-$root/build/release}}")
FIO=${FIO:-fio}
VSAN_SANITIZER=${VSAN_SANITIZER:-}
export LD_LIBRARY_PATH=$BUILD_DIR/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
library=$BUILD_DIR/lib/libfio-vsan.so
passed=0 failed=0 skipped=0
limit=60 # seconds that a fio run may take
preload=()

die() {
	echo "$(basename "$0"): $*" >&2
	exit 2
}

[[ -e $library ]] || die "$library is not there: build first, or set BUILD_DIR"
type -P "$FIO" >/dev/null || die "there is no $FIO: scripts/setup installs it"
case $VSAN_SANITIZER in
'') ;;
asan)
	# fio itself leaks at exit.
	preload=(env "LD_PRELOAD=$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
		ASAN_OPTIONS=detect_leaks=0:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1)
	limit=$((limit * 5))
	;;
tsan)
	preload=(setarch "$(uname -m)" -R env "LD_PRELOAD=$(gcc -print-file-name=libtsan.so)"
		TSAN_OPTIONS=exitcode=99:ignore_noninstrumented_modules=1)
	limit=$((limit * 10))
	;;
*) die "VSAN_SANITIZER=$VSAN_SANITIZER: asan or tsan" ;;
esac
# scripts/test makes a fio that does all that by itself.
[[ $FIO != "$BUILD_DIR/fio/fio" ]] || preload=()

work=$(mktemp -d "${TMPDIR:-/tmp}/fio-vsan-test.XXXXXX") || exit 2
cleanups=() # commands, run last first
children=() # processes that a failed test may leave behind

clean_up() {
	local i
	trap - EXIT
	for ((i = 0; i < ${#children[@]}; i++)); do
		kill -KILL "${children[i]}" 2>/dev/null && wait "${children[i]}" 2>/dev/null
	done
	for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do
		eval "${cleanups[i]}"
	done
	if [[ ${KEEP:-} ]]; then
		echo "left in $work"
	else
		rm -rf "$work"
	fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
cd "$work" || exit 2

ok() { # NAME
	echo "ok $1"
	passed=$((passed + 1))
}

# With what fio and we said about it.
failed() { # NAME WHY
	echo "FAILED $1: $2"
	failed=$((failed + 1))
	cat err out 2>/dev/null | grep -E '^fio|verify|rror|SUMMARY|    #[0-9]|err=|[Ii]nvalid|Bad ' |
		head -n "${SHOW:-15}" | cut -c 1-300 | sed 's/^/    | /'
	return 0
}

skipped() { # NAME WHY
	echo "skipped $1: $2"
	skipped=$((skipped + 1))
}

# The closing line, and how the script ends.
finish() {
	if ((skipped)); then
		echo "$passed passed, $failed failed, $skipped skipped"
	else
		echo "$passed passed, $failed failed"
	fi
	exit $((failed > 0))
}

# fio with the arguments given, its output in out and err, its exit code in status. A run that takes longer
# than the limit is killed: status 124.
run_fio() { # ARGUMENT...
	rm -f out err
	timeout -k 5 "$limit" "${preload[@]}" "$FIO" --eta=never "$@" >out 2>err </dev/null
	status=$?
	if ((status == 137)); then
		status=124
	fi
	return $status
}

# The same in the background, its process in child. Started directly, so that signals reach fio.
start_fio() { # ARGUMENT...
	rm -f out err
	"${preload[@]}" "$FIO" --eta=never "$@" >out 2>err </dev/null &
	child=$!
	children+=("$child")
}

# Its end, or after the limit its death; exit code in status.
wait_fio() {
	local i
	exec 3>&2 2>/dev/null # bash has a word to say about each that was killed
	for ((i = 0; i < limit * 20; i++)); do
		kill -0 "$child" || break
		sleep 0.05
	done
	((i < limit * 20)) || kill -KILL "$child"
	wait "$child"
	status=$?
	exec 2>&3 3>&-
	((i < limit * 20)) || status=124
	return $status
}

# What went wrong with the last run, in a few words; "" if nothing did.
trouble() {
	if ((status == 124)); then
		echo "no end after $limit s"
	elif ((status != 0)); then
		echo "exit code $status"
	elif grep -q 'ThreadSanitizer\|AddressSanitizer\|runtime error:' err out; then
		echo "the sanitizer found something"
	fi
}

# Lines that the engine wrote, its notes and warnings left out.
our_lines() {
	cat err out 2>/dev/null | grep '^fio-vsan:' | grep -v '^fio-vsan: \(note\|warning\):'
}

# One value of a JSON file by its path: value run_vsan.1.json write_buffer.buckets_destaged
value() { # FILE PATH
	awk -f "$root/scripts/json-lines.awk" "$1" | awk -F '\t' -v path="$2" '$1 == path { print $2; exit }'
}

# Is a number from a file in bounds? at_least VALUE 1
at_least() { # VALUE LEAST
	awk -v v="$1" -v l="$2" 'BEGIN { exit !(v != "" && v + 0 >= l + 0) }'
}

# A test that succeeds if fio and then all conditions given do: check NAME [CONDITION...], after run_fio.
# A condition is a shell command, and what it is the failure's reason.
check() { # NAME CONDITION...
	local name=$1 why
	shift
	why=$(trouble)
	while [[ -z $why ]] && (($#)); do
		eval "$1" || why="not so: $1"
		shift
	done
	if [[ $why ]]; then
		failed "$name" "$why"
	else
		ok "$name"
	fi
}

is_root() {
	((EUID == 0))
}

# A loop device over a file of the given size, its path in loop. Fails where there are none.
make_loop() { # FILE SIZE
	is_root || return 1
	truncate -s "$2" "$1" || return 1
	loop=$(losetup --show --find "$1" 2>/dev/null) || return 1
	cleanups+=("free_loop $loop")
}

# Detach it, if it is still ours: its number may be another process's by now.
free_loop() { # DEVICE
	[[ $(losetup -n -O BACK-FILE "$1" 2>/dev/null) != "$work"/* ]] || losetup -d "$1"
}

# Groups for tests, all small: the arguments for fio are in the array group.
engine=(--ioengine=libfio-vsan.so)
memory_group=("${engine[@]}" --cache_device=@memory --cache_size=64m
	--capacity_devices=@memory:@memory:@memory --capacity_size=128m --write_buffer_size=16m)

# A group on files in a folder of its own: file_group FOLDER
file_group() { # FOLDER
	mkdir -p "$1"
	group=("${engine[@]}" --cache_device="$1/cache" --cache_size=64m
		--capacity_devices="$1/cap1:$1/cap2:$1/cap3" --capacity_size=128m --write_buffer_size=16m)
}
