# Figures 7 and 9 of the paper on distributed Bloom filters: one network, round by round. A participant is filled when it has the
# whole set. At the top left is who sends to whom; all send at the same time.
load "eval/picture-style.gp"

set terminal svg size 1180,900 enhanced font "sans-serif,14" background "#ffffff"
set output results."/distributed-bloom-networks.svg"
participants = results."/distributed-bloom-participants.csv"
neighbours = results."/distributed-bloom-neighbours.csv"

array methods[4] = ["standard at once", "pair at once", "standard at once", "pair at once"]
array sizes[4] = ["fixed m", "fixed m", "changing m", "changing m"]
array titles[4] = ["Figure 7: one mapping for all", "Figure 7: a mapping for each pair", "Figure 9: one mapping for all", "Figure 9: a mapping for each pair"]
array colours[4] = [orange, blue, orange, blue]
rounds = 5

of(row, value) = strcol(1) eq methods[row] && strcol(2) eq sizes[row] ? value : NaN
across(number) = cos(2 * pi * number / 50)
up(number) = sin(2 * pi * number / 50)

set multiplot
unset key
unset border
unset tics
unset grid
set xrange [-1.15:1.15]
set yrange [-1.15:1.15]
set label 1 "A network of 50 participants, round by round; filled: has all 1,000 elements" at screen 0.5, screen 0.975 center font ",17" textcolor rgb ink
do for [row = 1:4] {
    do for [round = 0:rounds] {
        set lmargin at screen 0.02 + round * 0.162
        set rmargin at screen 0.02 + round * 0.162 + 0.145
        set tmargin at screen 0.905 - (row - 1) * 0.23
        set bmargin at screen 0.905 - (row - 1) * 0.23 - 0.19
        if (round == 0) {
            set label 2 sprintf("%s (%s)", titles[row], sizes[row]) at screen 0.02, screen 0.92 - (row - 1) * 0.23 left textcolor rgb ink
            if (row == 1) {
                plot neighbours using (across($1)):(up($1)):(across($2) - across($1)):(up($2) - up($1)) with vectors nohead linewidth 0.3 linecolor rgb quiet, \
                     participants using (of(row, across(column(3)))):(of(row, up(column(3)))) with points pointtype 7 pointsize 0.5 linecolor rgb ink
            } else {
                plot NaN
            }
            unset label 1
            unset label 2
        } else {
            stats participants using (of(row, column(4) > 0 && column(4) <= round ? 1 : 0)) nooutput name "whole"
            set label 3 sprintf("%d", whole_sum) at 0, 0 center font ",16" textcolor rgb ink
            if (row == 1) { set label 4 sprintf("after round %d", round) at screen 0.02 + round * 0.162 + 0.0725, screen 0.94 center textcolor rgb ink }
            plot participants using (of(row, across(column(3)))):(of(row, up(column(3)))) with points pointtype 6 pointsize 0.7 linecolor rgb quiet, \
                 participants using (column(4) > 0 && column(4) <= round ? of(row, across(column(3))) : NaN):(of(row, up(column(3)))) with points pointtype 7 pointsize 0.7 linecolor rgb colours[row]
            unset label 3
            unset label 4
        }
    }
}
unset multiplot
