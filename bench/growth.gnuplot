# Filters while they grow from 1,000 to 10^8 keys: memory, look-ups, the slowest addition. Of other filters, and of Roost before it
# had one table, the points that were measured: grown in the same way, at 1 %, by one writer, on other machines.
results = "bench"
load "eval/picture-style.gp"

set terminal svg size 960,1020 enhanced font "sans-serif,14" background "#ffffff"
set output "bench/growth.svg"
csv = "bench/growth.csv"

filters = "ScGCF ScORCF ScGBF"
colour(filter) = filter eq "ScGBF" ? blue : filter eq "ScGCF" ? orange : green
named(filter) = filter eq "ScGBF" ? "Bloom series (ScGBF)" : filter eq "ScGCF" ? "cuckoo (ScGCF)" : "observed-remove (ScORCF)"
row(filter, value) = strcol(1) eq filter ? value : NaN

$before << END
1048576,20,55
10000000,NaN,125
END
$module << END
1048576,23.2,280
10000000,NaN,495
END
$taffy_cuckoo << END
1048576,32,62
END
$taffy_block << END
1048576,56,21
END

set multiplot
set label 1 "One filter, grown from 1,000 to 100 million keys, 1 %" at screen 0.5, screen 0.975 center font ",17" textcolor rgb ink
set lmargin at screen 0.02
set rmargin at screen 0.98
set tmargin at screen 0.95
set bmargin at screen 0.9
set border 0
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
set key inside center center horizontal Left reverse maxcols 4 maxrows 2 samplen 2 width -3
plot for [f in filters] NaN with lines linewidth 3 linecolor rgb colour(f) title named(f), \
     NaN with points linewidth 2 linecolor rgb ink pointtype 12 pointsize 1.2 title "cuckoo series, before", \
     NaN with points linewidth 2 linecolor rgb ink pointtype 4 pointsize 1 title "RedisBloom", \
     NaN with points linewidth 2 linecolor rgb ink pointtype 8 pointsize 1.1 title "Taffy cuckoo", \
     NaN with points linewidth 2 linecolor rgb ink pointtype 6 pointsize 1 title "Taffy block"

unset label 1
load "eval/picture-style.gp"
unset key
set lmargin at screen 0.1
set rmargin at screen 0.97
set logscale x
set xrange [1000:1.1e8]
set xtics nomirror ("1,000" 1000, "10^4" 1e4, "10^5" 1e5, "10^6" 1e6, "10^7" 1e7, "10^8" 1e8)

curves(i) = sprintf("for [f in filters] csv using 2:(row(f, column(%d))) with lines linewidth 2.4 linecolor rgb colour(f)", i)
points(i) = sprintf("$before using 1:%d with points linewidth 2 linecolor rgb ink pointtype 12 pointsize 1.2, $module using 1:%d with points linewidth 2 linecolor rgb ink pointtype 4 pointsize 1, $taffy_cuckoo using 1:%d with points linewidth 2 linecolor rgb ink pointtype 8 pointsize 1.1, $taffy_block using 1:%d with points linewidth 2 linecolor rgb ink pointtype 6 pointsize 1", i, i, i, i)

set tmargin at screen 0.855
set bmargin at screen 0.655
set yrange [0:90]
set ytics nomirror 20
set title "memory, bits a key" offset 0,-0.4
eval "plot ".curves(3).", ".points(2)

set tmargin at screen 0.585
set bmargin at screen 0.375
set logscale y
set yrange [4:1000]
set ytics nomirror (5, 10, 20, 50, 100, 200, 500, 1000)
set title "look-up of a key that is not in it, in batches, ns" offset 0,-0.4
eval "plot ".curves(5).", ".points(3)

set tmargin at screen 0.305
set bmargin at screen 0.09
set yrange [1:100000]
set ytics nomirror ("1 µs" 1, "10 µs" 10, "100 µs" 100, "1 ms" 1000, "10 ms" 10000, "100 ms" 100000)
set title "the slowest single addition so far" offset 0,-0.4
set xlabel "keys"
eval "plot ".curves(7)
unset multiplot
