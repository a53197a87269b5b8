# Figure 6.1c: the false-positive rate of the observed-remove cuckoo filter by sync interval, one line a split.
load "eval/picture-style.gp"

set terminal svg size 840,520 enhanced font "sans-serif,15" background "#ffffff"
set output results."/figure-6.1-orcf.svg"
csv = results."/figure-6.1-grow-only.csv"

cell(split, rate) = strcol(1) eq "ORCF4" && strcol(2) eq split ? 100 * rate : NaN

stats csv using (cell("all local", column(5))) nooutput name "local"

set title "Observed-remove cuckoo filter, four slots of eight bits: within the bound" font ",17" offset 0,0.4
set xlabel "merge every … operations, of 2^{20}  in all"
set ylabel "false-positive rate (%)"
set logscale x
set xrange [700:1.4e7]
set yrange [2.95:3.15]
set format x "10^{%T}"
set format y "%.2f"
set ytics 0.05

bound(split) = cell(split, column(9))
plot 3.125 with lines dashtype 2 linewidth 2 linecolor rgb ink title "theory, α = 1", \
     csv using 3:(cell("50-50", column(5))) with linespoints linewidth 2.5 linecolor rgb blue pointtype 7 pointsize 1.0 title "50-50", \
     csv using 3:(cell("80-20", column(5))) with linespoints linewidth 2.5 linecolor rgb orange pointtype 5 pointsize 0.9 title "80-20", \
     csv using 3:(cell("99-1", column(5))) with linespoints linewidth 2.5 linecolor rgb green pointtype 9 pointsize 1.1 title "99-1", \
     local_mean with lines dashtype 3 linewidth 2 linecolor rgb quiet title "all local", \
     NaN with lines dashtype 4 linewidth 1.2 linecolor rgb ink title "bound 2cα/2^l", \
     csv using 3:(bound("50-50")) with lines dashtype 4 linewidth 1.2 linecolor rgb blue notitle, \
     csv using 3:(bound("80-20")) with lines dashtype 4 linewidth 1.2 linecolor rgb orange notitle, \
     csv using 3:(bound("99-1")) with lines dashtype 4 linewidth 1.2 linecolor rgb green notitle
