# Figure 13 of the paper on forgetful Bloom filters: a window that resizes itself while the load rises and falls.
load "eval/picture-style.gp"

set terminal svg size 960,760 enhanced font "sans-serif,14" background "#ffffff"
set output results."/forgetful-resizing.svg"
csv = results."/forgetful-bloom.csv"

set datafile missing NaN
is(series) = column(1) == 13 && strcol(2) eq series
x(series) = is(series) ? column(3) : NaN
y(series) = is(series) ? column(4) : NaN
least = 1e-4 # what is drawn of the rate; none is drawn there, too
shown(series) = is(series) ? (column(4) > least ? column(4) : least) : NaN

set multiplot
set label 1 "Figure 13: resizing keeps the target while the load rises and falls" at screen 0.5, screen 0.965 center font ",17" textcolor rgb ink
set xrange [0:200]
set lmargin at screen 0.1
set rmargin at screen 0.9
set key at graph 1, graph 1.02 right bottom horizontal Left reverse samplen 2
set format x ""

set tmargin at screen 0.90
set bmargin at screen 0.68
set ylabel "operations a second" offset 0.5,0
set yrange [0:180]
set ytics 0,50,150
plot csv using (x("load")):(y("load")) with lines linewidth 2 linecolor rgb orange title "load"

unset label 1
set tmargin at screen 0.60
set bmargin at screen 0.38
set ylabel "slots"
set yrange [0:60]
set ytics nomirror 0,20,60
set y2label "seconds of a slot" textcolor rgb ink offset -0.5,0
set y2range [0.25:16]
set logscale y2 2
set y2tics nomirror ("0.34" 0.34375, "1" 1, "2.75" 2.75, "5.5" 5.5, "11" 11) textcolor rgb ink scale 0.6
set border 11
plot csv using (x("slots")):(y("slots")) with lines linewidth 2.4 linecolor rgb green title "slots (left)", \
     csv using (x("shortest slot")):(y("shortest slot")) axes x1y2 with lines linewidth 2 dashtype 2 linecolor rgb rose title "length of the shortest (right)"

unset y2tics
unset y2label
set border 3
set tmargin at screen 0.30
set bmargin at screen 0.08
set format x "%g"
set xlabel "seconds" offset 0,0.3
set ylabel "false positives"
set logscale y
set yrange [least:0.05]
set key maxcols 3 width -6
set ytics ("≤ 10^{-4}" least, "10^{-3}" 1e-3, "0.01" 1e-2)
plot 0.01 with lines linestyle 2 title "target, which the paper keeps", \
     csv using (x("estimate")):(shown("estimate")) with lines linewidth 2 linecolor rgb blue title "estimated", \
     csv using (x("measured")):(shown("measured")) with points pointtype 7 pointsize 0.8 linecolor rgb orange title "measured"
unset multiplot
