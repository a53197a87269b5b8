# Figures 8, 11, 12, 13, 14 and 16 of the paper on forgetful Bloom filters, on Roost's windows.
load "eval/picture-style.gp"

set terminal svg size 1180,1020 enhanced font "sans-serif,14" background "#ffffff"
set output results."/forgetful-bloom.svg"
csv = results."/forgetful-bloom.csv"
counts = results."/figure-14.csv"

# Rows of other curves count as missing, so that lines go on across them.
set datafile missing NaN
is(figure, series) = column(1) == figure && strcol(2) eq series
x(figure, series) = is(figure, series) ? column(3) : NaN
y(figure, series) = is(figure, series) ? column(4) : NaN
unset lmargin
unset rmargin
set key inside top left samplen 1.5 spacing 1.1 width -2
set format y "%h"
set multiplot layout 3,2 margins 0.075,0.985,0.06,0.955 spacing 0.1,0.115

set title offset 0,-0.6
set title "Figure 8: checks, basic filter, 6,250 bits"
set xlabel "operations" offset 0,0.7
set ylabel "false positives"
set logscale y
set format y "10^{%T}"
set yrange [1e-6:1]
plot csv using (x(8, "simple")):(y(8, "simple")) with linespoints linecolor rgb orange title "any filter", \
     csv using (x(8, "optimised")):(y(8, "optimised")) with linespoints linecolor rgb sky title "pairs (the paper's)", \
     csv using (x(8, "slots")):(y(8, "slots")) with lines linewidth 2 linecolor rgb blue title "slots apart (Roost)"

set title "Figure 11: refresh period, 25,000 bits"
set xlabel "operations a second"
set logscale x 2
set yrange [1e-13:1]
plot csv using (x(11, "t = 5 s")):(y(11, "t = 5 s")) with linespoints linecolor rgb orange title "5 s", \
     csv using (x(11, "t = 3 s")):(y(11, "t = 3 s")) with linespoints linecolor rgb sand title "3 s", \
     csv using (x(11, "t = 2 s")):(y(11, "t = 2 s")) with linespoints linecolor rgb sky title "2 s", \
     csv using (x(11, "t = 1 s")):(y(11, "t = 1 s")) with linespoints linecolor rgb blue title "1 s"
unset logscale x

set title "Figure 12: number of filters, 6,250 bits"
set xrange [20:120]
set key bottom right
set yrange [1e-8:1]
plot csv using (x(12, "3 filters")):(y(12, "3 filters")) with lines linewidth 2 linecolor rgb orange title "3", \
     csv using (x(12, "6 filters")):(y(12, "6 filters")) with lines linewidth 2 linecolor rgb sand title "6", \
     csv using (x(12, "12 filters")):(y(12, "12 filters")) with lines linewidth 2 linecolor rgb sky title "12", \
     csv using (x(12, "24 filters")):(y(12, "24 filters")) with lines linewidth 2 linecolor rgb blue title "24"
set autoscale x

set key top left
set title "Figure 13: resizing, target 0.01"
set xlabel "seconds"
set yrange [1e-4:1e8]
plot csv using (x(13, "load")):(y(13, "load")) with lines linecolor rgb quiet title "operations a second", \
     csv using (x(13, "slots")):(y(13, "slots")) with lines linecolor rgb green title "slots", \
     csv using (x(13, "estimate")):(y(13, "estimate")) with lines linewidth 2 linecolor rgb blue title "false positives", \
     csv using (x(13, "measured")):(y(13, "measured")) with points pointtype 7 pointsize 0.5 linecolor rgb orange title "measured", \
     0.01 with lines dashtype 2 linecolor rgb ink title "target"

set title "Figure 14: a counter at ten servers"
set xlabel "operations"
set ylabel "counted"
unset logscale y
set format y "%h"
set autoscale y
plot counts using 1:1 with lines linewidth 4 linecolor rgb faint title "expected", \
     counts using 1:2 with lines linewidth 2 linecolor rgb blue title "with a window", \
     counts using 1:3 with lines linewidth 2 linecolor rgb orange title "without"

set title "Figure 16: against a recyclable filter, 1,500 bits each"
set xlabel "retries for each 100 operations"
set ylabel "error, %"
set logscale xy
set yrange [0.05:100]
plot csv using (x(16, "recyclable")):(y(16, "recyclable")) with linespoints linecolor rgb orange title "recyclable", \
     csv using (x(16, "forgetful as in the paper")):(y(16, "forgetful as in the paper")) with linespoints linecolor rgb sky title "forgetful, pairs", \
     csv using (x(16, "forgetful with slots apart")):(y(16, "forgetful with slots apart")) with linespoints linecolor rgb blue title "forgetful, slots apart"
unset multiplot
