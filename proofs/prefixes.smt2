; Filters that grow by longer prefixes (docs/error-bounds.md, "Growing: prefixes" and the section after it).
(set-logic ALL)

; ---- sets of prefixes, for hashes of three bits: a bit for each prefix, 1 for the empty one, 2n and 2n + 1 after n ----
(define-sort Prefixes () (_ BitVec 16)) ; bit n: the prefix n is there; bit 0 is none
(define-sort Hashes () (_ BitVec 8)) ; bit h: the hash h is covered
; what a set covers: hash h has the prefixes 1, (8 + h) / 4, (8 + h) / 2, 8 + h
(define-fun covers ((s Prefixes)) Hashes
  (bvor (ite (= ((_ extract 1 1) s) #b1) #xff #x00)
        (ite (= ((_ extract 2 2) s) #b1) #x0f #x00) (ite (= ((_ extract 3 3) s) #b1) #xf0 #x00)
        (ite (= ((_ extract 4 4) s) #b1) #x03 #x00) (ite (= ((_ extract 5 5) s) #b1) #x0c #x00)
        (ite (= ((_ extract 6 6) s) #b1) #x30 #x00) (ite (= ((_ extract 7 7) s) #b1) #xc0 #x00)
        ((_ extract 15 8) s)))
; without what a shorter prefix covers
(define-fun below ((s Prefixes)) Prefixes ; all that go on after one of the set
  (let ((one (ite (= ((_ extract 1 1) s) #b1) #xfffc #x0000)))
  (let ((two (bvor (ite (= ((_ extract 2 2) s) #b1) #x0f30 #x0000) (ite (= ((_ extract 3 3) s) #b1) #xf0c0 #x0000))))
  (let ((four (bvor (ite (= ((_ extract 4 4) s) #b1) #x0300 #x0000) (ite (= ((_ extract 5 5) s) #b1) #x0c00 #x0000)
                    (ite (= ((_ extract 6 6) s) #b1) #x3000 #x0000) (ite (= ((_ extract 7 7) s) #b1) #xc000 #x0000))))
  (bvor one two four)))))
(define-fun reduced ((s Prefixes)) Prefixes (bvand s (bvnot (below s))))
(define-fun valid ((s Prefixes)) Bool (and (= ((_ extract 0 0) s) #b0) (= s (reduced s))))
(define-fun merge ((s Prefixes) (t Prefixes)) Prefixes (reduced (bvor s t)))
; compare: each prefix of the one is there, or goes on after one that is
(define-fun at-most ((s Prefixes) (t Prefixes)) Bool (= #x0000 (bvand s (bvnot (bvor t (below t))))))
(declare-const a Prefixes)
(declare-const b Prefixes)
(declare-const c Prefixes)
(assert (and (valid a) (valid b) (valid c)))
(push) ; idempotent, commutative, associative, and of the same form
(assert (not (and (= (merge a a) a) (= (merge a b) (merge b a)) (valid (merge a b))
                  (= (merge (merge a b) c) (merge a (merge b c))))))
(check-sat) ; expect unsat
(pop)
(push) ; compare is the order that merge derives
(assert (not (= (at-most a b) (= (merge a b) b))))
(check-sat) ; expect unsat
(pop)
(push) ; merge covers what either covers, and nothing is lost by leaving out what is covered
(assert (not (= (covers (merge a b)) (bvor (covers a) (covers b)))))
(check-sat) ; expect unsat
(pop)
(push) ; who is at most another covers at most as much
(assert (and (at-most a b) (not (= (bvor (covers a) (covers b)) (covers b)))))
(check-sat) ; expect unsat
(pop)
(push) ; not the other way round: two prefixes side by side cover as much as the one before them, and are kept apart
(assert (and (= (covers a) (covers b)) (not (= a b))))
(check-sat) ; expect sat
(pop)
(push) ; an addition is an inflation, and what it covers may go
(declare-const added Prefixes)
(assert (and (valid added) (not (at-most a (merge a added)))))
(check-sat) ; expect unsat
(pop)

; ---- with removal: the budget of one length, for a writer w with three prefixes p, q, r and a budget of two ----
; Each has one dot of w, in this order; the state of a dot is 0 unseen, 1 live, 2 removed, and merge is the larger.
(define-fun larger ((x Int) (y Int)) Int (ite (< x y) y x))
(define-fun standing ((x Int)) Bool (<= 0 x 2))
(define-fun live ((x Int)) Int (ite (= x 1) 1 0))
(declare-const p1 Int) ; the three dots at w, when it has made the second and the third
(declare-const p2 Int)
(declare-const q1 Int)
(declare-const q2 Int)
(declare-const p Int) ; in all else that came into a state
(declare-const q Int)
(declare-const r Int)
(declare-const others1 Int) ; prefixes of other writers that w saw then
(declare-const others2 Int)
(assert (and (standing p) (standing q) (standing r) (<= 1 p1 2) (<= p1 p2 2) (<= 1 q1 2) (<= q1 q2 2)
             (>= others1 0) (>= others2 0)))
; the rule: fewer prefixes than the budget, the one that is added not counted
(define-fun rule-q () Bool (< (+ (live p1) others1) 2))
(define-fun rule-r () Bool (< (+ (live p2) (live q2) others2) 2))
(push) ; a state that has seen the third dot has all that w had then: of w's prefixes it holds two at most
(assert (and rule-q rule-r
             (> (+ (live (larger p2 p)) (live (larger q2 q)) (live (larger 1 r))) 2)))
(check-sat) ; expect unsat
(pop)
(push) ; the bound is reached
(assert (and rule-q rule-r (= (+ (live (larger p2 p)) (live (larger q2 q)) (live (larger 1 r))) 2)))
(check-sat) ; expect sat
(pop)
(push) ; wrong: a writer that adds again what it sees, however full the length is
(declare-const sees-r Bool)
(assert (and rule-q (or sees-r rule-r)
             (> (+ (live (larger p2 p)) (live (larger q2 q)) (live (larger 1 r))) 2)))
(check-sat) ; expect sat
(pop)
(push) ; a delta that skips the one before it does not say that p is gone: until that one comes there may be three
(declare-const told Bool)
(assert (and rule-q rule-r
             (> (+ (live (larger (ite told p2 0) p)) (live (larger q2 q)) (live (larger 1 r))) 2)))
(check-sat) ; expect sat
(pop)

; ---- with removal: what an addition of x may take the place of ----
; An entry of length k covers x, and another element y if both share k bits; the new entry has the length n.
(declare-const shared Int) ; first bits that x and y share
(declare-const k Int)
(declare-const n Int)
(assert (and (<= 4 k 60) (<= 4 n 60) (<= 0 shared 60)))
(define-fun is-found ((dropped Bool)) Bool (or (not dropped) (<= n shared))) ; y, by its entry or by the new one
(push) ; entries that the new prefix covers may go: whatever they stood for is covered
(assert (and (<= k shared) (not (is-found (>= k n)))))
(check-sat) ; expect unsat
(pop)
(push) ; a shorter one may not: y would be lost by the addition of x
(assert (and (<= k shared) (not (is-found true))))
(check-sat) ; expect sat
(pop)
(push) ; and only a shorter one can be y's where the new prefix does not cover y
(assert (and (<= k shared) (not (is-found true)) (>= k n)))
(check-sat) ; expect unsat
(pop)
