; The merges of the grow-only filters, chain by chain. A state is a product of chains, so a law that holds for one chain
; holds for the filter.
(set-logic ALL)

; ---- one bit of a Bloom filter, one class of a cuckoo filter: absent < present, merge is the maximum ----
(declare-const x Bool)
(declare-const y Bool)
(declare-const z Bool)
(define-fun merge ((p Bool) (q Bool)) Bool (or p q))
(define-fun at-most ((p Bool) (q Bool)) Bool (=> p q))
(push) ; idempotent, commutative, associative
(assert (not (and (= (merge x x) x) (= (merge x y) (merge y x)) (= (merge x (merge y z)) (merge (merge x y) z)))))
(check-sat) ; expect unsat
(pop)
(push) ; compare is the order that merge derives
(assert (not (= (at-most x y) (= (merge x y) y))))
(check-sat) ; expect unsat
(pop)
(push) ; the merge is the least upper bound
(assert (not (and (at-most x (merge x y)) (at-most y (merge x y))
                  (=> (and (at-most x z) (at-most y z)) (at-most (merge x y) z)))))
(check-sat) ; expect unsat
(pop)
(push) ; an add is an inflation
(assert (not (at-most x (merge x true))))
(check-sat) ; expect unsat
(pop)

; ---- one class of a cuckoo table: it may be held in bucket i or in its other bucket j ----
; si, sj: what the first table holds there; ti, tj: the second. U is whether the class is there at all.
(declare-const si Bool)
(declare-const sj Bool)
(declare-const ti Bool)
(declare-const tj Bool)
(define-fun U ((i Bool) (j Bool)) Bool (or i j))
(define-fun once ((i Bool) (j Bool)) Bool (not (and i j)))
; the thesis: S + (T minus the dual of S)
(define-fun mi () Bool (or si (and ti (not sj))))
(define-fun mj () Bool (or sj (and tj (not si))))
(push) ; it is the union of the universes
(assert (not (= (U mi mj) (or (U si sj) (U ti tj)))))
(check-sat) ; expect unsat
(pop)
(push) ; tables that hold the class at most once make one that does
(assert (and (once si sj) (once ti tj) (not (once mi mj))))
(check-sat) ; expect unsat
(pop)
(push) ; the plain union of the tables does not: it holds a displaced entry twice
(assert (and (once si sj) (once ti tj) (not (once (or si ti) (or sj tj)))))
(check-sat) ; expect sat
(pop)

; ours: insertion by the cuckoo procedure puts the class into either bucket if, and only if, it is in neither
(declare-const into-i Bool)
(define-fun absent () Bool (not (U si sj)))
(define-fun oi () Bool (or si (and absent (U ti tj) into-i)))
(define-fun oj () Bool (or sj (and absent (U ti tj) (not into-i))))
(push) ; the same universe as the thesis's merge, whichever bucket is chosen
(assert (not (= (U oi oj) (U mi mj))))
(check-sat) ; expect unsat
(pop)
(push) ; and still at most once
(assert (and (once si sj) (not (once oi oj))))
(check-sat) ; expect unsat
(pop)
(push) ; the layout itself may differ: it is not state
(assert (and (once si sj) (once ti tj) (not (and (= oi mi) (= oj mj)))))
(check-sat) ; expect sat
(pop)
