#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the analyzer's data-driven cases: run.sh BUILD_DIR [CASE...]
#
# A case is a folder below valid/ or invalid/ with "cmd", a shell script, "expect", what it must print,
# and whatever files it needs. It runs in a copy of its folder, in which "data" is tests/analyzer/data,
# with fio-vsan of BUILD_DIR in PATH. Compared are standard output, then standard error, then the exit
# code. A case with "needs-gnuplot" is skipped where there is none. UPDATE=1 writes "expect" anew.
set -u

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: run.sh BUILD_DIR [CASE...]" >&2; exit 2; }
build=$(cd "$1" && pwd) || exit 2
shift
[ -x "$build/bin/fio-vsan" ] || { echo "run.sh: no $build/bin/fio-vsan; build first" >&2; exit 2; }
if [ $# -eq 0 ]; then
	set -- "$here"/valid/*/ "$here"/invalid/*/
fi

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
PATH=$build/bin:$PATH
LC_ALL=C
export PATH LC_ALL

passed=0 failed=0 skipped=0
for case in "$@"; do
	case=${case%/}
	name=${case#"$here"/}
	if [ -e "$case/needs-gnuplot" ] && ! command -v gnuplot > /dev/null; then
		echo "skipped $name (no gnuplot)"
		skipped=$((skipped + 1))
		continue
	fi
	work=$scratch/$(echo "$name" | tr / -)
	cp -R "$case" "$work"
	ln -s "$here/data" "$work/data"
	rm -f "$work/expect"
	(cd "$work" && sh ./cmd) > "$scratch/out" 2> "$scratch/err" < /dev/null
	code=$?
	{ cat "$scratch/out"; sed 's/^/stderr: /' "$scratch/err"; echo "exit $code"; } > "$scratch/got"
	if [ "${UPDATE:-0}" = 1 ]; then
		cp "$scratch/got" "$case/expect"
	fi
	if diff -u "$case/expect" "$scratch/got" > "$scratch/diff"; then
		echo "ok $name"
		passed=$((passed + 1))
	else
		echo "FAILED $name"
		sed 's/^/    /' "$scratch/diff" | head -60
		failed=$((failed + 1))
	fi
	rm -rf "$work"
done
echo "$passed ok, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
