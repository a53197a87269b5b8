; The laws of words that the proofs of the C code take for granted: proofs/frama-c/words.h has them in the same order.
; There they are about integers; here words have 64 bits, and nothing below overflows within the bounds.
(define-sort word () (_ BitVec 64))
(declare-const a word)
(declare-const b word)
(declare-const n word)
(define-fun one () word #x0000000000000001)
(define-fun below-64 () Bool (bvule n #x000000000000003f))
(define-fun shifted () word (bvshl one n))

; and_at_most
(push)
(assert (not (and (bvule (bvand a b) a) (bvule (bvand a b) b))))
(check-sat) ; expect unsat
(pop)

; rest_of_byte
(push)
(assert (bvule a #xfffffffffffffff0))
(assert (not (= (bvurem (bvadd a (bvand (bvneg a) #x0000000000000007)) #x0000000000000008) #x0000000000000000)))
(check-sat) ; expect unsat
(pop)

; rest_of_byte adds at most 7, so that its sum does not overflow
(push)
(assert (bvule a #xfffffffffffffff0))
(assert (bvult (bvadd a (bvand (bvneg a) #x0000000000000007)) a))
(check-sat) ; expect unsat
(pop)

; or_at_least
(push)
(assert (not (and (bvuge (bvor a b) a) (bvuge (bvor a b) b))))
(check-sat) ; expect unsat
(pop)

; shifted_down: a >> n is at most a, and at most a / 2 where n is above 0
(push)
(assert (not (and (bvule (bvlshr a n) a) (=> (bvugt n #x0000000000000000) (bvule (bvlshr a n) (bvlshr a one))))))
(check-sat) ; expect unsat
(pop)

; one_shifted
(push)
(assert below-64)
(assert (not (and (bvuge shifted one) (bvule shifted #x8000000000000000))))
(check-sat) ; expect unsat
(pop)

; one_shifted_by_10
(push)
(assert (and below-64 (bvuge n #x000000000000000a) (not (bvuge shifted #x0000000000000400))))
(check-sat) ; expect unsat
(pop)

; one_shifted_by_12
(push)
(assert (and below-64 (bvuge n #x000000000000000c) (not (bvuge shifted #x0000000000001000))))
(check-sat) ; expect unsat
(pop)

; scale_to_range: the upper half of a product with `b` is below `b`. Words of 128 bits are too long for WP, and for this
; proof as well; with words of 16 and products of 32 it is the same computation.
(push)
(declare-const uniform (_ BitVec 16))
(declare-const range (_ BitVec 16))
(assert (bvugt range #x0000))
(assert (not (bvult (bvlshr (bvmul ((_ zero_extend 16) uniform) ((_ zero_extend 16) range)) #x00000010)
                    ((_ zero_extend 16) range))))
(check-sat) ; expect unsat
(pop)
