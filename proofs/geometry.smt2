; The geometry of the cuckoo table (src/cuckoo/cuckoo_geometry.h), for every number of buckets n:
; the other bucket is an involution, both buckets lead to one class key, and no other bucket does.
;
; A fingerprint is given by the sum c of its two buckets. All is linear arithmetic with one case for each "modulo n",
; so the proofs are for all integers, not for a sample of sizes.
(set-logic QF_LIA)
(declare-const n Int) ; buckets
(declare-const c Int) ; what the two buckets add up to, modulo n
(declare-const h Int) ; c div 2
(declare-const odd Int)
(declare-const b Int) ; a bucket
(declare-const d Int) ; any other bucket
(define-fun minus ((x Int) (y Int)) Int (ite (< x y) (+ (- x y) n) (- x y)))
(define-fun plus ((x Int) (y Int)) Int (ite (< (+ x y) n) (+ x y) (- (+ x y) n)))
(define-fun other ((x Int)) Int (minus c x))
(define-fun middle () Int (+ h odd)) ; ceil(c/2)
(define-fun seen ((x Int)) Int (minus x middle)) ; a bucket as seen from the middle of its pair
(define-fun name ((x Int)) Int (ite (< (seen x) (seen (other x))) (seen x) (seen (other x))))
(assert (and (>= n 1) (>= c 0) (< c n) (>= b 0) (< b n) (>= d 0) (< d n)))
(assert (and (or (= odd 0) (= odd 1)) (= c (+ (* 2 h) odd))))

(push) ; the other bucket of the other bucket is the first
(assert (not (= (other (other b)) b)))
(check-sat) ; expect unsat
(pop)
(push) ; the middle is itself a bucket number
(assert (not (and (>= middle 0) (< middle n))))
(check-sat) ; expect unsat
(pop)
(push) ; both buckets have one name
(assert (not (= (name b) (name (other b)))))
(check-sat) ; expect unsat
(pop)
(push) ; from the other bucket, u looks like -u - (c odd)
(assert (not (= (seen (other b)) (minus (minus 0 (seen b)) odd))))
(assert (> n 1))
(check-sat) ; expect unsat
(pop)
(push) ; names fill the lower half of the numbers
(assert (not (and (>= (name b) 0) (<= (* 2 (name b)) n))))
(check-sat) ; expect unsat
(pop)
(push) ; one name, one pair
(assert (= (name b) (name d)))
(assert (not (or (= d b) (= d (other b)))))
(check-sat) ; expect unsat
(pop)
(push) ; a name leads back to one of the two buckets
(assert (not (or (= (plus (name b) middle) b) (= (plus (name b) middle) (other b)))))
(check-sat) ; expect unsat
(pop)
(push) ; the smaller bucket would not do as a name: it is not uniform (some pairs have both buckets in the upper half)
(assert (and (> n 4) (> (* 2 b) n) (> (* 2 (other b)) n)))
(check-sat) ; expect sat
(pop)
