"""The judge of a history: reads the files that the processes of a run left behind, and nothing else, and says what of
them cannot be if the promises hold. It knows neither the library nor the faults, and shares no code with either.

Usage: check.py FOLDER [--older] [--outside PREFIX...] prints the counts and the violations; exit status 1 when there are any. Names
that begin with one of the prefixes were promised no exclusion: their overlaps are counted apart and are no violations.

FOLDER/PROCESS.history has one line per event. Times are microseconds of one clock that all processes share, LOCK is a number
within the process, validity is in ms and was read between the two times around it:

    shared     time LOCK                             before the ask: others may share the lock with it
    slots      time LOCK count                       likewise: it is to be one of so many slots
    also       time LOCK name                        likewise: this name is to be had together with that of the ask; may come again
    reentrant  time LOCK owner                       likewise: this owner of the process may be inside several times; each time is a lock of its own here
    ask        time LOCK name                        before the call
    adopt      time LOCK name                        before the call that goes on with what another gave away; answered as ask is
    wait       time LOCK ms                          the ask is ready to wait so long; -1: without end
    cancel     time LOCK                             before the call that cancels the ask
    slot       time LOCK slot                        which one it got, before it is granted
    granted    time LOCK validity time fence         after it; fence 0: it has none
    refused    time LOCK result
    extend     time LOCK                             before the call
    extended   time LOCK validity time               after it
    unextended time LOCK result
    renewed    time LOCK validity time               by the library itself
    look       time LOCK validity time               the holder asked whether it still is one
    lost       time LOCK                             the holder was told so
    release    time LOCK                             before the call
    released   time LOCK result                      after it
    given      time LOCK                             given away: somebody may adopt it, and its holder relies on it no more
    left       time LOCK                             given up without a release; it ends by itself
    try        time LOCK store value [name]          before a write; the store of this name, or of that of the ask
    wrote      time LOCK store value [name]          the write was acknowledged
    barred     time LOCK store value [name]          the write was refused
    end        time                                  the process ended in good order

FOLDER/NAME.fenced and NAME.unfenced are the stores: lines of fence, r or w, value, oldest first.
"""

import argparse
import collections
import dataclasses
import pathlib
import sys

FIELDS = {"shared": 2, "slots": 3, "also": 3, "reentrant": 3, "slot": 3, "ask": 3, "adopt": 3, "wait": 3, "cancel": 2, "given": 2, "granted": 5, "refused": 3, "extend": 2, "extended": 4, "unextended": 3, "renewed": 4, "look": 4,
          "lost": 2, "release": 2, "released": 3, "left": 2, "try": 4, "wrote": 4, "barred": 4, "end": 1}
OPTIONAL = {"try": 1, "wrote": 1, "barred": 1}  # so many fields more may follow
WORDS = {("ask", 2), ("adopt", 2), ("also", 2), *((word, field) for word in OPTIONAL for field in (2, 4))}  # fields that are no numbers
LOST, CANCELED, TOO_SLOW = 4, 5, 17  # results of redlock.h
STOPPED_US = 200000  # a process that writes nothing for so long was stopped; no lock of these runs is shorter
OPERATIONS = ("ask", "adopt", "extend", "renewed", "release")
COUNTS = ("operations", "grants", "shared", "slots", "several names", "entries", "waits", "hand-overs", "cancels", "too slow", "adoptions", "extensions", "releases", "losses", "overlaps", "overlaps outside", "fences", "writes",
          "refused writes", "lost updates")


@dataclasses.dataclass
class Wish:
    """What was said of a lock before it was asked for."""
    shared: bool = False
    slots: int = 0
    also: list = dataclasses.field(default_factory=list)
    owner: tuple = ()  # process and owner: may be inside several times


@dataclasses.dataclass
class Lock:
    """One lock that was asked for, and what became of it. `until` is the earliest end its holder may have relied on,
    `until_most` the latest."""
    process: str
    number: int
    name: str
    asked: int
    granted: int = 0
    fence: int = 0
    until: int = 0
    until_most: int = 0
    extend_asked: int = 0
    adopted: bool = False
    wish: Wish = dataclasses.field(default_factory=Wish)
    slot: int = -1  # not known
    patience: int = 0  # ms; -1 without end
    refused: int = 0
    cancel_asked: int = 0
    lost: int = 0
    given: int = 0
    release_asked: int = 0
    released: int = 0
    relied: int = 0  # when its holder last found that it holds
    tried: set = dataclasses.field(default_factory=set)
    acknowledged: list = dataclasses.field(default_factory=list)

    @property
    def shared(self):
        return self.wish.shared

    @property
    def names(self):
        return [self.name, *self.wish.also]

    def goes_with(self, other):
        """Whether both may be inside at the same time."""
        same_owner = self.wish.owner and self.wish.owner == other.wish.owner
        two_slots = self.wish.slots and self.wish.slots == other.wish.slots and (self.slot != other.slot or self.slot < 0)
        return bool((self.shared and other.shared) or same_owner or two_slots)

    def may_have_fence_of(self, other):
        """Though it was asked for when the other had been handed out."""
        return (self.shared and other.shared) or bool(self.wish.owner and self.wish.owner == other.wish.owner)

    def has_other_slot_than(self, other):
        return self.slot >= 0 <= other.slot and self.slot != other.slot

    def end(self):
        return min(time for time in (self.until, self.release_asked, self.given, self.lost) if time)

    def __str__(self):
        slot = f" slot {self.slot} of {self.wish.slots}" * bool(self.wish.slots)
        return (f"{self.process} lock {self.number} of {' and '.join(self.names)}{slot}: asked {self.asked}, held {self.granted} to "
                f"{self.end() if self.granted else '-'}, fence {self.fence}")


class History:
    def __init__(self, older=False):
        self.older = older
        self.locks = {}
        self.wishes = collections.defaultdict(Wish)  # by lock
        self.violations = []
        self.last_line = collections.Counter()  # of each process: when it last wrote a line,
        self.resumed = collections.Counter()  # and when it last went on after it had been stopped
        self.counts = collections.Counter({word: 0 for word in COUNTS})

    def complain(self, text):
        self.violations.append(text)

    # ---- lines ------------------------------------------------------------------------------------------------

    def read(self, path):
        process, ended = path.stem, False
        lines = path.read_text(encoding="utf-8").split("\n")
        if lines.pop() != "":
            self.complain(f"{process}: the last line is cut off")
        for number, line in enumerate(lines, 1):
            event = self.parse(line)
            if event is None or ended:
                self.complain(f"{process}:{number}: not a line of a history, or after its end: {line!r}")
                continue
            ended = event[0] == "end"
            if not ended:
                self.take(process, *event)
        if ended:
            self.check_answered(process)

    def parse(self, line):
        word, *fields = line.split(" ")
        least = FIELDS.get(word)
        if least is None or not least <= len(fields) <= least + OPTIONAL.get(word, 0):
            return None
        try:
            values = [field if (word, index) in WORDS else int(field) for index, field in enumerate(fields)]
        except ValueError:
            return None
        return word, values

    def take(self, process, word, values):
        """Adds one event to its lock."""
        time, number, *rest = values
        key = (process, number)
        if self.last_line[process] and time - self.last_line[process] >= STOPPED_US:
            self.resumed[process] = time
        self.last_line[process] = max(self.last_line[process], time)
        self.counts["operations"] += word in OPERATIONS
        if word in ("shared", "slots", "also", "reentrant"):
            self.take_wish(self.wishes[key], word, process, rest)
            return
        if word in ("ask", "adopt"):
            if key in self.locks:
                self.complain(f"{process}: lock {number} was asked for twice")
            self.locks[key] = Lock(process, number, rest[0], time, adopted=word == "adopt", wish=self.wishes[key])
            return
        lock = self.locks.get(key)
        # A renewal is told on a thread of its own, perhaps before the caller has come to tell of the grant.
        if lock is None or (not lock.granted and word not in ("slot", "granted", "refused", "renewed", "lost", "wait", "cancel")):
            self.complain(f"{process}: {word} of lock {number} before it was asked for or granted")
            return
        if time < lock.asked:
            self.complain(f"{word} before it was asked for: {lock}")
        getattr(self, "take_" + word, self.take_nothing)(lock, time, *rest)

    def take_wish(self, wish, word, process, rest):
        if word == "shared":
            wish.shared = True
        elif word == "slots":
            wish.slots = rest[0]
        elif word == "also":
            wish.also.append(rest[0])
        else:
            wish.owner = (process, rest[0])

    def take_slot(self, lock, time, slot):
        lock.slot = slot
        if not 0 <= slot < lock.wish.slots:
            self.complain(f"a slot that there is not: {lock}")

    def take_nothing(self, lock, time, *rest):
        pass

    def take_granted(self, lock, time, validity, seen, fence):
        if lock.granted:
            self.complain(f"granted twice: {lock}")
        if lock.refused:
            self.complain(f"granted after it was refused: {lock}")
        self.counts["grants"] += 1
        self.counts["shared"] += lock.shared
        self.counts["slots"] += lock.wish.slots > 0
        self.counts["several names"] += len(lock.wish.also) > 0
        self.counts["entries"] += len(lock.wish.owner) > 0
        self.counts["adoptions"] += lock.adopted
        self.counts["hand-overs"] += lock.patience != 0
        self.counts["fences"] += fence > 0
        lock.granted, lock.fence = time, fence
        self.rely(lock, time, validity, seen)

    def take_refused(self, lock, time, result):
        """A call is answered once. One that is ready to wait is refused when its time is up, when it is cancelled, or when its owner is inside
        a lock that it has lost; by version 0.1 also when its process was stopped just as it got the lock, and for longer than that lasted."""
        if lock.granted or lock.refused:
            self.complain(f"refused after it was answered: {lock}")
        lock.refused = time
        if result == CANCELED:
            if not lock.cancel_asked:
                self.complain(f"cancelled by nobody: {lock}")
            self.counts["cancels"] += 1
        elif self.older and result == TOO_SLOW and self.resumed[lock.process] > lock.asked:
            self.counts["too slow"] += 1
        elif result == LOST and lock.wish.owner:
            return
        elif lock.patience == -1 or time < lock.asked + (lock.patience - 1) * 1000:
            self.complain(f"refused with {result} {time - lock.asked} us after it began to wait for {lock.patience} ms: {lock}")

    def take_wait(self, lock, time, patience):
        self.counts["waits"] += 1
        lock.patience = patience

    def take_cancel(self, lock, time):
        lock.cancel_asked = time

    def take_given(self, lock, time):
        lock.given = time

    def take_extend(self, lock, time):
        lock.extend_asked = time

    def take_extended(self, lock, time, validity, seen):
        if lock.extend_asked > lock.until_most:
            self.complain(f"taken back {lock.extend_asked - lock.until_most} us after its end: {lock}")
        self.counts["extensions"] += 1
        self.rely(lock, time, validity, seen)

    def take_renewed(self, lock, time, validity, seen):
        if lock.refused:
            self.complain(f"renewed after it was refused: {lock}")
        self.counts["extensions"] += 1
        if not lock.wish.owner:  # else the lock may be renewed for those who are still inside; they look for themselves
            self.rely(lock, time, validity, seen)

    def take_look(self, lock, time, validity, seen):
        self.rely(lock, time, validity, seen)

    def rely(self, lock, time, validity, seen):
        """The holder was told that it holds for so long."""
        if validity == 0:
            return
        lock.relied = max(lock.relied, time)
        lock.until = max(lock.until, time + validity * 1000)
        lock.until_most = max(lock.until_most, seen + (validity + 1) * 1000)

    def take_lost(self, lock, time):
        if lock.lost:
            self.complain(f"lost twice: {lock}")
        self.counts["losses"] += 1
        lock.lost = time

    def take_release(self, lock, time):
        lock.release_asked = time

    def take_released(self, lock, time, result):
        self.counts["releases"] += result == 0
        lock.released = time

    def take_try(self, lock, time, store, value, name=None):
        lock.tried.add((name or lock.name, store, value))

    def take_wrote(self, lock, time, store, value, name=None):
        if (name or lock.name, store, value) not in lock.tried:
            self.complain(f"wrote {value} to the {store} store without trying: {lock}")
        self.counts["writes"] += 1
        lock.acknowledged.append((name or lock.name, store, value))

    def take_barred(self, lock, time, store, value, name=None):
        self.counts["refused writes"] += 1
        if store != "fenced":
            self.complain(f"refused by a store that refuses nobody: {lock}")

    def check_answered(self, process):
        """A process that ended in good order has been answered whatever it asked."""
        for lock in self.locks.values():
            if lock.process == process and not lock.granted and not lock.refused:
                self.complain(f"never answered: {lock}")

    # ---- promises ----------------------------------------------------------------------------------------------

    def by_name(self):
        """Whoever has several names is a holder of each of them."""
        names = collections.defaultdict(list)
        for lock in self.locks.values():
            for name in lock.names if lock.granted and lock.until else ():
                names[name].append(lock)
        return names

    def check_ends(self):
        """Once lost or released, never held again. Lines of threads that ran side by side may stand in any order."""
        for lock in self.locks.values():
            for over, word in ((lock.lost, "lost"), (lock.released, "released")):
                if over and lock.relied > over:
                    self.complain(f"held {lock.relied - over} us after it was {word}: {lock}")

    def check_overlaps(self, outside):
        """Nobody is inside with another, but those who share the lock, who have a slot each, or who are one owner. By start; with whoever is
        inside then."""
        for name, locks in self.by_name().items():
            judged = not name.startswith(outside)
            inside = []
            for lock in sorted(locks, key=lambda lock: lock.granted):
                inside = [other for other in inside if lock.granted < other.end()]
                if lock.granted < lock.end():
                    self.check_entry(lock, inside, judged)
                    self.check_slots(lock, inside, judged)
                    inside.append(lock)

    def check_entry(self, lock, inside, judged):
        in_the_way = [other for other in inside if not lock.goes_with(other)]
        if in_the_way:
            longest = max(in_the_way, key=Lock.end)
            self.counts["overlaps" if judged else "overlaps outside"] += 1
            if judged:
                self.complain(f"two holders for {min(longest.end(), lock.end()) - lock.granted} us:\n    {longest}\n    {lock}")
        for other in inside:
            self.check_one_entry(lock, other)

    def check_one_entry(self, lock, other):
        """An owner that asks while it is inside enters the lock that it has."""
        if lock.wish.owner and lock.wish.owner == other.wish.owner and other.granted < lock.asked and lock.fence != other.fence:
            self.complain(f"an owner inside with two fences:\n    {other}\n    {lock}")

    def check_slots(self, lock, inside, judged):
        beside = [other for other in inside if other.wish.slots]
        if lock.wish.slots and len(beside) >= lock.wish.slots:
            self.counts["overlaps" if judged else "overlaps outside"] += 1
            if judged:
                self.complain("more inside than there are slots:" + "".join(f"\n    {other}" for other in [*beside, lock]))

    def check_losses(self):
        """What an owner has lost it has lost for all its entries: none of them is relied on afterwards."""
        lost = {}
        for lock in self.locks.values():
            if lock.lost and lock.wish.owner:
                lost[lock.wish.owner, lock.name, lock.fence] = lock
        for lock in self.locks.values():
            first = lost.get((lock.wish.owner, lock.name, lock.fence))
            if first and lock.relied > first.lost:
                self.complain(f"held {lock.relied - first.lost} us after its owner had lost it:\n    {first}\n    {lock}")

    def check_fences(self):
        """No fence twice, and whoever asked after another was handed out has the higher one; but those who share a lock may have the same,
        an owner that enters again has that of its lock, and two that asked for different slots at the same time may have the same, too. Several names have one fence, which is above those of each of them."""
        names = collections.defaultdict(list)
        for lock in self.locks.values():
            for name in lock.names if lock.fence else ():
                names[name].append(lock)
        for locks in names.values():
            seen = {}
            for lock in locks:
                for other in seen.setdefault(lock.fence, []):
                    if not lock.may_have_fence_of(other) and not lock.has_other_slot_than(other):
                        self.complain(f"one fence twice:\n    {other}\n    {lock}")
                seen[lock.fence].append(lock)
            self.check_fence_order(locks)

    def check_fence_order(self, locks):
        handed_out = sorted(locks, key=lambda lock: lock.granted)
        highest, next_out = None, 0
        for lock in sorted(locks, key=lambda lock: lock.asked):
            while next_out < len(handed_out) and handed_out[next_out].granted < lock.asked:
                if not highest or handed_out[next_out].fence > highest.fence:
                    highest = handed_out[next_out]
                next_out += 1
            same = highest and lock.fence == highest.fence and lock.may_have_fence_of(highest)
            if highest and lock.fence <= highest.fence and not same:
                self.complain(f"fences went back:\n    {highest}\n    {lock}")

    # ---- stores ------------------------------------------------------------------------------------------------

    def check_stores(self, folder):
        acknowledged, tried = collections.defaultdict(list), collections.defaultdict(set)
        for lock in self.locks.values():
            for name, store, value in lock.acknowledged:
                acknowledged[name, store].append((lock.fence, value))
            for name, store, value in lock.tried:
                tried[name, store].add((lock.fence, value))
        for name, store in tried:
            records = self.read_store(folder / f"{name}.{store}")
            writes = [(fence, value) for fence, kind, value in records if kind == "w"]
            for write in set(writes) - tried[name, store]:
                self.complain(f"{name}.{store}: {write} was never tried")
            if store == "fenced":
                self.check_fenced(name, records, writes, acknowledged[name, store])
            else:
                self.counts["lost updates"] += len(writes) - len({value for _, value in writes})

    def read_store(self, path):
        records = []
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            fence, kind, value = line.split(" ")
            records.append((int(fence), kind, int(value)))
        return records

    def check_fenced(self, name, records, writes, acknowledged):
        """Every acknowledged write exactly once, in the order of fences, and none undone by a later one."""
        for (before, _, _), (after, _, _) in zip(records, records[1:]):
            if after < before:
                self.complain(f"{name}.fenced: fence {after} after {before}")
        for index, (fence, value) in enumerate(writes, 1):
            if value != index:
                self.complain(f"{name}.fenced: write {index} says {value}, fence {fence}: an update was lost")
                break
        times = collections.Counter(writes)
        for write in acknowledged:
            if times[write] != 1:
                self.complain(f"{name}.fenced: {write} was acknowledged and is there {times[write]} times")


def check(folder, outside=(), older=False):
    """The history of a folder, judged: its counts and its violations. older: clients of version 0.1 are among them."""
    history = History(older)
    for path in sorted(pathlib.Path(folder).glob("*.history")):
        history.read(path)
    history.check_ends()
    history.check_overlaps(tuple(outside))
    history.check_losses()
    history.check_fences()
    history.check_stores(pathlib.Path(folder))
    return history


def main():
    parser = argparse.ArgumentParser(description="judges a history")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--outside", nargs="*", default=[], metavar="PREFIX")
    parser.add_argument("--older", action="store_true", help="clients of version 0.1 are among them")
    options = parser.parse_args()
    history = check(options.folder, options.outside, options.older)
    for word in COUNTS:
        print(f"{word:16}{history.counts[word]:>12}")
    for violation in history.violations:
        print(violation)
    sys.exit(1 if history.violations else 0)


if __name__ == "__main__":
    main()
