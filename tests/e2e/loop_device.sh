#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A disk group on block devices: loop devices over files that the test makes. fio writes and verifies,
# another fio run finds the data; what is mounted, foreign, in use or named twice is refused in one line,
# with not a byte written. Root only; exit code 77 where loop devices cannot be had.
source "$(dirname "${BASH_SOURCE[0]}")/lib.bash"
PATH=$PATH:/sbin:/usr/sbin

if ! make_loop "$work/cache.img" 64m; then
	echo "SKIP loop devices need root and /dev/loop-control"
	exit 77
fi
cache=$loop
make_loop "$work/cap.img" 256m || die "one loop device, but not two"
capacity=$loop
group=("${engine[@]}" --cache_device="$cache" --capacity_devices="$capacity" --write_buffer_size=16m)
job=(--name=job --filename=vol1 --rw=randwrite --bs=4k --size=24m --iodepth=16 --verify=crc32c
	--verify_fatal=1)

# Refused: fio fails, we say one line with the words given, and the images are as before.
refused() { # NAME WORD... -- FIO-ARGUMENT...
	local name=$1 before words=() conditions=()
	shift
	while [[ $1 != -- ]]; do
		words+=("$1")
		shift
	done
	shift
	sync
	before=$(cat "$work"/*.img | cksum)
	run_fio "$@"
	sync
	conditions=('((our_status != 0))' '(($(our_lines | wc -l) == 1))'
		"[[ '$before' == \"\$(cat \"\$work\"/*.img | cksum)\" ]]")
	for word in "${words[@]}"; do
		conditions+=("our_lines | grep -qF -- '$word'")
	done
	# It is to fail, which check() must not take for trouble; a crash or no end still is.
	our_status=$status
	((status == 1)) && status=0
	check "$name" "${conditions[@]}"
}

run_fio "${group[@]}" "${job[@]}" --do_verify=1
check "write and verify on block devices"
run_fio "${group[@]}" "${job[@]}" --verify_only
check "another run finds the data"
run_fio "${group[@]}" "${job[@]}" --durability=fua --fsync=16 --do_verify=1
check "write and verify, forced to the medium"

refused "the same device twice" capacity_devices "$cache" -- \
	"${engine[@]}" --cache_device="$cache" --capacity_devices="$cache" "${job[@]}"
refused "the file under a loop device" capacity_devices "$work/cap.img" "$capacity" -- \
	"${engine[@]}" --cache_device=@memory --cache_size=64m --capacity_devices="$work/cap.img" "${job[@]}"

# From here on the disk is somebody else's.
if make_loop "$work/foreign.img" 64m && mkfs.ext4 -q "$loop" 2>/dev/null; then
	foreign=$loop
	mkdir "$work/mnt"
	if mount -o ro "$foreign" "$work/mnt"; then
		cleanups+=("umount '$work/mnt' 2>/dev/null")
		refused "a mounted device" cache_device "$foreign" "$work/mnt" -- \
			"${engine[@]}" --cache_device="$foreign" --capacity_devices="$capacity" \
			--format=always --allow_overwrite=1 "${job[@]}"
		umount "$work/mnt"
	else
		skipped "a mounted device" "cannot mount"
	fi
	refused "a device with a file system" cache_device "$foreign" "ext4 file system" allow_overwrite=1 -- \
		"${engine[@]}" --cache_device="$foreign" --capacity_devices="$capacity" --format=always "${job[@]}"
	run_fio "${engine[@]}" --cache_device="$foreign" --capacity_devices="$capacity" --format=always \
		--allow_overwrite=1 --write_buffer_size=16m "${job[@]}" --do_verify=1
	check "the same, when that is said to be meant"
else
	skipped "foreign devices" "no mkfs.ext4"
fi

# Blocks of 4 KiB: nothing smaller may reach the device.
truncate -s 64m "$work/cache4k.img"
if loop=$(losetup --show --find --sector-size 4096 "$work/cache4k.img" 2>/dev/null); then
	cleanups+=("free_loop $loop")
	run_fio "${engine[@]}" --cache_device="$loop" --capacity_devices="$capacity" --format=always \
		--write_buffer_size=16m "${job[@]}" --bsrange=512-64k --do_verify=1
	check "a cache device with blocks of 4096 bytes"
else
	skipped "blocks of 4096 bytes" "losetup cannot"
fi
finish
