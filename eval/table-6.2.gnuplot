# Table 6.2: bytes an element of the observed-remove filter (left) and of a plain set of the same keys (right), ours and
# the thesis's.
load "eval/picture-style.gp"

set terminal svg size 1120,500 enhanced font "sans-serif,15" background "#ffffff"
set output results."/table-6.2.svg"
csv = results."/table-6.2.csv"

# A bar is the row of this workload, structure and form. What is higher than the picture ends at its top, with a break in the
# bar that says so.
top = 16
is(share, workload, structure, form) = column(1) == share && strcol(2) eq workload && strcol(3) eq structure && strcol(5) eq form
bytes(share, workload, structure, form) = is(share, workload, structure, form) ? column(9) : NaN
text(share, workload, structure, form, format) = is(share, workload, structure, form) ? sprintf(format, column(9)) : ""
cut(height) = height > top ? top : height
group(share, workload) = (workload eq "all local" ? 0 : 3) + (share == 100 ? 1 : share == 80 ? 2 : 3)
colour(form) = form eq "frame" || form eq "coded" ? blue : form eq "uncoded" ? sky : form eq "gzip" ? sand : orange

set boxwidth 0.25
set style fill solid 1.0 noborder
set tics scale 0
set bmargin at screen 0.15
set tmargin at screen 0.73
workloads = "'all local' '50-50 split'"
shares = "100 80 51"
forms = "frame gzip raw"

set multiplot
set label 1 "Bytes an element with removes: Roost's frames beside Table 6.2 of the thesis" at screen 0.5, screen 0.95 center font ",17" textcolor rgb ink

set lmargin at screen 0.07
set rmargin at screen 0.72
set xrange [0.45:6.55]
set yrange [0:top]
set ytics 4
do for [i = 0:1] {
    middle = 3 + 3 * i + 0.27
    do for [j = 0:1] {
        height = 14.2 + 0.55 * j
        set object 10 + 2 * i + j polygon from middle - 0.16, height - 0.3 to middle + 0.16, height + 0.3 to middle + 0.16, height + 0.52 to middle - 0.16, height - 0.08 to middle - 0.16, height - 0.3 front fillcolor rgb "#ffffff" fillstyle solid noborder
    }
}
set ylabel "bytes an element"
set xtics ("100 %% adds\nall local" 1, "80 %%\nall local" 2, "51 %%\nall local" 3, "100 %% adds\n50-50 split" 4, "80 %%\n50-50 split" 5, "51 %%\n50-50 split" 6)
set key at screen 0.5, screen 0.9 center top horizontal Left reverse maxrows 1 samplen 1.2 width 1
shift(form) = form eq "frame" ? -0.27 : form eq "gzip" ? 0 : 0.27
format(share, form) = share == 51 && form eq "raw" ? "%.0f" : "%.2f"
plot for [p in shares] for [w in workloads] for [f in forms] \
        csv using (group(p + 0, w) + shift(f)):(cut(bytes(p + 0, w, "ORCF4", f))) with boxes linecolor rgb colour(f) notitle, \
     for [p in shares] for [w in workloads] for [f in forms] \
        csv using (group(p + 0, w) + shift(f)):(cut(bytes(p + 0, w, "ORCF4", f))):(text(p + 0, w, "ORCF4", f, format(p + 0, f))) \
        with labels offset 0,0.6 font ",12" textcolor rgb ink notitle, \
     NaN with boxes linecolor rgb blue title "Roost", \
     NaN with boxes linecolor rgb sky title "Roost, uncoded keys", \
     NaN with boxes linecolor rgb sand title "thesis, gzipped", \
     NaN with boxes linecolor rgb orange title "thesis, raw"

unset label 1
unset object
set lmargin at screen 0.79
set rmargin at screen 0.985
set xrange [0.4:1.6]
set yrange [0:55]
set ytics 10
set ylabel "bytes an element (other scale)"
set xtics ("plain set, 80 %% adds\nall local" 1)
set boxwidth 0.23
shift(form) = form eq "coded" ? -0.375 : form eq "uncoded" ? -0.125 : form eq "gzip" ? 0.125 : 0.375
set_forms = "coded uncoded gzip raw"
w = "all local"
plot for [f in set_forms] csv using (1 + shift(f)):(bytes(80, w, "ORSet", f)) with boxes linecolor rgb colour(f) notitle, \
     for [f in set_forms] csv using (1 + shift(f)):(bytes(80, w, "ORSet", f)):(text(80, w, "ORSet", f, "%.2f")) \
        with labels offset 0,0.6 font ",12" textcolor rgb ink notitle
unset multiplot
