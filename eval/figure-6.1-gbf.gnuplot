# Figure 6.1a: the false-positive rate of the grow-only Bloom filter by sync interval, one line a split.
load "eval/picture-style.gp"

set terminal svg size 840,520 enhanced font "sans-serif,15" background "#ffffff"
set output results."/figure-6.1-gbf.svg"
csv = results."/figure-6.1-grow-only.csv"

cell(filter, split, rate) = strcol(1) eq filter && strcol(2) eq split ? 100 * rate : NaN

stats csv using (cell("GBF5", "all local", column(5))) nooutput name "mean"
stats csv using (cell("GBF5", "all local", column(6))) nooutput name "least"
stats csv using (cell("GBF5", "all local", column(7))) nooutput name "most"

set title "Grow-only Bloom filter, five probes: one rate whatever split and sync interval" font ",17" offset 0,0.4
set xlabel "merge every … operations, of 2^{20}  in all"
set ylabel "false-positive rate (%)"
set logscale x
set xrange [700:1.4e7]
set yrange [3.08:3.14]
set format x "10^{%T}"
set format y "%.2f"
set ytics 0.01
set object 1 rectangle from graph 0, first least_min to graph 1, first most_max behind fillcolor rgb "#eef4f8" fillstyle solid noborder
set label 1 "range of the five repeats" at graph 0.02, first least_min offset 0,0.7 textcolor rgb "#5f7482" font ",13"

# Lines that coincide: each later one is thinner than the one that it lies on.
plot 3.125 with lines dashtype 2 linewidth 2 linecolor rgb ink title "theory, 1/32", \
     mean_mean with lines linewidth 14 linecolor rgb "#cccccc" title "all local", \
     csv using 3:(cell("GBF5", "50-50", column(5))) with linespoints linewidth 7 linecolor rgb sky pointtype 7 pointsize 1.9 title "50-50", \
     csv using 3:(cell("GBF5", "80-20", column(5))) with linespoints linewidth 4 linecolor rgb orange pointtype 7 pointsize 1.2 title "80-20", \
     csv using 3:(cell("GBF5", "99-1", column(5))) with linespoints linewidth 1.5 linecolor rgb ink pointtype 7 pointsize 0.6 title "99-1", \
     csv using 3:(cell("GBF5 blocked", "50-50", column(5))) with linespoints linewidth 2 linecolor rgb green pointtype 9 pointsize 1.2 title "blocked layout"
