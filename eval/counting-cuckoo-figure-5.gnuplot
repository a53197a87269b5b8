# Figure 5 of the paper on counting cuckoo filters: collisions (a, b) and accuracy (c, d) by the sizes of a filter.
load "eval/picture-style.gp"

set terminal svg size 1080,820 enhanced font "sans-serif,14" background "#ffffff"
set output results."/counting-cuckoo-figure-5.svg"
collisions = results."/counting-cuckoo-collisions.csv"
sizes = results."/counting-cuckoo-sizes.csv"
accuracy = results."/counting-cuckoo-accuracy.csv"

of(series, number) = strcol(1) eq series ? number : NaN
error_of(filter, number) = strcol(1) eq filter && number < 1 ? 1 - number : NaN
seen(series, number) = strcol(1) eq series && number > 0 ? number : NaN

unset lmargin
unset rmargin
set multiplot layout 2,2 title "Counting cuckoo filters, buckets of four: collisions, and accuracy after a synchronisation" font ",17" margins 0.08,0.985,0.085,0.9 spacing 0.1,0.16

set title "(a) elements that share a class, f = 10"
set key inside left top
set xlabel "buckets"
set ylabel "collided elements"
set logscale xy
set format x "10^{%T}"
set format y "10^{%T}"
plot collisions using (of("by buckets", column(3))):7 with lines linewidth 1.5 dashtype 2 linecolor rgb ink title "due", \
     collisions using (of("by buckets", column(3))):6 with points linecolor rgb blue pointtype 7 pointsize 0.8 title "measured"

set title "(b) elements that share a class, 64,000 elements"
set key inside right top
set xlabel "bits of a fingerprint"
unset logscale x
set format x "%g"
set xrange [3.5:20.5]
set yrange [0.1:*]
plot collisions using (of("by bits", column(4))):7 with lines linewidth 1.5 dashtype 2 linecolor rgb ink title "due", \
     collisions using (of("by bits", column(4))):(seen("by bits", column(6))) with points linecolor rgb blue pointtype 7 pointsize 0.8 title "measured"

set title "(c) by elements, f = log_{2} of the buckets"
set xlabel "elements"
set ylabel "1 − accuracy"
set logscale x 10
set xrange [800:1.3e6]
set yrange [3e-6:0.1]
set format x "10^{%T}"
plot sizes using (of("CCF", column(2))):(error_of("CCF", column(8))) with linespoints linewidth 2.5 linecolor rgb blue pointtype 7 pointsize 0.7 title "by query", \
     sizes using (of("CCF", column(2))):(error_of("CCF", column(9))) with linespoints linewidth 2.5 linecolor rgb orange pointtype 5 pointsize 0.7 title "by decoding"

set title "(d) by fingerprint, 64,000 elements"
set xlabel "bits of a fingerprint"
unset logscale x
set format x "%g"
set xrange [3.5:21.5]
set yrange [3e-6:0.5]
plot accuracy using (of("CCF", column(5))):(error_of("CCF", column(8))) with linespoints linewidth 2.5 linecolor rgb blue pointtype 7 pointsize 0.7 title "by query", \
     accuracy using (of("CCF", column(5))):(error_of("CCF", column(9))) with linespoints linewidth 2.5 linecolor rgb orange pointtype 5 pointsize 0.7 title "by decoding"
unset multiplot
