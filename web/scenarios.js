// Ready runs. The script has the form of those in the address (address.js); captions say at which tick what is to be seen.
const SCENARIOS = [
  {
    id: 'partition', title: 'A partition and its healing', mode: 'remove', count: 4, seed: 7,
    watch: 'Lima is cut off, both sides go on, and they agree again after the lines are healed.',
    script: '25.toggle.0-2~25.toggle.1-2~25.toggle.2-3~40.add.0.swift~65.add.2.heron~95.stream.off~130.all.on',
    captions: [
      [0, 'Four replicas hold one set. A stream adds and removes keys at all of them.'],
      [25, 'Lima is cut off: see the dashed lines. Both sides go on.'],
      [40, 'swift is added at Amsterdam. It reaches Tokyo and Oslo; Lima has “not yet”.'],
      [65, 'heron is added at Lima and stays there.'],
      [95, 'The stream ends. Three digests become equal; the digest of Lima differs.'],
      [130, 'The lines are healed. Deltas carry what each side lacks.'],
      [155, 'All replicas are equal. No key was lost, and no removed key reappeared.'],
    ],
  },
  {
    id: 'concurrent', title: 'Removed here, added there', mode: 'remove', count: 3, seed: 5,
    watch: 'One key is removed at Amsterdam and added at Lima at the same time. The addition wins.',
    script: '0.stream.off~10.add.0.swift~14.add.0.heron~60.all.off~75.remove.0.swift~80.remove.0.heron~95.add.2.swift~125.all.on',
    captions: [
      [0, 'swift and heron are added at Amsterdam and reach all replicas.'],
      [60, 'All lines are cut.'],
      [75, 'Amsterdam removes both keys. Tokyo and Lima still have them.'],
      [95, 'Lima adds swift again. It does not know of the removal.'],
      [125, 'The lines are healed. Watch both keys at Tokyo.'],
      [175, 'heron is removed everywhere. swift is everywhere: the removal had not seen the addition at Lima.'],
    ],
  },
  {
    id: 'backup', title: 'An old backup is restored', mode: 'remove', count: 4, seed: 11,
    watch: 'Lima goes back to an old state. The key that was removed since then does not reappear.',
    script: '0.stream.off~8.add.0.swift~50.backup.2~58.remove.0.swift~66.add.3.heron~115.restore.2',
    captions: [
      [0, 'swift is added at Amsterdam and reaches all replicas.'],
      [50, 'Lima is backed up while it has swift.'],
      [58, 'swift is removed at Amsterdam, then heron is added at Oslo. Both changes reach all replicas.'],
      [115, 'Lima is restored from its backup: it has swift again, and heron “not yet”.'],
      [124, 'Lima is a new incarnation of the replica: it gets a whole state, no delta that is based on its later one.'],
      [142, 'Lima agrees again. swift stayed removed at all other replicas.'],
    ],
  },
  {
    id: 'death', title: 'A replica dies and comes back', mode: 'grow', count: 4, seed: 3,
    watch: 'Tokyo is killed in the middle of the work and continues from what it had stored.',
    script: '20.add.1.swift~24.kill.1~50.add.0.heron~70.add.2.kite~90.stream.off~120.kill.1',
    captions: [
      [0, 'A Bloom filter at four replicas. Merge is a bitwise or.'],
      [24, 'Tokyo is killed just after swift was added there. Messages to Tokyo are lost.'],
      [50, 'heron and kite are added elsewhere.'],
      [90, 'The stream ends; the three other replicas become equal.'],
      [120, 'Tokyo starts. It has swift still, sends it, and gets the others’ keys.'],
      [155, 'All replicas are equal, and no key was lost.'],
    ],
  },
  {
    id: 'weather', title: 'A very bad network', mode: 'remove', count: 5, seed: 2,
    watch: 'Half of all messages are lost and half are duplicated, late and out of order. The result is the same.',
    script: '20.set.loss.50~20.set.duplicate.50~20.set.delay.40~40.add.0.swift~60.add.3.heron~120.remove.4.heron~130.stream.off',
    captions: [
      [0, 'Five replicas, and a network that is good enough.'],
      [20, 'Now half of all messages are lost, half are duplicated, and they arrive up to 40 ticks late.'],
      [40, 'swift is added at Amsterdam and heron at Oslo. They spread slowly.'],
      [130, 'The stream ends. What is lost is sent again; a duplicate changes nothing.'],
      [200, 'A delta may be lost, duplicated and reordered: the digests become equal all the same.'],
    ],
  },
  {
    id: 'retries', title: 'Retries are counted once', mode: 'counter', count: 3, seed: 4,
    watch: 'A client repeats an operation since the reply was lost. The counter counts it once.',
    script: '0.stream.off~15.add.0.order-17~30.add.0.order-17~40.add.0.order-17~85.add.1.order-17~110.kill.0~125.add.2.order-18~140.kill.0~190.add.0.order-18',
    captions: [
      [0, 'A counter with 400 operations at three replicas.'],
      [15, 'order-17 is counted at Amsterdam.'],
      [30, 'The client repeats it twice. The value stays the same.'],
      [85, 'A retry at Tokyo, which has the operation by now, is not counted either.'],
      [110, 'Amsterdam is killed, and order-18 is counted at Lima. Amsterdam starts again.'],
      [190, 'A retry of order-18 at Amsterdam is not counted.'],
      [205, 'Counted once. Only a retry at a replica that the first attempt has not reached counts twice.'],
    ],
  },
  {
    id: 'minute', title: 'A minute later', mode: 'window', count: 3, seed: 6,
    watch: 'A window forgets keys that nobody has added for 60 seconds. Each tick is a second.',
    script: '0.stream.off~10.add.0.swift~10.add.0.heron~50.add.1.swift~150.add.2.kite',
    captions: [
      [0, 'The 400 keys that are there now are forgotten within the next minute or so.'],
      [10, 'swift and heron are added at Amsterdam. The seconds that they have left are on the cards.'],
      [50, 'swift is added again, at Tokyo. Its time starts anew, also at the others.'],
      [70, 'heron was seen once, a minute ago. All replicas forget it, without any message.'],
      [110, 'Now swift is a minute old, too.'],
      [150, 'A new key. No replica ever removed one.'],
    ],
  },
  {
    id: 'lists', title: 'Two lists that differ', mode: 'reconcile', count: 3, seed: 8,
    watch: 'Replicas with real lists find what differs. The bytes follow the difference, not the lists.',
    script: '0.stream.off~10.all.off~20.add.0.swift~30.add.1.heron~40.add.2.kite~80.all.on',
    captions: [
      [0, 'Three replicas have the same list of 400 keys.'],
      [10, 'All lines are cut.'],
      [20, 'Each replica gets a key that the others lack.'],
      [80, 'The lines are healed. Watch the bytes sent beside the whole lists.'],
      [115, 'All lists are equal, for far fewer bytes than the lists have.'],
    ],
  },
];

export { SCENARIOS };
