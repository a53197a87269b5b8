# Figure 4 of the paper on counting cuckoo filters: accuracy by bits (a, b) and time by elements (c, d).
load "eval/picture-style.gp"

set terminal svg size 1120,880 enhanced font "sans-serif,14" background "#ffffff"
set output results."/counting-cuckoo-figure-4.svg"
accuracy = results."/counting-cuckoo-accuracy.csv"
times = results."/counting-cuckoo-times.csv"

of(filter, number) = strcol(1) eq filter ? number : NaN
error_of(filter, number) = strcol(1) eq filter && number < 1 ? 1 - number : NaN

# The paper's text: from an accuracy of 0.7 to 0.9999 with 7 bits an element more, and with 96 more for counting Bloom filters.
# It does not say from how many; its figure begins at 16.
$paper <<EOD
16,0.3
23,0.0001


16,0.3
112,0.0001
EOD

unset lmargin
unset rmargin
set key inside right bottom Left reverse samplen 2 spacing 1.15 width 0
set multiplot layout 2,2 title "Counting cuckoo filters and counting Bloom filters, 64,000 elements, 640,000 copies" font ",17" margins 0.085,0.985,0.075,0.9 spacing 0.105,0.14
set title offset 0,-0.4
set xlabel offset 0,0.3
set ylabel offset 0.5,0

set title "(a) accuracy after a synchronisation"
set xlabel "bits an element"
set ylabel "accuracy"
set xrange [10:147]
set yrange [0.5:1.02]
plot accuracy using (of("CCF", column(3))):8 with lines linewidth 2.5 linecolor rgb blue title "CCF by query", \
     accuracy using (of("CCF", column(3))):9 with lines linewidth 4 linecolor rgb orange title "CCF by decoding", \
     accuracy using (of("CCF", column(3))):10 with lines linewidth 1.5 dashtype 2 linecolor rgb sky title "CCF by query, as printed", \
     accuracy using (of("CBF", column(3))):8 with lines linewidth 2.5 linecolor rgb green title "CBF by query", \
     accuracy using (of("CBF", column(3))):9 with lines linewidth 2 dashtype 2 linecolor rgb green title "CBF by subtraction"

set title "(b) bits that an accuracy takes"
set key at graph 0.2, graph 0.97 left top
set ylabel "1 − accuracy"
set logscale y
set yrange [3e-6:100]
set ytics ("10^{-5}" 1e-5, "10^{-4}" 1e-4, "10^{-3}" 1e-3, "10^{-2}" 1e-2, "0.1" 0.1, "1" 1)
plot accuracy using (of("CCF", column(3))):(error_of("CCF", column(8))) with linespoints linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.5 title "CCF by query", \
     accuracy using (of("CCF", column(3))):(error_of("CCF", column(9))) with linespoints linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.5 title "CCF by decoding", \
     accuracy using (of("CBF", column(3))):(error_of("CBF", column(8))) with linespoints linewidth 2 linecolor rgb green pointtype 9 pointsize 0.5 title "CBF by query", \
     $paper using 1:2 with lines linestyle 2 notitle, \
     $paper using 1:2 with points linestyle 1 title "the paper, from 16 bits on: CCF 7, CBF 96"

unset logscale y
set logscale x 10
set xrange [800:1.3e6]
set format x "10^{%T}"
set yrange [0:*]
set ytics autofreq
set key inside left top
set xlabel "elements"
set ylabel "nanoseconds an element"
set title "(c) insertion (the paper: CCF a little slower)"
plot times using 1:2 with linespoints linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.8 title "CCF", \
     times using 1:3 with linespoints linewidth 2 linecolor rgb green pointtype 9 pointsize 0.9 title "CBF"
set title "(d) identification (the paper: CBF between the two)"
plot times using 1:5 with linespoints linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.8 title "CCF by decoding", \
     times using 1:4 with linespoints linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.8 title "CCF by query", \
     times using 1:6 with linespoints linewidth 2 linecolor rgb green pointtype 9 pointsize 0.9 title "CBF by query"
unset multiplot
