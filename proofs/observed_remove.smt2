; The observed-remove cuckoo filter, chain by chain. To one replica a dot (the name of one addition) is unseen, then
; live, then dead, never the other way round. What is stored is whether the dot is *seen* (in the causal history) and
; whether it is *held* (by an entry of the table); a dead dot is one that is seen and not held: there are no tombstones.
; A state is a product of such chains and the merge acts on each alone: a law that holds for one dot holds for the
; filter. Goals that expect sat are counterexamples: what goes wrong when one does otherwise.
(set-logic ALL)

(declare-datatypes ((State 0)) (((state (seen Bool) (held Bool)))))
(define-fun unseen () State (state false false))
(define-fun live () State (state true true))
(define-fun dead () State (state true false))
(define-fun valid ((x State)) Bool (=> (held x) (seen x)))
(define-fun dropped ((x State)) Bool (and (seen x) (not (held x))))
(define-fun height ((x State)) Int (ite (dropped x) 2 (ite (held x) 1 0)))

; The merge as it is computed: x's entry stays unless y has seen the dot and dropped it; y's entry is taken unless x has
; seen the dot; the history is the union.
(define-fun stays ((x State) (y State)) Bool (and (held x) (not (dropped y))))
(define-fun taken ((x State) (y State)) Bool (and (held y) (not (seen x))))
(define-fun merge ((x State) (y State)) State (state (or (seen x) (seen y)) (or (stays x y) (taken x y))))
; The order: x's history is part of y's, and of what x has seen y holds nothing that x dropped.
(define-fun at-most ((x State) (y State)) Bool
  (and (=> (seen x) (seen y)) (=> (and (seen x) (held y)) (held x))))

(declare-const a State)
(declare-const b State)
(declare-const c State)
(assert (and (valid a) (valid b) (valid c)))

; ---- the lattice ----
(push) ; a valid state is unseen, live or dead
(assert (not (or (= a unseen) (= a live) (= a dead))))
(check-sat) ; expect unsat
(pop)
(push) ; the merge is the maximum of the chain unseen < live < dead
(assert (not (= (height (merge a b)) (ite (< (height a) (height b)) (height b) (height a)))))
(check-sat) ; expect unsat
(pop)
(push) ; it is the thesis's merge: held by both, or held by one and not seen by the other
(assert (not (= (held (merge a b))
                (or (and (held a) (held b)) (and (held a) (not (seen b))) (and (held b) (not (seen a)))))))
(check-sat) ; expect unsat
(pop)
(push) ; no entry without its dot in the history comes out if none went in
(assert (not (valid (merge a b))))
(check-sat) ; expect unsat
(pop)
(push) ; idempotent, commutative, associative
(assert (not (and (= (merge a a) a) (= (merge a b) (merge b a)) (= (merge a (merge b c)) (merge (merge a b) c)))))
(check-sat) ; expect unsat
(pop)
(push) ; compare is the order of the chain
(assert (not (= (at-most a b) (<= (height a) (height b)))))
(check-sat) ; expect unsat
(pop)
(push) ; it is the order that merge derives
(assert (not (= (at-most a b) (= (merge a b) b))))
(check-sat) ; expect unsat
(pop)
(push) ; it is the thesis's compare: history in history, tombstones in tombstones
(assert (not (= (at-most a b) (and (=> (seen a) (seen b)) (=> (dropped a) (dropped b))))))
(check-sat) ; expect unsat
(pop)
(push) ; history in history alone is not that order: a removal would not show
(assert (not (= (=> (seen a) (seen b)) (= (merge a b) b))))
(check-sat) ; expect sat
(pop)
(push) ; states that are at most each other are the same state
(assert (and (at-most a b) (at-most b a) (not (= a b))))
(check-sat) ; expect unsat
(pop)
(push) ; the merge is the least upper bound
(assert (not (and (at-most a (merge a b)) (at-most b (merge a b))
                  (=> (and (at-most a c) (at-most b c)) (at-most (merge a b) c)))))
(check-sat) ; expect unsat
(pop)

; ---- updates ----
(define-fun kill ((x State)) State (ite (held x) dead x)) ; what remove does to a dot of its element
(push) ; an add makes an unseen dot live: an inflation
(assert (and (= a unseen) (not (at-most a live))))
(check-sat) ; expect unsat
(pop)
(push) ; a remove is an inflation, keeps a valid state, and repeated does nothing
(assert (not (and (at-most a (kill a)) (valid (kill a)) (= (kill (kill a)) (kill a)))))
(check-sat) ; expect unsat
(pop)
(push) ; an add that supersedes is one: old dots a and b are removed, the new dot c becomes live
(assert (and (= c unseen) (not (and (at-most a (kill a)) (at-most b (kill b)) (at-most c live)))))
(check-sat) ; expect unsat
(pop)
(push) ; an add under a dot that is not fresh need not be: it would bring back what was removed
(assert (not (at-most a live)))
(check-sat) ; expect sat
(pop)
(push) ; a removed dot never comes back, whatever is merged into it or it into
(assert (and (dropped a)
             (not (and (dropped (merge a b)) (dropped (merge (merge c a) b)) (dropped (merge b (merge c a)))))))
(check-sat) ; expect unsat
(pop)

; One element with an old dot (states a at the first replica, b at the second) and a new one that nobody has seen yet.
; The second replica adds: it makes the new dot live and supersedes the old.
(define-fun found ((old State) (new State)) Bool (or (held old) (held new)))
(push) ; add wins: an add made while the first replica removes all that it sees survives
(assert (not (found (merge (kill a) (kill b)) (merge (kill unseen) live))))
(check-sat) ; expect unsat
(pop)
(push) ; the same where the add does not supersede
(assert (not (found (merge (kill a) b) (merge (kill unseen) live))))
(check-sat) ; expect unsat
(pop)
(push) ; two adds at a time that supersede the same old dot: it is dead where it was seen, both new dots are live
(define-fun mine () State (merge live unseen))
(define-fun theirs () State (merge unseen live))
(assert (not (and (not (held (merge (kill a) (kill b)))) (held mine) (held theirs))))
(check-sat) ; expect unsat
(pop)
(push) ; a remove that has seen the add takes the element out, at a peer that knew no more than the remover
(declare-const new-a State)
(declare-const new-b State)
(assert (and (valid new-a) (valid new-b) (=> (seen b) (seen a)) (=> (seen new-b) (seen new-a))))
(assert (found (merge b (kill a)) (merge new-b (kill new-a))))
(check-sat) ; expect unsat
(pop)
(push) ; without that a remove does not: the peer may know of an add that the remover has not seen
(declare-const new-a State)
(declare-const new-b State)
(assert (and (valid new-a) (valid new-b) (found (merge b (kill a)) (merge new-b (kill new-a)))))
(check-sat) ; expect sat
(pop)

; ---- why a frame with an entry whose dot is not in its history is refused ----
(define-fun stray () State (state false true))
(push) ; such an entry, removed, comes back with the next copy of the frame
(assert (held (merge (state (seen stray) false) stray)))
(check-sat) ; expect sat
(pop)
(push) ; compare takes it for nothing, and the merge does not
(assert (and (at-most stray unseen) (not (= (merge stray unseen) unseen))))
(check-sat) ; expect sat
(pop)
(push) ; idempotence, commutativity and associativity do not notice: those hold for states that are not valid as well
(declare-const x State)
(declare-const y State)
(declare-const z State)
(assert (not (and (= (merge x x) x) (= (merge x y) (merge y x)) (= (merge x (merge y z)) (merge (merge x y) z)))))
(check-sat) ; expect unsat
(pop)

; ---- deltas: a delta has the form of a state and speaks of some dots only; the others are unseen in it ----
(define-fun part ((chosen Bool) (x State)) State (ite chosen x unseen))
(declare-const p Bool)
(declare-const q Bool)
; one replica as it grows: then, now, later; `peer` is anybody's state
(declare-const then State)
(declare-const now State)
(declare-const later State)
(declare-const peer State)
(assert (and (valid then) (valid now) (valid later) (valid peer) (at-most then now) (at-most now later)))
(define-fun since ((x State) (y State)) State (part (not (= x y)) y)) ; the dots that changed from x to y

(push) ; any part of a state is at most the state: merging it never says more than merging the state would
(assert (not (and (valid (part p now)) (at-most (part p now) now)
                  (at-most (merge peer (part p now)) (merge peer now)) (at-most peer (merge peer (part p now))))))
(check-sat) ; expect unsat
(pop)
(push) ; parts that cover a state amount to the state, in any order and doubled
(assert (and (or p q)
             (not (and (= (merge (merge peer (part p now)) (part q now)) (merge peer now))
                       (= (merge (merge (merge peer (part q now)) (part p now)) (part q now)) (merge peer now))))))
(check-sat) ; expect unsat
(pop)
(push) ; what changed since the cursor, merged into a peer that has the state at the cursor, does what the state does
(assert (and (at-most then peer) (not (= (merge peer (since then now)) (merge peer now)))))
(check-sat) ; expect unsat
(pop)
(push) ; a journal that names more dots than changed does no harm
(assert (and (at-most then peer) (=> (not (= then now)) p) (not (= (merge peer (part p now)) (merge peer now)))))
(check-sat) ; expect unsat
(pop)
(push) ; a journal that names fewer does
(assert (and (at-most then peer) (not (= (merge peer (part p now)) (merge peer now)))))
(check-sat) ; expect sat
(pop)
(push) ; two deltas in a row, in either order, doubled, late: the same as the last state
(define-fun first-delta () State (since then now))
(define-fun second-delta () State (since now later))
(assert (and (at-most then peer)
             (not (and (= (merge (merge peer first-delta) second-delta) (merge peer later))
                       (= (merge (merge peer second-delta) first-delta) (merge peer later))
                       (= (merge (merge (merge peer second-delta) first-delta) second-delta) (merge peer later))
                       (= (merge (merge (merge peer later) first-delta) second-delta) (merge peer later))))))
(check-sat) ; expect unsat
(pop)
(push) ; one is lost: the peer lags behind
(assert (and (at-most then peer) (not (= (merge peer (since now later)) (merge peer later)))))
(check-sat) ; expect sat
(pop)
(push) ; but says nothing wrong, and the lost delta or a full state, whenever it comes, mends it
(define-fun gap () State (merge peer (since now later)))
(assert (and (at-most then peer)
             (not (and (at-most peer gap) (at-most gap (merge peer later))
                       (= (merge gap (since then now)) (merge peer later)) (= (merge gap later) (merge peer later))))))
(check-sat) ; expect unsat
(pop)
(push) ; a delta asked with the cursor before the loss mends it too
(assert (and (at-most then peer)
             (not (= (merge (merge peer (since now later)) (since then later)) (merge peer later)))))
(check-sat) ; expect unsat
(pop)
(push) ; a delta without the dead dots loses removals
(assert (and (at-most then peer) (not (= (merge peer (part (held now) (since then now))) (merge peer now)))))
(check-sat) ; expect sat
(pop)
(push) ; dots that came and went since the cursor belong in it too: a peer may hold them from someone else
(assert (and (at-most then peer)
             (not (= (merge peer (part (not (and (= then unseen) (= now dead))) (since then now))) (merge peer now)))))
(check-sat) ; expect sat
(pop)

; An add has superseded the old dot (live at the peer) by a new one; the peer gets only some of that.
(push) ; the death of the old dot without the new one hides, until the rest arrives, an element that nobody removed
(assert (not (found (merge live dead) (merge unseen (part p live)))))
(check-sat) ; expect sat
(pop)
(push) ; with the new dot in the same delta, or in an earlier one, it is found at every step
(assert (not (and (found (merge live unseen) (merge unseen live)) (found (merge live dead) (merge unseen live)))))
(check-sat) ; expect unsat
(pop)

; A delta of chosen live entries that carries the sender's whole history instead of its own dots.
(define-fun careless ((chosen Bool) (x State)) State (state (seen x) (and chosen (held x))))
(push) ; it kills what it left out: a peer drops an entry that nobody removed
(assert (and (= now live) (= peer live) (not (held (merge peer (careless p now))))))
(check-sat) ; expect sat
(pop)
(push) ; and a peer that has not seen the entry yet will never take it
(assert (and (= now live) (= peer unseen) (not (held (merge (merge peer (careless p now)) now)))))
(check-sat) ; expect sat
(pop)
(push) ; with all the entries it is the state, and right
(assert (not (= (careless true now) now)))
(check-sat) ; expect unsat
(pop)

; ---- without a cursor: version vectors first, then ranges of the key space ----
(define-fun news () State (part (and (seen now) (not (seen peer))) now)) ; what the peer has not seen
(push) ; after the news all that can differ is a removal inside the common history
(assert (and (not (= (merge peer news) (merge peer now))) (not (and (= peer live) (= now dead)))))
(check-sat) ; expect unsat
(pop)
; The sender's live entries of a range, with its whole history. The dot's entry lies in the range or not, which is the
; same for both, since the entry tells; but who does not hold it does not know.
(declare-const in-range Bool)
(declare-const informed State) ; the peer after the news
(define-fun by-range ((x State) (y State)) State ; drops only own entries of the range
  (ite in-range (state (seen x) (stays x y)) x))
(push) ; judged against own entries of that range alone it is a part of the merge
(assert (and (= informed (merge peer news)) (not (= (by-range informed now) (merge informed (part in-range now))))))
(check-sat) ; expect unsat
(pop)
(push) ; and finds every removal of the range
(assert (and (= informed (merge peer news)) in-range (not (= (by-range informed now) (merge peer now)))))
(check-sat) ; expect unsat
(pop)
(push) ; judged against all own entries it kills those outside the range
(assert (and (= informed (merge peer news)) (= now live) (not (held (merge informed (careless in-range now))))))
(check-sat) ; expect sat
(pop)
(push) ; without the news first, taking the sender's history along loses what lies outside the range
(assert (and (= now live) (= peer unseen)
             (not (held (merge (state (seen now) (and in-range (held now))) now)))))
(check-sat) ; expect sat
(pop)

; ---- layout: the entry of a dot may stand in bucket i, in its other bucket j, or in the stash ----
(declare-datatypes ((Place 0)) (((nowhere) (bucket-i) (bucket-j) (stash))))
(declare-datatypes ((Table 0)) (((table (history Bool) (place Place)))))
(define-fun abstract ((x Table)) State (state (history x) (not (= (place x) nowhere))))
(declare-const s Table)
(declare-const t Table)
(declare-const s2 Table) ; the same states in another layout
(declare-const t2 Table)
(declare-const free Place) ; where the cuckoo procedure puts an entry that is taken
(declare-const free2 Place)
(assert (and (valid (abstract s)) (valid (abstract t)) (= (abstract s) (abstract s2)) (= (abstract t) (abstract t2))))
(assert (and (not (= free nowhere)) (not (= free2 nowhere))))
(define-fun lay ((x Table) (keep Bool) (take Bool) (y Table) (at Place)) Table
  (table (or (history x) (history y)) (ite keep (place x) (ite take at nowhere))))
(define-fun merge-tables ((x Table) (y Table) (at Place)) Table ; looks in both buckets and the stash
  (lay x (stays (abstract x) (abstract y)) (taken (abstract x) (abstract y)) y at))
(push) ; the merge of tables is the merge of states
(assert (not (= (abstract (merge-tables s t free)) (merge (abstract s) (abstract t)))))
(check-sat) ; expect unsat
(pop)
(push) ; it does not depend on where entries stand, nor on where they are put
(assert (not (= (abstract (merge-tables s t free)) (abstract (merge-tables s2 t2 free2)))))
(check-sat) ; expect unsat
(pop)
(push) ; and so neither does whether an element is found afterwards; the layout may differ
(assert (not (= (merge-tables s t free) (merge-tables s2 t2 free2))))
(check-sat) ; expect sat
(pop)
; wrong: looks for the entry in the very place where it stands here
(define-fun one-place ((x Table) (y Table) (at Place)) Table
  (lay x (and (not (= (place x) nowhere)) (or (= (place y) (place x)) (not (history y))))
       (taken (abstract x) (abstract y)) y at))
(push) ; an entry that was merely displaced is dropped (Figure 3.3, case 4)
(assert (and (= s (table true bucket-i)) (= t (table true bucket-j)) (not (held (abstract (one-place s t free))))))
(check-sat) ; expect sat
(pop)
; wrong: looks in both buckets and forgets the stash
(define-fun no-stash ((x Table) (y Table) (at Place)) Table
  (lay x (and (not (= (place x) nowhere)) (or (= (place y) bucket-i) (= (place y) bucket-j) (not (history y))))
       (taken (abstract x) (abstract y)) y at))
(push) ; an entry that overflowed at the peer is dropped
(assert (and (held (abstract s)) (held (abstract t)) (not (held (abstract (no-stash s t free))))))
(check-sat) ; expect sat
(pop)
(push) ; as long as the peer's stash is empty it would do
(assert (and (not (= (place t) stash)) (not (= (no-stash s t free) (merge-tables s t free)))))
(check-sat) ; expect unsat
(pop)

; Specification 4 to the letter, for tables without a stash: whether the merged table has the entry at bucket `at`
(define-fun has ((x Table) (at Place)) Bool (= (place x) at))
(define-fun spec4 ((x Table) (y Table) (at Place) (other Place)) Bool
  (or (and (has x at) (has y at))                                 ; not updated
      (and (has x at) (not (has y at)) (not (history y)))         ; new here
      (and (has y at) (not (has x at)) (not (history x)))         ; new there
      (and (has x at) (has y other))))                            ; displaced
(push) ; it is the same merge, and holds an entry once
(assert (and (not (= (place s) stash)) (not (= (place t) stash))))
(define-fun at-i () Bool (spec4 s t bucket-i bucket-j))
(define-fun at-j () Bool (spec4 s t bucket-j bucket-i))
(assert (not (and (= (or at-i at-j) (held (merge (abstract s) (abstract t)))) (not (and at-i at-j)))))
(check-sat) ; expect unsat
(pop)

; ---- one dot for two elements: two replicas of one actor, or a restored backup that counts on ----
(declare-datatypes ((Entry 0)) (((entry (dot State) (element Int)))))
(define-fun merge-entries ((x Entry) (y Entry)) Entry
  (entry (merge (dot x) (dot y)) (ite (stays (dot x) (dot y)) (element x) (element y))))
(define-fun holds ((x Entry) (e Int)) Bool (and (held (dot x)) (= (element x) e)))
(define-fun here () Entry (entry live 1))
(define-fun there () Entry (entry live 2))
(push) ; an element that was added and not removed is gone
(assert (not (holds (merge-entries here there) 2)))
(check-sat) ; expect sat
(pop)
(push) ; the replicas merge each other and hold different elements, with one history: nothing tells them so
(assert (and (= (dot (merge-entries here there)) (dot (merge-entries there here)))
             (not (= (merge-entries here there) (merge-entries there here)))))
(check-sat) ; expect sat
(pop)
(push) ; the removal of one element takes the other out
(assert (not (holds (merge-entries here (entry (kill (dot there)) 2)) 1)))
(check-sat) ; expect sat
(pop)
(push) ; with a dot each, both elements are in, whoever merges whom
(define-fun both ((first State) (second State)) Bool (and (held first) (held second)))
(assert (not (and (both (merge live unseen) (merge unseen live)) (both (merge unseen live) (merge live unseen)))))
(check-sat) ; expect unsat
(pop)

; ---- histories by counters: one actor's dots are 1, 2, 3, ... ----
(declare-const end Int) ; the version-vector entry: all counters up to it are seen
(declare-const n Int) ; a counter
(declare-const m Int) ; another
(assert (and (>= end 0) (>= n 1) (>= m 1)))
(define-fun maximum ((x Int) (y Int)) Int (ite (< x y) y x))
; the peer has not seen dot n; it gets a delta with dot m, and some time later the whole state, in which n is live
(define-fun afterwards ((is-seen Bool)) State (merge (state is-seen false) live))
(push) ; a version vector alone takes the gap before m for seen: the element of dot n is lost
(assert (and (> n end) (< n m) (not (held (afterwards (<= n (maximum end m)))))))
(check-sat) ; expect sat
(pop)
(push) ; with the dot cloud, m is seen and nothing else is
(assert (and (> n end) (not (= n m)) (not (held (afterwards (or (<= n end) (= n m)))))))
(check-sat) ; expect unsat
(pop)
(push) ; a version vector would do if dots came without gaps
(assert (and (> n end) (= m (+ end 1)) (not (= n m)) (not (held (afterwards (<= n (maximum end m)))))))
(check-sat) ; expect unsat
(pop)

; runs of the cloud: [first .. last]
(declare-const first Int)
(declare-const last Int)
(declare-const first2 Int)
(declare-const last2 Int)
(assert (and (>= first 1) (<= first last) (<= first first2) (<= first2 last2)))
(define-fun inside ((x Int) (from Int) (to Int)) Bool (and (<= from x) (<= x to)))
(push) ; runs that overlap or touch melt into one run of the same dots
(assert (and (<= first2 (+ last 1))
             (not (= (or (inside n first last) (inside n first2 last2)) (inside n first (maximum last last2))))))
(check-sat) ; expect unsat
(pop)
(push) ; runs with one counter missing between them must not
(assert (and (= first2 (+ last 2))
             (not (= (or (inside n first last) (inside n first2 last2)) (inside n first (maximum last last2))))))
(check-sat) ; expect sat
(pop)
(push) ; the largest counter seen plus one is a fresh dot
(define-fun fresh () Int (+ 1 (maximum end last)))
(assert (or (<= fresh end) (inside fresh first last)))
(check-sat) ; expect unsat
(pop)
(push) ; the version-vector entry plus one need not be
(assert (and (> first end) (inside (+ end 1) first last)))
(check-sat) ; expect sat
(pop)

; A replica has made `made` dots and the peer has seen them all; it makes the next with counter `next`; the peer merges.
(declare-const made Int)
(assert (and (>= made 0) (<= made 255)))
(define-fun reaches ((next Int) (limit Int)) Bool (held (merge (state (<= next limit) false) live)))
(push) ; a counter of eight bits that wraps: the peer takes the new element for one that it removed
(assert (not (reaches (ite (= made 255) 0 (+ made 1)) made)))
(check-sat) ; expect sat
(pop)
(push) ; a counter that counts on reaches it
(assert (not (reaches (+ made 1) made)))
(check-sat) ; expect unsat
(pop)
(push) ; a backup from before the last dots, restored under the old actor, makes dots that were used: lost
(declare-const saved Int)
(assert (and (<= 0 saved) (< saved made) (not (reaches (+ saved 1) made))))
(check-sat) ; expect sat
(pop)
(push) ; as a new actor, of which nobody has seen a dot, it loses nothing
(assert (not (reaches 1 0)))
(check-sat) ; expect unsat
(pop)
