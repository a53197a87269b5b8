# Gives every file to z3; each (check-sat) must answer what the comment behind it expects.
cd "$(dirname "$0")" || exit 1
fail=0
for file in *.smt2; do
    expected=$(sed -n 's/.*(check-sat) ; expect \(.*\)$/\1/p' "$file")
    answers=$(timeout 120 z3 "$file" 2>&1)
    goals=$(printf '%s\n' "$expected" | grep -c .)
    if [ "$goals" -gt 0 ] && [ "$expected" = "$answers" ]; then
        for _ in $expected; do echo "ok $file"; done
    else
        echo "not ok $file"
        diff <(printf '%s\n' "$expected") <(printf '%s\n' "$answers")
        fail=1
    fi
done
exit $fail
