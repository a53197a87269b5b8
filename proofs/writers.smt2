; Series of observed-remove tables: why a table never holds more than `writers` times its capacity, whatever its writers
; remove and add again (docs/error-bounds.md), and why an addition never hides an element.
(set-logic ALL)

; ---- the rule: how many classes a writer sees in the table before and after an addition ----
(declare-const n Int) ; classes before
(declare-const c Int) ; the capacity
(declare-const in Bool) ; whether the class is among them
(assert (and (>= n 0) (>= c 1) (=> in (>= n 1))))
(define-fun after () Int (ite in n (+ n 1)))
(define-fun rule () Bool (or (< n c) (and (= n c) in))) ; fewer than the capacity, the element's own place not counted
(push) ; who adds to a table sees no more than its capacity there afterwards
(assert (and rule (not (<= after c))))
(check-sat) ; expect unsat
(pop)
(push) ; the rule refuses no other table: wherever the capacity would not be passed it allows the addition
(assert (and (<= after c) (not rule)))
(check-sat) ; expect unsat
(pop)
(push) ; wrong: an element that is there keeps its table, however full that is
(assert (and (or in (< n c)) (not (<= after c))))
(check-sat) ; expect sat
(pop)

; ---- what a writer has live in any state, it had live when it made the last of these dots ----
(declare-datatypes ((Chain 0)) (((unseen) (live) (dead))))
(define-fun height ((x Chain)) Int (ite (= x unseen) 0 (ite (= x live) 1 2)))
(define-fun merge ((x Chain) (y Chain)) Chain (ite (< (height x) (height y)) y x))
(declare-const then Chain) ; one of the writer's dots, at the writer, just after it made its last addition to the table
(declare-const others Chain) ; the same dot in all else that came into a state
(declare-const told Bool) ; whether what the state got with that addition tells of this dot
(assert (not (= then unseen))) ; a writer has seen all dots that it made
(push) ; a state that has the last addition has all that the writer had then: what is live here was live there
(assert (and (= (merge then others) live) (not (= then live))))
(check-sat) ; expect unsat
(pop)
(push) ; a delta that skips the one before it does not tell of the removal: until that one comes there may be more
(assert (and (= (merge (ite told then unseen) others) live) (not (= then live))))
(check-sat) ; expect sat
(pop)

; ---- so each writer has at most the capacity, and all of them together `writers` times as much ----
(declare-const first Int) ; classes with live dots of the first, second, third writer
(declare-const second Int)
(declare-const third Int)
(declare-const held Int) ; classes of the table: each has a dot of somebody
(assert (and (<= 0 first c) (<= 0 second c) (<= 0 third c) (<= 0 held (+ first second third))))
(push)
(assert (not (<= held (* 3 c))))
(check-sat) ; expect unsat
(pop)
(push) ; the bound is reached where nobody heard of anybody
(assert (and (= held (* 3 c)) (= c 5)))
(check-sat) ; expect sat
(pop)

; ---- adding again: which entries the new one may take the place of ----
; Classes of two elements x and y in tables 0 (the coarsest), 1 and 2. They nest: one class in a table, one in those before.
(declare-const same0 Bool) ; whether x and y are one class there
(declare-const same1 Bool)
(declare-const same2 Bool)
(assert (and (=> same2 same1) (=> same1 same0)))
(define-fun same ((table Int)) Bool (ite (= table 0) same0 (ite (= table 1) same1 same2)))
(declare-const target Int) ; where the dot of x goes
(declare-const place Int) ; the table of an entry by which y is found
(assert (and (<= 0 target 2) (<= 0 place 2)))
(define-fun found ((dropped Bool)) Bool (or (not dropped) (same target))) ; its own entry, or the new one of x
(push) ; entries of the class of x in the same table and in finer ones may go: the new one stands for whatever they did
(assert (not (found (and (>= place target) (same place)))))
(check-sat) ; expect unsat
(pop)
(push) ; those in coarser tables may not: y would be hidden by the addition of x
(assert (not (found (same place))))
(check-sat) ; expect sat
(pop)
(push) ; a removal of x takes all of them, and y with it only if a table held them as one
(assert (and (same place) (not same0)))
(check-sat) ; expect unsat
(pop)
