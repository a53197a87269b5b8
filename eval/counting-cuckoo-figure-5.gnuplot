# Figure 5 of the paper on counting cuckoo filters: collisions (a, b) and accuracy (c, d) by the sizes of a filter.
load "eval/picture-style.gp"

set terminal svg size 1120,880 enhanced font "sans-serif,14" background "#ffffff"
set output results."/counting-cuckoo-figure-5.svg"
collisions = results."/counting-cuckoo-collisions.csv"
sizes = results."/counting-cuckoo-sizes.csv"
accuracy = results."/counting-cuckoo-accuracy.csv"

of(series, number) = strcol(1) eq series ? number : NaN
error_of(filter, number) = strcol(1) eq filter && number < 1 ? 1 - number : NaN
seen(series, number) = strcol(1) eq series && number > 0 ? number : NaN
paper_bound(buckets, bits) = buckets * 16.0 / 2 ** (bits - 1) # b w w / 2^(f - 1), four slots
$paper <<EOD
7,0.055
17,0.00001
EOD

unset lmargin
unset rmargin
set key inside Left reverse samplen 2 spacing 1.15 width 0
set multiplot layout 2,2 title "Counting cuckoo filters, buckets of four: collisions, and accuracy after a synchronisation" font ",17" margins 0.085,0.985,0.075,0.9 spacing 0.105,0.14
set title offset 0,-0.4
set xlabel offset 0,0.3
set ylabel offset 0.5,0

set title "(a) elements that share a class, f = 10"
set key left top
set xlabel "buckets"
set ylabel "collided elements"
set logscale xy
set format x "10^{%T}"
set format y "10^{%T}"
set xrange [150:4e6]
set yrange [1:1e7]
plot collisions using (of("by buckets", column(3))):(paper_bound(column(3), column(4))) with lines linestyle 2 title "the paper's upper bound, b w^2/2^{f-1}", \
     collisions using (of("by buckets", column(3))):7 with lines linestyle 3 title "due", \
     collisions using (of("by buckets", column(3))):6 with points linecolor rgb blue pointtype 7 pointsize 0.9 title "measured"

set title "(b) elements that share a class, 64,000 elements"
set key right top
set xlabel "bits of a fingerprint"
unset logscale x
set format x "%g"
set xrange [3.5:20.5]
set yrange [0.1:1e7]
plot collisions using (of("by bits", column(4))):(paper_bound(column(3), column(4))) with lines linestyle 2 title "the paper's upper bound", \
     collisions using (of("by bits", column(4))):7 with lines linestyle 3 title "due", \
     collisions using (of("by bits", column(4))):(seen("by bits", column(6))) with points linecolor rgb blue pointtype 7 pointsize 0.9 title "measured"

set title "(c) by elements, f = log_2(buckets)"
set xlabel "elements"
set ylabel "1 − accuracy"
set logscale x 10
set xrange [800:1.3e6]
set yrange [3e-6:1]
set format x "10^{%T}"
plot sizes using (of("CCF", column(2))):(error_of("CCF", column(9))) with linespoints linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.8 title "by decoding", \
     sizes using (of("CCF", column(2))):(error_of("CCF", column(8))) with linespoints linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.8 title "by query"

set title "(d) by fingerprint, 64,000 elements"
set xlabel "bits of a fingerprint"
unset logscale x
set format x "%g"
set xrange [3.5:21.5]
set yrange [3e-6:5]
plot accuracy using (of("CCF", column(5))):(error_of("CCF", column(9))) with linespoints linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.8 title "by decoding", \
     accuracy using (of("CCF", column(5))):(error_of("CCF", column(8))) with linespoints linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.8 title "by query", \
     $paper using 1:2 with points linestyle 1 title "the paper: 0.945 and 0.99999"
unset multiplot
