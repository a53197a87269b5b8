# Figure 6.1d,e,f: the false-positive rate of filters that grow, by sync interval: the thesis's setting, ours, and what the
# thesis's own rule comes to in its setting. One colour a split.
load "eval/picture-style.gp"

set terminal svg size 1120,560 enhanced font "sans-serif,14" background "#ffffff"
set output results."/figure-6.1-scalable.svg"
csv = results."/figure-6.1-scalable.csv"

cell(filter, split, rate) = strcol(1) eq filter && strcol(2) eq split ? 100 * rate : NaN
# Of the observed-remove filter, whose rate is too low to be measured, by its state.
rate_of(filter) = filter eq "ScORCF" ? column(8) : column(5)

splits = "50-50 80-20 99-1"
colour(split) = split eq "50-50" ? blue : split eq "80-20" ? orange : green

set multiplot
set label 1 "Filters that grow: within the promise at every split and sync interval" at screen 0.5, screen 0.96 center font ",17" textcolor rgb ink

# The key has a frame of its own, as wide as the picture.
set lmargin at screen 0.02
set rmargin at screen 0.98
set tmargin at screen 0.93
set bmargin at screen 0.84
set border 0
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
set key inside center center horizontal Left reverse maxrows 2 samplen 2.4 width 2
plot for [s in splits] NaN with lines linewidth 4 linecolor rgb colour(s) title s, \
     NaN with lines dashtype 2 linewidth 2 linecolor rgb ink title "promised", \
     NaN with lines dashtype 3 linewidth 2 linecolor rgb ink title "thesis's rule", \
     NaN with linespoints linewidth 2.2 linecolor rgb ink pointtype 7 pointsize 0.8 title "Roost, as thesis", \
     NaN with linespoints linewidth 1.2 linecolor rgb ink pointtype 6 pointsize 0.9 title "Roost, default"

unset label 1
load "eval/picture-style.gp"
unset key
set tmargin at screen 0.79
set bmargin at screen 0.14
set logscale xy
set xrange [700:1.4e7]
set yrange [2e-5:60]
set format x "10^{%T}"
set format y "%g"
set xtics nomirror
set ytics nomirror ("10^{-4}" 1e-4, "0.001" 0.001, "0.01" 0.01, "0.1" 0.1, "1" 1, "3.125" 3.125, "10" 10, "30" 30)
set grid ytics
set xlabel "merge every … operations"
array ours[3] = ["ScGBF", "ScGCF", "ScORCF"]
array thesis[3] = ["ScGBF5", "ScGCF4", "ScORCF4"]
array titles[3] = ["d: Bloom", "e: cuckoo", "f: observed-remove cuckoo"]
do for [i = 1:3] {
    left = 0.08 + (i - 1) * 0.31
    set lmargin at screen left
    set rmargin at screen left + 0.27
    set title titles[i] offset 0,-0.6
    if (i == 1) { set ylabel "false-positive rate (%)" offset 1.5,0; set format y "%g" } else { unset ylabel; set ytics ("" 1e-4, "" 0.001, "" 0.01, "" 0.1, "" 1, "" 3.125, "" 10, "" 30) }
    if (i == 3) { set label 2 "default: by its state" at graph 0.05, graph 0.15 textcolor rgb ink }
    plot 3.125 with lines dashtype 2 linewidth 2 linecolor rgb ink, \
         for [s in splits] csv using 3:(cell(thesis[i], s, column(10))) with lines dashtype 3 linewidth 2 linecolor rgb colour(s), \
         for [s in splits] csv using 3:(cell(thesis[i], s, column(5))) with linespoints linewidth 2.2 linecolor rgb colour(s) pointtype 7 pointsize 0.8, \
         for [s in splits] csv using 3:(cell(ours[i], s, rate_of(ours[i]))) with linespoints linewidth 1.2 linecolor rgb colour(s) pointtype 6 pointsize 0.9
}
unset multiplot
