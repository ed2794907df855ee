# SPDX-License-Identifier: GPL-2.0-only
#
# Completion latency by percentile: reads on the left, writes on the right, a curve per run.
#
# Variables set on top: data, format, picture, nr_captions, nr_read, nr_write (curves), runs_read,
# runs_write (the number of the run of each curve). Blocks of the data: 0 the title and the captions,
# then the read curves, then the write curves: 1 / (1 - p), us, percent; the first line is the label.
# All text comes from the data file and is never part of a command.

height = 470 + 14 * nr_captions
scale = format eq 'png' ? 2 : 1
if (format eq 'png') {
	set terminal pngcairo noenhanced font 'DejaVu Sans,10' fontscale scale linewidth scale \
		pointscale scale size 800 * scale, height * scale background rgb 'white'
} else {
	set terminal svg noenhanced font 'DejaVu Sans,12' size 800, height background rgb 'white'
}
set output picture
set encoding utf8
set datafile separator tab
set datafile missing 'nan'
set datafile commentschars ''

array texts[nr_captions + 1]
set table $unused
plot [-1:1] [-1:1] data index 0 using (texts[$0 + 1] = strcol(1), 0):(0) with points
unset table

bottom(y) = y / real(height)
set label 1 texts[1] noenhanced at screen 0.02, screen 1 - bottom(20) font ',14'
do for [i=1:nr_captions] {
	set label i + 1 texts[i + 1] noenhanced font ',9' textcolor rgb '#555555' \
		at screen 0.02, screen bottom(14 * (nr_captions - i) + 12)
}

# The palette of "set colorsequence podo", but for the yellow that vanishes on white.
array colors[8]
colors[1] = 0x0072b2; colors[2] = 0xd55e00; colors[3] = 0x009e73; colors[4] = 0xcc79a7
colors[5] = 0x000000; colors[6] = 0x56b4e9; colors[7] = 0xe69f00; colors[8] = 0x777777
color(run) = colors[(run - 1) % 8 + 1]
# After eight runs colours repeat: the dash tells them apart.
dash(run) = int((run - 1) / 8) % 5 + 1

set border 3 linecolor rgb '#888888'
set grid xtics ytics linecolor rgb '#dddddd' linetype 1
set tics nomirror textcolor rgb '#000000'
set logscale x 10
set logscale y 10
set xrange [2:1e5]
set xtics ('50%%' 2, '90%%' 10, '99%%' 100, '99.9%%' 1000, '99.99%%' 10000, '99.999%%' 100000) \
	font ',8'
unset mxtics
set xlabel 'percentile'
set key top left noenhanced samplen 2 reverse Left opaque font ',9'

# Both halves on one scale, so that reads and writes can be compared.
low = 1e300
high = 0
do for [i=1:nr_read + nr_write] {
	stats data index i every ::1 using 2 nooutput
	low = STATS_min < low && STATS_min > 0 ? STATS_min : low
	high = STATS_max > high ? STATS_max : high
}
low = low / 1.4
# Room for the key.
high = high * 4.0 * 1.35 ** (nr_read + nr_write > 6 ? (nr_read + nr_write) / 2 - 3 : 0)
set yrange [low:high]

# Ticks with their unit; between the powers of ten only where there are few of those.
text(v) = v < 1e3 ? sprintf('%g µs', v) : v < 1e6 ? sprintf('%g ms', v / 1e3) : \
	sprintf('%g s', v / 1e6)
set ytics (text(1.0) 1.0)
do for [e=-3:8] {
	do for [m in high / low < 100 ? '1 2 5' : '1'] {
		tick = int(m) * 10.0 ** e
		set ytics add (text(tick) tick)
	}
}

halves = (nr_read > 0) + (nr_write > 0)
set bmargin at screen bottom(14 * nr_captions + 62)
set tmargin at screen 1 - bottom(62)
set multiplot
half = 0
if (nr_read > 0) {
	set lmargin at screen 0.115
	set rmargin at screen halves == 2 ? 0.51 : 0.95
	set ylabel 'completion latency'
	set title 'read' offset 0, -0.5
	plot for [i=1:nr_read] data index i using 1:2 with lines linewidth 2 \
		linecolor rgb color(int(word(runs_read, i))) \
		dashtype dash(int(word(runs_read, i))) title columnheader(1)
	unset for [i=1:nr_captions + 1] label i
	half = 1
}
if (nr_write > 0) {
	set lmargin at screen half ? 0.56 : 0.115
	set rmargin at screen 0.95
	if (half) {
		unset ylabel
		set format y ''
		set ytics add ('' 1.0)
		do for [e=-3:8] {
			do for [m in high / low < 100 ? '1 2 5' : '1'] {
				set ytics add ('' int(m) * 10.0 ** e)
			}
		}
	} else {
		set ylabel 'completion latency'
	}
	set title 'write' offset 0, -0.5
	plot for [i=1:nr_write] data index nr_read + i using 1:2 with lines linewidth 2 \
		linecolor rgb color(int(word(runs_write, i))) \
		dashtype dash(int(word(runs_write, i))) title columnheader(1)
}
unset multiplot
unset output
