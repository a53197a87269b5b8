"""Blocks of the page: the thesis on replicated filters, and the experiments on growing filters and syncs that no paper has."""
import math
import statistics

from page_tables import EVERY, PROMISE, SPLITS, block, bullets, claim, count, grid, one, percent, power, prose, rows, short, span, table, two, whole

# ---- the thesis ----------------------------------------------------------------------------------------------------------


def cells(filter, of="figure-6.1-grow-only"):
    return {(row["split"], row["sync_every"]): row for row in rows(of, filter=filter)}


def by_interval(title, found, split, column, form):
    return [title] + [form(getattr(found[split, every], column)) for every in EVERY]


@block("faults")
def faults():
    runs = sum(int(row["repeats"]) for row in table("figure-6.1-grow-only"))
    wrong = sum(row.false_negatives for row in table("figure-6.1-grow-only"))
    agree = all(row["replicas_agree"] == "yes" for row in table("figure-6.1-grow-only"))
    return prose(
        f"""After the last merge of every run both replicas are asked for every key that either of them added, their digests
        are compared, and the frame is decoded and compared with the filter. In {runs} runs there
        {'was no false negative' if wrong == 0 else f'were {wrong:.0f} FALSE NEGATIVES'},
        {'no pair of replicas that disagreed' if agree else 'REPLICAS THAT DISAGREED'}, and no frame that did not
        return."""
    )


@block("figure-6.1a")
def figure_a():
    found = [("GBF₅", cells("GBF5")["all local", "0"]), ("GBF₅, blocked layout", cells("GBF5 blocked")["all local", "0"])]
    body = [[name, percent(row.fpr_mean), percent(row.fpr_min), percent(row.fpr_max), percent(row.fpr_bound)] for name, row in found]
    off = [percent(row.fpr_mean / row.fpr_bound - 1, 2) for _, row in found]
    scatter = math.sqrt((1 - PROMISE) / PROMISE / 2**20)
    return (
        grid(["", "mean of five repeats", "smallest", "largest", "theory"], body)
        + [""]
        + prose(
            f"""The rate is that of the local filter to the last digit in every cell, because the state is: all cells of a
        repeat end with the same digest. It is {off[0]} off theory (blocked: {off[1]}); the measurement itself scatters
        by {percent(scatter, 1)} of the rate in one repeat."""
        )
    )


def off_range(found, column, of="fpr_mean"):
    return span([getattr(row, of) / getattr(row, column) - 1 for row in found.values()], lambda value: percent(value, 2))


@block("figure-6.1b")
def figure_b():
    found = cells("GCF4")
    local = found["all local", "0"]
    rates, loads = [], []
    for split in SPLITS:
        rates += [by_interval(split, found, split, "fpr_mean", percent), by_interval(f"{split}, bound", found, split, "fpr_bound", percent)]
        loads += [
            by_interval(f"{split}, elements a slot", found, split, "load_by_elements", lambda value: percent(value, 1)),
            by_interval(f"{split}, entries a slot", found, split, "load_by_entries", lambda value: percent(value, 1)),
            [f"{split}, overflow of the entries"]
            + [percent(found[split, every].overflow_mean / found[split, every].entries_mean, 2) for every in EVERY],
        ]
    head = ["merge every"] + [power(every) for every in EVERY]
    shared = 1 - local.entries_mean / local.elements_mean
    return (
        prose(
            f"All local: {percent(local.fpr_mean)} (bound {percent(local.fpr_bound)}), after {percent(local.load_by_elements, 1)} of the keys, when the table refused the next one. Mean of five repeats:"
        )
        + [""]
        + grid(head, rates)
        + [""]
        + prose("How full the tables were (overflow is counted among the entries):")
        + [""]
        + grid(head, loads)
        + [""]
        + prose(
            f"""**The bound, and which α.** The thesis estimates the rate as 2cα/2^l, with c slots a bucket, l bits and the load
        α. There are two readings of α here, because Roost holds a fingerprint class once however many elements fall
        into it: {percent(shared, 1)} of the elements share the class of another one."""
        )
        + [""]
        + bullets(
            f"""*α by elements* (elements added / slots): this is the bound in the table and the picture. The measured rate is
        {off_range(found, 'fpr_bound')} off it, below in every cell; the exact rate of each state,
        {off_range(found, 'fpr_bound', 'fpr_exact')}.""",
            f"""*α by entries* (classes held / slots): the measured rate is
        {off_range(found, 'fpr_bound_by_entries').replace('0.', '+0.')} off that, above in every cell. It has to be: a
        fingerprint has 2^8 − 1 values, since 0 marks a free slot, so the exact rate is entries · 2 / (buckets · 255),
        0.39 % above 2cα/2^l with α by entries.""",
        )
    )


@block("figure-6.1c")
def figure_c():
    found = cells("ORCF4")
    local = found["all local", "0"]
    body = []
    for split in SPLITS:
        body += [
            by_interval(split, found, split, "fpr_mean", percent),
            by_interval(f"{split}, elements a slot", found, split, "load_by_elements", lambda value: percent(value, 1)),
            [f"{split}, overflow of the entries"]
            + [percent(found[split, every].overflow_mean / found[split, every].entries_mean, 2) for every in EVERY],
        ]
    overflow = max(row.overflow_max / row.entries_mean for row in found.values())
    larger = [f"{split}, {power(every)}" for (split, every), row in found.items() if row.buckets_max > 2**18]
    spread = f"In some repeats of {'; '.join(larger)} a merge doubled the buckets instead, which leaves classes and rate as they are."
    return (
        prose(
            f"Adds alone, as in the thesis. All local: {percent(local.fpr_mean)} (bound {percent(local.fpr_bound)}), after {percent(local.load_by_elements, 1)} of the keys. Mean of five repeats:"
        )
        + [""]
        + grid(["merge every"] + [power(every) for every in EVERY], body)
        + [""]
        + prose(
            f"""The picture is that of the grow-only filter, a little lower: copies are held apart, so every element has an
        entry, the two readings of α are one, and the table refuses sooner. The measured rate is
        {off_range(found, 'fpr_bound')} off the bound 2cα/2^l, below in every cell: elements of one class raise α but
        not the rate, which is 1 − (1 − 2 / (255 · buckets))^entries. At most {percent(overflow, 2)} of the entries are
        in the overflow stash, where there are as many as slots: no cuckoo table takes them all. (The thesis tells 17 %
        for its grow-only filter and no figure for this one.)
        {spread if larger else ''}"""
        )
    )


@block("figure-6.1def")
def figure_def():
    name = "figure-6.1-scalable"
    body = []
    for filter, title in (("ScGBF5", "ScGBF₅"), ("ScGCF4", "ScGCF₄"), ("ScORCF4", "ScORCF₄"), ("ScGBF", "ScGBF"), ("ScGCF", "ScGCF")):
        found = cells(filter, name)
        for split in SPLITS:
            body.append(by_interval(f"{title}, {split}", found, split, "fpr_mean", percent))
            if found[split, "1000"]["fpr_thesis_rule"]:
                body.append(by_interval("*thesis's rule*", found, split, "fpr_thesis_rule", lambda value: f"*{percent(value, 2)}*"))
    runs = sum(int(row["repeats"]) for row in table(name))
    repeats = {row["repeats"] for row in table(name)}
    broken = [row for row in table(name) if row.fpr_max > row.fpr_promised or row.fpr_of_state > row.fpr_promised]
    missing = sum(row.false_negatives for row in table(name))
    apart = sum(row["replicas_agree"] != "yes" for row in table(name))
    local = ", ".join(
        f"{title} {percent(one(name, filter=filter, split='all local').fpr_mean)}"
        for filter, title in (("ScGBF5", "ScGBF₅"), ("ScGCF4", "ScGCF₄"), ("ScORCF4", "ScORCF₄"), ("ScGBF", "ScGBF"), ("ScGCF", "ScGCF"))
    )
    small = max(row.fpr_of_state for row in rows(name, filter="ScORCF"))
    kept = (
        "the measured rate of every repeat, and the rate that the filter reports of itself, are at most the promise"
        if not broken
        else f"**the promise is missed in {len(broken)} cells**"
    )
    frames = grid(
        ["bits an element of the frame", "all local", "50-50, 10^3", "50-50, 10^7", "99-1, 10^7"],
        [
            [filter]
            + [
                f"{cells(filter, name)[cell].frame_bits_an_element:.1f}"
                for cell in (("all local", "0"), ("50-50", EVERY[0]), ("50-50", EVERY[-1]), ("99-1", EVERY[-1]))
            ]
            for filter in ("ScGBF", "ScGCF", "ScORCF")
        ],
    )
    prefixes = rows(name, filter="ScGCF") + rows(name, filter="ScORCF")
    return (
        prose(f"Mean of {' or '.join(sorted(repeats))} repeats, and in italics what the thesis's own rule comes to in its setting:")
        + [""]
        + grid(["merge every"] + [power(every) for every in EVERY], body)
        + [""]
        + prose(
            f"""All local: {local}. ScORCF errs too seldom to be measured: {short(small)} at most, by its state. In all {runs} runs
        {kept}; {count(missing)} of the keys {'is' if missing == 0 else 'are'} missing, and the replicas
        {'agree' if apart == 0 else f'DISAGREE in {apart} cells'}."""
        )
        + [""]
        + frames
        + [""]
        + prose(
            f"""ScGCF has prefixes of {min(row.shortest_prefix for row in rows(name, filter='ScGCF')):.0f} to
        {max(row.longest_prefix for row in rows(name, filter='ScGCF')):.0f} bits by then, ScORCF of
        {min(row.shortest_prefix for row in rows(name, filter='ScORCF')):.0f} to
        {max(row.longest_prefix for row in rows(name, filter='ScORCF')):.0f}. A ScGBF that one writer fills alone has
        {one(name, filter='ScGBF', split='all local').tables:.0f} tables, where two writers that meet have
        {cells('ScGBF', name)['50-50', '1000'].tables:.0f}."""
        )
    )


@block("table-6.1")
def table_one():
    body = []
    for place in ("all local", "50-50 split"):
        for structure, form, title in (
            ("GBF5", "frame", "GBF₅"),
            ("GBF5 blocked", "frame", "GBF₅, blocked layout"),
            ("GCF4", "frame", "GCF₄"),
            ("GSet", "sorted", "plain set, sorted keys"),
            ("GSet", "Rice-coded", "plain set, Rice-coded"),
        ):
            ours = one("table-6.1", workload=place, structure=structure, source="Roost", form=form)
            theirs = [
                two(row.bytes_an_element_mean)
                for form in ("raw", "gzip")
                for row in rows("table-6.1", workload=place, structure=structure, source="thesis", form=form)
            ]
            body.append(
                [place, title, percent(ours.load_factor, 1), two(ours.bytes_an_element_mean), two(ours.gzipped_bytes_an_element)]
                + (theirs or ["", ""])
            )
    local, split = (one("table-6.1", workload=place, structure="GCF4", source="Roost") for place in ("all local", "50-50 split"))
    overflow = max(row.overflow_max / row.entries_min for row in rows("figure-6.1-grow-only", filter="GCF4"))
    return (
        grid(["workload", "structure", "elements taken", "Roost, bytes an element", "gzipped", "thesis, raw", "gzipped"], body, left=2)
        + [""]
        + bullets(
            f"""GCF₄: sorted class keys, Rice-coded; {local.bytes_an_entry:.3f} bytes an entry locally and
        {split.bytes_an_entry:.3f} after the split ({local.bytes_an_element_mean:.3f} and
        {split.bytes_an_element_mean:.3f} an element). After the split the table holds
        {percent(split.load_by_entries, 1)} of its slots, more than cuckoo insertion can place, and at most
        {percent(split.overflow_share_max, 2)} of the entries are in the overflow stash; over all cells and repeats at
        most {percent(overflow, 2)}. The thesis's frame grows because 17 % of its entries are in overflowing buckets
        then."""
        )
    )


@block("table-6.2")
def table_two():
    body = []
    for place in ("all local", "50-50 split"):
        for share in ("100", "80", "51"):
            for structure, form, title in (
                ("ORCF4", "frame", "ORCF₄"),
                ("ORCF default", "frame", "ORCF, default entries"),
                ("ORSet", "coded", "plain set, coded"),
                ("ORSet", "uncoded", "plain set, uncoded"),
            ):
                ours = one("table-6.2", adds_percent=share, workload=place, structure=structure, source="Roost", form=form)
                theirs = [
                    two(row.bytes_an_element_mean)
                    for form in ("raw", "gzip")
                    for row in rows("table-6.2", adds_percent=share, workload=place, structure=structure, source="thesis", form=form)
                ]
                first = structure == "ORCF4"
                body.append(
                    [
                        f"{share} % adds, {place}" if first else "",
                        title,
                        percent(ours.load_factor, 1),
                        whole(ours.bytes),
                        two(ours.bytes_an_element_mean),
                        two(ours.gzipped_bytes_an_element),
                    ]
                    + (theirs if theirs and form != "uncoded" else ["", ""])
                )
    lookups = claim("removal", "ORCF4 with removes: no false negatives")
    reported = claim("removal", "ORCF4 with removes: removed elements are as any key")
    hidden = claim("removal", "ORCF default with removes: hides one element in a million removes at most")
    gone = claim("removal", "ORCF default with removes: removed elements are gone")
    return (
        grid(["workload", "structure", "elements", "bytes", "Roost, bytes an element", "gzipped", "thesis, raw", "gzipped"], body, left=2)
        + [""]
        + prose(
            f"""After the last merge both replicas were asked for every element: of ORCF₄ {count(lookups[0])} were missing in
        {whole(lookups[1])} look-ups, and {count(lookups[2])} of {whole(lookups[3])} removes found nothing. Of the
        removed elements it reports {whole(reported[0])}, as it would any key ({whole(reported[2])} expected,
        {reported[3]:.1f} standard deviations). In the default filter a remove may take along another element of the
        same class, at most once in a million; here {count(hidden[0])} were hidden, and {count(gone[0])} of the removed
        ones are reported.""".replace(
                "-", "−"
            ).replace(
                "look−ups", "look-ups"
            )
        )
    )


# ---- beyond the papers ---------------------------------------------------------------------------------------------------


@block("heal")
def heal():
    body = []
    for filter in ("ScGBF", "ScGCF", "ScORCF"):
        line = [filter]
        for split in ("balanced", "99-1"):
            for course in ("apart", "meeting"):
                found = rows("heal", filter=filter, split=split, course=course)
                times = [row.times for row in found]
                met = sum(row.times <= row.times_asked for row in found)
                line.append(f"{min(times):.1f} – {max(times):.1f} ({found[0].times_asked:g}: {met} of {len(found)})")
        body.append(line)
    found = table("heal")
    fixed = ", ".join(
        f"{statistics.mean(row.fixed_size_bits_an_element for row in rows('heal', filter=filter)):.1f}" for filter in ("ScGBF", "ScGCF", "ScORCF")
    )
    elements = sorted({row.elements for row in found})
    kept = all(max(row.fpr, row.fpr_of_state) <= row.fpr_promised for row in found)
    return (
        prose(
            f"""Memory beside one filter of fixed size that has room for exactly these elements ({whole(elements[0])} to
        {whole(elements[-1])}) at the same promised rate ({fixed} bits an element), best and worst of {len(elements)}
        sizes; in brackets the aim, and at how many of the sizes it is met:"""
        )
        + [""]
        + grid(["", "balanced, apart", "balanced, meeting", "99-1, apart", "99-1, meeting"], body, left=5)
        + [""]
        + prose(
            f"""In all {len(found)} runs {count(sum(row.missing for row in found))} of the elements are lost, the ten replicas
        agree, and the rate is {'within' if kept else '**NOT within**'} the promise
        ({percent(max(row.fpr for row in found), 2)} measured at most, of {percent(found[0].fpr_promised, 0)})."""
        )
    )


@block("grown-removal")
def grown_removal():
    row = table("grown-removal")[0]
    return prose(
        f"""Two replicas of a ScORCF (default entries, a set) add {whole(row.added)} elements in twenty rounds and remove
        {whole(row.removes)}, each time random ones that the remover has observed: what both knew after the last round
        and what it added itself; two may remove the same. At the end the filter has prefixes of
        {row.shortest_prefix:.0f} to {row.longest_prefix:.0f} bits. Of the {whole(row.elements)} elements that nobody
        removed {count(row.missing)} are missing at either replica, {count(row.still_reported)} of the removed ones are
        reported, {count(row.idle_removes)} of the removes found nothing to remove, and the replicas
        {'are equal' if row['replicas_agree'] == 'yes' else 'DIFFER'}."""
    )


@block("syncs")
def syncs():
    body = []
    for filter, title in (
        ("orcuckoo", "observed-remove cuckoo"),
        ("orcuckoo with a past", "the same with a past"),
        ("cuckoo", "cuckoo 1 %"),
        ("bloom", "Bloom 1 %, blocked"),
    ):
        for course, name in (("by cursor", f"{title}, by cursor"), ("cursors lost", f"{title}, cursors lost")):
            found = rows("sync-bytes", filter=filter, course=course)
            rounds = [row["rounds"] for row in found]
            body.append([name] + [whole(row.bytes) for row in found] + [rounds[0] if len(set(rounds)) == 1 else ", ".join(rounds)])
    for course, name in (("already equal", "any of them, already equal"), ("already equal and lost", "already equal, cursors lost")):
        found = rows("sync-bytes", course=course)
        body.append(
            [name]
            + [span([row.bytes for row in found if row["changes"] == changes], whole) for changes in ("10", "1000", "100000")]
            + [span([row.rounds for row in found], whole)]
        )
    states = ", ".join(
        f"{name} {one('sync-bytes', filter=filter, course='whole state as a frame').bytes / 1e6:.2f} MB"
        for filter, name in (("orcuckoo", "observed-remove"), ("orcuckoo with a past", "with a past"), ("cuckoo", "cuckoo"), ("bloom", "Bloom"))
    )
    return grid(["", "10 changes", "1,000", "100,000", "rounds"], body) + [""] + prose(f"The whole states are: {states}.")
