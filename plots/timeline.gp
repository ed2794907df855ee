# SPDX-License-Identifier: GPL-2.0-only
#
# IOPS over time; below it, on the same clock, the fill of the write buffer, the destage rate and
# congestion: what happens when the buffer is full.
#
# Variables set on top: data, format, picture, nr_captions, nr_runs, nr_groups (blocks of the
# engine's samples), owners (the number of the run of each of those), full (seconds at which each
# one's buffer was full first, -1: never), end_seconds. Blocks of the data: 0 the title and the
# captions, then per run seconds, total, read and write IOPS, then per group seconds, fill, destage
# rate and congestion; the first line of each is its label.
# All text comes from the data file and is never part of a command.

panels = nr_groups > 0 ? 4 : 1
key_rows = nr_runs == 1 ? 1 : (nr_runs + 2) / 3
top = 52 + 18 * key_rows
first_height = nr_groups > 0 ? 250 : 330
other_height = 108
gap = 16
height = top + first_height + (panels - 1) * (other_height + gap) + 60 + 14 * nr_captions
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
# Upper and lower edge of panel k, the first being 0.
upper(k) = 1 - bottom(top + (k ? first_height + gap + (k - 1) * (other_height + gap) : 0))
lower(k) = upper(k) - bottom(k ? other_height : first_height)

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
# After eight runs colours repeat, and a run's second group has its run's colour: the dash tells.
dash(run) = int((run - 1) / 8) % 5 + 1
owner(i) = int(word(owners, i))
repeats(i) = i > 1 && owner(i) == owner(i - 1) ? 2 : dash(owner(i))

set border 3 linecolor rgb '#888888'
set grid xtics ytics linecolor rgb '#dddddd' linetype 1
set tics nomirror textcolor rgb '#000000'
set xrange [0:end_seconds]
set lmargin at screen 0.125
set rmargin at screen 0.97
set key at screen 0.97, screen 1 - bottom(44) right top horizontal noenhanced samplen 2 \
	maxrows key_rows font ',10'

# The moments at which a buffer was full.
do for [i=1:nr_groups] {
	at = real(word(full, i))
	if (at >= 0) {
		set arrow i from at, graph 0 to at, graph 1 nohead dashtype 3 linewidth 1.2 \
			linecolor rgb color(owner(i))
	}
}

# About three ticks of a round number.
step(v) = v > 0 ? nice(v / 3.0, 10.0 ** floor(log10(v / 3.0))) : 1
nice(v, ten) = v < 1.5 * ten ? ten : v < 3.5 * ten ? 2 * ten : v < 7.5 * ten ? 5 * ten : 10 * ten
destaged = 0
do for [i=nr_runs + 1:nr_runs + nr_groups] {
	stats data index i every ::1 using 3 nooutput
	destaged = STATS_max > destaged ? STATS_max : destaged
}
highest = 0
do for [i=1:nr_runs] {
	stats data index i every ::1 using 2 nooutput
	highest = STATS_max > highest ? STATS_max : highest
}
unit = highest >= 2e6 ? 1e6 : highest >= 1e4 ? 1e3 : 1
unit_name = unit == 1e6 ? 'IOPS (millions)' : unit == 1e3 ? 'IOPS (thousands)' : 'IOPS'

set multiplot
set tmargin at screen upper(0)
set bmargin at screen lower(0)
set yrange [0:*]
set ylabel unit_name
if (panels == 1) {
	set xlabel 'time (s)'
} else {
	set format x ''
}
if (nr_runs == 1) {
	plot data index 1 using 1:(column(2) / unit) with lines linewidth 2 \
			linecolor rgb color(1) title columnheader(1), \
		data index 1 every ::1 using 1:(column(3) / unit) with lines linewidth 1.3 \
			dashtype 2 linecolor rgb 0x56b4e9 title 'read', \
		data index 1 every ::1 using 1:(column(4) / unit) with lines linewidth 1.3 \
			dashtype 4 linecolor rgb 0xe69f00 title 'write'
} else {
	plot for [i=1:nr_runs] data index i using 1:(column(2) / unit) with lines linewidth 2 \
		linecolor rgb color(i) dashtype dash(i) title columnheader(1)
}
unset for [i=1:nr_captions + 1] label i

if (panels > 1) {
	unset key
	set tmargin at screen upper(1)
	set bmargin at screen lower(1)
	set yrange [0:100]
	set ytics 25
	set ylabel "write buffer\nfill (%)"
	plot for [i=1:nr_groups] data index nr_runs + i every ::1 using 1:2 with lines linewidth 2 \
		linecolor rgb color(owner(i)) dashtype repeats(i)

	set tmargin at screen upper(2)
	set bmargin at screen lower(2)
	set yrange [0:*]
	set ytics step(destaged)
	set ylabel "destage\n(MB/s)"
	plot for [i=1:nr_groups] data index nr_runs + i every ::1 using 1:3 with lines linewidth 2 \
		linecolor rgb color(owner(i)) dashtype repeats(i)

	set tmargin at screen upper(3)
	set bmargin at screen lower(3)
	set yrange [0:255]
	set ytics (0, 64, 128, 192, 255)
	set ylabel "congestion\n(0 to 255)"
	set format x '%g'
	set xlabel 'time (s)'
	plot for [i=1:nr_groups] data index nr_runs + i every ::1 using 1:4 with lines linewidth 2 \
		linecolor rgb color(owner(i)) dashtype repeats(i)
}
unset multiplot
unset output
