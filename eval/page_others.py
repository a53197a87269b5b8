"""Blocks of the page: counting cuckoo filters, gossip, windows and counters; a quotient filter."""
import statistics

from page_summary import bits_to_be_accurate, collisions_off, converged, median_left
from page_tables import block, bullets, claim, curve, grid, one, percent, point, prose, rows, span, table, whole

# ---- counting cuckoo filters ---------------------------------------------------------------------------------------------


@block("occupancy")
def occupancy():
    found = [row for row in table("counting-cuckoo-occupancy") if row["paper"]]
    largest = table("counting-cuckoo-occupancy")[-1]
    small = [row for row in found if row.elements < 4000]
    filled, lost = sum(row.repeats for row in small), sum(row.overflow for row in small)
    later = sum(row.overflow for row in table("counting-cuckoo-occupancy") if row.elements >= 4000)
    return (
        grid(
            ["elements"] + [whole(row.elements) for row in found],
            [["Roost"] + [f"{row.occupancy_mean:.4f}" for row in found], ["the paper"] + [f"{row.paper:.4f}" for row in found]],
        )
        + [""]
        + prose(
            f"""The claims are 0.955 at every size and 0.965 from 4,000 on. From 4,000 elements on
        {'every one found a slot' if later == 0 else f'{whole(later)} found no slot'}; in the smaller tables, filled
        {whole(filled)} times, {whole(lost)} did not, and were kept in the overflow stash. With {whole(largest.buckets)}
        buckets ({whole(largest.elements)} elements) it is {largest.occupancy_mean:.4f}."""
        )
    )


def accuracy(value):
    return "1" if value == 1 else f"{value:.4f}" if value < 0.9990 else f"{value:.5f}"


@block("accuracy")
def accuracies():
    cuckoo = [
        row
        for row in rows("counting-cuckoo-accuracy", filter="CCF")
        if row["fingerprint_bits"] in ("4", "8", "10", "12", "14", "15", "17", "18", "22")
    ]
    bloom = [row for row in rows("counting-cuckoo-accuracy", filter="CBF") if round(row.bits_an_element) in (16, 28, 40, 64, 80, 112, 128, 144)]
    bits, more = bits_to_be_accurate("CCF"), bits_to_be_accurate("CBF")
    fourteen = next(row for row in cuckoo if row["fingerprint_bits"] == "14")
    printed = [row for row in rows("counting-cuckoo-accuracy", filter="CCF") if row.accuracy_query_as_printed < row.accuracy_decode]
    return (
        grid(
            ["bits an element"] + [f"{row.bits_an_element:.1f}" for row in cuckoo],
            [
                ["fingerprint bits"] + [row["fingerprint_bits"] for row in cuckoo],
                ["CCF by query"] + [accuracy(row.accuracy_query) for row in cuckoo],
                ["CCF by decoding"] + [accuracy(row.accuracy_decode) for row in cuckoo],
                ["CCF by query, Algorithm 4 as printed"] + [accuracy(row.accuracy_query_as_printed) for row in cuckoo],
            ],
        )
        + [""]
        + grid(
            ["bits an element"] + [f"{row.bits_an_element:.0f}" for row in bloom],
            [
                ["CBF by query"] + [accuracy(row.accuracy_query) for row in bloom],
                ["CBF by subtraction"] + [accuracy(row.accuracy_decode) for row in bloom],
            ],
        )
        + [""]
        + bullets(
            f"""From 16 bits an element, where the paper's figure begins, to an accuracy of 0.9999 CCF by query takes {bits:.1f} bits more and CBF {more:.0f}; the paper reports 7 and 96 (from 0.7).""",
            f"""Query over decoding over CBF holds at every width; for CBF the better of its two ways counts. As printed, the
        query is slightly *below* decoding with fingerprints of {span([row.fingerprint_bits for row in printed], whole)}
        bits: with one slot for a class, decoding compares like with like. The paper finds the reverse; its insertion
        does not look whether a fingerprint is there already, so a class may have several slots. Roost's query sees that
        an element shares its class (`src/multiset/identify.c`), which puts the order right and halves the error.""",
            f"""On the wire a CCF takes less than the paper counts (f = 14: {fourteen.frame_bits_an_element:.1f} bits an element instead of {fourteen.bits_an_element:.1f}): classes are sorted and coded, and so are counts.""",
        )
    )


@block("collisions")
def collisions():
    due = [row for row in rows("counting-cuckoo-collisions", series="by buckets") if row["fingerprint_bits"] == "10"]
    off = [collisions_off("by buckets"), collisions_off("by bits")]
    return prose(
        f"""Elements that share the class of an earlier one are as many as they should be, N − C · (1 − (1 − 1/C)^N) with C
        = b/2 · (2^f − 1) classes: at most {off[0]:.1f} standard deviations off in any of {len(due)} tables with f = 10,
        {off[1]:.1f} by fingerprint (the claim: 4.5). With f = log2 b their number stays the same, so that accuracy
        grows with the elements (5c). At seventeen bits (5d) a handful of elements decides, and how many copies they
        have."""
    )


def bit_rows(form):
    return sorted(rows("counting-cuckoo-bit", form=form), key=lambda row: row.fingerprint_bits)


@block("differentiated-bit")
def differentiated_bit():
    titles = {
        "f bits": "f bits (Equation 4)",
        "f bits and differentiated bit": "f bits and the differentiated bit (Equation 9)",
        "f + 1 bits": "f + 1 bits (Equation 4)",
        "Roost of f bits": "Roost, f bits",
        "Roost of f + 1 bits": "Roost, f + 1 bits",
    }
    head = ["f"] + [row["fingerprint_bits"] for row in bit_rows("f bits")]
    elements, buckets, trials = (bit_rows("f bits")[0][column] for column in ("elements", "buckets", "trials"))
    return (
        prose(f"{whole(float(elements))} elements in {buckets} buckets, {trials} trials. Elements that share the class of an earlier one:")
        + [""]
        + grid(head, [[title] + [f"{row.collided_mean:.2f} ({row.expected:.2f})" for row in bit_rows(form)] for form, title in titles.items()])
        + [""]
        + prose("The chance that any two collide, and in brackets the equation:")
        + [""]
        + grid(head, [[title] + [f"{row.any_collision:.3f} ({row.equation:.3f})" for row in bit_rows(form)] for form, title in titles.items()])
    )


# ---- gossip --------------------------------------------------------------------------------------------------------------


@block("gossip")
def gossip():
    body = []
    paper = {
        ("standard", "fixed m"): "0",
        ("pair", "fixed m"): "50, at times 1–3 fewer",
        ("standard", "changing m"): "18",
        ("pair", "changing m"): "50",
    }
    names = {"standard": "standard filter", "pair": "a mapping for each pair", "pair and round": "for each pair and round"}
    for sizes in ("fixed m", "changing m"):
        for method in ("standard", "pair", "pair and round"):
            body.append(gossip_line(f"{sizes}, {names[method]}", method, sizes, paper.get((method, sizes), "(all)")))
    for course in ("at once", "one way"):
        for sizes in ("fixed m", "changing m"):
            for method in ("standard", "pair", "pair and round"):
                body.append(gossip_line(f"{course}, {sizes}, {names[method]}", f"{method} {course}", sizes, paper.get((method, sizes), "(all)")))
    body.append(gossip_line("no filters: each contact reconciles exactly", "exact", "no filters", ""))
    filters = statistics.mean(row.overhead_bytes for row in rows("distributed-bloom", method="pair and round", sizes="changing m"))
    exact = statistics.mean(row.overhead_bytes for row in rows("distributed-bloom", method="exact"))
    pairs = converged("pair", "fixed m")
    return (
        grid(
            [
                "",
                "converged of 50, least to most",
                "mean",
                "the paper",
                "median of the others",
                "rounds",
                "bytes of filters and headers",
                "of elements",
            ],
            body,
        )
        + [""]
        + prose(
            f"""Bytes are means of a network, over all messages. In turn no element is sent to one who has it. Networks without the
        round in the mapping stop when a round has changed nothing, which takes one round more than the changes did. In
        fixed m, a mapping for each pair, {sum(value == 50 for value in pairs)} of the {len(pairs)} networks converged
        whole. Rounds at once and one way send the same element from several sides. Exact reconciliation takes {percent(exact / filters, 0)} of the bytes that filters cost (changing m, for
        each pair and round)."""
        )
    )


def gossip_line(title, method, sizes, paper):
    found = rows("distributed-bloom", method=method, sizes=sizes)
    least_to_most = [row.converged for row in found]
    median = median_left(method, sizes)
    rounds = [row.rounds for row in found]
    return [
        title,
        f"{min(least_to_most):.0f}–{max(least_to_most):.0f}",
        f"{statistics.mean(least_to_most):.1f}".removesuffix(".0"),
        paper,
        f"{median:.0f}" if median else "–",
        span(rounds, whole).replace(" to ", "–"),
        whole(statistics.mean(row.overhead_bytes for row in found)),
        whole(statistics.mean(row.element_bytes for row in found)),
    ]


# ---- windows and counters ------------------------------------------------------------------------------------------------


def rare(figure):
    """The points of Figures 11 and 12 that were measured."""
    return [row for row in rows("forgetful-bloom", figure=figure) if row["series"].endswith(" measured")]


def rare_off(figure, suffix):
    """The worst factor between them and Equation 3, or what is due."""
    ratios = [point(figure, row["series"].removesuffix(" measured") + suffix, row.x) / row.y for row in rare(figure)]
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def figure_14_on_servers():
    operations, here, heard, killed, servers, links, *values = claim("servers", "Figure 14 on servers: each operation counts once in every region")
    twice = claim("servers", "Figure 14 on servers: what counts twice was sent to a region that had not heard of it")[0]
    apart = [row for row in table("figure-14-servers") if row["apart"]]
    behind = max(row.operations - min(row.ams, row.tyo, row.nyc) for row in apart)
    return f"""*Figure 14 on servers* (`eval/counter_regions.py`). Three regions, each a server with the module and its AOF, 20 ms
        and 1 % of loss apart, and two links between them. {whole(operations)} operations with as many retries: {whole(here)}
        at the same region, {whole(heard)} at another one that had heard of the first attempt, {whole(killed)} after a kill:
        none counts twice. {whole(twice)} were sent again at once to another region, which had not heard of them: they do, and
        the value in all three regions is {whole(values[0])}, as it has to be. {whole(servers)} servers and {whole(links)}
        links were killed with -9. While both links were dead, the regions were up to {whole(behind)} operations behind; they
        agree as soon as one is back. One server was lost with its data: an empty one took its place, and the links brought
        the counter to it, as the paper's store does at another node."""


@block("windows")
def windows():
    offered, refused = (sum(row.y for row in curve(13, series)) for series in ("offered", "refused"))
    seconds = [f"{row.x:.0f}" for row in curve(13, "refused") if row.y > 0]
    slots, shortest = (curve(13, series) for series in ("slots", "shortest slot"))
    growing = max(row.y for row in curve(13, "growing measured"))
    apart = max(row.y for row in curve(16, "forgetful with slots apart"))
    operations, here, merged, kills, value = claim("counters", "Figure 14: with a window, each operation counts once")
    unheard = claim("counters", "Figure 14: retries where nobody has heard of the first attempt are all that counts twice")[0]
    return bullets(
        """*Figure 8.* The paper does not say when its elements came. All at once, the two checks err alike. Spread over
        the first two slots, as here, the optimised check errs by a tenth; over three, by half. Printed as it is, the
        algorithm misses the oldest filter where there is more than one past filter; it is asked here.""",
        f"""*Figure 11*, measured with up to 400 million probes a point: Equation 3 is within a factor of
        {rare_off(11, ''):.2f} in {len(rare(11))} points.""",
        f"""*Figure 12*, measured in {len(rare(12))} points. Equation 3 takes the filters for independent. Neighbours have a
        slot in common, so that with more than three filters it is too low, by a factor of up to
        {whole(rare_off(12, ''))}. If the slots that they share are taken into account, what is due is within a factor of
        {rare_off(12, ' due'):.2f} of what is measured.""",
        """*Figure 12.* More filters at the same t remember for longer. They err less here because the load is rising: the
        oldest filter, which is asked alone, holds little or nothing. At a steady load it would not be so. Hence Roost's
        resizing shortens t and leaves the window as long as it is.""",
        f"""*Figure 13.* The paper starts with t = 11 s, which changes by a second at a time. Roost's slots are of 11 s, 5.5
        s, 2.75 s and so on down to {min(row.y for row in shortest):.2f} s, {span([row.y for row in slots], whole)} of
        them. At the highest load even these are full for a moment: in the seconds {' and '.join(seconds)} the window
        refuses {whole(refused)} of {whole(offered)} additions, since more would not keep the target. The paper's
        filters take in everything. A window that grows, which is what Roost makes by default, is given the same load:
        it refuses none, and
        {'no probe is wrong at any time' if growing == 0 else f'{percent(growing, 4)} of the probes are wrong at most'}.""",
        f"""*Figure 14.* Ten processes on Unix sockets; a client sends {whole(operations)} operations to any of them, for
        any of three replicas, and hears no answer in some 6 % of the cases. It tries again at the same replica
        ({whole(here)}), or at another one after the first attempt was merged there ({whole(merged)}): none counts
        twice. It also tried {whole(unheard)} times at another replica that had not heard of the first attempt; each of
        these counts twice, as it must, and the value is {whole(value)} exactly. {whole(kills)} times a replica was
        killed with -9, before or after it had stored the operation that it was asked for, and went on from its file.""",
        figure_14_on_servers(),
        f"""*Figure 16.* 500 bits and three probes in each of three filters, against 1,500 bits in one; 4 operations a
        second, retried within 9.9 s. With slots apart, as Roost asks, the error is at most {apart:.1f} %. The
        recyclable filter is cleared every 121 operations, and what is retried after that counts again.""",
    )


@block("counters")
def counters():
    body = []
    for latency in ("10", "50", "100"):
        found = [rows("figure-17", latency_ms=latency, counter=counter) for counter in ("with a window", "without a window")]
        body.append(
            [latency, ", ".join(f"{row['loss_percent']} %" for row in found[0]), ", ".join(row["retries"] for row in found[0])]
            + [", ".join(row["value"] for row in each) for each in found]
        )
    piece = one("figure-15", setting="without a network, in one piece", batch="50")
    days = claim("counters", "a year of a counter: never too much")
    missing, bound = claim("counters", "a year of a counter: too little by no more than the error rate")[:2]
    return (
        grid(["ms each way", "loss", "retries", "with a window", "without"], body, left=0)
        + [""]
        + bullets(
            f"""*Figure 15.* Updates one after the other through a network of 2 ms a round trip (in the paper a batch of 50
        takes some 20 ms, so 0.4 ms). Medians of 25 rounds, taken in turns; on a machine that others use they scatter by
        some per cent, and hardly any of the difference is the window's. Without a network and in one piece, where that
        is all there is, 50 updates take {piece.window_ms:.2f} ms against {piece.plain_ms:.2f} ms."""
        )
        + [""]
        + prose(
            f"""*A year of a counter.* Three replicas with clocks up to half a slot off, whole states as messages of which
        {percent(days[3] / days[4], 0)} are lost (some doubled, some late), each replica cut off for days at a time,
        {whole(days[5])} crashes; {whole(days[0])} operations in {whole(days[1])} days, {whole(days[2])} retries as
        above, a promised rate of 0.001. The value is never too high; it is {whole(missing)} too low, where
        {whole(bound)} are allowed (the promised rate and four standard deviations)."""
        )
    )


# ---- a quotient filter ---------------------------------------------------------------------------------------------------


def quotient_row(name, slots, load, bits):
    return one("quotient-filter", table=name, slots=slots, load_percent=load, remainder_bits=bits)


def quotient_line(name, slots, load, bits):
    row = quotient_row(name, slots, load, bits)
    size = f"{float(row['keys']) / 1e6:.1f} M"
    filled = "–" if name.startswith("growing") else f"{load} %"
    times = [f"{value:.0f}" for value in (row.add_ns, row.present_ns, row.absent_ns, row.merge_ns, row.encode_ns)]
    return [name, size, filled, percent(row.fpr_percent / 100, 2), f"{row.memory_bits:.1f}", f"{row.frame_bits:.1f}", *times]


@block("quotient-filter")
def quotient_filter():
    small, large = 1 << 20, 1 << 24
    cases = [(small, load, 5) for load in (75, 85, 90, 95)] + [(small, 95, 9), (large, 95, 5)]
    body = []
    for slots, load, bits in cases:
        body += [quotient_line(name, slots, load, bits) for name in ("quotient", "cuckoo")]
        if load == 95:
            body.append(quotient_line("growing cuckoo", slots, load, bits))
    pairs = [(quotient_row("quotient", *case), quotient_row("cuckoo", *case)) for case in cases]
    smaller = [100 * (1 - q.memory_bits / c.memory_bits) for q, c in pairs]

    def times(column, some):
        return span([float(q[column]) / float(c[column]) for q, c in some], "{:.1f}".format)

    largest, growing = pairs[-1], quotient_row("growing cuckoo", large, 95, 5)
    wins = [f"{what} ({largest[0][column]} against {largest[1][column]} ns)"
            for what, column in (("additions", "add_ns"), ("merges", "merge_ns"), ("frames", "encode_ns")) if float(largest[0][column]) < float(largest[1][column])]
    return (
        grid(["table", "keys", "full", "rate", "bits a key", "frame", "add, ns", "present", "absent", "merge", "encode"], body)
        + [""]
        + bullets(
            f"""*Where it wins*: memory, by {span(smaller, '{:.0f}'.format)} % at the same load and rate; out of cache also
            {', '.join(wins) or 'nothing'}. Its fingerprints lie in order: an addition touches one place and not two, a merge is one
            pass over both tables, and a frame needs no sorting. The growing table, whose segments are in order, too, takes
            {growing['merge_ns']} and {growing['encode_ns']} ns for a merge and a frame.""",
            f"""*Where it loses*: look-ups take {times('present_ns', pairs[:-1])} times as long as in a cuckoo table where the key is
            there, {times('absent_ns', pairs[:-1])} times where it is not, and out of cache {times('present_ns', pairs[-1:])} and
            {times('absent_ns', pairs[-1:])} times: they count runs in three words and compare what lies in several slots, where a
            cuckoo table compares two buckets at once. In cache additions take {times('add_ns', pairs[:-1])} times as long, since
            all slots up to the next free one are moved, and merges {times('merge_ns', pairs[:-1])} times.""",
            """*Frames* have the same size: both are a sorted set of fingerprints in a Rice code, and at the same rate as many
            bits tell two of them apart.""",
        )
    )
