"""Three replicas of a set beside an exact one, by Hypothesis: whatever is added, removed, merged, sent late, twice or never, copied
and restored, each replica has the elements, the order and the equality of a set that remembers every dot.

    dot      of one addition, or in a remove-wins set of one removal: unseen < live < dead
    change   a dot of its own, live; those of the element that the replica has seen are dead
    merge    of each dot the later of the two
    delta    the dots that have changed since a cursor, as they are now
"""

import array
import copy
import itertools
import pickle
import unittest

import roost
from settings import LONG, rounds

try:
    import hypothesis
    import hypothesis.stateful as stateful
    import hypothesis.strategies as some
except ImportError:
    hypothesis = None

KEYS = range(8)
DEAD = None


class Exact:
    """A replica. A live dot has its element, and whether it is of an addition."""

    dots_of_all = itertools.count()

    def __init__(self, removals_win, dots=()):
        self.removals_win, self.dots, self.changes = removals_win, dict(dots), []

    def restored(self):
        return Exact(self.removals_win, self.dots)

    def note(self, dot, state):
        self.dots[dot] = state
        self.changes.append(dot)

    def supersede(self, key):
        for dot, state in list(self.dots.items()):
            if state is not DEAD and state[0] == key:
                self.note(dot, DEAD)

    def __contains__(self, key):
        live = {state for state in self.dots.values() if state is not DEAD}
        return (key, True) in live and (key, False) not in live

    def add(self, key):
        is_new = key not in self
        self.supersede(key)
        self.note(next(self.dots_of_all), (key, True))
        return is_new

    def discard(self, key):
        was_there = key in self
        self.supersede(key)
        if self.removals_win:
            self.note(next(self.dots_of_all), (key, False))
        return was_there

    def merge(self, dots):
        later = {dot: state for dot, state in dots.items() if dot not in self.dots or (state is DEAD and self.dots[dot] is not DEAD)}
        for dot, state in later.items():
            self.note(dot, state)
        return bool(later)

    def cursor(self):
        return self, len(self.changes)

    def delta(self, cursor):
        """Of another replica, or None: the whole state."""
        owner, since = cursor
        return {dot: self.dots[dot] for dot in self.changes[since:]} if owner is self else dict(self.dots)

    def __le__(self, other):
        return not other.restored().merge(self.dots)


RESTORED = (
    lambda it: pickle.loads(pickle.dumps(it)),
    copy.copy,
    copy.deepcopy,
    lambda it: it.copy(),
    lambda it: roost.Filter.from_bytes(it.to_bytes()),
    lambda it: roost.from_bytes(it.delta()[0]),
    lambda it: it | it,
)

if hypothesis:

    class Replicas(stateful.RuleBasedStateMachine):
        cursors, frames = stateful.Bundle("cursors"), stateful.Bundle("frames")
        place, key = some.integers(0, 2), some.sampled_from(KEYS)
        keys = some.lists(key, min_size=1, max_size=4)

        def __init__(self, semantics, model=None):
            super().__init__()
            self.filters = [roost.Filter(kind="orcuckoo", fpr=1e-6, semantics=semantics) for _ in range(3)]
            self.models = [Exact((model or semantics) == "remove-wins") for _ in range(3)]
            self.memories = {}

        # ---- changes

        @stateful.rule(at=place, key=key)
        def add(self, at, key):
            assert self.filters[at].add(key) == self.models[at].add(key)

        @stateful.rule(at=place, keys=keys, form=some.sampled_from([list, iter, lambda keys: array.array("q", keys)]))
        def update(self, at, keys, form):
            assert self.filters[at].update(form(keys)) == sum([self.models[at].add(key) for key in keys])

        @stateful.rule(at=place, key=key)
        def discard(self, at, key):
            assert self.filters[at].discard(key) == self.models[at].discard(key)

        @stateful.rule(at=place, keys=keys, form=some.sampled_from([list, lambda keys: array.array("q", keys)]))
        def remove_many(self, at, keys, form):
            assert self.filters[at].remove_many(form(keys)) == sum([self.models[at].discard(key) for key in keys])

        # ---- merges

        @stateful.rule(at=place, other=place)
        def merge(self, at, other):
            assert self.filters[at].merge(self.filters[other]) == self.models[at].merge(self.models[other].dots)

        @stateful.rule(at=place, other=place, remembers=some.booleans())
        def sync(self, at, other, remembers):
            if at == other:
                return
            ours, theirs = self.models[at], self.models[other]
            result = self.filters[at].sync_with(self.filters[other], self.memories.get((at, other)) if remembers else None)
            self.memories[at, other] = result.memory
            assert (result.equal, result.changed) == (True, ours.merge(theirs.dots))
            theirs.merge(ours.dots)

        @stateful.rule(target=cursors, at=place)
        def cursor(self, at):
            return self.filters[at].cursor(), self.models[at].cursor()

        @stateful.rule(target=frames, at=place, cursor=cursors)
        def delta(self, at, cursor):
            frame, following = self.filters[at].delta(cursor[0])
            return frame, self.models[at].delta(cursor[1]), (following, self.models[at].cursor())

        @stateful.rule(target=frames, at=place)
        def whole_state(self, at):
            return self.filters[at].to_bytes(), dict(self.models[at].dots), None

        @stateful.rule(target=cursors, frame=frames)
        def following_cursor(self, frame):
            return frame[2] or stateful.multiple()

        @stateful.rule(at=place, frame=frames)
        def receive(self, at, frame):
            assert self.filters[at].merge(frame[0]) == self.models[at].merge(frame[1])

        # ---- new replicas

        @stateful.rule(at=place, other=place, restored=some.sampled_from(RESTORED))
        def restore(self, at, other, restored):
            self.filters[at], self.models[at] = restored(self.filters[other]), self.models[other].restored()

        # ---- what holds always

        @stateful.invariant()
        def elements(self):
            for each, model in zip(self.filters, self.models):
                each.check()
                assert each.contains_many(KEYS) == [key in model for key in KEYS]

        @stateful.invariant()
        def order(self):
            for (a, exact_a), (b, exact_b) in itertools.permutations(zip(self.filters, self.models), 2):
                assert (a <= b) == (exact_a <= exact_b)
                assert (a == b) == (a.digest() == b.digest()) == (exact_a.dots == exact_b.dots)

    settings = hypothesis.settings(
        deadline=None, max_examples=rounds(40, 1500), stateful_step_count=rounds(40, 60), derandomize=not LONG,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip

    class Sets(unittest.TestCase):
        def run_beside(self, semantics, settings=settings, model=None):
            stateful.run_state_machine_as_test(lambda: Replicas(semantics, model), settings=settings)

        def test_add_wins(self):
            self.run_beside("add-wins")

        def test_remove_wins(self):
            self.run_beside("remove-wins")

        def test_another_model_is_refuted(self):
            first = hypothesis.settings(settings, max_examples=200, phases=[hypothesis.Phase.generate])
            for semantics, model in (("add-wins", "remove-wins"), ("remove-wins", "add-wins")):
                with self.assertRaises(AssertionError):
                    self.run_beside(semantics, first, model)


if __name__ == "__main__":
    unittest.main()
