"""What one party did at every level of its prefix tree: the trace of a TAPS run over plain Python data."""

import treetop

phones = {
    "north": {"hello": 9_000, "help": 4_000, "held": 2_500, "world": 6_000, "word": 3_000},
    "south": {"hello": 7_000, "world": 5_000, "wombat": 4_500, "help": 800},
}
answer = treetop.find(phones, k=3, epsilon=3, mechanism="taps", seed=1, levels=12)
for level in answer.parties[1].trace:
    print(f"level {level.level:>2}: {level.candidates:>3} candidates, {level.kept} kept  {level.note}")
print(", ".join(row.item for row in answer.items))
