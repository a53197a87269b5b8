# Figures 14, 15 and 17 of the paper on forgetful Bloom filters: 14 with ten processes and with three regions of real servers, the others on
# the module in a real server.
load "eval/picture-style.gp"

set terminal svg size 1180,960 enhanced font "sans-serif,14" background "#ffffff"
set output results."/idempotent-counters.svg"
processes = results."/figure-14.csv"
servers = results."/figure-14-servers.csv"
errors = results."/figure-17.csv"
times = results."/figure-15.csv"

set datafile missing NaN

# Before there are ranges, which would cut these too.
stats times using (strcol(1) eq "through a network" && column(2) == 50 ? column(3) : NaN) nooutput name "plain"
stats processes using ($1 == 5000 ? $2 : NaN) nooutput name "value"
stats processes using ($1 == 5000 ? $3 : NaN) nooutput name "twice"
stats servers using ($1 == 5000 ? $2 : NaN) nooutput name "regions"
stats servers using ($1 == 5000 ? $6 : NaN) nooutput name "unheard"

unset lmargin
unset rmargin
set key inside top left Left reverse samplen 2 spacing 1.1 width -4
set multiplot layout 2,2 margins 0.075,0.985,0.065,0.96 spacing 0.095,0.13
set xlabel offset 0,0.3
set ylabel offset 0.5,0

set title "Figure 14: ten processes, retries, kill -9" offset 0,-0.4
set xlabel "operations"
set ylabel "counted beyond the operations"
set xrange [0:5150]
set yrange [-30:350]
set ytics 0,100,300
set label 1 sprintf("%d counted: %d of them were\nsent again where nobody\nhad heard of them", value_mean, twice_mean) at 5000, 125 right textcolor rgb ink
plot processes using 1:($4 - $1) with linespoints linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.8 title "without a window", \
     processes using 1:($2 - $1) with linespoints linewidth 2 linecolor rgb blue pointtype 7 pointsize 0.8 title "with a window", \
     0.06 * x with lines linestyle 2 title "the paper, without: 6 %", \
     processes using 1:3 with lines linestyle 3 title "due, with a window (the paper: exact)"

set key bottom left
set title "Figure 14 on servers: three regions, two links, kill -9"
set yrange [-450:350]
set ytics -400,200,200
set label 1 sprintf("%d in all three,\n%d sent where nobody\nhad heard of them", regions_mean, unheard_mean) at 5050, -180 right textcolor rgb ink
set label 2 "both links dead" at 2750, -330 left textcolor rgb ink
set label 3 "tyo lost,\nreplaced" at 3250, -90 center textcolor rgb ink
set arrow 3 from 3420, -65 to 3500, 15 nohead linecolor rgb quiet dashtype 2
known(value) = strcol(value) eq "" ? NaN : column(value)
plot servers using 1:(known(5) - $1) with linespoints linewidth 2 linecolor rgb orange pointtype 5 pointsize 0.8 title "without a window", \
     servers using 1:(known(2) - $1) with linespoints linewidth 2 linecolor rgb blue pointtype 7 pointsize 1.1 title "with one: ams", \
     0.06 * x with lines linestyle 2 title "the paper: 6 %", \
     servers using 1:(known(3) - $1) with linespoints linewidth 1.4 linecolor rgb green pointtype 9 pointsize 0.8 title "tyo", \
     servers using 1:6 with lines linestyle 3 title "due, with a window", \
     servers using 1:(known(4) - $1) with linespoints linewidth 1.4 linecolor rgb rose pointtype 13 pointsize 0.6 title "nyc"
unset label
unset arrow
set key top left

set title "Figure 17: 500 operations with retries, by loss"
set xlabel "segments lost, %"
set ylabel "counted too much, %"
set xrange [0.5:5.5]
set yrange [-0.6:14]
set xtics (1, 3, 5)
set ytics 0,2,10
off(counter, latency) = strcol(3) eq counter && column(1) == latency ? column(7) : NaN
plot errors using 2:(off("without a window", 100)) with linespoints linewidth 2 pointtype 5 pointsize 0.9 linecolor rgb orange title "without, 100 ms each way", \
     errors using 2:(off("without a window", 50)) with linespoints linewidth 2 pointtype 9 pointsize 1.0 linecolor rgb sand title "without, 50 ms", \
     errors using 2:(off("without a window", 10)) with linespoints linewidth 2 pointtype 11 pointsize 1.0 linecolor rgb rose title "without, 10 ms", \
     5 with lines linestyle 2 title "the paper, without: 5 %", \
     errors using 2:(strcol(3) eq "with a window" ? column(7) : NaN) with points pointtype 7 pointsize 0.9 linecolor rgb blue title "with a window, all three (the paper: exact)"

set title "Figure 15: batches of updates, through a network of 2 ms"
set xlabel "updates in a batch"
set ylabel "until all are acknowledged, ms"
set xrange [5:55]
set yrange [0:160]
set xtics 10
set ytics 0,40,160
there(value) = strcol(1) eq "through a network" ? value : NaN
plot times using 2:(there(column(3))) with linespoints linewidth 2 pointtype 5 pointsize 0.9 linecolor rgb orange title "without a window", \
     times using 2:(there(column(4))) with linespoints linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb blue title "with a window", \
     "+" using (50):(1.1 * plain_mean) every ::::0 with points linestyle 1 title "the paper at 50: 10 % more than without"
unset multiplot
