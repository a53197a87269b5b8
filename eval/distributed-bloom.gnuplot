# Figures 6 and 8 of the paper on distributed Bloom filters: participants that have the whole set, by round; and how large the
# sets of the others are.
load "eval/picture-style.gp"

set terminal svg size 1180,520 enhanced font "sans-serif,14" background "#ffffff"
set output results."/distributed-bloom.svg"
curves = results."/distributed-bloom-curves.csv"
networks = results."/distributed-bloom.csv"

row(method, sizes, number) = strcol(1) eq method && strcol(2) eq sizes ? number : NaN

set datafile missing NaN
set multiplot
set label 1 "50 participants, 10 neighbours each, filters that err half the time" at screen 0.5, screen 0.955 center font ",17" textcolor rgb ink

# The key has a frame of its own, as wide as the picture.
set lmargin at screen 0.03
set rmargin at screen 0.97
set tmargin at screen 0.92
set bmargin at screen 0.80
set border 0
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
set key inside center center horizontal Left reverse maxrows 2 samplen 2.4 width -3
plot NaN with linespoints linewidth 6 linecolor rgb green pointtype 9 pointsize 1.5 title "mapping for each pair and round", \
     NaN with linespoints linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.9 title "for each pair (DBF)", \
     NaN with linespoints linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.9 title "one for all; mean, least, most", \
     NaN with linespoints dashtype 2 linewidth 1.6 linecolor rgb ink pointtype 6 pointsize 0.9 title "rounds at once", \
     NaN with lines linestyle 2 title "the paper, at the end"

unset label 1
load "eval/picture-style.gp"
unset key
set tmargin at screen 0.74
set bmargin at screen 0.13
set title offset 0,-0.4
set xtics nomirror
set ytics nomirror
set xlabel "round" offset 0,0.3
set xrange [0:6.2]
set yrange [-1.5:54]
array names[2] = ["fixed m", "changing m"]
array titles[2] = ["Figure 6: filters for 1,000 elements (fixed m)", "Figure 8: for the larger set (changing m)"]
array least[2] = [0, 18]
do for [i = 1:2] {
    set lmargin at screen 0.065 + (i - 1) * 0.345
    set rmargin at screen 0.065 + (i - 1) * 0.345 + 0.285
    set title titles[i]
    if (i == 1) { set ylabel "participants with all 1,000 elements" offset 0.5,0 } else { unset ylabel }
    set label 2 "50" at graph 1.015, first 50 left textcolor rgb ink
    set label 3 sprintf("%d", least[i]) at graph 1.015, first least[i] left textcolor rgb ink
    plot \
         curves using 3:(row("pair and round", names[i], column(4))) with linespoints linewidth 6 linecolor rgb green pointtype 9 pointsize 1.5, \
         curves using 3:(row("pair", names[i], column(4))) with linespoints linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.9, \
         curves using 3:(row("standard", names[i], column(4))):(row("standard", names[i], column(5))):(row("standard", names[i], column(6))) with yerrorlines linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.9, \
         curves using 3:(row("pair at once", names[i], column(4))) with linespoints dashtype 2 linewidth 1.6 linecolor rgb blue pointtype 6 pointsize 0.9, \
         curves using 3:(row("standard at once", names[i], column(4))) with linespoints dashtype 2 linewidth 1.6 linecolor rgb orange pointtype 4 pointsize 0.9, \
         50 with lines linestyle 2, least[i] with lines linestyle 2
}
unset label 2
unset label 3

# One network a point, beside each other; the paper has one network.
set lmargin at screen 0.80
set rmargin at screen 0.985
set title "sets of those left behind"
unset xlabel
set ylabel "elements, median of a network" offset 0.5,0
set xrange [0.5:2.5]
set yrange [700:1020]
set xtics nomirror ("fixed m" 1, "changing m" 2)
set ytics nomirror 50
set label 4 "the paper: 793" at first 1.05, first 811 center textcolor rgb ink
set label 5 "the paper: 999" at first 2, first 977 center textcolor rgb ink
left(sizes, place) = strcol(1) eq "standard" && strcol(2) eq sizes && column(6) > 0 ? place + (column(3) - 9.5) / 40 : NaN
plot networks using (left("fixed m", 1)):6 with points linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.6, \
     networks using (left("changing m", 2)):6 with points linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.6, \
     "+" using (1):(793) every ::::0 with points linestyle 1, \
     "+" using (2):(999) every ::::0 with points linestyle 1
unset multiplot
