#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The bundled job files: they are what their table says, fio parses them, and each runs for a second, the
# workloads on a plain file and on a disk group in memory, those of the group with their own drives,
# shrunk. Files are made in a temporary folder only. One argument: the build folder.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(realpath -m "${1:-${BUILD_DIR:-$root/build/release}}")
export LC_ALL=C
export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0

fail() {
	echo "FAIL $*"
	failures=$((failures + 1))
}

# One second, and 8 MiB a disk, of a job file: the two lines of its head, and the size.
shrink() { # FILE
	sed -e 's/^runtime=.*/runtime=1/' -e 's/^ramp_time=.*/ramp_time=0/' -e 's/^size=.*/size=8m/' \
		-e 's/^write_buffer_size=.*/write_buffer_size=80m/' "$1"
}

# The I/Os of one direction, of all jobs of a fio result.
ios() { # JSON read|write
	awk -v want="$2" '/"(read|write|trim|sync)" : \{/ { split($0, part, "\""); side = part[2] }
		/"total_ios" :/ && side == want { gsub(/[^0-9]/, ""); n += $0 }
		END { printf "%d", n }' "$1"
}

# A result must have succeeded, moved data, and have the mix of its job file.
check_result() { # LABEL JOB-FILE JSON
	local reads writes want low high
	if grep '"error" : [^0]' "$3"; then
		fail "$1: an error in the result"
		return
	fi
	reads=$(ios "$3" read)
	writes=$(ios "$3" write)
	case $(sed -n 's/^rw=//p' "$2" | tail -n 1) in
	read | randread) want=100 ;;
	write | randwrite) want=0 ;;
	*) want=$(sed -n 's/^rwmixread=//p' "$2") ;;
	esac
	low=$((want == 100 ? 100 : want - 10))
	high=$((want == 0 ? 0 : want == 100 ? 100 : want + 10))
	if ! awk -v r="$reads" -v w="$writes" -v l="$low" -v h="$high" \
		'BEGIN { exit !(r + w > 0 && 100 * r >= l * (r + w) && 100 * r <= h * (r + w)) }'; then
		fail "$1: $reads reads and $writes writes, wanted $want% reads"
		return
	fi
	echo "ok   $1: $reads reads, $writes writes"
}

run() { # LABEL JOB-FILE FIO-ARGUMENT...
	local label=$1 file=$2 json
	json=$work/result.json
	shift 2
	rm -f "$json"
	if shrink "$file" | fio --output-format=json+ --output="$json" "$@" - 2>"$work/stderr"; then
		check_result "$label" "$file" "$json"
	else
		fail "$label: fio failed"
		cat "$work/stderr" "$json" 2>/dev/null | head -n 20
	fi
}

if "$root/scripts/gen-jobs" --check; then
	echo "ok   the files are what the table says"
else
	fail "gen-jobs --check"
fi

memory=(--ioengine=libfio-vsan.so --cache_device=@memory --cache_size=96m
	--capacity_devices=@memory:@memory --capacity_size=256m)

for file in "$root"/jobs/workloads/*.fio; do
	name=workloads/$(basename "$file")
	fio --parse-only --ioengine=io_uring --filename="$work/file" --size=8m "$file" >/dev/null ||
		fail "$name: parse"
	fio --parse-only "${memory[@]}" --filename=disk1 --size=8m "$file" >/dev/null ||
		fail "$name: parse, with the engine"
	sed 's/^direct=1/direct=0/' "$file" >"$work/buffered.fio" # the folder may be on tmpfs
	run "$name on a file" "$work/buffered.fio" --ioengine=psync --filename="$work/file" --size=8m
	run "$name on a group" "$file" "${memory[@]}" --filename=disk1 --size=8m
done

for file in "$root"/jobs/vsan/*.fio; do
	name=vsan/$(basename "$file")
	fio --parse-only "$file" >/dev/null || fail "$name: parse"
	[[ $name == vsan/real-devices.fio ]] || run "$name" "$file"
done

# As it is shipped, the file for real devices must fail, say which device, and leave nothing behind.
file=$root/jobs/vsan/real-devices.fio
if fio --output="$work/out" "$file" >"$work/stderr" 2>&1; then
	fail "vsan/real-devices.fio ran unedited"
elif compgen -G '/dev/disk/by-id/EDIT-*' >/dev/null; then
	fail "vsan/real-devices.fio, unedited, made a file in place of a device"
elif ! grep -q EDIT- "$work/stderr" "$work/out"; then
	fail "vsan/real-devices.fio, unedited, does not say which device is missing"
	cat "$work/stderr" "$work/out"
else
	echo "ok   vsan/real-devices.fio refuses to run unedited"
fi

# Edited: files stand for the devices. Both sections, in two runs as its head says.
sed -e "s,^cache_device=.*,cache_device=$work/cache\ncache_size=96m," \
	-e "s,^capacity_devices=.*,capacity_devices=$work/cap1:$work/cap2\ncapacity_size=256m," \
	"$file" >"$work/edited.fio"
sed -i 's/^rw=randrw/rw=write/' "$work/edited.fio" # what check_result expects of the first section
run "vsan/real-devices.fio, prefill" "$work/edited.fio" --section=prefill
sed -i '/^stonewall/,$s/^rw=write/rw=randrw/' "$work/edited.fio"
run "vsan/real-devices.fio, disk" "$work/edited.fio" --section=disk

if ((failures)); then
	echo "$failures failures"
	exit 1
fi
