# Table 6.1: bytes an element of the filters (left) and of a plain set of the same keys (right), ours and the thesis's.
load "eval/picture-style.gp"

set terminal svg size 960,500 enhanced font "sans-serif,15" background "#ffffff"
set output results."/table-6.1.svg"
csv = results."/table-6.1.csv"

# A bar is the row of this workload, structure and form.
is(workload, structure, form) = strcol(1) eq workload && strcol(2) eq structure && strcol(4) eq form
group(workload, structure) = (structure eq "GCF4" ? 2 : 0) + (workload eq "all local" ? 1 : 2)
bytes(workload, structure, form) = is(workload, structure, form) ? column(8) : NaN
text(workload, structure, form) = is(workload, structure, form) ? sprintf("%.2f", column(8)) : ""
colour(form) = form eq "frame" || form eq "Rice-coded" ? blue : form eq "sorted" ? sky : form eq "gzip" ? sand : orange

set boxwidth 0.25
set style fill solid 1.0 noborder
set tics scale 0
set bmargin at screen 0.15
set tmargin at screen 0.78
workloads = "'all local' '50-50 split'"

set multiplot
set label 1 "Bytes an element: Roost's frames beside Table 6.1 of the thesis" at screen 0.5, screen 0.95 center font ",17" textcolor rgb ink

set lmargin at screen 0.085
set rmargin at screen 0.66
set xrange [0.45:4.55]
set yrange [0:4]
set ytics 1
set ylabel "bytes an element"
set xtics ("GBF_{5}\nall local" 1, "GBF_{5}\n50-50 split" 2, "GCF_{4}\nall local" 3, "GCF_{4}\n50-50 split" 4)
set key at screen 0.5, screen 0.895 center top horizontal Left reverse maxrows 1 samplen 1.2 width 0
shift(form) = form eq "frame" ? -0.27 : form eq "gzip" ? 0 : 0.27
plot for [s in "GBF5 GCF4"] for [w in workloads] for [f in "frame gzip raw"] \
        csv using (group(w, s) + shift(f)):(bytes(w, s, f)) with boxes linecolor rgb colour(f) notitle, \
     for [s in "GBF5 GCF4"] for [w in workloads] for [f in "frame gzip raw"] \
        csv using (group(w, s) + shift(f)):(bytes(w, s, f)):(text(w, s, f)) with labels offset 0,0.6 font ",12" textcolor rgb ink notitle, \
     NaN with boxes linecolor rgb blue title "Roost", \
     NaN with boxes linecolor rgb sky title "Roost, uncoded keys", \
     NaN with boxes linecolor rgb sand title "thesis, gzipped", \
     NaN with boxes linecolor rgb orange title "thesis, raw"

unset label 1
set lmargin at screen 0.76
set rmargin at screen 0.985
set xrange [0.4:1.6]
set yrange [0:24]
set ytics 5
set ylabel "bytes an element (other scale)"
set xtics ("plain set\nlocal or split" 1)
set boxwidth 0.23
shift(form) = form eq "Rice-coded" ? -0.375 : form eq "sorted" ? -0.125 : form eq "gzip" ? 0.125 : 0.375
set_forms = "Rice-coded sorted gzip raw"
w = "all local"
plot for [f in set_forms] csv using (1 + shift(f)):(bytes(w, "GSet", f)) with boxes linecolor rgb colour(f) notitle, \
     for [f in set_forms] csv using (1 + shift(f)):(bytes(w, "GSet", f)):(text(w, "GSet", f)) \
        with labels offset 0,0.6 font ",12" textcolor rgb ink notitle
unset multiplot
