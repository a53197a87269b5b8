# Figures 6 and 8 of the paper on distributed Bloom filters: participants that have the whole set, by round.
load "eval/picture-style.gp"

set terminal svg size 1080,460 enhanced font "sans-serif,14" background "#ffffff"
set output results."/distributed-bloom.svg"
csv = results."/distributed-bloom-curves.csv"

row(method, sizes, number) = strcol(1) eq method && strcol(2) eq sizes ? number : NaN

unset lmargin
unset rmargin
set multiplot layout 1,2 title "50 participants, 10 neighbours each, filters that err half the time" font ",17" margins 0.075,0.985,0.16,0.82 spacing 0.09,0.1
set xlabel "round"
set ylabel "participants with all 1,000 elements"
set xrange [0:6]
set yrange [0:52]
set key at graph 0.98, graph 0.8
do for [sizes in "'fixed m' 'changing m'"] {
    set title sizes eq "fixed m" ? "filters for 1,000 elements (fixed m)" : "filters for the larger set (changing m)"
    plot csv using 3:(row("pair and round", sizes, column(4))) with linespoints linewidth 2.5 linecolor rgb green pointtype 9 pointsize 0.8 title "a mapping for each pair and round", \
         csv using 3:(row("pair", sizes, column(4))) with linespoints linewidth 2.5 linecolor rgb blue pointtype 7 pointsize 0.7 title "a mapping for each pair (DBF)", \
         csv using 3:(row("standard", sizes, column(4))):(row("standard", sizes, column(5))):(row("standard", sizes, column(6))) with yerrorlines linewidth 2.5 linecolor rgb orange pointtype 5 pointsize 0.7 title "one mapping for all; least and most"
}
unset multiplot
