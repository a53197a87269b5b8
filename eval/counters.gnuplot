# Figures 15 and 17 of the paper on forgetful Bloom filters, on the module in a real server.
load "eval/picture-style.gp"

set terminal svg size 1180,420 enhanced font "sans-serif,14" background "#ffffff"
set output results."/idempotent-counters.svg"
errors = results."/figure-17.csv"
times = results."/figure-15.csv"

set datafile missing NaN
unset lmargin
unset rmargin
set key inside top left samplen 1.5 spacing 1.2
set multiplot layout 1,2 margins 0.06,0.985,0.15,0.9 spacing 0.09,0.1
set title offset 0,-0.5
set xlabel offset 0,0.3

set title "Figure 17: 500 operations with retries, by loss"
set xlabel "segments lost, %"
set ylabel "counted too much, %"
set xrange [0.5:5.5]
set yrange [-0.6:12]
set xtics 1
off(counter, latency) = strcol(3) eq counter && column(1) == latency ? column(7) : NaN
plot errors using 2:(off("without a window", 100)) with linespoints pointtype 7 linecolor rgb orange title "without a window, 100 ms", \
     errors using 2:(off("without a window", 50)) with linespoints pointtype 7 linecolor rgb sand title "50 ms", \
     errors using 2:(off("without a window", 10)) with linespoints pointtype 7 linecolor rgb rose title "10 ms", \
     errors using 2:(strcol(3) eq "with a window" ? column(7) : NaN) with points pointtype 5 linecolor rgb blue title "with a window, all three"

set title "Figure 15: batches of updates, through a network of 2 ms"
set xlabel "updates in a batch"
set ylabel "until all are acknowledged, ms"
set xrange [5:55]
set yrange [0:*]
set xtics 10
there(value) = strcol(1) eq "through a network" ? value : NaN
plot times using 2:(there(column(3))) with linespoints pointtype 7 linecolor rgb orange title "without a window", \
     times using 2:(there(column(4))) with linespoints pointtype 5 linecolor rgb blue title "with a window"
unset multiplot
