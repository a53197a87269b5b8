#!/usr/bin/env bash
# Files that are added to, removed from, synced, merged, copied, linked and restored at random, beside an exact model.
. "$(dirname "$0")/harness.sh"

seed=${ROOST_SEED:-1}
echo "# seed $seed (ROOST_SEED=N tries another)"
steps=$(brief 100 300)
holds "$steps random steps of four files agree with the model" python3 "$tests/model.py" "$ROOST" "$seed" "$steps"
sed 's/^/# /' "$output/out"

finish
