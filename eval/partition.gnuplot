# README's picture: what is left of the promise after a partition, and what it costs. Rates are those of Figure 6.1d and e with a 50-50 split
# that merges once at the end; memory is that of ten replicas that add a tenth each and then meet. RedisBloom cannot merge: its memory is
# that of one filter that grew to as many keys in one place.
load "eval/picture-style.gp"

set terminal svg size 960,400 enhanced font "sans-serif,14" background "#ffffff"
set output "docs/partition.svg"
rates = results."/figure-6.1-scalable.csv"
healed = results."/heal.csv"
module_bits = 23.2 # RedisBloom 2.8, grown from 1,000 to 2^20 keys at 1 %

rate(filter, number) = strcol(1) eq filter && strcol(2) eq "50-50" && column(3) == 10000000 ? 100 * number : NaN
memory(filter) = strcol(1) eq filter && strcol(2) eq "balanced" && strcol(3) eq "apart" ? column(10) : NaN
stats rates using (rate("ScGBF5", column(10))) nooutput name "rule_bloom"
stats rates using (rate("ScGCF4", column(10))) nooutput name "rule_cuckoo"
stats rates using (rate("ScGBF", column(5))) nooutput name "bloom"
stats rates using (rate("ScGCF", column(5))) nooutput name "cuckoo"
stats healed using (memory("ScGCF")) nooutput name "cuckoo_bits"
stats healed using (memory("ScGBF")) nooutput name "bloom_bits"

set multiplot
set style fill solid 1.0 noborder
set boxwidth 0.62
set tics scale 0
unset key
set tmargin at screen 0.80
set bmargin at screen 0.20
set label 1 "Two regions grow apart, then merge:\nfalse positives, %" at screen 0.3, screen 0.95 center font ",16" textcolor rgb ink
set lmargin at screen 0.065
set rmargin at screen 0.545
set xrange [0.5:5.5]
set yrange [0:33]
set ytics 0,10,30
set xtics ("Bloom\nthesis's rule" 1, "cuckoo\nthesis's rule" 2, "RedisBloom" 3, "Bloom\nRoost" 4, "cuckoo\nRoost" 5)
set label 2 "cannot merge" at 3, 1.5 center textcolor rgb ink
set label 3 "promised: 3.125" at 3, 4.9 center textcolor rgb ink
set label 4 sprintf("%.1f", rule_bloom_mean) at 1, rule_bloom_mean + 1.6 center textcolor rgb ink
set label 5 sprintf("%.1f", rule_cuckoo_mean) at 2, rule_cuckoo_mean + 1.6 center textcolor rgb ink
set label 6 sprintf("%.1f", bloom_mean) at 4, 4.9 center textcolor rgb ink
set label 7 sprintf("%.1f", cuckoo_mean) at 5, 4.9 center textcolor rgb ink
plot "+" using (1):(rule_bloom_mean) every ::::0 with boxes linecolor rgb orange, \
     "+" using (2):(rule_cuckoo_mean) every ::::0 with boxes linecolor rgb orange, \
     "+" using (4):(bloom_mean) every ::::0 with boxes linecolor rgb blue, \
     "+" using (5):(cuckoo_mean) every ::::0 with boxes linecolor rgb blue, \
     3.125 with lines linestyle 3

unset label
set label 1 "Ten regions, healed, 1 % kept:\nbits a key" at screen 0.805, screen 0.95 center font ",16" textcolor rgb ink
set lmargin at screen 0.635
set rmargin at screen 0.985
set xrange [0.5:3.5]
set yrange [0:55]
set ytics 0,20,40
set xtics ("RedisBloom\none region alone" 1, "Bloom\nRoost" 2, "cuckoo\nRoost" 3)
set label 2 sprintf("%.1f", module_bits) at 1, module_bits + 2.6 center textcolor rgb ink
set label 3 sprintf("%.0f to %.0f", bloom_bits_min, bloom_bits_max) at 2, bloom_bits_max + 2.6 center textcolor rgb ink
set label 4 sprintf("%.0f to %.0f", cuckoo_bits_min, cuckoo_bits_max) at 3, cuckoo_bits_max + 2.6 center textcolor rgb ink
plot "+" using (1):(module_bits) every ::::0 with boxes linecolor rgb quiet, \
     "+" using (2):(bloom_bits_mean) every ::::0 with boxes linecolor rgb blue, \
     "+" using (3):(cuckoo_bits_mean) every ::::0 with boxes linecolor rgb blue, \
     "+" using (2):(bloom_bits_min):(0):(bloom_bits_max - bloom_bits_min) every ::::0 with vectors nohead linecolor rgb ink linewidth 2
unset multiplot
