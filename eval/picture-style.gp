# The look that the pictures share: a white ground, which also stands on dark pages, quiet axes, the colours of Okabe and Ito,
# which most eyes tell apart. What a paper reports in figures is drawn in ink: points as open diamonds, lines dotted.
# Loaded by the *.gnuplot scripts, which run from the root of the project.

if (!exists("results")) results = "eval/results"

ink    = "#222222"
quiet  = "#8a8a8a"
faint  = "#e4e4e4"
blue   = "#0072b2"
orange = "#d55e00"
green  = "#009e73"
sky    = "#56b4e9"
sand   = "#e69f00"
rose   = "#cc79a7"

# Of the paper: a point, a line. Ours: a curve.
set style line 1 linewidth 2 linecolor rgb ink pointtype 12 pointsize 1.7
set style line 2 linewidth 2 linecolor rgb ink dashtype 3
set style line 3 linewidth 2 linecolor rgb ink dashtype 2

set datafile separator comma
set encoding utf8
set border 3 linewidth 1 linecolor rgb quiet
set tics nomirror out scale 0.6 textcolor rgb ink
set grid ytics linetype 1 linewidth 1 linecolor rgb faint
set key textcolor rgb ink samplen 2.5 spacing 1.25
set key outside right center vertical Left reverse width -1
set title textcolor rgb ink
set xlabel textcolor rgb ink
set ylabel textcolor rgb ink
set mxtics 1
set lmargin at screen 0.115
set rmargin at screen 0.745
