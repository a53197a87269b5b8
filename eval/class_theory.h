/* What removes from a multiset are expected to do to the other elements of a class, over all classes of a table. */
#ifndef EVAL_CLASS_THEORY_H
#define EVAL_CLASS_THEORY_H

/* ---- removes of keys that were never added: part of the elements that they hide ---------------------------------- */

/* `entries` and `removes` are means for one class. A multiset at one replica; a set, where a remove takes all. */
double hidden_in_multiset(double entries, double removes);
double hidden_in_set(double removes);

/* Half of the removes at each of two replicas, which take the smallest dot and merge when all is done. */
double hidden_at_two_replicas(double entries, double removes);

/* ---- removes of elements that are there, at two replicas at the same time ---------------------------------------- */

/* Entries that are left over in a class where each replica removes another part `share` of the elements. */
double left_by_smallest(double entries, double share);
double left_by_random(double entries, double share);

/* Elements of a class that are hidden where both replicas remove the same part `share` of them, each a random entry. */
double hidden_by_random(double entries, double share);

/* ---- `removers` of one class of `entries` entries, each of which takes a random one ------------------------------ */

/* Equation 3.19: that two take the same one, for at most as many removers as entries. */
double same_pick(unsigned removers, unsigned entries);

/* That none is left: the number of ways to hit them all, by inclusion and exclusion. */
double all_picked(unsigned removers, unsigned entries);

#endif
