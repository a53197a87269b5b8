; Which dot does a remove take? Elements e4 and e5 collide: they share fingerprint and buckets, so that a table cannot
; tell their entries apart by anything but the dots. Rules that look at dots alone, what they cost, and what works.
; Dots go from live to dead and the merge takes the larger (observed_remove.smt2): a dot is live afterwards if nobody
; that took part has killed it.
(set-logic ALL)

; ---- two replicas hold both dots, d4 of e4 and d5 of e5; at the same time each does one thing; then they merge ----
(declare-datatypes ((Dot 0)) (((d4) (d5))))
(declare-datatypes ((Action 0)) (((rest) (remove-e4) (remove-e5))))
(declare-const act-a Action)
(declare-const act-b Action)
(define-fun e4-stays ((x Action) (y Action)) Bool (not (or (= x remove-e4) (= y remove-e4))))
(define-fun e5-stays ((x Action) (y Action)) Bool (not (or (= x remove-e5) (= y remove-e5))))

; each remove takes one dot: pick-a, pick-b
(declare-const pick-a Dot)
(declare-const pick-b Dot)
(define-fun left ((d Dot) (x Action) (px Dot) (y Action) (py Dot)) Bool
  (not (or (and (not (= x rest)) (= px d)) (and (not (= y rest)) (= py d)))))
(define-fun found ((x Action) (px Dot) (y Action) (py Dot)) Bool (or (left d4 x px y py) (left d5 x px y py)))
(define-fun false-negative ((x Action) (px Dot) (y Action) (py Dot)) Bool
  (and (or (e4-stays x y) (e5-stays x y)) (not (found x px y py))))
(define-fun lost-removal ((x Action) (px Dot) (y Action) (py Dot)) Bool
  (and (not (e4-stays x y)) (not (e5-stays x y)) (found x px y py)))
(define-fun right ((x Action) (px Dot) (y Action) (py Dot)) Bool
  (not (or (false-negative x px y py) (lost-removal x px y py))))

(push) ; Figure 3.4a: both remove e4, each takes another dot, and e5 is gone although nobody removed it
(assert (and (= act-a remove-e4) (= act-b remove-e4) (false-negative act-a pick-a act-b pick-b)))
(check-sat) ; expect sat
(pop)
(push) ; Figure 3.4b: one removes e4, one e5, both take the same dot, and the other is left although both were removed
(assert (and (= act-a remove-e4) (= act-b remove-e5) (lost-removal act-a pick-a act-b pick-b)))
(check-sat) ; expect sat
(pop)
(push) ; with a single remove nothing goes wrong: it is the removes at the same time that do
(assert (and (= act-b rest) (not (right act-a pick-a act-b pick-b))))
(check-sat) ; expect unsat
(pop)
(push) ; nor with one remove of each after the other, where the second takes what the first has left
(assert (and (= act-a remove-e4) (= act-b remove-e5) (not (= pick-a pick-b)) (not (right act-a pick-a act-b pick-b))))
(check-sat) ; expect unsat
(pop)

; ---- rules: a rule sees the dots that match and answers one of them; it does not see which element is meant ----
(declare-fun rule (Dot Dot) Dot)   ; one rule for all
(declare-fun rule-a (Dot Dot) Dot) ; or one for each replica: its own dots first, the dice that it throws, ...
(declare-fun rule-b (Dot Dot) Dot)
(define-fun good-at ((x Action) (y Action)) Bool (right x (rule d4 d5) y (rule d4 d5)))
(define-fun good-apart ((x Action) (y Action)) Bool (right x (rule-a d4 d5) y (rule-b d4 d5)))
(push) ; one rule for all, such as "the smallest dot", is right where both remove the same element
(assert (and (good-at remove-e4 remove-e4) (good-at remove-e5 remove-e5)
             (good-at remove-e4 rest) (good-at rest remove-e4)))
(check-sat) ; expect sat
(pop)
(push) ; but none is where they remove one each
(assert (good-at remove-e4 remove-e5))
(check-sat) ; expect unsat
(pop)
(push) ; a rule for each replica can be right where they remove one each
(assert (and (good-apart remove-e4 remove-e5) (good-apart remove-e5 remove-e4) (good-apart remove-e4 rest)))
(check-sat) ; expect sat
(pop)
(push) ; but no pair of rules is right there and where both remove e4
(assert (and (good-apart remove-e4 remove-e4) (good-apart remove-e4 remove-e5)))
(check-sat) ; expect unsat
(pop)
(push) ; nor there and where both remove e5: every pair of rules has a counterexample, and it needs no third replica
(assert (and (good-apart remove-e5 remove-e5) (good-apart remove-e4 remove-e5)))
(check-sat) ; expect unsat
(pop)
; A rule may also take several dots, all, or none: what each of the replicas kills when it removes.
(declare-const a4 Bool)
(declare-const a5 Bool)
(declare-const b4 Bool)
(declare-const b5 Bool)
(define-fun remains ((x Action) (y Action)) Bool
  (or (not (or (and (not (= x rest)) a4) (and (not (= y rest)) b4)))
      (not (or (and (not (= x rest)) a5) (and (not (= y rest)) b5)))))
(define-fun exact ((x Action) (y Action)) Bool (= (remains x y) (or (e4-stays x y) (e5-stays x y))))
(push) ; that does not help
(assert (and (exact remove-e4 remove-e4) (exact remove-e4 remove-e5)))
(check-sat) ; expect unsat
(pop)
(push) ; a rule that only shuns false negatives exists, and loses removals
(assert (and (remains remove-e4 remove-e4) (remains remove-e4 rest) (remains rest remove-e4) (or a4 a5) (or b4 b5)
             (remains remove-e4 remove-e5)))
(check-sat) ; expect sat
(pop)

; ---- remove by dot: the caller kept the dot that its add returned ----
(define-fun own ((x Action)) Dot (ite (= x remove-e4) d4 d5))
(push) ; never wrong, whatever the two do
(assert (not (right act-a (own act-a) act-b (own act-b))))
(check-sat) ; expect unsat
(pop)
(push) ; and e5's entry is there if, and only if, e5 is
(assert (not (= (left d5 act-a (own act-a) act-b (own act-b)) (e5-stays act-a act-b))))
(check-sat) ; expect unsat
(pop)

; ---- OR-Set: a remove kills all dots of its class that it has seen; an add supersedes them ----
; Four adds of one class and two removes, made anywhere. An operation knows the adds that its replica had seen.
(declare-datatypes ((Add 0)) (((add1) (add2) (add3) (add4))))
(declare-datatypes ((Element 0)) (((e4) (e5))))
(declare-fun element (Add) Element)
(declare-fun knew (Add Add) Bool) ; (knew j i): add j was made where i was known
(declare-fun first-knew (Add) Bool) ; what the two removes knew
(declare-fun second-knew (Add) Bool)
(declare-fun age (Add) Int)
(assert (forall ((i Add) (j Add)) (=> (knew j i) (< (age i) (age j)))))
(define-fun causal () Bool ; who knows an operation knows what it knew
  (forall ((i Add) (j Add))
    (=> (knew j i) (and (=> (first-knew j) (first-knew i)) (=> (second-knew j) (second-knew i))))))
(define-fun removed ((i Add)) Bool (or (first-knew i) (second-knew i)))
(define-fun superseded ((i Add)) Bool (or (knew add1 i) (knew add2 i) (knew add3 i) (knew add4 i)))
(define-fun in-set () Bool (exists ((i Add)) (not (removed i)))) ; what an OR-Set says: an add that no remove knew
(define-fun in-filter () Bool (exists ((i Add)) (not (or (removed i) (superseded i))))) ; a dot that nobody killed

(push) ; one element a class: the filter says what an OR-Set says, and superseding changes nothing in that
(assert (and causal (not (= in-filter in-set))))
(check-sat) ; expect unsat
(pop)
(push) ; it never says more than an OR-Set, in whatever order deltas arrive
(assert (and in-filter (not in-set)))
(check-sat) ; expect unsat
(pop)
(push) ; it may say less where deltas arrive with gaps: a remove that knows an add takes out what that add superseded
(assert (and in-set (not in-filter)))
(check-sat) ; expect sat
(pop)
(push) ; which is right: one of the removes came after such an add, by way of the other
(assert (and in-set (not in-filter)))
(assert (not (exists ((i Add) (j Add)) (and (knew j i) (removed j) (not (removed i))))))
(check-sat) ; expect unsat
(pop)
(push) ; two elements of one class: one remove, of e4, hides e5, which nobody removed (the documented chance)
(assert (and causal (= (element add1) e4) (first-knew add1) (forall ((i Add)) (not (second-knew i)))))
(assert (and (= (element add2) e5) (not in-filter)))
(check-sat) ; expect sat
(pop)

; remove by dot where two elements share a class: each add whose dot the caller gave back
(declare-fun given-back (Add) Bool)
(define-fun e4-added () Bool (exists ((i Add)) (and (= (element i) e4) (not (given-back i)))))
(push) ; a multiset, in which adds do not supersede: whoever has a dot left is found
(assert (and e4-added (not (exists ((i Add)) (not (given-back i))))))
(check-sat) ; expect unsat
(pop)
(push) ; a set: e5's add supersedes e4's, its dot then stands for both, and removing that dot hides e4
(assert (and e4-added (forall ((i Add)) (=> (given-back i) (= (element i) e5)))
             (not (exists ((i Add)) (not (or (given-back i) (superseded i)))))))
(check-sat) ; expect sat
(pop)
(push) ; not where dots of e5 are superseded by e5 alone and those of e4 by e4
(assert (forall ((i Add) (j Add)) (=> (knew j i) (= (element i) (element j)))))
(assert (and (exists ((i Add)) (= (element i) e4)) (forall ((i Add)) (=> (given-back i) (= (element i) e5)))
             (not (exists ((i Add)) (not (or (given-back i) (superseded i)))))))
(check-sat) ; expect unsat
(pop)

; ---- copies counted, one dot a remove: causally safe removal (Definition 3.1), by numbers ----
; adds4, adds5: how many adds of each; removes4, removes5; killed: different dots that the removes took
(declare-const adds4 Int)
(declare-const adds5 Int)
(declare-const removes4 Int)
(declare-const removes5 Int)
(declare-const killed Int)
(define-fun class-found () Bool (> (- (+ adds4 adds5) killed) 0))
(push) ; all removes of e4 causally safe: no more of them than adds. All others are before or parallel to a latest one,
       ; so they are fewer than the adds that it saw
(declare-const saw4 Int)
(assert (and (< (- removes4 1) saw4) (<= 0 saw4 adds4) (not (<= removes4 adds4))))
(check-sat) ; expect unsat
(pop)
(push) ; no element with more removes than adds, each remove takes one dot at most: an element with an add left is found
(assert (and (<= 0 removes4 adds4) (<= 0 removes5) (< removes5 adds5) (<= 0 killed (+ removes4 removes5))))
(assert (not class-found))
(check-sat) ; expect unsat
(pop)
(push) ; not so if one element may be removed more often than it was added
(assert (and (<= 0 adds4) (<= 0 removes4) (<= 0 removes5) (< removes5 adds5) (<= 0 killed (+ removes4 removes5))
             (<= killed (+ adds4 adds5))))
(assert (not class-found))
(check-sat) ; expect sat
(pop)

; The same by operations: three removes at most, four adds. A remove takes any dot of the class that it knows and
; that is not dead to it. A remove does not count against itself in Definition 3.1 (or none would ever be safe).
(declare-datatypes ((Remove 0)) (((r1) (r2) (r3))))
(declare-fun done (Remove) Bool)
(declare-fun target (Remove) Element)
(declare-fun took (Remove) Add)
(declare-fun sees (Remove Add) Bool)
(declare-fun before (Remove Remove) Bool)
(declare-fun time (Remove) Int)
(declare-fun made (Add) Bool)
(define-fun one ((x Bool)) Int (ite x 1 0))
(define-fun number-of-removes ((p1 Bool) (p2 Bool) (p3 Bool)) Int (+ (one p1) (one p2) (one p3)))
(define-fun same ((o Remove) (x Remove)) Bool (and (done x) (not (= x o)) (= (target x) (target o))))
(define-fun counts-against ((o Remove) (x Remove)) Bool (and (same o x) (not (before o x)))) ; earlier or parallel
(define-fun counts-locally ((o Remove) (x Remove)) Bool (and (same o x) (before x o)))       ; earlier
(define-fun supports ((o Remove) (i Add)) Bool (and (sees o i) (= (element i) (target o))))
(define-fun support ((o Remove)) Int
  (+ (one (supports o add1)) (one (supports o add2)) (one (supports o add3)) (one (supports o add4))))
(define-fun safe ((o Remove)) Bool
  (< (number-of-removes (counts-against o r1) (counts-against o r2) (counts-against o r3)) (support o)))
(define-fun locally-safe ((o Remove)) Bool
  (< (number-of-removes (counts-locally o r1) (counts-locally o r2) (counts-locally o r3)) (support o)))
(assert (forall ((o Remove) (i Add)) (=> (sees o i) (made i))))
(assert (forall ((o Remove)) (=> (done o) (sees o (took o)))))
(assert (forall ((x Remove) (o Remove))
  (=> (before x o) (and (done x) (done o) (< (time x) (time o)) (not (= (took x) (took o)))))))
(assert (forall ((x Remove) (o Remove) (w Remove)) (=> (and (before x o) (before o w)) (before x w))))
(assert (forall ((x Remove) (o Remove) (i Add)) (=> (and (before x o) (sees x i)) (sees o i))))
; a replica that has got some of the operations
(declare-fun got-add (Add) Bool)
(declare-fun got (Remove) Bool)
(assert (forall ((o Remove)) (=> (got o) (done o))))
(assert (forall ((i Add)) (=> (got-add i) (made i))))
(define-fun delivered-causally () Bool
  (and (forall ((o Remove) (i Add)) (=> (and (got o) (sees o i)) (got-add i)))
       (forall ((x Remove) (o Remove)) (=> (and (got o) (before x o)) (got x)))))
(define-fun taken ((i Add)) Bool
  (or (and (got r1) (= (took r1) i)) (and (got r2) (= (took r2) i)) (and (got r3) (= (took r3) i))))
(define-fun got-adds ((e Element)) Int
  (+ (one (and (got-add add1) (= (element add1) e))) (one (and (got-add add2) (= (element add2) e)))
     (one (and (got-add add3) (= (element add3) e))) (one (and (got-add add4) (= (element add4) e)))))
(define-fun got-removes ((e Element)) Int
  (number-of-removes (and (got r1) (= (target r1) e)) (and (got r2) (= (target r2) e))
                     (and (got r3) (= (target r3) e))))
(define-fun e5-missed () Bool ; a false negative
  (and (> (got-adds e5) (got-removes e5)) (forall ((i Add)) (not (and (got-add i) (not (taken i)))))))

(push) ; all removes causally safe: no false negative, at any replica that got operations after those they depend on
(assert (forall ((o Remove)) (=> (done o) (safe o))))
(assert (and delivered-causally e5-missed))
(check-sat) ; expect unsat
(pop)
(push) ; not so for removes that are safe only by what they could see, two at the same time of e4: Figure 3.4a
(assert (forall ((o Remove)) (=> (done o) (locally-safe o))))
(assert (and (not (done r3)) (= (target r1) (target r2) e4)))
(assert (and delivered-causally e5-missed))
(check-sat) ; expect sat
(pop)
(push) ; nor where a replica gets operations with gaps: a remove of e4 that took e5's dot came, e4's own dot did not yet
(assert (forall ((o Remove)) (=> (done o) (safe o))))
(assert (and (done r1) (not (done r2)) (not (done r3)) (= (target r1) e4) e5-missed))
(check-sat) ; expect sat
(pop)
(push) ; whoever gets a remove together with all the dots of the class that the remover knew is safe from that
(assert (forall ((o Remove)) (=> (done o) (safe o))))
(assert (forall ((o Remove) (i Add)) (=> (and (got o) (sees o i)) (got-add i))))
(assert e5-missed)
(check-sat) ; expect unsat
(pop)
(push) ; a causally safe remove may well take a dot of another element; only the numbers come out right
(assert (forall ((o Remove)) (=> (done o) (safe o))))
(assert (and (done r1) (not (= (element (took r1)) (target r1)))))
(check-sat) ; expect sat
(pop)
(push) ; and causally safe removes may still leave an entry of elements that are all removed: Figure 3.4b
(assert (forall ((o Remove)) (=> (done o) (safe o))))
(assert (and delivered-causally (> (got-removes e4) 0)
             (= (got-adds e4) (got-removes e4)) (= (got-adds e5) (got-removes e5))))
(assert (exists ((i Add)) (and (got-add i) (not (taken i)))))
(check-sat) ; expect sat
(pop)
