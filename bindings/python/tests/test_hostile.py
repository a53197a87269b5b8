"""The loop of hostile calls, for a moment; hostile.py runs it for as long as you like. In the long form also Hypothesis."""

import unittest

import hostile
import roost
from settings import LONG, SEED, rounds

try:
    import hypothesis
    import hypothesis.strategies as some
except ImportError:
    hypothesis = None


class Hostile(unittest.TestCase):
    def test_loop(self):
        fuzzer = hostile.run(rounds(1, 60), SEED)
        self.assertGreater(fuzzer.calls, fuzzer.refusals)
        self.assertGreater(fuzzer.refusals, 100)

    def test_threads(self):
        fuzzer = hostile.run(rounds(1, 30), SEED, threads=3)
        self.assertGreater(fuzzer.calls, fuzzer.refusals)


if LONG and hypothesis:
    key = some.one_of(some.text(), some.binary(), some.integers(-(2**63), 2**64 - 1))
    kinds = some.sampled_from([{}, {"kind": "bloom"}, {"kind": "orcuckoo"}, {"capacity": 500}, {"capacity": 500, "kind": "cuckoo"}])
    settings = hypothesis.settings(deadline=None, max_examples=300, suppress_health_check=list(hypothesis.HealthCheck))

    class Properties(unittest.TestCase):
        @settings
        @hypothesis.given(kinds, some.lists(key), some.lists(key))
        def test_merge(self, options, ours, theirs):
            a, b = roost.Filter(**options), roost.Filter(**options)
            a.update(ours), b.update(theirs)
            both = a | b
            self.assertTrue(all(both.contains_many(ours + theirs)))
            self.assertEqual(both, b | a)
            self.assertTrue(a <= both and b <= both)
            self.assertEqual(roost.from_bytes(both.to_bytes()).digest(), both.digest())

        @settings
        @hypothesis.given(some.lists(key), some.lists(key))
        def test_reconcile(self, ours, theirs):
            a, b = {roost.key_bytes(each) for each in ours}, {roost.key_bytes(each) for each in theirs}
            result = roost.reconcile(list(a), list(b))
            self.assertEqual((set(result.only_a), set(result.only_b)), (a - b, b - a))

        @settings
        @hypothesis.given(some.binary(), some.sampled_from([{}, {"kind": "orcuckoo"}]))
        def test_bytes(self, junk, options):
            seen = roost.Filter(**options)
            for call in (seen.merge, roost.from_bytes):
                with self.assertRaises(roost.Error):
                    call(junk)
            frame = bytearray(seen.to_bytes())
            frame[len(junk) % len(frame) :] = junk
            try:
                seen.merge(bytes(frame))
            except roost.Error:
                pass
            seen.check()


if __name__ == "__main__":
    unittest.main()
