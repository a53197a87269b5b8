# Memory after ten replicas filled up apart and met, by the number of elements, as a multiple of one filter of fixed size.
load "eval/picture-style.gp"

set terminal svg size 960,540 enhanced font "sans-serif,14" background "#ffffff"
set output results."/heal.svg"
csv = results."/heal.csv"

row(filter, split, course, value) = strcol(1) eq filter && strcol(2) eq split && strcol(3) eq course ? value : NaN

filters = "ScGBF ScGCF ScORCF"
colour(filter) = filter eq "ScGBF" ? blue : filter eq "ScGCF" ? orange : green

set multiplot
set label 1 "Memory of ten healed replicas, beside one filter of fixed size" at screen 0.5, screen 0.955 center font ",17" textcolor rgb ink

# The key has a frame of its own, as wide as the picture.
set lmargin at screen 0.02
set rmargin at screen 0.98
set tmargin at screen 0.92
set bmargin at screen 0.81
set border 0
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
set key inside center center horizontal Left reverse maxrows 2 samplen 2.4 width 2
plot for [f in filters] NaN with lines linewidth 4 linecolor rgb colour(f) title f, \
     NaN with linespoints linewidth 2.2 linecolor rgb ink pointtype 7 pointsize 0.9 title "apart", \
     NaN with linespoints dashtype 2 linewidth 1.6 linecolor rgb ink pointtype 6 pointsize 0.9 title "meeting", \
     NaN with lines linestyle 2 title "aim: 2.5, unless told"

unset label 1
load "eval/picture-style.gp"
unset key
set tmargin at screen 0.74
set bmargin at screen 0.14
set logscale y
set xrange [120:250]
set yrange [0.7:60]
set xtics nomirror 20
set ytics nomirror (1, 1.5, 2.5, 5, 10, 20, 40)
set xlabel "elements (thousands)"
array splits[2] = ["balanced", "99-1"]
array titles[2] = ["balanced", "99 of 100 elements at one replica"]
do for [i = 1:2] {
    left = 0.08 + (i - 1) * 0.48
    set lmargin at screen left
    set rmargin at screen left + 0.42
    set title titles[i] offset 0,-0.6
    if (i == 1) { set ylabel "times one filter" offset 1,0 } else { unset ylabel }
    if (i == 2) {
        set label 3 "aim of ScGBF, apart: 10" at 248, 10 right offset 0,0.6 textcolor rgb ink
        set label 4 "meeting: 3" at 248, 3 right offset 0,0.6 textcolor rgb ink
    }
    plot 2.5 with lines linestyle 2, \
         i == 2 ? 10 : NaN with lines dashtype 3 linewidth 2 linecolor rgb blue, \
         i == 2 ? 3 : NaN with lines dashtype 3 linewidth 2 linecolor rgb blue, \
         for [f in filters] csv using (column(4) / 1000):(row(f, splits[i], "apart", column(12))) with linespoints linewidth 2.2 linecolor rgb colour(f) pointtype 7 pointsize 0.9, \
         for [f in filters] csv using (column(4) / 1000):(row(f, splits[i], "meeting", column(12))) with linespoints dashtype 2 linewidth 1.6 linecolor rgb colour(f) pointtype 6 pointsize 0.9
}
unset multiplot
