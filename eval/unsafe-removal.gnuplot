# Left: elements that removes of keys hide which were never added, measured and by theory. Right: how often removers of colliding
# elements that pick at random take the same entry, measured and by the thesis's Equation 3.19.
load "eval/picture-style.gp"

set terminal svg size 960,500 enhanced font "sans-serif,14" background "#ffffff"
set output results."/unsafe-removal.svg"
hidden = results."/unsafe-removal.csv"
picks = results."/equation-3.19.csv"
slots = 1048576

set multiplot
set label 1 "Removes that are not safe: measured (points) and theory (lines)" at screen 0.5, screen 0.955 center font ",17" textcolor rgb ink

filters = "'ORCF4' 'ORCF set of 16 bits' 'ORCF default'"
array colours[3] = [blue, orange, green]
array titles[3] = ["ORCF_4: 8-bit fingerprints", "set, 16 bits", "default set, 24 bits"]
row(name, value) = strcol(1) eq name && column(2) == slots ? value : NaN

set lmargin at screen 0.09
set rmargin at screen 0.5
set tmargin at screen 0.84
set bmargin at screen 0.14
set title "elements hidden by removes of keys never added" offset 0,-0.6
set logscale xy
set format y "10^{%L}"
set xlabel "removes for each element"
set ylabel "part of the elements hidden" offset 1,0
set xrange [0.05:20]
set yrange [1e-8:1e3]
set xtics ("1/16" 0.0625, "1/4" 0.25, "1" 1, "4" 4, "16" 16)
set ytics 1e-8, 100, 1
set key inside left top vertical Left reverse samplen 1.5
plot for [i = 1:3] hidden using 4:(row(word(filters, i), column(10))) with lines linewidth 1.6 linecolor rgb colours[i] notitle, \
     for [i = 1:3] hidden using 4:(row(word(filters, i), column(9))) with points pointtype 7 pointsize 0.9 linecolor rgb colours[i] title titles[i]

unset label 1
unset logscale
set format y "%g"
set lmargin at screen 0.6
set rmargin at screen 0.97
set title "two of d removers take the same of x entries" offset 0,-0.6
set xlabel "removers d"
set ylabel "chance" offset 1,0
set xrange [1.8:6.2]
set yrange [0:1.02]
set xtics 2, 1, 6
set ytics 0, 0.25, 1
set key inside right bottom vertical Left reverse samplen 1.5
array tints[5] = [blue, sky, green, sand, orange]
of(x, value) = strcol(1) eq "each another element" && strcol(2) eq "random entry" && column(3) == x ? value : NaN
plot for [n = 2:6] picks using 4:(of(n, column(8))) with lines linewidth 1.6 linecolor rgb tints[n - 1] notitle, \
     for [n = 2:6] picks using 4:(of(n, column(7))) with points pointtype 7 pointsize 0.9 linecolor rgb tints[n - 1] title sprintf("x = %d", n)
unset multiplot
