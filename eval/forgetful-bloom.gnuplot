# Figures 8 to 12 and 16 of the paper on forgetful Bloom filters, on Roost's windows.
load "eval/picture-style.gp"

set terminal svg size 1180,1290 enhanced font "sans-serif,14" background "#ffffff"
set output results."/forgetful-bloom.svg"
csv = results."/forgetful-bloom.csv"

# Rows of other curves count as missing, so that lines go on across them.
set datafile missing NaN
is(figure, series) = column(1) == figure && strcol(2) eq series
x(figure, series) = is(figure, series) ? column(3) : NaN
y(figure, series) = is(figure, series) ? column(4) : NaN
above(figure, series) = is(figure, series) && column(4) > 0 ? column(4) : NaN
never(figure, series, place) = is(figure, series) && column(4) == 0 ? place : NaN

# Before there are ranges, which would cut these too.
stats csv using (x(8, "simple") == 300 ? y(8, "simple") : NaN) nooutput name "simple"
stats csv using (x(11, "t = 1 s measured") == 100 ? y(11, "t = 1 s measured") : NaN) nooutput name "fast"
stats csv using (abs(x(12, "24 filters measured") - 100.8) < 0.1 ? y(12, "24 filters measured") : NaN) nooutput name "many"

unset lmargin
unset rmargin
set key inside right bottom Left reverse samplen 2 spacing 1.1 width -4
set multiplot layout 3,2 margins 0.085,0.985,0.05,0.97 spacing 0.11,0.09
set xlabel offset 0,0.3
set ylabel offset 0.5,0
set style data linespoints

set title "Figure 8: two checks, 6,250 bits" offset 0,-0.4
set xlabel "operations"
set ylabel "false positives"
set logscale y
set format y "10^{%T}"
set xrange [150:1050]
set yrange [1e-6:1]
set ytics ("10^{-6}" 1e-6, "10^{-4}" 1e-4, "10^{-2}" 1e-2, "1" 1)
plot csv using (x(8, "simple")):(above(8, "simple")) linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.8 title "any filter", \
     csv using (x(8, "optimised")):(above(8, "optimised")) linewidth 6 linecolor rgb sky pointtype 7 pointsize 1.2 title "pairs (the paper's)", \
     csv using (x(8, "slots")):(above(8, "slots")) linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.6 title "slots apart (Roost's)", \
     "+" using (300):(0.1 * simple_mean) every ::::0 with points linestyle 1 title "the paper at 300: 90 % less"

set title "Figure 9: Equation 3 and what is measured, 6,250 bits"
plot csv using (x(9, "measured")):(above(9, "measured")) with points linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.9 title "measured", \
     csv using (x(9, "estimate")):(y(9, "estimate")) with lines linestyle 2 title "the paper's Equation 3"

set key top right
# A million probes: none wrong is at most 3 in a million, with 95 of 100.
set title "Figure 10: Equation 3 and what is measured, 300 operations"
set xlabel "bits of a filter (thousands)"
set xrange [3:32]
set yrange [1e-8:1e-3]
set ytics ("10^{-8}" 1e-8, "10^{-7}" 1e-7, "10^{-6}" 1e-6, "10^{-5}" 1e-5, "10^{-4}" 1e-4, "10^{-3}" 1e-3)
plot csv using (x(10, "measured") / 1000):(above(10, "measured")) with points linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.9 title "measured", \
     csv using (x(10, "measured") / 1000):(never(10, "measured", 3e-6)) with points linewidth 2 linecolor rgb blue pointtype 10 pointsize 1.1 title "none of a million: below this", \
     csv using (x(10, "estimate") / 1000):(y(10, "estimate")) with lines linestyle 2 title "the paper's Equation 3"

set title "Figure 11: refresh period, 25,000 bits; lines: Equation 3"
set xlabel "operations a second"
set logscale x 2
set xrange [10:620]
set yrange [1e-12:1]
set ytics ("10^{-12}" 1e-12, "10^{-9}" 1e-9, "10^{-6}" 1e-6, "10^{-3}" 1e-3, "1" 1)
array periods[4] = ["5 s", "3 s", "2 s", "1 s"]
array tints[4] = [orange, sand, sky, blue]
array ends[4] = [5e-2, 8e-3, 1.7e-3, 7e-5] # of the lines, for their labels
array shapes[4] = [5, 9, 11, 7]
do for [i = 1:4] { set label i periods[i] at 440, ends[i] left textcolor rgb ink }
set key bottom right
plot for [i = 1:4] csv using (x(11, "t = ".periods[i])):(y(11, "t = ".periods[i])) with lines linewidth 2 linecolor rgb tints[i] notitle, \
     for [i = 1:4] csv using (x(11, "t = ".periods[i]." measured")):(above(11, "t = ".periods[i]." measured")) with points pointtype shapes[i] pointsize 0.9 linecolor rgb tints[i] notitle, \
     "+" using (100):(1000 * fast_mean) every ::::0 with points linestyle 1 title "the paper, 5 s: 1,000 times 1 s"
unset logscale x
unset label

set title "Figure 12: number of filters, 6,250 bits; lines: what is due"
set xtics auto
set xrange [20:120]
set yrange [1e-9:1]
set ytics ("10^{-8}" 1e-8, "10^{-6}" 1e-6, "10^{-4}" 1e-4, "10^{-2}" 1e-2, "1" 1)
array filters[4] = ["3", "6", "12", "24"]
plot for [i = 1:4] csv using (x(12, filters[i]." filters due")):(above(12, filters[i]." filters due")) with lines linewidth (i == 2 ? 8 : i == 3 ? 5 : 2) linecolor rgb tints[i] notitle, \
     for [i = 1:4] csv using (x(12, filters[i]." filters measured")):(above(12, filters[i]." filters measured")) with points pointtype shapes[i] pointsize (1.3 - 0.2 * i) linecolor rgb tints[i] title filters[i], \
     csv using (x(12, "24 filters")):(above(12, "24 filters")) with lines linestyle 2 title "24, Eq. 3", \
     "+" using (100.8):(5.5 * many_mean) every ::::0 with points linestyle 1 title "the paper, 3: 5.5 times 24"

set title "Figure 16: against a recyclable filter, 1,500 bits each"
set xlabel "retries for each 100 operations"
set ylabel "error, %"
set logscale xy
set xrange [5:1000]
set yrange [0.02:100]
set ytics ("none" 0.025, "0.1" 0.1, "1" 1, "10" 10, "100" 100)
set key top left
plot csv using (x(16, "recyclable")):(above(16, "recyclable")) linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.8 title "recyclable (the paper: exponential)", \
     csv using (x(16, "forgetful as in the paper")):(above(16, "forgetful as in the paper")) linewidth 2 linecolor rgb sky pointtype 9 pointsize 0.9 title "pairs (the paper: steady)", \
     csv using (x(16, "forgetful with slots apart")):(is(16, "forgetful with slots apart") ? (column(4) > 0.025 ? column(4) : 0.025) : NaN) linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.8 title "slots apart (Roost's)"
unset multiplot
