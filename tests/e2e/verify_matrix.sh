#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What fio writes through a disk group it reads back, while the elevator destages: the write buffer is
# smaller than what is written, and each run must have destaged buckets to count.
#
#	verify_matrix.sh [BUILD_DIR]              a selection in which every pair of values meets
#	FULL=1 verify_matrix.sh [BUILD_DIR]       the whole matrix besides it (about 690 runs)
#	ONLY=REGEX verify_matrix.sh [BUILD_DIR]   of these, the runs whose name matches
#	LIST=1 verify_matrix.sh [BUILD_DIR]       only their names
#
# With VSAN_SANITIZER a few that meet all values. A run's name is its values, in this order:
#
#	verify   crc32c, md5, pattern
#	rw       write, randwrite, randrw, trimwrite, randtrimwrite
#	bs       4k; mixed: 512 bytes to 256k
#	depth    1, 16, 64
#	layout   one: one job; own: four jobs with a volume each; shared: four jobs in disjoint parts of one
#	         volume, whose borders lie inside 4K blocks
#	backing  file, memory, model (modelled drives that keep data), loop (loop devices; root only)
#	pages    scattered, contiguous
#	durable  write, fua
#	extra    plain; backlog: verify while writing; async: verify in threads; fsync: after each 8 writes;
#	         wrap: time_based, over and over the same blocks; again: a second fio run verifies
# shellcheck source=tests/e2e/lib.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

loops= nloop=0
SET_MIB=24 # what the jobs write; the buffer is the smallest there can be; a quarter of it each of four

sanitized='
crc32c-write-4k-16-shared-file-scattered-write-plain
md5-randrw-mixed-64-own-file-contiguous-fua-again
md5-write-mixed-1-shared-memory-contiguous-fua-fsync
crc32c-randwrite-mixed-16-shared-memory-contiguous-fua-async
pattern-trimwrite-mixed-64-shared-memory-contiguous-fua-backlog
md5-randwrite-4k-16-one-model-scattered-write-wrap
md5-randtrimwrite-mixed-16-shared-model-contiguous-fua-backlog
crc32c-randrw-4k-1-own-model-contiguous-write-backlog
crc32c-randtrimwrite-4k-64-one-loop-scattered-write-fsync
crc32c-randrw-mixed-16-shared-loop-contiguous-fua-wrap
'

# The matrix (without extras, allocation and durability in turn), then the selection over all columns:
# a row starts with the first pair not seen yet and takes, column by column, the value that brings the
# most new pairs.
cases() { # matrix|pairs
	awk -v what="$1" '
	function column(name, values,    v, i) {
		ncol++
		nval[ncol] = split(values, v, " ")
		for (i = 1; i <= nval[ncol]; i++)
			val[ncol, i] = v[i]
		col[name] = ncol
	}
	# Only what survives the run can be verified by another one.
	function allowed(row) {
		return !(row[col["extra"]] == "again" &&
			 (row[col["backing"]] == "memory" || row[col["backing"]] == "model"))
	}
	function text(row,    i, s) {
		for (i = 1; i <= ncol; i++)
			s = s (i > 1 ? "-" : "") row[i]
		return s
	}
	function matrix(c,    i) {
		if (c > col["backing"]) {
			row[col["pages"]] = val[col["pages"], 1 + int(count / 2) % 2]
			row[col["durable"]] = val[col["durable"], 1 + count++ % 2]
			row[col["extra"]] = "plain"
			print text(row)
			return
		}
		for (i = 1; i <= (c == col["rw"] ? 3 : nval[c]); i++) {
			row[c] = val[c, i]
			matrix(c + 1)
		}
	}
	function is_new(a, b) {
		return a < b ? !((a, row[a], b, row[b]) in seen) : !((b, row[b], a, row[a]) in seen)
	}
	function gain(c,    i, n) { # new pairs of column c with those that are set
		for (i = 1; i <= ncol; i++)
			if (i != c && row[i] != "")
				n += is_new(i, c)
		return n + 0
	}
	function pick(c,    i, k, best, most, n) {
		most = -1
		for (k = 0; k < nval[c]; k++) {
			i = 1 + (k + rows) % nval[c] # so that ties do not always go to the same value
			row[c] = val[c, i]
			if (allowed(row) && (n = gain(c)) > most) {
				most = n
				best = i
			}
		}
		row[c] = val[c, best]
	}
	function pairs(    a, b, i, j, c, d) {
		for (a = 1; a < ncol; a++)
			for (b = a + 1; b <= ncol; b++)
				for (i = 1; i <= nval[a]; i++)
					for (j = 1; j <= nval[b]; j++) {
						if ((a, val[a, i], b, val[b, j]) in seen)
							continue
						split("", row)
						row[a] = val[a, i]
						row[b] = val[b, j]
						if (!allowed(row))
							continue
						for (c = 1; c <= ncol; c++)
							if (row[c] == "")
								pick(c)
						for (c = 1; c < ncol; c++)
							for (d = c + 1; d <= ncol; d++)
								seen[c, row[c], d, row[d]] = 1
						rows++
						print text(row)
					}
	}
	BEGIN {
		column("verify", "crc32c md5 pattern")
		column("rw", "write randwrite randrw trimwrite randtrimwrite")
		column("bs", "4k mixed")
		column("depth", "16 64 1")
		column("layout", "shared one own")
		column("backing", "file memory model loop")
		column("pages", "scattered contiguous")
		column("durable", "write fua")
		column("extra", "plain again wrap backlog async fsync")
		if (what == "matrix")
			matrix(1)
		else
			pairs()
	}'
}

# The devices of each backing. Files and loop devices are used again by the next run: what an earlier
# group left on them must never come back.
devices() { # BACKING
	local i
	case $1 in
	file)
		mkdir -p "$work/files"
		group=(--cache_device="$work/files/cache" --cache_size=24m --capacity_size=32m
			--capacity_devices="$work/files/cap1:$work/files/cap2:$work/files/cap3")
		;;
	memory)
		group=(--cache_device=@memory --cache_size=24m --capacity_size=32m
			--capacity_devices=@memory:@memory:@memory)
		;;
	model)
		group=(--cache_device=@intel-p4800x-375gb --cache_size=24m --capacity_size=32m
			--capacity_devices=@intel-s4510-3.84tb:@intel-p4600-1.6tb:@samsung-870-qvo-1tb
			--drive_data=memory)
		;;
	loop)
		if [[ -z $loops ]]; then
			for i in 24 32 32 32; do
				make_loop "$work/loop.$((++nloop))" ${i}m || return 1
				loops=${loops:+$loops:}$loop
			done
		fi
		group=(--cache_device="${loops%%:*}" --capacity_devices="${loops#*:}")
		;;
	esac
	group+=(--write_buffer_size=9m --format=always)
}

run_case() { # NAME
	local name=$1 verify rw bs depth layout backing pages durable extra job destaged seconds quarter=$((SET_MIB / 4))
	IFS=- read -r verify rw bs depth layout backing pages durable extra <<<"$name"
	if ! devices "$backing"; then
		skipped "$name" "no loop devices here (they need root)"
		return
	fi
	job=("${engine[@]}" "${group[@]}" --page_allocation="$pages" --durability="$durable"
		--write_vsan_log="$work/run" --name=job --rw="$rw" --iodepth="$depth" --verify_fatal=1)
	case $verify in
	pattern) job+=(--verify=pattern --verify_pattern=%o) ;;
	*) job+=("--verify=$verify") ;;
	esac
	case $bs in
	mixed) job+=(--bsrange=512-256k) ;;
	*) job+=("--bs=$bs") ;;
	esac
	case $layout in
	one) job+=(--filename=one "--size=${SET_MIB}m") ;;
	own) job+=(--numjobs=4 "--size=${quarter}m") ;;
	shared) job+=(--filename=shared --numjobs=4 "--size=${quarter}m" --offset=512
		"--offset_increment=${quarter}m") ;;
	esac
	case $extra in
	backlog) job+=(--verify_backlog=64) ;;
	async) job+=(--verify_async=2) ;;
	fsync) job+=(--fsync=8) ;;
	wrap) job+=(--time_based) ;;
	again) job+=(--do_verify=0) ;;
	esac
	((depth == 16)) && job+=(--direct=1)
	rm -f "$work"/run_vsan.*
	if [[ $extra == wrap ]]; then
		# fio verifies at the end of each pass: on a slow machine the first may take long.
		for seconds in 2 10 40; do
			run_fio "${job[@]}" "--runtime=$seconds"
			! grep -q "read: IOPS=[1-9]" out && [[ -z $(trouble) ]] || break
		done
	else
		run_fio "${job[@]}"
	fi
	destaged=$(value "$work/run_vsan.1.json" write_buffer.buckets_destaged 2>/dev/null)
	if [[ $extra == again && -z $(trouble) ]]; then
		run_fio "${job[@]/--do_verify=0/--verify_only=1}" --format=auto
	fi
	check "$name" 'at_least "$destaged" 1' 'grep -q "read: IOPS=[1-9]" out'
}

list() {
	if [[ ${FULL:-0} == 1 ]]; then
		{ cases matrix && cases pairs; } | awk '!seen[$0]++'
	elif [[ $VSAN_SANITIZER ]]; then
		sed '/^$/d' <<<"$sanitized"
	else
		cases pairs
	fi | grep -E -e "${ONLY:-.}"
}

if [[ ${LIST:-} ]]; then
	list
	exit
fi
while read -r name; do
	run_case "$name"
done < <(list)
finish
