#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What cannot be done is refused: fio ends with exit code 1 (the number of jobs that failed), exactly one line from the engine names the
# option or the device and says what to do, and no file was changed or made.
#
#	bad_input.sh [BUILD_DIR]
#
# Some refusals need what only root can make (loop devices, mounts): skipped for others.
# shellcheck source=tests/e2e/lib.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

job=(--name=job --filename=vol --rw=write --bs=4k --size=4m --io_size=64k)
mkdir disks # what must stay as it is

# Everything below disks, and when each was last written to: it shows any write, and takes no time.
fingerprint() {
	find disks -printf '%p %y size %s written %T@ changed %C@\n' | sort
}

# That, in the end, from the contents.
contents() {
	find disks/a disks/b -type f -exec cksum {} + | sort
}

jobs=1 # of the next run

# A refusal after run_fio: exit code, one line, what it says, nothing changed.
check_refusal() { # NAME PATTERN BEFORE
	local lines
	lines=$(our_lines)
	if ((status == 124)); then
		failed "$1" "no end after $limit s"
	elif ((status != jobs)); then
		failed "$1" "exit code $status, not $jobs"
	elif [[ $(grep -c . <<<"$lines") != 1 ]]; then
		failed "$1" "$(grep -c . <<<"$lines") lines from us, not 1"
	elif ! grep -q -E -e "$2" <<<"$lines"; then
		failed "$1" "the line does not match '$2'"
	elif [[ $(fingerprint) != "$3" ]]; then
		failed "$1" "files were changed: $(diff <(fingerprint) <(echo "$3") | head -n 4 | tr '\n' ' ')"
	else
		ok "$1"
	fi
}

refuse() { # NAME PATTERN FIO-ARGUMENT...
	local name=$1 pattern=$2 before
	shift 2
	before=$(fingerprint)
	run_fio "$@"
	check_refusal "$name" "$pattern" "$before"
}

# ---- groups on files -------------------------------------------------------------------------------------

# Two groups that are there, to be named wrongly.
make_group() { # NAME
	file_group "disks/$1"
	run_fio "${group[@]}" "${job[@]}" || die "cannot make a disk group: $(cat err out)"
}
make_group a
make_group b
contents_before=$(contents)
file() { # GROUP CACHE CAPACITY...: arguments for members of disks/GROUP
	local list
	list=$(printf ':disks/%s' "${@:2}")
	args=("${engine[@]}" --cache_device="disks/$1" --capacity_devices="${list:1}")
}

file a/cache a/cap2 a/cap1 a/cap3
refuse "members in another order" 'capacity_devices: disks/a/cap2 is member 2.*order' "${args[@]}" "${job[@]}"
file a/cache a/cap1 a/cap2
refuse "a member left out" 'capacity_devices: .*has 3 capacity devices, 2 are given' "${args[@]}" "${job[@]}"
file a/cache a/cap1 a/cap2 a/cap3 b/cap1
refuse "a member too many" 'capacity_devices: .*has 3 capacity devices, 4 are given' "${args[@]}" "${job[@]}"
file a/cache a/cap1 b/cap2 a/cap3
refuse "a member of another group" 'capacity_devices: disks/b/cap2 belongs to another disk group' \
	"${args[@]}" "${job[@]}"
file a/cache a/cap1 a/new a/cap3
refuse "a new file among the members" 'capacity_devices: disks/a/new is not a member.*format=always' \
	"${args[@]}" --capacity_size=128m "${job[@]}"
file a/cap1 a/cap2 a/cap3
refuse "a capacity device as cache" 'cache_device: disks/a/cap1 is a capacity device' "${args[@]}" "${job[@]}"
file new-cache a/cap1 a/cap2 a/cap3
refuse "another group's capacity devices" 'disks/a/cap1 belongs to a disk group.*format=always' \
	"${args[@]}" --cache_size=64m "${job[@]}"
file b/cache b/cap1 b/cap2 b/cap3
refuse "another number of buckets" 'buckets=4, .*disks/b/cache has 8' "${args[@]}" --buckets=4 "${job[@]}"

file a/cache a/cap1 a/cap1 a/cap3
refuse "a device twice" 'capacity_devices: disks/a/cap1 .*twice' "${args[@]}" "${job[@]}"
ln disks/a/cap1 disks/link
ln -s a/cap1 disks/symlink
file a/cache a/cap1 link a/cap3
refuse "a device twice, by a hard link" 'capacity_devices: disks/link .*twice' "${args[@]}" "${job[@]}"
file a/cache a/cap1 symlink a/cap3
refuse "a device twice, by a symbolic link" 'capacity_devices: disks/symlink .*twice' "${args[@]}" "${job[@]}"
rm disks/link disks/symlink
file a/cache a/cache
refuse "the cache as capacity" 'capacity_devices: disks/a/cache .*twice' "${args[@]}" "${job[@]}"
file new new
refuse "a new file twice" 'capacity_devices: disks/new .*twice' "${args[@]}" --cache_size=64m \
	--capacity_size=64m "${job[@]}"

# ---- what is on a device, and who uses it ------------------------------------------------------------------

yes "somebody's notes" | head -c 64m >disks/notes
truncate -s 64m disks/empty
file notes new
refuse "foreign data as cache" 'cache_device: disks/notes holds something else.*allow_overwrite=1' "${args[@]}" \
	--capacity_size=128m "${job[@]}"
file new notes
refuse "foreign data as capacity" 'capacity_devices: disks/notes holds something else.*allow_overwrite=1' \
	"${args[@]}" --cache_size=64m "${job[@]}"
if type -P mkfs.ext4 >/dev/null; then
	truncate -s 64m disks/ext4
	mkfs.ext4 -q disks/ext4
	file ext4 new
	refuse "a file system" 'cache_device: disks/ext4 holds something else \(.*ext4' "${args[@]}" \
		--capacity_size=128m "${job[@]}"
	rm disks/ext4
else
	skipped "a file system" "mkfs.ext4 is not installed"
fi
rm disks/notes

# Another fio has the group: the second must not come in, and the first not notice.
file a/cache a/cap1 a/cap2 a/cap3
(
	mkdir other && cd other || exit
	timeout 30 "$FIO" --eta=never "${args[@]//disks/..\/disks}" --write_vsan_log=run --name=job --filename=vol \
		--rw=read --bs=4k --size=4m --time_based --runtime=20 --thinktime=10ms >out 2>&1
) &
other=$!
children+=("$other")
for ((i = 0; i < 100; i++)); do
	[[ -e other/run_vsan.1.log ]] && break
	sleep 0.1
done
refuse "a file that another process uses" 'cache_device: disks/a/cache is in use' "${args[@]}" "${job[@]}"
pkill -INT -P "$other" 2>/dev/null
wait "$other" 2>/dev/null

# ---- devices that cannot be -------------------------------------------------------------------------------

file missing/cache new
refuse "no such folder" 'cache_device: .*missing/cache.*No such file' "${args[@]}" --cache_size=64m \
	--capacity_size=64m "${job[@]}"
file new a/cap1
refuse "no such file and no size" 'cache_device: disks/new does not exist.*cache_size' "${args[@]}" "${job[@]}"
refuse "no such device" 'cache_device: there is no device /dev/no-such-disk' "${engine[@]}" \
	--cache_device=/dev/no-such-disk --cache_size=64m --capacity_devices=@memory --capacity_size=64m "${job[@]}"
refuse "a folder" 'cache_device: disks is a folder.*name a block device or a file' "${engine[@]}" \
	--cache_device=disks --capacity_devices=@memory --capacity_size=64m "${job[@]}"
refuse "a character device" 'capacity_devices: /dev/null is a character device' "${engine[@]}" \
	--cache_device=@memory --cache_size=64m --capacity_devices=/dev/null "${job[@]}"
file a/cache a/cap1 a/cap2 a/cap3
refuse "a file would have to shrink" 'cache_device: disks/a/cache exists with .*cache_size' "${args[@]}" \
	--cache_size=32m "${job[@]}"
file new new2
refuse "cache too small" 'cache_device disks/new: .*too small for 8 buckets.*cache_size' "${args[@]}" \
	--cache_size=4m --capacity_size=64m "${job[@]}"
refuse "capacity too small" 'capacity_devices: disks/new2.*too small.*capacity_size' "${args[@]}" \
	--cache_size=64m --capacity_size=64k "${job[@]}"
refuse "more than the file system has" 'cache_device: disks/new needs .*free: make room' "${args[@]}" \
	--cache_size=1000000g --capacity_size=64m "${job[@]}"
refuse "@memory without a size" 'cache_device: @memory has no size.*cache_size' "${engine[@]}" \
	--cache_device=@memory --capacity_devices=@memory --capacity_size=64m "${job[@]}"
refuse "no cache device" 'cache_device is missing' "${engine[@]}" --capacity_devices=@memory \
	--capacity_size=64m "${job[@]}"
refuse "no capacity devices" 'capacity_devices is missing' "${engine[@]}" --cache_device=@memory \
	--cache_size=64m "${job[@]}"
refuse "an empty name in the list" 'capacity_devices: device 2 of the list is empty' "${engine[@]}" \
	--cache_device=@memory --cache_size=64m --capacity_devices=@memory::@memory --capacity_size=64m "${job[@]}"
eight=$(printf ':@memory%.0s' 1 2 3 4 5 6 7 8)
refuse "8 capacity devices" 'capacity_devices: 8 devices are given.*at most 7' "${engine[@]}" \
	--cache_device=@memory --cache_size=64m --capacity_devices="${eight:1}" --capacity_size=64m "${job[@]}"

# In a mount namespace of its own: read-only, and full after the engine looked.
if is_root && unshare -m true 2>/dev/null; then
	mkdir disks/mount
	before=$(fingerprint)
	# shellcheck disable=SC2016 # expanded by the inner shell
	script='mount -t tmpfs -o size=24m none disks/mount && eval "$1" && shift && exec "$@"'
	inside() { # COMMAND-FIRST FIO-ARGUMENT...
		rm -f out err
		unshare -m bash -c "$script" inside "$1" timeout -k 5 "$limit" "${preload[@]}" "$FIO" --eta=never \
			"${@:2}" >out 2>err
		status=$?
	}
	file mount/cache mount/cap
	inside 'mount -o remount,ro disks/mount' "${args[@]}" --cache_size=64m --capacity_size=64m "${job[@]}"
	check_refusal "a read-only file system" 'cache_device: disks/mount/cache is on a read-only file system' \
		"$before"
	inside true "${args[@]}" --cache_size=64m --capacity_size=64m "${job[@]}"
	check_refusal "a full file system" 'cache_device: disks/mount/cache needs .*free: make room' "$before"
	# Each would fit; together they do not: seen while the files are made, which are removed again.
	jobs=4
	inside true "${args[@]}" --cache_size=16m --capacity_size=16m --numjobs=4 "${job[@]}"
	check_refusal "a file system that is full with the second file" \
		'capacity_devices: disks/mount/cap needs .*make room' "$before"
	jobs=1
else
	skipped "a read-only file system" "needs root"
	skipped "a full file system" "needs root"
	skipped "a file system that is full with the second file" "needs root"
fi

# ---- block devices ------------------------------------------------------------------------------------------

if make_loop disks/loop 64m && mkfs.ext4 -q "$loop" 2>/dev/null; then
	refuse "a block device with a file system" "cache_device: $loop holds something else .*ext4" "${engine[@]}" \
		--cache_device="$loop" --capacity_devices=@memory --capacity_size=64m "${job[@]}"
	mkdir mounted
	if mount -o ro "$loop" mounted 2>/dev/null; then # else the file system itself would write
		cleanups+=("umount '$work/mounted' 2>/dev/null")
		refuse "a mounted block device" "cache_device: $loop is mounted on .*mounted: unmount it" \
			"${engine[@]}" --cache_device="$loop" --capacity_devices=@memory --capacity_size=64m \
			--allow_overwrite=1 --format=always "${job[@]}"
		umount mounted
	else
		skipped "a mounted block device" "cannot mount"
	fi
	refuse "a file that is a loop device" "cache_device: disks/loop is in use by $loop" "${engine[@]}" \
		--cache_device=disks/loop --capacity_devices=@memory --capacity_size=64m --allow_overwrite=1 "${job[@]}"
	refuse "more than a block device has" "cache_device: $loop has 67108864 bytes, cache_size asks for" \
		"${engine[@]}" --cache_device="$loop" --cache_size=1g --capacity_devices=@memory --capacity_size=64m \
		--allow_overwrite=1 "${job[@]}"
	# Held as another program would hold it: by an exclusive open.
	if type -P python3 >/dev/null; then
		python3 -c 'import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
open("held", "w").close()
time.sleep(30)' "$loop" &
		holder=$!
		children+=("$holder")
		for ((i = 0; i < 100; i++)); do
			[[ -e held ]] && break
			sleep 0.1
		done
		refuse "a block device that another process uses" "cache_device: $loop is in use" "${engine[@]}" \
			--cache_device="$loop" --capacity_devices=@memory --capacity_size=64m --allow_overwrite=1 \
			"${job[@]}"
		kill "$holder"
		wait "$holder" 2>/dev/null
	else
		skipped "a block device that another process uses" "needs python3"
	fi
	free_loop "$loop"
	rm disks/loop
else
	for name in "a block device with a file system" "a mounted block device" "a file that is a loop device" \
		"more than a block device has" "a block device that another process uses"; do
		skipped "$name" "no loop devices here (they need root)"
	done
fi

# ---- drive profiles -------------------------------------------------------------------------------------------

profile=$root/engine/profiles/intel-p4600-1.6tb.ini
modelled=("${engine[@]}" --capacity_devices=@memory --capacity_size=64m --cache_size=64m)
refuse "no such profile" "no drive profile is called 'intel-p4601-1.6tb'; did you mean intel-p4600" \
	"${modelled[@]}" --cache_device=@intel-p4601-1.6tb "${job[@]}"
refuse "no such profile file" "nowhere.ini.*No such file" "${modelled[@]}" --cache_device=@disks/nowhere.ini \
	"${job[@]}"
refuse "larger than the drive" '@intel-p4600-1.6tb is a drive of .* does not fit' "${engine[@]}" \
	--cache_device=@intel-p4600-1.6tb --cache_size=1700g --capacity_devices=@memory --capacity_size=64m \
	"${job[@]}"
figure=$(grep -n -m 1 '^read_latency\|^[a-z_]* *= *[0-9]' "$profile")
line=${figure%%:*}
key=$(sed 's/^[0-9]*://; s/ *=.*//' <<<"$figure")
sed "${line}d" "$profile" >disks/missing.ini
refuse "a profile without a value" "^fio-vsan: job: .*disks/missing.ini.*$key" "${modelled[@]}" \
	--cache_device=@disks/missing.ini "${job[@]}"
sed "${line}s/^$key/colour/" "$profile" >disks/unknown.ini
refuse "a profile with an unknown value" "disks/unknown.ini:$line: .*colour" "${modelled[@]}" \
	--cache_device=@disks/unknown.ini "${job[@]}"
sed "${line}s/= *[0-9.]*/= -7/" "$profile" >disks/impossible.ini
refuse "a profile with an impossible value" "disks/impossible.ini:$line: " "${modelled[@]}" \
	--cache_device=@disks/impossible.ini "${job[@]}"

# ---- data and volumes -------------------------------------------------------------------------------------------

p4600=(--cache_device=@intel-p4600-1.6tb --cache_size=64m --capacity_devices=@samsung-870-qvo-1tb)
refuse "verify without data" 'drive_data=none: .*verif.*drive_data=memory' "${engine[@]}" "${p4600[@]}" \
	--capacity_size=64m --drive_data=none "${job[@]}" --verify=crc32c
refuse "verify of what is prefilled" 'prefilled: .*verify' "${engine[@]}" "${p4600[@]}" \
	--capacity_size=64m --prefilled=capacity "${job[@]}" --verify=crc32c
refuse "prefilled files" 'prefilled: only for modelled and memory devices, not disks/a/cache' "${engine[@]}" \
	--cache_device=disks/a/cache --capacity_devices=disks/a/cap1:disks/a/cap2:disks/a/cap3 \
	--prefilled=capacity "${job[@]}"
refuse "more data than memory" 'data would take up to [0-9]+ MiB.*half of the [0-9]+ MiB available' \
	"${engine[@]}" --cache_device=@intel-p4600-1.6tb --capacity_devices=@samsung-870-qvo-1tb \
	--drive_data=memory --name=job --filename=vol --rw=write --bs=1m --size=900g --io_size=1m
refuse "a volume that cannot fit" 'volume vol of 1000 MiB cannot fit.*size smaller' "${memory_group[@]}" \
	--name=job --filename=vol --rw=write --bs=1m --size=1000m
jobs=2
file new new2
refuse "volumes that cannot fit together" 'job2: volume b of 100 MiB cannot fit' "${args[@]}" --cache_size=64m \
	--capacity_size=128m --name=job --rw=write --bs=1m --size=100m --filename=a --name=job2 "${args[@]}" \
	--cache_size=64m --capacity_size=128m --rw=write --bs=1m --size=100m --filename=b
jobs=1
refuse "a volume that cannot fit a tier" 'volume vol .*cannot fit: target=cache' "${memory_group[@]}" \
	--target=cache --name=job --filename=vol --rw=write --bs=1m --size=100m
file a/cache a/cap1 a/cap2 a/cap3
refuse "a volume without a size" 'volume nowhere .*size=' "${args[@]}" --name=job --filename=nowhere --rw=read \
	--bs=4k
file new new2
refuse "no group to keep" 'cache_device: there is no disk group on disks/new and format=never' "${args[@]}" \
	--cache_size=64m --capacity_size=64m --format=never "${job[@]}"

# ---- values ---------------------------------------------------------------------------------------------------

bad_value() { # PATTERN OPTION...
	local pattern=$1
	shift
	refuse "$*" "$pattern" "${memory_group[@]}" "$@" "${job[@]}"
}
bad_value 'buckets=1: must be 2 to 64' --buckets=1
bad_value 'buckets=65: must be 2 to 64' --buckets=65
bad_value 'stripe_width=4: .*number of capacity devices \(3\)' --stripe_width=4
bad_value 'stripe_width=0: must be 1 to 12' --stripe_width=0
bad_value 'destage_start=80%.*destage_unthrottle=70%' --destage_start=80
bad_value 'destage_unthrottle=101%' --destage_unthrottle=101
bad_value 'destage_batch=1000: must be a multiple of 4k' --destage_batch=1000
bad_value 'destage_depth=0: must be 1 to 1024' --destage_depth=0
bad_value 'ssd_low=99%.*ssd_high=98%' --congestion_ssd_low=99
bad_value 'write_buffer_size: .*too small.*at least [0-9]+ MiB' --write_buffer_size=1m
bad_value 'write_buffer_size=0%' --write_buffer_size=0%
bad_value 'cache_size: must be a size in bytes, not a percentage' --cache_size=50%
refuse "--bs=1000" '^fio-vsan: job: .*(bs|block size).*512' "${memory_group[@]}" --name=job --filename=vol \
	--rw=write --bs=1000 --size=1000000
refuse "--bs=8m" '^fio-vsan: job: .*(bs|block size).*4 MiB' "${memory_group[@]}" --name=job --filename=vol \
	--rw=write --bs=8m --size=16m
refuse "--offset=100" '^fio-vsan: job: .*offset.*512' "${memory_group[@]}" --name=job --filename=vol \
	--rw=write --bs=4k --size=4m --offset=100
refuse "a folder for the log that is not there" 'write_vsan_log.*disks/nowhere' "${memory_group[@]}" \
	--write_vsan_log=disks/nowhere/run "${job[@]}"
jobs=2
refuse "options that differ between jobs" 'page_allocation=contiguous: another job.*page_allocation=scattered' \
	--name=one "${args[@]}" --cache_size=64m --capacity_size=64m --rw=write --size=4m \
	--name=two "${args[@]}" --cache_size=64m --capacity_size=64m --page_allocation=contiguous --rw=write --size=4m

run_fio --version
check "the disk groups hold what they held" '[[ $(contents) == "$contents_before" ]]'
finish
