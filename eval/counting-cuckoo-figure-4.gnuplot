# Figure 4 of the paper on counting cuckoo filters: accuracy by bits (a, b) and time by elements (c, d).
load "eval/picture-style.gp"

set terminal svg size 1080,820 enhanced font "sans-serif,14" background "#ffffff"
set output results."/counting-cuckoo-figure-4.svg"
accuracy = results."/counting-cuckoo-accuracy.csv"
times = results."/counting-cuckoo-times.csv"

of(filter, number) = strcol(1) eq filter ? number : NaN
error_of(filter, number) = strcol(1) eq filter && number < 1 ? 1 - number : NaN

unset lmargin
unset rmargin
set key inside right bottom
set multiplot layout 2,2 title "Counting cuckoo filters and counting Bloom filters, 64,000 elements, 640,000 copies" font ",17" margins 0.08,0.985,0.085,0.9 spacing 0.1,0.16

set title "(a) accuracy after a synchronisation"
set xlabel "bits an element"
set ylabel "accuracy"
set xrange [10:145]
set yrange [0.55:1.01]
set ylabel offset 1.5
plot accuracy using (of("CCF", column(3))):8 with lines linewidth 2.5 linecolor rgb blue title "CCF by query", \
     accuracy using (of("CCF", column(3))):9 with lines linewidth 2.5 linecolor rgb orange title "CCF by decoding", \
     accuracy using (of("CCF", column(3))):10 with lines linewidth 1.5 dashtype 3 linecolor rgb blue title "CCF by query, as printed", \
     accuracy using (of("CBF", column(3))):8 with lines linewidth 2.5 linecolor rgb green title "CBF by query", \
     accuracy using (of("CBF", column(3))):9 with lines linewidth 1.5 dashtype 3 linecolor rgb green title "CBF by subtraction"

set title "(b) bits that an accuracy takes"
set key inside right top
set ylabel "1 − accuracy"
set logscale y
set yrange [3e-6:0.5]
set format y "10^{%T}"
plot accuracy using (of("CCF", column(3))):(error_of("CCF", column(8))) with linespoints linewidth 2.5 linecolor rgb blue pointtype 7 pointsize 0.5 title "CCF by query", \
     accuracy using (of("CCF", column(3))):(error_of("CCF", column(9))) with linespoints linewidth 2.5 linecolor rgb orange pointtype 5 pointsize 0.5 title "CCF by decoding", \
     accuracy using (of("CBF", column(3))):(error_of("CBF", column(8))) with linespoints linewidth 2.5 linecolor rgb green pointtype 9 pointsize 0.5 title "CBF by query", \
     1e-4 with lines dashtype 2 linewidth 1.2 linecolor rgb quiet title "0.9999"

unset logscale y
set format y "%g"
set logscale x 10
set xrange [800:1.3e6]
set format x "10^{%T}"
set yrange [0:*]
set key inside left top
set xlabel "elements"
set ylabel "nanoseconds an element"
set title "(c) insertion"
plot times using 1:2 with linespoints linewidth 2.5 linecolor rgb blue pointtype 7 pointsize 0.7 title "CCF", \
     times using 1:3 with linespoints linewidth 2.5 linecolor rgb green pointtype 9 pointsize 0.7 title "CBF"
set title "(d) identification of what differs"
plot times using 1:4 with linespoints linewidth 2.5 linecolor rgb blue pointtype 7 pointsize 0.7 title "CCF by query", \
     times using 1:5 with linespoints linewidth 2.5 linecolor rgb orange pointtype 5 pointsize 0.7 title "CCF by decoding", \
     times using 1:6 with linespoints linewidth 2.5 linecolor rgb green pointtype 9 pointsize 0.7 title "CBF by query"
unset multiplot
