#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The life of a disk group, seen from fio: which jobs share it, when it is opened, marked and closed, what
# survives an interrupt and a kill, and what the options do that have to do with its beginning and its end.
#
#	life_cycle.sh [BUILD_DIR]
# shellcheck source=tests/e2e/lib.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

log=(--write_vsan_log=run --vsan_log_msec=100)

# A fresh group on files, in the array group.
fresh_group() {
	rm -rf disks run_vsan.*
	file_group disks
}

crcs() {
	cksum disks/* | sort
}

recovered() {
	grep -q 'has been recovered' err
}

# Jobs that write and verify by checksum, so that any of them can be verified by a later run.
checked=(--bs=16k --iodepth=8 --verify=crc32c --verify_fatal=1)

# ---- who shares a group ------------------------------------------------------------------------------------

fresh_group
cat >jobs.fio <<END
[global]
ioengine=libfio-vsan.so
cache_device=disks/cache
cache_size=64m
capacity_devices=disks/cap1:disks/cap2:disks/cap3
capacity_size=128m
write_buffer_size=16m
write_vsan_log=run
filename=vol
size=24m
bs=16k
iodepth=8
verify=crc32c
verify_fatal=1
[first]
rw=randwrite
do_verify=0
[second]
stonewall
rw=randwrite
verify_only=1
[third]
stonewall
rw=write
END
run_fio jobs.fio
check "jobs one after the other share the group" '[[ -e run_vsan.1.json && ! -e run_vsan.2.json ]]' \
	'[[ $(grep -c "^job," run_vsan.1.log) == 3 ]]' '[[ $(value run_vsan.1.json jobs.1.name) == second ]]' \
	'at_least "$(value run_vsan.1.json write_buffer.buckets_destaged)" 1'

run_fio "${group[@]}" --name=third --filename=vol --size=24m --rw=write "${checked[@]}" --verify_only=1
check "a later run finds what they wrote" '! recovered'

rm -rf two run_vsan.*
mkdir two
run_fio "${engine[@]}" --capacity_size=128m --cache_size=64m "${log[@]}" \
	--name=one --cache_device=two/cache1 --capacity_devices=two/cap1 --size=16m --rw=write "${checked[@]}" \
	--name=two "${engine[@]}" --capacity_size=128m --cache_size=64m "${log[@]}" \
	--cache_device=two/cache2 --capacity_devices=two/cap2 --size=16m --rw=randwrite "${checked[@]}"
check "two groups in one run" '[[ $(value run_vsan.1.json devices.0.name) == two/cache1 ]]' \
	'[[ $(value run_vsan.2.json devices.0.name) == two/cache2 ]]' \
	'[[ $(value run_vsan.1.json jobs.0.name) == one && $(value run_vsan.2.json jobs.0.name) == two ]]'
rm -rf two

for thread in "" --thread; do
	rm -f run_vsan.*
	run_fio "${memory_group[@]}" "${log[@]}" ${thread:+"$thread"} --create_serialize=0 --numjobs=4 --name=job \
		--size=8m --rw=randwrite "${checked[@]}"
	check "create_serialize=0 ${thread:-}" '[[ $(value run_vsan.1.json jobs.3.name) == job ]]'
done

# The second job is set up when the first is gone; what that wrote to memory must still be there.
rm -f run_vsan.*
late=("${memory_group[@]}" "${log[@]}" --create_serialize=0 --filename=vol --size=8m --rw=write "${checked[@]}")
run_fio --name=writer "${late[@]}" --do_verify=0 --name=reader --stonewall "${late[@]}" --verify_only=1
check "create_serialize=0, one job after the other" '[[ $(value run_vsan.1.json jobs.1.name) == reader ]]' \
	'[[ ! -e run_vsan.2.json ]]'

# fio 3.33 crashes in offloaded submission of any engine that is loaded: it must not come to that.
run_fio "${memory_group[@]}" --io_submit_mode=offload --name=job --size=4m --rw=write
if [[ $status == 1 ]] && grep -q "offloaded submit" err out; then
	ok "offloaded submission is refused"
else
	failed "offloaded submission is refused" "exit code $status"
fi

rm -f run_vsan.*
run_fio "${memory_group[@]}" "${log[@]}" --numjobs=8 --group_reporting --name=job --size=4m --rw=randwrite \
	"${checked[@]}"
check "numjobs=8" '[[ $(value run_vsan.1.json volumes.7.bytes) == 4194304 ]]'

check_conflict() { # NAME
	local lines
	lines=$(our_lines)
	if ((status != 2)); then
		failed "$1" "exit code $status, not 2"
	elif [[ $lines != *"two: buckets=4: another job"* || $(grep -c . <<<"$lines") != 1 ]]; then
		failed "$1" "the option is not named: $lines"
	else
		ok "$1"
	fi
}
run_fio --name=one "${memory_group[@]}" --size=4m --rw=write --name=two "${memory_group[@]}" --buckets=4 --size=4m \
	--rw=write
check_conflict "a conflict between jobs names the option"

# ---- reading does not write ------------------------------------------------------------------------------

fresh_group
run_fio "${group[@]}" --drain=end --name=fill --filename=vol --size=24m --rw=write "${checked[@]}"
before=$(crcs) # drained, so that there is nothing to destage while reading
run_fio "${group[@]}" --name=reader --filename=vol --rw=randread --bs=4k --size=24m --io_size=4m
check "a run that reads changes nothing" '[[ $(crcs) == "$before" ]]'

cat >jobs.fio <<END
[global]
ioengine=libfio-vsan.so
cache_device=disks/cache
capacity_devices=disks/cap1:disks/cap2:disks/cap3
write_buffer_size=16m
filename=vol
size=24m
bs=16k
iodepth=8
[reader]
rw=randread
io_size=4m
[writer]
stonewall
rw=randwrite
verify=md5
verify_fatal=1
END
run_fio jobs.fio
check "a reader, then a writer" '[[ $(crcs) != "$before" ]]'
run_fio "${group[@]}" --name=writer --filename=vol --size=24m --rw=randwrite "${checked[@]}" --verify=md5 --verify_only=1
check "what the writer wrote is there" '! recovered'

# ---- interrupts ---------------------------------------------------------------------------------------------

# What runs when the signal comes: volumes written before, the last of them twice and still in the buffer,
# and one that is overwritten all the time with what it holds: whatever the group has kept of that must be
# right.
pattern=(--verify=pattern --verify_pattern=%o)
cat >jobs.fio <<END
[global]
ioengine=libfio-vsan.so
cache_device=disks/cache
cache_size=64m
capacity_devices=disks/cap1:disks/cap2:disks/cap3
capacity_size=128m
write_buffer_size=16m
write_vsan_log=run
vsan_log_msec=100
bs=16k
iodepth=8
do_verify=0
[synced]
filename=synced
size=12m
rw=randwrite
verify=crc32c
end_fsync=1
[filled]
filename=busy
size=12m
bs=4k
rw=write
verify=pattern
verify_pattern=%o
[older]
stonewall
filename=acknowledged
size=1m
rw=randwrite
verify=md5
[acknowledged]
stonewall
filename=acknowledged
size=1m
rw=randwrite
verify=crc32c
[busy]
stonewall
filename=busy
size=12m
rw=randwrite
bs=4k
rate_iops=500
verify=pattern
verify_pattern=%o
time_based
runtime=$limit
END

# Start that, and wait until the last job has been writing for a while.
start_busy() {
	local i n=0
	fresh_group
	start_fio jobs.fio
	for ((i = 0; i < limit * 20; i++)); do
		n=$(awk '/^sample/ && busy { n++ } /^job,.*busy/ { busy = 1 } END { print n + 0 }' run_vsan.1.log \
			2>/dev/null) && ((n >= 4)) && return
		((i == 200)) && ((n == 0)) && break
		kill -0 "$child" 2>/dev/null || break
		sleep 0.05
	done
	failed "the busy job runs" "it does not"
	return 1
}

verify_busy() { # NAME CONDITION...
	run_fio "${group[@]}" --name=synced --filename=synced --size=12m --rw=randwrite "${checked[@]}" \
		--verify_only=1
	check "$1: what was synced" "${@:2}"
	rm -f run_vsan.*
	run_fio "${group[@]}" "${log[@]}" --name=acknowledged --filename=acknowledged --size=1m --rw=randwrite \
		"${checked[@]}" --verify_only=1
	check "$1: what was acknowledged" '! recovered' 'at_least "$(value run_vsan.1.json reads.wb)" 1'
	run_fio "${group[@]}" --name=busy --filename=busy --size=12m --rw=read --bs=4k --verify_fatal=1 "${pattern[@]}"
	check "$1: what was being overwritten" '! recovered' 'grep -q "read: IOPS=[1-9]" out'
}

for signal in INT TERM; do
	start_busy || continue
	kill "-$signal" "$child"
	wait_fio
	if ((status != 128)); then
		failed "SIG$signal ends the run" "exit code $status, not fio's 128"
	elif [[ ! -s run_vsan.1.json ]]; then
		failed "SIG$signal ends the run" "without its JSON"
	else
		ok "SIG$signal ends the run"
	fi
	verify_busy "SIG$signal is a clean close" '! recovered'
done

if start_busy; then
	kill -KILL "$child"
	wait_fio
	verify_busy "SIGKILL" recovered
fi

# ---- growth -----------------------------------------------------------------------------------------------

fresh_group
run_fio "${group[@]}" --name=job --filename=vol --size=8m --rw=randwrite "${checked[@]}" --do_verify=0
run_fio "${group[@]}" --name=job2 --filename=vol --offset=8m --size=16m --rw=randwrite "${checked[@]}" --verify=md5
check "a volume grows"
run_fio "${group[@]}" --name=job --filename=vol --size=8m --rw=randwrite "${checked[@]}" --verify_only=1
check "what a grown volume held" '! recovered'
run_fio "${group[@]}" "${log[@]}" --name=whole --filename=vol --rw=read --bs=64k
check "its size is remembered" '[[ $(value run_vsan.1.json volumes.0.bytes) == $((24 << 20)) ]]' \
	'grep -q "io=24.0MiB" out'

# ---- draining -----------------------------------------------------------------------------------------------

fresh_group
run_fio "${group[@]}" "${log[@]}" --name=job --filename=vol --size=8m --rw=randwrite "${checked[@]}"
check "without drain the buffer keeps what it has" 'at_least "$(value run_vsan.1.json write_buffer.fill_end_pct)" 1'
run_fio "${group[@]}" "${log[@]}" --drain=start --name=job --filename=vol --size=8m --rw=randwrite "${checked[@]}" \
	--verify_only=1
check "drain=start" '[[ $(value run_vsan.1.json write_buffer.fill_start_pct) =~ ^0(\.0*)?$ ]]' \
	'[[ $(value run_vsan.1.json reads.wb) == 0 ]]'
run_fio "${group[@]}" "${log[@]}" --drain=end --name=job --filename=vol --size=8m --rw=randwrite "${checked[@]}"
check "drain=end" 'at_least "$(value run_vsan.1.json write_buffer.fill_max_pct)" 1'
run_fio "${group[@]}" "${log[@]}" --name=job --filename=vol --size=8m --rw=randwrite "${checked[@]}" --verify_only=1
check "what was drained at the end" '[[ $(value run_vsan.1.json reads.wb) == 0 ]]' \
	'[[ $(value run_vsan.1.json write_buffer.fill_start_pct) =~ ^0(\.0*)?$ ]]'

# ---- a dry run ------------------------------------------------------------------------------------------------

fresh_group
run_fio "${group[@]}" --dry_run=1 "${log[@]}" --name=job --filename=vol --size=8m --rw=write --bs=4k
check "dry_run=1 says what is needed and makes nothing" '[[ -z $(ls disks) && -z $(ls run_vsan.* 2>/dev/null) ]]' \
	'grep -q "disks/cache" err' 'grep -qi "memory" err' 'grep -qi "write buffer" err' '! grep -q "write: IOPS=" out'
for serialize in 0 1; do
	run_fio "${memory_group[@]}" --dry_run=1 --create_serialize=$serialize --numjobs=2 --name=job --size=8m \
		--rw=randrw --verify=md5 --time_based --runtime=20
	check "dry_run=1 create_serialize=$serialize" '[[ $(grep -c "^volume: " err) == 2 ]]' \
		'[[ $(grep -c "^write buffer: " err) == 1 ]]' '! grep -q "IOPS=" out'
done

# ---- the log --------------------------------------------------------------------------------------------------

columns=row,time,iopsRead,iopsWrite,throughputRead,throughputWrite,latencyAvgRead,latencyAvgWrite,oio
columns+=,iopsWbRead,iopsCapacityRead,iopsNeverWrittenRead,wbFreePct,wbDirtyBytes,bytesOverwritten
columns+=,ssdBytesDrained,zeroBytesDrained,currentIncomingRate,currentDrainRate,ssdCongestion,logCongestion
columns+=,memCongestion,iopsDelayPctSched,latencyDelaySched,elevSSDReadLatency,elevMDWriteLatency,avgElevIoSize
columns+=,timeToSleepMs,curWBBucket,elevCurBucket,capacityUsed
rm -f run_vsan.*
run_fio "${memory_group[@]}" "${log[@]}" --name='a, "b"' --filename=vol --size=24m --rw=randrw --bs=4k --iodepth=4 \
	--time_based --runtime=1
check "the log is what it should be" '[[ $(head -n 1 run_vsan.1.log) == "$columns" ]]' \
	'grep -q -x "job,[0-9.]*,1,\"a, \"\"b\"\"\"" run_vsan.1.log' 'awk -F , "
		NR == 1 { n = NF; next }
		/^job,/ { next }
		\$1 != \"sample\" || NF != n || \$2 + 0 < last + 0 { exit 1 }
		{ for (i = 2; i <= n; i++) if (\$i !~ /^-?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?$/) exit 1
		  last = \$2; rows++; writes += \$4 }
		END { exit !(rows >= 3 && writes > 0) }" run_vsan.1.log'
check "the JSON is what it should be" '[[ $(value run_vsan.1.json fio) == fio-* ]]' \
	'[[ $(value run_vsan.1.json options.write_buffer_size) ]]' \
	'[[ $(value run_vsan.1.json options.durability) == write ]]' \
	'[[ $(value run_vsan.1.json devices.3.role) == capacity ]]' \
	'[[ $(value run_vsan.1.json devices.0.kind) == memory ]]' \
	'[[ $(value run_vsan.1.json modelled) == false ]]' \
	'at_least "$(value run_vsan.1.json devices.0.write_bytes)" 4096' \
	'at_least "$(value run_vsan.1.json write_buffer.bytes_written)" 4096' \
	'at_least "$(value run_vsan.1.json jobs.0.end_msec)" 900' \
	'at_least "$(value run_vsan.1.json memory_bytes)" 4096'
if type -P python3 >/dev/null; then
	check "the JSON is JSON" 'python3 -m json.tool run_vsan.1.json >/dev/null'
else
	skipped "the JSON is JSON" "needs python3"
fi

# ---- raw tiers ---------------------------------------------------------------------------------------------

for tier in cache capacity; do
	rm -f run_vsan.*
	run_fio "${memory_group[@]}" "${log[@]}" --target=$tier --name=job --filename=vol --size=24m --rw=randwrite \
		"${checked[@]}" --bsrange=512-64k
	written=0
	for i in 1 2 3; do
		written=$((written + $(value run_vsan.1.json devices.$i.write_bytes)))
	done
	if [[ $tier == cache ]]; then
		check "target=cache" 'at_least "$(value run_vsan.1.json devices.0.write_bytes)" $((24 << 20))' \
			'((written == 0))'
	else
		check "target=capacity" '((written >= 24 << 20))' \
			'[[ $(value run_vsan.1.json devices.0.write_bytes) == 0 ]]'
	fi
done

# ---- prefilled ------------------------------------------------------------------------------------------------

prefilled() { # NONE|CAPACITY|BUFFER SIZE
	rm -f run_vsan.*
	run_fio "${engine[@]}" "${log[@]}" --cache_device=@intel-p4800x-375gb --cache_size=64m \
		--capacity_devices=@intel-p4800x-375gb --capacity_size=128m --write_buffer_size=32m "--prefilled=$1" \
		--name=job --filename=vol --size="$2" --rw=randread --bs=4k --iodepth=8
}
reads() {
	value run_vsan.1.json "reads.$1"
}
prefilled none 8m
check "reading what was never written is counted, and said" '[[ $(reads never_written) == 2048 ]]' \
	'[[ $(reads wb) == 0 && $(reads capacity) == 0 ]]' 'grep -q "^fio-vsan: .*never" err' \
	'[[ $(value run_vsan.1.json warnings.0) ]]'
prefilled capacity 8m
check "prefilled=capacity" '[[ $(reads capacity) == 2048 && $(reads wb) == 0 && $(reads never_written) == 0 ]]' \
	'! grep -q "^fio-vsan: .*never" err'
prefilled buffer 8m
check "prefilled=buffer" '[[ $(reads wb) == 2048 && $(reads capacity) == 0 && $(reads never_written) == 0 ]]' \
	'at_least "$(value run_vsan.1.json write_buffer.fill_start_pct)" 20'
prefilled buffer 64m
check "prefilled=buffer, and more than fits" 'at_least "$(reads wb)" 256 && at_least "$(reads capacity)" 4096' \
	'[[ $(reads never_written) == 0 ]]'

finish
