"""The judge finds what is wrong: small histories, written by hand, each with one thing that must not be, and a few that are
fine and must not be complained about. Prints TAP.
"""

import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True

import check  # noqa: E402

# Times in us; a validity of 500 ms. Two holders, one after the other, each with a write to both stores.
GOOD_A = """ask 1000 1 n1
granted 2000 1 500 2010 100
look 2500 1 499 2510
try 2600 1 fenced 1
wrote 2700 1 fenced 1
extend 3000 1
extended 4000 1 500 4010
release 5000 1
released 6000 1 0
end 9000000"""
GOOD_B = """ask 5500 1 n1
granted 5800 1 500 5810 101
try 5900 1 fenced 2
wrote 6000 1 fenced 2
renewed 300000 1 500 300010
lost 700000 1
look 700100 1 0 700110
ask 800000 2 n1
refused 800100 2 16"""
# One that waits and is cancelled, one whose time is up, one that waits without end and gives away what it got, and the heir.
WAITING = """ask 1000 1 n2
wait 1001 1 3000
cancel 2000 1
refused 2100 1 5
ask 3000 2 n2
wait 3001 2 100
refused 103100 2 2
ask 3500 3 n2
wait 3501 3 -1
granted 104000 3 500 104010 7
given 105000 3
adopt 105100 4 n2
granted 106000 4 500 106010 0
release 107000 4
released 108000 4 0
end 9000000"""
# Two that share a lock, with one fence, and one that has it alone behind them.
SHARING = """shared 900 1
ask 1000 1 n2
granted 2000 1 500 2010 7
shared 2500 2
ask 2600 2 n2
granted 2700 2 500 2710 7
release 5000 1
released 6000 1 0
release 6500 2
released 7000 2 0
ask 7100 3 n2
granted 7200 3 500 7210 8
release 7500 3
released 7600 3 0
end 9000000"""
# Two that have a slot each, and a third that follows the first.
SLOTS = """slots 900 1 2
ask 1000 1 s1
slot 1900 1 0
granted 2000 1 500 2010 7
slots 2100 2 2
ask 2200 2 s1
slot 2290 2 1
granted 2300 2 500 2310 8
slots 2400 3 2
ask 2500 3 s1
wait 2501 3 -1
release 3000 1
released 3100 1 0
slot 3190 3 0
granted 3200 3 500 3210 9
release 4000 2
released 4100 2 0
release 5000 3
released 5100 3 0
end 9000000"""
# One that has n2 and n3 together, with a write for each of them, and one that has n3 before and n2 behind it.
SEVERAL = """ask 500 1 n3
granted 600 1 500 610 5
release 700 1
released 800 1 0
also 900 2 n3
ask 1000 2 n2
granted 2000 2 500 2010 7
look 2100 2 499 2110
release 3000 2
released 3100 2 0
ask 3200 3 n3
granted 3300 3 500 3310 8
release 3400 3
released 3500 3 0
end 9000000"""
# An owner that is inside twice, with renewals that go on for the second when the first has left, and another owner of the process.
ENTRIES = """reentrant 900 1 3
ask 1000 1 n2
granted 2000 1 500 2010 7
reentrant 2100 2 3
ask 2200 2 n2
granted 2300 2 499 2310 7
release 2500 1
released 2600 1 0
renewed 3000 1 500 3010
look 3100 2 500 3110
release 4000 2
released 4100 2 0
reentrant 4200 3 4
ask 4300 3 n2
granted 4400 3 500 4410 8
release 5000 3
released 5100 3 0
end 9000000"""
STORE = [(100, "r", 0), (100, "w", 1), (101, "r", 1), (101, "w", 2)]

# name: (what the judge must say, changes to A, changes to B, the store)
WRONG = {
    "two holders at a time": ("two holders", "release 5000", "release 6000", "", "", STORE),
    "a holder that never released counts to its end": ("two holders", "release 5000 1\nreleased 6000 1 0\n", "", "", "", STORE),
    "a fence twice": ("one fence twice", "", "", "5810 101", "5810 100", STORE),
    "a fence that went back": ("fences went back", "", "", "5810 101", "5810 99", STORE),
    "held after it was lost": ("after it was lost", "", "", "700100 1 0", "700100 1 3", STORE),
    "held after it was lost, whatever the order of lines":
        ("after it was lost", "", "", "lost 700000 1\nlook 700100 1 0 700110",
         "look 700100 1 3 700110\nlost 700000 1", STORE),
    "held after its release": ("after it was released", "released 6000 1 0", "released 6000 1 0\nlook 7000 1 3 7010", "",
                               "", STORE),
    "taken back after its end": ("taken back", "extend 3000 1\nextended 4000", "extend 600000 1\nextended 601000", "",
                                 "", STORE),
    "lost twice": ("lost twice", "", "", "lost 700000 1", "lost 700000 1\nlost 700001 1", STORE),
    "granted twice": ("granted twice", "", "", "lost", "granted 650000 1 500 650010 101\nlost", STORE),
    "granted without being asked for": ("before it was asked for", "ask 1000 1 n1\n", "", "", "", STORE),
    "an unknown word": ("not a line", "look", "loom", "", "", STORE),
    "a field that is no number": ("not a line", "2000 1 500", "2000 1 5oo", "", "", STORE),
    "a line that is cut off": ("cut off", "end 9000000", "end", "", "", STORE),
    "lines after the end": ("after its end", "end 9000000", "end 9000000\nask 9000001 2 n1", "", "", STORE),
    "an acknowledged write that is gone": ("is there 0 times", "", "", "", "", STORE[:-1]),
    "an acknowledged write that is there twice": ("is there 2 times", "", "", "", "", [*STORE, STORE[-1]]),
    "an update that was lost": ("an update was lost", "", "", "fenced 2", "fenced 1", [*STORE[:-1], (101, "w", 1)]),
    "fences in the store out of order": ("fence 100 after 101", "", "", "", "",
                                         [STORE[0], (101, "r", 0), (100, "w", 1), (101, "w", 2)]),
    "a write that nobody tried": ("never tried", "", "", "", "", [*STORE, (101, "w", 3)]),
}


# name: (what the judge must say, changes to WAITING)
WRONG_WAITING = {
    "a waiter that is refused too early": ("after it began to wait", "refused 103100 2 2", "refused 63100 2 2"),
    "a waiter without end that is refused": ("after it began to wait", "granted 104000 3 500 104010 7\ngiven 105000 3", "refused 104000 3 2"),
    "a waiter that was too slow in a process that ran":
        ("after it began to wait", "refused 103100 2 2\nask 3500 3 n2\nwait 3501 3 -1\n", "refused 103100 2 2\nask 3500 3 n2\nwait 3501 3 -1\nask 103500 5 n2\nwait 103501 5 -1\nrefused 103900 5 17\n"),
    "an answer to a call that was cancelled": ("granted after it was refused", "refused 2100 1 5", "refused 2100 1 5\ngranted 2200 1 500 2210 6"),
    "a renewal of what was refused": ("renewed after it was refused", "refused 103100 2 2", "refused 103100 2 2\nrenewed 103200 2 500 103210"),
    "a refusal of what was granted": ("after it was answered", "given 105000 3", "refused 105000 3 5"),
    "a call that nobody cancelled": ("cancelled by nobody", "cancel 2000 1\n", ""),
    "a call that is never answered": ("never answered", "refused 103100 2 2\n", ""),
    "an heir beside its giver": ("two holders", "given 105000 3\n", ""),
    "an heir beside another": ("two holders", "release 107000 4", "ask 106500 5 n2\ngranted 106600 5 500 106610 9\nrelease 107000 4"),
}


# name: (what the judge must say, changes to SHARING)
WRONG_SHARING = {
    "one that reads beside one that has it alone": ("two holders", "release 6500 2", "release 7300 2"),
    "one that has it alone beside one that reads": ("two holders", "shared 2500 2\n", ""),
    "a fence of one that reads handed out again": ("one fence twice", "7210 8", "7210 7"),
    "a fence of one that reads that went back": ("fences went back", "2710 7", "2710 6"),
}


# name: (what the judge must say, changes to the history of the kind)
WRONG_SLOTS = {
    "a slot that two have": ("two holders", "slot 2290 2 1", "slot 2290 2 0"),
    "one more than there are slots": ("more inside than there are slots", "release 3000 1\nreleased 3100 1 0\n", ""),
    "one more than there are slots, whose slot nobody knows":
        ("more inside than there are slots", "release 3000 1\nreleased 3100 1 0\nslot 3190 3 0\n", ""),
    "a slot beyond the last": ("a slot that there is not", "slot 2290 2 1", "slot 2290 2 2"),
    "another number of slots": ("two holders", "slots 2100 2 2", "slots 2100 2 3"),
    "one that has it alone beside slots": ("two holders", "slots 2100 2 2\n", ""),
    "a fence of a slot that went back": ("fences went back", "2310 8", "2310 6"),
    "a fence twice for a slot": ("one fence twice", "3210 9", "3210 7"),
    "a fence that was handed out for another slot before the ask": ("fences went back", "2310 8", "2310 7"),
}
WRONG_SEVERAL = {
    "the second of two names that another has before": ("two holders", "release 700 1\nreleased 800 1 0\n", ""),
    "the second of two names that another gets": ("two holders", "release 3000 2\nreleased 3100 2 0\n", ""),
    "a fence that is not above that of the second name": ("fences went back", "2010 7", "2010 4"),
    "a fence after that of the second name": ("fences went back", "3310 8", "3310 6"),
    "several names that were lost and are relied on": ("after it was lost", "look 2100 2 499 2110", "lost 2050 2\nlook 2100 2 499 2110"),
}
WRONG_ENTRIES = {
    "two owners inside": ("two holders", "release 4000 2\nreleased 4100 2 0\n", ""),
    "two owners of a process where one is": ("two holders", "reentrant 2100 2 3", "reentrant 2100 2 4"),
    "an owner inside with two locks": ("an owner inside with two fences", "2310 7", "2310 8"),
    "an entry of what was lost": ("after its owner had lost it", "release 2500 1\nreleased 2600 1 0\n", "lost 2600 1\n"),
}
KINDS = {"slots": (SLOTS, WRONG_SLOTS, 3), "several names": (SEVERAL, WRONG_SEVERAL, 1), "entries": (ENTRIES, WRONG_ENTRIES, 3)}


def judge(a, b, store, cut="", outside=(), older=False):
    with tempfile.TemporaryDirectory(prefix="redlock-check-") as name:
        folder = pathlib.Path(name)
        folder.joinpath("a.history").write_text(a + cut)
        folder.joinpath("b.history").write_text(b + "\n")
        for kind in ("fenced", "unfenced"):
            folder.joinpath(f"n1.{kind}").write_text("".join(f"{fence:020} {word} {value:020}\n"
                                                             for fence, word, value in store))
        return check.check(folder, outside, older)


def cases():
    """(name, whether it went well)"""
    history = judge(GOOD_A, GOOD_B, STORE, "\n")
    yield "a history without fault is not complained about", not history.violations
    yield "everything is counted", dict(history.counts) == {
        "operations": 6, "grants": 2, "shared": 0, "slots": 0, "several names": 0, "entries": 0, "waits": 0, "hand-overs": 0, "cancels": 0, "too slow": 0, "adoptions": 0, "extensions": 2, "releases": 1, "losses": 1, "overlaps": 0, "overlaps outside": 0,
        "fences": 2, "writes": 2, "refused writes": 0, "lost updates": 0}
    for name, (words, a, a_now, b, b_now, store) in WRONG.items():
        found = judge(GOOD_A.replace(a, a_now) if a else GOOD_A, GOOD_B.replace(b, b_now) if b else GOOD_B, store,
                      "" if "cut off" in name else "\n").violations
        yield name + " is found", any(words in violation for violation in found)
    history = judge(GOOD_A, WAITING, STORE[:2], "\n")
    yield "waiting, cancelling and adopting are not complained about", not history.violations
    yield "and counted", [history.counts[word] for word in ("waits", "hand-overs", "cancels", "adoptions")] == [3, 1, 1, 1]
    for name, (words, before, after) in WRONG_WAITING.items():
        found = judge(GOOD_A, WAITING.replace(before, after), STORE[:2], "\n", older=True).violations
        yield name + " is found", any(words in violation for violation in found)
    history = judge(GOOD_A, SHARING, STORE[:2], "\n")
    yield "sharing is not complained about", not history.violations
    yield "and counted, too", history.counts["shared"] == 2
    for name, (words, before, after) in WRONG_SHARING.items():
        found = judge(GOOD_A, SHARING.replace(before, after), STORE[:2], "\n").violations
        yield name + " is found", any(words in violation for violation in found)
    for word, (good, wrong, grants) in KINDS.items():
        history = judge(GOOD_A, good, STORE[:2], "\n")
        yield f"{word} are not complained about", not history.violations
        yield f"{word} are counted", history.counts[word] == grants
        for name, (words, before, after) in wrong.items():
            found = judge(GOOD_A, good.replace(before, after), STORE[:2], "\n").violations
            yield name + " is found", before in good and any(words in violation for violation in found)
    yield "two that asked for different slots at the same time may have one fence", not judge(
        GOOD_A, SLOTS.replace("ask 2200 2", "ask 1990 2").replace("2310 8", "2310 7"), STORE[:2], "\n").violations
    both = SEVERAL.replace("look 2100", "try 2050 2 fenced 1\nwrote 2060 2 fenced 1\ntry 2070 2 fenced 1 n3\nwrote 2080 2 fenced 1 n3\nlook 2100")
    lost = judge(GOOD_A, both, STORE[:2], "\n").violations
    yield "a write for each of several names is looked for in its store", all(
        any(f"{name}.fenced: (7, 1) was acknowledged and is there 0 times" in violation for violation in lost) for name in ("n2", "n3"))
    early = WAITING.replace("granted 104000 3", "renewed 104001 3 500 104011\ngranted 104000 3")
    yield "a renewal may be told before its grant", not judge(GOOD_A, early, STORE[:2], "\n").violations
    stopped = WAITING.replace("end 9000000", "ask 108500 5 n2\nwait 108501 5 -1\nrefused 408500 5 17\nend 9000000")
    history = judge(GOOD_A, stopped, STORE[:2], "\n", older=True)
    yield "a waiter of 0.1 may be too slow when its process was stopped", not history.violations and history.counts["too slow"] == 1
    yield "and a waiter of today may not", judge(GOOD_A, stopped, STORE[:2], "\n").violations
    a = GOOD_A.replace("release 5000", "release 6000")
    history = judge(a, GOOD_B, STORE, "\n", outside=("n",))
    yield "where nothing is promised an overlap is counted, not judged", (
        history.counts["overlaps outside"] == 1 and not history.violations)
    a = GOOD_A.replace("wrote 2700 1 fenced 1", "wrote 2700 1 fenced 1\ntry 2800 1 unfenced 1\nwrote 2801 1 unfenced 1")
    history = judge(a, GOOD_B, [*STORE, (100, "w", 1)], "\n")
    yield "what the unfenced store lost is counted", history.counts["lost updates"] == 1


def main():
    results = list(cases())
    print(f"1..{len(results)}")
    for number, (name, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    sys.exit(0 if all(good for _, good in results) else 1)


main()
