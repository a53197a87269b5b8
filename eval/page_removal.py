"""Blocks of the page: wrong specifications (Table 4.1 of the thesis), and removes that are not safe (Equation 3.19, section 8.2)."""
from page_tables import block, count, grid, one, percent, prose, rows, short, table, whole

LARGE = "1048576"
SIGNS = {
    "y <= x": "y ≤ x",
    "y >= x": "y ≥ x",
    "y subset of x": "y ⊆ x",
    "y superset of x": "y ⊇ x",
    "union": "x ∪ y",
    "intersection": "x ∩ y",
    "y if x = y, else empty": "y if x = y, else ∅",
    "{}": "∅",
}


def signed(text):
    return SIGNS.get(text, text)


# ---- Table 4.1 -----------------------------------------------------------------------------------------------------------


def refuted(row):
    return row["row"] != "Roost"


@block("table-4.1")
def table_of_specifications():
    found = table("table-4.1")
    body = [
        [
            f"{row['row']}: {row['payload']}" if refuted(row) else "Roost as it is",
            signed(row["merge"]),
            signed(row["compare"]),
            f"{row['run_on']}, {row['states']} states",
            "pass" if row.weak_laws_violated == 0 else "**FAIL**",
            whole(row.order_violated),
            whole(row.bound_violated),
            whole(row.inflation_violated),
            f"{signed(row['counterexample_x'])}, {signed(row['counterexample_y'])}" if row.order_violated else "none",
        ]
        for row in found
    ]
    head = ["row: payload", "merge", "compare", "run on", "weak laws", "order", "least upper bound", "inflation", "first x, y"]
    return grid(head, body, left=5)


# ---- removes that are not safe -------------------------------------------------------------------------------------------


def chance(removes, rule, entries, removers):
    return one("equation-3.19", removes=removes, rule=rule, entries=entries, removers=removers)


def pick_row(title, removes, cells):
    found = [chance(removes, "random entry", *cell) for cell in cells]
    return [title] + [f"{row.measured:.3f} ({row.expected:.3f})" for row in found]


def share(value):
    return "0" if value == 0 else percent(value, 2 if value >= 0.01 else 3) if value >= 1e-4 else short(value)


def strangers_row(filter, title):
    found = rows("unsafe-removal", filter=filter, slots=LARGE)
    return [title] + [f"{share(row.hidden_share)} ({share(row.expected_share)})" for row in found]


@block("unsafe-removal")
def unsafe_removal():
    apart = [(2, 2), (3, 2), (4, 2), (4, 3), (6, 2), (6, 3), (6, 6)]
    same = [(2, 2), (2, 3), (2, 4), (3, 3), (3, 6), (4, 4), (6, 6)]
    trials = whole(chance("each another element", "random entry", 2, 2).trials)
    strangers = rows("unsafe-removal", filter="ORCF4", slots=LARGE)
    return (
        prose(
            f"""*One class.* x elements that collide, d replicas that each remove one at the same time, {trials} trials;
        measured, and in brackets expected. If each removes another element, two of them may take the same entry, and one
        entry too many is left (Equation 3.19):"""
        )
        + [""]
        + grid(["x, d"] + [f"{x}, {d}" for x, d in apart], [pick_row("random entry, as in the thesis", "each another element", apart)])
        + [""]
        + prose("If all remove the same element, they may take all entries, and hide the others:")
        + [""]
        + grid(["x, d"] + [f"{x}, {d}" for x, d in same], [pick_row("random entry, as in the thesis", "all the same element", same)])
        + [""]
        + prose(
            f"""Roost's `remove_one` takes the smallest dot: in {rule_count("each another element", "smallest dot")} trials of
        the first kind an entry is left over, and in {rule_count("all the same element", "smallest dot")} of the second
        something is hidden. With `remove_dot` it is {rule_count("each another element", "own dot")} and
        {rule_count("all the same element", "own dot")}."""
        )
        + [""]
        + prose(
            f"""*Keys that were never added*, removed from full filters of 2^20 slots ({whole(strangers[0].elements)} elements
        in {whole(strangers[0].repeats)} repeats). Part of the elements that are hidden then, measured, and in brackets
        expected:"""
        )
        + [""]
        + grid(
            ["removes for each element", "1/16", "1/4", "1", "4", "16"],
            [
                strangers_row("ORCF4", "ORCF₄, a multiset of 8 bits"),
                strangers_row("ORCF4 at two replicas", "the same, half of them at each of two replicas"),
                strangers_row("ORCF set of 16 bits", "a set of 16 bits"),
                strangers_row("ORCF default", "the default, a set of 24 bits"),
            ],
        )
        + [""]
        + prose(
            """*Two replicas at the same time*, ORCF₄, 2^20 slots, sums of the repeats. Entries left over raise the rate;
        elements hidden are false negatives:"""
        )
        + [""]
        + grid(
            ["each removes", "hidden", "random picks, by theory", "left over", "expected", "random picks, by theory"],
            [parallel_row(row) for row in rows("parallel-removal", slots=LARGE)],
        )
    )


def rule_count(removes, rule):
    found = rows("equation-3.19", removes=removes, rule=rule)
    wrong, trials = sum(row.wrong for row in found), sum(row.trials for row in found)
    return "all" if wrong == trials else f"{count(wrong)} of {whole(trials)}"


def parallel_row(row):
    part = "the same" if row["course"] == "both the same part" else "another"
    return [
        f"{part} {percent(row.share, 0)}, {whole(row.removes_at_each)} of {whole(row.elements)}",
        whole(row.hidden),
        whole(row.hidden_by_random_picks),
        whole(row.left_over),
        whole(row.left_over_expected),
        whole(row.left_over_by_random_picks),
    ]


def worst_deviation():
    """Of what removes of strangers hide, in standard deviations."""
    found = [row for row in table("unsafe-removal") if row.expected_share * row.elements >= 1]
    return max(abs(row.hidden - row.expected_share * row.elements) / (row.expected_share * row.elements) ** 0.5 for row in found)


def worst_pick():
    """Of random picks, in parts of the trials."""
    return max(abs(row.measured - row.expected) for row in rows("equation-3.19", rule="random entry"))


def hidden_at_once(filter):
    """Where as many strangers are removed as there are elements."""
    return one("unsafe-removal", filter=filter, slots=LARGE, removes_an_element=1).hidden_share

