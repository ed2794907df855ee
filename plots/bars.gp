# SPDX-License-Identifier: GPL-2.0-only
#
# IOPS of each run: read, write and total beside each other.
#
# Variables set on top: data, format, picture, nr_captions, nr_runs, label_width (the
# longest), has_read, has_write, has_total.
# Blocks of the data: 0 the title and the captions, 1 per run: label, read, write, total, count.
# All text comes from the data file and is never part of a command.

# Labels that do not fit beside each other are turned.
turned = nr_runs * (label_width + 1) > 115
below = turned ? 34 + 6.6 * label_width : 62
height = 430 + 14 * nr_captions + below - 62
scale = format eq 'png' ? 2 : 1
if (format eq 'png') {
	set terminal pngcairo noenhanced font 'DejaVu Sans,10' fontscale scale linewidth scale \
		size 800 * scale, height * scale background rgb 'white'
} else {
	set terminal svg noenhanced font 'DejaVu Sans,12' size 800, height background rgb 'white'
}
set output picture
set encoding utf8
set datafile separator tab
set datafile missing 'nan'
set datafile commentschars ''

# Read the texts: the title, then the captions.
array texts[nr_captions + 1]
set table $unused
plot [-1:1] [-1:1] data index 0 using (texts[$0 + 1] = strcol(1), 0):(0) with points
unset table

# Lowest part for the captions; the highest for the title and the key.
bottom(y) = y / real(height)
set label 1 texts[1] noenhanced at screen 0.02, screen 1 - bottom(20) font ',14'
do for [i=1:nr_captions] {
	set label i + 1 texts[i + 1] noenhanced font ',9' textcolor rgb '#555555' \
		at screen 0.02, screen bottom(14 * (nr_captions - i) + 12)
}
set bmargin at screen bottom(14 * nr_captions + below)
set tmargin at screen 1 - bottom(62)
set lmargin at screen 0.11
set rmargin at screen 0.98

set key at screen 0.98, screen 1 - bottom(42) right horizontal noenhanced samplen 1.5 width 1
set style fill solid 1.0 noborder
set border 3 linecolor rgb '#888888'
set grid ytics linecolor rgb '#dddddd' linetype 1
set tics nomirror textcolor rgb '#000000'
stats data index 1 using 4 nooutput
unit = STATS_max >= 2e6 ? 1e6 : STATS_max >= 1e4 ? 1e3 : 1
set ylabel unit == 1e6 ? 'IOPS (millions)' : unit == 1e3 ? 'IOPS (thousands)' : 'IOPS'
set format y '%g'
set yrange [0:*]
set offsets 0, 0, graph 0.12, 0
set xrange [-0.6:nr_runs - 0.4]
set xtics noenhanced scale 0
if (turned) {
	set xtics rotate by 90 right
}

groups = has_read + has_write + has_total
gap = 0.8 / groups
place(k) = (k - (groups - 1) / 2.0) * gap
set boxwidth gap * 0.92

# Short figures above the bars: 12.3k.
short(v) = v < 999.5 ? sprintf('%.3g', v) : v < 999500 ? sprintf('%.3gk', v / 1e3) : \
	sprintf('%.3gM', v / 1e6)
# With many runs there is no room for every figure.
show = nr_runs * groups <= 18

n_read = 0
n_write = has_read
n_total = has_read + has_write
plot \
	for [k=1:(has_read ? 1 : 0)] data index 1 using ($0 + place(n_read)):(column(2) / unit) \
		with boxes linecolor rgb '#56b4e9' title 'read', \
	for [k=1:(has_write ? 1 : 0)] data index 1 using ($0 + place(n_write)):(column(3) / unit) \
		with boxes linecolor rgb '#e69f00' title 'write', \
	for [k=1:(has_total ? 1 : 0)] data index 1 using ($0 + place(n_total)):(column(4) / unit) \
		with boxes linecolor rgb '#0072b2' title 'total', \
	data index 1 using 0:(NaN):xticlabels(strcol(1)."\n".strcol(5)) with points notitle, \
	for [k=1:(has_read && show ? 1 : 0)] data index 1 \
		using ($0 + place(n_read)):(column(2) / unit):(short(column(2))) \
		with labels noenhanced font ',10' offset 0, 0.6 notitle, \
	for [k=1:(has_write && show ? 1 : 0)] data index 1 \
		using ($0 + place(n_write)):(column(3) / unit):(short(column(3))) \
		with labels noenhanced font ',10' offset 0, 0.6 notitle, \
	for [k=1:(has_total && show ? 1 : 0)] data index 1 \
		using ($0 + place(n_total)):(column(4) / unit):(short(column(4))) \
		with labels noenhanced font ',10' offset 0, 0.6 notitle
unset output
