#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How fio finds the engine: by plain name, by path, installed; what it says of its options; and that it
# refuses a fio that it was not built for.
#
#	loading.sh [BUILD_DIR]
# shellcheck source=tests/e2e/lib.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

devices=(--cache_device=@memory --cache_size=32m --capacity_devices=@memory --capacity_size=64m)
job=(--name=job --rw=randwrite --bs=4k --size=4m --verify=crc32c --verify_fatal=1)

run_fio --ioengine=libfio-vsan.so "${devices[@]}" "${job[@]}"
check "by plain name" 'grep -q "read: IOPS=[1-9]" out'
run_fio "--ioengine=external:$library" "${devices[@]}" "${job[@]}"
check "by external:/path" 'grep -q "read: IOPS=[1-9]" out'
run_fio "--ioengine=$library" "${devices[@]}" "${job[@]}"
check "by path" 'grep -q "read: IOPS=[1-9]" out'

printf '%s\n' '[global]' ioengine=libfio-vsan.so "${devices[@]#--}" '[one]' "${job[@]:1}" '[two]' "${job[@]:1}" |
	sed 's/^--//' >jobs.fio
run_fio --parse-only jobs.fio
check "a job file with its options can be parsed"
run_fio jobs.fio
check "options in [global] reach all jobs" '[[ $(grep -c "read: IOPS=[1-9]" out) == 2 ]]'

# ---- options ------------------------------------------------------------------------------------------------

run_fio "--enghelp=$library"
# fio ends with 1 after any help.
status=0
for name in cache_device capacity_devices cache_size capacity_size file_prepare cache_condition capacity_condition \
	drive_data drive_seed prefilled write_buffer_size buckets page_allocation stripe_width destage_start \
	destage_unthrottle destage_sleep destage_batch destage_depth drain durability format allow_overwrite \
	write_vsan_log vsan_log_msec target dry_run; do
	grep -q "^$name *: .* .*" out || missing+=" $name"
done
check "--enghelp lists every option" '[[ -z ${missing:-} ]]'
check "its help tells every default" '[[ -z $(grep -v "default" out | grep .) ]]'

if FIO=$FIO "$root/scripts/gen-options" --check "$BUILD_DIR" >out 2>err; then
	ok "docs/options.md is up to date"
else
	failed "docs/options.md is up to date" "$(tail -n 1 err)"
fi

# ---- symbols -------------------------------------------------------------------------------------------------

if type -P nm >/dev/null; then
	nm -D --defined-only "$library" | awk '{ print $NF }' | grep -v '^__asan\|^__ubsan\|^__tsan' >symbols
	check "it exports its ops and nothing else" '[[ $(<symbols) == ioengine ]]'
else
	skipped "it exports its ops and nothing else" "needs nm"
fi

# ---- installed -------------------------------------------------------------------------------------------------

if cmake --install "$BUILD_DIR" --prefix "$work/prefix" >out 2>err; then
	installed=$(find prefix -name libfio-vsan.so)
	LD_LIBRARY_PATH=$work/$(dirname "$installed") run_fio --ioengine=libfio-vsan.so "${devices[@]}" "${job[@]}"
	check "installed below another prefix" '[[ -n $installed ]]' 'grep -q "read: IOPS=[1-9]" out'
	check "its data is installed too" '[[ -e prefix/share/fio-vsan/profiles/intel-p4600-1.6tb.ini ]]' \
		'[[ -e prefix/share/fio-vsan/jobs/workloads/4k-70-30-random.fio ]]'
	# ldconfig's cache, made elsewhere and seen by this fio alone: the system's is not touched.
	if is_root && unshare -m true 2>/dev/null && [[ -e /etc/ld.so.cache ]]; then
		/sbin/ldconfig -X -C "$work/ld.so.cache" "$(dirname "$work/$installed")" 2>/dev/null
		rm -f out err
		# shellcheck disable=SC2016 # expanded by the inner shell
		env -u LD_LIBRARY_PATH unshare -m sh -c \
			'mount --bind "$0" /etc/ld.so.cache && exec "$@"' "$work/ld.so.cache" \
			timeout -k 5 "$limit" "${preload[@]}" "$FIO" --eta=never --ioengine=libfio-vsan.so \
			"${devices[@]}" "${job[@]}" >out 2>err
		status=$?
		check "installed, by ldconfig alone" 'grep -q "read: IOPS=[1-9]" out'
	else
		skipped "installed, by ldconfig alone" "needs root"
	fi
else
	failed "installed below another prefix" "cmake --install failed"
fi

# ---- another fio --------------------------------------------------------------------------------------------------

# The same engine, built for a fio of another version: the compile and link commands of the build tree with
# one definition changed. It must say so, and touch nothing.
wrong_engine() {
	local source=$root/engine/fio_engine.c command
	command=$(awk -v file="\"file\": \"$source\"" '/"command":/ { c = $0 } index($0, file) { print c; exit }' \
		"$BUILD_DIR/compile_commands.json" | sed 's/^ *"command": "//; s/",\{0,1\}$//; s/\\\(.\)/\1/g')
	[[ $command == *FIO_BUILT_FOR=* ]] || return 1
	command=$(sed 's/\(FIO_BUILT_FOR=[^ ]*fio-\)[^" \\]*/\1999.9/; s/ -o [^ ]*/ -o wrong.o/' <<<"$command")
	mkdir -p wrong && (eval "$command") >out 2>err || return 1
	"${CC:-cc}" -shared -Wl,-Bsymbolic -Wl,-z,nodelete ${sanitize:+"$sanitize"} -o wrong/libfio-vsan.so wrong.o \
		"$(find "$BUILD_DIR" -name libvsan_core.a | head -n 1)" -luring -lisal -linih -lblkid -ljansson -lm \
		-lpthread >out 2>err
}
case $VSAN_SANITIZER in
asan) sanitize=-fsanitize=address,undefined ;;
tsan) sanitize=-fsanitize=thread ;;
esac
if wrong_engine; then
	mkdir disks
	LD_LIBRARY_PATH=$work/wrong run_fio --ioengine=libfio-vsan.so --cache_device=disks/cache --cache_size=32m \
		--capacity_devices=disks/cap --capacity_size=64m --numjobs=2 "${job[@]}"
	[[ $status != 2 ]] || status=0 # two jobs failed
	check "another fio is refused" \
		'[[ $(our_lines) == "fio-vsan: built for fio-999.9, but this is $("$FIO" --version)"*scripts/setup* ]]' \
		'[[ $(our_lines | wc -l) == 1 ]]' '[[ -z $(ls disks) ]]' '! grep -q "IOPS=" out'
else
	failed "another fio is refused" "cannot build the engine for it: $(tail -n 1 err)"
fi

finish
