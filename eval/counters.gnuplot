# Figures 15 and 17 of the paper on forgetful Bloom filters, on the module in a real server.
load "eval/picture-style.gp"

set terminal svg size 1180,460 enhanced font "sans-serif,14" background "#ffffff"
set output results."/idempotent-counters.svg"
errors = results."/figure-17.csv"
times = results."/figure-15.csv"

set datafile missing NaN

# Before there are ranges, which would cut these too.
stats times using (strcol(1) eq "through a network" && column(2) == 50 ? column(3) : NaN) nooutput name "plain"

unset lmargin
unset rmargin
set key inside top left Left reverse samplen 2 spacing 1.15 width 0
set multiplot layout 1,2 margins 0.065,0.985,0.14,0.91 spacing 0.095,0.1
set title offset 0,-0.4
set xlabel offset 0,0.3

set title "Figure 17: 500 operations with retries, by loss"
set xlabel "segments lost, %"
set ylabel "counted too much, %"
set xrange [0.5:5.5]
set yrange [-0.6:17]
set xtics (1, 3, 5)
set ytics 0,2,10
off(counter, latency) = strcol(3) eq counter && column(1) == latency ? column(7) : NaN
plot errors using 2:(off("without a window", 100)) with linespoints linewidth 2 pointtype 5 pointsize 0.9 linecolor rgb orange title "without a window, 100 ms each way", \
     errors using 2:(off("without a window", 50)) with linespoints linewidth 2 pointtype 9 pointsize 1.0 linecolor rgb sand title "without a window, 50 ms", \
     errors using 2:(off("without a window", 10)) with linespoints linewidth 2 pointtype 11 pointsize 1.0 linecolor rgb rose title "without a window, 10 ms", \
     errors using 2:(strcol(3) eq "with a window" ? column(7) : NaN) with points pointtype 7 pointsize 0.9 linecolor rgb blue title "with a window, all three (the paper: exact)", \
     5 with lines linestyle 2 title "the paper, without: 5 % on average"

set title "Figure 15: batches of updates, through a network of 2 ms"
set xlabel "updates in a batch"
set ylabel "until all are acknowledged, ms"
set xrange [5:55]
set yrange [0:*]
set xtics 10
set ytics autofreq
there(value) = strcol(1) eq "through a network" ? value : NaN
plot times using 2:(there(column(3))) with linespoints linewidth 2 pointtype 5 pointsize 0.9 linecolor rgb orange title "without a window", \
     times using 2:(there(column(4))) with linespoints linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb blue title "with a window", \
     "+" using (50):(1.1 * plain_mean) every ::::0 with points linestyle 1 title "the paper at 50: 10 % more than without"
unset multiplot
