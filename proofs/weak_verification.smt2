; Specifications with a wrong order that a weak verification lets pass: Table 4.1 of the thesis, row by row. The weak
; verification asks whether the merge is idempotent, commutative and associative, up to the equivalence that compare
; gives (each at most the other). It never asks whether compare is the order that the merge derives, x + y = y. Each
; row passes the former and is refuted by the latter, and by the definition of a least upper bound: the two laws that
; grow_only.smt2 and observed_remove.smt2 prove of our filters. roost-eval walks the same rows on real filters.
(set-logic ALL)
(define-sort Payload () (Array Int Bool)) ; a set of integers
(define-fun none () Payload ((as const Payload) false))
(define-fun subset ((p Payload) (q Payload)) Bool (= ((_ map =>) p q) ((as const Payload) true)))
(declare-const x Int)
(declare-const y Int)
(declare-const z Int)
(declare-const s Payload)
(declare-const t Payload)
(declare-const u Payload)

; ---- row 1: integers, the maximum, compare the wrong way round ----
(define-fun merge1 ((p Int) (q Int)) Int (ite (< p q) q p))
(define-fun at-most1 ((p Int) (q Int)) Bool (<= q p))
(define-fun same1 ((p Int) (q Int)) Bool (and (at-most1 p q) (at-most1 q p)))
(push) ; passes: idempotent, commutative, associative
(assert (not (and (same1 (merge1 x x) x) (same1 (merge1 x y) (merge1 y x))
                  (same1 (merge1 x (merge1 y z)) (merge1 (merge1 x y) z)))))
(check-sat) ; expect unsat
(pop)
(push) ; refuted: compare is not the order that merge derives
(assert (not (= (at-most1 x y) (same1 (merge1 x y) y))))
(check-sat) ; expect sat
(pop)
(push) ; refuted: the merge is not an upper bound
(assert (not (at-most1 x (merge1 x y))))
(check-sat) ; expect sat
(pop)
(push) ; refuted: counting up is not an inflation
(assert (not (at-most1 x (+ x 1))))
(check-sat) ; expect sat
(pop)
(push) ; and the other way round all of them hold
(assert (not (and (= (<= x y) (= (merge1 x y) y)) (<= x (merge1 x y)) (<= y (merge1 x y))
                  (=> (and (<= x z) (<= y z)) (<= (merge1 x y) z)) (<= x (+ x 1)))))
(check-sat) ; expect unsat
(pop)

; ---- row 2: integers, the minimum, compare the wrong way round ----
(define-fun merge2 ((p Int) (q Int)) Int (ite (< p q) p q))
(define-fun at-most2 ((p Int) (q Int)) Bool (>= q p))
(define-fun same2 ((p Int) (q Int)) Bool (and (at-most2 p q) (at-most2 q p)))
(push) ; passes
(assert (not (and (same2 (merge2 x x) x) (same2 (merge2 x y) (merge2 y x))
                  (same2 (merge2 x (merge2 y z)) (merge2 (merge2 x y) z)))))
(check-sat) ; expect unsat
(pop)
(push) ; refuted: the order
(assert (not (= (at-most2 x y) (same2 (merge2 x y) y))))
(check-sat) ; expect sat
(pop)
(push) ; refuted: the upper bound
(assert (not (at-most2 x (merge2 x y))))
(check-sat) ; expect sat
(pop)
(push) ; counting up is an inflation here: updates alone do not show the fault
(assert (not (at-most2 x (+ x 1))))
(check-sat) ; expect unsat
(pop)

; ---- row 3: sets, the union, compare the wrong way round ----
(define-fun merge3 ((p Payload) (q Payload)) Payload ((_ map or) p q))
(define-fun at-most3 ((p Payload) (q Payload)) Bool (subset q p))
(define-fun same3 ((p Payload) (q Payload)) Bool (and (at-most3 p q) (at-most3 q p)))
(push) ; passes
(assert (not (and (same3 (merge3 s s) s) (same3 (merge3 s t) (merge3 t s))
                  (same3 (merge3 s (merge3 t u)) (merge3 (merge3 s t) u)))))
(check-sat) ; expect unsat
(pop)
(push) ; refuted: the order
(assert (not (= (at-most3 s t) (same3 (merge3 s t) t))))
(check-sat) ; expect sat
(pop)
(push) ; refuted: the upper bound
(assert (not (at-most3 s (merge3 s t))))
(check-sat) ; expect sat
(pop)
(push) ; refuted: an addition is not an inflation
(assert (not (at-most3 s (store s x true))))
(check-sat) ; expect sat
(pop)
(push) ; and the other way round all of them hold
(assert (not (and (= (subset s t) (= (merge3 s t) t)) (subset s (merge3 s t)) (subset t (merge3 s t))
                  (=> (and (subset s u) (subset t u)) (subset (merge3 s t) u)) (subset s (store s x true)))))
(check-sat) ; expect unsat
(pop)

; ---- row 4: sets, the intersection, compare the wrong way round ----
(define-fun merge4 ((p Payload) (q Payload)) Payload ((_ map and) p q))
(define-fun at-most4 ((p Payload) (q Payload)) Bool (subset p q))
(define-fun same4 ((p Payload) (q Payload)) Bool (and (at-most4 p q) (at-most4 q p)))
(push) ; passes
(assert (not (and (same4 (merge4 s s) s) (same4 (merge4 s t) (merge4 t s))
                  (same4 (merge4 s (merge4 t u)) (merge4 (merge4 s t) u)))))
(check-sat) ; expect unsat
(pop)
(push) ; refuted: the order
(assert (not (= (at-most4 s t) (same4 (merge4 s t) t))))
(check-sat) ; expect sat
(pop)
(push) ; refuted: the upper bound
(assert (not (at-most4 s (merge4 s t))))
(check-sat) ; expect sat
(pop)

; ---- row 5: sets, nothing where they differ, compare inclusion ----
(define-fun merge5 ((p Payload) (q Payload)) Payload (ite (= p q) q none))
(define-fun at-most5 ((p Payload) (q Payload)) Bool (subset p q))
(define-fun same5 ((p Payload) (q Payload)) Bool (and (at-most5 p q) (at-most5 q p)))
(push) ; passes
(assert (not (and (same5 (merge5 s s) s) (same5 (merge5 s t) (merge5 t s))
                  (same5 (merge5 s (merge5 t u)) (merge5 (merge5 s t) u)))))
(check-sat) ; expect unsat
(pop)
(push) ; refuted: the order
(assert (not (= (at-most5 s t) (same5 (merge5 s t) t))))
(check-sat) ; expect sat
(pop)
(push) ; refuted: the upper bound
(assert (not (at-most5 s (merge5 s t))))
(check-sat) ; expect sat
(pop)
(push) ; what it derives is: equal, or the other one is empty
(assert (not (= (= (merge5 s t) t) (or (= s t) (= t none)))))
(check-sat) ; expect unsat
(pop)

; ---- the same fault in our own filters: one bit or class, one dot, with the order the wrong way round ----
(declare-const p Bool)
(declare-const q Bool)
(declare-const r Bool)
(define-fun bit-at-most ((a Bool) (b Bool)) Bool (=> b a))
(push) ; a bit passes
(assert (not (and (= (or p p) p) (= (or p q) (or q p)) (= (or p (or q r)) (or (or p q) r)))))
(check-sat) ; expect unsat
(pop)
(push) ; and is refuted
(assert (not (= (bit-at-most p q) (= (or p q) q))))
(check-sat) ; expect sat
(pop)
(define-fun is-height ((h Int)) Bool (<= 0 h 2)) ; of a dot: unseen, live, dead; the merge is the larger
(assert (and (is-height x) (is-height y) (is-height z)))
(push) ; a dot passes, as row 1 does
(assert (not (and (same1 (merge1 x x) x) (same1 (merge1 x y) (merge1 y x))
                  (same1 (merge1 x (merge1 y z)) (merge1 (merge1 x y) z)))))
(check-sat) ; expect unsat
(pop)
(push) ; and is refuted already by a live dot and one that is not seen yet
(assert (and (= x 0) (= y 1) (not (= (at-most1 x y) (same1 (merge1 x y) y)))))
(check-sat) ; expect sat
(pop)
(push) ; a dot that takes the smaller height, so that an addition wins over every removal, passes as row 2
(assert (not (and (same2 (merge2 x x) x) (same2 (merge2 x y) (merge2 y x))
                  (same2 (merge2 x (merge2 y z)) (merge2 (merge2 x y) z)))))
(check-sat) ; expect unsat
(pop)
(push) ; and is refuted: merged with one who has not seen it, an addition is lost
(assert (and (= x 1) (not (at-most2 x (merge2 x y)))))
(check-sat) ; expect sat
(pop)
