; Series of observed-remove tables: one dot whose entry belongs to table k. A replica's list may be too short to have
; that table, because it never had one or because the table got empty and was cut off ("shrink").
(set-logic ALL)

; seen: in the history, which all tables of a replica share; held: by an entry of table k; long: the list has a table k
(declare-datatypes ((Series 0)) (((series (seen Bool) (held Bool) (long Bool)))))
(define-fun valid ((x Series)) Bool (=> (held x) (and (seen x) (long x))))
(define-fun dropped ((x Series)) Bool (and (seen x) (not (held x))))
(define-fun remove ((x Series)) Series (series (seen x) false (long x)))
(define-fun shrink ((x Series)) Series (series (seen x) (held x) (held x))) ; no other entry in the table, nor behind it
(define-fun join ((x Series) (y Series)) Bool ; the merge of two tables with their histories (observed_remove.smt2)
  (or (and (held x) (not (dropped y))) (and (held y) (not (seen x)))))
; the thesis: tables that both lists have are merged, the tail of the longer list is kept as it is
(define-fun thesis-merge ((x Series) (y Series)) Series
  (series (or (seen x) (seen y)) (ite (and (long x) (long y)) (join x y) (or (held x) (held y)))
          (or (long x) (long y))))
(define-fun thesis-at-most ((x Series) (y Series)) Bool
  (and (=> (long x) (long y)) (=> (seen x) (seen y)) (=> (and (long x) (dropped x)) (dropped y))))
; ours: a missing table is an empty one, with the history of its replica; length is no part of the state
(define-fun merge ((x Series) (y Series)) Series
  (series (or (seen x) (seen y)) (join x y) (or (long x) (long y))))
(define-fun at-most ((x Series) (y Series)) Bool (and (=> (seen x) (seen y)) (=> (and (seen x) (held y)) (held x))))
(define-fun equal ((x Series) (y Series)) Bool (and (= (seen x) (seen y)) (= (held x) (held y))))

(declare-const a Series)
(declare-const b Series)
(declare-const c Series)
(assert (and (valid a) (valid b) (valid c)))

; ---- the thesis's merge ----
(push) ; what a peer had seen, removed and shrunk away comes back
(assert (and (held a) (held (thesis-merge a (shrink (remove a))))))
(check-sat) ; expect sat
(pop)
(push) ; not if it had kept the empty table: whether a removal counts depends on memory being given back
(assert (and (held a) (held (thesis-merge a (remove a)))))
(check-sat) ; expect unsat
(pop)
(push) ; it is not associative: replicas that got the same states in another order stay apart
(assert (not (equal (thesis-merge (thesis-merge a b) c) (thesis-merge a (thesis-merge b c)))))
(check-sat) ; expect sat
(pop)
(push) ; it pads the shorter list with tables that have seen nothing, and that is the fault
(define-fun padded ((x Series)) Series (ite (long x) x (series false false true)))
(assert (not (= (held (thesis-merge a b)) (join (padded a) (padded b)))))
(check-sat) ; expect unsat
(pop)
(push) ; by its order, shrinking is no inflation
(assert (not (thesis-at-most a (shrink a))))
(check-sat) ; expect sat
(pop)

; ---- ours ----
(push) ; nothing that was removed comes back, shrunk away or not
(assert (or (held (merge a (remove a))) (held (merge a (shrink (remove a)))) (held (merge (shrink (remove a)) a))))
(check-sat) ; expect unsat
(pop)
(push) ; idempotent, commutative, associative, and keeps valid states
(assert (not (and (equal (merge a a) a) (equal (merge a b) (merge b a)) (valid (merge a b))
                  (equal (merge (merge a b) c) (merge a (merge b c))))))
(check-sat) ; expect unsat
(pop)
(push) ; compare is the order that merge derives, whatever the lengths
(assert (not (= (at-most a b) (equal (merge a b) b))))
(check-sat) ; expect unsat
(pop)
(push) ; a remove is an inflation, and shrinking leaves the state as it is
(assert (not (and (at-most a (remove a)) (equal a (shrink a)) (valid (shrink a)))))
(check-sat) ; expect unsat
(pop)
(push) ; equal states without their trailing empty tables are the same: a canonical form
(assert (and (equal a b) (not (= (shrink a) (shrink b)))))
(check-sat) ; expect unsat
(pop)
(push) ; the length of the longer list is more than a merge may need: the trailing tables may have become empty
(assert (not (= (merge a b) (shrink (merge a b)))))
(check-sat) ; expect sat
(pop)

; ---- why entries never migrate: the entry of a live dot stands in table 0 at one replica, in table 1 at the other ----
(declare-const migrated Bool)
(define-fun first-in ((table Int)) Bool (= table 0))
(define-fun second-in ((table Int)) Bool (= table (ite migrated 1 0)))
(define-fun merged-in ((table Int)) Bool
  (join (series true (first-in table) true) (series true (second-in table) true)))
(push) ; merged table by table the entry is lost: each table takes the other for one that dropped it
(assert (and migrated (not (or (merged-in 0) (merged-in 1)))))
(check-sat) ; expect sat
(pop)
(push) ; where it stayed in its table it is kept
(assert (and (not migrated) (not (merged-in 0))))
(check-sat) ; expect unsat
(pop)
