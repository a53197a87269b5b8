/*
 * What the provers are not told about words: WP has AND, shifts and OR as functions of integers with few laws. These
 * are all the laws that the proofs take for granted; proofs/words.smt2 proves each for words of 64 bits.
 */
#include <stdint.h>

/*@ axiomatic words {
      axiom and_at_most: \forall integer a, b; 0 <= a && 0 <= b ==> 0 <= (a & b) && (a & b) <= a && (a & b) <= b;
      axiom rest_of_byte: \forall integer a; 0 <= a <= 0xfffffffffffffff0 ==> (a + ((uint64_t)(-a) & 7)) % 8 == 0;
      axiom or_at_least: \forall integer a, b; 0 <= a && 0 <= b ==> (a | b) >= a && (a | b) >= b;
      axiom shifted_down: \forall integer a, n; 0 <= a && 0 <= n ==>
            0 <= (a >> n) <= a && (n > 0 ==> 2 * (a >> n) <= a);
      axiom one_shifted: \forall integer n; 0 <= n <= 63 ==> 1 <= (1 << n) <= 0x8000000000000000;
      axiom one_shifted_by_10: \forall integer n; 10 <= n <= 63 ==> (1 << n) >= 0x400;
      axiom one_shifted_by_12: \forall integer n; 12 <= n <= 63 ==> (1 << n) >= 0x1000;
    }
*/
