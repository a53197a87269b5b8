; What wins where replicas add and remove an element without having seen each other: src/prefix/semantics.h.
; Remove-wins: states of any number of dots, each unseen (0), live (1) or dead (2); a dot names an addition or a removal
; of one element. Last-writer-wins: states are products of stamps, one for each element, so that one stamp is enough.
; Goals that expect sat are counterexamples: what goes wrong when one does otherwise.
(set-logic ALL)

; ---- remove-wins ----
(declare-sort Dot 0)
(declare-sort Element 0)
(declare-fun element (Dot) Element)
(declare-fun removes (Dot) Bool)
(define-sort State () (Array Dot Int))
(define-fun valid ((x State)) Bool (forall ((d Dot)) (and (<= 0 (select x d)) (<= (select x d) 2))))
(define-fun at-most ((x State) (y State)) Bool (forall ((d Dot)) (<= (select x d) (select y d))))
(define-fun larger ((x Int) (y Int)) Int (ite (< x y) y x))
; z is the merge of x and y
(define-fun merged ((z State) (x State) (y State)) Bool
  (forall ((d Dot)) (= (select z d) (larger (select x d) (select y d)))))
(define-fun member ((x State) (e Element)) Bool
  (and (exists ((d Dot)) (and (= (element d) e) (not (removes d)) (= (select x d) 1)))
       (forall ((d Dot)) (=> (and (= (element d) e) (removes d)) (not (= (select x d) 1))))))
; y is x after a change of the element of dot n, which nobody has made before: it supersedes all that x has seen of it
(define-fun changed ((y State) (x State) (n Dot)) Bool
  (and (= (select x n) 0) (= (select y n) 1)
       (forall ((d Dot)) (=> (not (= d n))
         (= (select y d) (ite (and (= (element d) (element n)) (= (select x d) 1)) 2 (select x d)))))))

(declare-const a State)
(declare-const b State)
(declare-const c State)
(declare-const ab State)
(declare-const a1 State)
(declare-const b1 State)
(declare-const n Dot)
(declare-const m Dot)
(declare-const e Element)
(assert (and (valid a) (valid b) (valid c)))

(push) ; merge is idempotent
(assert (not (merged a a a)))
(check-sat) ; expect unsat
(pop)
(push) ; commutative
(assert (and (merged ab a b) (not (merged ab b a))))
(check-sat) ; expect unsat
(pop)
(push) ; associative
(declare-const bc State)
(declare-const all State)
(assert (and (merged ab a b) (merged bc b c) (merged all ab c) (not (merged all a bc))))
(check-sat) ; expect unsat
(pop)
(push) ; the order is the one that merge derives
(assert (merged ab a b))
(assert (not (= (at-most a b) (forall ((d Dot)) (= (select ab d) (select b d))))))
(check-sat) ; expect unsat
(pop)
(push) ; a change inflates, be it an addition or a removal
(assert (and (changed a1 a n) (not (at-most a a1))))
(check-sat) ; expect unsat
(pop)
(push) ; and leaves a valid state
(assert (and (changed a1 a n) (not (valid a1))))
(check-sat) ; expect unsat
(pop)
(push) ; an addition is seen where it was made, whatever removals were there
(assert (and (changed a1 a n) (not (removes n)) (not (member a1 (element n)))))
(check-sat) ; expect unsat
(pop)
(push) ; so is a removal
(assert (and (changed a1 a n) (removes n) (member a1 (element n))))
(check-sat) ; expect unsat
(pop)
(push) ; neither concerns another element
(assert (and (changed a1 a n) (not (= e (element n))) (not (= (member a1 e) (member a e)))))
(check-sat) ; expect unsat
(pop)
(push) ; the removal wins: merged with any state that has not seen it, whatever was added there
(assert (and (changed a1 a n) (removes n) (= (select b n) 0) (merged ab a1 b) (member ab (element n))))
(check-sat) ; expect unsat
(pop)
(push) ; in particular an addition and a removal of which neither has seen the other
(assert (and (changed a1 a n) (removes n) (changed b1 b m) (not (removes m)) (= (element m) (element n))
             (= (select a m) 0) (= (select b n) 0) (not (= n m)) (merged ab a1 b1) (member ab (element n))))
(check-sat) ; expect unsat
(pop)
(push) ; an addition that has seen everything stays, whichever part of it arrives again
(assert (and (changed a1 a n) (not (removes n)) (at-most b a) (merged ab a1 b) (not (member ab (element n)))))
(check-sat) ; expect unsat
(pop)
(push) ; a removal that has seen everything stays, too
(assert (and (changed a1 a n) (removes n) (at-most b a) (merged ab a1 b) (member ab (element n))))
(check-sat) ; expect unsat
(pop)
(push) ; an addition does not cancel a removal that it has not seen: there are such states, and the element is out
(assert (and (changed a1 a n) (not (removes n)) (merged ab a1 b) (= (select b n) 0) (removes m)
             (= (element m) (element n)) (= (select b m) 1) (= (select a m) 0) (not (member ab (element n)))))
(check-sat) ; expect sat
(pop)
(push) ; if additions left removals alone, one would not be seen where it was made
(define-fun added-beside ((y State) (x State) (n Dot)) Bool
  (and (= (select x n) 0) (= (select y n) 1)
       (forall ((d Dot)) (=> (not (= d n)) (= (select y d)
         (ite (and (= (element d) (element n)) (not (removes d)) (= (select x d) 1)) 2 (select x d)))))))
(assert (and (added-beside a1 a n) (not (removes n)) (not (member a1 (element n)))))
(check-sat) ; expect sat
(pop)
(push) ; if the removal of what is not there left nothing, an addition that it has not seen would win
(assert (and (not (member a (element m))) (forall ((d Dot)) (= (select a d) 0))
             (changed b1 b m) (not (removes m)) (merged ab a b1) (member ab (element m))))
(check-sat) ; expect sat
(pop)

; ---- remove-wins in prefixes of hashes: of eight bits here, where removals have all of them ----
(define-sort Hash () (_ BitVec 8))
; the highest bits, so many
(define-fun mask ((length Int)) Hash
  (ite (>= length 8) #xff (ite (= length 7) #xfe (ite (= length 6) #xfc (ite (= length 5) #xf8
    (ite (= length 4) #xf0 (ite (= length 3) #xe0 (ite (= length 2) #xc0 (ite (= length 1) #x80 #x00)))))))))
(define-fun covers ((prefix Hash) (length Int) (hash Hash)) Bool (= (bvand prefix (mask length)) (bvand hash (mask length))))
(define-fun covers-prefix ((prefix Hash) (length Int) (other Hash) (longer Int)) Bool
  (and (<= length longer) (covers prefix length other)))
(declare-const h Hash)
(declare-const g Hash)
(declare-const length Int)
(assert (and (<= 0 length) (<= length 7)))
(push) ; the prefix of an addition covers the removal of its element, which it therefore supersedes
(assert (not (covers-prefix h length h 8)))
(check-sat) ; expect unsat
(pop)
(push) ; of the removals that cover the hash of an element there is no other element's
(assert (and (covers g 8 h) (not (= g h))))
(check-sat) ; expect unsat
(pop)
(push) ; no removal covers another one
(assert (and (covers-prefix g 8 h 8) (not (= g h))))
(check-sat) ; expect unsat
(pop)
(push) ; with shorter ones a removal would hide other elements that were added elsewhere
(assert (and (covers g length h) (not (= g h)) (= length 5)))
(check-sat) ; expect sat
(pop)

; ---- last-writer-wins: a stamp is twice its time, and one more if it adds; 0: there is none ----
(define-fun time-of ((s Int)) Int (div s 2))
(define-fun adds ((s Int)) Bool (= (mod s 2) 1))
(define-fun stamp ((t Int) (add Bool)) Int (+ (* 2 t) (ite add 1 0)))
(define-fun is-state ((s Int)) Bool (or (= s 0) (>= (time-of s) 1)))
; the time of the next change: later than what was seen of the element, and no earlier than the clock
(define-fun next ((now Int) (before Int)) Int (larger now (+ (time-of before) 1)))
(declare-const x Int)
(declare-const y Int)
(declare-const z Int)
(declare-const now Int)
(declare-const add Bool)
(assert (and (is-state x) (is-state y) (is-state z) (>= now 0)))
(push) ; merge is idempotent, commutative and associative
(assert (not (and (= (larger x x) x) (= (larger x y) (larger y x)) (= (larger (larger x y) z) (larger x (larger y z))))))
(check-sat) ; expect unsat
(pop)
(push) ; the order is the one that merge derives
(assert (not (= (<= x y) (= (larger x y) y))))
(check-sat) ; expect unsat
(pop)
(push) ; a change has a stamp that is later than what it has seen: it inflates
(assert (not (and (is-state (stamp (next now x) add)) (> (stamp (next now x) add) x))))
(check-sat) ; expect unsat
(pop)
(push) ; and so it is seen where it was made, whatever the clock says
(assert (not (= (adds (larger x (stamp (next now x) add))) add)))
(check-sat) ; expect unsat
(pop)
(push) ; the stamp says what the change was, and when
(assert (not (and (= (adds (stamp now add)) add) (= (time-of (stamp now add)) now))))
(check-sat) ; expect unsat
(pop)
(push) ; two stamps that are equal are equal changes: there are no ties
(assert (and (= x y) (not (and (= (adds x) (adds y)) (= (time-of x) (time-of y))))))
(check-sat) ; expect unsat
(pop)
(push) ; of two changes the later one holds
(assert (and (< (time-of x) (time-of y)) (not (= (adds (larger x y)) (adds y)))))
(check-sat) ; expect unsat
(pop)
(push) ; of two at the same time the addition
(assert (and (= (time-of x) (time-of y)) (not (= (adds (larger x y)) (or (adds x) (adds y))))))
(check-sat) ; expect unsat
(pop)
(push) ; a clock that is right is kept: the next change has its time unless the element was changed later than that
(assert (and (> now (time-of x)) (not (= (next now x) now))))
(check-sat) ; expect unsat
(pop)
(push) ; whatever arrives late, twice or in another order ends in the same state
(assert (not (= (larger (larger x y) (larger z y)) (larger (larger x z) y))))
(check-sat) ; expect unsat
(pop)
(push) ; by the clock alone, a change at a machine that is behind would not be seen where it was made
(assert (not (= (adds (larger x (stamp now add))) add)))
(check-sat) ; expect sat
(pop)
